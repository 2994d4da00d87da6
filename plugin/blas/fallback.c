/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The routines for a process without a BLAS: checks and reports as netlib's, the product by the core. */
#include "fallback.h"

#include "lacuna/context.h"
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

/* The routines, and the parameters that a row-major C call hands to the Fortran one exchanged. */
static const struct {
    const char *name;
    int pairs, exchanged[3][2];
} routines[] = {
    [BLAS_SGEMM] = {"SGEMM ", 3, {{1, 2}, {3, 4}, {8, 10}}}, [BLAS_SGEMV] = {"SGEMV ", 1, {{2, 3}}}};

/* A parameter's number in the call that the program made. */
static int callers_parameter(int parameter, int order, blas_routine_t routine)
{
    if (order == 0) return parameter;
    if (order != CBLAS_ROW_MAJOR && order != CBLAS_COL_MAJOR) return 1;
    for (int i = 0; order == CBLAS_ROW_MAJOR && i < routines[routine].pairs; i++) {
        const int *pair = routines[routine].exchanged[i];
        if (parameter == pair[0]) return pair[1] + 1;
        if (parameter == pair[1]) return pair[0] + 1;
    }
    return parameter + 1;
}

/* When even the core cannot (out of memory): slow, and needs nothing. */
static void plain_product(const lac_gemm_args_t *g)
{
    const float *a = g->a.buf, *b = g->b.buf;
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < g->m; i++) {
            float sum = 0, *c = &g->c[i * g->crs + j * g->ccs];
            for (int64_t l = 0; *g->alpha != 0 && l < g->k; l++)
                sum += a[i * g->a.rs + l * g->a.cs] * b[l * g->b.rs + j * g->b.cs];
            *c = *g->alpha * sum + (*g->beta == 0 ? 0 : *g->beta * *c);
        }
}

/* This thread's context; or, under LACUNA_DISABLE, one of its own for one call. */
static lac_ctx_t *borrow_ctx(lac_ctx_t **own)
{
    lac_ctx_t *ctx = lac_thread_ctx();
    if (!ctx && lac_ctx_create(own) == LAC_OK) ctx = *own;
    return ctx;
}

void last_resort(const lac_gemm_args_t *g, int verdict, blas_routine_t routine, int order)
{
    if (verdict > 0) {
        report(routines[routine].name, g->symbol, callers_parameter(verdict, order, routine), order);
        return;
    }
    if (routine == BLAS_SGEMV && (g->m == 0 || g->k == 0))
        return; /* unlike sgemm, y is left alone when the other extent is 0 */
    lac_ctx_t *own = NULL, *ctx = borrow_ctx(&own);
    if (!ctx || lac_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, g->m, g->n, g->k, *g->alpha, g->a.buf, g->a.rs,
                          g->a.cs, g->b.buf, g->b.rs, g->b.cs, *g->beta, g->c, g->crs, g->ccs) != LAC_OK)
        plain_product(g);
    lac_ctx_free(own);
}
