/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W by segments: W's columns are cut into ranges, and the pattern's segment pointers
 * say where each row's entries of a range begin. Here is how a block finds the events of a row of S, opens
 * their segments, and loads their entries; who adds them up is in segments.cu and terms.cu. */
#ifndef LACUNA_CUDA_EVENT_SEGMENTS_CUH
#define LACUNA_CUDA_EVENT_SEGMENTS_CUH

#include "gather.cuh"

namespace lacuna
{

constexpr int kMostWarps = 16; /* of a block */
constexpr int kMostThreads = kMostWarps * kWarp;
constexpr int kMaxCluster = 8;   /* blocks that share the events of a range                       */
constexpr int kUnitWords = 8;    /* times 32 elements of S: what blocks that share k take in turn */
constexpr int kWordsAtOnce = 4;  /* of S's bits of a thread                                       */
constexpr int kOctet = 8;        /* elements of a dense S that a lane reads side by side          */
constexpr int kOctets = 4;       /* of them in a word of bits                                     */
constexpr int kQueue = 2048;     /* events of a block                                             */
constexpr int kEventsAtOnce = 8; /* of an adder, in flight, or as many as it has lanes;           */
constexpr int kWindows = 2;      /* times its lanes: entries of each                              */
constexpr int kGrain = 32;       /* columns: a range is a multiple                                */
constexpr int kMaxWidth = 14336; /* columns of a range: two copies fit beside kFinding bytes      */
constexpr uint32_t kFar = 65535; /* entries before a range: so many, or more                      */
static_assert(kUnitWords * 32 == kWarp * kOctet && kOctets == kWordsAtOnce, "a warp reads a unit");

/* Where a kernel finds the events of S. */
enum Source { kDense, kBits, kRows, kLists };

/* The entries of one event in the range: count of them, `ahead` bytes behind W's first index, or value. */
struct alignas(16) Segment {
    int64_t ahead;
    int count;
    float v;
};

/* A dense S[m, k] of floats or bytes. */
struct DenseRows {
    const void *at;
    int64_t rs, cs, k;
    bool whole_octets; /* each lies side by side, at a multiple of its size, and has eight elements */
};

struct SegmentArgs {
    GemmArgs p;       /* but for W */
    int columns;      /* of a block, or of a cluster that shares them  */
    int ranges, span; /* of the pointers; how many of them that is     */
    int warps, cluster;
    int copies, turns; /* of the sums; warps that share one, or 0: each group of lanes has its own */
    bool late;         /* lac_cuda_segments_cut_t.late */
    bool runs;         /* a copy of the sums may get more events than are added up straight */
    DenseRows s;
    const float *values; /* of its events; NULL: ones */
    const int32_t *list;
    lac_cuda_event_bits_t bits;
    bool whole_bits; /* read 16 bytes at a time: those of a row end with its last word, and behind it is 0 */
    lac_cuda_csr_t rows, w;
    lac_cuda_event_lists_t lists;
    const uint16_t *first; /* [k][ranges + 1], up to kFar */
    int *expected;         /* behind them: a word of terms.cu */
};

/* What a thread knows of its place. */
struct Place {
    int i, rank, range, warp, lane;
};
/* By which a.cluster, a power of two, multiplies: a division takes as long as a load. */
__device__ inline int shift_of(const SegmentArgs &a)
{
    return __ffs(a.cluster) - 1;
}
__device__ inline Place place_of(const SegmentArgs &a)
{
    const int shift = shift_of(a);
    return {int(blockIdx.y), int(blockIdx.x) & (a.cluster - 1), int(blockIdx.x) >> shift,
            int(threadIdx.x) / kWarp, int(threadIdx.x) % kWarp};
}

/* Shared memory of a block in which it finds its events. */
struct Finding {
    Segment *segments; /* [threads]                               */
    int *queue;        /* [kQueue]: events found                  */
    int *totals;       /* [2][kMostWarps]: events that warps have */

    __device__ Finding(void *memory, int threads)
        : segments((Segment *)memory), queue((int *)(segments + threads)), totals(queue + kQueue)
    {
    }
};
constexpr size_t kFinding = kMostThreads * sizeof(Segment) + sizeof(int) * (kQueue + 2 * kMostWarps);

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
    const int units = (words + kUnitWords - 1) / kUnitWords - p.rank;
    return units > 0 ? ((units + a.cluster - 1) >> shift_of(a)) * kUnitWords : 0;
}

