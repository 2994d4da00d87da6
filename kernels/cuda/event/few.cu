/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product of a few rows in one launch: a block lists the k of its events, its warps share them out. And
 * the dense product of as many rows, whose list has all k.
 */
#include "few.cuh"

#include "common/async_copy.cuh"

namespace lacuna
{
namespace
{

constexpr int kRun = 32; /* events of a warp that are added up straight */
constexpr int kMostRows = 8;
constexpr int kMiddleRows = 8;         /* of a W of floats there is a kernel for,  */
constexpr int kMostFloatRows = 10;     /* of a W of floats                       */
constexpr int kFloatsAtOnce = 4;       /* up to which nothing is ahead           */
constexpr int kManyRows = 2;           /* beyond, rows of few events are sooner  */
constexpr int kManyFloatRows = 4;      /* ... of a W of floats beyond,           */
constexpr double kFewEvents = 0.02;    /* gathered by blocks of several rows     */
constexpr double kSharedEvents = 0.25; /* of k, from which two rows share a list */
constexpr int64_t kMostK = 1 << 16;
constexpr int64_t kDeepK = 8192;
constexpr int kMostCluster = 16;
constexpr int kOwnerBits = 20; /* of a fraction: enough for all sums of a block */
constexpr size_t kBarrierBytes =
    (sizeof(barrier_t) + 15) / 16 * 16; /* what is behind it begins on sixteen bytes */
constexpr int kBatch = 4;               /* neighbouring events, whose k are read at once */

/* How a block is cut, and how much a lane has in flight: kLoads_ events at a time, or, kAhead_, a batch that
 * is multiplied and the one behind it. Without kSkips_ all k are events of all rows. */
template <int kRows_, int kWarps_, int kLanes_, int kLoads_, int kQuads_, int kBlocks_, typename W,
          bool kAhead_ = false, bool kSkips_ = true>
struct Few {
    static constexpr int kRows = kRows_, kWarps = kWarps_, kLoads = kLoads_;
    static constexpr bool kAhead = kAhead_, kSkips = kSkips_;
    static constexpr int kLanes = kLanes_;   /* of an adder, side by side in a warp              */
    static constexpr int kBlocks = kBlocks_; /* of a multiprocessor: limits registers           */
    static constexpr int kThreads = kWarps * kWarp;
    static constexpr int kWarpAdders = kWarp / kLanes;         /* lanes may be left over          */
    static constexpr int kAdders = kWarps * kWarpAdders;       /* of a block                      */
    static constexpr int kColumns = Sixteen<W>::kCount;        /* of a lane                       */
    static constexpr int kTile = kLanes * kColumns;            /* of a block                      */
    static constexpr int kCells = kRows * kTile;               /* sums of an adder                */
    static constexpr int kShare = 8;                           /* adders whose sums become one    */
    static constexpr int kParts = kAdders / kShare;            /* such sums of a block            */
    static constexpr int kQuads = kQuads_, kEach = 4 * kQuads; /* elements of a row, of a thread; */
    static constexpr int kPass = kEach * kThreads;             /* of a block, that it lists at once */
    static constexpr int kUnit = kRows % 4 == 0 ? 4 : kRows % 2 == 0 ? 2 : 1; /* values read at once */
    static constexpr int kGap = kRows > 1 ? kUnit : 0;                        /* behind four events */
    static constexpr int kReceived = kParts * kRows * (kTile + kMostCluster); /* from the cluster  */
    static_assert(kAdders % kShare == 0 && kCells % 4 == 0, "equal shares; sums by sixteen bytes");
    static_assert(!kAhead || kRows > 1, "what fills the last batch has values of 0, which are left out");

    /* Events that a block with so many k lists at once, a multiple of four: of a single row always as many,
     * so that k and values have one address. */
    __host__ __device__ static int events_of(int slice) { return kRows > 1 ? min(kPass, slice) : kPass; }

