/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W, whose terms are added up in memory as they are found. So that the sum does not
 * depend on which comes first, integers are added: where the exponents of a row's terms lie close enough,
 * each is a whole number of one unit, and sums are exact until they are rounded, once. Whether they do is
 * known on the device alone: where not, nothing is added, and who reads the sums multiplies by segments. */
#include "terms.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kDenseWords = 8;         /* of 32 elements of a dense S that a warp has in flight */
constexpr int kAtOnce = 4;             /* entries of a lane in flight                            */
constexpr int kPart = kAtOnce * kWarp; /* entries of a row that a warp takes                    */
constexpr int kMaxParts = 64;          /* blocks that share its rows                            */
constexpr int kBlocksEach = 4; /* that add, a multiprocessor: more find no room beside terms_begin's */

/* Lane u: the bits of elements 32 (unit + u) .. of row i of a dense S. */
template <typename T> __device__ inline uint32_t dense_word(const TermArgs &a, int i, int64_t unit, int lane)
{
    const T *row = (const T *)a.s + i * a.srs;
    uint32_t x[kDenseWords], mine = 0;
#pragma unroll
    for (int u = 0; u < kDenseWords; u++) {
        const int64_t k = 32 * (unit + u) + lane;
        x[u] = load_bits(u < a.words && k < a.k, row + k * a.scs);
    }
#pragma unroll
    for (int u = 0; u < kDenseWords; u++) {
        const unsigned word = __ballot_sync(kFull, x[u] != 0);
        if (lane == u) mine = word;
    }
    return mine;
}

/* A lane's share of a row of S: the events k + b of `bits`, whose value is v. */
struct Share {
    int k;
    uint32_t bits;
    float v;
};

template <typename T, Source kSource>
__device__ inline Share load_share(const TermArgs &a, int i, int64_t begin, int64_t at, bool here, int lane)
{
    if (kSource == kDense) return {int(32 * at), dense_word<T>(a, i, at - lane, lane), 1.0f};
    if (kSource == kBits) return {int(32 * at), here ? event_word(a.bits, i, at, a.k) : 0u, 1.0f};
    if (kSource == kRows)
        return {load_if(here, a.rows.idx + begin + at, 0), here ? 1u : 0u,
                load_if(here && a.rows.val, a.rows.val + begin + at, 1.0f)};
    const int k =
        (int)((unsigned)load_if(here, a.lists.idx + i * a.lists.ld + at, -1) - (unsigned)a.lists.first);
    return {k, here && (unsigned)k < (unsigned)a.k ? 1u : 0u, 1.0f};
}

/* Entries of W from `first` on, kWarp apart: those of `left` behind it that there are. */
template <bool kColumns>
__device__ inline void load_window(const lac_cuda_csr_t &w, int64_t first, int left, int *column,
                                   float *value)
{
    static_assert(kAtOnce == 4, "what is loaded");
    const bool there[kAtOnce] = {left > 0, left > kWarp, left > 2 * kWarp, left > 3 * kWarp};
    if (kColumns) {
        const int32_t *const idx = w.idx + first;
        column[0] = load_if<0>(there[0], idx, 0), column[1] = load_if<kWarp>(there[1], idx, 0);
        column[2] = load_if<2 * kWarp>(there[2], idx, 0), column[3] = load_if<3 * kWarp>(there[3], idx, 0);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; u++) value[u] = there[u] ? 1.0f : 0.0f;
    if (!w.val) return;
    const float *const val = w.val + first;
    value[0] = load_if<0>(there[0], val, 0.0f), value[1] = load_if<kWarp>(there[1], val, 0.0f);
    value[2] = load_if<2 * kWarp>(there[2], val, 0.0f), value[3] = load_if<3 * kWarp>(there[3], val, 0.0f);
}

/* Calls use(columns, terms) for the entries of this warp's events, kAtOnce of each lane; where there is none,
 * the term is 0. kColumns: they are read. Returns the lane's events. */
