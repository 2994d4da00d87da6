/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product of a few rows in one launch: a block lists the k of its events, its warps share them out.
 */
#include "few.cuh"

#include "common/async_copy.cuh"

/* out := beta out + alpha S W,  S[m, k] dense with zeros, W[k, n], m a few rows.
 *
 * Mapping   grid (cluster * column tiles, groups of kRows rows); a block has a slice of k and a column tile
 * of a group's rows, and lists the k of its slice at which any of them has an event. Its warps take turns at
 * the list: equal shares, however the events lie. A lane has 16 bytes of a row of W. Layout    W, of type W,
 * by rows; n, ldw and W multiples of 16 bytes. S with any strides, fast for cs == 1. Bytes     S once per
 * column tile (from L2), a row of W once per group in which a row has its k, out once. Order     a warp sums
 * its events in list order, in runs that are added up; then the warps of a block by halves, then the blocks
 * of the cluster: no atomics. Limit     DRAM, and some 5 us of which nothing is read: the launch, S, the
 * first row of W, the sums. W cold, us: 1 x 5000 x 5000 at 50 % 11.0 (25 MB; cuBLAS 18.3), 1 x 4096 x
 * 16384 20.2 (67 MB; 33.1). More than some 5 MB of W in flight are slower again (H200, 2026-11-23). */
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
template <int kRows_, int kWarps_, int kLoads_, int kBlocks_, typename W> struct Few {
    static constexpr int kRows = kRows_, kWarps = kWarps_, kLoads = kLoads_;
    static constexpr int kBlocks = kBlocks_; /* of a multiprocessor: limits registers */
    static constexpr int kThreads = kWarps * kWarp;
    static constexpr int kColumns = Sixteen<W>::kCount;      /* of a lane                          */
    static constexpr int kTile = kWarp * kColumns;           /* of a block                         */
    static constexpr int kCells = kRows * kTile;             /* sums of a warp                     */
    static constexpr int kParts = max(1, kThreads / kCells); /* in which the warps' sums are added */
    static constexpr int kPass = 4 * kThreads; /* elements of a row that a block lists at once */
    static constexpr size_t kShared = sizeof(barrier_t) + sizeof(float) * (kParts + kWarps) * kCells +
                                      (sizeof(int) + sizeof(float) * kRows) * kPass;
};
template <typename W> using FewOne = Few<1, 16, 8, 2, W>;   /* a single row                 */
template <typename W> using FewApart = Few<1, 8, 4, 4, W>;  /* of several rows, each        */
template <typename W> using FewShared = Few<2, 8, 8, 3, W>; /* two rows that share a list   */

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
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, k = from + 4 * (int)threadIdx.x;
    S x[kRows][4];
    unsigned mask = 0;
#pragma unroll
    for (int r = 0; r < kRows; r++) /* a row past the last is the last once more, and never stored */
        load_four(x[r], (const S *)a.s + min(i0 + r, a.p.m - 1) * a.rs, a.cs, a.quads, k, end);
#pragma unroll
    for (int r = 0; r < kRows; r++)
#pragma unroll
        for (int c = 0; c < 4; c++) mask |= (unsigned)(x[r][c] != S(0)) << c;
    mask &= k < end ? (1u << min(end - k, 4)) - 1 : 0;
    const unsigned below = lanes_below(lane), many = __popc(mask);
    const unsigned b0 = __ballot_sync(kFull, many & 1), b1 = __ballot_sync(kFull, many & 2),
                   b2 = __ballot_sync(kFull, many & 4);
    if (lane == 0) counts[warp] = __popc(b0) + 2 * __popc(b1) + 4 * __popc(b2);
    __syncthreads();
    const int held = lane < Shape::kWarps ? counts[lane] : 0;
    int at = __reduce_add_sync(kFull, lane < warp ? held : 0) + __popc(b0 & below) + 2 * __popc(b1 & below) +
             4 * __popc(b2 & below);
    list.count = __reduce_add_sync(kFull, held);
#pragma unroll
    for (int c = 0; c < 4; c++)
        if (mask >> c & 1) {
            list.k[at] = k + c;
#pragma unroll
            for (int r = 0; r < kRows; r++) list.value[at * kRows + r] = event_value(x[r][c]);
            at++;
        }
    __syncthreads();
}

