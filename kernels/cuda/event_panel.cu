/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product for many rows of S, W by rows: W passes once through shared memory, and every row takes from
 * it what its events name. */
#include "async_copy.cuh"
#include "event_pack.cuh"

#include <limits.h>

namespace lacuna
{
namespace
{

constexpr int kDepth = 128; /* k per stage                                                         */
constexpr int kStages = 3;
constexpr int kWarps = 16;
constexpr int kMostRows = 8; /* of S per warp                                                       */
constexpr int kStageFloats = kDepth * kTileColumns, kRowBytes = sizeof(float) * kTileColumns;
static_assert(sizeof(float) * kStages * kStageFloats + sizeof(Event) * kWarps * kMostRows * kWarp <=
                  226 * 1024,
              "shared memory of an H100");
static_assert(kStages * kStageFloats >= kWarps * kMostRows * kTileColumns, "room for the partial sums");

/* Both feeds tell a consumer the events of its rows row, row + kWarps, ..., ascending in k, up to a warp's
 * width of them for each row at a time: lane l holds event l of row r in mine[r], kNone where there is none.
 * Chunk c is the k in [c * kDepth, (c + 1) * kDepth). */
constexpr Event kNone = {INT_MAX, 0.0f};

/* From slots of kDepth k. */
template <int kRows> struct SlotFeed {
    using Source = Slots;
    const Slots &s;
    Event mine[kRows];
    const Event *lane_event; /* where this lane's first event of row 0 lies in chunk 0, if there is one */
    const int *counts;       /* lane r, of row r: the events of each chunk; NULL for no row             */
    int left, skip, ahead;   /* events of this chunk, those of them taken, events of the next chunk     */
    int last;

    __device__ SlotFeed(const Slots &from, int m, int row, int first, int end, int lane)
        : s(from), lane_event(s.event + (int64_t)row * s.pitch + lane), counts(nullptr), last(end)
    {
        const int i = row + lane * kWarps;
        if (lane < kRows && i < m) counts = s.count + (int64_t)i * s.slots;
        begin(first, events_of(first), events_of(first + 1), lane);
    }

    __device__ int events_of(int chunk) const { return counts && chunk < last ? counts[chunk] : 0; }

    __device__ void begin(int chunk, int events, int events_ahead, int lane)
    {
        const Event *from = lane_event + (int64_t)chunk * kDepth;
        const int64_t step = (int64_t)kWarps * s.pitch;
        left = events, ahead = events_ahead, skip = 0;
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            mine[r] = kNone;
            if (lane < __shfl_sync(kFull, left, r)) mine[r] = from[r * step];
        }
    }

    /* Takes `taken` events of row r in lane r; unless there may be more of them in this chunk, on to the
     * next. */
    __device__ void next(int taken, int chunk, bool more, int lane)
    {
        if (!more) {
            begin(chunk + 1, ahead, events_of(chunk + 2), lane);
            return;
        }
        skip += taken;
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            const int e = __shfl_sync(kFull, skip, r);
            mine[r] = kNone;
            if (e + lane < __shfl_sync(kFull, left, r))
                mine[r] = lane_event[(int64_t)r * kWarps * s.pitch + (int64_t)chunk * kDepth + e];
        }
    }
};