    /* Shared memory of such a block. */
    static size_t shared(int slice)
    {
        const int events = events_of(slice);
        const size_t floats = kReceived + kAdders * kCells + (size_t)kRows * events + kGap * (events / 4);
        return sizeof(float) * floats + kBarrierBytes + sizeof(int) * (size_t)events;
    }
};
/* A single row of few events; of many, by tiles of so many columns; of many along a long k; several rows,
 * each by itself; two rows that share a list. The columns are those of two bytes; of floats, half as many. */
template <typename W> using FewBrief = Few<1, 8, kWarp, 8, 1, 4, W>;
template <typename W, int kQuads> using Few64 = Few<1, 16, 8, 8, kQuads, 2, W>;
template <typename W> using Few80 = Few<1, 16, 10, 8, 2, 2, W>;
template <typename W> using Few128 = Few<1, 16, kWarp / 2, 8, 2, 2, W>;
template <typename W> using Few256 = Few<1, 16, kWarp, 8, 2, 2, W>;
template <typename W> using FewDeep = Few<1, 32, kWarp, 8, 2, 1, W>;
template <typename W> using FewApart = Few<1, 8, kWarp, 4, 1, 4, W>;
template <typename W> using FewShared = Few<2, 8, kWarp, 8, 1, 3, W>;
/* Up to so many rows times floats, which share a list. What is ahead takes registers that few rows rather
 * have as a third block: full rows, 5000 x 5000, 4 rows 27.9 and 28.8 us, 8 rows 30.8 and 29.9, 10 rows 33.9
 * and 31.2 (H200, 2026-11-28). */
constexpr int blocks_of_floats(int64_t rows)
{
    return rows <= kFloatsAtOnce ? 3 : 2;
}
template <int kRows, int kLanes, bool kSkips>
using FewFloats = Few<kRows, 8, kLanes, kRows <= 2 ? 8 : 4, 1, blocks_of_floats(kRows), float,
                      (kRows > kFloatsAtOnce), kSkips>;
template <int kRows, bool kSkips> using NarrowFloats = FewFloats<kRows, kWarp / 2, kSkips>;
template <int kRows, bool kSkips> using WideFloats = FewFloats<kRows, kWarp, kSkips>;

template <typename W> struct FewArgs {
    GemmArgsOf<W> p;
    const void *s;
    int64_t rs, cs;
    int cluster;
    int slice;      /* k of a block, a multiple of 4 */
    int owned;      /* columns whose sums a block stores; the last of a cluster has what is left */
    unsigned owner; /* a column times this, over 2^kOwnerBits: which block of the cluster that is */
    bool quads;
};

/* Elements k .. k + 3 of a row, as many as there are before `end`; what stands in the place of the others is
 * some element of the row. */
template <typename T>
__device__ inline void load_four(T (&x)[4], const T *row, int64_t stride, bool quads, int k, int end)
{
    if (quads) {
        load_quad(x, row + min(k, end - 4));
        return;
    }
#pragma unroll
    for (int c = 0; c < 4; c++) x[c] = row[min(k + c, end - 1) * stride];
}

/* The events of a pass over a slice, of a group of rows. */
template <typename Shape> struct EventList {
    static constexpr int kRows = Shape::kRows, kUnit = Shape::kUnit;
    int *k;
    float *value; /* of each row, 0 where it has no event */
    int count;

    /* Of several rows a unit is left out behind four events, so that neighbouring threads with four events
     * each write to different banks. */
    __device__ float *values(int at) const { return value + at * kRows + at / 4 * Shape::kGap; }

    __device__ void load(float (&v)[kRows], int at) const
    {
        const float *const from = values(at);
#pragma unroll
        for (int r = 0; r < kRows; r += kUnit)
            if constexpr (kUnit == 4) {
                const float4 x = *(const float4 *)(from + r);
                v[r] = x.x, v[r + 1] = x.y, v[r + 2] = x.z, v[r + 3] = x.w;
            } else if constexpr (kUnit == 2) {
                const float2 x = *(const float2 *)(from + r);
                v[r] = x.x, v[r + 1] = x.y;
            } else
                v[r] = from[r];
    }

    __device__ void store(int at, int at_k, const float (&v)[kRows]) const
    {
        float *const to = values(at);
        k[at] = at_k;
#pragma unroll
        for (int r = 0; r < kRows; r += kUnit)
            if constexpr (kUnit == 4)
                *(float4 *)(to + r) = make_float4(v[r], v[r + 1], v[r + 2], v[r + 3]);
            else if constexpr (kUnit == 2)
                *(float2 *)(to + r) = make_float2(v[r], v[r + 1]);
            else
                to[r] = v[r];
    }
};

/* Lists those from `from` on, ascending in k, between two barriers; of whole batches, where these are read.
 * counts: of each warp. */
template <typename S, typename W, typename Shape>
__device__ inline void list_events(EventList<Shape> &list, int *counts, const FewArgs<W> &a, int i0, int from,
                                   int end)
{
    constexpr int kRows = Shape::kRows;
    constexpr int kQuads = Shape::kQuads, kEach = Shape::kEach;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, k = from + kEach * (int)threadIdx.x;
    S x[kRows][kQuads][4] = {};
    unsigned mask = 0;
    int before = 0, all = 0; /* events of the warp */
    if (k - kEach * lane < end) {
#pragma unroll
        for (int r = 0; r < kRows; r++) /* a row past the last is the last once more, and never stored */
#pragma unroll
            for (int q = 0; q < kQuads; q++)
                load_four(x[r][q], (const S *)a.s + min(i0 + r, a.p.m - 1) * a.rs, a.cs, a.quads, k + 4 * q,
                          end);
#pragma unroll
        for (int r = 0; r < kRows; r++)
#pragma unroll
            for (int c = 0; c < kEach; c++)
                mask |= (unsigned)(!Shape::kSkips || x[r][c / 4][c % 4] != S(0)) << c;
        mask &= k < end ? (1u << min(end - k, kEach)) - 1 : 0;
        const unsigned below = lanes_below(lane), many = __popc(mask);
#pragma unroll
        for (int b = 1; b <= kEach; b *= 2) {
            const unsigned has = __ballot_sync(kFull, many & b);
            before += b * __popc(has & below), all += b * __popc(has);
        }
    }
    if (lane == 0) counts[warp] = all;
    __syncthreads();
    const int held = lane < Shape::kWarps ? counts[lane] : 0;
    int at = __reduce_add_sync(kFull, lane < warp ? held : 0) + before;
    list.count = __reduce_add_sync(kFull, held);
    if (all > 0)
#pragma unroll
        for (int c = 0; c < kEach; c++)
            if (mask >> c & 1) {
                float v[kRows];
#pragma unroll
                for (int r = 0; r < kRows; r++) v[r] = event_value(x[r][c / 4][c % 4]);
                list.store(at++, k + c, v);
            }
    if (Shape::kAhead && Shape::kSkips && threadIdx.x < round_up(list.count, kBatch) - list.count) {
        const float none[kRows] = {};
        list.store(list.count + (int)threadIdx.x, from, none);
    }
    __syncthreads();
}

/* A lane's sums: a run of events in registers, and in shared memory the total of the runs before. */
template <typename W, typename Shape> struct FewSums {
    float run[Shape::kRows][Shape::kColumns] = {};
    float *total; /* this lane's first, of its adder's [kRows][kTile] */
    int events = 0;
    bool settled = false;

    __device__ explicit FewSums(float *total_) : total(total_) {}

    /* Begins another run. */
    __device__ void settle()
    {
#pragma unroll
        for (int r = 0; r < Shape::kRows; r++)
#pragma unroll
            for (int c = 0; c < Shape::kColumns; c += 4) {
                float4 *const at = (float4 *)(total + r * Shape::kTile + c);
                float *const x = run[r] + c;
                float4 t = settled ? *at : make_float4(0, 0, 0, 0);
                t.x += x[0], t.y += x[1], t.z += x[2], t.w += x[3];
                *at = t;
                x[0] = x[1] = x[2] = x[3] = 0.0f;
            }
        settled = true;
        events = 0;
    }

    /* Adds event number `at`. A row without an event at its k does not multiply. */
    __device__ void add_event(const EventList<Shape> &list, int at, bool live, const Sixteen<W> &w)
    {
        constexpr bool kOne = Shape::kRows == 1 || !Shape::kSkips;
        float v[Shape::kRows] = {};
        if (live) list.load(v, at);
#pragma unroll
        for (int r = 0; r < Shape::kRows; r++)
#pragma unroll
            for (int c = 0; c < Shape::kColumns; c++)
                if (kOne || v[r] != 0.0f) run[r][c] = fmaf(v[r], w.at(c), run[r][c]);
    }

    /* Adds the events e, e + kAdders, ... of a list, kLoads of them: kAll, or as far as there are events.
     * pitch: of W, in bytes. */
    template <int kLoads, bool kAll>
    __device__ void add(const EventList<Shape> &list, int e, const char *columns, int pitch)
    {
        Sixteen<W> w[kLoads];
#pragma unroll
        for (int u = 0; u < kLoads; u++) {
            const int at = e + u * Shape::kAdders;
            const bool live = kAll || at < list.count;
            const int k = live ? list.k[at] : 0;
            w[u].load((const W *)(columns + (int64_t)k * pitch), live);
        }
#pragma unroll
        for (int u = 0; u < kLoads; u++) {
            const int at = e + u * Shape::kAdders;
            add_event(list, at, kAll || at < list.count, w[u]);
        }
        events += kLoads;
    }

    /* Adds an adder's share of a list by batches, each of which is loaded while the one before is added. */
    __device__ void add_ahead(const EventList<Shape> &list, int adder, const char *columns, int pitch)
    {
        const int4 *const batch = (const int4 *)list.k;
        const int batches = (int)ceil_div(list.count, kBatch);
        if (adder >= batches) return;
        Sixteen<W> w[2][kBatch];
        const auto load = [&](Sixteen<W>(&to)[kBatch], int4 k) {
            const int of[kBatch] = {k.x, k.y, k.z, k.w};
#pragma unroll
            for (int u = 0; u < kBatch; u++) to[u].load((const W *)(columns + (int64_t)of[u] * pitch), true);
        };
        const auto k_of = [&](int b) { return batch[min(b, batches - 1)]; };
        load(w[0], batch[adder]);
        int4 next = k_of(adder + Shape::kAdders);
        for (int b = adder; b < batches;) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                if (half > 0 && b >= batches) break;
                load(w[1 - half], next);
                next = k_of(b + 2 * Shape::kAdders);
#pragma unroll
                for (int u = 0; u < kBatch; u++) add_event(list, kBatch * b + u, true, w[half][u]);
                b += Shape::kAdders;
            }
            events += 2 * kBatch;
            if (events >= kRun) settle();
        }
    }

