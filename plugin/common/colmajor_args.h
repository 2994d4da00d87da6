/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the readers of BLAS and cuBLAS arguments share: products in column-major terms, as a BLAS judges them.
 */
#ifndef LACUNA_PLUGIN_COMMON_COLMAJOR_ARGS_H
#define LACUNA_PLUGIN_COMMON_COLMAJOR_ARGS_H

#include <stdbool.h>
#include <stdint.h>

enum { BAD_TRANS = -1 }; /* beside those of lac_trans_t */

/* An int has undefined upper bits in its 64-bit argument slot. */
static inline int64_t read_slot(int64_t slot, bool wide)
{
    return wide ? slot : (int32_t)slot;
}

/* Whether a BLAS would accept C[m, n] := .. op(A) op(B) and do any work for it. */
static inline bool product_is_proper(int ta, int tb, int64_t m, int64_t n, int64_t k, int64_t lda,
                                     int64_t ldb, int64_t ldc)
{
    return (ta | tb) >= 0             /* a known operation each */
           && m > 0 && n > 0 && k > 0 /* something to do        */
           && lda >= (ta ? k : m)     /* columns of A           */
           && ldb >= (tb ? n : k)     /* columns of B           */
           && ldc >= m;               /* columns of C           */
}

/* The same of y := .. op(A) x, A stored m x n. */
static inline bool vector_product_is_proper(int ta, int64_t m, int64_t n, int64_t lda, int64_t incx,
                                            int64_t incy)
{
    return ta >= 0                    /* a known operation  */
           && m > 0 && n > 0          /* something to do    */
           && lda >= m                /* columns of A       */
           && incx != 0 && incy != 0; /* steps that move on */
}

#endif
