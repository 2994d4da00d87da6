/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The vocabulary of simd.h in GNU C vectors alone: any processor. */
#ifndef LACUNA_SIMD_PORTABLE_H
#define LACUNA_SIMD_PORTABLE_H

#include "real.h"

#include <stdint.h>
#include <string.h>

#define LAC_ISA_TEXT  "portable"
#define LAC_ISA_TABLE REAL(lac_host_kernels_portable)

typedef real_t vec_t __attribute__((vector_size(16)));
typedef struct xvec {
    vec_t v[4];
} xvec_t;
typedef uint32_t xmask_t;
enum { LANES = CHUNK / 4, MICRO_ROWS = 4 };

#if defined(LAC_REAL_f64)
#    define EACH_LANE(x) ((vec_t){x(0), x(1)})
#else
#    define EACH_LANE(x) ((vec_t){x(0), x(1), x(2), x(3)})
#endif

static inline vec_t v_zero(void)
{
    return (vec_t){0};
}
static inline vec_t v_set1(real_t x)
{
#define VALUE(l) x
    return EACH_LANE(VALUE);
#undef VALUE
}

static inline vec_t v_load(const real_t *p)
{
    vec_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void v_store(real_t *p, vec_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline vec_t v_load_n(const real_t *p, int64_t n)
{
    vec_t v = v_zero();
    for (int l = 0; l < n; l++) v[l] = p[l];
    return v;
}

static inline void v_store_n(real_t *p, vec_t v, int64_t n)
{
    for (int l = 0; l < n; l++) p[l] = v[l];
}

static inline void v_stream(real_t *p, vec_t v)
{
    v_store(p, v);
}
static inline void v_stream_end(void) {}

/* One rounding where that is an instruction, two where it would be a library call: the same for a lane and
 * a scalar, so that no result depends on where a vector ended. */
static inline real_t r_fma(real_t a, real_t b, real_t c)
{
#if defined(REAL_FAST_FMA)
    return FMA_OF(a, b, c);
#else
    return a * b + c;
#endif
}

static inline vec_t v_fma(vec_t a, vec_t b, vec_t c)
{
#if defined(REAL_FAST_FMA)
    for (int l = 0; l < LANES; l++) c[l] = FMA_OF(a[l], b[l], c[l]);
    return c;
#else
    return a * b + c;
#endif
}

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
    real_t t[CHUNK] = {0};
    xvec_t x;
    for (; bits; bits &= bits - 1) t[__builtin_ctz(bits)] = p[__builtin_ctz(bits)];
    memcpy(&x, t, sizeof x);
    return x;
}

static inline xvec_t x_fma_masked(xvec_t a, xvec_t b, xvec_t c, xmask_t bits)
{
    for (; bits; bits &= bits - 1) {
        int l = __builtin_ctz(bits);
        c.v[l / LANES][l % LANES] =
            r_fma(a.v[l / LANES][l % LANES], b.v[l / LANES][l % LANES], c.v[l / LANES][l % LANES]);
    }
    return c;
}

static inline xvec_t x_expand(const real_t *val, xmask_t bits)
{
    real_t t[CHUNK] = {0};
    xvec_t x;
    for (; bits; bits &= bits - 1) t[__builtin_ctz(bits)] = *val++;
    memcpy(&x, t, sizeof x);
    return x;
}

static inline xvec_t x_ones(xmask_t bits)
{
    real_t t[CHUNK];
    xvec_t x;
    for (int l = 0; l < CHUNK; l++) t[l] = (real_t)(bits >> l & 1U);
    memcpy(&x, t, sizeof x);
    return x;
}

static inline uint32_t nz16_real(const real_t *p)
{
    uint32_t bits = 0;
    for (int l = 0; l < 16; l++) bits |= (uint32_t)(p[l] != 0) << l;
    return bits;
}

static inline uint64_t nz64_real(const real_t *p)
{
    return nz16_real(p) | (uint64_t)nz16_real(p + 16) << 16 | (uint64_t)nz16_real(p + 32) << 32 |
           (uint64_t)nz16_real(p + 48) << 48;
}

static inline uint64_t nz_part_real(const real_t *p, int64_t n)
{
    uint64_t bits = 0;
    for (int64_t l = 0; l < n; l++) bits |= (uint64_t)(p[l] != 0) << l;
    return bits;
}

static inline uint64_t nz_part_u8(const uint8_t *p, int64_t n)
{
    uint64_t bits = 0;
    for (int64_t l = 0; l < n; l++) bits |= (uint64_t)(p[l] != 0) << l;
    return bits;
}

static inline uint64_t nz64_u8(const uint8_t *p)
{
    uint64_t bits = 0;
    for (int l = 0; l < 64; l++) bits |= (uint64_t)(p[l] != 0) << l;
    return bits;
}

#endif
