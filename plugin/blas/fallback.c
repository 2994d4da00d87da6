/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The routines for a process without a BLAS: checks and reports as netlib's, the product by the core. */
#include "fallback.h"

#include "lacuna/context.h"
#include "api/interpose.h"
#include "lacuna/gemm.h"

#include <stdio.h>

/* The program's reporters, or a library's; weak: there may be none. */
extern void xerbla_(const char *routine, const int *parameter, size_t length) __attribute__((weak));
extern void cblas_xerbla(int parameter, const char *routine, const char *format, ...) __attribute__((weak));

static void report(const char *routine, const char *symbol, int parameter, int order)
{
    if (order && cblas_xerbla)
        cblas_xerbla(parameter, symbol, "Illegal argument\n");
    else if (xerbla_)
        xerbla_(routine, &parameter, 6);
    else
        fprintf(stderr, " ** On entry to %6s parameter number %2d had an illegal value\n", routine,
                parameter);
}

static int64_t at_least_one(int64_t x)
{
    return x > 1 ? x : 1;
}

/* The number of the first bad parameter of sgemm_; 0: none. */
static int bad_sgemm_parameter(const sgemm_args_t *g)
{
    if (g->ta == BAD_TRANS) return 1;
    if (g->tb == BAD_TRANS) return 2;
    if (g->m < 0) return 3;
    if (g->n < 0) return 4;
    if (g->k < 0) return 5;
    if (g->lda < at_least_one(g->ta ? g->k : g->m)) return 8;
    if (g->ldb < at_least_one(g->tb ? g->n : g->k)) return 10;
    if (g->ldc < at_least_one(g->m)) return 13;
    return 0;
}

static int bad_sgemv_parameter(const sgemv_args_t *g)
{
    if (g->ta == BAD_TRANS) return 1;
    if (g->m < 0) return 2;
    if (g->n < 0) return 3;
    if (g->lda < at_least_one(g->m)) return 6;
    if (g->incx == 0) return 8;
    if (g->incy == 0) return 11;
    return 0;
}

/* The same parameter's place in the C call, where a row-major call was read with its operands exchanged. */
static int cblas_parameter(int parameter, int order, const int exchanged[][2], int pairs)
{
    if (order == 0) return parameter;
    if (order != CBLAS_ROW_MAJOR && order != CBLAS_COL_MAJOR) return 1;
    for (int i = 0; order == CBLAS_ROW_MAJOR && i < pairs; i++) {
        if (parameter == exchanged[i][0]) return exchanged[i][1] + 1;
        if (parameter == exchanged[i][1]) return exchanged[i][0] + 1;
    }
    return parameter + 1;
}

/* When even the core cannot (out of memory): slow, and needs nothing. */
static void plain_sgemm(const sgemm_args_t *g)
{
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < g->m; i++) {
            float sum = 0, *c = &g->c[i + j * g->ldc];
            for (int64_t l = 0; g->alpha != 0 && l < g->k; l++)
                sum += g->a[g->ta ? l + i * g->lda : i + l * g->lda] *
                       g->b[g->tb ? j + l * g->ldb : l + j * g->ldb];
            *c = g->alpha * sum + (g->beta == 0 ? 0 : g->beta * *c);
        }
}

static const float *first_element(const float *x, int64_t count, int64_t inc)
{
    return inc < 0 ? x - (count - 1) * inc : x;
}

static void plain_sgemv(const sgemv_args_t *g)
{
    int64_t rows = g->ta ? g->n : g->m, cols = g->ta ? g->m : g->n;
    const float *x = first_element(g->x, cols, g->incx);
    float *y = g->y + (first_element(g->y, rows, g->incy) - g->y);
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0, *out = &y[i * g->incy];
        for (int64_t l = 0; g->alpha != 0 && l < cols; l++)
            sum += g->a[g->ta ? l + i * g->lda : i + l * g->lda] * x[l * g->incx];
        *out = g->alpha * sum + (g->beta == 0 ? 0 : g->beta * *out);
    }
}

/* This thread's context; or, under LACUNA_DISABLE, one of its own for one call. */
static lac_ctx_t *borrow_ctx(lac_ctx_t **own)
{
    lac_ctx_t *ctx = lac_thread_ctx();
    if (!ctx && lac_ctx_create(own) == LAC_OK) ctx = *own;
    return ctx;
}

void last_resort_sgemm(const sgemm_args_t *g, const char *symbol, int order)
{
    static const int exchanged[][2] = {{1, 2}, {3, 4}, {8, 10}};
    int bad = bad_sgemm_parameter(g);
    if (bad) {
        report("SGEMM ", symbol, cblas_parameter(bad, order, exchanged, 3), order);
        return;
    }
    lac_ctx_t *own = NULL, *ctx = borrow_ctx(&own);
    if (!ctx || lac_sgemm(ctx, (lac_trans_t)g->ta, (lac_trans_t)g->tb, g->m, g->n, g->k, g->alpha, g->a, 1,
                          g->lda, g->b, 1, g->ldb, g->beta, g->c, 1, g->ldc) != LAC_OK)
        plain_sgemm(g);
    lac_ctx_free(own);
}

void last_resort_sgemv(const sgemv_args_t *g, const char *symbol, int order)
{
    static const int exchanged[][2] = {{2, 3}};
    int bad = bad_sgemv_parameter(g);
    if (bad) {
        report("SGEMV ", symbol, cblas_parameter(bad, order, exchanged, 1), order);
        return;
    }
    if (g->m == 0 || g->n == 0) return; /* unlike sgemm, y is left alone when the other extent is 0 */
    lac_ctx_t *own = NULL, *ctx = borrow_ctx(&own);
    if (!ctx || lac_sgemv(ctx, (lac_trans_t)g->ta, g->m, g->n, g->alpha, g->a, 1, g->lda, g->x, g->incx,
                          g->beta, g->y, g->incy) != LAC_OK)
        plain_sgemv(g);
    lac_ctx_free(own);
}
