/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The vectors that the kernels are written in: one header per instruction set, one vocabulary.
 *
 * Each of simd_avx512.h, simd_avx2.h, simd_portable.h gives LANES, MICRO_ROWS, and vec_t (on which
 * + and * work), a vector of the real_t of real.h, with
 *
 *     v_load / v_store            contiguous, any alignment
 *     v_load_n / v_store_n        the first n lanes, 1 <= n <= LANES; others read as 0, are not touched
 *     v_stream, v_stream_end      v_store of an aligned vector past the caches; after the last of them
 *     v_load_strided(p, s)        lane l from p[l * s]
 *     v_load_indexed(p, idx)      lane l from p[idx[l]]
 *     v_fma(a, b, c), r_fma       a * b + c, rounded once where the processor can
 *
 * CHUNK lanes with a mask of bits, for operands that are walked along k
 *
 *     x_load_masked(p, bits)      lane l from p[l] where bit l is set; else 0, and p[l] is not read
 *     x_fma_masked(a, b, c, bits) a * b + c where bit l is set, c elsewhere; a is 0 there
 *     x_expand(val, bits)         lane l the next packed value where bit l is set; may read CHUNK of val
 *     x_ones(bits)                the same where every value is 1
 *
 * and for scans, where NaN is a nonzero and -0 is none
 *
 *     nz64_real, nz64_u8          one bit for each of 64 elements that is not zero
 *     nz_part_real, nz_part_u8    the same of n elements, 0 <= n <= 64
 *     store_packed                values and positions of the set bits of CHUNK, nothing beyond them */
#ifndef LACUNA_HOST_SIMD_H
#define LACUNA_HOST_SIMD_H

#include "real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LAC_INLINE static inline __attribute__((always_inline))

#if !defined(LAC_ISA_avx512)
/* Packed stores bit by bit, for instruction sets without a compress: positions base + l of the set bits l,
 * and src[l], to the fronts of idx and val; a NULL one is left out. */
static inline void store_packed(int32_t *idx, real_t *val, const real_t *src, int32_t base, uint32_t bits)
{
    for (int n = 0; bits; bits &= bits - 1, n++) {
        int l = __builtin_ctz(bits);
        if (idx) idx[n] = base + l;
        if (val) val[n] = src[l];
    }
}
#endif

/* Before a loop over registers: compilers keep an array in registers only where all its loops unroll early.
 */
#if defined(__clang__)
#    define UNROLLED _Pragma("clang loop unroll(full)")
#    define ROLLED   _Pragma("clang loop unroll(disable)")
#else
#    define UNROLLED _Pragma("GCC unroll 16")
#    define ROLLED   _Pragma("GCC unroll 1")
#endif

#if defined(LAC_ISA_avx512)
#    include "simd_avx512.h"
#elif defined(LAC_ISA_avx2)
#    include "simd_avx2.h"
#else
#    include "simd_portable.h"
#endif

enum { PER_CHUNK = CHUNK / LANES };

LAC_INLINE int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
LAC_INLINE int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

LAC_INLINE xvec_t x_fma(xvec_t a, xvec_t b, xvec_t c)
{
    UNROLLED
    for (int p = 0; p < PER_CHUNK; p++) c.v[p] = v_fma(a.v[p], b.v[p], c.v[p]);
    return c;
}

LAC_INLINE xvec_t x_add(xvec_t a, xvec_t b)
{
    UNROLLED
    for (int p = 0; p < PER_CHUNK; p++) a.v[p] = a.v[p] + b.v[p];
    return a;
}

/* n may be anything: none, some or all lanes. */
LAC_INLINE vec_t v_load_upto(const real_t *p, int64_t n)
{
    return n >= LANES ? v_load(p) : n > 0 ? v_load_n(p, n) : v_zero();
}

/* Adds the lanes of a chunk as a tree: lane l with that half of them further, then a quarter, and so on. */
LAC_INLINE real_t x_sum(xvec_t x)
{
    real_t t[CHUNK];
    memcpy(t, &x, sizeof t);
    for (int half = CHUNK / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) t[l] += t[l + half];
    return t[0];
}

/* beta * out + alpha * acc, with out not read where beta is 0: the end of every product. */
LAC_INLINE real_t r_scale_out(real_t alpha, real_t acc, real_t beta, const real_t *out)
{
    return beta == 0 ? alpha * acc : r_fma(alpha, acc, beta * *out);
}

LAC_INLINE void v_scale_out(real_t *out, vec_t acc, real_t alpha, real_t beta, int64_t n)
{
    vec_t a = v_set1(alpha);
    if (beta == 0)
        acc = a * acc;
    else
        acc = v_fma(a, acc, v_set1(beta) * (n == LANES ? v_load(out) : v_load_n(out, n)));
    if (n == LANES)
        v_store(out, acc);
    else
        v_store_n(out, acc, n);
}

#endif
