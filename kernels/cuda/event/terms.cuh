/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W whose terms are few beside its columns: the sums of terms, as integers in memory,
 * and whether they are exact. */
#ifndef LACUNA_CUDA_EVENT_TERMS_CUH
#define LACUNA_CUDA_EVENT_TERMS_CUH

#include "common/fixed.cuh"
#include "gather.cuh"

namespace lacuna
{

/* Where a kernel finds the events of S. */
enum Source { kDense, kBits, kRows, kLists };

/* Not 0 where the element at p is not 0, and there is one. */
__device__ inline uint32_t load_bits(bool live, const float *p)
{
    return load_if(live, (const uint32_t *)p, 0u) << 1; /* without the sign: -0 is a 0 */
}
__device__ inline uint32_t load_bits(bool live, const uint8_t *p)
{
    return load_if(live, p, 0u);
}

/* What a block met of one row of S: the exponents of its terms, as floats hold them, and how many events. */
struct TermRange {
    uint16_t lowest, highest;
    int events;

    __device__ inline int64_t packed() const
    {
        return (int64_t)((uint64_t)(uint32_t)events << 32 | (uint32_t)highest << 16 | lowest);
    }
    __device__ static inline TermRange unpacked(int64_t x)
    {
        return {(uint16_t)x, (uint16_t)(x >> 16), (int)(x >> 32)};
    }
};

/* Sums of the terms of rows of S. */
struct TermSums {
    unsigned long long *sum; /* [m][ld], in units of its row */
    int64_t ld;
    int64_t *range; /* [m][blocks], packed */
    int blocks;
};

/* The unit of a row's sums: a term of exponent e is its mantissa times 2^(width - 1 - (highest - e)) units.
 * As many terms of an element as the row has events do not overflow 62 bits. */
struct TermUnit {
    int highest, width;
    bool fits; /* all terms do */

    __device__ inline long long units(float term) const
    {
        const long long x = float_mantissa(term) << (width - 1 - (highest - float_exponent(term)));
        return term < 0.0f ? -x : x;
    }
    __device__ inline double size() const { return power_of_two(highest - width + 1 - 150); }
};

/* How many rows of S, and blocks of all of them, there may be. */
constexpr int kTermRows = 16;
constexpr int kTermBlocks = 256;

/* Of row i, by a whole warp. */
__device__ inline TermUnit read_unit(const TermSums &t, int i, int lane)
{
    const int64_t none = TermRange{kFloatNotFinite, 1, 0}.packed();
    const int64_t *const range = t.range + (int64_t)i * t.blocks;
    int64_t all[kTermBlocks / kWarp]; /* on their way at once */
#pragma unroll
    for (int u = 0; u < kTermBlocks / kWarp; u++)
        all[u] = load_if(u * kWarp + lane < t.blocks, range + u * kWarp + lane, none);
    int lowest = kFloatNotFinite, highest = 1, events = 0;
#pragma unroll
    for (int u = 0; u < kTermBlocks / kWarp; u++) {
        const TermRange r = TermRange::unpacked(all[u]);
        lowest = min(lowest, (int)r.lowest), highest = max(highest, (int)r.highest), events += r.events;
    }
    lowest = __reduce_min_sync(kFull, lowest), highest = __reduce_max_sync(kFull, highest);
    const int width = 62 - (kMantissa - 1) - (kWarp - __clz((int)__reduce_add_sync(kFull, (unsigned)events)));
    return {highest, width, highest < kFloatNotFinite && width > 0 && highest - lowest < width};
}

/* A product's terms, and where they are added up. */
struct TermArgs {
    int k, n;
    int words; /* of a warp, at once: 32 elements of S each, or listed events */
    bool late; /* lac_cuda_segments_cut_t.chain */
    const void *s;
    const float *values; /* of a dense S; NULL: ones */
    int64_t srs, scs;
    lac_cuda_event_bits_t bits;
    lac_cuda_csr_t rows, w;
    lac_cuda_event_lists_t lists;
    uint32_t *made; /* bits of a dense S, [m][made_words] */
    int made_words;
    TermSums sums;
};

/* Two launches, after which all terms are in their sums, if they fit. a.words, a.sums.blocks and a.sums.ld
 * are set here. bytes: S is, or it is of floats, where it is dense. events: of a row of S, about. */
lac_status_t queue_terms(TermArgs *a, Source source, bool bytes, int m, double events, double entries,
                         cudaStream_t stream);

inline int64_t term_sums_ld(int64_t n)
{
    return round_up(n, 2);
}
inline int64_t term_sums_bytes(int64_t m, int64_t n)
{
    return m * (int64_t)sizeof(unsigned long long) * term_sums_ld(n) + (int64_t)sizeof(int64_t) * kTermBlocks;
}

} // namespace lacuna
#endif