/* From CSR. */
template <int kRows> struct CsrFeed {
    using Source = lac_cuda_csr_t;
    const lac_cuda_csr_t &s;
    Event mine[kRows];
    int64_t at, end; /* lane r, of row r: the events not yet taken */

    __device__ CsrFeed(const lac_cuda_csr_t &from, int m, int row, int first, int last, int lane)
        : s(from), at(0), end(0)
    {
        const int i = row + lane * kWarps;
        if (lane < kRows && i < m && first < last) at = s.ptr[i], end = s.ptr[i + 1];
        if (first > 0) find(first * kDepth, lane);
        load(lane);
    }

    /* at := the first event of each row that is not before k. The whole warp looks into every row at once. */
    __device__ void find(int k, int lane)
    {
        const int length = (int)(end - at);
        int low[kRows], high[kRows], step[kRows];
        bool looking = false;
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            low[r] = 0, high[r] = __shfl_sync(kFull, length, r);
            looking |= high[r] > 0;
        }
        while (looking) {
            bool before[kRows];
#pragma unroll
            for (int r = 0; r < kRows; r++) {
                const int64_t begin = __shfl_sync(kFull, at, r);
                step[r] = (high[r] - low[r] + kWarp) / (kWarp + 1);
                const int probe = low[r] + (lane + 1) * step[r] - 1;
                before[r] = probe < high[r] && s.idx[begin + probe] < k;
            }
            looking = false;
#pragma unroll
            for (int r = 0; r < kRows; r++) {
                low[r] += __popc(__ballot_sync(kFull, before[r])) * step[r];
                high[r] = most(low[r], least(high[r], low[r] + step[r] - 1));
                looking |= high[r] > low[r];
            }
        }
#pragma unroll
        for (int r = 0; r < kRows; r++)
            if (lane == r) at += low[r];
    }

    __device__ void load(int lane)
    {
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            const int64_t e = __shfl_sync(kFull, at, r) + lane;
            mine[r] = kNone;
            if (e < __shfl_sync(kFull, end, r)) mine[r] = {s.idx[e], s.val ? s.val[e] : 1.0f};
        }
    }

    __device__ void next(int taken, int, bool, int lane)
    {
        at += taken;
        load(lane);
    }
};

struct Barriers {
    barrier_t full[kStages], empty[kStages];
};

template <typename Source> struct PanelArgs {
    Picture p;
    Source source;
    int cluster, chunks;
};

/* A warp's part of the copies of W: rows warp, warp + kWarps, ... of each chunk. */
struct Copier {
    const float *from; /* this lane's of the warp's first row of the next chunk */
    float *to;         /* the same in the first stage                           */
    int64_t step;
    int rows; /* of W from there on; none where the lane has no columns */

    __device__ Copier(const Picture &p, float *stages, int j0, int chunk, int warp, int lane)
        : from(p.w + (int64_t)(chunk * kDepth + warp) * p.wks + j0 + kLaneColumns * lane),
          to(stages + warp * kTileColumns + kLaneColumns * lane), step((int64_t)kWarps * p.wks),
          rows(j0 + kLaneColumns * lane < p.n ? p.k - chunk * kDepth - warp : 0)
    {
    }

    /* Starts the copy of the next chunk, the block's chunk x. */
    __device__ void copy(Barriers &b, int x)
    {
        const int stage = x % kStages;
        float *into = to + stage * kStageFloats;
        if (x >= kStages) barrier_wait(&b.empty[stage], (x / kStages - 1) & 1);
        if (rows >= kDepth) {
#pragma unroll
            for (int k = 0; k < kDepth; k += kWarps, from += step)
                copy_async16(into + k * kTileColumns, from);
        } else {
#pragma unroll
            for (int k = 0; k < kDepth; k += kWarps, from += step)
                if (k < rows) copy_async16(into + k * kTileColumns, from);
        }
        rows -= kDepth;
        barrier_arrive_copied(&b.full[stage]);
    }
};

__device__ inline void add_event(float (&acc)[kLaneColumns], float v, float4 w)
{
    acc[0] = fmaf(v, w.x, acc[0]), acc[1] = fmaf(v, w.y, acc[1]);
    acc[2] = fmaf(v, w.z, acc[2]), acc[3] = fmaf(v, w.w, acc[3]);
}

/* acc += v * W[k, my columns] for kCount events of a row, an even number; all reads of W are in flight
 * together. w: the address of this lane's columns in the stage, to which an event's k adds bytes. */
template <int kCount>
__device__ inline void add_events(float (&acc)[kLaneColumns], unsigned queue, unsigned w)
{
    float4 two[kCount / 2], x[kCount];
#pragma unroll
    for (int e = 0; e < kCount / 2; e++) two[e] = read_now(queue + unsigned(2 * sizeof(Event)) * e);
#pragma unroll
    for (int e = 0; e < kCount / 2; e++) {
        x[2 * e] = read_now(w + __float_as_uint(two[e].x));
        x[2 * e + 1] = read_now(w + __float_as_uint(two[e].z));
    }
#pragma unroll
    for (int e = 0; e < kCount / 2; e++)
        add_event(acc, two[e].y, x[2 * e]), add_event(acc, two[e].w, x[2 * e + 1]);
}

