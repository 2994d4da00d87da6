/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product for W by columns: W streams once through shared memory, quads of k without an event are
 * skipped. */
#include "event_pack.cuh"

namespace lacuna
{
namespace
{

constexpr int kTileJ = 2 * kWarp; /* columns of W (contiguous along k) per tile: two per lane        */
constexpr int kWarps = 32;
constexpr int kStages = 3;         /* chunks of W in flight or in use                                 */
constexpr int kBlocks = 1;         /* per multiprocessor: what shared memory allows                   */
constexpr int kPitch = kChunk + 4; /* 16-byte rows; a lane's reads conflict 4-way at most             */
constexpr int kBatch = 2;          /* events applied at once: a row has few per chunk                 */
constexpr int kStageFloats = kTileJ * kPitch;
static_assert(kPitch % 4 == 0, "16-byte copies need 16-byte rows");
static_assert(kBlocks * kStages * kStageFloats * sizeof(float) <= 226 * 1024, "shared memory of a Hopper");

/* The chunks of all tiles, tile after tile, are dealt out to the blocks in equal runs. A tile that one block
 * has whole is stored at once; the blocks of a divided one leave partial sums that a second kernel adds in
 * block order. */
struct StreamArgs {
    Picture p;
    Slots from;
    int tiles, blocks;
    float *partial; /* [group][block][first tile or last tile of its run][row][column] */
};

__host__ __device__ inline int64_t run_begin(int64_t chunks, int blocks, int block)
{
    return chunks * block / blocks;
}

__device__ inline void copy_async16(float *to, const float *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from)
                 : "memory");
}

__device__ inline void copy_async4(float *to, const float *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from)
                 : "memory");
}

__device__ inline void copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int kPending> __device__ inline void copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/* Starts the copy of the active quads of one chunk, W[k0 .. k0 + 255, j0 .. j0 + 63], to stage[j][k - k0]. */
template <bool kWide> __device__ void fetch(float *stage, const Picture &p, uint64_t active, int j0, int k0)
{
    constexpr int kQuads = kChunk / 4, kStep = kWarps * kWarp / kQuads;
    const int quad = threadIdx.x % kQuads, first = threadIdx.x / kQuads;
    if (!(active >> quad & 1)) return;
    const float *from = p.w + (int64_t)(j0 + first) * p.wjs + k0 + 4 * quad;
    float *to = stage + first * kPitch + 4 * quad;
#pragma unroll
    for (int j = 0; j < kTileJ; j += kStep, from += (int64_t)kStep * p.wjs, to += kStep * kPitch) {
        if (j0 + first + j >= p.n) return;
        if (kWide) {
            copy_async16(to, from);
        } else {
#pragma unroll
            for (int c = 0; c < 4; c++)
                if (k0 + 4 * quad + c < p.k) copy_async4(to + c, from + c);
        }
    }
}

/* sum += v * W[k, my two columns] for the first `count` events held by the lanes. */
__device__ inline void add_events(float2 &sum, const Event &mine, const float *stage, int count)
{
    for (int e = 0; e < count; e += kBatch) {
        float2 w[kBatch];
        float v[kBatch];
#pragma unroll
        for (int u = 0; u < kBatch; u++) {
            const unsigned k = __shfl_sync(kFull, (unsigned)mine.k, e + u) % kChunk;
            v[u] = __shfl_sync(kFull, mine.v, e + u);
            w[u] = make_float2(stage[k], stage[k + kWarp * kPitch]);
        }
#pragma unroll
        for (int u = 0; u < kBatch; u++)
            if (e + u < count) sum.x = fmaf(v[u], w[u].x, sum.x), sum.y = fmaf(v[u], w[u].y, sum.y);
    }
}

__device__ inline void store_sum(const Picture &p, int i, int j, float sum, float alpha, float beta)
{
    float *at = p.out + i * p.rs + j * p.cs;
    *at = beta == 0.0f ? alpha * sum : fmaf(beta, *at, alpha * sum);
}

/* out := beta out + alpha S W,  W[k, n] contiguous along k, S[m, k] packed in slots of kChunk.
 *
 * Mapping   grid (blocks, groups of kWarps * kRows rows); lane = two columns of W, warp = rows of S; a
 *           block walks a run of chunks that may cross from one tile of 64 columns into the next.
 * Layout    kWide: ldw and k multiples of 4, W 16-byte aligned.
 * Bytes     the active 16-byte quads of W once per row group (DRAM moves 64), events once per tile.
 * Order     ascending k within a run, runs ascending: no atomics.
 * Limit     neither DRAM nor issue slots alone: 41 us for 100 MB of W and 50 rows at 1 %, 52 % of DRAM
 *           throughput, 0.42 instructions per scheduler and cycle; shared reads conflict 4-way
 *           (H200, 2026-11-20). */
