/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event products from events that already lie in memory by rows: CSR, or the slots of a packed S. */
#include "gated.cuh"
#include "gather.cuh"
#include "pack.cuh"

namespace lacuna
{
namespace
{

/* Events [begin, end) of one row, and the one of them that this lane comes first to. */
template <typename V> struct Range {
    int64_t begin;
    int count;
    EventOf<V> mine;
};

template <typename Source, typename W> struct RangeArgs {
    GemmArgsOf<W> p;
    Split split;
    Source source;
    int per_warp; /* ranges of one row that a warp takes in turn            */
    bool at_once; /* the warps of a row are in one block: the first of them stores */
};

/* Warps per block: without 16-byte loads the addresses need more registers. */
constexpr int range_warps(bool wide)
{
    return wide ? kMaxWarps : 20;
}

constexpr int kRangeQueue = 128; /* events that a warp holds at once */
constexpr int kFewRows = 10;
constexpr int64_t kSmallW =
    128 << 20; /* bytes, of which no more than a gather from all over is bound by latency */

/* Sums of a block in shared memory: what it receives, and the totals of its warps' runs. A
 * block that is alone receives from its own warps only, each of which has its totals at the same address. */
__host__ __device__ constexpr int range_sums(int warps, int cluster)
{
    return (cluster > 1 ? 2 : 1) * warps * kTileColumns;
}

template <typename Out, typename W>
__device__ inline void store_lane_as(Out *out, const GemmArgsOf<W> &p, const Sum<W> (&acc)[kLaneColumns],
                                     int i, int j)
{
    const Sum<W> alpha = load_scalar<Sum<W>>(p.alpha), beta = load_scalar<Sum<W>>(p.beta);
    Out *at = out + i * p.rs + j, was[kLaneColumns];
    Sum<W> x[kLaneColumns];
    if (beta != Sum<W>(0)) {
        load_quad(was, (const Out *)at);
#pragma unroll
        for (int c = 0; c < kLaneColumns; c++) x[c] = event_value(was[c]);
    }
#pragma unroll
    for (int c = 0; c < kLaneColumns; c++) {
        x[c] = scaled(x + c, Sum<W>(0) + acc[c], alpha, beta);
        if constexpr (sizeof(Sum<W>) == sizeof(float))
            if (p.epilogue.any) x[c] = apply_epilogue(p.epilogue, x[c], bias_at(p, i, j + c));
    }
    store_quad(at, x);
}

/* This lane's four sums of row i, from column j on, to an out by rows in pieces of four. */
template <typename W>
__device__ inline void store_lane(const GemmArgsOf<W> &p, const Sum<W> (&acc)[kLaneColumns], int i, int j)
{
    if (i < p.m && j < p.n) store_lane_as(p.out, p, acc, i, j);
}
template <lac_dt_t kType>
__device__ inline void store_lane(const GemmArgsOf<Half<kType>> &p, const float (&acc)[kLaneColumns], int i,
                                  int j)
{
    if (i >= p.m || j >= p.n) return;
    if (p.out.f32)
        store_lane_as((float *)p.out.base, p, acc, i, j);
    else
        store_lane_as((Half<kType> *)p.out.base, p, acc, i, j);
}

/* out := beta out + alpha S W with the events of S given by rows.
 *
 * Mapping   as the fused kernel; the warps of a block walk the same part of W together and may find each
 *           other's slices in L1.
 * Source    open(i, part, lane) finds a range, event(range, e) reads one event.
 * Bytes     each slice of W once per event, from DRAM once per active k when the rows keep pace; out once.
 * Order     events of a range in order, in short runs that are added up, ranges in order, slices in ascending
 *           order: no atomics.
 * Limit     latency below some 10 MB of slices (2.5 us for 10 x 5000 x 5000, 0.1 %), then L2: 46 us for
 *           50 x 10000 x 10000, 1 %, at 71 % of DRAM and 78 % of L2 throughput (H200, 2026-11-20). */
template <typename Source, typename W, bool kWide, bool kParts>
__global__ __launch_bounds__(range_warps(kWide) *
                             kWarp) void event_ranges(const __grid_constant__ RangeArgs<Source, W> a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    const GemmArgsOf<W> &p = a.p;
    const int cluster = a.split.cluster, rows = a.split.row_warps;
    const int slices = a.split.k_warps * cluster, owned = kTileColumns / cluster;
    const int rank = blockIdx.x % cluster, tile = blockIdx.x / cluster;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int row = warp % rows, slice = rank * a.split.k_warps + warp / rows;
    const int i0 = blockIdx.y * rows, j0 = tile * kTileColumns;
    using S = Sum<W>;
    S *received = (S *)shared;
    const int warps = a.split.k_warps * rows;
    EventOf<S> *queue = (EventOf<S> *)(received + range_sums(warps, cluster)) + warp * kRangeQueue;
    S *totals = received + (range_sums(warps, cluster) - warps * kTileColumns) + warp * kTileColumns;
    cluster_arrive_relaxed(cluster);

    LaneColumns<1, kWide, W> columns(p, j0, lane);
    RunSums<1, kWide, S> sums(totals, lane);
    S(&acc)[kLaneColumns] = sums.run;
    dependency_wait();
    const int first = slice * a.per_warp, row_end = p.m;
    Range<S> next = a.source.open(i0 + row, first, row_end, lane);
    if constexpr (Source::kGated)
        if (counted_many(a.source.gate)) {
            dependents_launch();
            streamed::pack_by_grid(a.source.pack);
            return;
        }
    for (int part = first; part < first + a.per_warp; part++) {
        const Range<S> range = next;
        if (part + 1 < first + a.per_warp) next = a.source.open(i0 + row, part + 1, row_end, lane);
        const int length = run_length(range.count);
        for (int e = 0; e < range.count; e += kRangeQueue) {
            const int held = min(kRangeQueue, range.count - e);
            for (int l = lane; l < held; l += kWarp)
                queue[l] = e + l < kWarp ? range.mine : a.source.event(range, e + l);
            __syncwarp();
            gather_runs(queue, e, held, columns, p.wks, sums, length);
            __syncwarp();
        }
    }
    sums.add_total();
    dependents_launch(); /* not before: blocks of the next kernel that come early are spread unevenly */
    if (kWide && a.at_once) {
        if (kParts) {
            S *of_row = received + row * kTileColumns + kLaneColumns * lane;
            const int step = rows * kTileColumns;
            if (slice > 0) store_quad(of_row + slice * step, acc);
            __syncthreads();
            if (slice > 0) return;
#pragma unroll 4
            for (int s = 1; s < slices; s++) {
                S x[kLaneColumns];
                load_quad(x, (const S *)of_row + s * step);
#pragma unroll
                for (int c = 0; c < kLaneColumns; c++) acc[c] += x[c];
            }
        }
        store_lane(p, acc, i0 + row, j0 + kLaneColumns * lane);
        return;
    }
    cluster_wait(cluster);
    push_partial<1, kWide>(received, acc, slice, row, rows, cluster, lane);
    cluster_sync(cluster);
    store_sums(p, received, slices, rows, owned, i0, p.m, j0 + rank * owned);
}

/* Whether a row of S has so many events that gathering them, not getting started, is the work. */
bool has_many(const lac_cuda_product_t *p, double density)
{
    return (double)p->k * density > 32;
}

/* What decides how the ranges of a product are cut. */
struct RangeTraits {
    int64_t m, n;
    double events;      /* expected in a row of S                                          */
    bool shared_slices; /* rows have active k in common: their warps find W's slices in L1 */
    bool many;          /* has_many()                                                      */
    bool few_rows;      /* two to ten, which share nothing                                 */
    bool given;         /* as CSR: no packer runs before                                   */
};

/* Rows of S that a block takes, at most. Without a packer before it blocks of ten rows settle evenly. */
int64_t block_rows(const RangeTraits &t, int max_warps)
{
    if (t.shared_slices) return max_warps;
    if (t.few_rows) return 1;
    return t.m > 10 || (t.given && t.many) ? 10 : 5;
}

/* Slices of k, a power of two: until there are some 1600 warps; where a row has many events 3200, and ten or
 * more events for each slice. */
int slice_count(const RangeTraits &t)
{
    const int64_t whole = t.m * ceil_div(t.n, kTileColumns), wanted = t.many ? 3200 : 1600;
    const int most = t.shared_slices || !t.many || t.few_rows ? 8 : 4;
    int slices = 1;
    while (slices < most && 2 * whole * slices <= wanted && (!t.many || t.events >= 20.0 * slices))
        slices *= 2;
    return slices;
}

/* Of them, those in one block; the others are in other blocks of the cluster. A block holds the slices of few
 * rows (cheap to add up; 8.9 instead of 9.9 us for 10 x 10000 x 10000, 1 %), a cluster those of one row or of
 * many. */
int block_slices(const RangeTraits &t, int slices)
{
    if (t.shared_slices) return 1;
    if (!t.many || t.few_rows) return slices;
    return t.given ? 1 : min(slices, 2);
}

/* Fills the fields that the caller left 0. density: expected, or 0. The numbers are what won on an H200
 * (2026-11-21) over 1 .. 128 rows of 4096 .. 10000. */
lac_cuda_tile_t choose_ranges(const lac_cuda_product_t *p, lac_cuda_tile_t t, double density, bool given,
                              const Device &device)
{
    const int max_warps = range_warps(wide_loads(p));
    const bool shared_slices = shares_slices(p, density);
    const RangeTraits traits = {p->m,
                                p->n,
                                (double)p->k * density,
                                shared_slices,
                                has_many(p, density),
                                p->m > 1 && p->m <= kFewRows && !shared_slices,
                                given};
    if (!t.row_warps) t.row_warps = (int)ceil_div(p->m, ceil_div(p->m, block_rows(traits, max_warps)));
    if (!device.hopper) t.cluster = 1;
    const int slices = slice_count(traits);
    const int per_block = t.cluster ? slices / t.cluster : block_slices(traits, slices);
    if (!t.k_warps) t.k_warps = max(1, min(per_block, max_warps / t.row_warps));
    if (!t.cluster) t.cluster = traits.many ? max(1, slices / t.k_warps) : 1;
    return t;
}

/* Whether the kernel may begin before its predecessor has ended. That hides its start, but its blocks settle
 * where the predecessor leaves room, unevenly: 1.0 us gained at 20 MB of W, 2 us lost at 40 MB (H200,
 * 2026-11-20). */
bool begins_early(const lac_cuda_product_t *p, double density)
{
    const double size = (double)lac_dt_size(p->w_dt);
    return size * density * (double)p->m * (double)p->k * (double)p->n < 30e6;
}

template <typename Source, typename W>
lac_status_t run_ranges(const lac_cuda_product_t *p, RangeArgs<Source, W> a, bool early, cudaStream_t stream)
{
    const bool wide = wide_loads(p);
    a.at_once = a.split.cluster == 1 && (Source::kParts || a.split.k_warps == 1) && a.p.cs == 1 &&
                a.p.rs % 4 == 0 && aligned(p->out, 4 * lac_dt_size(p->out_dt));
    const int rows = a.split.row_warps, warps = rows * a.split.k_warps;
    const size_t shared = sizeof(Sum<W>) * size_t(range_sums(warps, a.split.cluster)) +
                          sizeof(EventOf<Sum<W>>) * kRangeQueue * size_t(warps);
    const int64_t groups = ceil_div(a.p.m, rows);
    if (warps > range_warps(wide) || groups > 65535) return LAC_ERR_EXTENT;
    const dim3 grid(unsigned(a.split.cluster * ceil_div(a.p.n, kTileColumns)), unsigned(groups));
    const Launch l = {grid, dim3(unsigned(kWarp * warps)), shared, a.split.cluster, early, stream};
    if (a.at_once && wide && Source::kParts && a.split.k_warps > 1)
        return launch(event_ranges<Source, W, true, Source::kParts>, l, a);
    return wide ? launch(event_ranges<Source, W, true, false>, l, a)
                : launch(event_ranges<Source, W, false, false>, l, a);
}

/* Events given as CSR: slice `part` of a row is an equal share of its events, whatever their k. */
template <typename V> struct CsrSource {
    static constexpr bool kParts = true, kGated = false;
    lac_cuda_csr_t s;
    const V *val;
    int parts;

    __device__ Range<V> open(int row, int part, int m, int lane) const
    {
        Range<V> r = {0, 0, {0, V(0)}};
        if (row >= m) return r;
        const RowEntries entries = entries_of(s, row);
        const int64_t p0 = entries.begin, all = entries.end - p0;
        const int64_t share = ceil_div(all, parts), first = min(all, part * share);
        r.begin = p0 + first;
        r.count = int(min(all, first + share) - first);
        if (lane < r.count) r.mine = event(r, lane);
        return r;
    }
    __device__ EventOf<V> event(const Range<V> &r, int e) const
    {
        return {s.idx[r.begin + e], val ? val[r.begin + e] : V(1)};
    }
};

/* Events packed into slots. Reads count and first events together: a slot's memory is there whether or not it
 * holds events. */
template <typename V> struct SlotSource {
    static constexpr bool kParts = false; /* the gather would be 2 to 7 % slower (H200, 2026-11-22) */
    static constexpr bool kGated = false;
    SlotsOf<V> from;

    __device__ Range<V> open(int row, int part, int m, int lane) const
    {
        Range<V> r = {0, 0, {0, V(0)}};
        if (row >= m || part >= from.slots) return r;
        r.begin = (int64_t)row * from.pitch + (int64_t)part * from.slice;
        r.count = from.count[row * from.slots + part];
        r.mine = from.event[r.begin + lane];
        return r;
    }
    __device__ EventOf<V> event(const Range<V> &r, int e) const { return from.event[r.begin + e]; }
};

/* The cut that serves all densities up to a break-even. k of few rows is shared out among as many warps as
 * for many events: they cost little where there are few (10 x 5000 x 5000 at 10 % in four instead of eight
 * parts: + 6 us; H200, 2026-11-23). */
lac_cuda_tile_t cut_for_all(const lac_cuda_product_t *p)
{
    lac_cuda_tile_t t = {0, 0, 0, 1, 0};
    if (p->m <= kFewRows)
        for (t.k_warps = 1; t.k_warps < 8 && 2 * p->m * ceil_div(p->n, kTileColumns) * t.k_warps <= 3200;)
            t.k_warps *= 2;
    return choose_ranges(p, t, 0.01, false, current_device());
}

/* The same where few were counted. */
struct GatedSlotSource : SlotSource<float> {
    static constexpr bool kGated = true;
    Gate gate;
    streamed::PackArgs pack;

