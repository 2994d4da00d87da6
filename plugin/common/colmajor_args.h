/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the readers of BLAS and cuBLAS arguments share: operands in column-major terms, and what a BLAS would
 * say of them. */
#ifndef LACUNA_PLUGIN_COMMON_COLMAJOR_ARGS_H
#define LACUNA_PLUGIN_COMMON_COLMAJOR_ARGS_H

#include "api/interpose.h"

#include <stdbool.h>
#include <stdint.h>

enum { BAD_TRANS = -1 }; /* beside those of lac_trans_t */

/* What a BLAS would say of a call: that there is work to do, that it returns at once, or the number of the
 * first bad parameter of sgemm_ or sgemv_, as netlib counts and checks them. */
enum { CALL_PROPER = 0, CALL_EMPTY = -1 };

/* An int has undefined upper bits in its 64-bit argument slot. */
static inline int64_t read_slot(int64_t slot, bool wide)
{
    return wide ? slot : (int32_t)slot;
}

/* A single product of one type, of which operands, C and scalars are still to be set. Member by member, here
 * and below: to build the structure elsewhere and copy it takes as long as the rest of reading a call. */
static inline void set_product(lac_gemm_args_t *g, lac_dt_t dt, int64_t m, int64_t n, int64_t k)
{
    g->m = m, g->n = n, g->k = k;
    g->a.meta = g->b.meta = NULL;
    g->dt = g->a.dt = g->b.dt = dt;
    g->a.transposed = g->b.transposed = false;
    g->triangles = 0;
    g->scalars = LAC_HOST;
    g->adds = g->registered = false;
    g->batch.count = 1;
}

/* op(X) of a column-major X. */
static inline void set_operand(lac_matrix_args_t *x, int trans, const void *buf, int64_t ld)
{
    x->buf = buf;
    x->rs = trans ? ld : 1;
    x->cs = trans ? 1 : ld;
}

static inline void set_c(lac_gemm_args_t *g, void *c, int64_t rs, int64_t cs)
{
    g->c = c;
    g->crs = rs, g->ccs = cs;
}

static inline void set_scalars(lac_gemm_args_t *g, const void *alpha, const void *beta)
{
    g->alpha = alpha, g->beta = beta;
}

/* Where a vector's first element lies: a BLAS counts one with a negative increment from its far end. */
static inline int64_t vector_begin(int64_t count, int64_t inc)
{
    return inc < 0 ? (1 - count) * inc : 0;
}

static inline int64_t at_least_one(int64_t x)
{
    return x > 1 ? x : 1;
}

/* Of C[m, n] := .. op(A) op(B). Part of its callers, as their readers are. */
static inline __attribute__((always_inline)) int
judge_product(int ta, int tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc)
{
    if ((ta | tb) >= 0             /* a known operation each */
        && m > 0 && n > 0 && k > 0 /* something to do        */
        && lda >= (ta ? k : m)     /* columns of A           */
        && ldb >= (tb ? n : k)     /* columns of B           */
        && ldc >= m)               /* columns of C           */
        return CALL_PROPER;
    if (ta == BAD_TRANS) return 1;
    if (tb == BAD_TRANS) return 2;
    if (m < 0) return 3;
    if (n < 0) return 4;
    if (k < 0) return 5;
    if (lda < at_least_one(ta ? k : m)) return 8;
    if (ldb < at_least_one(tb ? n : k)) return 10;
    if (ldc < at_least_one(m)) return 13;
    return CALL_EMPTY;
}

/* Of y := .. op(A) x, A stored m x n. */
static inline int judge_vector_product(int ta, int64_t m, int64_t n, int64_t lda, int64_t incx, int64_t incy)
{
    if (ta == BAD_TRANS) return 1;
    if (m < 0) return 2;
    if (n < 0) return 3;
    if (lda < at_least_one(m)) return 6;
    if (incx == 0) return 8;
    if (incy == 0) return 11;
    return m > 0 && n > 0 ? CALL_PROPER : CALL_EMPTY;
}

/* The arguments of that product, and what a BLAS would say of it. */
static inline int read_vector_product(lac_gemm_args_t *g, lac_dt_t dt, int ta, int64_t m, int64_t n,
                                      const void *a, int64_t lda, const void *x, int64_t incx, void *y,
                                      int64_t incy)
{
    int verdict = judge_vector_product(ta, m, n, lda, incx, incy);
    bool proper = verdict == CALL_PROPER; /* else an increment may lead anywhere */
    int64_t rows = ta ? n : m, cols = ta ? m : n;
    int64_t size = (int64_t)lac_dt_size(dt);
    set_product(g, dt, rows, 1, cols);
    set_operand(&g->a, ta, a, lda);
    g->b.buf = proper ? (const char *)x + vector_begin(cols, incx) * size : x;
    g->b.rs = incx, g->b.cs = 1;
    set_c(g, proper ? (char *)y + vector_begin(rows, incy) * size : y, incy, 1);
    return verdict;
}

#endif
