/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W by segments: W's columns are cut into ranges, and the pattern's segment pointers
 * say where each row's entries of a range begin. Made once, they let many blocks share a row of W. */
#include "gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kUnit = 32;         /* neighbouring k that one warp scans: a burst of events is dealt out */
constexpr int kUnitWords = 8;     /* the same of bits: a sector                                        */
constexpr int kUnitsAtOnce = 32;  /* of S in flight: an element of each is a bit of a lane's word  */
constexpr int kWordsAtOnce = 4;   /* times 32, the same of bits                                       */
constexpr int kRoom = 256;        /* events of a warp's queue                                          */
constexpr int kWindows = 8;       /* times 32 entries of W in flight                                   */
constexpr int kMaxSplit = kWarps; /* warps that share a copy of the sums                               */
constexpr int kMaxCluster = 8;    /* blocks that share the events of a range                           */
constexpr int kGrain = 32;        /* columns: a range is a multiple, so that all its parts are of 16 bytes */
constexpr int kMinScan = 512;     /* elements of S per warp, or                                        */
constexpr int kMinEvents = 4;     /* events, below which more blocks for a range are waste             */
constexpr int kResident = 2;      /* blocks of a multiprocessor: 124 registers a thread */
constexpr int kAligned = 12;      /* entries of a mean segment from which each begins a window of its own */
constexpr int64_t kScanBytes = 8 << 20; /* that all ranges together may scan of a dense S               */
static_assert(kRoom >= 128 && kRoom >= kUnitWords * 32,
              "a full scan of 128 elements, or of some words, fits");
static_assert(kGrain % (4 * kMaxSplit) == 0 && kGrain % (4 * kMaxCluster) == 0, "parts are of 16 bytes");

/* Of W's columns. */
constexpr int kMinWidth = 512; /* a range's, */
constexpr int kMaxWidth =
    14336;                     /* with two ranges of sums and kFixed bytes in the shared memory of a block */
constexpr int kRanges = 32;    /* of a W that is neither short nor wide                */
constexpr int kMinEntries = 4; /* of a mean segment                                    */

/* The entries of one event in the range: the one at position p < end of the warp's lies at base + p. */
struct alignas(16) Segment {
    int64_t base;
    int end;
    float v;
};

constexpr size_t kFixed =
    kWarps * (kRoom * sizeof(Event) + kWarp * sizeof(Segment) + sizeof(int)); /* beside the sums */

/* A list of the events of S, made by a cluster for each of its rows. */
constexpr int kListThreads = 1024;
constexpr int kListWarps = kListThreads / kWarp;
constexpr int kListTrip = 32 * kWarp; /* elements of S that a warp has in flight */
constexpr int kListRows = 8; /* of S, from which a list is made and not bits: 10 x 40000 take 49 us and 54,
                                but 4 x 100000 30 and 28, 1 x 400000 35 and 31 (H200, 2026-11-23) */
constexpr int64_t kListMax = (int64_t)16 << 20; /* elements of S: its list has room for all of them */
constexpr int64_t kListElements = (int64_t)1
                                  << 20; /* of a row, that a block keeps as bits in shared memory */
constexpr size_t kListFixed = sizeof(float4) + kListWarps * sizeof(int);

/* Where a kernel finds the events of S. */
enum Source { kDense, kBits, kList, kRows };

struct SegmentArgs {
    GemmArgs p; /* but for W */
    int width, split, cluster, pad, ranges;
    bool runs;           /* a copy of the sums may get more events than are added up straight */
    const void *s;       /* dense */
    const float *values; /* of its events; NULL: ones */
    int64_t srs, scs;
    bool quads;
    const int32_t *list;
    const uint32_t *bits;  /* [m][words] */
    int words;             /* of a row, a multiple of kUnitWords */
    const int32_t *events; /* [m][k] a row's events, ascending, counts[row] of them */
    const int32_t *counts;
    lac_cuda_csr_t rows, w;
    const uint32_t *first; /* [k][ranges + 1] */
};

/* Scanning S: the events of one of `warps` warps -------------------------------------------------------- */

/* Which warp of all that scan a row this is. */
struct Share {
    int warp, warps, lane;