    GatedSlotSource(const SlotSource<float> &slots, const Gated &g)
        : SlotSource<float>(slots), gate(g.gate), pack(g.pack)
    {
    }
};

template <typename V>
SlotsOf<V> cut_slots(const lac_cuda_product_t *p, const lac_cuda_tile_t &t, void *workspace)
{
    const int64_t share = ceil_div(p->k, t.cluster * t.k_warps);
    const int64_t min_slice = max<int64_t>(128, round_up(ceil_div(p->k, slots_upper(p->k)), 128));
    return make_slots<V>(workspace, p->m, p->k,
                         (int)max(min_slice, t.slice ? t.slice : round_up(share, 128)));
}

/* Two chained launches: packs S into slots, then gathers from them. */
lac_status_t pack_and_gather(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const int32_t *list,
                             const lac_cuda_tile_t *tile, void *workspace, cudaStream_t stream)
{
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const lac_cuda_tile_t zero = {},
                          t = choose_ranges(p, tile ? *tile : zero, s->density, false, current_device());
    const bool early = s->data || begins_early(p, s->density);
    return with_wide_number_type(p->w_dt, [&](auto w) {
        using W = decltype(w);
        const SlotsOf<Sum<W>> slots = cut_slots<Sum<W>>(p, t, workspace);
        if (s->data && slots.slots > 0) {
            lac_status_t status = pack_slots(s, p->m, p->k, slots, !has_many(p, s->density), stream, list);
            if (status != LAC_OK) return status;
        }
        const int per_warp = (int)ceil_div(slots.slots, t.cluster * t.k_warps);
        const RangeArgs<SlotSource<Sum<W>>, W> a = {
            make_gemm_args<W>(p), {t.row_warps, t.k_warps, t.cluster}, {slots}, per_warp, false};
        return run_ranges(p, a, early, stream);
    });
}

} // namespace

lac_status_t gated_slots(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, Gated *gated,
                         void *workspace, cudaStream_t stream)
{
    const lac_cuda_tile_t t = cut_for_all(p);
    const Slots slots = cut_slots<float>(p, t, workspace);
    gated->gate = {slots.count, (int)p->m * slots.slots,
                   (int)(gated->break_even * (double)p->m * (double)p->k), true, gated->break_even};
    const bool early = p->m <= kFewRows && 4 * p->k * p->n < kSmallW;
    const lac_status_t status = pack_few(s, p->m, p->k, slots, gated->break_even, early, stream);
    if (status != LAC_OK) return status;
    const RangeArgs<GatedSlotSource, float> a = {make_gemm_args(p),
                                                 {t.row_warps, t.k_warps, 1},
                                                 GatedSlotSource({slots}, *gated),
                                                 (int)ceil_div(slots.slots, t.k_warps),
                                                 false};
    return run_ranges(p, a, true, stream);
}

} // namespace lacuna

