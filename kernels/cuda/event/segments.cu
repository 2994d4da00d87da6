/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W by segments, added up in floats: each group of lanes has its own copy of a range's
 * sums in shared memory, as far as there is room. Where there is not, terms.cu adds integers. */
#include "segments.cuh"

namespace lacuna
{
namespace
{

constexpr int kWideCluster = 4;     /* blocks that share events where ranges are widened for it        */
constexpr int kEventsWide = 6;      /* of a copy then, at least,                                       */
constexpr int kEventsLess = 32;     /* and where fewer than four blocks share them                     */
constexpr int kShortRow = 8192;     /* elements of S, up to                                            */
constexpr int kFewEvents = 64;      /* of which half the warps have enough to do                       */
constexpr int kLargeCopies = 32768; /* sums in all copies of a block                                   */
constexpr int kMostRead = kMostThreads * kOctets * kOctet; /* elements of S that a block reads at once, */
constexpr int kMostReadByAll = 5 << 20;                    /* and bytes that all of them read           */
static_assert(kGrain % (4 * kMaxCluster) == 0, "parts of a range are of 16 bytes");

/* Adding up ---------------------------------------------------------------------------------------------- */

/* sums[j] += v x in the lanes whose j >= 0, which belong to one event for each kLanes. Where some have the
 * same j, which their writing to it shows, they come one event after the other. */
template <int kLanes> __device__ inline void add_window(float *sums, int j, float v, float x, int lane)
{
    const bool live = j >= 0;
    if (kLanes == kWarp) {
        if (live) sums[j] = fmaf(v, x, sums[j]);
        __syncwarp();
        return;
    }
    if (!__any_sync(kFull, live)) return;
    const float before = live ? sums[j] : 0.0f;
    __syncwarp();
    if (live) atomicExch(sums + j, __int_as_float(lane)); /* the last of those that meet stays */
    __syncwarp();
    const bool meets = live && __float_as_int(sums[j]) != lane, some = __any_sync(kFull, meets);
    __syncwarp();
    if (live && !meets) sums[j] = some ? before : fmaf(v, x, before);
    __syncwarp();
    if (!some) return;
#pragma unroll 1
    for (int turn = 0; turn < kWarp / kLanes; turn++) {
        if (live && lane / kLanes == turn) sums[j] = fmaf(v, x, sums[j]);
        __syncwarp();
    }
}

/* What lies behind the first windows of a segment, which few have. */
template <int kLanes>
__device__ inline void add_rest(const SegmentArgs &a, float *sums, const Segment &s, int j0, int lane)
{
    const int64_t first = s.ahead / (int64_t)sizeof(int32_t);
    for (int from = kWindows * kLanes; __any_sync(kFull, from < s.count); from += kLanes) {
        const int at = from + lane % kLanes;
        const bool live = at < s.count;
        const int column = live ? __ldg(a.w.idx + first + at) - j0 : -1;
        add_window<kLanes>(sums, column, s.v, live && a.w.val ? __ldg(a.w.val + first + at) : 1.0f, lane);
    }
}

/* A block's copies of the sums. */
__device__ inline float *shared_sums()
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    return (float *)shared;
}

/* Adds `count` segments, at most as many as the block has threads. Groups of lanes, adders, are dealt one
 * after the other. An adder has a copy of the sums, or its warp has one, or `turns` warps share one and add
 * in turn. */
template <int kLanes>
__device__ inline void add_segments(const SegmentArgs &a, const Place &p, float *sums,
                                    const Segment *segments, int count)
{
    constexpr int kAdders = kWarp / kLanes, kEvents = Batch<kLanes>::kEvents; /* of a warp; of an adder */
    const int step = a.warps * kAdders, j0 = p.range * a.columns;
    constexpr unsigned kSize = sizeof(float);
    const unsigned of_column = kept(kSize * (unsigned)(sums - shared_sums() - j0)); /* bytes */
    const auto sum_of = [&](int column) -> float & {
        return *(float *)((char *)shared_sums() + (of_column + kSize * (unsigned)column));
    };
    for (int base = 0; base < count; base += kEvents * step) {
        const Segment *const mine = segments + base + p.warp * kAdders + p.lane / kLanes;
        const int left = count - base - p.warp * kAdders; /* of which an adder has every step-th */
        Batch<kLanes> b;
        b.load(a, mine, left, step, p.lane);
        if (a.turns == 0) {
            b.each_event(left, step, [&](int u) {
                const int i = b.column[u][0], j = b.column[u][1]; /* never the same */
                const float y = i >= 0 ? sum_of(i) : 0.0f, z = j >= 0 ? sum_of(j) : 0.0f;
                if (i >= 0) sum_of(i) = fmaf(b.v[u], b.x[u][0], y);
                if (j >= 0) sum_of(j) = fmaf(b.v[u], b.x[u][1], z);
                __syncwarp();
            });
            if (b.longer)
#pragma unroll 1
                for (int u = 0; u < kEvents; u++) add_rest<kLanes>(a, sums, mine[u * step], j0, p.lane);
        }
        for (int turn = 0; turn < a.turns; turn++) {
            if (p.warp % a.turns == turn)
                b.each_event(left, step, [&](int u) {
#pragma unroll
                    for (int w = 0; w < kWindows; w++)
                        add_window<kLanes>(sums, b.column[u][w] - j0, b.v[u], b.x[u][w], p.lane);
                    if (b.longer) add_rest<kLanes>(a, sums, mine[u * step], j0, p.lane);
                });
            if (a.turns > 1) __syncthreads();
        }
    }
}

__device__ inline float4 added(float4 x, float4 y)
{
    return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

/* The sums of four columns of `count` copies, one after the other. */
__device__ inline float4 add_copies(const float4 *copies, int count, int step)
{
    float4 x = copies[0];
#pragma unroll 4
    for (int c = 1; c < count; c++) x = added(x, copies[c * step]);
    return x;
}

/* out := beta out + alpha S W, S[m, k] by events, W[k, n] as CSR with segment pointers.
 *
 * Mapping   grid (ranges of columns, in clusters of blocks that share the events; rows of S). A block
 *           lists its events, opens them, a thread each, and deals them out to groups of kLanes lanes,
 *           which add the entries of one event after the other to a copy of the range's sums.
 * Layout    any; W's columns ascending in a row.
 * Bytes     per event 16 for each range and 8 for each entry, S or its bits once for each range; out once.
 * Order     a group's events as they are found, in runs that are added to a total; then copies, then
 *           blocks: no atomics.
 * Limit     latency: a launch, the trips S, pointers and entries, the sum of copies. */
template <typename T, Source kSource, int kLanes>
__global__ __launch_bounds__(kMostThreads, 1) void event_segments(const __grid_constant__ SegmentArgs a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    const int threads = a.warps * kWarp, step = a.columns / 4;
    const Place p = place_of(a);
    float4 *const total = shared + a.copies * step;
    const Finding f(total + (a.runs ? step : 0), threads);
    const int copy = a.turns ? p.warp / a.turns : int(threadIdx.x) / kLanes;
    float *const sums = (float *)(shared + copy * step);

    bool clean = false;
    const auto clear = [&] {
        if (clean) return;
#pragma unroll 4
        for (int t = threadIdx.x; t < a.copies * step; t += threads) shared[t] = make_float4(0, 0, 0, 0);
        clean = true;
    };

    int run = 0; /* events of a copy since its sums were 0, at most */
    bool settled = false;
    const auto consume = [&](int count, int64_t from) {
        const int adders = threads / kLanes;
        Opening next = open_segment<kSource>(a, p, f.queue, threadIdx.x, count, from);
        for (int c = 0; c < count; c += threads) {
            f.segments[threadIdx.x] = settle(a, p, next);
            __syncthreads();
            next = open_segment<kSource>(a, p, f.queue, c + threads + threadIdx.x, count, from);
            const int live = min(threads, count - c), more = ceil_div(live, adders) * (adders / a.copies);
            if (a.runs && run > 0 && run + more > kLongestRun) { /* all threads of the block */
#pragma unroll 1
                for (int t = threadIdx.x; t < step; t += threads) {
                    const float4 x = add_copies(shared + t, a.copies, step);
                    total[t] = settled ? added(total[t], x) : x;
#pragma unroll 1
                    for (int q = 0; q < a.copies; q++) shared[q * step + t] = make_float4(0, 0, 0, 0);
                }
                __syncthreads();
                settled = true, run = 0;
            }
            add_segments<kLanes>(a, p, sums, f.segments, live);
            run += more;
            __syncthreads();
        }
    };

    if (kSource == kBits || kSource == kLists) clear();
    if (!a.late) dependency_wait();
    dependents_launch();
    each_queue<T, kSource>(a, p, f, clear, consume);

    const float alpha = load_scalar(a.p.alpha), beta = load_scalar(a.p.beta);
    __syncthreads();
    if (a.cluster == 1) {
        const float *const sum = (const float *)shared;
        for (int t = threadIdx.x; t < a.columns; t += threads) {
            const int j = p.range * a.columns + t;
            float x = sum[t];
#pragma unroll 8
            for (int c = 1; c < a.copies; c++) x += sum[c * a.columns + t];
            if (settled) x = ((const float *)total)[t] + x;
            if (j < a.p.n)
                store_with_epilogue(a.p.out + p.i * a.p.rs + j * a.p.cs, x, alpha, beta, a.p.epilogue, p.i,
                                    j);
        }
    } else {
        for (int t = threadIdx.x; t < step; t += threads) {
            const float4 x = add_copies(shared + t, a.copies, step);
            shared[t] = settled ? added(total[t], x) : x;
        }
    }
    if (a.late) dependency_wait(); /* who waits for this kernel waits for the one before */
    if (a.cluster == 1) return;
    cluster_sync(a.cluster);
    const bool fours = stores_fours(a.p, alpha, beta);
    const int owned = step / a.cluster;
    for (int t = p.rank * owned + threadIdx.x; t < (p.rank + 1) * owned; t += threads) {
        float4 x = make_float4(0, 0, 0, 0), part[kWideCluster];
        for (int from = 0; from < a.cluster;
             from += kWideCluster) { /* all on their way before one is added */
#pragma unroll
            for (int r = 0; r < kWideCluster; r++)
                if (from + r < a.cluster)
                    part[r] = cluster_load4(cluster_address(shared + t, from + r, a.cluster));
#pragma unroll
            for (int r = 0; r < kWideCluster; r++)
                if (from + r < a.cluster) x = from + r ? added(x, part[r]) : part[0];
        }
        store_columns(a.p, p.i, p.range * a.columns + 4 * t, {x.x, x.y, x.z, x.w}, fours, alpha, beta);
    }
    cluster_arrive_relaxed(a.cluster); /* no block ends while others read its sums, and ours have been read */
    cluster_wait(a.cluster);
}

/* The launch -------------------------------------------------------------------------------------------- */

/* How it is cut, for one device. */
struct Cut {
    int warps, lanes, span, copies, turns, cluster;
    bool runs;
    size_t shared;
};

/* What is asked of it. */
struct Wanted {
    int64_t m, k, width, ranges;
    double events, entries; /* of a row of S; of a row of W, mean */
    lac_cuda_segments_cut_t cut;
};

size_t shared_bytes(int64_t columns, int copies, bool runs)
{
    return kFinding + sizeof(float) * (size_t)(columns * (copies + (runs ? 1 : 0)));
}

/* Whether a copy may get more events than a run has: all elements of S that a block looks at may be events,
 * which come up to a block's threads at a time. */
bool has_runs(int64_t k, const Cut &c)
{
    const int64_t share = round_up(ceil_div(k, c.cluster), kUnitWords * 32) + kUnitWords * 32;
    const int64_t adders = c.warps * kWarp / c.lanes, chunks = share / (c.warps * kWarp) + share / kQueue + 2;
    return ceil_div(share, c.copies) + chunks * (adders / c.copies) > kLongestRun;
}

/* As many copies of the sums as find room, at most one for each group of lanes; false: not even one does. */
bool fit_copies(const Wanted &w, size_t room, Cut &c)
{
    const int64_t columns = w.width * c.span;
    const int adders = c.warps * kWarp / c.lanes;
    for (int copies = adders; copies > 0; copies = copies > c.warps ? c.warps : copies / 2) {
        if (w.cut.copies && copies != min(w.cut.copies, adders) && copies > 1) continue;
        c.copies = copies, c.turns = copies == adders ? 0 : c.warps / copies;
        c.runs = has_runs(w.k, c);
        c.shared = shared_bytes(columns, copies, c.runs);
        if (c.shared <= room) return true;
    }
    return false;
}

/* Lanes for an event, so that two windows of them hold nearly all segments: more than that where events are
 * few, for copies are then fewer (H200, 2026-11-23: 16 against 8 lanes at 8 entries 7.6 and 7.8 us for 400
 * events, 42 and 38 for 4000). */
int lanes_of(double entries, double events)
{
    return entries <= 3                                       ? 4
           : entries <= 5 || (entries <= 10 && events > 1024) ? 8
           : entries <= 20                                    ? 16
                                                              : kWarp;
}

/* Copies that find room whatever the width, and totals of runs. */
int copies_of_any_width(const Device &device)
{
    int copies = kMostWarps;
    while (copies > 1 && shared_bytes(kMaxWidth, copies, true) > (size_t)device.shared) copies /= 2;
    return copies;
}

Cut cut_of(Wanted w, const Device &device)
{
    Cut c = {};
    if (w.cut.copies < 0) w.cut.copies = copies_of_any_width(device);
    const size_t whole = (size_t)device.shared, half = whole / 2 - 1024;
    const int64_t blocks = w.ranges * w.m, sms = device.sms;
    const auto set_lanes = [&](Cut &of) {
        const double mean = w.entries * (double)of.span / (double)w.ranges;
        of.lanes = w.cut.lanes ? w.cut.lanes : lanes_of(mean, w.events);
    };
    /* Many rows: two blocks a multiprocessor, of several ranges where they would not all find room at once.
     */
    const bool little = w.k <= kShortRow && w.events <= kFewEvents;
    c.warps = w.cut.warps ? w.cut.warps : blocks > sms || little ? 8 : kMostWarps;
    c.span = w.cut.span ? (int)min<int64_t>(w.cut.span, w.ranges) : 1;
    c.cluster = w.cut.cluster && device.hopper ? w.cut.cluster : 1;
    set_lanes(c);
    if (!w.cut.warps && c.warps == 8 && (!fit_copies(w, half, c) || c.copies < c.warps)) c.warps = kMostWarps;
    if (!w.cut.span && c.warps == 8)
        while (c.span < w.ranges && w.m * ceil_div(w.ranges, c.span) > 2 * sms) {
            Cut wider = c;
            wider.span++;
            if (!fit_copies(w, half, wider) || wider.copies < wider.warps) break;
            c.span++;
        }
    set_lanes(c);
    /* Few with many events: longer segments of wider ranges, of which fewer bytes and lanes are lost, while
     * each copy of the sums still gets enough of them. */
    const bool chosen = w.cut.warps || w.cut.lanes || w.cut.span || w.cut.copies || w.cut.cluster;
    Cut wide = c;
    while (!chosen && device.hopper && c.warps == kMostWarps && wide.lanes < kWarp &&
           wide.cluster < kWideCluster) {
        Cut wider = wide;
        wider.span *= 2, wider.cluster *= 2;
        set_lanes(wider);
        const bool at_once = w.m * ceil_div(w.ranges, wider.span) * wider.cluster <= clustered_blocks(device);
        if (!at_once || !fit_copies(w, whole, wider) || wider.turns) break;
        wide = wider;
    }
    const int copies = wide.warps * kWarp / wide.lanes,
              each = wide.cluster == kWideCluster ? kEventsWide : kEventsLess;
    if (w.events >= (double)each * copies * wide.cluster) c = wide;
    /* Few: blocks share the events, where there are enough for them to find something to do. */
    const int64_t grid = w.m * ceil_div(w.ranges, c.span);
    if (!w.cut.cluster && device.hopper && c.warps == kMostWarps)
        while (c.cluster < kMaxCluster && 2 * grid * c.cluster <= clustered_blocks(device) &&
               fit_copies(w, whole, c) &&
               (w.events >= 8.0 * c.copies * c.cluster || w.k >= (int64_t)65536 * c.cluster))
            c.cluster *= 2;
    if (!fit_copies(w, c.warps == 8 ? half : whole, c) && !fit_copies(w, whole, c)) c.copies = 0;
    return c;
}

/* Whether integers are added: where warps would have to share copies of the sums and take turns, and, where
 * rows are few, where lanes that share one would, or copies are so large that they take longer to clear and
 * to add up (H100, 2026-11-26: 0.45 to 0.96 of the time, once 1.01; docs/dev/experiments/event.md). */
bool adds_terms(const Wanted &w, const Cut &c, const Device &device)
{
    const lac_cuda_segments_cut_t &cut = w.cut;
    if (cut.terms) return cut.terms > 0;
    if (cut.warps || cut.lanes || cut.span || cut.copies || cut.cluster) return false;
    if (c.turns > 1 || c.copies == 0) return true;
    const int64_t columns = w.width * c.span;
    return w.m * w.ranges <= device.sms &&
           (c.turns == 1 || (c.lanes <= 8 && c.copies * columns >= kLargeCopies));
}

/* Whether blocks read a dense S themselves: `clusters` of so many blocks, which share each of its rows. If
 * not, a launch before makes bits of it. */
bool reads_itself(const Wanted &w, bool bytes, int64_t clusters, int blocks)
{
    if (w.cut.bits) return w.cut.bits < 0;
    const int64_t size = bytes ? 1 : (int64_t)sizeof(float);
    return w.k <= (int64_t)kMostRead * blocks && w.k * size * w.m * clusters <= kMostReadByAll;
}

/* Whether eight elements of S lie side by side, wherever a row is cut into such. */
bool has_whole_octets(const lac_cuda_dense_t &s, int64_t m, int64_t k)
{
    const int64_t size = s.dt == LAC_U8 ? 1 : (int64_t)sizeof(float), least = min<int64_t>(16, kOctet * size);
    return s.cs == 1 && k % kOctet == 0 && (uintptr_t)s.data % (uintptr_t)least == 0 &&
           (m == 1 || s.rs * size % least == 0);
}

template <typename T, Source kSource>
lac_status_t launch_lanes(int lanes, const Launch &l, const SegmentArgs &a)
{
    if (lanes == 4) return launch(event_segments<T, kSource, 4>, l, a);
    if (lanes == 8) return launch(event_segments<T, kSource, 8>, l, a);
    if (lanes == 16) return launch(event_segments<T, kSource, 16>, l, a);
    return launch(event_segments<T, kSource, kWarp>, l, a);
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_event_segments_bytes(int64_t m, int64_t k)
{
    using namespace lacuna;
    return (int64_t)sizeof(uint32_t) * m * bit_words(k);
}

extern "C" lac_status_t lac_cuda_event_segments(const lac_cuda_product_t *p, const lac_cuda_event_source_t *s,
                                                const lac_cuda_csr_t *w, const lac_cuda_segments_t *segments,
                                                const lac_cuda_segments_cut_t *cut, void *workspace,
                                                lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(p->m) || !fits(p->n) || !fits(p->k) || p->m > 65535) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const Device device = current_device();
    const lac_cuda_dense_t *dense = s->dense && s->dense->data ? s->dense : nullptr;
    const bool bytes = dense && dense->dt == LAC_U8;
    const double k = (double)p->k;
    const double known = s->bits    ? s->bits->density
                         : s->lists ? s->lists->density
                         : dense    ? dense->density
                                    : 0.0;
    const double events =
        s->rows && s->rows->nnz > 0 ? (double)s->rows->nnz / (double)p->m : (known > 0 ? known : 0.01) * k;
    Wanted wanted = {p->m,
                     p->k,
                     segments->width,
                     ceil_div(p->n, segments->width),
                     events,
                     (double)w->nnz / (double)max<int64_t>(1, segments->k),
                     {}};
    if (cut) wanted.cut = *cut;
    const Cut c = cut_of(wanted, device);
    const bool terms = device.hopper && p->k > 0 && !s->list && adds_terms(wanted, c, device);
    const int64_t grid = ceil_div(wanted.ranges, c.span) * c.cluster;
    if (!terms && (c.copies == 0 || grid > INT32_MAX)) return LAC_ERR_EXTENT;
    const bool reads =
        terms ? reads_itself(wanted, bytes, min(wanted.ranges, clusters_at_once(device)), kMaxCluster)
              : reads_itself(wanted, bytes, grid / c.cluster, c.cluster);
    const bool prepares = dense && !s->list && p->k > 0 && !reads;

    SegmentArgs a = {};
    a.p = make_gemm_args(p);
    a.columns = (int)segments->width * c.span, a.ranges = (int)wanted.ranges, a.span = c.span;
    a.warps = c.warps, a.cluster = c.cluster, a.copies = c.copies, a.turns = c.turns, a.runs = c.runs;
    a.late = wanted.cut.late && !prepares;
    a.w = *w, a.first = segments->first, a.list = s->list;
    a.expected = behind_pointers(segments->first, segments->k, p->n, segments->width);
    if (dense) {
        a.s = {dense->data, dense->rs, dense->cs, p->k, has_whole_octets(*dense, p->m, p->k)};
        a.values = bytes ? nullptr : (const float *)dense->data;
    }
    if (s->rows) a.rows = *s->rows;
    if (s->lists) a.lists = *s->lists;
    a.bits =
        s->bits ? *s->bits : lac_cuda_event_bits_t{(const uint32_t *)workspace, bit_words(p->k), 0, known};
    a.whole_bits = prepares;
    if (prepares) {
        const lac_status_t status =
            queue_event_bits(a.s, p->m, bytes, (uint32_t *)workspace, (cudaStream_t)stream);
        if (status != LAC_OK) return status;
    }
    const Source source = s->lists ? kLists : s->bits || prepares ? kBits : dense ? kDense : kRows;
    if (terms) return run_terms(a, source, bytes, segments->width, wanted.entries, (cudaStream_t)stream);
    const Launch l = {dim3(unsigned(grid), unsigned(p->m)),
                      dim3(unsigned(c.warps * kWarp)),
                      c.shared,
                      c.cluster,
                      true,
                      (cudaStream_t)stream};
    switch (source) {
    case kLists:
        return launch_lanes<float, kLists>(c.lanes, l, a);
    case kBits:
        return launch_lanes<float, kBits>(c.lanes, l, a);
    case kRows:
        return launch_lanes<float, kRows>(c.lanes, l, a);
    case kDense:
        return bytes ? launch_lanes<uint8_t, kDense>(c.lanes, l, a)
                     : launch_lanes<float, kDense>(c.lanes, l, a);
    }
    return LAC_ERR_VALUE;
}
