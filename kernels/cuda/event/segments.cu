/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W by segments: W's columns are cut into ranges, and the pattern's segment pointers
 * say where each row's entries of a range begin. Made once, they let many blocks share a row of W. */
#include "terms.cuh"

namespace lacuna
{
namespace
{

constexpr int kMaxWarps = 16; /* of a block: 16, one block a multiprocessor, or 8, two of them */
constexpr int kMaxThreads = kMaxWarps * kWarp;
constexpr int kUnitWords = 8;    /* times 32 elements of S: what blocks that share k take in turn */
constexpr int kWordsAtOnce = 4;  /* of S's bits in flight, of a thread                            */
constexpr int kStretch = 1280;   /* words of a dense S that a block makes at once                 */
constexpr int kQueue = 2048;     /* events of a block                                             */
constexpr int kEventsAtOnce = 8; /* of an adder, in flight, or as many as it has lanes;           */
constexpr int kWindows = 2;      /* times its lanes: entries of each                              */
constexpr int kMaxCluster = 8;   /* blocks that share the events of a range                       */
constexpr int kWideCluster = 4;  /* of them, where ranges are widened for it, and                 */
constexpr int kEventsEach = 32;  /* events of a copy then, at least                               */
constexpr int kGrain = 32;       /* columns: a range is a multiple, and so all its parts are of 16 bytes */
constexpr int kScanMax = 8192;   /* elements of a row of S that blocks scan themselves: two warps' trips */
constexpr int kFewEvents = 64;   /* of such a row: half the warps have enough to do                     */
static_assert(kGrain % (4 * kMaxCluster) == 0, "parts are of 16 bytes");
static_assert(kStretch % kUnitWords == 0, "whole units");

/* Of W's columns. */
constexpr int kMinWidth = 128;   /* a range's, */
constexpr int kMaxWidth = 14336; /* with two copies and kFixed bytes in the shared memory of a block */
constexpr int kMinEntries = 4;   /* of a mean segment                                    */
constexpr uint32_t kFar = 65535; /* entries before a range: so many, or more              */

/* The entries of one event in the range: count of them, `ahead` bytes behind W's first index, or value. */
struct alignas(16) Segment {
    int64_t ahead;
    int count;
    float v;
};

/* Shared memory beside the sums. */
constexpr size_t kFixed = kMaxThreads * sizeof(Segment) + sizeof(int) * (kQueue + kStretch + 2 * kMaxWarps);

struct SegmentArgs {
    GemmArgs p;                /* but for W */
    int columns, ranges, span; /* of a block; of the pointers, and how many of these a block has */
    int warps, cluster;
    int copies, turns;   /* of the sums; warps that share one, or 0: each group of lanes has its own */
    bool early, late;    /* lac_cuda_segments_cut_t.chain */
    bool runs;           /* a copy of the sums may get more events than are added up straight */
    const void *s;       /* dense */
    const float *values; /* of its events; NULL: ones */
    int64_t srs, scs;
    const int32_t *list;
    lac_cuda_event_bits_t bits;
    lac_cuda_csr_t rows, w;
    lac_cuda_event_lists_t lists;
    const uint16_t *first; /* [k][ranges + 1], up to kFar */
    TermSums terms;
};

/* What a thread knows of its place. */
struct Place {
    int i, rank, range, warp, lane;
};

/* Finding events ----------------------------------------------------------------------------------------- */

/* Blocks of a cluster take units of neighbouring words, or listed events, in turn, so that a burst of events
 * is dealt out. */
__device__ inline int word_of(const SegmentArgs &a, const Place &p, int t)
{
    return (t / kUnitWords * a.cluster + p.rank) * kUnitWords + t % kUnitWords;
}

/* How many of so many words are this block's, in whole units. */
__device__ inline int words_here(const SegmentArgs &a, const Place &p, int words)
{
    const unsigned units = ((unsigned)words + kUnitWords - 1) / kUnitWords, rank = (unsigned)p.rank,
                   cluster = (unsigned)a.cluster; /* a 64-bit division takes as long as a load */
    return units > rank ? int((units - rank + cluster - 1) / cluster) * kUnitWords : 0;
}

/* words[t] := the bits of this block's words from `begin` on, of a dense S; 32 elements of each lane in
 * flight. meanwhile(): done while they are. */
template <typename T, typename Meanwhile>
__device__ inline void scan_stretch(const SegmentArgs &a, const Place &p, uint32_t *words, int begin,
                                    int count, Meanwhile meanwhile)
{
    constexpr int kUnits = kWarp / kUnitWords; /* that a warp has in flight */
    const T *row = (const T *)a.s + p.i * a.srs;
    const int64_t stride = 32 * a.scs;
    for (int u0 = p.warp; u0 * kUnitWords < count; u0 += kUnits * a.warps) {
        uint32_t x[kWarp];
#pragma unroll
        for (int u = 0; u < kUnits; u++) {
            const int t = (u0 + u * a.warps) * kUnitWords;
            const int64_t k = (int64_t)word_of(a, p, begin + t) * 32 + p.lane;
            const T *at = row + k * a.scs;
#pragma unroll
            for (int b = 0; b < kUnitWords; b++)
                x[u * kUnitWords + b] = load_bits(t < count && k + 32 * b < a.p.k, at + b * stride);
        }
        meanwhile();
        uint32_t mine = 0;
#pragma unroll
        for (int b = 0; b < kWarp; b++) {
            const unsigned word = __ballot_sync(kFull, x[b] != 0);
            if (p.lane == b) mine = word;
        }
        const int t = (u0 + p.lane / kUnitWords * a.warps) * kUnitWords + p.lane % kUnitWords;
        if (t < count) words[t] = mine;
    }
}

/* Entries t, t + threads, .. of this block's share of a list, as k of S; outside [0, k): there is none. */
__device__ inline void load_listed(const SegmentArgs &a, const Place &p, int t, int (&k)[kWordsAtOnce])
{
    const int32_t *list = a.lists.idx + p.i * a.lists.ld;
#pragma unroll
    for (int u = 0; u < kWordsAtOnce; u++) {
        const int e = word_of(a, p, t + u * a.warps * kWarp);
        k[u] = load_if(e < a.lists.ld, list + e, -1);
    }
}

/* How many of the block's x come before this thread's, and all of them. totals: one for each warp. */
struct Rank {
    int before, all;
};
__device__ inline Rank rank_in_block(const Place &p, int *totals, int warps, int x)
{
    const int up_to = inclusive_sum(x, p.lane);
    if (p.lane == kWarp - 1) totals[p.warp] = up_to;
    __syncthreads();
    const unsigned other = p.lane < warps ? (unsigned)totals[p.lane] : 0u;
    const int lower = (int)__reduce_add_sync(kFull, p.lane < p.warp ? other : 0u);
    return {up_to - x + lower, (int)__reduce_add_sync(kFull, other)};
}

/* Adding up ---------------------------------------------------------------------------------------------- */

/* An event on its way: what is loaded is not read before it is settled. */
struct Opening {
    int64_t row;
    uint32_t begin, end;
    int k;
    float v;
};

/* The entries of row k before this column, of which there are `low` at least. */
__device__ inline int64_t entries_before(const lac_cuda_csr_t &w, int64_t k, int64_t low, int64_t column)
{
    const int64_t begin = w.ptr[k];
    int64_t high = w.ptr[k + 1] - begin;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (w.idx[begin + middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__device__ inline Segment settle(const SegmentArgs &a, const Place &p, const Opening &o)
{
    int64_t begin = o.begin, end = o.end;
    if (o.end == kFar) {
        const int64_t column = (int64_t)p.range * a.columns;
        if (o.begin == kFar) begin = entries_before(a.w, o.k, kFar, column);
        end = entries_before(a.w, o.k, kFar, column + a.columns);
    }
    return {(int64_t)sizeof(int32_t) * (o.row + begin), int(end - begin), o.v};
}

/* Event e of the queue's `count`. from: of the events given, the queue's first. */
template <Source kSource>
__device__ inline Opening open_segment(const SegmentArgs &a, const Place &p, const int *queue, int e,
                                       int count, int64_t from)
{
    const bool live = e < count;
    int k = live ? queue[e] : 0;
    Opening o;
    if (kSource == kRows)
        o.v = load_if(live && a.rows.val, a.rows.val + from + e, 1.0f);
    else if (kSource == kLists)
        o.v = 1.0f;
    else
        o.v = load_if(live && a.values, a.values + p.i * a.srs + k * a.scs, 1.0f);
    if (kSource == kDense && a.list) k = load_if(live, a.list + k, 0);
    const uint16_t *first = a.first + (int64_t)k * (a.ranges + 1);
    const int range = p.range * a.span;
    o.begin = load_if(live, first + range, 0u);
    o.end = load_if(live, first + min(range + a.span, a.ranges), 0u);
    o.row = load_if(live, a.w.ptr + k, (int64_t)0);
    o.k = k;
    return o;
}

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

/* Element kAhead behind the one that lies `ahead` bytes behind p. */
template <int kAhead, typename T>
__device__ inline T load_ahead(bool live, const T *p, int64_t ahead, T otherwise)
{
    return load_if<kAhead>(live, (const T *)((const char *)p + ahead), otherwise);
}

/* The entries of the events that a group of kLanes lanes takes at once. */
template <int kLanes> struct Batch {
    static constexpr int kEvents = min(kEventsAtOnce, kLanes);
    static_assert(kWindows == 2, "what load() loads");
    int column[kEvents][kWindows]; /* -1: none */
    float x[kEvents][kWindows];
    bool longer = false; /* there are more of one of the warp's */

    /* Those of `events` of segments[0], segments[step] .. */
    __device__ inline void load(const SegmentArgs &a, const Segment *segments, int events, int step, int lane)
    {
        const int at = lane % kLanes;
        const int32_t *const idx = a.w.idx + at;
        const float *const val = a.w.val + at;
        const bool values = a.w.val != nullptr;
        int longest = 0;
#pragma unroll
        for (int u = 0; u < kEvents; u++) {
            if (u >= events) break;
            const Segment s = segments[u * step];
            const bool one = at < s.count, two = at + kLanes < s.count;
            longest = max(longest, s.count);
            column[u][0] = load_ahead<0>(one, idx, s.ahead, -1);
            x[u][0] = load_ahead<0>(one && values, val, s.ahead, 1.0f);
            column[u][1] = load_ahead<kLanes>(two, idx, s.ahead, -1);
            x[u][1] = load_ahead<kLanes>(two && values, val, s.ahead, 1.0f);
        }
        longer = __any_sync(kFull, longest > kWindows * kLanes);
    }
};

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

/* Adds `count` segments, at most as many as the block has threads. Groups of lanes, adders, are dealt one
 * after the other. An adder has a copy of the sums, or its warp has one, or `turns` warps share one and add
 * in turn. */
template <int kLanes>
__device__ inline void add_segments(const SegmentArgs &a, const Place &p, float *sums,
                                    const Segment *segments, int count)
{
    constexpr int kAdders = kWarp / kLanes, kEvents = Batch<kLanes>::kEvents; /* of a warp; of an adder */
    const int step = a.warps * kAdders, j0 = p.range * a.columns;
    float *const of_column = sums - j0;
    for (int base = 0; base < count; base += kEvents * step) {
        const int first = base + p.warp * kAdders,
                  events =
                      first < count ? min(kEvents, (count - first + step - 1) / step) : 0; /* of an adder */
        const Segment *const mine = segments + first + p.lane / kLanes;
        Batch<kLanes> b;
        if (events > 0) b.load(a, mine, events, step, p.lane);
        if (a.turns == 0) {
#pragma unroll
            for (int u = 0; u < kEvents; u++) {
                if (u >= events) break;
                const float v = mine[u * step].v;
                const int i = b.column[u][0], j = b.column[u][1]; /* never the same */
                const float y = i >= 0 ? of_column[i] : 0.0f, z = j >= 0 ? of_column[j] : 0.0f;
                if (i >= 0) of_column[i] = fmaf(v, b.x[u][0], y);
                if (j >= 0) of_column[j] = fmaf(v, b.x[u][1], z);
                __syncwarp();
            }
            if (b.longer)
#pragma unroll 1
                for (int u = 0; u < events; u++) add_rest<kLanes>(a, sums, mine[u * step], j0, p.lane);
        }
        for (int turn = 0; turn < a.turns; turn++) {
            if (p.warp % a.turns == turn)
#pragma unroll
                for (int u = 0; u < kEvents; u++) {
                    if (u >= events) break;
                    const Segment &s = mine[u * step];
#pragma unroll
                    for (int w = 0; w < kWindows; w++)
                        add_window<kLanes>(sums, b.column[u][w] - j0, s.v, b.x[u][w], p.lane);
                    if (b.longer) add_rest<kLanes>(a, sums, s, j0, p.lane);
                }
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

/* Row i of out from its terms' sums in memory, by all blocks of the row; false: they do not fit. */
__device__ inline bool write_sums(const SegmentArgs &a, const Place &p)
{
    constexpr int kSums = 8; /* of a thread, on their way with the unit */
    const int64_t *const sum = (const int64_t *)a.terms.sum + p.i * a.terms.ld;
    const int step = int(gridDim.x) * a.warps * kWarp;
    int64_t x[kSums];
    const auto load = [&](int first) {
#pragma unroll
        for (int u = 0; u < kSums; u++)
            x[u] = load_if(first + u * step < a.p.n, sum + first + u * step, (int64_t)0);
    };
    int first = int(blockIdx.x) * a.warps * kWarp + int(threadIdx.x);
    load(first);
    const TermUnit unit = read_unit(a.terms, p.i, p.lane);
    if (!unit.fits) return false;
    const float alpha = load_scalar(a.p.alpha), beta = load_scalar(a.p.beta);
    const double size = unit.size();
    for (; first < a.p.n; first += kSums * step) {
#pragma unroll
        for (int u = 0; u < kSums; u++)
            if (const int j = first + u * step; j < a.p.n)
                store_with_epilogue(a.p.out + p.i * a.p.rs + j * a.p.cs, float((double)x[u] * size), alpha,
                                    beta, a.p.epilogue, p.i, j);
        load(first + kSums * step);
    }
    return true;
}

/* out := beta out + alpha S W, S[m, k] by events, W[k, n] as CSR with segment pointers. kAfter: the terms
 * have been added in memory, and where they fit that is it.
 *
 * Mapping   grid (ranges of columns, in clusters of blocks that share the events; rows of S). A block
 *           lists its events, opens them, a thread each, and deals them out to groups of kLanes lanes,
 *           which add the entries of one event after the other to a copy of the range's sums.
 * Layout    any; W's columns ascending in a row.
 * Bytes     per event 16 for each range and 8 for each entry, S or its bits once for each range; out once.
 * Order     a group's events ascending, in runs that are added to a total; then copies, then blocks: no
 *           atomics.
 * Limit     latency: a launch, the trips S, pointers and entries, the sum of copies. */
template <typename T, Source kSource, int kLanes, bool kAfter = false>
__global__ __launch_bounds__(kMaxThreads, 1) void event_segments(const __grid_constant__ SegmentArgs a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    const int threads = a.warps * kWarp, step = a.columns / 4;
    const Place p = {int(blockIdx.y), int(blockIdx.x) % a.cluster, int(blockIdx.x) / a.cluster,
                     int(threadIdx.x) / kWarp, int(threadIdx.x) % kWarp};
    float4 *const total = shared + a.copies * step;
    Segment *const segments = (Segment *)(total + (a.runs ? step : 0));
    int *const queue = (int *)(segments + threads);
    uint32_t *const words = (uint32_t *)(queue + kQueue);
    int *const totals = (int *)(words + kStretch);
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
        Opening next = open_segment<kSource>(a, p, queue, threadIdx.x, count, from);
        for (int c = 0; c < count; c += threads) {
            segments[threadIdx.x] = settle(a, p, next);
            __syncthreads();
            next = open_segment<kSource>(a, p, queue, c + threads + threadIdx.x, count, from);
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
            add_segments<kLanes>(a, p, sums, segments, live);
            run += more;
            __syncthreads();
        }
    };

    if (!kAfter && (kSource == kBits || kSource == kLists)) clear();
    if (kAfter || !a.late) dependency_wait();
    if (a.early) dependents_launch();
    if (kAfter && write_sums(a, p)) return;
    if (kAfter) clear();
    if (kSource == kRows) {
        const int64_t begin = a.rows.ptr[p.i], all = a.rows.ptr[p.i + 1] - begin;
        clear();
        const int shift = __ffs(a.cluster) - 1;
        const int64_t end = begin + (all * (p.rank + 1) >> shift);
        int64_t next = begin + (all * p.rank >> shift);
        while (next < end) {
            const int count = int(min<int64_t>(kQueue, end - next));
#pragma unroll 4
            for (int e = threadIdx.x; e < count; e += threads) queue[e] = a.rows.idx[next + e];
            __syncthreads();
            consume(count, next);
            next += count;
        }
    } else {
        int listed[kWordsAtOnce] = {};
        int given = (int)ceil_div(a.p.k, 32);
        if (kSource == kLists) { /* the list itself is on its way with its length */
            load_listed(a, p, threadIdx.x, listed);
            given = (int)min<int64_t>(load_if(true, a.lists.count + p.i, 0), a.lists.ld);
        }
        const int all = words_here(a, p, given), stretch = kSource == kDense ? kStretch : all;
        int held = 0, buffer = 0;
        for (int begin = 0; begin < all; begin += stretch) {
            const int count = min(stretch, all - begin);
            if (kSource == kDense) {
                scan_stretch<T>(a, p, words, begin, count, clear);
                clear();
                __syncthreads();
            }
            for (int t0 = 0; t0 < count; t0 += kWordsAtOnce * threads) {
                uint32_t word[kWordsAtOnce];
                int mine = 0;
#pragma unroll
                for (int u = 0; u < kWordsAtOnce; u++) {
                    const int t = t0 + u * threads + (int)threadIdx.x;
                    if (kSource == kLists) {
                        listed[u] = (int)((unsigned)listed[u] - (unsigned)a.lists.first);
                        word[u] = word_of(a, p, t) < given && (unsigned)listed[u] < (unsigned)a.p.k;
                    } else {
                        word[u] = t >= count          ? 0
                                  : kSource == kDense ? words[t]
                                                      : event_word(a.bits, p.i, word_of(a, p, t), a.p.k);
                    }
                    mine += __popc(word[u]);
                }
                const Rank rank = rank_in_block(p, totals + kMaxWarps * buffer, a.warps, mine);
                buffer ^= 1;
                for (int taken = 0; taken < rank.all;) {
                    const int room = min(rank.all - taken, kQueue - held);
                    int at = rank.before - taken;
                    if (at < room && at + mine > 0)
#pragma unroll
                        for (int u = 0; u < kWordsAtOnce; u++) {
                            const int k =
                                kSource == kLists
                                    ? listed[u]
                                    : word_of(a, p, begin + t0 + u * threads + (int)threadIdx.x) * 32;
                            for (uint32_t left = word[u]; left; left &= left - 1, at++)
                                if ((unsigned)at < (unsigned)room)
                                    queue[held + at] = k + __ffs((int)left) - 1;
                        }
                    taken += room, held += room;
                    if (held < kQueue) break;
                    __syncthreads();
                    consume(held, 0);
                    held = 0;
                }
                if (kSource == kLists && t0 + kWordsAtOnce * threads < count)
                    load_listed(a, p, t0 + kWordsAtOnce * threads + threadIdx.x, listed);
            }
            if (kSource == kDense && begin + stretch < all)
                __syncthreads(); /* before words are written again */
        }
        clear();
        __syncthreads();
        if (held) consume(held, 0);
    }

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
    if (!kAfter && a.late) dependency_wait(); /* who waits for this kernel waits for the one before */
    if (a.cluster == 1) return;
    cluster_sync(a.cluster);
    const bool fours = stores_fours(a.p, alpha, beta);
    const auto store = [&](int at, float4 x) {
        const float sum[4] = {x.x, x.y, x.z, x.w};
        float bias[4];
        const int j = p.range * a.columns + at;
        if (j >= a.p.n) return;
        read_biases<4>(bias, a.p, j);
        if (a.p.epilogue.any && a.p.epilogue.of_rows)
            bias[0] = bias[1] = bias[2] = bias[3] = bias_at(a.p.epilogue, p.i, 0);
        store_four<false>(a.p, p.i, j, sum, bias, fours, alpha, beta);
    };
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
        store(4 * t, x);
    }
    cluster_arrive_relaxed(a.cluster); /* no block ends while others read its sums, and ours have been read */
    cluster_wait(a.cluster);
}

/* Preparation ---------------------------------------------------------------------------------------------
 */

constexpr int kBitThreads = 256;
constexpr int kBitWarps = kBitThreads / kWarp;

struct BitArgs {
    const void *s;
    int64_t rs, cs;
    int k, words;
    uint32_t *bits;
};

/* The bits of S, and zeros up to the end of each row's last sector: a warp eight words, all loads in flight.
 */
template <typename T>
__global__ __launch_bounds__(kBitThreads) void event_bits(const __grid_constant__ BitArgs a)
{
    dependents_launch();
    const int lane = threadIdx.x % kWarp, unit = int(blockIdx.x) * kBitWarps + threadIdx.x / kWarp;
    if (unit * kUnitWords >= a.words) return;
    const T *row = (const T *)a.s + blockIdx.y * a.rs;
    T x[kUnitWords];
#pragma unroll
    for (int u = 0; u < kUnitWords; u++) {
        const int64_t k = ((int64_t)unit * kUnitWords + u) * 32 + lane;
        x[u] = k < a.k ? row[k * a.cs] : T(0);
    }
    uint32_t mine = 0;
#pragma unroll
    for (int u = 0; u < kUnitWords; u++) {
        const unsigned word = __ballot_sync(kFull, x[u] != T(0));
        if (lane == u) mine = word;
    }
    if (lane < kUnitWords) a.bits[(int64_t)blockIdx.y * a.words + unit * kUnitWords + lane] = mine;
}

struct PointerArgs {
    int64_t k;
    int ranges, width;
    lac_cuda_csr_t w;
    uint16_t *first;
};

/* first[k][r]: the entries of row k before column r * width, up to kFar. */
__global__ __launch_bounds__(kBitThreads) void segment_pointers(const __grid_constant__ PointerArgs a)
{
    const int64_t per_row = a.ranges + 1, all = a.k * per_row, step = (int64_t)gridDim.x * kBitThreads;
    for (int64_t t = (int64_t)blockIdx.x * kBitThreads + threadIdx.x; t < all; t += step) {
        const int64_t before = entries_before(a.w, t / per_row, 0, t % per_row * a.width);
        a.first[t] = (uint16_t)min((int64_t)kFar, before);
    }
}

int words_of(int64_t k)
{
    return (int)round_up(ceil_div(k, 32), kUnitWords);
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
    return kFixed + sizeof(float) * (size_t)(columns * (copies + (runs ? 1 : 0)));
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

/* Blocks that run at once in clusters of four, where one finds room on a multiprocessor: 120 of 132. */
int64_t clustered_blocks(const Device &device)
{
    return (int64_t)device.sms * 10 / 11;
}

/* Copies that find room whatever the width, and totals of runs. */
int copies_of_any_width(const Device &device)
{
    int copies = kMaxWarps;
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
    const bool little = w.k <= kScanMax && w.events <= kFewEvents;
    c.warps = w.cut.warps ? w.cut.warps : blocks > sms || little ? 8 : kMaxWarps;
    c.span = w.cut.span ? (int)min<int64_t>(w.cut.span, w.ranges) : 1;
    c.cluster = w.cut.cluster && device.hopper ? w.cut.cluster : 1;
    set_lanes(c);
    if (!w.cut.warps && c.warps == 8 && (!fit_copies(w, half, c) || c.copies < c.warps)) c.warps = kMaxWarps;
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
    while (!chosen && device.hopper && c.warps == kMaxWarps && c.lanes < kWarp && c.cluster < kWideCluster) {
        Cut wide = c;
        wide.span *= 2, wide.cluster *= 2;
        set_lanes(wide);
        const bool enough = w.events >= (double)kEventsEach * (c.warps * kWarp / c.lanes) * c.cluster;
        const bool at_once = w.m * ceil_div(w.ranges, wide.span) * wide.cluster <= clustered_blocks(device);
        if (!enough || !at_once || !fit_copies(w, whole, wide) || wide.turns) break;
        c = wide;
    }
    /* Few: blocks share the events, where there are enough for them to find something to do. */
    const int64_t grid = w.m * ceil_div(w.ranges, c.span);
    if (!w.cut.cluster && device.hopper && c.warps == kMaxWarps)
        while (c.cluster < kMaxCluster && 2 * grid * c.cluster <= clustered_blocks(device) &&
               fit_copies(w, whole, c) &&
               (w.events >= 8.0 * c.copies * c.cluster || w.k >= (int64_t)65536 * c.cluster))
            c.cluster *= 2;
    if (!fit_copies(w, c.warps == 8 ? half : whole, c) && !fit_copies(w, whole, c)) c.copies = 0;
    return c;
}

constexpr int kAfterLanes = 8;

/* Whether the terms are added in memory first: where warps would have to share copies of the sums, and take
 * turns, this is 1.1 to 2 times as fast (H200, 2026-11-26). */
bool adds_terms(const lac_cuda_segments_cut_t &wanted, const Cut &c)
{
    const bool chosen = wanted.warps || wanted.lanes || wanted.span || wanted.copies || wanted.cluster;
    return wanted.terms ? wanted.terms > 0 : !chosen && c.turns > 1;
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

extern "C" int64_t lac_cuda_segments_width(int64_t k, int64_t n, int64_t nnz)
{
    using namespace lacuna;
    if (!fits(k) || !fits(n) || k == 0 || n == 0) return 0;
    const Device device = current_device();
    const int64_t columns =
        (device.shared - (int64_t)kFixed) / (2 * (int64_t)sizeof(float)) / kGrain * kGrain;
    const int64_t width_max = min<int64_t>(kMaxWidth, columns);
    const int64_t by_width = ceil_div(n, kMinWidth), by_entries = max<int64_t>(1, nnz / k / kMinEntries);
    const int64_t ranges =
        max(min<int64_t>(clustered_blocks(device), min(by_width, by_entries)), ceil_div(n, width_max));
    const int64_t width = min(width_max, round_up(ceil_div(n, ranges), kGrain));
    const int64_t bytes = lac_cuda_segments_bytes(k, n, width);
    return bytes <= nnz + (2 << 20) ? width : 0; /* an eighth of W and a little */
}

extern "C" int64_t lac_cuda_segments_bytes(int64_t k, int64_t n, int64_t width)
{
    using namespace lacuna;
    return round_up((int64_t)sizeof(uint16_t) * k * (ceil_div(n, width) + 1), (int64_t)sizeof(uint32_t));
}

extern "C" lac_status_t lac_cuda_segment_pointers(int64_t k, int64_t n, int64_t width,
                                                  const lac_cuda_csr_t *w, uint16_t *first,
                                                  lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(k) || !fits(n)) return LAC_ERR_EXTENT;
    if (k == 0 || n == 0) return LAC_OK;
    const int ranges = (int)ceil_div(n, width);
    const PointerArgs a = {k, ranges, (int)width, *w, first};
    return launch(segment_pointers, grid_stride(ceil_div(k * (ranges + 1), kBitThreads), kBitThreads, stream),
                  a);
}

extern "C" int64_t lac_cuda_event_segments_bytes(int64_t m, int64_t n, int64_t k)
{
    using namespace lacuna;
    return (int64_t)sizeof(uint32_t) * m * words_of(k) + (m <= kTermRows ? term_sums_bytes(m, n) : 0);
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
    Cut c = cut_of(wanted, device);
    const bool terms = !s->list && p->m <= kTermRows && adds_terms(wanted.cut, c);
    if (terms) {
        wanted.cut.lanes = kAfterLanes;
        c = cut_of(wanted, device);
    }
    const int64_t grid = ceil_div(wanted.ranges, c.span) * c.cluster;
    if (c.copies == 0 || grid > INT32_MAX) return LAC_ERR_EXTENT;
    const bool prepares =
        dense && !s->list && p->k > 0 && !terms && (wanted.cut.bits ? wanted.cut.bits > 0 : p->k > kScanMax);

    SegmentArgs a = {};
    a.p = make_gemm_args(p);
    a.columns = (int)segments->width * c.span, a.ranges = (int)wanted.ranges, a.span = c.span;
    a.warps = c.warps, a.cluster = c.cluster, a.copies = c.copies, a.turns = c.turns, a.runs = c.runs;
    a.early = wanted.cut.chain & LAC_CUDA_CHAIN_EARLY;
    a.late = (wanted.cut.chain & LAC_CUDA_CHAIN_LATE) && !prepares;
    a.w = *w, a.first = segments->first, a.list = s->list;
    if (dense) {
        a.s = dense->data, a.srs = dense->rs, a.scs = dense->cs;
        a.values = bytes ? nullptr : (const float *)dense->data;
    }
    if (s->rows) a.rows = *s->rows;
    if (s->lists) a.lists = *s->lists;
    a.bits =
        s->bits ? *s->bits : lac_cuda_event_bits_t{(const uint32_t *)workspace, words_of(p->k), 0, known};
    const Launch l = {dim3(unsigned(grid), unsigned(p->m)),
                      dim3(unsigned(c.warps * kWarp)),
                      c.shared,
                      c.cluster,
                      true,
                      (cudaStream_t)stream};
    if (terms) {
        TermArgs t = {};
        const Source source = s->lists ? kLists : s->bits ? kBits : dense ? kDense : kRows;
        t.k = (int)p->k, t.n = (int)p->n, t.late = a.late && !dense;
        t.s = a.s, t.values = a.values, t.srs = a.srs, t.scs = a.scs;
        t.bits = a.bits, t.rows = a.rows, t.lists = a.lists, t.w = *w;
        t.made = (uint32_t *)workspace, t.made_words = words_of(p->k);
        t.sums.sum = (unsigned long long *)(t.made + p->m * t.made_words);
        t.sums.range = (int64_t *)(t.sums.sum + p->m * term_sums_ld(p->n));
        const lac_status_t status =
            queue_terms(&t, source, bytes, (int)p->m, events, wanted.entries, l.stream);
        if (status != LAC_OK) return status;
        a.terms = t.sums;
        if (s->lists) return launch(event_segments<float, kLists, kAfterLanes, true>, l, a);
        if (dense || s->bits) return launch(event_segments<float, kBits, kAfterLanes, true>, l, a);
        return launch(event_segments<float, kRows, kAfterLanes, true>, l, a);
    }
    if (s->lists) return launch_lanes<float, kLists>(c.lanes, l, a);
    if (s->bits) return launch_lanes<float, kBits>(c.lanes, l, a);
    if (!dense) return launch_lanes<float, kRows>(c.lanes, l, a);
    if (!prepares)
        return bytes ? launch_lanes<uint8_t, kDense>(c.lanes, l, a)
                     : launch_lanes<float, kDense>(c.lanes, l, a);
    const BitArgs b = {dense->data, dense->rs, dense->cs, (int)p->k, words_of(p->k), (uint32_t *)workspace};
    const Launch first = {dim3(unsigned(ceil_div(b.words, kBitWarps * kUnitWords)), unsigned(p->m)),
                          dim3(kBitThreads),
                          0,
                          1,
                          false,
                          (cudaStream_t)stream};
    const lac_status_t status =
        bytes ? launch(event_bits<uint8_t>, first, b) : launch(event_bits<float>, first, b);
    return status != LAC_OK ? status : launch_lanes<float, kBits>(c.lanes, l, a);
}
