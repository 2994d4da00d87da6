/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Calls as a drop-in library's handler makes them, from a BLAS's column-major arguments. */
#ifndef LACUNA_TESTS_INTERPOSE_CALLS_H
#define LACUNA_TESTS_INTERPOSE_CALLS_H

#include "api/interpose.h"

static inline lac_matrix_args_t colmajor_operand(int trans, const float *buf, lac_inc_t ld)
{
    return (lac_matrix_args_t){.buf = buf, .rs = trans ? ld : 1, .cs = trans ? 1 : ld};
}

static inline lac_gemm_args_t colmajor_args(int ta, int tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                                            const float *a, lac_inc_t lda, const float *b, lac_inc_t ldb,
                                            float *c, lac_inc_t ldc)
{
    return (lac_gemm_args_t){.m = m,
                             .n = n,
                             .k = k,
                             .a = colmajor_operand(ta, a, lda),
                             .b = colmajor_operand(tb, b, ldb),
                             .c = c,
                             .crs = 1,
                             .ccs = ldc,
                             .symbol = "test"};
}

/* The questions of a handler, in its order. */
static inline int try_gemm(lac_ctx_t *ctx, lac_gemm_args_t *g)
{
    lac_interpose_invalidate_output(g->dt, g->c, g->m, g->n, g->crs, g->ccs);
    g->registered = lac_interpose_is_registered(g) != 0;
    return !lac_interpose_dense_streak(ctx, g, 1, 0) && lac_try_gemm(ctx, g);
}

static inline int try_sgemm(lac_ctx_t *ctx, int ta, int tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                            float alpha, const float *a, lac_inc_t lda, const float *b, lac_inc_t ldb,
                            float beta, float *c, lac_inc_t ldc, const char *symbol, const void *caller)
{
    lac_gemm_args_t g = colmajor_args(ta, tb, m, n, k, a, lda, b, ldb, c, ldc);
    g.alpha = &alpha, g.beta = &beta;
    g.symbol = symbol, g.caller = caller;
    return try_gemm(ctx, &g);
}

/* y := beta y + alpha op(A) x, A stored m x n. */
static inline int try_sgemv(lac_ctx_t *ctx, int ta, lac_dim_t m, lac_dim_t n, float alpha, const float *a,
                            lac_inc_t lda, const float *x, lac_inc_t incx, float beta, float *y,
                            lac_inc_t incy)
{
    lac_dim_t rows = ta ? n : m, cols = ta ? m : n;
    lac_gemm_args_t g = colmajor_args(ta, 0, rows, 1, cols, a, lda, NULL, 1, NULL, 1);
    g.b = (lac_matrix_args_t){.buf = incx < 0 ? x + (1 - cols) * incx : x, .rs = incx, .cs = 1};
    g.c = incy < 0 ? y + (1 - rows) * incy : y;
    g.crs = incy;
    g.alpha = &alpha, g.beta = &beta;
    g.symbol = "sgemv_";
    return try_gemm(ctx, &g);
}

#endif
