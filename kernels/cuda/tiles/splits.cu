/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the product by tiles multiplies: the splits of a's steps, and b as planes of f16 numbers. */
#include "tiles.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

/* Of a: the splits of each row group's steps. */

static_assert(kStep == kWarp && kRowGroupRows == kWarp, "a lane for each k of a step, and for each row");

/* The splits of eight k of a row, at `to`; returns a bit for each that does not fit its two f16 numbers. */
template <typename E, typename M>
__device__ inline unsigned split_core(const M *x, float scale, unsigned char *to)
{
    uint32_t word[kCore / 2][ShapeOf<E>::kSplits];
    unsigned misfits = 0;
#pragma unroll
    for (int w = 0; w < kCore / 2; w++)
        if constexpr (std::is_same_v<E, ScaledF16>) {
            const float lo = scale * x[2 * w], hi = scale * x[2 * w + 1];
            misfits |= (unsigned)!fits_two_f16(x[2 * w], lo) << 2 * w |
                       (unsigned)!fits_two_f16(x[2 * w + 1], hi) << (2 * w + 1);
            split_two_f16(lo, hi, word[w]);
        } else {
            split_pair(x[2 * w], x[2 * w + 1], word[w]);
        }
#pragma unroll
    for (int p = 0; p < ShapeOf<E>::kSplits; p++)
        *(uint4 *)(to + p * kSplitBytes) = make_uint4(word[0][p], word[1][p], word[2][p], word[3][p]);
    return misfits;
}

/* For those of eight k of a row that do not fit. Kept out of the way of all others. */
__device__ __noinline__ void leave_rests(const PackArgs<float> &g, int row, const int *k, int exponent,
                                         unsigned char *to, unsigned misfits)
{
    for (; misfits; misfits &= misfits - 1) {
        const int i = __ffs((int)misfits) - 1;
        leave_rest(g.s.scaled, row, k[i], g.a[row * g.ars + k[i] * g.acs], exponent, (uint16_t *)to + i,
                   kSplitBytes / 2);
    }
}

/* x := a step's elements of this lane's row. Loaded by lanes along k, and exchanged by way of `part`; or,
 * where a lies by columns, along the rows. `rows` of the row group are inside. */
template <bool kAlongRows, typename M>
__device__ inline void load_step(const PackArgs<M> &g, int64_t row0, int rows, int k, M (&x)[kStep],
                                 M (&part)[kRowGroupRows][kStep + 1])
{
    const int lane = threadIdx.x % kWarp;
    if constexpr (kAlongRows) {
        const M *const a = g.a + row0 + lane;
#pragma unroll
        for (int i = 0; i < kStep; i++) {
            const int here = __shfl_sync(kFull, k, i);
            x[i] = lane < rows && here >= 0 ? load_read_only(a + here * g.acs) : M(0);
        }
    } else {
        const M *a = g.a + row0 * g.ars + k * g.acs;
#pragma unroll
        for (int i = 0; i < kRowGroupRows; i++, a += g.ars)
            x[i] = i < rows && k >= 0 ? load_read_only(a) : M(0);
        __syncwarp(); /* the last step's elements were read */
#pragma unroll
        for (int i = 0; i < kRowGroupRows; i++) part[i][lane] = x[i];
        __syncwarp();
#pragma unroll
        for (int i = 0; i < kStep; i++) x[i] = part[lane][i];
    }
}

/* The splits of the steps of all row groups; a warp of `blocks` blocks does one after the other, a lane has a
 * row.
 *
 * Bytes     the sectors of a that hold active k; 6 per float of a step, 4 as two f16 numbers, 2 per
 *           element of two bytes. */
template <typename E, bool kAlongRows>
__device__ inline void split_steps(const PackArgs<typename MemoryOf<E>::type> &g, int block, int blocks)
{
    using Shape = ShapeOf<E>;
    using M = typename MemoryOf<E>::type;
    __shared__ M part[kAlongRows ? 1 : kWarps][kRowGroupRows][kStep + 1];
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    if (std::is_same_v<E, float> && !in_form<float>(g.form)) return;
    const int64_t items = (int64_t)g.s.tiles_m * g.s.lines * kRowGroups;
    for (int64_t item = (int64_t)block * kWarps + warp; item < items; item += (int64_t)blocks * kWarps) {
        const int64_t line = item / kRowGroups;
        const int tile = (int)(line / g.s.lines), row_group = tile * kRowGroups + (int)(item % kRowGroups),
                  slot = ((const int *)g.s.slots)[item], k = g.s.rows[line * kStep + lane];
        if (slot < 0) continue; /* not the row group's, or a step too many */
        const int row0 = row_group * kRowGroupRows;
        int exponent = 0;
        if constexpr (std::is_same_v<E, ScaledF16>) exponent = g.s.scaled.exponents[row0 + lane];
        M x[kStep];
        load_step<kAlongRows>(g, row0, g.m - row0, k, x, part[kAlongRows ? 0 : warp]);
        unsigned char *const splits = g.s.splits +
                                      ((int64_t)row_group * g.s.room + slot) * Shape::kStepBytes +
                                      lane / kCore * Shape::kEightRows + lane % kCore * 16;
#pragma unroll
        for (int core = 0; core < kSplitCores; core++) {
            const unsigned misfits =
                split_core<E>(x + core * kCore, power_of_two(exponent), splits + core * kCoreBytes);
            if constexpr (std::is_same_v<E, ScaledF16>)
                if (misfits)
                    leave_rests(g, row0 + lane, g.s.rows + line * kStep + core * kCore, exponent,
                                splits + core * kCoreBytes, misfits);
        }
    }
}

