/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W by segments, added up as integers: where ranges are so wide that copies of their
 * sums do not fit in a block, the blocks of a cluster share them out, and each adds its terms wherever their
 * sums lie. So that the sum does not depend on which comes first, a term is a whole number of one unit; where
 * the exponents of a row's terms lie too far apart for one, they are added a band of exponents at a time. */
#include "common/async_copy.cuh"
#include "common/fixed.cuh"
#include "segments.cuh"

namespace lacuna
{
namespace
{

constexpr int kMostOwned = 10240;  /* sums of a block                                          */
constexpr double kFewEntries = 12; /* of a mean segment, up to which eight lanes take them, not 32 */
constexpr int kRanges = kMostWarps * kMaxCluster;

/* What was met of one row of S: the exponents of terms, as floats hold them, and how many events. */
struct TermRange {
    int lowest, highest; /* of those that are finite and not 0 */
    bool odd;            /* some are not finite                */
    unsigned events;

    __device__ static inline TermRange none() { return {kFloatNotFinite, 1, false, 0}; }
    __device__ inline void add(float term)
    {
        const int e = float_exponent(term);
        odd = odd || e == kFloatNotFinite;
        if (term == 0.0f || e == kFloatNotFinite) return;
        lowest = min(lowest, e), highest = max(highest, e);
    }
    __device__ inline void add(const TermRange &other)
    {
        lowest = min(lowest, other.lowest), highest = max(highest, other.highest);
        odd = odd || other.odd, events += other.events;
    }
    /* That of all lanes. */
    __device__ inline TermRange of_warp() const
    {
        return {__reduce_min_sync(kFull, lowest), __reduce_max_sync(kFull, highest),
                __any_sync(kFull, odd) != 0, __reduce_add_sync(kFull, events)};
    }
    __device__ inline unsigned long long packed() const
    {
        return (unsigned long long)events << 32 | (unsigned)odd << 16 | (unsigned)highest << 8 |
               (unsigned)lowest;
    }
    __device__ static inline TermRange unpacked(unsigned long long x)
    {
        return {int(x & 255), int(x >> 8 & 255), (x >> 16 & 1) != 0, unsigned(x >> 32)};
    }
};

/* Terms of exponents above `floor`, up to `top`; or those that are not finite. */
struct Band {
    int floor, top;