/* Eight elements of a dense S, side by side, and which of them are not 0: -0 is a 0. */
template <typename T> struct Octet;
template <> struct Octet<float> {
    uint32_t x[kOctet];

    __device__ inline void load(bool live, const float *at)
    {
        load_four_if(live, (const uint32_t *)at, x);
        load_four_if(live, (const uint32_t *)at + 4, x + 4);
    }
    __device__ inline uint32_t bits() const
    {
        uint32_t bits = 0;
#pragma unroll
        for (int e = 0; e < kOctet; e++) bits |= (x[e] << 1 ? 1u : 0u) << e;
        return bits;
    }
    __device__ static inline uint32_t load_element(bool live, const float *at)
    {
        return load_if(live, (const uint32_t *)at, 0u) << 1;
    }
};
template <> struct Octet<uint8_t> {
    uint32_t x[2];

    __device__ inline void load(bool live, const uint8_t *at)
    {
        const uint64_t both = (uint64_t)load_if(live, (const int64_t *)at, (int64_t)0);
        x[0] = (uint32_t)both, x[1] = (uint32_t)(both >> 32);
    }
    __device__ static inline uint32_t bits_of_bytes(uint32_t y)
    {
        y |= y >> 4, y |= y >> 2, y |= y >> 1;        /* into the lowest bit of each byte, */
        return (y & 0x01010101u) * 0x10204080u >> 28; /* of which no two meet               */
    }
    __device__ inline uint32_t bits() const { return bits_of_bytes(x[0]) | bits_of_bytes(x[1]) << 4; }
    __device__ static inline uint32_t load_element(bool live, const uint8_t *at)
    {
        return load_if(live, at, 0u);
    }
};

/* The first element of octet t of this block. */
__device__ inline int first_of_octet(const SegmentArgs &a, const Place &p, int t)
{
    return ((t / kWarp * a.cluster + p.rank) * kWarp + t % kWarp) * kOctet;
}

/* The bits of a thread's octets of row i, of which there are `left`: kOctets of them, each a round of
 * `threads` and `step` elements behind the one before, the first at k. All are on their way before one is
 * tested where they are whole. meanwhile(): done while they are. */
template <typename T, typename Meanwhile>
__device__ inline uint32_t scan_octets(const DenseRows &s, int i, int64_t k, int step, int left, int threads,
                                       Meanwhile meanwhile)
{
    const T *const row = (const T *)s.at + i * s.rs;
    uint32_t word = 0;
    if (s.whole_octets) {
        Octet<T> octet[kOctets];
#pragma unroll
        for (int u = 0; u < kOctets; u++) octet[u].load(k + u * step < s.k, row + k + u * step);
        meanwhile();
#pragma unroll
        for (int u = 0; u < kOctets; u++)
            if (u * threads < left) word |= octet[u].bits() << u * kOctet;
        return word;
    }
    meanwhile();
#pragma unroll 1
    for (int u = 0; u < kOctets && u * threads < left; u++) {
        uint32_t x[kOctet];
#pragma unroll
        for (int e = 0; e < kOctet; e++) {
            const int64_t at = k + u * step + e;
            x[e] = Octet<T>::load_element(at < s.k, row + at * s.cs);
        }
#pragma unroll
        for (int e = 0; e < kOctet; e++) word |= (x[e] ? 1u : 0u) << (u * kOctet + e);
    }
    return word;
}

/* Entry t of this block's share of a list, as k of S; outside [0, k): there is none. */
__device__ inline int load_listed(const SegmentArgs &a, const Place &p, int t)
{
    const int e = word_of(a, p, t);
    return load_if(e < a.lists.ld, a.lists.idx + p.i * a.lists.ld + e, -1);
}