    /* Adds an adder's share of a list. */
    __device__ void add_share(const EventList<Shape> &list, int adder, const char *columns, int pitch)
    {
        if constexpr (Shape::kAhead) return add_ahead(list, adder, columns, pitch);
        constexpr int kLoads = Shape::kLoads, kHalf = kLoads / 2, kStep = Shape::kAdders;
        int e = adder;
        for (; e + (kLoads - 1) * kStep < list.count; e += kLoads * kStep) {
            add<kLoads, true>(list, e, columns, pitch);
            if (events >= kRun) settle();
        }
        if (e + kHalf * kStep < list.count)
            add<kLoads, false>(list, e, columns, pitch);
        else if (e < list.count)
            add<kHalf, false>(list, e, columns, pitch);
    }
};

/* Sums the parts [parts][rows][owned], eights of them by halves, and stores `columns` of some rows.
 * store_sums does so too: nothing else runs meanwhile, and its divisions and chain of loads were a tenth of
 * the time. */
template <typename W>
__device__ inline void store_rows(const GemmArgsOf<W> &p, const float *parts, int count, int rows, int owned,
                                  unsigned owner, int columns, int i0, int j0)
{
    const float alpha = load_scalar<float>(p.alpha), beta = load_scalar<float>(p.beta);
    for (int t = threadIdx.x; t < rows * owned; t += blockDim.x) {
        const int row = rows > 1 ? int(t * owner >> kOwnerBits) : 0, i = i0 + row, j = j0 + t - row * owned;
        if (i >= p.m || j >= p.n || j >= j0 + columns) continue;
        float sum = 0;
#pragma unroll 1
        for (int first = 0; first < count; first += 8)
            sum += sum_by_halves<8>(
                [&](int part) { return part < count ? parts[part * rows * owned + t] : 0.0f; }, first);
        store_sum(p, i, j, sum, alpha, beta);
    }
}

