/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The vocabulary of simd.h in AVX-512 (F, BW, DQ, VL). */
#ifndef LACUNA_SIMD_AVX512_H
#define LACUNA_SIMD_AVX512_H

#include <immintrin.h>

#define LAC_ISA_TEXT  "avx512"
#define LAC_ISA_TABLE lac_host_kernels_avx512

typedef float real_t;
typedef __m512 vec_t;
typedef struct xvec {
    vec_t v[1];
} xvec_t;
typedef __mmask16 xmask_t;
enum { LANES = 16, MICRO_ROWS = 12 };

static inline __mmask16 first_lanes(int64_t n)
{
    return (__mmask16)((1U << n) - 1U);
}

static inline vec_t v_zero(void)
{
    return _mm512_setzero_ps();
}
static inline vec_t v_set1(real_t x)
{
    return _mm512_set1_ps(x);
}
static inline vec_t v_load(const real_t *p)
{
    return _mm512_loadu_ps(p);
}
static inline void v_store(real_t *p, vec_t v)
{
    _mm512_storeu_ps(p, v);
}
static inline vec_t v_load_n(const real_t *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
static inline void v_store_n(real_t *p, vec_t v, int64_t n)
{
    _mm512_mask_storeu_ps(p, first_lanes(n), v);
}
static inline void v_stream(real_t *p, vec_t v)
{
    _mm512_stream_ps(p, v);
}
static inline void v_stream_end(void)
{
    _mm_sfence();
}
static inline vec_t v_fma(vec_t a, vec_t b, vec_t c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline real_t r_fma(real_t a, real_t b, real_t c)
{
    return __builtin_fmaf(a, b, c);
}

static inline vec_t v_load_strided(const real_t *p, int64_t s)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    if (__builtin_expect(s > INT32_MAX / LANES || s < INT32_MIN / LANES, 0)) {
        vec_t v;
        real_t t[LANES];
        for (int l = 0; l < LANES; l++) t[l] = p[l * s];
        __builtin_memcpy(&v, t, sizeof v);
        return v;
    }
    return _mm512_i32gather_ps(_mm512_mullo_epi32(lane, _mm512_set1_epi32((int32_t)s)), p, sizeof(real_t));
}

static inline vec_t v_load_indexed(const real_t *p, const int32_t *idx)
{
    return _mm512_i32gather_ps(_mm512_loadu_si512(idx), p, sizeof(real_t));
}

static inline xvec_t x_load_masked(const real_t *p, xmask_t bits)
{
    return (xvec_t){{_mm512_maskz_loadu_ps(bits, p)}};
}

static inline xvec_t x_fma_masked(xvec_t a, xvec_t b, xvec_t c, xmask_t bits)
{
    return (xvec_t){{_mm512_mask3_fmadd_ps(a.v[0], b.v[0], c.v[0], bits)}};
}

static inline xvec_t x_expand(const real_t *val, xmask_t bits)
{
    return (xvec_t){{_mm512_maskz_expand_ps(bits, _mm512_loadu_ps(val))}};
}

static inline xvec_t x_ones(xmask_t bits)
{
    return (xvec_t){{_mm512_maskz_mov_ps(bits, _mm512_set1_ps(1.0F))}};
}

static inline uint32_t nz16_f32(const float *p)
{
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(p), _mm512_setzero_ps(), _CMP_NEQ_UQ);
}

static inline uint64_t nz64_f32(const float *p)
{
    return nz16_f32(p) | (uint64_t)nz16_f32(p + 16) << 16 | (uint64_t)nz16_f32(p + 32) << 32 |
           (uint64_t)nz16_f32(p + 48) << 48;
}

static inline uint64_t nz64_u8(const uint8_t *p)
{
    __m512i v = _mm512_loadu_si512(p);
    return _mm512_test_epi8_mask(v, v);
}

static inline uint64_t nz_part_f32(const float *p, int64_t n)
{
    uint64_t bits = 0;
    for (int64_t o = 0; o < n; o += 16) {
        __m512 v = _mm512_maskz_loadu_ps(first_lanes(n - o < 16 ? n - o : 16), p + o);
        bits |= (uint64_t)_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ) << o;
    }
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
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __mmask16 m = (__mmask16)bits;
    __mmask16 low = first_lanes(__builtin_popcount(bits));
    if (idx)
        _mm512_mask_storeu_epi32(
            idx, low, _mm512_maskz_compress_epi32(m, _mm512_add_epi32(lane, _mm512_set1_epi32(base))));
    if (val) _mm512_mask_storeu_ps(val, low, _mm512_maskz_compress_ps(m, _mm512_maskz_loadu_ps(m, src)));
}

#endif
