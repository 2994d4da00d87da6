/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The vocabulary of simd.h in AVX2 with FMA. */
#ifndef LACUNA_SIMD_AVX2_H
#define LACUNA_SIMD_AVX2_H

#include <immintrin.h>
#include <string.h>

#define LAC_ISA_TEXT  "avx2"
#define LAC_ISA_TABLE lac_host_kernels_avx2

typedef float real_t;
typedef __m256 vec_t;
typedef struct xvec {
    vec_t v[2];
} xvec_t;
typedef uint32_t xmask_t;
enum { LANES = 8, MICRO_ROWS = 6 };

static inline __m256i lane_numbers(void)
{
    return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
}

static inline __m256i first_lanes(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), lane_numbers());
}

/* All ones in lane l where bit l of the low byte is set. */
static inline __m256i lanes_of(uint32_t bits)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int32_t)bits), bit), bit);
}

static inline vec_t v_zero(void)
{
    return _mm256_setzero_ps();
}
static inline vec_t v_set1(real_t x)
{
    return _mm256_set1_ps(x);
}
static inline vec_t v_load(const real_t *p)
{
    return _mm256_loadu_ps(p);
}
static inline void v_store(real_t *p, vec_t v)
{
    _mm256_storeu_ps(p, v);
}
static inline vec_t v_load_n(const real_t *p, int64_t n)
{
    return _mm256_maskload_ps(p, first_lanes(n));
}
static inline void v_store_n(real_t *p, vec_t v, int64_t n)
{
    _mm256_maskstore_ps(p, first_lanes(n), v);
}
static inline void v_stream(real_t *p, vec_t v)
{
    _mm256_stream_ps(p, v);
}
static inline void v_stream_end(void)
{
    _mm_sfence();
}
static inline vec_t v_fma(vec_t a, vec_t b, vec_t c)
{
    return _mm256_fmadd_ps(a, b, c);
}
static inline real_t r_fma(real_t a, real_t b, real_t c)
{
    return __builtin_fmaf(a, b, c);
}

/* Eight plain loads: as fast as a gather where gathers are fast, and much faster where microcode made
 * them slow. */
static inline vec_t v_load_strided(const real_t *p, int64_t s)
{
    return _mm256_setr_ps(p[0], p[s], p[2 * s], p[3 * s], p[4 * s], p[5 * s], p[6 * s], p[7 * s]);
}

static inline vec_t v_load_indexed(const real_t *p, const int32_t *idx)
{
    return _mm256_setr_ps(p[idx[0]], p[idx[1]], p[idx[2]], p[idx[3]], p[idx[4]], p[idx[5]], p[idx[6]],
                          p[idx[7]]);
}

static inline xvec_t x_load_masked(const real_t *p, xmask_t bits)
{
    return (xvec_t){{_mm256_maskload_ps(p, lanes_of(bits)), _mm256_maskload_ps(p + 8, lanes_of(bits >> 8))}};
}

static inline __m256 fma_masked8(__m256 a, __m256 b, __m256 c, uint32_t bits)
{
    return _mm256_fmadd_ps(a, _mm256_and_ps(b, _mm256_castsi256_ps(lanes_of(bits))), c);
}

static inline xvec_t x_fma_masked(xvec_t a, xvec_t b, xvec_t c, xmask_t bits)
{
    return (xvec_t){
        {fma_masked8(a.v[0], b.v[0], c.v[0], bits), fma_masked8(a.v[1], b.v[1], c.v[1], bits >> 8)}};
}

/* Rank of lane l among the set bits of a byte: the exclusive prefix sum of its bits, eight bytes wide. */
static inline __m256i ranks_of(uint32_t byte)
{
    uint64_t spread = _pdep_u64(byte, 0x0101010101010101U);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)((spread * 0x0101010101010101U) << 8)));
}

static inline vec_t expand8(const real_t *val, uint32_t byte)
{
    vec_t packed = _mm256_permutevar8x32_ps(_mm256_loadu_ps(val), ranks_of(byte));
    return _mm256_and_ps(packed, _mm256_castsi256_ps(lanes_of(byte)));
}

static inline xvec_t x_expand(const real_t *val, xmask_t bits)
{
    uint32_t low = bits & 0xFFU;
    return (xvec_t){{expand8(val, low), expand8(val + __builtin_popcount(low), bits >> 8 & 0xFFU)}};
}

static inline xvec_t x_ones(xmask_t bits)
{
    const __m256 one = _mm256_set1_ps(1.0F);
    return (xvec_t){{_mm256_and_ps(one, _mm256_castsi256_ps(lanes_of(bits))),
                     _mm256_and_ps(one, _mm256_castsi256_ps(lanes_of(bits >> 8)))}};
}

static inline uint32_t nz8_f32(const float *p)
{
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(p), _mm256_setzero_ps(), _CMP_NEQ_UQ));
}

static inline uint32_t nz16_f32(const float *p)
{
    return nz8_f32(p) | nz8_f32(p + 8) << 8;
}

static inline uint64_t nz64_f32(const float *p)
{
    return nz16_f32(p) | (uint64_t)nz16_f32(p + 16) << 16 | (uint64_t)nz16_f32(p + 32) << 32 |
           (uint64_t)nz16_f32(p + 48) << 48;
}

static inline uint64_t nz_part_f32(const float *p, int64_t n)
{
    uint64_t bits = 0;
    for (int64_t o = 0; o < n; o += 8) {
        __m256 v = v_load_n(p + o, n - o);
        __m256 nz = _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NEQ_UQ);
        bits |= (uint64_t)(uint32_t)_mm256_movemask_ps(nz) << o;
    }
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