/* out := beta out + alpha S W,  S[m, k] dense with zeros, W[k, n], m a few rows.
 *
 * Mapping   grid (cluster * column tiles, groups of kRows rows); a block has a slice of k and a column tile
 *           of a group's rows, and lists the k of its slice at which any of them has an event. Its adders,
 *           a warp or half of one, take turns at the list: equal shares, however the events lie. A lane has
 *           16 bytes of a row of W.
 * Layout    W, of type W, by rows; n, ldw and W multiples of 16 bytes. S with any strides, fast for cs ==
 *           1.
 * Bytes     S once per column tile (from L2), a row of W once per group in which a row has its k, out once.
 * Order     an adder sums its events in list order, in runs that are added up; then the adders of a block
 *           by halves, then the blocks of the cluster: no atomics.
 * Limit     DRAM, and some 3 us of which nothing is read: the launch, S, the first row of W, the sums. W
 *           cold, us: 1 x 5000 x 5000 at 10 % 3.7 (5 MB; cuBLAS 16.4), at 50 % 7.0 (25 MB; 16.0), 1 x 4096 x
 *           16384 20.1 (67 MB; 32.9). More than some 5 MB of W in flight are slower again. Full rows of
 *           floats, 100 MB: two 28.0 (76), ten 32.3 (64), whose multiply-adds are in the way of loads (H200,
 *           2026-11-28). */