    /* The place of the t-th of this warp's units. */
    __device__ int64_t unit(int64_t t) const { return t * warps + warp; }
    __device__ int units(int64_t all) const { return int(all > warp ? ceil_div(all - warp, warps) : 0); }
};

/* Queues an event of column k_of(b) for each bit b of the lanes' words, lane by lane, as long as whole words
 * find room; returns how many lanes' did. count: of the queue, before and after. Values come later. */
template <typename KOf>
__device__ inline int queue_words(Event *queue, int &count, uint32_t word, int lane, KOf k_of)
{
    const int mine = __popc(word), behind = count + inclusive_sum(mine, lane);
    const int taken = __popc(__ballot_sync(kFull, behind <= kRoom));
    int at = behind - mine;
    if (lane < taken)
        for (uint32_t left = word; left; left &= left - 1) queue[at++] = {k_of(__ffs((int)left) - 1), 1.0f};
    if (taken > 0) count = __shfl_sync(kFull, behind, taken - 1);
    return taken;
}

/* Queues events of this warp's units from `next` on until the queue could overflow; returns how many they
 * are. A lane takes its elements of 32 units at once, as one word, and `next` counts words. meanwhile(): done
 * while they are on their way. */
template <typename T, typename Meanwhile>
__device__ inline int queue_dense(Event *queue, const SegmentArgs &a, int i, const Share &share,
                                  int64_t &next, int64_t end, Meanwhile meanwhile)
{
    const ScanRow<T> row = {(const T *)a.s + i * a.srs, a.scs, a.quads};
    const int lane = share.lane;
    int count = 0;
    while (next < end) {
        const int64_t t = next / kWarp * kUnitsAtOnce; /* the first of them */
        const int done = int(next % kWarp);
        T x[kUnitsAtOnce / 4][4];
        uint32_t word = 0;
        if (row.quads)
#pragma unroll
            for (int u = 0; u < kUnitsAtOnce / 4; u++) {
                const int64_t at = share.unit(t + 4 * u + lane / 8) * kUnit + 4 * (lane % 8);
                x[u][0] = x[u][1] = x[u][2] = x[u][3] = T(0);
                if (at < a.p.k) load_quad(x[u], row.p + at);
            }
        else
#pragma unroll
            for (int b = 0; b < kUnitsAtOnce; b++) {
                const int64_t at = share.unit(t + b) * kUnit + lane;
                x[b / 4][b % 4] = at < a.p.k ? row.p[at * row.stride] : T(0);
            }
        meanwhile();
#pragma unroll
        for (int b = 0; b < kUnitsAtOnce; b++) word |= uint32_t(x[b / 4][b % 4] != T(0)) << b;
        const int taken = queue_words(queue, count, lane < done ? 0 : word, lane, [&](int b) {
            return row.quads ? int(share.unit(t + b / 4 * 4 + lane / 8) * kUnit + 4 * (lane % 8) + b % 4)
                             : int(share.unit(t + b) * kUnit + lane);
        });
        next += taken - done;
        if (taken < kWarp) break;
    }
    return count;
}

/* The same from bits. */
__device__ inline int queue_bits(Event *queue, const SegmentArgs &a, int i, const Share &share, int64_t &next,
                                 int64_t end)
{
    const uint32_t *bits = a.bits + (int64_t)i * a.words;
    const auto place = [&](int64_t t) { return share.unit(t / kUnitWords) * kUnitWords + t % kUnitWords; };
    int count = 0;
    while (next < end) {
        uint32_t word[kWordsAtOnce];
#pragma unroll
        for (int u = 0; u < kWordsAtOnce; u++) {
            const int64_t t = next + kWarp * u + share.lane;
            word[u] = t < end ? bits[place(t)] : 0;
        }
#pragma unroll
        for (int u = 0; u < kWordsAtOnce; u++) {
            const int k0 = int(place(next + share.lane) * 32);
            const int taken = queue_words(queue, count, word[u], share.lane, [k0](int b) { return k0 + b; });
            next += taken;
            if (taken < kWarp) return count;
        }
    }
    return count;
}

/* The same from a list of a row's events. */
__device__ inline int queue_list(Event *queue, const SegmentArgs &a, int64_t &next, int64_t end, int lane)
{
    const int count = int(min<int64_t>(kRoom, end - next));
#pragma unroll 4
    for (int e = lane; e < count; e += kWarp) queue[e] = {a.events[next + e], 1.0f};
    next += count;
    return count;
}