/* A lane's sums: a run of events in registers, and in shared memory the total of the runs before. */
template <typename W, typename Shape> struct FewSums {
    float run[Shape::kRows][Shape::kColumns] = {};
    float *total; /* this lane's first, of its warp's [kRows][kTile] */
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

    /* Adds the events e, e + kWarps, ... of a list, kLoads of them: kAll, or as far as there are events. A
     * row without an event at such a k does not multiply. pitch: of W, in bytes. */
    template <int kLoads, bool kAll>
    __device__ void add(const EventList<Shape> &list, int e, const char *columns, int pitch)
    {
        Sixteen<W> w[kLoads];
        const int last = list.count - 1;
#pragma unroll
        for (int u = 0; u < kLoads; u++) {
            const int at = e + u * Shape::kWarps;
            const char *const row = columns + (int64_t)list.k[kAll ? at : min(at, last)] * pitch;
            w[u].load((const W *)row, kAll || at <= last);
        }
#pragma unroll
        for (int u = 0; u < kLoads; u++) {
            const int at = e + u * Shape::kWarps;
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

    /* Adds this warp's share of a list. */
    __device__ void add_share(const EventList<Shape> &list, int warp, const char *columns, int pitch)
    {
        constexpr int kLoads = Shape::kLoads, kHalf = kLoads / 2, kStep = Shape::kWarps;
        int e = warp;
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

template <typename S, typename W, typename Shape>
__global__ __launch_bounds__(Shape::kThreads,
                             Shape::kBlocks) void event_few(const __grid_constant__ FewArgs<W> a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    __shared__ int counts[Shape::kWarps];
    const GemmArgsOf<W> &p = a.p;
    const int cluster = a.cluster, rank = blockIdx.x % cluster, tile = blockIdx.x / cluster;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int i0 = blockIdx.y * Shape::kRows, j0 = tile * Shape::kTile;
    float *const received = (float *)shared; /* [cluster * kParts][kRows][columns of this block] */
    float *const totals = received + Shape::kParts * Shape::kCells; /* [kWarps][kRows][kTile]     */
    EventList<Shape> list;
    list.value = totals + Shape::kWarps * Shape::kCells;
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
    FewSums<W, Shape> sums(totals + warp * Shape::kCells + mine);
    for (int from = k0; from < k1; from += Shape::kPass) {
        if (from > k0) __syncthreads(); /* the list is read until here */
        list_events<S>(list, counts, a, i0, from, k1);
        sums.add_share(list, warp, columns, pitch);
    }
    sums.settle();
    dependents_launch();
    __syncthreads();
    cluster_wait(cluster);

    const int owned = Shape::kTile / cluster;
    for (int t = threadIdx.x; t < Shape::kParts * Shape::kCells; t += Shape::kThreads) {
        constexpr int kShare = Shape::kWarps / Shape::kParts;
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
lac_status_t launch_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                        cudaStream_t stream)
{
    const int64_t groups = ceil_div(p->m, Shape::kRows), tiles = ceil_div(p->n, Shape::kTile);
    FewArgs<W> a = {};
    a.p = make_gemm_args<W>(p);
    a.s = s->data, a.rs = s->rs, a.cs = s->cs;
    a.cluster = cluster_of<Shape>(tiles * groups, device);
    a.slice = (int)max<int64_t>(4, round_up(ceil_div(p->k, a.cluster), 4));
    a.quads = scans_quads(s, p->k);
    const Launch l = {dim3(unsigned(a.cluster * tiles), unsigned(groups)),
                      dim3(Shape::kThreads),
                      Shape::kShared,
                      a.cluster,
                      true,
                      stream};
    return launch(event_few<S, W, Shape>, l, a);
}

template <typename S, typename W>
lac_status_t choose_few(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Device &device,
                        cudaStream_t stream)
{
    return p->m == 1                     ? launch_few<S, W, FewOne<W>>(p, s, device, stream)
           : s->density >= kSharedEvents ? launch_few<S, W, FewShared<W>>(p, s, device, stream)
                                         : launch_few<S, W, FewApart<W>>(p, s, device, stream);
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