/* Word w of S's bits, or four from there on, which lie in one unit. */
__device__ inline void load_words(const SegmentArgs &a, int i, int w, bool fours,
                                  uint32_t (&word)[kWordsAtOnce])
{
    static_assert(kWordsAtOnce == 4 && kUnitWords % 4 == 0, "one load");
    if (fours && a.whole_bits) {
        const uint4 x = *(const uint4 *)(a.bits.words + i * a.bits.ld + w);
        word[0] = x.x, word[1] = x.y, word[2] = x.z, word[3] = x.w;
        return;
    }
#pragma unroll
    for (int u = 0; u < kWordsAtOnce; u++)
        if (u == 0 || fours) word[u] = event_word(a.bits, i, w + u, a.p.k);
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

/* Finds the events of this block, those of a row of S that no other of its cluster has: use(count, from) for
 * so many at a time in the queue, in an order that S's shape alone decides; from: of the events given, the
 * queue's first. meanwhile(): done while what is read first is on its way, and maybe again. */
template <typename T, Source kSource, typename Meanwhile, typename Use>
__device__ inline void each_queue(const SegmentArgs &a, const Place &p, const Finding &f, Meanwhile meanwhile,
                                  Use use)
{
    const int threads = a.warps * kWarp;
    if (kSource == kRows) {
        const int64_t begin = a.rows.ptr[p.i], all = a.rows.ptr[p.i + 1] - begin;
        meanwhile();
        const int shift = shift_of(a);
        const int64_t end = begin + (all * (p.rank + 1) >> shift);
        int64_t next = begin + (all * p.rank >> shift);
        while (next < end) {
            const int count = int(min<int64_t>(kQueue, end - next));
#pragma unroll 4
            for (int e = threadIdx.x; e < count; e += threads) f.queue[e] = a.rows.idx[next + e];
            __syncthreads();
            use(count, next);
            next += count;
        }
    } else if (kSource == kLists) { /* the list itself is on its way with its length */
        int k = load_listed(a, p, threadIdx.x);
        const int given = (int)min<int64_t>(load_if(true, a.lists.count + p.i, 0), a.lists.ld);
        const int all = words_here(a, p, given);
        meanwhile();
        for (int t0 = 0; t0 < all; t0 += threads) {
            const int t = t0 + (int)threadIdx.x;
            const int listed = (int)((unsigned)k - (unsigned)a.lists.first); /* k may be anything */
            f.queue[threadIdx.x] = word_of(a, p, t) < given ? listed : -1;
            __syncthreads();
            if (t0 + threads < all) k = load_listed(a, p, t + threads);
            use(min(all - t0, threads), 0);
        }
    } else {
        constexpr int kWords = kSource == kDense ? 1 : kWordsAtOnce;
        const int all = words_here(a, p, (int)ceil_div(a.p.k, 32)) * (kSource == kDense ? kOctets : 1);
        const bool fours = all > threads; /* a thread takes four words of bits, not one */
        int held = 0, buffer = 0;
        for (int t0 = 0; t0 < all; t0 += kWordsAtOnce * threads) {
            const int t = t0 + (kSource != kDense && fours ? kWordsAtOnce : 1) * (int)threadIdx.x;
            uint32_t word[kWords] = {};
            const int first = kSource == kDense ? first_of_octet(a, p, t) : 32 * word_of(a, p, t);
            const int between = threads * a.cluster * kOctet; /* a thread's octets */
            if constexpr (kSource == kDense)
                word[0] = scan_octets<T>(a.s, p.i, first, between, all - t0, threads, meanwhile);
            else if (t < all)
                load_words(a, p.i, first / 32, fours, word);
            const auto k_of = [&](int w, int bit) {
                return kSource == kDense ? first + bit / kOctet * between + bit % kOctet
                                         : first + 32 * w + bit;
            };
            int mine = 0;
#pragma unroll
            for (int u = 0; u < kWords; u++) mine += __popc(word[u]);
            const Rank rank = rank_in_block(p, f.totals + kMostWarps * buffer, a.warps, mine);
            buffer ^= 1;
            for (int taken = 0; taken < rank.all;) {
                const int room = min(rank.all - taken, kQueue - held);
                int at = rank.before - taken;
                if (at < room && at + mine > 0)
#pragma unroll
                    for (int u = 0; u < kWords; u++)
                        for (uint32_t left = word[u]; left; left &= left - 1, at++)
                            if ((unsigned)at < (unsigned)room)
                                f.queue[held + at] = k_of(u, __ffs((int)left) - 1);
                taken += room, held += room;
                if (held < kQueue) break;
                __syncthreads();
                use(held, 0);
                held = 0;
            }
        }
        meanwhile();
        __syncthreads();
        if (held) use(held, 0);
    }
}

/* Opening events ------------------------------------------------------------------------------------------
 */

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
    bool live = e < count;
    int k = live ? queue[e] : 0;
    if (kSource == kLists) live = live && (unsigned)k < (unsigned)a.p.k;
    Opening o;
    if (kSource == kRows)
        o.v = load_if(live && a.rows.val, a.rows.val + from + e, 1.0f);
    else if (kSource == kLists)
        o.v = 1.0f;
    else
        o.v = load_if(live && a.values, a.values + p.i * a.s.rs + k * a.s.cs, 1.0f);
    if (kSource == kDense && a.list) k = load_if(live, a.list + k, 0);
    const uint16_t *first = a.first + (int64_t)k * (a.ranges + 1);
    const int range = p.range * a.span;
    o.begin = load_if(live, first + range, 0u);
    o.end = load_if(live, first + min(range + a.span, a.ranges), 0u);
    o.row = load_if(live, a.w.ptr + k, (int64_t)0);
    o.k = k;
    return o;
}

/* Element kAhead behind the one that lies `ahead` bytes behind p. */
template <int kAhead, typename T>
__device__ inline T load_ahead(bool live, const T *p, int64_t ahead, T otherwise)
{
    return load_if<kAhead>(live, (const T *)((const char *)p + ahead), otherwise);
}