    __device__ inline bool has(int exponent) const { return exponent > floor && exponent <= top; }
    __device__ inline bool odd() const { return top == kFloatNotFinite; }
    __device__ inline long long units(float term) const
    {
        const long long x = float_mantissa(term) << (float_exponent(term) - floor - 1);
        return term < 0.0f ? -x : x;
    }
    /* What was added up: so many units, or what was met. */
    __device__ inline double sum(unsigned long long x) const
    {
        if (!odd()) return (double)(long long)x * power_of_two(floor + 1 - 150);
        return x ? (double)sum_not_finite((unsigned)x) : 0.0;
    }
};

/* Where columns of a cluster have their sums: stretches of kWarp in turn. */
struct Owner {
    int rank, at;
};
__device__ inline Owner owner_of(int column, int shift)
{
    const int stretch = column / kWarp;
    return {stretch & ((1 << shift) - 1), (stretch >> shift) * kWarp + column % kWarp};
}
__device__ inline int column_of(const Place &p, int at, int shift)
{
    return ((at / kWarp << shift) + p.rank) * kWarp + at % kWarp;
}
__host__ __device__ inline int owned_sums(const SegmentArgs &a)
{
    return (a.columns / kWarp + a.cluster - 1) / a.cluster * kWarp;
}

/* Calls use(column, term) for each entry of `count` segments. b: the first windows of the last batch of them,
 * loaded now unless they are there. */
template <int kLanes, typename Use>
__device__ inline void each_term(const SegmentArgs &a, const Place &p, const Segment *segments, int count,
                                 Batch<kLanes> &b, bool loaded, Use use)
{
    constexpr int kAdders = kWarp / kLanes, kEvents = Batch<kLanes>::kEvents;
    const int step = a.warps * kAdders;
    for (int first = p.warp * kAdders; first < count; first += kEvents * step) {
        const int events = min(kEvents, (count - first + step - 1) / step);
        const Segment *const mine = segments + first + p.lane / kLanes;
        if (!loaded) b.load(a, mine, events, step, p.lane);
#pragma unroll
        for (int u = 0; u < kEvents; u++) {
            if (u >= events) break;
            const float v = mine[u * step].v;
#pragma unroll
            for (int w = 0; w < kWindows; w++)
                if (b.column[u][w] >= 0) use(b.column[u][w], v * b.x[u][w]);
        }
        if (!b.longer) continue;
#pragma unroll 1
        for (int u = 0; u < events; u++) {
            const Segment &s = mine[u * step];
            const int64_t from = s.ahead / (int64_t)sizeof(int32_t);
            for (int e = kWindows * kLanes + p.lane % kLanes; e < s.count; e += kLanes)
                use(__ldg(a.w.idx + from + e), s.v * (a.w.val ? __ldg(a.w.val + from + e) : 1.0f));
        }
    }
}
/* Of so many segments there is one batch: it stays loaded. */
template <int kLanes> __device__ inline bool one_batch(const SegmentArgs &a, int count)
{
    return count <= a.warps * (kWarp / kLanes) * Batch<kLanes>::kEvents;
}

/* Opens all events of this block, as many at a time as it has threads: use(count) of segments. */
template <Source kSource, typename Use>
__device__ inline void each_fill(const SegmentArgs &a, const Place &p, const Finding &f, Use use)
{
    each_queue<float, kSource>(
        a, p, f, [] {},
        [&](int count, int64_t from) {
            const int threads = a.warps * kWarp;
            Opening next = open_segment<kSource>(a, p, f.queue, threadIdx.x, count, from);
            for (int c = 0; c < count; c += threads) {
                f.segments[threadIdx.x] = settle(a, p, next);
                __syncthreads();
                next = open_segment<kSource>(a, p, f.queue, c + threads + threadIdx.x, count, from);
                use(min(threads, count - c));
                __syncthreads();
            }
        });
}

/* out := beta out + alpha S W, S[m, k] by events, W[k, n] as CSR with segment pointers.
 *
 * Mapping   grid (ranges of columns, a cluster of blocks each; rows of S). The blocks of a cluster share the
 *           events and the sums of a range. kLanes lanes take the entries of one event; terms are added to
 *           the sums of whichever block, by its atomics.
 * Layout    any; W's columns ascending in a row.
 * Bytes     per event 16 for each range and 8 for each entry, S or its bits once for each range; out once.
 * Order     none is needed: sums of integers, rounded once; where there are several bands of exponents, their
 *           sums are added in double, the largest first.
 * Limit     latency: a launch, the trips S, pointers and entries, two barriers of the cluster, and additions
 *           in other blocks' memory, of which a multiprocessor makes about one in three clocks. */
template <Source kSource, int kLanes>
__global__ __launch_bounds__(kMostThreads, 1) void event_terms(const __grid_constant__ SegmentArgs a)
{
    LACUNA_DYNAMIC_SHARED(unsigned long long, sums); /* [owned], in units, or what was met */
    const Place p = place_of(a);
    const int threads = a.warps * kWarp;
    const int owned = owned_sums(a), shift = __ffs(a.cluster) - 1, j0 = p.range * a.columns;
    double *const before = (double *)(sums + owned); /* [owned]: sums of the bands before */
    unsigned long long *const ranges = (unsigned long long *)(before + owned); /* [kRanges], of warps */
    barrier_t *const ranges_here = (barrier_t *)(ranges + kRanges);
    const Finding f(ranges_here + 2, threads);

    if (threadIdx.x == 0) {
        barrier_init(ranges_here, 1);
        cluster_barrier_fence();
        barrier_arrive_promise(ranges_here, sizeof *ranges * (unsigned)(a.warps * a.cluster));
    }
#pragma unroll 4
    for (int t = threadIdx.x; t < owned; t += threads) sums[t] = 0;
    __syncwarp();
    cluster_arrive(a.cluster);
    if (!a.late) dependency_wait();
    dependents_launch();

    TermRange met = TermRange::none();
    Batch<kLanes> batch;
    int fills = 0, held = 0; /* segments of the last one */
    each_fill<kSource>(a, p, f, [&](int count) {
        each_term(a, p, f.segments, count, batch, false, [&](int, float term) { met.add(term); });
        if (threadIdx.x == 0) met.events += (unsigned)count;
        fills++, held = count;
    });
    met = met.of_warp();
    cluster_wait(a.cluster); /* all sums are 0, all barriers are there */
    if (p.lane < a.cluster)
        cluster_push(cluster_address(ranges + p.rank * a.warps + p.warp, p.lane, a.cluster), met.packed(),
                     cluster_address(ranges_here, p.lane, a.cluster));
    barrier_wait_pushed(ranges_here);
    met = TermRange::none();
    for (int t = p.lane; t < a.warps * a.cluster; t += kWarp) met.add(TermRange::unpacked(ranges[t]));
    met = met.of_warp();

    const int width = 62 - (kMantissa - 1) - (kWarp - __clz((int)met.events)); /* sums stay below 2^62 */
    Band band = {met.highest - width, met.highest};
    if (met.odd) band = {kFloatNotFinite - 1, kFloatNotFinite};
    bool settled = false;
    for (;;) {
        const auto add = [&](int column, float term) {
            if (term == 0.0f || !band.has(float_exponent(term))) return;
            const Owner o = owner_of(column - j0, shift);
            const unsigned at = cluster_address(sums + o.at, o.rank, a.cluster);
            if (band.odd())
                cluster_or(at, not_finite(term));
            else
                cluster_add(at, (unsigned long long)band.units(term));
        };
        if (fills == 1)
            each_term(a, p, f.segments, held, batch, one_batch<kLanes>(a, held), add);
        else if (fills > 1)
            each_fill<kSource>(a, p, f,
                               [&](int count) { each_term(a, p, f.segments, count, batch, false, add); });
        cluster_sync(a.cluster);
        const int left = band.odd() ? met.highest : band.floor;
        if (left < met.lowest) break;
        for (int t = threadIdx.x; t < owned; t += threads) {
            before[t] = (settled ? before[t] : 0.0) + band.sum(sums[t]);
            sums[t] = 0;
        }
        settled = true;
        band = {left - width, left};
        cluster_sync(a.cluster);
    }

    const float alpha = load_scalar(a.p.alpha), beta = load_scalar(a.p.beta);
    if (a.late) dependency_wait(); /* who waits for this kernel waits for the one before */
    const bool fours = stores_fours(a.p, alpha, beta);
    for (int t = 4 * (int)threadIdx.x; t < owned; t += 4 * threads) {
        float x[4];
#pragma unroll
        for (int q = 0; q < 4; q++)
            x[q] = float(settled ? before[t + q] + band.sum(sums[t + q]) : band.sum(sums[t + q]));
        if (const int at = column_of(p, t, shift); at < a.columns)
            store_columns(a.p, p.i, j0 + at, x, fours, alpha, beta);
    }
}

size_t shared_bytes(const SegmentArgs &a)
{
    return 2 * sizeof(double) * (size_t)owned_sums(a) + sizeof(uint64_t) * kRanges + 2 * sizeof(barrier_t) +
           kFinding;
}

template <Source kSource> lac_status_t launch_lanes(double mean, const Launch &l, const SegmentArgs &a)
{
    return mean <= kFewEntries ? launch(event_terms<kSource, 8>, l, a)
                               : launch(event_terms<kSource, kWarp>, l, a);
}

} // namespace

lac_status_t run_terms(SegmentArgs a, Source source, int64_t width, double entries, cudaStream_t stream)
{
    const int64_t at_once = clusters_at_once(current_device()),
                  widest = max<int64_t>(1, (int64_t)kMaxCluster * kMostOwned / width);
    /* The narrowest of those that take the fewest turns of all clusters. */
    const auto turns_of = [&](int64_t span) {
        return ceil_div((int64_t)a.p.m * ceil_div(a.ranges, span), at_once);
    };
    a.warps = kMostWarps, a.cluster = kMaxCluster, a.span = 1;
    for (int span = 2; span <= min<int64_t>(a.ranges, widest); span++)
        if (turns_of(span) < turns_of(a.span)) a.span = span;
    a.columns = int(width * a.span);
    const int64_t grid = ceil_div(a.ranges, a.span) * kMaxCluster;
    if (grid > INT32_MAX) return LAC_ERR_EXTENT;
    const Launch l = {dim3(unsigned(grid), unsigned(a.p.m)),
                      dim3(kMostThreads),
                      shared_bytes(a),
                      kMaxCluster,
                      true,
                      stream};
    const double mean = entries * a.span / a.ranges;
    return source == kLists  ? launch_lanes<kLists>(mean, l, a)
           : source == kRows ? launch_lanes<kRows>(mean, l, a)
                             : launch_lanes<kBits>(mean, l, a);
}

} // namespace lacuna
