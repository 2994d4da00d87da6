/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product for W by columns: the lanes of a warp walk the list of active k and read only those elements
 * of each column. */
#include "gated.cuh"
#include "gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kPackK = 128;       /* k per block of the packer                           */
constexpr int kMaxQuads = 3;      /* of a record: k and the values of up to 11 rows of S */
constexpr int kMaxWindow = 512;   /* packed chunks taken into shared memory at a time    */
constexpr int kMaxRecords = 2048; /* in shared memory, unless that makes more windows than */
constexpr int kMostWindows = 16;  /* whose sums are added to the output one after the other */
constexpr int kWarps = 16;
constexpr int kUnroll = 2;  /* records per lane and step                                                */
constexpr int kColumns = 4; /* of W per warp: 8 loads in flight per lane; 1 where W has fewer than this */
constexpr int kRound = 32;  /* units of columns between two sums over the parts of the list             */
constexpr int kPlan = 4 * (kMaxWindow + kWarp + 2); /* bytes of shared memory for the window's plan     */

/* The records of one group of rows: chunk c holds count[c] of them from record (c * kPackK) on, ascending in
 * k. A record is `quads` float4: k (as bits), then one value per row, 0 where the row has no event. */
struct ActiveList {
    int *count;
    float4 *record;
    int chunks, groups, rows, quads;
};

struct ActiveArgs {
    GemmArgs p;
    ActiveList list;
    const void *s;
    int64_t srs, scs;
    int blocks, parts, capacity; /* of the product: blocks per group, parts of the list, records held */
    Gate gate;                   /* where many are active, sums are added up instead */
    streamed::AddArgs add;
    streamed::PackArgs pack; /* by the packer, beside its work */
};

template <typename T, int kQuads, bool kGated>
__global__ __launch_bounds__(kPackK) void event_pack_active(const __grid_constant__ ActiveArgs a)
{
    __shared__ int counts[kPackK / kWarp];
    if (!kGated) dependents_launch();
    dependency_wait();
    if constexpr (kGated) {
        dependents_launch(); /* behind the wait: the next kernel reads W and S at once */
        if (blockIdx.z > 0) {
            streamed::pack_behind<T>(a.pack);
            return;
        }
    }
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int chunk = blockIdx.x, group = blockIdx.y, k = chunk * kPackK + threadIdx.x;
    const int i0 = group * a.list.rows, rows = k < a.p.k ? min(a.list.rows, a.p.m - i0) : 0;
    const T *s = (const T *)a.s + i0 * a.srs + k * a.scs;
    T x[4 * kQuads - 1];
    bool active = false;
#pragma unroll
    for (int i = 0; i < 4 * kQuads - 1; i++) x[i] = i < rows ? s[i * a.srs] : T(0);
#pragma unroll
    for (int i = 0; i < 4 * kQuads - 1; i++) active |= x[i] != T(0);
    const unsigned found = __ballot_sync(kFull, active);
    if (lane == 0) counts[warp] = __popc(found);
    __syncthreads();
    int before = 0, total = 0;
#pragma unroll
    for (int w = 0; w < kPackK / kWarp; w++) {
        if (w < warp) before += counts[w];
        total += counts[w];
    }
    const int64_t slot = (int64_t)group * a.list.chunks + chunk;
    if (threadIdx.x == 0) a.list.count[slot] = total;
    if (!active) return;
    float4 *to = a.list.record + (slot * kPackK + before + __popc(found & lanes_below(lane))) * kQuads;
    to[0] = make_float4(__int_as_float(k), event_value(x[0]), event_value(x[1]), event_value(x[2]));
#pragma unroll
    for (int q = 1; q < kQuads; q++)
        to[q] = make_float4(event_value(x[4 * q - 1]), event_value(x[4 * q]), event_value(x[4 * q + 1]),
                            event_value(x[4 * q + 2]));
}