/* The entries of the events that a group of kLanes lanes takes at once. */
template <int kLanes, int kMost = kEventsAtOnce> struct Batch {
    static constexpr int kEvents = min(kMost, kLanes);
    static_assert(kWindows == 2, "what load() loads");
    int column[kEvents][kWindows]; /* -1: none */
    float x[kEvents][kWindows], v[kEvents];
    bool longer = false; /* there are more of one of the warp's */

    /* Calls f(u) for event u, while u * step < left; four at a time, of which none waits for a branch. */
    template <typename F> __device__ static inline void each_event(int left, int step, F f)
    {
        constexpr int kTogether = kEvents % 4 ? 1 : 4;
#pragma unroll
        for (int first = 0; first < kEvents; first += kTogether) {
            if (first * step >= left) break;
#pragma unroll
            for (int u = first; u < min(kEvents, first + kTogether); u++) f(u);
        }
    }

    /* Those of segments[0], segments[step] .. before segments[left]; behind are some that are empty. */
    __device__ inline void load(const SegmentArgs &a, const Segment *segments, int left, int step, int lane)
    {
        const int at = lane % kLanes;
        const int32_t *const idx = a.w.idx + at;
        const float *const val = a.w.val + at;
        const bool values = a.w.val != nullptr;
        int longest = 0;
        each_event(left, step, [&](int u) {
            const Segment s = segments[u * step];
            const bool one = at < s.count, two = at + kLanes < s.count;
            v[u] = s.v;
            longest = max(longest, s.count);
            column[u][0] = load_ahead<0>(one, idx, s.ahead, -1);
            x[u][0] = load_ahead<0>(one && values, val, s.ahead, 1.0f);
            column[u][1] = load_ahead<kLanes>(two, idx, s.ahead, -1);
            x[u][1] = load_ahead<kLanes>(two && values, val, s.ahead, 1.0f);
        });
        longer = __any_sync(kFull, longest > kWindows * kLanes);
    }
};

/* Writing sums --------------------------------------------------------------------------------------------
 */

/* Four columns of row i of out, from j on, from their sums. fours: stores_fours. */
__device__ inline void store_columns(const GemmArgs &p, int i, int j, const float (&sum)[4], bool fours,
                                     float alpha, float beta)
{
    if (j >= p.n) return;
    if (fours && !p.epilogue.any) { /* as most are: with a fifth of the instructions */
        *(float4 *)(p.out + i * p.rs + j) =
            make_float4(alpha * sum[0], alpha * sum[1], alpha * sum[2], alpha * sum[3]);
        return;
    }
    float bias[4];
    read_biases<4>(bias, p, j);
    if (p.epilogue.any && p.epilogue.of_rows)
        bias[0] = bias[1] = bias[2] = bias[3] = bias_at(p.epilogue, i, 0);
    store_four<false>(p, i, j, sum, bias, fours, alpha, beta);
}

/* Launches ------------------------------------------------------------------------------------------------
 */

/* Blocks that run at once in clusters, where one finds room on a multiprocessor: 120 of 132. */
inline int64_t clustered_blocks(const Device &device)
{
    return (int64_t)device.sms * 10 / 11;
}

/* Clusters of kMaxCluster of them. */
inline int64_t clusters_at_once(const Device &device)
{
    return max<int64_t>(1, clustered_blocks(device) / kMaxCluster);
}

/* Columns of which each warp of a block has its own copy of the sums. */
inline int64_t copied_columns(const Device &device)
{
    return (device.shared - (int64_t)kFinding) / (int64_t)(sizeof(float) * kMostWarps);
}

/* Words of a row of bits. */
inline int bit_words(int64_t k)
{
    return (int)round_up(ceil_div(k, 32), kUnitWords);
}

/* Behind the pointers of W's rows. */
inline int *behind_pointers(const uint16_t *first, int64_t k, int64_t n, int64_t width)
{
    return (int *)((char *)first + lac_cuda_segments_bytes(k, n, width)) - 1;
}

/* bits[m][bit_words(k)] := where S[m, k] is not 0. */
lac_status_t queue_event_bits(const DenseRows &s, int64_t m, bool bytes, uint32_t *bits, cudaStream_t stream);

/* The product by terms added up as integers, wherever S's events are; bytes: in a dense S of bytes. Sets what
 * says how it is cut: a.ranges of so many columns are given. Needs clusters. */
lac_status_t run_terms(SegmentArgs a, Source source, bool bytes, int64_t width, double entries,
                       cudaStream_t stream);

} // namespace lacuna
#endif