/* Of b: its planes. */

struct PlanesArgs {
    const float *b;
    int64_t ldb;
    int n, k;
    Planes planes;
};

constexpr int kAcross = 16, kDown = kThreads / kAcross, kRowsEach = 4;

/* For those of sixteen columns that do not fit. Kept out of the way of all others. */
__device__ __noinline__ void leave_rests_of_row(const PlanesArgs &g, int k, int col, uint16_t *at,
                                                unsigned misfits)
{
    for (; misfits; misfits &= misfits - 1) {
        const int i = __ffs((int)misfits) - 1;
        leave_rest(g.planes.scaled, col + i, k, g.b[k * g.ldb + col + i], g.planes.scaled.exponents[col + i],
                   at + i % 2 * 8 + i / 2, g.planes.columns);
    }
}

/* Sixteen columns of a row of b, of which `left` are inside; kWhole: all. */
template <bool kWhole>
__device__ inline void load_sixteen(const float *at, int left, float (&x)[kPlaneColumns])
{
#pragma unroll
    for (int i = 0; i < kPlaneColumns; i += 4) {
        float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (kWhole || left > i + 3) {
            four = __ldg((const float4 *)(at + i)); /* two of a thread's are in one sector */
        } else {
            if (left > i) four.x = at[i];
            if (left > i + 1) four.y = at[i + 1];
            if (left > i + 2) four.z = at[i + 2];
        }
        x[i] = four.x, x[i + 1] = four.y, x[i + 2] = four.z, x[i + 3] = four.w;
    }
}

/* What the neighbour of this lane's pair gives. */
__device__ inline uint4 exchange(uint4 x)
{
    return make_uint4(__shfl_xor_sync(kFull, x.x, 1), __shfl_xor_sync(kFull, x.y, 1),
                      __shfl_xor_sync(kFull, x.z, 1), __shfl_xor_sync(kFull, x.w, 1));
}

/* The planes of kDown kRowsEach k; a thread has sixteen columns, of which a pair of threads writes the even
 * ones and the odd ones of one, then those of the other: whole sectors. Bytes: 4 per element of b read, 4
 * written. */
template <bool kWhole> __device__ inline void split_rows(const PlanesArgs &g, int block)
{
    const int across = (int)ceil_div(g.planes.columns, kAcross * kPlaneColumns),
              col = (block % across * kAcross + (int)threadIdx.x % kAcross) * kPlaneColumns,
              k0 = (block / across * kDown + (int)threadIdx.x / kAcross) * kRowsEach;
    const bool inside = col < g.planes.columns;
    int exponent[kPlaneColumns] = {};
#pragma unroll
    for (int i = 0; i < kPlaneColumns && inside; i += 4) {
        const int4 four = *(const int4 *)(g.planes.scaled.exponents + col + i);
        exponent[i] = four.x, exponent[i + 1] = four.y, exponent[i + 2] = four.z, exponent[i + 3] = four.w;
    }
    const bool odd = threadIdx.x % 2;
    for (int k = k0; k < k0 + kRowsEach; k++) {
        const bool live = inside && k < g.k;
        float x[kPlaneColumns] = {};
        if (live) load_sixteen<kWhole>(g.b + k * g.ldb + col, g.n - col, x);
        uint32_t word[kPlaneColumns / 2][2];
        unsigned misfits = 0; /* a bit for each column */
#pragma unroll
        for (int w = 0; w < kPlaneColumns / 2; w++) { /* even columns, then odd ones */
            const int i = w % 4 * 4 + w / 4;
            const float lo = power_of_two(exponent[i]) * x[i], hi = power_of_two(exponent[i + 2]) * x[i + 2];
            misfits |= (unsigned)!fits_two_f16(x[i], lo) << i | (unsigned)!fits_two_f16(x[i + 2], hi)
                                                                    << (i + 2);
            split_two_f16(lo, hi, word[w]);
        }
        unsigned char *const row = g.planes.at + k * g.planes.pitch();
#pragma unroll
        for (int p = 0; p < 2; p++) {
            const uint4 even_ones = make_uint4(word[0][p], word[1][p], word[2][p], word[3][p]),
                        odd_ones = make_uint4(word[4][p], word[5][p], word[6][p], word[7][p]),
                        theirs = exchange(odd ? even_ones : odd_ones);
            uint4 *const at =
                (uint4 *)(row + (p * (int64_t)g.planes.columns + (col & -2 * kPlaneColumns)) * 2);
            if (!live) continue;
            at[odd] = odd ? theirs : even_ones;
            at[odd + 2] = odd ? odd_ones : theirs;
        }
        __syncwarp(); /* rests change what either of a pair wrote */
        if (misfits) leave_rests_of_row(g, k, col, (uint16_t *)(row + col * 2), misfits);
    }
}

