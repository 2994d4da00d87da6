/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The vocabulary of simd.h in AVX2 with FMA. */
#ifndef LACUNA_SIMD_AVX2_H
#define LACUNA_SIMD_AVX2_H

#include "real.h"

#include <immintrin.h>
#include <string.h>

#define LAC_ISA_TEXT  "avx2"
#define LAC_ISA_TABLE REAL(lac_host_kernels_avx2)

/* V and VI are the instructions on a vector of values, and on as many integers of their size. */
#if defined(LAC_REAL_f64)
typedef __m256d vec_t;
#    define V(op)        _mm256_##op##_pd
#    define VI(op)       _mm256_##op##_epi64
#    define VI_SET1(x)   _mm256_set1_epi64x(x)
#    define LANE_NUMBERS _mm256_setr_epi64x(0, 1, 2, 3)
#    define LANE_BITS    _mm256_setr_epi64x(1, 2, 4, 8)
#    define EACH_LANE(x) V(setr)(x(0), x(1), x(2), x(3))
#else
typedef __m256 vec_t;
#    define V(op)        _mm256_##op##_ps
#    define VI(op)       _mm256_##op##_epi32
#    define VI_SET1(x)   _mm256_set1_epi32((int32_t)(x))
#    define LANE_NUMBERS _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#    define LANE_BITS    _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128)
#    define EACH_LANE(x) V(setr)(x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7))
#endif

typedef struct xvec {
    vec_t v[2];
} xvec_t;
typedef uint32_t xmask_t;
enum { LANES = CHUNK / 2, LANES_MASK = (1 << LANES) - 1, MICRO_ROWS = 6 };

static inline __m256i first_lanes(int64_t n)
{
    return VI(cmpgt)(VI_SET1(n), LANE_NUMBERS);
}

/* All ones in lane l where bit l is set. */
static inline __m256i lanes_of(uint32_t bits)
{
    const __m256i bit = LANE_BITS;
    return VI(cmpeq)(_mm256_and_si256(VI_SET1(bits), bit), bit);
}

static inline vec_t v_zero(void)
{
    return V(setzero)();
}
static inline vec_t v_set1(real_t x)
{
    return V(set1)(x);
}
static inline vec_t v_load(const real_t *p)
{
    return V(loadu)(p);
}
static inline void v_store(real_t *p, vec_t v)
{
    V(storeu)(p, v);
}
static inline vec_t v_load_n(const real_t *p, int64_t n)
{
    return V(maskload)(p, first_lanes(n));
}
static inline void v_store_n(real_t *p, vec_t v, int64_t n)
{
    V(maskstore)(p, first_lanes(n), v);
}
static inline void v_stream(real_t *p, vec_t v)
{
    V(stream)(p, v);
}
static inline void v_stream_end(void)
{
    _mm_sfence();
}
static inline vec_t v_fma(vec_t a, vec_t b, vec_t c)
{
    return V(fmadd)(a, b, c);
}
static inline real_t r_fma(real_t a, real_t b, real_t c)
{
    return FMA_OF(a, b, c);
}

/* Plain loads, lane by lane: as fast as a gather where gathers are fast, and much faster where microcode made
 * them slow. */
static inline vec_t v_load_strided(const real_t *p, int64_t s)
{
#define AT(l) p[(l)*s]
    return EACH_LANE(AT);
#undef AT
}

static inline vec_t v_load_indexed(const real_t *p, const int32_t *idx)
{
#define AT(l) p[idx[l]]
    return EACH_LANE(AT);
#undef AT
}

static inline xvec_t x_load_masked(const real_t *p, xmask_t bits)
{
    return (xvec_t){{V(maskload)(p, lanes_of(bits)), V(maskload)(p + LANES, lanes_of(bits >> LANES))}};
}

static inline vec_t fma_lanes(vec_t a, vec_t b, vec_t c, uint32_t bits)
{
    return V(fmadd)(a, V(and)(b, V(castsi256)(lanes_of(bits))), c);
}

static inline xvec_t x_fma_masked(xvec_t a, xvec_t b, xvec_t c, xmask_t bits)
{
    return (xvec_t){
        {fma_lanes(a.v[0], b.v[0], c.v[0], bits), fma_lanes(a.v[1], b.v[1], c.v[1], bits >> LANES)}};
}

/* Rank of lane l among the set bits of one vector, the exclusive prefix sum of its bits, all lanes at once in
 * a 64-bit integer; as 32-bit integers for a permutation, of which a double takes two. */
static inline __m256i ranks_of(uint32_t bits)
{
#if defined(LAC_REAL_f64)
    uint64_t ranks = (_pdep_u64(bits, 0x0001000100010001U) * 0x0001000100010001U) << 16;
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)(ranks * 0x0202U + 0x0100010001000100U)));
#else
    uint64_t spread = _pdep_u64(bits, 0x0101010101010101U);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)((spread * 0x0101010101010101U) << 8)));
#endif
}

static inline vec_t permute(vec_t v, __m256i ranks)
{
#if defined(LAC_REAL_f64)
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v), ranks));
#else
    return _mm256_permutevar8x32_ps(v, ranks);
#endif
}

static inline vec_t expand_lanes(const real_t *val, uint32_t bits)
{
    return V(and)(permute(V(loadu)(val), ranks_of(bits)), V(castsi256)(lanes_of(bits)));
}

static inline xvec_t x_expand(const real_t *val, xmask_t bits)
{
    uint32_t low = bits & LANES_MASK;
    return (xvec_t){
        {expand_lanes(val, low), expand_lanes(val + __builtin_popcount(low), bits >> LANES & LANES_MASK)}};
}

static inline xvec_t x_ones(xmask_t bits)
{
    const vec_t one = V(set1)(1);
    return (xvec_t){
        {V(and)(one, V(castsi256)(lanes_of(bits))), V(and)(one, V(castsi256)(lanes_of(bits >> LANES)))}};
}

static inline uint64_t nonzero_lanes(vec_t v)
{
    return (uint64_t)(uint32_t)V(movemask)(V(cmp)(v, V(setzero)(), _CMP_NEQ_UQ));
}

static inline uint64_t nz64_real(const real_t *p)
{
    uint64_t bits = 0;
    UNROLLED
    for (int o = 0; o < 64; o += LANES) bits |= nonzero_lanes(v_load(p + o)) << o;
    return bits;
}

static inline uint64_t nz_part_real(const real_t *p, int64_t n)
{
    uint64_t bits = 0;
    for (int64_t o = 0; o < n; o += LANES) bits |= nonzero_lanes(v_load_n(p + o, n - o)) << o;
    return bits;
}

static inline uint32_t zero32_u8(const uint8_t *p)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256()));
}

static inline uint64_t nz64_u8(const uint8_t *p)
{
    return ~(zero32_u8(p) | (uint64_t)zero32_u8(p + 32) << 32);
}

static inline uint64_t nz_part_u8(const uint8_t *p, int64_t n)
{
    uint8_t t[64] = {0};
    memcpy(t, p, (size_t)n);
    return nz64_u8(t);
}

#endif
