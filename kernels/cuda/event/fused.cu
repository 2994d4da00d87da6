/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product in one launch: scan a slice of dense S, gather its active slices of W, reduce in the cluster.
 */
#include "few.cuh"

/* out := beta out + alpha S W,  S[m, k] dense with zeros, W[k, n], m short.
 *
 * Mapping   grid (cluster * column tiles, row groups); a warp owns one row of S, one slice of k and
 *           128 * kVec columns; the slices of one tile are the warps of one cluster of blocks.
 * Layout    W, of type W, by rows with loads of four elements (kWide: n, ldw multiples of 4, W aligned to
 *           four elements) or any strides; doubles by kVec = 1 alone;
 *           S with any strides, fast for cs == 1 (quads).
 * Bytes     S once per column tile (from L2), a slice of W once per event (repeats hit L1 or L2), out once.
 * Order     a warp sums its events in queue order, in short runs that are added up, slices are added in
 *           ascending order: no atomics.
 * Limit     latency (launch, S, W, cluster barrier): 5.2 us for 10 x 5000 x 5000, 1 %, where the active
 *           slices are 2.1 us of DRAM time (H200, 2026-11-20). */
namespace lacuna
{
namespace
{

constexpr int kRounds = 4;            /* 128-element loads of S in flight per warp */
constexpr int kRound = kRounds * 128; /* elements of S scanned per round           */
constexpr int kQueue = kRound + 128;  /* events that a warp can hold               */
constexpr int kSparse = 8;            /* one element in so many is an event, at a guess */
static_assert(kQueue % 4 == 0, "shared memory behind the queues stays 16-byte aligned");

/* Warps of a block: what doubles hold of S takes more registers. */
constexpr int fused_warps(size_t element)
{
    return element == 8 ? kMaxWarps / 2 : kMaxWarps;
}

template <typename W> struct FusedArgs {
    GemmArgsOf<W> p;
    Split split;
    const void *s;
    int64_t rs, cs;
    int slice; /* k per warp, a multiple of 4                         */
    int queue; /* capacity of a warp's queue, in events               */
    int run;   /* events that a warp adds up straight                 */
    bool quads;
};

/* The row of its block and the slice of k that a thread's warp has. */
struct WarpShare {
    int row, slice;
};
__device__ inline WarpShare share_of(const Split &split, int rank, int thread)
{
    const int warp = thread / kWarp;
    return {warp % split.row_warps, rank * split.k_warps + warp / split.row_warps};
}

template <typename T, typename W, int kVec, bool kWide>
__global__ __launch_bounds__(fused_warps(sizeof(W)) *
                             kWarp) void event_fused(const __grid_constant__ FusedArgs<W> a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    const GemmArgsOf<W> &p = a.p;
    const int cluster = a.split.cluster, rows = a.split.row_warps, slices = a.split.k_warps * cluster;
    const int owned = kTileColumns * kVec / cluster;
    const int rank = blockIdx.x % cluster, tile = blockIdx.x / cluster;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int i0 = blockIdx.y * rows, j0 = tile * kTileColumns * kVec;
    using S = Sum<W>;
    S *received = (S *)shared;
    S *totals = received + slices * rows * owned + warp * kTileColumns * kVec;
    EventOf<S> *queue = (EventOf<S> *)(received + 2 * slices * rows * owned) + warp * a.queue;
    cluster_arrive_relaxed(cluster);
    dependency_wait();

    const WarpShare own = share_of(a.split, rank, threadIdx.x);
    const int k0 = min(own.slice * a.slice, p.k), k1 = min(k0 + a.slice, p.k);
    const ScanRow<T> s = {(const T *)a.s + (i0 + own.row) * a.rs, a.cs, a.quads};
    LaneColumns<kVec, kWide, W> columns(p, j0, lane);
    RunSums<kVec, kWide, S> sums(totals, lane);
    if (i0 + own.row < p.m) {
        int count = 0;
        bool more = false; /* the queue was gathered before: what came of it is a run */
        for (int base = k0; base < k1; base += kRound) {
            T x[kRounds][4];
#pragma unroll
            for (int q = 0; q < kRounds; q++) scan_load(x[q], s, base + 128 * q, k1, lane);
#pragma unroll
            for (int q = 0; q < kRounds; q++)
                if (base + 128 * q < k1)
                    count += scan_pack(x[q], s.quads, base + 128 * q, queue + count, lane);
            const bool last = base + kRound >= k1;
            if (last || count + kRound > a.queue) {
                __syncwarp();
                if (more) sums.settle();
                gather_runs(queue, 0, count, columns, p.wks, sums, a.run);
                __syncwarp();
                count = 0;
                more = true;
            }
        }
    }
    sums.add_total();
    dependents_launch();
    cluster_wait(cluster);
    const WarpShare again = share_of(a.split, rank, thread_here()); /* the loop has no registers for it */
    push_partial<kVec, kWide>(received, sums.run, again.slice, again.row, rows, cluster, lane);
    cluster_sync(cluster);
    store_sums(p, received, slices, rows, owned, i0, p.m, j0 + rank * owned);
}

template <typename T, typename W>
lac_status_t launch_type(const FusedArgs<W> &a, int vec, bool wide, const Launch &l)
{
    if (vec == 1)
        return wide ? launch(event_fused<T, W, 1, true>, l, a) : launch(event_fused<T, W, 1, false>, l, a);
    if constexpr (sizeof(W) < 8)
        return wide ? launch(event_fused<T, W, 2, true>, l, a) : launch(event_fused<T, W, 2, false>, l, a);
    else
        return LAC_ERR_VALUE;
}

/* Of W of two bytes an element a warp's loads bring half as much, and those of a row with many events would
 * follow each other: as many warps share a row as fill the device. W cold, us, so and with the tile of f32: 1
 * x 5000 x 5000 at 50 and 10 % 13.1, 4.9 and 20.3, 6.3; two rows at 10 % 7.4 and 10.4, four at 5 % 7.2
 * and 8.2 (H200, 2026-11-23). */
constexpr int kHalfWarps = 26;       /* for a multiprocessor                            */
constexpr int kMostKWarps = 8;       /* of a block                                      */
constexpr double kManyEvents = 0.25; /* of k, from which a row's columns are cut finer */

lac_cuda_tile_t choose_halves(const lac_cuda_product_t *p, double density, lac_cuda_tile_t t,
                              const Device &device)
{
    const int64_t wanted = (int64_t)kHalfWarps * device.sms;
    const int64_t narrow = 8 * kMostKWarps * ceil_div(p->n, kTileColumns);
    if (!t.vec) t.vec = p->m == 1 && density > kManyEvents && narrow <= wanted ? 1 : 2;
    if (!t.row_warps) t.row_warps = (int)ceil_div(p->m, ceil_div(p->m, 5));
    if (!t.cluster) t.cluster = 8;
    if (t.k_warps) return t;
    const int64_t warps = t.cluster * p->m * ceil_div(p->n, kTileColumns * t.vec);
    t.k_warps = 2;
    while (2 * t.k_warps <= kMostKWarps && 2 * t.k_warps * warps <= wanted &&
           2 * t.k_warps * t.row_warps <= kMaxWarps)
        t.k_warps *= 2;
    return t;
}

/* Of doubles the warps of a block have room for half as many events in shared memory, and a lane's registers
 * for one unit of columns. */
lac_cuda_tile_t choose_doubles(const lac_cuda_product_t *p, lac_cuda_tile_t t)
{
    t.vec = 1;
    if (!t.row_warps) t.row_warps = (int)ceil_div(p->m, ceil_div(p->m, 5));
    if (!t.k_warps && p->m > 1) t.k_warps = 1;
    return t;
}

/* Fills the fields that the caller left 0, with what won on an H200 (2026-11-20): more columns per warp while
 * latency counts, for then fewer blocks scan S; one warp per row side by side where rows share slices of W in
 * L1. */
lac_cuda_tile_t choose(const lac_cuda_product_t *p, double density, lac_cuda_tile_t t, const Device &device)
{
    const bool one_row = p->m == 1, shared_slices = shares_slices(p, density);
    const size_t element = lac_dt_size(p->w_dt);
    if (element == 2 && (one_row || !shared_slices)) t = choose_halves(p, density, t, device);
    if (element == 8) t = choose_doubles(p, t);
    if (!t.vec) t.vec = shared_slices || one_row ? 1 : 2;
    if (!t.row_warps) t.row_warps = (int)ceil_div(p->m, ceil_div(p->m, shared_slices ? 10 : 5));
    if (!t.k_warps && !one_row) t.k_warps = shared_slices ? 1 : 2;
    if (!t.k_warps) t.k_warps = 4;
    if (!t.cluster) t.cluster = one_row ? 4 : 8;
    if (!device.hopper) t.cluster = 1;
    return t;
}

template <typename W>
lac_status_t run_fused(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const lac_cuda_tile_t *tile,
                       cudaStream_t stream)
{
    const Device device = current_device();
    const lac_cuda_tile_t t = choose(p, s->density, tile ? *tile : lac_cuda_tile_t{}, device);
    const int cluster = device.hopper ? t.cluster : 1, slices = t.k_warps * cluster;
    const int warps = t.row_warps * t.k_warps;
    FusedArgs<W> a = {};
    a.p = make_gemm_args<W>(p);
    a.split = {t.row_warps, t.k_warps, cluster};
    a.s = s->data, a.rs = s->rs, a.cs = s->cs;
    a.slice = (int)max<int64_t>(4, round_up(ceil_div(p->k, slices), 4));
    a.queue = (int)min<int64_t>(kQueue, round_up(a.slice, 128));
    a.run = run_length(a.slice / kSparse);
    a.quads = scans_quads(s, p->k);
    const size_t sums =
        sizeof(Sum<W>) * size_t(warps * kTileColumns * t.vec); /* received, and totals of runs */
    const size_t shared = 2 * sums + sizeof(EventOf<Sum<W>>) * size_t(warps * a.queue);
    const dim3 grid(unsigned(cluster * ceil_div(p->n, kTileColumns * t.vec)),
                    unsigned(ceil_div(p->m, t.row_warps)));
    if (warps > fused_warps(sizeof(W)) || grid.y > 65535 || shared > (size_t)device.shared)
        return LAC_ERR_EXTENT;
    const Launch l = {grid, dim3(unsigned(kWarp * warps)), shared, cluster, true, stream};
    if (s->dt == LAC_U8) return launch_type<uint8_t>(a, t.vec, wide_loads(p), l);
    if constexpr (sizeof(W) < 8)
        if (s->dt == LAC_F32) return launch_type<float>(a, t.vec, wide_loads(p), l);
    return launch_type<W>(a, t.vec, wide_loads(p), l);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_event_fused(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                             const lac_cuda_tile_t *tile, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    if (!tile && takes_few(p, s, current_device()))
        return run_few(p, s, current_device(), (cudaStream_t)stream);
    return with_wide_number_type(
        p->w_dt, [&](auto w) { return run_fused<decltype(w)>(p, s, tile, (cudaStream_t)stream); });
}