/* b of two bytes by rows, from b by columns. */

constexpr int kSquare = 64, kSquarePitch = kSquare + 2; /* elements; few lanes meet in a bank */
static_assert(kSquare == 2 * kWarp, "two neighbours a lane");

struct TransposeArgs {
    TilesPacked s;
    const uint16_t *from;
    uint16_t *to;
    int64_t ld_from, ld_to;
    int n, k;
};

/* Grid (squares along n, along k). Bytes: b once each way. */
__global__ __launch_bounds__(kThreads) void transpose_columns(const __grid_constant__ TransposeArgs g)
{
    __shared__ uint16_t square[kSquare][kSquarePitch];
    const int n0 = (int)blockIdx.x * kSquare, k0 = (int)blockIdx.y * kSquare, warp = (int)threadIdx.x / kWarp,
              two = (int)threadIdx.x % kWarp * 2;
    dependency_wait();
    dependents_launch();
    if (takes_unpacked(g.s)) return;
    uint32_t both[kSquare / kWarps];
#pragma unroll
    for (int i = 0; i < kSquare / kWarps; i++) {
        const int n = n0 + i * kWarps + warp, k = k0 + two;
        const uint16_t *const from = g.from + n * g.ld_from + k;
        both[i] = n >= g.n || k >= g.k ? 0 : k + 1 < g.k ? *(const uint32_t *)from : *from;
    }
#pragma unroll
    for (int i = 0; i < kSquare / kWarps; i++) {
        uint16_t *const at = square[i * kWarps + warp] + two;
        *(uint32_t *)at = both[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kSquare / kWarps; i++) {
        const int k = i * kWarps + warp, n = n0 + two; /* n is a multiple of eight */
        if (k0 + k < g.k && n < g.n)
            *(uint32_t *)(g.to + (k0 + k) * g.ld_to + n) =
                (uint32_t)square[two + 1][k] << 16 | square[two][k];
    }
}

constexpr int kBlocks = 4; /* on a multiprocessor */

template <typename E, bool kAlongRows>
__global__
__launch_bounds__(kThreads,
                  kBlocks) void pack_active(const __grid_constant__ PackArgs<typename MemoryOf<E>::type> g)
{
    dependency_wait();
    dependents_launch();
    if (!takes_unpacked(g.s)) split_steps<E, kAlongRows>(g, (int)blockIdx.x, (int)gridDim.x);
}

template <bool kWhole>
__global__ __launch_bounds__(kThreads, kBlocks) void split_planes(const __grid_constant__ PlanesArgs g)
{
    dependency_wait();
    dependents_launch();
    split_rows<kWhole>(g, (int)blockIdx.x);
}

/* Both, a's blocks spread evenly among b's. Planes want nothing of what was launched last, the lists: of what
 * was before that all is there. */
struct BothArgs {
    PackArgs<float> a;
    PlanesArgs b;
    int of_a, blocks;
};
template <bool kAlongRows, bool kWhole>
__global__ __launch_bounds__(kThreads, kBlocks) void pack_both_sides(const __grid_constant__ BothArgs g)
{
    const auto before = [&](int block) { return (int)((int64_t)block * g.of_a / g.blocks); };
    const int block = (int)blockIdx.x, mine = before(block);
    const bool of_a = before(block + 1) > mine;
    if (of_a) dependency_wait();
    dependents_launch();
    if (of_a) {
        split_steps<ScaledF16, kAlongRows>(g.a, mine, g.of_a);
    } else {
        split_rows<kWhole>(g.b, block - mine);
        dependency_wait(); /* what waits for this one waits for those before it, too */
    }
}

bool across(const lac_cuda_tiles_t *p)
{
    return p->ars == 1 && p->acs != 1;
}

int blocks_of(const TilesPacked &s)
{
    const int64_t steps = (int64_t)s.lines * s.tiles_m * kRowGroups;
    return (int)min(ceil_div(steps, kWarps), (int64_t)kBlocks * current_device().sms);
}
int blocks_of(const Planes &planes, int64_t k)
{
    return (int)(ceil_div(planes.columns, kAcross * kPlaneColumns) * ceil_div(k, kDown * kRowsEach));
}

Launch launch_of(int blocks, lac_cuda_stream_t stream)
{
    return {dim3((unsigned)blocks), dim3(kThreads), 0, 1, true, (cudaStream_t)stream};
}

template <typename E>
lac_status_t pack_splits(const lac_cuda_tiles_t *p, const PackArgs<typename MemoryOf<E>::type> &g,
                         lac_cuda_stream_t stream)
{
    return launch(across(p) ? pack_active<E, true> : pack_active<E, false>, launch_of(blocks_of(g.s), stream),
                  g);
}

PlanesArgs planes_args(const lac_cuda_tiles_t *p, const Planes &planes)
{
    return {(const float *)p->b, p->ldb, (int)p->n, (int)p->k, planes};
}

} // namespace

