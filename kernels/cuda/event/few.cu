/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product of a few rows in one launch: a block lists the k of its events, its warps share them out.
 */
#include "few.cuh"

#include "common/async_copy.cuh"

namespace lacuna
{
namespace
{

constexpr int kRun = 32; /* events of a warp that are added up straight */
constexpr int kMostRows = 8;
constexpr int kManyRows = 2;           /* beyond, rows of few events are sooner  */
constexpr double kFewEvents = 0.02;    /* gathered by blocks of several rows     */
constexpr double kSharedEvents = 0.25; /* of k, from which two rows share a list */
constexpr int64_t kMostK = 1 << 16;

/* How a block is cut, and how much a lane has in flight. */
template <int kRows_, int kWarps_, int kLanes_, int kLoads_, int kQuads_, int kBlocks_, typename W>
struct Few {
    static constexpr int kRows = kRows_, kWarps = kWarps_, kLoads = kLoads_;
    static constexpr int kLanes = kLanes_;   /* of an adder: a warp's or half of them           */
    static constexpr int kBlocks = kBlocks_; /* of a multiprocessor: limits registers           */
    static constexpr int kThreads = kWarps * kWarp;
    static constexpr int kAdders = kThreads / kLanes;          /* of a block                      */
    static constexpr int kColumns = Sixteen<W>::kCount;        /* of a lane                       */
    static constexpr int kTile = kLanes * kColumns;            /* of a block                      */
    static constexpr int kCells = kRows * kTile;               /* sums of an adder                */
    static constexpr int kParts = max(1, kThreads / kCells);   /* in which adders' sums are added */
    static constexpr int kQuads = kQuads_, kEach = 4 * kQuads; /* elements of a row, of a thread; */
    static constexpr int kPass = kEach * kThreads;             /* of a block, that it lists at once */
    static constexpr size_t kShared = sizeof(barrier_t) + sizeof(float) * (kParts + kAdders) * kCells +
                                      (sizeof(int) + sizeof(float) * kRows) * kPass;
};
/* A single row; several rows, each by itself; two rows that share a list. */
template <typename W, int kLanes, int kQuads> using FewOne = Few<1, 16, kLanes, 8, kQuads, 2, W>;
template <typename W> using FewApart = Few<1, 8, kWarp, 4, 1, 4, W>;
template <typename W> using FewShared = Few<2, 8, kWarp, 8, 1, 3, W>;

template <typename W> struct FewArgs {
    GemmArgsOf<W> p;
    const void *s;
    int64_t rs, cs;
    int cluster;
    int slice; /* k of a block, a multiple of 4 */
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

/* The events of kPass elements of a slice, of a group of rows. */
template <typename Shape> struct EventList {
    float *value; /* [kPass][kRows], 0 where a row has no event */
    int *k;       /* [kPass]                                    */
    int count;
};

/* Lists those from `from` on, ascending in k, between two barriers. counts: of each warp. */
template <typename S, typename W, typename Shape>
__device__ inline void list_events(EventList<Shape> &list, int *counts, const FewArgs<W> &a, int i0, int from,
                                   int end)
{
    constexpr int kRows = Shape::kRows;
    constexpr int kQuads = Shape::kQuads, kEach = Shape::kEach;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, k = from + kEach * (int)threadIdx.x;
    S x[kRows][kQuads][4];
    unsigned mask = 0;
#pragma unroll
    for (int r = 0; r < kRows; r++) /* a row past the last is the last once more, and never stored */
#pragma unroll
        for (int q = 0; q < kQuads; q++)
            load_four(x[r][q], (const S *)a.s + min(i0 + r, a.p.m - 1) * a.rs, a.cs, a.quads, k + 4 * q, end);
#pragma unroll
    for (int r = 0; r < kRows; r++)
#pragma unroll
        for (int c = 0; c < kEach; c++) mask |= (unsigned)(x[r][c / 4][c % 4] != S(0)) << c;
    mask &= k < end ? (1u << min(end - k, kEach)) - 1 : 0;
    const unsigned below = lanes_below(lane), many = __popc(mask);
    int before = 0, all = 0; /* of the warp */
#pragma unroll
    for (int b = 1; b <= kEach; b *= 2) {
        const unsigned has = __ballot_sync(kFull, many & b);
        before += b * __popc(has & below), all += b * __popc(has);
    }
    if (lane == 0) counts[warp] = all;
    __syncthreads();
    const int held = lane < Shape::kWarps ? counts[lane] : 0;
    int at = __reduce_add_sync(kFull, lane < warp ? held : 0) + before;
    list.count = __reduce_add_sync(kFull, held);
#pragma unroll
    for (int c = 0; c < kEach; c++)
        if (mask >> c & 1) {
            list.k[at] = k + c;
#pragma unroll
            for (int r = 0; r < kRows; r++) list.value[at * kRows + r] = event_value(x[r][c / 4][c % 4]);
            at++;
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

    /* Adds the events e, e + kAdders, ... of a list, kLoads of them: kAll, or as far as there are events. A
     * row without an event at such a k does not multiply. pitch: of W, in bytes. */
    template <int kLoads, bool kAll>
    __device__ void add(const EventList<Shape> &list, int e, const char *columns, int pitch)
    {
        Sixteen<W> w[kLoads];
        const int last = list.count - 1;
#pragma unroll
        for (int u = 0; u < kLoads; u++) {
            const int at = e + u * Shape::kAdders;
            const char *const row = columns + (int64_t)list.k[kAll ? at : min(at, last)] * pitch;
            w[u].load((const W *)row, kAll || at <= last);
        }
#pragma unroll
        for (int u = 0; u < kLoads; u++) {
            const int at = e + u * Shape::kAdders;
#pragma unroll
            for (int r = 0; r < Shape::kRows; r++) {
                float v = list.value[(kAll ? at : min(at, last)) * Shape::kRows + r];
                if (!kAll && at > last) v = 0.0f;
#pragma unroll
                for (int c = 0; c < Shape::kColumns; c++)
                    if (Shape::kRows == 1 || v != 0.0f) run[r][c] = fmaf(v, w[u].at(c), run[r][c]);
            }
        }
        events += kLoads;
    }

    /* Adds an adder's share of a list. */
    __device__ void add_share(const EventList<Shape> &list, int adder, const char *columns, int pitch)
    {
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
 * Limit     DRAM, and some 5 us of which nothing is read: the launch, S, the first row of W, the sums. W
 *           cold, us: 1 x 5000 x 5000 at 50 % 11.0 (25 MB; cuBLAS 18.3), 1 x 4096 x 16384 20.2 (67 MB;
 *           33.1). More than some 5 MB of W in flight are slower again (H200, 2026-11-23). */
template <typename S, typename W, typename Shape>
__global__ __launch_bounds__(Shape::kThreads,
                             Shape::kBlocks) void event_few(const __grid_constant__ FewArgs<W> a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    __shared__ int counts[Shape::kWarps];
    const GemmArgsOf<W> &p = a.p;
    const int cluster = a.cluster, rank = blockIdx.x % cluster, tile = blockIdx.x / cluster;
    const int lane = threadIdx.x % Shape::kLanes, adder = threadIdx.x / Shape::kLanes;
    const int i0 = blockIdx.y * Shape::kRows, j0 = tile * Shape::kTile;
    float *const received = (float *)shared; /* [cluster * kParts][kRows][columns of this block] */
    float *const totals = received + Shape::kParts * Shape::kCells; /* [kAdders][kRows][kTile]    */
    EventList<Shape> list;
    list.value = totals + Shape::kAdders * Shape::kCells;
    list.k = (int *)(list.value + Shape::kRows * Shape::kPass);
    barrier_t *const all_here = (barrier_t *)(list.k + Shape::kPass);
    if (cluster > 1 && threadIdx.x == 0) {
        barrier_init(all_here, 1);
        cluster_barrier_fence();
        barrier_arrive_promise(all_here, sizeof(float) * Shape::kParts * Shape::kCells);
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
        sums.add_share(list, adder, columns, pitch);
    }
    sums.settle();
    dependents_launch();
    __syncthreads();
    cluster_wait(cluster);

    const int owned = Shape::kTile / cluster;
    for (int t = threadIdx.x; t < Shape::kParts * Shape::kCells; t += Shape::kThreads) {
        constexpr int kShare = Shape::kAdders / Shape::kParts;
        const int part = t / Shape::kCells, cell = t % Shape::kCells;
        const int row = cell / Shape::kTile, column = cell % Shape::kTile, owner = column / owned;
        const float sum =
            sum_by_halves<kShare>([&](int q) { return totals[q * Shape::kCells + cell]; }, part * kShare);
        const int slot = (rank * Shape::kParts + part) * Shape::kRows + row;
        float *const to = received + slot * owned + column % owned;
        if (cluster > 1)
            cluster_push(cluster_address(to, owner, cluster), sum, cluster_address(all_here, owner, cluster));
        else
            *to = sum;
    }
    if (cluster > 1)
        barrier_wait_pushed(all_here);
    else
        __syncthreads();
    store_sums(p, received, cluster * Shape::kParts, Shape::kRows, owned, i0, p.m, j0 + rank * owned);
}

/* How many k a block of a cluster has. */
int slice_of(int64_t k, int cluster)
{
    return (int)max<int64_t>(4, round_up(ceil_div(k, cluster), 4));
}

/* The blocks of a cluster. Of a single row a block a multiprocessor at most, and fewer where they come in
 * fours or eights, which do not find room everywhere; else two or three small blocks. */
template <typename Shape> int cluster_of(int64_t blocks, const Device &device)
{
    const int64_t small = 5 * device.sms / 2, of[] = {device.sms, 9 * device.sms / 10, device.sms / 2, 0};
    int cluster = 1;
    for (int i = 0; i < 4; i++, cluster *= 2) {
        const bool alone = Shape::kRows == 1 && Shape::kWarps > 8;
        if (2 * cluster * blocks > (alone ? of[i] : i < 3 || Shape::kRows > 1 ? small : 0)) break;
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
    a.quads = scans_quads(s, p->k);
    const Launch l = {
        dim3(unsigned(cluster * ceil_div(p->n, Shape::kTile)), unsigned(ceil_div(p->m, Shape::kRows))),
        dim3(Shape::kThreads),
        Shape::kShared,
        cluster,
        true,
        stream};
    return launch(event_few<S, W, Shape>, l, a);
}

/* A single row. Where a block's k are more than it lists in one turn, by twice as many in each. */
template <typename S, typename W, int kLanes>
lac_status_t launch_one(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, int cluster,
                        cudaStream_t stream)
{
    return slice_of(p->k, cluster) > FewOne<W, kLanes, 1>::kPass
               ? launch_few<S, W, FewOne<W, kLanes, 2>>(p, s, cluster, stream)
               : launch_few<S, W, FewOne<W, kLanes, 1>>(p, s, cluster, stream);
}

template <typename Shape> int64_t tiles_of(const lac_cuda_product_t *p)
{
    return ceil_div(p->n, Shape::kTile) * ceil_div(p->m, Shape::kRows);
}

/* Of a single row, tiles of half as many columns where that makes more blocks (bf16, 50 %, W cold, H200:
 * 1 x 8192 x 8192 25.6 us by 64 blocks of whole warps, 19.9 by 128 of halves; 1 x 3072 x 768 4.6 and 3.9). */
template <typename S, typename W>
lac_status_t choose_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                        cudaStream_t stream)
{
    using Wide = FewOne<W, kWarp, 1>;
    using Narrow = FewOne<W, kWarp / 2, 1>;
    if (p->m == 1) {
        const int wide = cluster_of<Wide>(tiles_of<Wide>(p), device),
                  narrow = cluster_of<Narrow>(tiles_of<Narrow>(p), device);
        return narrow * tiles_of<Narrow>(p) > wide * tiles_of<Wide>(p)
                   ? launch_one<S, W, kWarp / 2>(p, s, narrow, stream)
                   : launch_one<S, W, kWarp>(p, s, wide, stream);
    }
    using Shared = FewShared<W>;
    using Apart = FewApart<W>;
    return s->density >= kSharedEvents
               ? launch_few<S, W, Shared>(p, s, cluster_of<Shared>(tiles_of<Shared>(p), device), stream)
               : launch_few<S, W, Apart>(p, s, cluster_of<Apart>(tiles_of<Apart>(p), device), stream);
}

template <typename W>
lac_status_t run_type(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                      cudaStream_t stream)
{
    return s->dt == LAC_U8    ? choose_few<uint8_t, W>(p, s, device, stream)
           : s->dt == LAC_F32 ? choose_few<float, W>(p, s, device, stream)
                              : choose_few<W, W>(p, s, device, stream);
}

} // namespace

bool takes_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device)
{
    constexpr int64_t kColumns = Sixteen<BF16>::kCount;
    const bool half = p->w_dt == LAC_F16 || p->w_dt == LAC_BF16;
    const bool rows = p->m <= kManyRows || (p->m <= kMostRows && s->density >= kFewEvents);
    const bool lines = p->order == LAC_CUDA_ROWS && p->n >= kColumns && p->n % kColumns == 0 &&
                       p->ldw % kColumns == 0 && p->ldw <= INT32_MAX / 2 && aligned(p->w, 16);
    return device.hopper && half && rows && lines && p->k > 0 && p->k <= kMostK;
}

lac_status_t run_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                     cudaStream_t stream)
{
    return p->w_dt == LAC_F16 ? run_type<F16>(p, s, device, stream) : run_type<BF16>(p, s, device, stream);
}

} // namespace lacuna