template <typename T, Source kSource, bool kColumns, typename Use>
__device__ inline int each_term(const TermArgs &a, Use use)
{
    const int i = blockIdx.y, lane = threadIdx.x % kWarp;
    const int64_t warp = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp,
                  step = (int64_t)gridDim.x * kWarps * a.words;
    int64_t begin = 0, given = ceil_div(a.k, 32);
    if (kSource == kDense) given = a.made_words;
    if (kSource == kRows) begin = a.rows.ptr[i], given = a.rows.ptr[i + 1] - begin;
    if (kSource == kLists) given = min<int64_t>(load_if(true, a.lists.count + i, 0), a.lists.ld);
    int events = 0;
    for (int64_t unit = warp * a.words; unit < given; unit += step) {
        const bool here = lane < a.words && unit + lane < given;
        Share s = load_share<T, kSource>(a, i, begin, unit + lane, here, lane);
        if (kSource == kDense && !kColumns && here && blockIdx.z == 0)
            a.made[(int64_t)i * a.made_words + unit + lane] = s.bits;
        while (__any_sync(kFull, s.bits != 0)) {
            const bool live = s.bits != 0;
            const int k = live ? s.k + __ffs((int)s.bits) - 1 : 0;
            const int64_t from = load_if(live, a.w.ptr + k, (int64_t)0),
                          end = load_if(live, a.w.ptr + k + 1, (int64_t)0);
            const float v =
                kSource == kDense ? load_if(live && a.values, a.values + i * a.srs + k * a.scs, 1.0f) : s.v;
            s.bits &= s.bits - 1;
            const int count = int(end - from);
            events += count > 0;
            for (unsigned left = __ballot_sync(kFull, count > 0); left; left &= left - 1) {
                const int holder = __ffs((int)left) - 1, all = __shfl_sync(kFull, count, holder);
                const int64_t first = __shfl_sync(kFull, from, holder) + lane;
                const float x = __shfl_sync(kFull, v, holder);
                for (int at = (int)blockIdx.z * kPart; at < all; at += (int)gridDim.z * kPart) {
                    int column[kAtOnce];
                    float term[kAtOnce];
                    load_window<kColumns>(a.w, first + at, all - at - lane, column, term);
#pragma unroll
                    for (int u = 0; u < kAtOnce; u++) term[u] *= x;
                    use(column, term);
                }
            }
        }
    }
    return events;
}

/* Clears the sums, and finds the exponents of all terms.
 *
 * Mapping   grid (blocks that share a row's events; rows of S; parts of long rows of W), a warp some words of
 *           S's bits, or listed events, whose terms its lanes take one event after the other.
 * Bytes     8 for each element of out; S once for each part, and 4 for each entry that an event meets.
 * Limit     latency: S, pointers, values. */
template <typename T, Source kSource>
__global__ __launch_bounds__(kThreads) void terms_begin(const __grid_constant__ TermArgs a)
{
    __shared__ int low[kWarps], high[kWarps], some[kWarps];
    const int block = int(blockIdx.x + blockIdx.z * gridDim.x), lane = threadIdx.x % kWarp,
              warp = threadIdx.x / kWarp;
    const auto clear = [&] {
        uint4 *const row = (uint4 *)(a.sums.sum + blockIdx.y * a.sums.ld);
        for (int64_t t = (int64_t)block * kThreads + threadIdx.x; t < a.sums.ld / 2;
             t += (int64_t)a.sums.blocks * kThreads)
            row[t] = make_uint4(0, 0, 0, 0);
    };
    if (!a.late) dependency_wait();
    dependents_launch();
    if (!a.late) clear();
    int lowest = kFloatNotFinite, highest = 1;
    int events = each_term<T, kSource, false>(a, [&](const int *, const float *term) {
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            if (term[u] == 0.0f) continue;
            const int e = float_exponent(term[u]);
            lowest = min(lowest, e), highest = max(highest, e);
        }
    });
    if (blockIdx.z > 0) events = 0;
    lowest = __reduce_min_sync(kFull, lowest), highest = __reduce_max_sync(kFull, highest);
    events = (int)__reduce_add_sync(kFull, (unsigned)events);
    if (lane == 0) low[warp] = lowest, high[warp] = highest, some[warp] = events;
    __syncthreads();
    if (a.late) { /* what was before may still read its sums */
        dependency_wait();
        clear();
    }
    if (threadIdx.x != 0) return;
    for (int w = 1; w < kWarps; w++)
        lowest = min(lowest, low[w]), highest = max(highest, high[w]), events += some[w];
    a.sums.range[blockIdx.y * a.sums.blocks + block] =
        TermRange{(uint16_t)lowest, (uint16_t)highest, events}.packed();
}