lac_status_t pack_steps(const lac_cuda_tiles_t *p, bool two_f16, int64_t room, void *memory,
                        lac_cuda_stream_t stream)
{
    return with_number_type(p->dt, [&](auto element) {
        using E = decltype(element);
        const PackArgs<E> g = pack_args<E>(p, room, memory);
        if constexpr (std::is_same_v<E, float>)
            if (two_f16) return pack_splits<ScaledF16>(p, g, stream);
        return pack_splits<E>(p, g, stream);
    });
}

lac_status_t pack_bf16(const lac_cuda_tiles_t *p, const FormArgs &form, int64_t room, void *memory,
                       lac_cuda_stream_t stream)
{
    PackArgs<float> g = pack_args<float>(p, room, memory);
    g.form = form.choice, g.s.splits = form.splits;
    return pack_splits<float>(p, g, stream);
}

lac_status_t pack_planes(const lac_cuda_tiles_t *p, const Planes &planes, lac_cuda_stream_t stream)
{
    return launch(p->n % kPlaneStrip ? split_planes<false> : split_planes<true>,
                  launch_of(blocks_of(planes, p->k), stream), planes_args(p, planes));
}

lac_status_t transpose_b(const lac_cuda_tiles_t *p, const TilesPacked &a, lac_cuda_stream_t stream)
{
    const TransposeArgs g = {
        a, (const uint16_t *)p->b_columns, (uint16_t *)p->b, p->ld_columns, p->ldb, (int)p->n, (int)p->k};
    const dim3 grid((unsigned)ceil_div(p->n, kSquare), (unsigned)ceil_div(p->k, kSquare));
    return launch(transpose_columns, {grid, dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
}

lac_status_t pack_both(const lac_cuda_tiles_t *p, const Planes &planes, int64_t room, void *memory,
                       lac_cuda_stream_t stream)
{
    BothArgs g = {pack_args<float>(p, room, memory), planes_args(p, planes), 0, 0};
    g.of_a = blocks_of(g.a.s), g.blocks = g.of_a + blocks_of(planes, p->k);
    const bool whole = p->n % kPlaneStrip == 0;
    return launch(across(p) ? whole ? pack_both_sides<true, true> : pack_both_sides<true, false>
                  : whole ? pack_both_sides<false, true>
                            : pack_both_sides<false, false>,
                  launch_of(g.blocks, stream), g);
}

} // namespace lacuna

extern "C" lac_status_t lac_cuda_tiles_pack(const lac_cuda_tiles_t *p, int64_t room, void *memory,
                                            lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const bool two_f16 = takes_two_f16(p, true);
    const TilesPacked s = tiles_packed(p->dt, p->m, p->k, room, memory);
    lac_status_t status = LAC_OK;
    if (two_f16 || s.k_counts)
        status = begin_tiles(p, nullptr, &s, two_f16 ? &s.scaled : nullptr, nullptr, stream);
    if (status == LAC_OK && two_f16) status = find_scales(p, &s.scaled, nullptr, stream);
    if (status == LAC_OK) status = mark_steps(p, two_f16, room, memory, stream);
    if (status == LAC_OK) status = list_steps(p, room, memory, stream);
    return status ? status : pack_steps(p, two_f16, room, memory, stream);
}
