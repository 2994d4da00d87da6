/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W by segments, added up as integers: where ranges are so wide that copies of their
 * sums do not fit in a block, the blocks of a cluster share them out, and each adds its terms wherever their
 * sums lie. So that the sum does not depend on which comes first, a term is a whole number of one unit; where
 * the exponents of a row's terms lie too far apart for one, they are added a band of exponents at a time. */
#include "common/fixed.cuh"
#include "segments.cuh"

namespace lacuna
{
namespace
{

constexpr int kMostOwned = 10240;  /* sums of a block                                              */
constexpr int kTermEvents = 3;     /* of an adder, in flight                                       */
constexpr double kFewEntries = 12; /* of a mean segment, up to which eight lanes take them, not 32 */
constexpr int kRanges = kMostWarps * kMaxCluster;
constexpr int kLeastBits = 8; /* of the number of events that are expected                         */
constexpr int kTail = 8;      /* binades below a band whose few terms do not change what is expected */

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

    /* Up to `top`, as wide as sums of 2^bits terms stay below 2^63. */
    __device__ static inline Band below(int top, int bits)
    {
        return {top - (63 - (kMantissa - 1) - bits), top};
    }
    __device__ inline bool has(int exponent) const
    {
        return (unsigned)(exponent - floor - 1) < (unsigned)(top - floor);
    }
    __device__ inline bool odd() const { return top == kFloatNotFinite; }
    /* What is added for a term: units, or of one that is not finite what is counted. */
    __device__ inline unsigned long long units(float term) const
    {
        if (odd()) return count_not_finite(term);
        const long long x = float_mantissa(term) << (float_exponent(term) - floor - 1);
        return (unsigned long long)(term < 0.0f ? -x : x);
    }
    __device__ inline double unit() const { return double_power_of_two(floor + 1 - 150); }
    /* What was added up: so many units, or what was met. */
    __device__ inline double sum(unsigned long long x) const
    {
        if (!odd()) return (double)(long long)x * unit();
        return x ? (double)sum_of_counts(x) : 0.0;
    }
};

/* 2^bits is no less than this. */
__device__ inline int bits_of(unsigned events)
{
    return kWarp - __clz((int)events);
}

/* What is expected of the terms of a product, after what one before it has met. In memory it is one word
 * beside W's segment pointers, which any product may write at any time: it decides how a sum is found, not
 * what it is. */
struct Expected {
    int top;  /* no exponent passes it; 0: nothing is expected           */
    int bits; /* a row has up to 2^bits events, dealt out about evenly   */

