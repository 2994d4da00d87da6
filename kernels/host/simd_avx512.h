/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The vocabulary of simd.h in AVX-512 (F, BW, DQ, VL). */
#ifndef LACUNA_SIMD_AVX512_H
#define LACUNA_SIMD_AVX512_H

#include "real.h"

#include <immintrin.h>

#define LAC_ISA_TEXT  "avx512"
#define LAC_ISA_TABLE REAL(lac_host_kernels_avx512)

/* V and VI are the instructions on a vector of values, and on as many 32-bit integers. */
#if defined(LAC_REAL_f64)
typedef __m512d vec_t;
typedef __mmask8 xmask_t;
typedef __m256i ivec_t;
#    define V(op)        _mm512_##op##_pd
#    define VI(op)       _mm256_##op
#    define NONZERO(v)   _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_NEQ_UQ)
#    define LANE_NUMBERS _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#    define GATHER       _mm512_i32gather_pd
#else
typedef __m512 vec_t;
typedef __mmask16 xmask_t;
typedef __m512i ivec_t;
#    define V(op)        _mm512_##op##_ps
#    define VI(op)       _mm512_##op
#    define NONZERO(v)   _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ)
#    define LANE_NUMBERS _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#    define GATHER       _mm512_i32gather_ps
#endif

typedef struct xvec {
    vec_t v[1];
} xvec_t;
enum { LANES = CHUNK, MICRO_ROWS = 12 };

static inline xmask_t first_lanes(int64_t n)
{
    return (xmask_t)((1U << n) - 1U);
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
    return V(maskz_loadu)(first_lanes(n), p);
}
static inline void v_store_n(real_t *p, vec_t v, int64_t n)
{
    V(mask_storeu)(p, first_lanes(n), v);
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

static inline vec_t v_load_strided(const real_t *p, int64_t s)
{
    if (__builtin_expect(s > INT32_MAX / LANES || s < INT32_MIN / LANES, 0)) {
        vec_t v;
        real_t t[LANES];
        for (int l = 0; l < LANES; l++) t[l] = p[l * s];
        __builtin_memcpy(&v, t, sizeof v);
        return v;
    }
    return GATHER(VI(mullo_epi32)(LANE_NUMBERS, VI(set1_epi32)((int32_t)s)), p, sizeof(real_t));
}

static inline vec_t v_load_indexed(const real_t *p, const int32_t *idx)
{
    ivec_t at;
    __builtin_memcpy(&at, idx, sizeof at);
    return GATHER(at, p, sizeof(real_t));
}

static inline xvec_t x_load_masked(const real_t *p, xmask_t bits)
{
    return (xvec_t){{V(maskz_loadu)(bits, p)}};
}

static inline xvec_t x_fma_masked(xvec_t a, xvec_t b, xvec_t c, xmask_t bits)
{
    return (xvec_t){{V(mask3_fmadd)(a.v[0], b.v[0], c.v[0], bits)}};
}

static inline xvec_t x_expand(const real_t *val, xmask_t bits)
{
    return (xvec_t){{V(maskz_expand)(bits, V(loadu)(val))}};
}

static inline xvec_t x_ones(xmask_t bits)
{
    return (xvec_t){{V(maskz_mov)(bits, V(set1)(1))}};
}

static inline uint64_t nz64_real(const real_t *p)
{
    uint64_t bits = 0;
    UNROLLED
    for (int o = 0; o < 64; o += LANES) bits |= (uint64_t)NONZERO(v_load(p + o)) << o;
    return bits;
}

static inline uint64_t nz64_u8(const uint8_t *p)
{
    __m512i v = _mm512_loadu_si512(p);
    return _mm512_test_epi8_mask(v, v);
}

static inline uint64_t nz_part_real(const real_t *p, int64_t n)
{
    uint64_t bits = 0;
    for (int64_t o = 0; o < n; o += LANES)
        bits |= (uint64_t)NONZERO(v_load_n(p + o, n - o < LANES ? n - o : LANES)) << o;
    return bits;
}

static inline uint64_t nz_part_u8(const uint8_t *p, int64_t n)
{
    __m512i v = _mm512_maskz_loadu_epi8(_bzhi_u64(~0ULL, (uint32_t)n), p);
    return _mm512_test_epi8_mask(v, v);
}

/* Positions base + l of the set bits l, and src[l], to the fronts of idx and val; a NULL one is left out. */
static inline void store_packed(int32_t *idx, real_t *val, const real_t *src, int32_t base, uint32_t bits)
{
    xmask_t m = (xmask_t)bits;
    xmask_t low = first_lanes(__builtin_popcount(bits));
    if (idx) VI(mask_storeu_epi32)
    (idx, low, VI(maskz_compress_epi32)(m, VI(add_epi32)(LANE_NUMBERS, VI(set1_epi32)(base))));
    if (val) V(mask_storeu)(val, low, V(maskz_compress)(m, V(maskz_loadu)(m, src)));
}

#endif