extern "C" lac_status_t lac_cuda_event_csr(const lac_cuda_product_t *p, const lac_cuda_csr_t *s,
                                           const lac_cuda_tile_t *tile, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const double density = p->k ? (double)s->nnz / ((double)p->m * (double)p->k) : 0.0;
    const lac_cuda_tile_t zero = {},
                          t = choose_ranges(p, tile ? *tile : zero, density, true, current_device());
    return with_wide_number_type(p->w_dt, [&](auto w) {
        using W = decltype(w);
        const CsrSource<Sum<W>> rows = {*s, (const Sum<W> *)s->val, t.cluster * t.k_warps};
        const RangeArgs<CsrSource<Sum<W>>, W> a = {
            make_gemm_args<W>(p), {t.row_warps, t.k_warps, t.cluster}, rows, 1, false};
        return run_ranges(p, a, begins_early(p, density), (cudaStream_t)stream);
    });
}

extern "C" int64_t lac_cuda_event_slots_bytes(int64_t m, int64_t k, lac_dt_t w_dt)
{
    using namespace lacuna;
    return slots_bytes(m, k, w_dt == LAC_F64 ? sizeof(EventOf<double>) : sizeof(Event));
}

extern "C" lac_status_t lac_cuda_event_slots(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                             const lac_cuda_tile_t *tile, void *workspace,
                                             lac_cuda_stream_t stream)
{
    return lacuna::pack_and_gather(p, s, nullptr, tile, workspace, (cudaStream_t)stream);
}

extern "C" lac_status_t lac_cuda_event_listed(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                              const int32_t *list, void *workspace, lac_cuda_stream_t stream)
{
    return lacuna::pack_and_gather(p, s, list, nullptr, workspace, (cudaStream_t)stream);
}