/* Adds what the events of this warp's rows take from chunks [first, last) to acc. */
template <template <int> class Feed, int kRows>
__device__ inline void multiply_panels(float (&acc)[kRows][kLaneColumns], Feed<kRows> &feed, Copier &copier,
                                       unsigned stages, Event *queue, Barriers &b, int first, int last,
                                       int lane)
{
    const unsigned first_event = shared_address(queue);
    for (int x = 0; first + x < last; x++) {
        const int stage = x % kStages, end = (first + x + 1) * kDepth;
        const unsigned w = stages + unsigned(sizeof(float)) * (stage * kStageFloats + kLaneColumns * lane);
        if (first + x + kStages - 1 < last) copier.copy(b, x + kStages - 1);
        for (bool begun = false, more = true; more; begun = true) {
            int count[kRows], taken = 0;
            more = false;
#pragma unroll
            for (int r = 0; r < kRows; r++) {
                const bool here = feed.mine[r].k < end;
                count[r] = __popc(__ballot_sync(kFull, here));
                more |= count[r] == kWarp;
                if (lane == r) taken = count[r];
                if (here)
                    queue[r * kWarp + lane] = {(feed.mine[r].k - end + kDepth) * kRowBytes, feed.mine[r].v};
            }
            feed.next(taken, first + x, more, lane);
            __syncwarp();
            if (!begun) barrier_wait(&b.full[stage], x / kStages & 1);
#pragma unroll
            for (int r = 0; r < kRows; r++) {
                unsigned from = first_event + unsigned(sizeof(Event)) * kWarp * r;
#pragma unroll 1
                for (int e = count[r]; e >= 4; e -= 4, from += 4 * sizeof(Event))
                    add_events<4>(acc[r], from, w);
                if (count[r] & 2) add_events<2>(acc[r], from, w), from += 2 * sizeof(Event);
                if (count[r] & 1) {
                    const float4 one = read_now(from); /* what lies behind the event is not looked at */
                    add_event(acc[r], one.y, read_now(w + __float_as_uint(one.x)));
                }
            }
            __syncwarp();
        }
        if (lane == 0) barrier_arrive(&b.empty[stage]);
    }
}

/* out := beta out + alpha S W,  W[k, n] by rows in 16-byte pieces, the events of S from a feed.
 *
 * Mapping   a block owns 128 columns, kWarps * kRows rows, and one of the cluster's shares of k. A warp
 *           owns kRows rows, lane = four columns of each, whose sums it holds; it copies an equal part of W,
 *           two chunks ahead.
 * Bytes     W once per group of rows; the events once per 128 columns; out once.
 * Order     events of a row in ascending k, the shares of k in ascending order: no atomics.
 * Limit     counted, not measured: shared memory, four wavefronts for 128 columns of an event and half a one
 *           for the event: 20 us for 128 x 4096 x 4096, 5 %, where W should take 16 from DRAM. */
template <template <int> class Feed, int kRows>
__global__
__launch_bounds__(kWarps *kWarp,
                  1) void event_panel(const __grid_constant__ PanelArgs<typename Feed<kRows>::Source> a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    __shared__ Barriers barriers;
    const Picture &p = a.p;
    const int cluster = a.cluster, rank = blockIdx.x % cluster, j0 = blockIdx.x / cluster * kTileColumns;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, i0 = blockIdx.y * kWarps * kRows;
    const int first = a.chunks * rank / cluster, last = a.chunks * (rank + 1) / cluster;
    float *stages = (float *)shared;
    if (threadIdx.x < kStages) {
        barrier_init(&barriers.full[threadIdx.x], kWarps * kWarp);
        barrier_init(&barriers.empty[threadIdx.x], kWarps);
    }
    __syncthreads();
    dependency_wait();

    float acc[kRows][kLaneColumns] = {};
    Copier copier(p, stages, j0, first, warp, lane);
    for (int x = 0; x < kStages - 1 && first + x < last; x++) copier.copy(barriers, x);
    Event *queue = (Event *)(stages + kStages * kStageFloats) + warp * kRows * kWarp;
    Feed<kRows> feed(a.source, p.m, i0 + warp, first, last, lane);
    multiply_panels(acc, feed, copier, shared_address(stages), queue, barriers, first, last, lane);
    dependents_launch();
    cluster_sync(cluster); /* the stages are read, here and in the other blocks */
#pragma unroll
    for (int r = 0; r < kRows; r++)
        push_partial<1, true>(stages, acc[r], rank, warp + r * kWarps, kWarps * kRows, cluster, lane);
    cluster_sync(cluster);
    const int owned = kTileColumns / cluster;
    store_sums(p, stages, cluster, kWarps * kRows, owned, i0, p.m, j0 + rank * owned);
}