template <typename S, typename W, typename Shape>
__global__ __launch_bounds__(Shape::kThreads,
                             Shape::kBlocks) void event_few(const __grid_constant__ FewArgs<W> a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    __shared__ int counts[Shape::kWarps];
    const GemmArgsOf<W> &p = a.p;
    const int cluster = a.cluster, rank = blockIdx.x % cluster, tile = blockIdx.x / cluster;
    const int warp_lane = threadIdx.x % kWarp, lane = warp_lane % Shape::kLanes;
    const bool adds = warp_lane < Shape::kWarpAdders * Shape::kLanes;
    const int adder = (int)threadIdx.x / kWarp * Shape::kWarpAdders + warp_lane / Shape::kLanes;
    const int i0 = blockIdx.y * Shape::kRows, j0 = tile * Shape::kTile;
    float *const received = (float *)shared;           /* [cluster * kParts][kRows][owned]  */
    float *const totals = received + Shape::kReceived; /* [kAdders][kRows][kTile]           */
    const int owns = min(a.owned, Shape::kTile - rank * a.owned);
    barrier_t *const all_here = (barrier_t *)(totals + Shape::kAdders * Shape::kCells);
    EventList<Shape> list;
    list.k = (int *)((char *)all_here + kBarrierBytes);
    list.value = (float *)(list.k + Shape::events_of(a.slice));
    if (cluster > 1 && threadIdx.x == 0) {
        barrier_init(all_here, 1);
        cluster_barrier_fence();
        barrier_arrive_promise(all_here, sizeof(float) * cluster * Shape::kParts * Shape::kRows * owns);
    }
    __syncwarp();
    cluster_arrive_relaxed(cluster);
    dependency_wait();

    const int k0 = min(rank * a.slice, p.k), k1 = min(k0 + a.slice, p.k);
    const int mine =
        Shape::kColumns * lane; /* columns past the last are the last once more, and not stored */
    const char *const columns = (const char *)(p.w + min(j0 + mine, p.n - Shape::kColumns));
    const int pitch = p.wks * (int)sizeof(W);
    FewSums<W, Shape> sums(totals + adder * Shape::kCells + mine);
    for (int from = k0; from < k1; from += Shape::kPass) {
        if (from > k0) __syncthreads(); /* the list is read until here */
        list_events<S>(list, counts, a, i0, from, k1);
        if (adds) sums.add_share(list, adder, columns, pitch);
    }
    if (adds) sums.settle();
    dependents_launch();
    __syncthreads();
    cluster_wait(cluster);

    constexpr int kShare = Shape::kShare, kSums = Shape::kParts * Shape::kCells;
#pragma unroll
    for (int b = 0; b < kSums; b += Shape::kThreads) {
        const int t = b + (int)threadIdx.x;
        if (t >= kSums) break;
        const int part = t / Shape::kCells, cell = t % Shape::kCells;
        const int row = cell / Shape::kTile, column = cell % Shape::kTile;
        const int owner = int(column * a.owner >> kOwnerBits);
        const float sum =
            sum_by_halves<kShare>([&](int q) { return totals[q * Shape::kCells + cell]; }, part * kShare);
        const int slot = (rank * Shape::kParts + part) * Shape::kRows + row;
        float *const to = received + slot * a.owned + column - owner * a.owned;
        if (cluster > 1)
            cluster_push(cluster_address(to, owner, cluster), sum, cluster_address(all_here, owner, cluster));
        else
            *to = sum;
    }
    if (cluster > 1)
        barrier_wait_pushed(all_here);
    else
        __syncthreads();
    store_rows(p, received, cluster * Shape::kParts, Shape::kRows, a.owned, a.owner, owns, i0,
               j0 + rank * a.owned);
}

/* How many k a block of a cluster has. */
int slice_of(int64_t k, int cluster)
{
    return (int)max<int64_t>(4, round_up(ceil_div(k, cluster), 4));
}