/* How many of the chunks from `chunk` on fit into the block's memory; begin[c] becomes the index of chunk
 * c's first record, begin[the returned number] the number of records. One warp. */
__device__ int plan_window(const ActiveList &list, const int *count, int chunk, int capacity, int *begin,
                           int lane)
{
    int total = 0, taken = 0;
    while (taken < kMaxWindow && chunk + taken < list.chunks) {
        const int mine = chunk + taken + lane < list.chunks ? count[chunk + taken + lane] : 0;
        const int end = inclusive_sum(mine, lane);
        const bool fits_in = total + end <= capacity && chunk + taken + lane < list.chunks;
        if (fits_in) begin[taken + lane] = total + end - mine;
        const int more = __popc(__ballot_sync(kFull, fits_in));
        if (more) total += __shfl_sync(kFull, end, more - 1);
        taken += more;
        if (more < kWarp) break;
    }
    if (lane == 0) begin[taken] = total;
    return taken;
}

/* acc[i][c] += v[i] * W[k, column c] for kUnroll records of this lane. Rows without an event are left out:
 * their value 0 times an Inf of W would not be 0. */
template <int kQuads, int kCols>
__device__ inline void add_records(const float4 *mine, const float *w, int64_t ldw,
                                   float (&acc)[4 * kQuads - 1][kCols])
{
    float x[kUnroll][kCols];
#pragma unroll
    for (int u = 0; u < kUnroll; u++) {
        const float *from = w + __float_as_int(mine[u * kWarp * kQuads].x);
#pragma unroll
        for (int c = 0; c < kCols; c++, from += ldw) x[u][c] = load_once(from);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; u++)
#pragma unroll
        for (int q = 0; q < kQuads; q++) {
            const float4 r = mine[u * kWarp * kQuads + q];
            const float v[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
            for (int e = q == 0; e < 4; e++)
                if (v[e] != 0.0f)
#pragma unroll
                    for (int c = 0; c < kCols; c++)
                        acc[4 * q + e - 1][c] = fmaf(v[e], x[u][c], acc[4 * q + e - 1][c]);
        }
}

/* Into how many parts a list of so many records is cut: several warps share a long one, so that a block reads
 * few columns at a time, and those at once: 80 instead of 84 us for 10 x 10000 x 10000, 1 % (H200,
 * 2026-11-21). */
__host__ __device__ inline int list_parts(float active)
{
    const float steps = active / (kUnroll * kWarp);
    return steps >= 8 ? 4 : steps >= 1.5f ? 2 : 1;
}

/* What a block and a warp of it have to do. */
struct Share {
    int i0, rows;             /* of S                                                 */
    int first, stride, units; /* units of kCols columns: first, first + stride, ..    */
    int part, parts;          /* of the list: this warp's                             */
    int unit0, unit_step;     /* of the block's units: this warp's                    */
};

template <int kCols> __device__ Share share_of(const ActiveArgs &a, int parts)
{
    const int warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    const int group = blockIdx.x % a.list.groups, block = blockIdx.x / a.list.groups;
    const int all = (int)ceil_div(a.p.n, kCols), i0 = group * a.list.rows;
    return {i0,
            min(a.list.rows, a.p.m - i0),
            block,
            a.blocks,
            (int)ceil_div(all - block, a.blocks),
            warp % parts,
            parts,
            warp / parts,
            warps / parts};
}

/* Fills the list up to whole steps with records that add nothing; returns the steps. */
template <int kQuads> __device__ int pad_list(float4 *records, int total)
{
    const int steps = (int)ceil_div(total, kUnroll * kWarp);
    for (int q = total * kQuads + threadIdx.x; q < steps * kUnroll * kWarp * kQuads; q += blockDim.x)
        records[q] = make_float4(0, 0, 0, 0);
    return steps;
}

/* Of a window of the list; the epilogue is done with the last. */
struct Scale {
    float alpha, beta;
    bool last;
};

__device__ inline void store_part(const GemmArgs &p, int i, int j, float sum, const Scale &s)
{
    float *const at = p.out + i * p.rs + j * p.cs;
    if (s.last)
        store_with_epilogue(at, sum, s.alpha, s.beta, p.epilogue, i, j);
    else
        *at = scaled(at, sum, s.alpha, s.beta);
}

/* Multiplies this warp's part of the list with the columns of one unit: directly into out, or into partial
 * where the list has more than one part. */
template <int kQuads, int kCols>
__device__ void multiply_unit(const GemmArgs &p, const Share &h, int unit, const float4 *records, int steps,
                              float *partial, const Scale &scale)
{
    const int lane = threadIdx.x % kWarp, column = lane / (kWarp / kCols);
    const int fresh = (h.first + unit * h.stride) * kCols, j = min(fresh, p.n - kCols);
    const float *w = p.w + (int64_t)j * p.wjs;
    float acc[4 * kQuads - 1][kCols] = {};
    for (int step = steps * h.part / h.parts; step < steps * (h.part + 1) / h.parts; step++)
        add_records<kQuads, kCols>(records + (step * kUnroll * kWarp + lane) * kQuads, w, p.wjs, acc);
#pragma unroll
    for (int i = 0; i < 4 * kQuads - 1; i++) {
        if (i >= h.rows) break;
        const float sum = reduce_columns(acc[i], lane);
        if (lane % (kWarp / kCols)) continue;
        if (h.parts > 1)
            partial[(unit % kRound * h.parts + h.part) * h.rows * kCols + i * kCols + column] = sum;
        else if (j + column >= fresh)
            store_part(p, h.i0 + i, j + column, sum, scale);
    }
}

/* Adds the parts of the units from `unit0` on, in order. All threads. */
template <int kCols>
__device__ void join_parts(const GemmArgs &p, const Share &h, int unit0, const float *partial,
                           const Scale &scale)
{
    const int tile = h.rows * kCols, units = min(kRound, h.units - unit0);
    __syncthreads();
    for (int t = threadIdx.x; t < units * tile; t += blockDim.x) {
        const int unit = t / tile, at = t % tile;
        const int fresh = (h.first + (unit0 + unit) * h.stride) * kCols;
        const int j = min(fresh, p.n - kCols) + at % kCols;
        float sum = 0;
        for (int q = 0; q < h.parts; q++) sum += partial[(unit * h.parts + q) * tile + at];
        if (j >= fresh) store_part(p, h.i0 + at / kCols, j, sum, scale);
    }
    __syncthreads();
}

/* out := beta out + alpha S W,  W[k, n] contiguous along k, S[m, k] packed as lists of records.
 *
 * Mapping   grid (blocks x groups of rows); warp = 4 columns and one part of the list; lane = a record: it
 *           reads 4 elements of W and adds to all rows of the group. The lanes are summed at the end. Units
 *           of columns go round the blocks, so that the device sweeps through W.
 * Layout    any alignment, any strides of S and out.
 * Bytes     the active elements of W once per group of rows (DRAM moves 64 bytes for each); the list once
 *           per block.
 * Order     records of a lane in ascending k, lanes as a tree, then the parts of the list and what did not
 *           fit into shared memory at once: no atomics.
 * Limit     DRAM: 79 to 84 us, packing included, for 10 x 10000 x 10000, 1 %: 326 MB at 4.1 to 4.4 TB/s. At
 *           0.1 % 26 to 30 us: single pieces come at 2.5 TB/s (H200, two of them, 2026-11-21). */
template <int kQuads, int kCols, bool kGated>
__global__ __launch_bounds__(kWarps *kWarp, 1) void event_active(const __grid_constant__ ActiveArgs a)
{
    LACUNA_DYNAMIC_SHARED(float4, records);
    __shared__ int begin[kMaxWindow + kWarp + 1], taken;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    const int64_t slot = (int64_t)(blockIdx.x % a.list.groups) * a.list.chunks;
    float *partial = (float *)(records + a.capacity * kQuads);
    int parts = a.parts;
    if constexpr (kGated) {
        if (warp == 0) { /* by the launch before the last: before the wait */
            const int sum = sum_of_counts(a.gate);
            if (lane == 0) taken = sum;
        }
        __syncthreads();
        const int active = taken;
        dependency_wait();
        if (active > a.gate.few) {
            dependents_launch();
            if (a.add.sums) streamed::add_by_grid(a.add);
            return;
        }
        parts = min(parts, list_parts((float)active / (float)a.list.groups));
    } else {
        dependency_wait();
    }
    const Share share = share_of<kCols>(a, parts);
    const float alpha = load_scalar(a.p.alpha), beta = load_scalar(a.p.beta);

    for (int chunk = 0, window = 0; chunk < a.list.chunks; chunk += taken, window++) {
        __syncthreads();
        if (warp == 0) {
            const int n = plan_window(a.list, a.list.count + slot, chunk, a.capacity, begin, lane);
            if (lane == 0) taken = n;
        }
        __syncthreads();
        for (int c = warp; c < taken; c += warps) {
            const float4 *from = a.list.record + (slot + chunk + c) * kPackK * kQuads;
            const int end = (begin[c + 1] - begin[c]) * kQuads;
            for (int q = lane; q < end; q += kWarp) records[begin[c] * kQuads + q] = from[q];
        }
        const int steps = pad_list<kQuads>(records, begin[taken]);
        __syncthreads();
        const Scale scale = {alpha, window ? 1.0f : beta, chunk + taken >= a.list.chunks};
        for (int unit0 = 0; unit0 < share.units; unit0 += kRound) {
            for (int unit = unit0 + share.unit0; unit < min(unit0 + kRound, share.units);
                 unit += share.unit_step)
                multiply_unit<kQuads, kCols>(a.p, share, unit, records, steps, partial, scale);
            if (share.parts > 1) join_parts<kCols>(a.p, share, unit0, partial, scale);
        }
    }
}

int group_rows(int64_t m)
{
    const int64_t max_rows = 4 * kMaxQuads - 1;
    return (int)ceil_div(m, ceil_div(m, max_rows));
}

ActiveList make_list(void *workspace, int64_t m, int64_t k)
{
    const int rows = group_rows(m), quads = (int)ceil_div(rows + 1, 4);
    ActiveList l = {(int *)workspace, nullptr, (int)ceil_div(k, kPackK), (int)ceil_div(m, rows), rows, quads};
    l.record = (float4 *)((char *)workspace + round_up(4 * (int64_t)l.chunks * l.groups, 256));
    return l;
}

template <int kQuads, bool kGated> lac_status_t pack(const ActiveArgs &a, lac_dt_t dt, cudaStream_t stream)
{
    Launch l = {dim3(unsigned(a.list.chunks), unsigned(a.list.groups)), dim3(kPackK), 0, 1, true, stream};
    if (kGated) l.grid.z = streamed::pack_layers(a.pack, l.grid, l.block);
    return dt == LAC_U8 ? launch(event_pack_active<uint8_t, kQuads, kGated>, l, a)
                        : launch(event_pack_active<float, kQuads, kGated>, l, a);
}

template <int kQuads, int kCols, bool kGated>
lac_status_t product(ActiveArgs a, double density, cudaStream_t stream)
{
    const Device device = current_device();
    const int64_t units = ceil_div(a.p.n, kCols);
    a.blocks = (int)min(max<int64_t>(1, device.sms / a.list.groups), units);
    const double active = (density > 0 ? 1 - pow(1 - density, a.list.rows) : 0.1) * a.p.k;
    const double room = min(1.3 * active + 256, a.p.k + 128.0);
    a.parts = kGated ? 4 : list_parts((float)active); /* gated: at most */
    const int64_t warps = min(kWarps / a.parts, (int)ceil_div(units, a.blocks)) * a.parts;
    const int64_t partial = a.parts > 1 ? 4 * kRound * a.parts * a.list.rows * kCols : 0;
    const int64_t fit = (device.shared - kPlan - partial) / (kPackK * kQuads * (int64_t)sizeof(float4));
    const double records = max<double>(kMaxRecords, room / kMostWindows);
    a.capacity = (int)min(round_up((int64_t)min(room, records), kPackK), fit * kPackK);
    const size_t shared = (size_t)a.capacity * kQuads * sizeof(float4) + size_t(partial);
    return launch(
        event_active<kQuads, kCols, kGated>,
        {dim3(unsigned(a.blocks * a.list.groups)), dim3(unsigned(warps * kWarp)), shared, 1, true, stream},
        a);
}

template <int kQuads, bool kGated>
lac_status_t gather_active(const ActiveArgs &a, double density, cudaStream_t stream)
{
    return a.p.n < kColumns ? product<kQuads, 1, kGated>(a, density, stream)
                            : product<kQuads, kColumns, kGated>(a, density, stream);
}

/* Calls what with the number of quads of a record, as a constant. */
template <typename What> lac_status_t with_quads(const ActiveList &list, What what)
{
    switch (list.quads) {
    case 1:
        return what(std::integral_constant<int, 1>());
    case 2:
        return what(std::integral_constant<int, 2>());
    default:
        return what(std::integral_constant<int, 3>());
    }
}

ActiveArgs gated_args(const lac_cuda_product_t *p, const Gated &g, void *workspace)
{
    return {
        make_gemm_args(p), make_list(workspace, p->m, p->k), nullptr, 0, 0, 0, 0, 0, g.gate, g.add, g.pack};
}

} // namespace