/* Blocks that share k: as many as make the last wave of blocks end soonest. Two chunks' time is what a block
 * takes to begin and to end, as nearly as matters. */
int choose_cluster(int64_t blocks, int64_t chunks, int sms)
{
    int best = 1;
    int64_t shortest = INT64_MAX;
    for (int cluster = 1; cluster <= least(8, sms); cluster *= 2) {
        const int64_t waves = ceil_div(blocks * cluster, sms / cluster * cluster);
        const int64_t takes = waves * (ceil_div(chunks, cluster) + 2);
        if (takes < shortest) shortest = takes, best = cluster;
    }
    return best;
}

template <template <int> class Feed, int kRows>
lac_status_t launch_panel(const PanelArgs<typename Feed<kRows>::Source> &a, cudaStream_t stream)
{
    const int64_t groups = ceil_div(a.p.m, kWarps * kRows);
    if (groups > 65535) return LAC_ERR_EXTENT;
    const size_t shared = sizeof(float) * kStages * kStageFloats + sizeof(Event) * kWarps * kRows * kWarp;
    const dim3 grid(unsigned(a.cluster * ceil_div(a.p.n, kTileColumns)), unsigned(groups));
    const Launch l = {grid, dim3(kWarps * kWarp), shared, a.cluster, true, stream};
    return launch(event_panel<Feed, kRows>, l, a);
}

template <template <int> class Feed>
lac_status_t run_panel(const lac_cuda_product_t *p, const typename Feed<1>::Source &source, int cluster,
                       cudaStream_t stream)
{
    PanelArgs<typename Feed<1>::Source> a = {make_picture(p), source, cluster, (int)ceil_div(p->k, kDepth)};
    const int rows = p->m <= kWarps ? 1 : p->m <= 2 * kWarps ? 2 : p->m <= 4 * kWarps ? 4 : kMostRows;
    if (!a.cluster)
        a.cluster = choose_cluster(ceil_div(p->n, kTileColumns) * ceil_div(p->m, kWarps * rows), a.chunks,
                                   current_device().sms);
    return rows == 1   ? launch_panel<Feed, 1>(a, stream)
           : rows == 2 ? launch_panel<Feed, 2>(a, stream)
           : rows == 4 ? launch_panel<Feed, 4>(a, stream)
                       : launch_panel<Feed, kMostRows>(a, stream);
}

lac_status_t check_panel(const lac_cuda_product_t *p)
{
    if (!extents_fit(p) || p->k > INT_MAX - kDepth) return LAC_ERR_EXTENT;
    return wide_loads(p) && current_device().hopper ? LAC_OK : LAC_ERR_VALUE;
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_event_panel_bytes(int64_t m, int64_t k)
{
    using namespace lacuna;
    return round_up(4 * m * ceil_div(k, kDepth), 256) + (int64_t)sizeof(Event) * m * slots_pitch(k);
}

extern "C" lac_status_t lac_cuda_event_panel(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                             int cluster, void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const lac_status_t fits = check_panel(p);
    if (fits != LAC_OK) return fits;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const Slots slots = {
        (int *)workspace,
        (Event *)((char *)workspace + round_up(4 * p->m * ceil_div(p->k, kDepth), 256)),
        (int)slots_pitch(p->k),
        (int)ceil_div(p->k, kDepth),
        kDepth,
    };
    if (s->data && slots.slots > 0) {
        const lac_status_t status = pack_slots(s, p->m, p->k, slots, true, (cudaStream_t)stream);
        if (status != LAC_OK) return status;
    }
    return run_panel<SlotFeed>(p, slots, cluster, (cudaStream_t)stream);
}

extern "C" lac_status_t lac_cuda_event_panel_csr(const lac_cuda_product_t *p, const lac_cuda_csr_t *s,
                                                 int cluster, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const lac_status_t fits = check_panel(p);
    if (fits != LAC_OK) return fits;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    return run_panel<CsrFeed>(p, *s, cluster, (cudaStream_t)stream);
}