template <typename Shape> int64_t tiles_of(const lac_cuda_product_t *p)
{
    return ceil_div(p->n, Shape::kTile) * ceil_div(p->m, Shape::kRows);
}

/* Up to how many blocks there may be in clusters of 2, 4, 8 and 16, by eighths of the multiprocessors: the
 * larger a cluster, the harder it finds room. */
struct Room {
    int eighths[4];
};
constexpr Room kBriefRoom = {12, 12, 12}, kEightsRoom = {16, 6, 6}, kRoom = {16}, kApartRoom = {20, 20, 20},
               kSharedRoom = {20, 20, 20, 20};

/* The blocks of a cluster. */
template <typename Shape> int cluster_of(const lac_cuda_product_t *p, const Room &room, const Device &device)
{
    const int64_t tiles = tiles_of<Shape>(p);
    int cluster = 1;
    for (const int most : room.eighths) {
        if (8 * 2 * cluster * tiles > (int64_t)most * device.sms) break;
        cluster *= 2;
    }
    return cluster;
}

template <typename S, typename W, typename Shape>
lac_status_t launch_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, int cluster,
                        cudaStream_t stream)
{
    FewArgs<W> a = {};
    a.p = make_gemm_args<W>(p);
    a.s = s->data, a.rs = s->rs, a.cs = s->cs;
    a.cluster = cluster;
    a.slice = slice_of(p->k, cluster);
    a.owned = (int)ceil_div(Shape::kTile, cluster);
    a.owner = (1u << kOwnerBits) / (unsigned)a.owned + 1;
    a.quads = scans_quads(s, p->k);
    const Launch l = {
        dim3(unsigned(cluster * ceil_div(p->n, Shape::kTile)), unsigned(ceil_div(p->m, Shape::kRows))),
        dim3(Shape::kThreads),
        Shape::shared(a.slice),
        cluster,
        true,
        stream};
    return launch(event_few<S, W, Shape>, l, a);
}

/* The largest cluster of so many tiles that has no more than so many blocks. */
int cluster_within(int64_t tiles, int64_t blocks)
{
    return (int)max<int64_t>(1, min<int64_t>(kMostCluster / 2, blocks / tiles));
}

/* Many events of more columns than blocks of 80 have multiprocessors for. Two such blocks are at once on a
 * multiprocessor; four in five places taken are more than half of them, and fewer are not. */
template <typename W> int wide_cluster(const lac_cuda_product_t *p, const Device &device)
{
    const int64_t tiles = tiles_of<Few256<W>>(p), places = 2 * device.sms;
    const int pairs = cluster_of<Few256<W>>(p, kRoom, device), most = cluster_within(tiles, 7 * places / 8);
    if (4 * tiles > 3 * device.sms) return 4; /* turn after turn */
    return 8 * pairs * tiles < 6 * device.sms && 5 * most * tiles >= 4 * places ? most : pairs;
}

/* The blocks of a cluster along a long k, whose slices at once come from few pages of memory; 0 where there
 * are too many columns for that. */
template <typename W> int deep_cluster(const lac_cuda_product_t *p, const Device &device)
{
    const int cluster = min(6, cluster_within(tiles_of<FewDeep<W>>(p), 4 * device.sms / 5));
    return p->k >= kDeepK && cluster >= 5 ? cluster : 0;
}

/* A single row. Few events come in one turn of small blocks, where those fill the device or come in eights.
 * Many want blocks on all multiprocessors: tiles of 256 columns where there are enough of those, else of 64,
 * 80 or 128, whichever leave fewest multiprocessors idle; of equals the widest whose events are listed at
 * once. */