lac_status_t pack_gated_active(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, Gated *gated,
                               void *workspace, cudaStream_t stream)
{
    ActiveArgs a = gated_args(p, *gated, workspace);
    a.s = s->data, a.srs = s->rs, a.scs = s->cs;
    const double active = 1 - pow(1 - gated->break_even, a.list.rows);
    gated->gate = {a.list.count, a.list.chunks * a.list.groups,
                   (int)(active * (double)a.list.groups * (double)p->k), false, gated->break_even};
    return with_quads(a.list,
                      [&](auto quads) { return pack<decltype(quads)::value, true>(a, s->dt, stream); });
}

lac_status_t gather_gated_active(const lac_cuda_product_t *p, const Gated &gated, void *workspace,
                                 cudaStream_t stream)
{
    const ActiveArgs a = gated_args(p, gated, workspace);
    return with_quads(a.list, [&](auto quads) { /* room for the fullest that is gathered */
                                                return gather_active<decltype(quads)::value, true>(
                                                    a, gated.break_even, stream);
    });
}

} // namespace lacuna

extern "C" int64_t lac_cuda_event_active_bytes(int64_t m, int64_t k)
{
    using namespace lacuna;
    if (m == 0) return 0;
    const ActiveList l = make_list(nullptr, m, k);
    const int64_t slots = (int64_t)l.chunks * l.groups;
    return round_up(4 * slots, 256) + slots * kPackK * l.quads * (int64_t)sizeof(float4);
}

extern "C" lac_status_t lac_cuda_event_active(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                              void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->order != LAC_CUDA_COLS) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const ActiveArgs a = {
        make_gemm_args(p), make_list(workspace, p->m, p->k), s->data, s->rs, s->cs, 0, 0, 0, {}, {}, {}};
    if (a.list.groups > 65535 || p->k == 0) return LAC_ERR_EXTENT;
    return with_quads(a.list, [&](auto quads) {
        constexpr int kQuads = decltype(quads)::value;
        const lac_status_t status = s->data ? pack<kQuads, false>(a, s->dt, (cudaStream_t)stream) : LAC_OK;
        return status ? status : gather_active<kQuads, false>(a, s->density, (cudaStream_t)stream);
    });
}