/* The same from the events of a row of CSR. */
__device__ inline int queue_rows(Event *queue, const SegmentArgs &a, int64_t &next, int64_t end, int lane)
{
    const int count = int(min<int64_t>(kRoom, end - next));
#pragma unroll 4
    for (int e = lane; e < count; e += kWarp)
        queue[e] = {a.rows.idx[next + e], a.rows.val ? a.rows.val[next + e] : 1.0f};
    next += count;
    return count;
}

/* Adding up -----------------------------------------------------------------------------------------------
 */

/* A lane's event, found in W. */
struct Opened {
    int64_t begin;
    int count;
    float v;
};

template <Source kSource>
__device__ inline Opened open_segment(const SegmentArgs &a, int i, int range, const Event *queue, int e,
                                      int count)
{
    if (e >= count) return {0, 0, 0.0f};
    const Event event = queue[e];
    float v = event.v;
    int k = event.k;
    if (kSource != kRows && a.values) v = a.values[i * a.srs + k * a.scs];
    if (kSource == kDense && a.list) k = a.list[k];
    const uint32_t *first = a.first + (int64_t)k * (a.ranges + 1) + range;
    const uint32_t begin = first[0], end = first[1];
    return {a.w.ptr[k] + begin, int(end - begin), v};
}

/* Which columns a warp adds up. */
struct Sums {
    float *of; /* its part of its copy */
    int j0, columns;
};

/* The lanes below this one that have the same j: so many turns come before its own. */
__device__ inline int turn_of(int j, int lane)
{
    return __popc(__match_any_sync(kFull, j < 0 ? -1 - lane : j) & lanes_below(lane));
}

/* sums[j] += v x in the lanes whose j >= 0. Lanes with the same j, which belong to different events, come one
 * after the other, as their events do. */
__device__ inline void add_window(float *sums, int j, float v, float x, int turn)
{
    for (int now = 0;; now++) {
        if (j >= 0 && turn == now) sums[j] = fmaf(v, x, sums[j]);
        __syncwarp();
        if (!__any_sync(kFull, turn > now)) break;
    }
}

/* Adds the entries of up to 32 segments, one of each lane, in windows of 32 entries. Segments lie end to end,
 * or, with a pad of 32, each begins a window: then no window has entries of two. */
__device__ inline void add_segments(const SegmentArgs &a, const Sums &sums, Segment *segments,
                                    const Opened &mine, int lane)
{
    const int taken = (mine.count + a.pad - 1) & -a.pad, behind = inclusive_sum(taken, lane);
    const int begin = behind - taken, total = __shfl_sync(kFull, behind, kWarp - 1);
    const unsigned some = __ballot_sync(kFull, mine.count > 0);
    if (mine.count > 0)
        segments[__popc(some & lanes_below(lane))] = {mine.begin - begin, begin + mine.count, mine.v};
    __syncwarp();
    const float *values = a.w.val ? a.w.val : (const float *)a.w.idx; /* for ones, what is read anyhow */
    const unsigned up_to_mine = lanes_below(lane) | 1u << lane;
    int before = -1; /* the last segment that begins before the window */
#pragma unroll 1
    for (int base = 0; base < total; base += kWindows * kWarp) {
        int of[kWindows], column[kWindows];
        float v[kWindows], x[kWindows];
        /* No branches, so that all loads are under way before the first is waited for: what comes after the
         * last entry reads it again. */
#pragma unroll
        for (int u = 0; u < kWindows; u++) {
            const unsigned from = unsigned(begin - (base + kWarp * u));
            const unsigned begins =
                __reduce_add_sync(kFull, mine.count > 0 && from < (unsigned)kWarp ? 1u << from : 0u);
            of[u] = before + __popc(begins & up_to_mine);
            before += __popc(begins);
        }
        unsigned live = 0;
#pragma unroll
        for (int u = 0; u < kWindows; u++) {
            const Segment s = segments[of[u]];
            const int position = base + kWarp * u + lane;
            const int64_t at = s.base + min(position, s.end - 1);
            column[u] = __ldg(a.w.idx + at);
            x[u] = __ldg(values + at);
            v[u] = s.v;
            live |= unsigned(position < s.end) << u;
        }
#pragma unroll
        for (int u = 0; u < kWindows; u++) {
            const int j = column[u] - sums.j0;
            column[u] = live >> u & 1 && (unsigned)j < (unsigned)sums.columns ? j : -1;
            of[u] = 0;
        }
        if (a.pad == 1)
#pragma unroll
            for (int u = 0; u < kWindows; u++) of[u] = turn_of(column[u], lane);
#pragma unroll
        for (int u = 0; u < kWindows; u++) {
            if (base + kWarp * u >= total) break;
            add_window(sums.of, column[u], v[u], a.w.val ? x[u] : 1.0f, of[u]);
        }
    }
    __syncwarp();
}