/* Adds the terms to their sums, where they fit. A term is the product of an event's value and an entry,
 * rounded.
 *
 * Mapping   as terms_begin, by more blocks.
 * Bytes     S once for each part; 8 for each entry that an event meets, and of each a sector of sums, in the
 *           last-level cache.
 * Order     none is needed: integers.
 * Limit     latency: S, pointers, entries, sums. All but the last are on their way before the sums are 0. */
template <typename T, Source kSource>
__global__ __launch_bounds__(kThreads) void terms_add(const __grid_constant__ TermArgs a)
{
    dependents_launch();
    const int lane = threadIdx.x % kWarp;
    unsigned long long *const sum = a.sums.sum + blockIdx.y * a.sums.ld;
    TermUnit unit = {};
    bool known = false;
    each_term<T, kSource, true>(a, [&](const int *column, const float *term) {
        if (!known) {
            dependency_wait();
            unit = read_unit(a.sums, blockIdx.y, lane);
            known = true;
        }
        if (!unit.fits) return;
#pragma unroll
        for (int u = 0; u < kAtOnce; u++)
            if (term[u] != 0.0f) atomicAdd(sum + column[u], (unsigned long long)unit.units(term[u]));
    });
    dependency_wait(); /* who waits for this kernel waits for the one before */
}

template <typename T, Source kSource>
lac_status_t queue_both(const TermArgs &a, dim3 few, dim3 many, int many_words, cudaStream_t stream)
{
    TermArgs add = a;
    add.words = many_words;
    const lac_status_t status = launch(terms_begin<T, kSource>, {few, dim3(kThreads), 0, 1, true, stream}, a);
    return status != LAC_OK ? status
                            : launch(terms_add<T, kSource>, {many, dim3(kThreads), 0, 1, true, stream}, add);
}

} // namespace

lac_status_t queue_terms(TermArgs *a, Source source, bool bytes, int m, double events, double entries,
                         cudaStream_t stream)
{
    const bool listed = source == kRows || source == kLists;
    const int64_t shares = source == kDense ? a->made_words
                           : listed         ? max<int64_t>(1, (int64_t)events)
                                            : max<int64_t>(1, ceil_div(a->k, 32));
    const int64_t parts = max<int64_t>(1, min<int64_t>(kMaxParts, ceil_div((int64_t)entries, kPart)));
    const int most = source == kDense ? kDenseWords : kWarp;
    /* Words of a warp, where a row has so many blocks. */
    const auto words_for = [&](int64_t blocks) {
        return (int)max<int64_t>(1, min<int64_t>(most, ceil_div(shares, blocks * kWarps)));
    };
    const int64_t few_parts = min<int64_t>(parts, kTermBlocks / m), few = kTermBlocks / (m * few_parts),
                  many = max<int64_t>(1, (int64_t)kBlocksEach * current_device().sms / (m * parts));
    a->words = words_for(few);
    const int many_words = words_for(many);
    const int64_t adding = min<int64_t>(ceil_div(shares, (int64_t)many_words * kWarps), many);
    const dim3 begin = {(unsigned)few, (unsigned)m, (unsigned)few_parts}, /* all of them clear */
        add = {(unsigned)adding, (unsigned)m, (unsigned)parts};
    a->sums.blocks = int(few * few_parts), a->sums.ld = term_sums_ld(a->n);
    switch (source) {
    case kDense:
        return bytes ? queue_both<uint8_t, kDense>(*a, begin, add, many_words, stream)
                     : queue_both<float, kDense>(*a, begin, add, many_words, stream);
    case kBits:
        return queue_both<float, kBits>(*a, begin, add, many_words, stream);
    case kRows:
        return queue_both<float, kRows>(*a, begin, add, many_words, stream);
    case kLists:
        return queue_both<float, kLists>(*a, begin, add, many_words, stream);
    }
    return LAC_ERR_VALUE;
}

} // namespace lacuna