    __device__ inline unsigned events_of_block() const { return (1u << bits) / kMaxCluster; }
    __device__ inline int packed() const { return bits << 8 | top; }
    __device__ static inline Expected unpacked(int x) { return {x & 255, x >> 8}; }
    __device__ static inline Expected after(const TermRange &met)
    {
        const int bits = bits_of(met.events + met.events / 2);
        const Expected next = {met.highest + 1, min(max(bits, kLeastBits), 31)};
        const bool fits = !met.odd && next.top < kFloatNotFinite &&
                          met.lowest > Band::below(next.top, next.bits).floor - kTail;
        return fits ? next : Expected{0, 0};
    }
};

/* How a cluster goes about its sums: as is expected; where that was not right, it measures all terms, and
 * adds them a band after the other. */
enum Stage { EXPECTED, MEASURED, BANDED };

/* Where columns of a cluster have their sums: stretches of kWarp in turn. */
struct Owner {
    int rank, at;
};
__device__ inline Owner owner_of(int column)
{
    const unsigned at = (unsigned)column, stretch = at / kWarp;
    return {int(stretch % kMaxCluster), int(stretch / kMaxCluster * kWarp + at % kWarp)};
}
__device__ inline int column_of(const Place &p, int at)
{
    return (at / kWarp * kMaxCluster + p.rank) * kWarp + at % kWarp;
}
__host__ __device__ inline int owned_sums(const SegmentArgs &a)
{
    return (a.columns / kWarp + kMaxCluster - 1) / kMaxCluster * kWarp;
}

/* Calls use(column, term) for each entry of `count` segments; meanwhile(): while the first are on their way.
 */
template <int kLanes, typename Meanwhile, typename Use>
__device__ inline void each_term(const SegmentArgs &a, const Place &p, const Segment *segments, int count,
                                 Meanwhile meanwhile, Use use)
{
    constexpr int kAdders = kWarp / kLanes, kEvents = Batch<kLanes, kTermEvents>::kEvents;
    constexpr int step = kMostWarps * kAdders;
    for (int first = p.warp * kAdders; first < count; first += kEvents * step) {
        const int left = count - first; /* of those an adder of this warp has every step-th */
        const Segment *const mine = segments + first + p.lane / kLanes;
        Batch<kLanes, kTermEvents> b;
        b.load(a, mine, left, step, p.lane);
        meanwhile();
        b.each_event(left, step, [&](int u) {
#pragma unroll
            for (int w = 0; w < kWindows; w++)
                if (b.column[u][w] >= 0) use(b.column[u][w], b.v[u] * b.x[u][w]);
        });
        if (!b.longer) continue;
#pragma unroll 1
        for (int u = 0; u < kEvents && u * step < left; u++) {
            const Segment &s = mine[u * step];
            const int64_t from = s.ahead / (int64_t)sizeof(int32_t);
            for (int e = kWindows * kLanes + p.lane % kLanes; e < s.count; e += kLanes)
                use(__ldg(a.w.idx + from + e), s.v * (a.w.val ? __ldg(a.w.val + from + e) : 1.0f));
        }
    }
}

/* Opens all events of this block, as many at a time as it has threads: use(count) of segments. */
template <typename T, Source kSource, typename Use>
__device__ inline void each_fill(const SegmentArgs &a, const Place &p, const Finding &f, Use use)
{
    each_queue<T, kSource>(
        a, p, f, [] {},
        [&](int count, int64_t from) {
            constexpr int threads = kMostThreads;
            Opening next = open_segment<kSource>(a, p, f.queue, threadIdx.x, count, from);
            for (int c = 0; c < count; c += threads) {
                f.segments[threadIdx.x] = settle(a, p, next);
                __syncthreads();
                if (c + threads < count)
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
 * Limit     latency: a launch, the trips S, pointers and entries, a barrier of the cluster, and additions in
 *           other blocks' memory, of which a multiprocessor makes about one in three clocks. Two blocks find
 *           room on one; behind the launch that makes bits they would crowd where it has left some free. */
template <typename T, Source kSource, int kLanes>
__global__ __launch_bounds__(kMostThreads, kSource == kBits || kSource == kDense
                                               ? 1
                                               : 2) void event_terms(const __grid_constant__ SegmentArgs a)
{
    LACUNA_DYNAMIC_SHARED(unsigned long long, sums); /* [owned], in units, or what was met */
    const Place p = place_of(a);
    constexpr int threads = kMostThreads;
    const int owned = owned_sums(a), j0 = p.range * a.columns;
    double *const before = (double *)(sums + owned); /* [owned]: sums of the bands before */
    unsigned long long *const ranges = (unsigned long long *)(before + owned); /* [kRanges], of warps */
    int *const answers = (int *)(ranges + kRanges); /* [kRanges]: what was expected; -1: it was not right */
    const Finding f(answers + kRanges, threads);

#pragma unroll 4
    for (int t = 2 * (int)threadIdx.x; t < owned; t += 2 * threads)
        *(uint4 *)(sums + t) = make_uint4(0, 0, 0, 0);
    __syncwarp();
    cluster_arrive(kMaxCluster);
    const int known = __shfl_sync(kFull, *(volatile int *)a.expected, 0);
    const Expected expected = Expected::unpacked(known);
    if (!a.late) dependency_wait();
    dependents_launch();

    Band band = Band::below(expected.top, expected.bits);
    TermRange met = TermRange::none();
    unsigned events = 0; /* of this block */
    bool clean = false, settled = false;
    Stage stage = EXPECTED;
    const auto await_clean = [&] {
        if (!clean) cluster_wait(kMaxCluster); /* all sums are 0 */
        clean = true;
    };
    for (;;) {
        bool strange = false;
        each_fill<T, kSource>(a, p, f, [&](int count) {
            each_term<kLanes>(a, p, f.segments, count, await_clean, [&](int column, float term) {
                if (stage == MEASURED) met.add(term);
                if (stage == MEASURED || term == 0.0f) return;
                if (!band.has(float_exponent(term))) {
                    strange = true;
                    return;
                }
                const Owner o = owner_of(column - j0);
                cluster_add(cluster_address(sums + o.at, o.rank, kMaxCluster), band.units(term));
            });
            if (stage == EXPECTED) events += (unsigned)count;
        });
        await_clean();
        if (stage == EXPECTED) {
            strange = __any_sync(kFull, strange) || events > expected.events_of_block();
            if (p.lane < kMaxCluster)
                cluster_store(cluster_address(answers + p.rank * kMostWarps + p.warp, p.lane, kMaxCluster),
                              strange ? -1 : known);
        } else if (stage == MEASURED) {
            met.events = threadIdx.x == 0 ? events : 0;
            met = met.of_warp();
            if (p.lane < kMaxCluster)
                cluster_store(cluster_address(ranges + p.rank * kMostWarps + p.warp, p.lane, kMaxCluster),
                              met.packed());
        }
        cluster_sync(kMaxCluster);
        if (stage == EXPECTED) {
            const int4 of = ((const int4 *)answers)[p.lane];
            const bool other = of.x != known || of.y != known || of.z != known || of.w != known;
            if (!__any_sync(kFull, other)) break;
            stage = MEASURED;
            continue;
        }
        int left = band.odd() ? met.highest : band.floor; /* the highest exponent of terms to come */
        if (stage == MEASURED) {
            met = TermRange::none();
            for (int t = p.lane; t < kRanges; t += kWarp) met.add(TermRange::unpacked(ranges[t]));
            met = met.of_warp();
            left = met.odd ? kFloatNotFinite : met.highest;
            if (p.rank == 0 && threadIdx.x == 0) atomicExch(a.expected, Expected::after(met).packed());
        }
        const bool over = stage == BANDED && left < met.lowest;
        for (int t = threadIdx.x; t < owned; t += threads) {
            if (stage == BANDED) before[t] = (settled ? before[t] : 0.0) + band.sum(sums[t]);
            sums[t] = 0;
        }
        if (over) break;
        settled = stage == BANDED, stage = BANDED;
        band = left == kFloatNotFinite ? Band{left - 1, left} : Band::below(left, bits_of(met.events));
        cluster_sync(kMaxCluster);
    }

    const float alpha = load_scalar(a.p.alpha), beta = load_scalar(a.p.beta);
    if (a.late) dependency_wait(); /* who waits for this kernel waits for the one before */
    const bool fours = stores_fours(a.p, alpha, beta), straight = stage == EXPECTED;
    const double unit = band.unit();
    if (!straight) __syncthreads(); /* what others put in `before` */
    for (int t = 4 * (int)threadIdx.x; t < owned; t += 4 * threads) {
        float x[4];
#pragma unroll
        for (int q = 0; q < 4; q++)
            x[q] = float(straight ? (double)(long long)sums[t + q] * unit : before[t + q]);
        if (const int at = column_of(p, t); at < a.columns)
            store_columns(a.p, p.i, j0 + at, x, fours, alpha, beta);
    }
}

size_t shared_bytes(const SegmentArgs &a)
{
    return 2 * sizeof(double) * (size_t)owned_sums(a) + (sizeof(uint64_t) + sizeof(int)) * kRanges + kFinding;
}

template <typename T, Source kSource>
lac_status_t launch_lanes(double mean, const Launch &l, const SegmentArgs &a)
{
    return mean <= kFewEntries ? launch(event_terms<T, kSource, 8>, l, a)
                               : launch(event_terms<T, kSource, kWarp>, l, a);
}

} // namespace

lac_status_t run_terms(SegmentArgs a, Source source, bool bytes, int64_t width, double entries,
                       cudaStream_t stream)
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
    switch (source) {
    case kLists:
        return launch_lanes<float, kLists>(mean, l, a);
    case kRows:
        return launch_lanes<float, kRows>(mean, l, a);
    case kBits:
        return launch_lanes<float, kBits>(mean, l, a);
    case kDense:
        return bytes ? launch_lanes<uint8_t, kDense>(mean, l, a) : launch_lanes<float, kDense>(mean, l, a);
    }
    return LAC_ERR_VALUE;
}

} // namespace lacuna