template <typename S, typename W>
lac_status_t launch_one(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                        cudaStream_t stream)
{
    const double density = s->density > 0 ? s->density : 1;
    const int brief = cluster_of<FewBrief<W>>(p, kBriefRoom, device);
    const int by_64 = cluster_of<Few64<W, 3>>(p, kRoom, device),
              by_80 = cluster_of<Few80<W>>(p, kRoom, device),
              by_128 = cluster_of<Few128<W>>(p, kEightsRoom, device),
              by_256 = cluster_of<Few256<W>>(p, kRoom, device);
    const bool few = density * slice_of(p->k, brief) <= FewBrief<W>::kAdders * FewBrief<W>::kLoads;
    if (few && (brief == 8 || brief * tiles_of<FewBrief<W>>(p) > device.sms))
        return launch_few<S, W, FewBrief<W>>(p, s, brief, stream);
    if (few) return launch_few<S, W, Few256<W>>(p, s, by_256, stream);
    if (tiles_of<Few80<W>>(p) > device.sms)
        return launch_few<S, W, Few256<W>>(p, s, wide_cluster<W>(p, device), stream);
    const int deep = deep_cluster<W>(p, device);
    if (deep) return launch_few<S, W, FewDeep<W>>(p, s, deep, stream);

    const auto idle = [&](int64_t blocks) { return 1 - double(blocks) / round_up(blocks, device.sms); };
    const double idle_64 = idle(by_64 * tiles_of<Few64<W, 3>>(p)),
                 idle_80 = idle(by_80 * tiles_of<Few80<W>>(p)),
                 idle_128 = idle(by_128 * tiles_of<Few128<W>>(p));
    const bool at_once = slice_of(p->k, by_128) <= Few128<W>::kPass;
    if (idle_128 <= idle_80 && (at_once ? idle_128 <= idle_64 : idle_128 < idle_64))
        return launch_few<S, W, Few128<W>>(p, s, by_128, stream);
    if (idle_80 < idle_64) return launch_few<S, W, Few80<W>>(p, s, by_80, stream);
    return slice_of(p->k, by_64) <= Few64<W, 3>::kPass ? launch_few<S, W, Few64<W, 3>>(p, s, by_64, stream)
                                                       : launch_few<S, W, Few64<W, 4>>(p, s, by_64, stream);
}

/* How columns are cut for rows that share a list: the largest clusters that find room, of narrow blocks where
 * those fill the device better. Full rows of 4096 columns in clusters of five blocks of 64 columns 19.2 us,
 * of eight of 128 22.3 (H200, 2026-11-28). */
struct FloatsCut {
    bool narrow;
    int cluster;
    double filled; /* share of all places */
};
FloatsCut cut_floats(int64_t n, int64_t rows, int sms)
{
    constexpr double kClustered = 7.0 / 8; /* of all places, that clusters of more than two find room in */
    constexpr double kWorth = 1.1;
    constexpr int kMost = kMostCluster / 2;
    const double places = (double)blocks_of_floats(rows) * sms;
    const auto cluster_of = [&](double tiles) {
        int cluster = kMost;
        while (cluster > 1 && cluster * tiles > (cluster > 2 ? kClustered : 1.0) * places) cluster--;
        return cluster;
    };
    const double wide_tiles = (double)ceil_div(n, WideFloats<2, true>::kTile),
                 narrow_tiles = (double)ceil_div(n, NarrowFloats<2, true>::kTile);
    const int wide = cluster_of(wide_tiles), narrow = cluster_of(narrow_tiles);
    const bool better = narrow_tiles <= places && narrow * narrow_tiles > kWorth * wide * wide_tiles;
    return better ? FloatsCut{true, narrow, narrow * narrow_tiles / places}
                  : FloatsCut{false, wide, wide * wide_tiles / places};
}

template <int kRows, typename S, bool kSkips>
lac_status_t launch_floats(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const FloatsCut &cut,
                           cudaStream_t stream)
{
    return cut.narrow ? launch_few<S, float, NarrowFloats<kRows, kSkips>>(p, s, cut.cluster, stream)
                      : launch_few<S, float, WideFloats<kRows, kSkips>>(p, s, cut.cluster, stream);
}

/* Several rows. Not those in the middle, where nothing is skipped: takes_few_full has none. */
template <typename S, bool kSkips>
lac_status_t choose_floats(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const FloatsCut &cut,
                           cudaStream_t stream)
{
    if (p->m == 2) return launch_floats<2, S, kSkips>(p, s, cut, stream);
    if (p->m <= kFloatsAtOnce) return launch_floats<kFloatsAtOnce, S, kSkips>(p, s, cut, stream);
    if constexpr (kSkips)
        if (p->m <= kMiddleRows) return launch_floats<kMiddleRows, S, true>(p, s, cut, stream);
    return launch_floats<kMostFloatRows, S, kSkips>(p, s, cut, stream);
}

/* A single row is cut as one of two bytes is, unless wide blocks fill the device. */
template <typename S>
lac_status_t run_floats(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                        cudaStream_t stream)
{
    constexpr double kFilled = 0.8;
    const FloatsCut cut = cut_floats(p->n, p->m, device.sms);
    if (p->m > 1) return choose_floats<S, true>(p, s, cut, stream);
    return cut.narrow || cut.filled < kFilled ? launch_one<S, float>(p, s, device, stream)
                                              : launch_floats<1, S, true>(p, s, cut, stream);
}