/* Adds the queued events; the segments of the next 32 are found while these are added. */
template <Source kSource>
__device__ inline void add_queue(const SegmentArgs &a, int i, int range, const Sums &sums, Segment *segments,
                                 const Event *queue, int count, int lane)
{
    Opened next = open_segment<kSource>(a, i, range, queue, lane, count);
    for (int e = 0; e < count; e += kWarp) {
        const Opened now = next;
        next = open_segment<kSource>(a, i, range, queue, e + kWarp + lane, count);
        add_segments(a, sums, segments, now, lane);
    }
}

__device__ inline float4 added(float4 x, float4 y)
{
    return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

/* The copies' sums of the four columns at t, the total before them where there is one. */
__device__ inline float4 add_copies(const float4 *copies, const float4 *total, int count, int step, int t)
{
    float4 x = copies[t];
#pragma unroll 4
    for (int c = 1; c < count; c++) x = added(x, copies[c * step + t]);
    return total ? added(total[t], x) : x;
}

/* out := beta out + alpha S W, S[m, k] by events, W[k, n] as CSR with segment pointers.
 *
 * Mapping   grid (ranges of columns, in clusters of blocks that share the events; rows of S). Warps scan S,
 *           32 neighbouring k each, and queue its events; `split` warps share a copy of the range's sums, and
 *           each adds to its part of the columns the entries of the events that these warps found, 32 at a
 *           time.
 * Layout    any; W's columns ascending in a row.
 * Bytes     per event 16 for each range and 8 for each entry, S once for each range; out once.
 * Order     a warp's events ascending, in runs that are added to a total; then copies, then blocks: no
 *           atomics.
 * Limit     latency: a launch, the three trips S, pointers, entries, and two barriers of the cluster. */
template <typename T, Source kSource>
__global__ __launch_bounds__(kThreads, kResident) void event_segments(const __grid_constant__ SegmentArgs a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, i = blockIdx.y;
    const int rank = int(blockIdx.x) % a.cluster, range = int(blockIdx.x) / a.cluster;
    const int copies = kWarps / a.split, step = a.width / 4, part = a.width / a.split;
    float4 *const total = shared + copies * step;
    Segment *const segments = (Segment *)(total + (a.runs ? step : 0)) + warp * kWarp;
    Event *const queues = (Event *)(segments + (kWarps - warp) * kWarp);
    int *const counts = (int *)(queues + kWarps * kRoom);
    const int first_warp = warp / a.split * a.split; /* of those that share a copy */
    const Sums sums = {(float *)shared + first_warp / a.split * a.width + (warp - first_warp) * part,
                       range * a.width + (warp - first_warp) * part, part};
    bool clean = false;
    const auto clear = [&] {
        if (clean) return;
#pragma unroll 4
        for (int t = lane; t < part / 4; t += kWarp) ((float4 *)sums.of)[t] = make_float4(0, 0, 0, 0);
        clean = true;
    };
    if (kSource == kBits || kSource == kList) clear(), dependency_wait();

    const Share share = {rank * kWarps + warp, a.cluster * kWarps, lane};
    int64_t next = 0, end;
    if (kSource == kDense)
        end = ceil_div(share.units(ceil_div(a.p.k, kUnit)), kUnitsAtOnce) * kWarp;
    else if (kSource == kBits)
        end = (int64_t)share.units(a.words / kUnitWords) * kUnitWords;
    else if (kSource == kList) {
        const int64_t begin = (int64_t)i * a.p.k, all = a.counts[i];
        next = begin + all * share.warp / share.warps;
        end = begin + all * (share.warp + 1) / share.warps;
    } else {
        const int64_t begin = a.rows.ptr[i], all = a.rows.ptr[i + 1] - begin;
        next = begin + all * share.warp / share.warps;
        end = begin + all * (share.warp + 1) / share.warps;
    }
    int run = 0; /* events of a copy since its sums were 0, at most */
    bool settled = false;
    for (bool more = true; more;) {
        Event *const queue = queues + warp * kRoom;
        const int count = kSource == kDense  ? queue_dense<T>(queue, a, i, share, next, end, clear)
                          : kSource == kBits ? queue_bits(queue, a, i, share, next, end)
                          : kSource == kList ? queue_list(queue, a, next, end, lane)
                                             : queue_rows(queue, a, next, end, lane);
        if (lane == 0) counts[warp] = count;
        clear();
        more = __syncthreads_or(next < end);
        for (int u = 0; u < a.split; u++) {
            int longest = 0;
            for (int w = u; w < kWarps; w += a.split) longest = max(longest, counts[w]);
            if (a.runs && run > 0 && run + longest > kLongestRun) { /* all threads of the block */
                __syncthreads();
#pragma unroll 1
                for (int t = threadIdx.x; t < step; t += kThreads) {
                    total[t] = add_copies(shared, settled ? total : nullptr, copies, step, t);
#pragma unroll 1
                    for (int c = 0; c < copies; c++) shared[c * step + t] = make_float4(0, 0, 0, 0);
                }
                __syncthreads();
                settled = true, run = 0;
            }
            add_queue<kSource>(a, i, range, sums, segments, queues + (first_warp + u) * kRoom,
                               counts[first_warp + u], lane);
            run += longest;
        }
        if (more) __syncthreads();
    }
    __syncthreads();

    const float alpha = load_scalar(a.p.alpha), beta = load_scalar(a.p.beta);
    const bool fours = stores_fours(a.p, alpha, beta);
    const auto store = [&](int at, float4 x) {
        const float sum[4] = {x.x, x.y, x.z, x.w};
        float bias[4];
        const int j = range * a.width + at;
        if (j >= a.p.n) return;
        read_biases<4>(bias, a.p, j);
        if (a.p.epilogue.any && a.p.epilogue.of_rows)
            bias[0] = bias[1] = bias[2] = bias[3] = bias_at(a.p.epilogue, i, 0);
        store_four<false>(a.p, i, j, sum, bias, fours, alpha, beta);
    };
    for (int t = threadIdx.x; t < step; t += kThreads) {
        const float4 x = add_copies(shared, settled ? total : nullptr, copies, step, t);
        if (a.cluster == 1)
            store(4 * t, x);
        else
            shared[t] = x;
    }
    if (a.cluster == 1) return;
    cluster_sync(a.cluster);
    const int owned = step / a.cluster;
    for (int t = rank * owned + threadIdx.x; t < (rank + 1) * owned; t += kThreads) {
        float4 x = cluster_load4(cluster_address(shared + t, 0, a.cluster));
#pragma unroll 4
        for (int r = 1; r < a.cluster; r++)
            x = added(x, cluster_load4(cluster_address(shared + t, r, a.cluster)));
        store(4 * t, x);
    }
    cluster_sync(a.cluster); /* no block ends while others read its sums */
}

/* Preparation ---------------------------------------------------------------------------------------------
 */

struct BitArgs {
    const void *s;
    int64_t rs, cs;
    int k, words;
    uint32_t *bits;
};

/* The bits of S, and zeros up to the end of each row's last sector: a warp eight words, all loads in flight.
 */
template <typename T>
__global__ __launch_bounds__(kThreads) void event_bits(const __grid_constant__ BitArgs a)
{
    dependents_launch();
    const int lane = threadIdx.x % kWarp, unit = int(blockIdx.x) * kWarps + threadIdx.x / kWarp;
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

struct ListArgs {
    const void *s;
    int64_t rs, cs;
    int k, chunk; /* elements of a row; of them that a block takes, a multiple of kListWarps * kListTrip */
    int cluster;
    int32_t *events, *counts;
};

/* The events of S, ascending, row by row.
 *
 * Mapping   a cluster for each row, its blocks and their warps with a stretch of k each: all elements of a
 * trip in flight, kept as bits; warps, then blocks, learn how many events come before theirs. Bytes     S
 * once, 4 per event. Limit: latency of a trip, two barriers of the cluster. */
template <typename T>
__global__ __launch_bounds__(kListThreads) void event_list(const __grid_constant__ ListArgs a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    int *const totals = (int *)(shared + 1);
    uint32_t *const bits = (uint32_t *)(totals + kListWarps);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, i = blockIdx.y;
    const int rank = int(blockIdx.x), span = a.chunk / kListWarps;
    const int64_t begin = (int64_t)rank * a.chunk + (int64_t)warp * span;
    uint32_t *const mine = bits + warp * (span / 32);
    const T *row = (const T *)a.s + i * a.rs;
    dependents_launch();

    int count = 0;
    for (int t = 0; t < span; t += kListTrip) {
        const int64_t base = begin + t;
        T x[kWarp];
#pragma unroll
        for (int b = 0; b < kWarp; b++) {
            const int64_t k = base + 32 * b + lane;
            x[b] = k < a.k ? row[k * a.cs] : T(0);
        }
        uint32_t word = 0;
#pragma unroll
        for (int b = 0; b < kWarp; b++) {
            const unsigned found = __ballot_sync(kFull, x[b] != T(0));
            if (lane == b) word = found;
        }
        mine[t / 32 + lane] = word;
        count += __popc(word);
    }
    const int found = __shfl_sync(kFull, inclusive_sum(count, lane), kWarp - 1);
    if (lane == 0) totals[warp] = found;
    __syncthreads();
    const int behind = inclusive_sum(totals[lane], lane), block = __shfl_sync(kFull, behind, kWarp - 1);
    int before = warp ? __shfl_sync(kFull, behind, warp ? warp - 1 : 0) : 0;
    if (threadIdx.x == 0) shared[0] = make_float4(__int_as_float(block), 0, 0, 0);
    cluster_sync(a.cluster);
    for (int r = 0; r < rank; r++)
        before += __float_as_int(cluster_load4(cluster_address(shared, r, a.cluster)).x);
    int32_t *events = a.events + (int64_t)i * a.k;
    for (int t = 0; t < span; t += kListTrip) {
        uint32_t word = mine[t / 32 + lane];
        const int all = inclusive_sum(__popc(word), lane);
        for (int at = before + all - __popc(word); word; word &= word - 1)
            events[at++] = int(begin + t + 32 * lane + __ffs((int)word) - 1);
        before += __shfl_sync(kFull, all, kWarp - 1);
    }
    if (rank == a.cluster - 1 && warp == kListWarps - 1 && lane == 0) a.counts[i] = before;
    cluster_sync(a.cluster); /* no block ends while others read its count */
}

struct PointerArgs {
    int64_t k;
    int ranges, width;
    lac_cuda_csr_t w;
    uint32_t *first;
};

/* first[k][r]: the entries of row k before column r * width. */
__global__ __launch_bounds__(kThreads) void segment_pointers(const __grid_constant__ PointerArgs a)
{
    const int64_t per_row = a.ranges + 1, all = a.k * per_row, step = (int64_t)gridDim.x * kThreads;
    for (int64_t t = (int64_t)blockIdx.x * kThreads + threadIdx.x; t < all; t += step) {
        const int64_t row = t / per_row, column = t % per_row * a.width, begin = a.w.ptr[row];
        int64_t low = 0, high = a.w.ptr[row + 1] - begin;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (a.w.idx[begin + middle] < column)
                low = middle + 1;
            else
                high = middle;
        }
        a.first[t] = (uint32_t)low;
    }
}

int words_of(int64_t k)
{
    return (int)round_up(ceil_div(k, 32), kUnitWords);
}

/* How S is listed: 0 blocks where it is not. */
struct ListCut {
    int cluster, chunk;
};

ListCut list_cut(int64_t m, int64_t k, const Device &device)
{
    if (m * k > kListMax) return {0, 0};
    int cluster = 1;
    while (device.hopper && cluster < kMaxCluster && k > (int64_t)cluster * kListWarps * kListTrip)
        cluster *= 2;
    const int64_t chunk = round_up(ceil_div(k, cluster), kListWarps * kListTrip);
    return chunk <= kListElements ? ListCut{cluster, (int)chunk} : ListCut{0, 0};
}

size_t list_bytes(int64_t m, int64_t k)
{
    return sizeof(int32_t) * (size_t)(m * k + m);
}

size_t shared_bytes(int64_t width, int split, bool runs)
{
    return kFixed + sizeof(float) * (size_t)(width * (kWarps / split + (runs ? 1 : 0)));
}

/* Whether a copy may get more events than a run has, where so many blocks share k. */
bool has_runs(int64_t k, int cluster, int split)
{
    return round_up(ceil_div(k, (int64_t)cluster * kWarps), kUnitWords * 32) * split > kLongestRun;
}

/* Warps that share a copy: few, while two blocks fit on a multiprocessor, or else one. 0: none does. */
int split_of(int64_t width, bool runs, const Device &device)
{
    for (int blocks = 2; blocks > 0; blocks--)
        for (int split = 1; split <= kMaxSplit; split *= 2)
            if (shared_bytes(width, split, runs) <= size_t(device.shared / blocks - 1024 * (blocks - 1)))
                return split;
    return 0;
}

/* Blocks that share the events of a range: as many as find room at once, and find something to do. Where a
 * block has a multiprocessor to itself, not all of these are reached by clusters. */
int cluster_of(int64_t blocks, int64_t k, double events, size_t shared, const Device &device)
{
    if (!device.hopper) return 1;
    const int64_t room = 2 * shared + 1024 <= (size_t)device.shared ? 2 * device.sms : device.sms * 10 / 11;
    int cluster = kMaxCluster;
    while (cluster > 1 && (blocks * cluster > room || (k < (int64_t)kMinScan * kWarps * cluster &&
                                                       events < (double)kMinEvents * kWarps * cluster)))
        cluster /= 2;
    return cluster;
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
    const int64_t by_width = ceil_div(n, kMinWidth), by_entries = max<int64_t>(1, nnz / k / kMinEntries),
                  wanted = device.hopper ? kRanges : 4 * kRanges;
    const int64_t ranges = max(min(wanted, min(by_width, by_entries)), ceil_div(n, width_max));
    const int64_t width = min(width_max, round_up(ceil_div(n, ranges), kGrain));
    const int64_t bytes = lac_cuda_segments_bytes(k, n, width);
    return bytes <= 2 * nnz + (4 << 20) ? width : 0;
}

extern "C" int64_t lac_cuda_segments_bytes(int64_t k, int64_t n, int64_t width)
{
    using namespace lacuna;
    return (int64_t)sizeof(uint32_t) * k * (ceil_div(n, width) + 1);
}

extern "C" lac_status_t lac_cuda_segment_pointers(int64_t k, int64_t n, int64_t width,
                                                  const lac_cuda_csr_t *w, uint32_t *first,
                                                  lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(k) || !fits(n)) return LAC_ERR_EXTENT;
    if (k == 0 || n == 0) return LAC_OK;
    const int ranges = (int)ceil_div(n, width);
    const PointerArgs a = {k, ranges, (int)width, *w, first};
    return launch(segment_pointers, grid_stride(ceil_div(k * (ranges + 1), kThreads), kThreads, stream), a);
}