template <bool kWide, int kRows>
__global__ __launch_bounds__(kWarps *kWarp,
                             kRows > 4 ? 1 : kBlocks) void event_stream(const __grid_constant__ StreamArgs a)
{
    extern __shared__ float4 shared[];
    const Picture &p = a.p;
    const Slots &s = a.from;
    constexpr int kGroup = kWarps * kRows;
    const int block = blockIdx.x, i0 = blockIdx.y * kGroup, rows = least(kGroup, p.m - i0);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    float *stages = (float *)shared;
    const int64_t chunks = (int64_t)a.tiles * s.slots, begin = run_begin(chunks, a.blocks, block);
    const int run = int(run_begin(chunks, a.blocks, block + 1) - begin), first_chunk = int(begin % s.slots);
    int tile = int(begin / s.slots);
    dependency_wait();
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);

    int fetch_chunk = first_chunk, fetch_tile = tile, fetch_stage = 0, left = run;
    const auto active_of = [&](int c) {
        uint64_t bits = 0;
        for (int g = i0 / kActiveRows; g * kActiveRows < i0 + rows; g++) bits |= s.active[g * s.slots + c];
        return bits;
    };
    uint64_t active = active_of(fetch_chunk);
    const auto fetch_next = [&]() {
        if (left > 0)
            fetch<kWide>(stages + fetch_stage * kStageFloats, p, active, fetch_tile * kTileJ,
                         fetch_chunk * kChunk);
        copy_commit();
        left--;
        fetch_stage = fetch_stage + 1 == kStages ? 0 : fetch_stage + 1;
        if (++fetch_chunk == s.slots) fetch_chunk = 0, fetch_tile++;
        active = active_of(fetch_chunk);
    };
    for (int c = 0; c < kStages - 1; c++) fetch_next();

    float2 acc[kRows] = {};
    Event next[kRows]; /* lane l: event l of the row in the chunk that comes next                  */
    int count_next[kRows], after[kRows] = {}; /* events of the row in that chunk, and in the one after it */
    const auto count_of = [&](int r, int c) {
        const int row = warp + r * kWarps;
        return row < rows ? s.count[(i0 + row) * s.slots + c] : 0;
    };
    const auto following = [&](int c) { return c + 1 == s.slots ? 0 : c + 1; };
    const auto open = [&](int r, int c) {
        count_next[r] = after[r];
        if (lane < count_next[r])
            next[r] = s.event[(int64_t)(i0 + warp + r * kWarps) * s.pitch + c * kChunk + lane];
        after[r] = count_of(r, following(c));
    };
#pragma unroll
    for (int r = 0; r < kRows; r++) {
        after[r] = count_of(r, first_chunk);
        open(r, first_chunk);
    }

    const int first_tile = tile;
    bool whole = first_chunk == 0;
    for (int x = 0, c = first_chunk, at = 0; x < run; x++) {
        Event mine[kRows];
        int count[kRows];
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            mine[r] = next[r], count[r] = count_next[r];
            open(r, following(c));
        }
        copy_wait<kStages - 2>();
        __syncthreads();
        fetch_next();
        const float *stage = stages + at * kStageFloats + lane * kPitch;
        at = at + 1 == kStages ? 0 : at + 1;
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            add_events(acc[r], mine[r], stage, least(count[r], kWarp));
            for (int e = kWarp; e < count[r]; e += kWarp) {
                const int64_t more = (int64_t)(i0 + warp + r * kWarps) * s.pitch + c * kChunk + e;
                if (e + lane < count[r]) mine[r] = s.event[more + lane];
                add_events(acc[r], mine[r], stage, least(count[r] - e, kWarp));
            }
        }
        const bool tile_ends = c + 1 == s.slots;
        if (tile_ends || x + 1 == run) {
            const int last = tile != first_tile;
            float *partial =
                a.partial + (((int64_t)blockIdx.y * a.blocks + block) * 2 + last) * kGroup * kTileJ;
#pragma unroll
            for (int r = 0; r < kRows; r++) {
                const int row = warp + r * kWarps, i = i0 + row, j = tile * kTileJ + lane;
                if (row < rows && !(whole && tile_ends)) {
                    partial[row * kTileJ + lane] = acc[r].x;
                    partial[row * kTileJ + lane + kWarp] = acc[r].y;
                } else if (row < rows) {
                    if (j < p.n) store_sum(p, i, j, acc[r].x, alpha, beta);
                    if (j + kWarp < p.n) store_sum(p, i, j + kWarp, acc[r].y, alpha, beta);
                }
                acc[r] = make_float2(0, 0);
            }
            tile++, whole = true;
        }
        c = tile_ends ? 0 : c + 1;
    }
    dependents_launch();
}