/* Whether blocks list the events of several rows in few passes, one behind the other. 10 x 20000 x 20000 at
 * 1 % takes 115 us a step of a recorded recurrent network by 20 passes, 66 by other kernels; 10 x 8192 x 8192
 * 32 us a step by 4 passes (H200, 2026-11-29), 43 by those (2026-11-23). */
bool has_few_passes(const lac_cuda_product_t *p, const Device &device)
{
    constexpr int kMost = 5, kPass = WideFloats<2, true>::kPass;
    return p->m == 1 || slice_of(p->k, cut_floats(p->n, p->m, device.sms).cluster) <= kMost * kPass;
}

template <typename S, typename W>
lac_status_t choose_halves(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                           cudaStream_t stream)
{
    if (p->m == 1) return launch_one<S, W>(p, s, device, stream);
    using Shared = FewShared<W>;
    using Apart = FewApart<W>;
    return s->density >= kSharedEvents
               ? launch_few<S, W, Shared>(p, s, cluster_of<Shared>(p, kSharedRoom, device), stream)
               : launch_few<S, W, Apart>(p, s, cluster_of<Apart>(p, kApartRoom, device), stream);
}

template <typename W>
lac_status_t run_halves(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                        cudaStream_t stream)
{
    return s->dt == LAC_U8    ? choose_halves<uint8_t, W>(p, s, device, stream)
           : s->dt == LAC_F32 ? choose_halves<float, W>(p, s, device, stream)
                              : choose_halves<W, W>(p, s, device, stream);
}

} // namespace

bool takes_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device)
{
    const bool floats = p->w_dt == LAC_F32, half = p->w_dt == LAC_F16 || p->w_dt == LAC_BF16;
    const int64_t columns = floats ? Sixteen<float>::kCount : Sixteen<BF16>::kCount;
    const bool reads = !floats || s->dt == LAC_F32 || s->dt == LAC_U8;
    const int most = floats ? kMostFloatRows : kMostRows, many = floats ? kManyFloatRows : kManyRows;
    const bool rows = p->m <= many || (p->m <= most && s->density >= kFewEvents);
    const bool lines = p->order == LAC_CUDA_ROWS && p->n >= columns && p->n % columns == 0 &&
                       p->ldw % columns == 0 && p->ldw <= INT32_MAX / 4 && aligned(p->w, 16);
    return device.hopper && (floats || half) && reads && rows && lines && p->k > 0 && p->k <= kMostK &&
           (half || has_few_passes(p, device));
}

lac_status_t run_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                     cudaStream_t stream)
{
    if (p->w_dt == LAC_F16) return run_halves<F16>(p, s, device, stream);
    if (p->w_dt == LAC_BF16) return run_halves<BF16>(p, s, device, stream);
    return s->dt == LAC_U8 ? run_floats<uint8_t>(p, s, device, stream)
                           : run_floats<float>(p, s, device, stream);
}

bool takes_few_full(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, int sms)
{
    constexpr double kFilled = 0.7;
    const bool many = p->m > kMiddleRows && p->m <= kMostFloatRows;
    const bool rows =
        (p->m > 1 && p->m <= kFloatsAtOnce) || (many && cut_floats(p->n, p->m, sms).filled >= kFilled);
    const bool floats = p->w_dt == LAC_F32 && s->cs == 1 && p->k % kBatch == 0;
    lac_cuda_dense_t full = *s;
    full.density = 1.0;
    return rows && floats && takes_few(p, &full, current_device());
}

lac_status_t run_few_full(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, cudaStream_t stream)
{
    const FloatsCut cut = cut_floats(p->n, p->m, current_device().sms);
    return s->dt == LAC_U8 ? choose_floats<uint8_t, false>(p, s, cut, stream)
                           : choose_floats<float, false>(p, s, cut, stream);
}

} // namespace lacuna

extern "C" bool lac_cuda_event_lists_rows(const lac_cuda_product_t *p, double density)
{
    const lac_cuda_dense_t s = {p->w_dt, nullptr, p->k, 1, density};
    const bool few = p->m == 1 || (p->w_dt == LAC_F32 && p->m <= lacuna::kMostFloatRows);
    return few && lacuna::takes_few(p, &s, lacuna::current_device());
}
