/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The routines for a process without a BLAS: checks and reports as netlib's, the product by the core. */
#include "fallback.h"

#include "lacuna/context.h"

#include <stdio.h>
#include <string.h>

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

/* The routines, for values of any type, and the parameters that a row-major C call hands to the Fortran one
 * exchanged. */
static const struct {
    char name[8];
    int pairs, exchanged[3][2];
} routines[] = {[BLAS_GEMM] = {"?GEMM ", 3, {{1, 2}, {3, 4}, {8, 10}}},
                [BLAS_GEMV] = {"?GEMV ", 1, {{2, 3}}},
                [BLAS_SYRK] = {"?SYRK ", 0, {{0}}},
                [BLAS_SYMM] = {"?SYMM ", 1, {{3, 4}}}};

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

/* Of a symmetric x of which one triangle is stored, an element of the other one lies mirrored. */
static double value_at(const lac_matrix_args_t *x, unsigned triangle, int64_t i, int64_t j)
{
    bool stored = lac_triangle_holds((lac_triangle_t)(triangle & 3), i, j);
    int64_t at = stored ? i * x->rs + j * x->cs : j * x->rs + i * x->cs;
    return x->dt == LAC_F64 ? ((const double *)x->buf)[at] : (double)((const float *)x->buf)[at];
}

/* When even the core cannot (out of memory): slow, and needs nothing. */
static void plain_product(const lac_gemm_args_t *g)
{
    double alpha = lac_scalar(g->alpha, g->dt, 1.0), beta = lac_scalar(g->beta, g->dt, 0.0);
    const lac_matrix_args_t c = {.buf = g->c, .rs = g->crs, .cs = g->ccs, .dt = g->dt};
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < g->m; i++) {
            if (!lac_triangle_holds((lac_triangle_t)(g->triangles & 3), i, j)) continue;
            double sum = 0.0;
            for (int64_t l = 0; alpha != 0.0 && l < g->k; l++)
                sum += value_at(&g->a, g->triangles >> 2, i, l) * value_at(&g->b, g->triangles >> 4, l, j);
            double value = alpha * sum + (beta == 0.0 ? 0.0 : beta * value_at(&c, 0, i, j));
            if (g->dt == LAC_F64)
                ((double *)g->c)[i * g->crs + j * g->ccs] = value;
            else
                ((float *)g->c)[i * g->crs + j * g->ccs] = (float)value;
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
        char name[8];
        memcpy(name, routines[routine].name, sizeof name);
        name[0] = g->dt == LAC_F64 ? 'D' : 'S';
        report(name, g->symbol, callers_parameter(verdict, order, routine), order);
        return;
    }
    if (routine == BLAS_GEMV && (g->m == 0 || g->k == 0))
        return; /* unlike a product of matrices, y is left alone when the other extent is 0 */
    lac_ctx_t *own = NULL, *ctx = borrow_ctx(&own);
    if (!ctx || lac_compute_gemm(ctx, g) != LAC_OK) plain_product(g);
    lac_ctx_free(own);
}