extern "C" int64_t lac_cuda_event_segments_bytes(int64_t m, int64_t k)
{
    using namespace lacuna;
    const int64_t bits = (int64_t)sizeof(uint32_t) * m * words_of(k);
    return list_cut(m, k, current_device()).cluster ? max(bits, (int64_t)list_bytes(m, k)) : bits;
}

extern "C" lac_status_t lac_cuda_event_segments(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                                const int32_t *list, const lac_cuda_csr_t *rows,
                                                const lac_cuda_csr_t *w, const lac_cuda_segments_t *segments,
                                                const lac_cuda_segments_cut_t *cut, void *workspace,
                                                lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(p->m) || !fits(p->n) || !fits(p->k) || p->m > 65535) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const Device device = current_device();
    const lac_cuda_segments_cut_t wanted = cut ? *cut : lac_cuda_segments_cut_t{0, 0, 0, 0};
    const int64_t width = segments->width, ranges = ceil_div(p->n, width);
    const bool dense = s && s->data, bytes = dense && s->dt == LAC_U8;
    const double events = rows && !dense ? (double)rows->nnz / (double)p->m
                          : dense        ? s->density * (double)p->k
                                         : 0;
    const int64_t scanned = ranges * p->m * p->k * (bytes ? 1 : 4) * (dense && s->cs != 1 ? 8 : 1);
    const bool prepares =
        dense && !list && p->k > 0 && (wanted.bits ? wanted.bits > 0 : scanned > kScanBytes);
    const bool lists = wanted.bits ? wanted.bits != 1 : p->m >= kListRows;
    const ListCut listing = prepares && lists ? list_cut(p->m, p->k, device) : ListCut{0, 0};
    const bool bits = prepares && !listing.cluster;

    /* How many blocks share a range decides on runs, these on shared memory, and that on the blocks. */
    bool runs = true;
    int split = 0, cluster = 0;
    for (int pass = 0; pass < 2; pass++) {
        split = wanted.split ? wanted.split : split_of(width, runs, device);
        if (split == 0) return LAC_ERR_EXTENT;
        if (pass == 0 || !wanted.cluster)
            cluster = wanted.cluster
                          ? (device.hopper ? wanted.cluster : 1)
                          : cluster_of(ranges * p->m, p->k, events, shared_bytes(width, split, runs), device);
        runs = has_runs(p->k, cluster, split);
    }
    const size_t shared = shared_bytes(width, split, runs);
    if (shared > (size_t)device.shared || ranges * cluster > INT32_MAX) return LAC_ERR_EXTENT;

    SegmentArgs a = {};
    a.p = make_gemm_args(p);
    a.width = (int)width, a.split = split, a.cluster = cluster, a.runs = runs;
    a.ranges = (int)ranges;
    a.pad = wanted.pad ? wanted.pad : w->nnz >= kAligned * segments->k * ranges ? kWarp : 1;
    a.w = *w, a.first = segments->first, a.list = list;
    if (dense) {
        a.s = s->data, a.srs = s->rs, a.scs = s->cs, a.quads = scans_quads(s, p->k);
        a.values = bytes ? nullptr : (const float *)s->data;
    }
    if (rows) a.rows = *rows;
    a.bits = (const uint32_t *)workspace, a.words = words_of(p->k);
    const Launch l = {dim3(unsigned(ranges * cluster), unsigned(p->m)),
                      dim3(kThreads),
                      shared,
                      cluster,
                      prepares,
                      (cudaStream_t)stream};
    if (!dense) return launch(event_segments<float, kRows>, l, a);
    if (listing.cluster) {
        int32_t *const counts = (int32_t *)workspace;
        a.counts = counts, a.events = counts + p->m;
        const ListArgs b = {s->data,       s->rs,           s->cs,         (int)p->k,
                            listing.chunk, listing.cluster, counts + p->m, counts};
        const Launch first = {dim3(unsigned(listing.cluster), unsigned(p->m)),
                              dim3(kListThreads),
                              kListFixed + (size_t)listing.chunk / 8,
                              listing.cluster,
                              false,
                              (cudaStream_t)stream};
        const lac_status_t status =
            bytes ? launch(event_list<uint8_t>, first, b) : launch(event_list<float>, first, b);
        return status != LAC_OK ? status : launch(event_segments<float, kList>, l, a);
    }
    if (!bits)
        return bytes ? launch(event_segments<uint8_t, kDense>, l, a)
                     : launch(event_segments<float, kDense>, l, a);
    const BitArgs b = {s->data, s->rs, s->cs, (int)p->k, a.words, (uint32_t *)workspace};
    const Launch first = {dim3(unsigned(ceil_div(a.words, kWarps * kUnitWords)), unsigned(p->m)),
                          dim3(kThreads),
                          0,
                          1,
                          false,
                          (cudaStream_t)stream};
    const lac_status_t status =
        bytes ? launch(event_bits<uint8_t>, first, b) : launch(event_bits<float>, first, b);
    return status != LAC_OK ? status : launch(event_segments<float, kBits>, l, a);
}