/* Adds the partial sums of each tile that several blocks share, in block order. Grid (tiles, groups). */
template <int kRows>
__global__ __launch_bounds__(kWarps *kWarp) void event_stream_join(const __grid_constant__ StreamArgs a)
{
    constexpr int kGroup = kWarps * kRows;
    const Picture &p = a.p;
    const int tile = blockIdx.x, i0 = blockIdx.y * kGroup, rows = least(kGroup, p.m - i0);
    const int64_t slots = a.from.slots, chunks = a.tiles * slots;
    /* The blocks whose runs hold the tile's first and last chunk. */
    const auto holder = [&](int64_t x) {
        int b = int(x * a.blocks / chunks);
        while (b + 1 < a.blocks && run_begin(chunks, a.blocks, b + 1) <= x) b++;
        while (run_begin(chunks, a.blocks, b) > x) b--;
        return b;
    };
    const int from = holder(tile * slots), to = holder((tile + 1) * slots - 1);
    dependents_launch();
    dependency_wait(); /* by every block: who follows this kernel relies on the one before it, too */
    if (from == to) return;
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const bool along_row = p.cs <= p.rs, from_earlier = run_begin(chunks, a.blocks, from) < tile * slots;
    for (int t = threadIdx.x; t < rows * kTileJ; t += blockDim.x) {
        const int row = along_row ? t / kTileJ : t % rows, column = along_row ? t % kTileJ : t / rows;
        if (tile * kTileJ + column >= p.n) continue;
        float sum = 0;
        for (int b = from; b <= to; b++) {
            const int last = b == from && from_earlier;
            sum += a.partial[((((int64_t)blockIdx.y * a.blocks + b) * 2 + last) * kGroup + row) * kTileJ +
                             column];
        }
        store_sum(p, i0 + row, tile * kTileJ + column, sum, alpha, beta);
    }
}

int rows_per_warp(int64_t m)
{
    return m <= kWarps ? 1 : m <= 2 * kWarps ? 2 : 4;
}

template <bool kWide, int kRows> lac_status_t launch_rows(const StreamArgs &a, cudaStream_t stream)
{
    const size_t shared = sizeof(float) * kStages * kStageFloats;
    const unsigned groups = (unsigned)ceil_div(a.p.m, kWarps * kRows);
    if (groups > 65535) return LAC_ERR_EXTENT;
    const dim3 threads(kWarps * kWarp);
    const lac_status_t status = launch(
        event_stream<kWide, kRows>, {dim3(unsigned(a.blocks), groups), threads, shared, 1, true, stream}, a);
    if (status != LAC_OK) return status;
    return launch(event_stream_join<kRows>, {dim3(unsigned(a.tiles), groups), threads, 0, 1, true, stream},
                  a);
}

template <bool kWide> lac_status_t launch_wide(const StreamArgs &a, cudaStream_t stream)
{
    switch (rows_per_warp(a.p.m)) {
    case 1:
        return launch_rows<kWide, 1>(a, stream);
    case 2:
        return launch_rows<kWide, 2>(a, stream);
    default:
        return launch_rows<kWide, 4>(a, stream);
    }
}

int64_t partial_bytes(int64_t m, int blocks)
{
    const int group = kWarps * rows_per_warp(m);
    return (int64_t)sizeof(float) * ceil_div(m, group) * blocks * 2 * group * kTileJ;
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_event_stream_bytes(int64_t m, int64_t k)
{
    using namespace lacuna;
    return round_up(slots_bytes(m, k), 256) + partial_bytes(m, kBlocks * current_device().sms);
}

extern "C" lac_status_t lac_cuda_event_stream(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                              void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->order != LAC_CUDA_COLS) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const Slots slots = make_slots(workspace, p->m, p->k, kChunk);
    if (slots.slots == 0) return LAC_ERR_EXTENT;
    if (s->data) {
        lac_status_t status = pack_chunks(s, p->m, p->k, slots, (cudaStream_t)stream);
        if (status != LAC_OK) return status;
    }
    const int tiles = (int)ceil_div(p->n, kTileJ);
    const int64_t chunks = (int64_t)tiles * slots.slots;
    const StreamArgs a = {make_picture(p), slots, tiles,
                          (int)least<int64_t>(kBlocks * current_device().sms, chunks),
                          (float *)((char *)workspace + round_up(slots_bytes(p->m, p->k), 256))};
    const bool wide = p->k % 4 == 0 && p->ldw % 4 == 0 && aligned(p->w, 16);
    return wide ? launch_wide<true>(a, (cudaStream_t)stream) : launch_wide<false>(a, (cudaStream_t)stream);
}
