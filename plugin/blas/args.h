/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * BLAS arguments read into plain, column-major terms. */
#ifndef LACUNA_PLUGIN_BLAS_ARGS_H
#define LACUNA_PLUGIN_BLAS_ARGS_H

#include "shapes.h"
#include "common/colmajor_args.h"

#include "lacuna/types.h"

/* C := beta C + alpha op(A) op(B), column-major; ta and tb are lac_trans_t or BAD_TRANS. */
typedef struct sgemm_args {
    bool by_rows; /* the caller wrote it row-major: C' = op(B)' op(A)' */
    int ta, tb;
    int64_t m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
} sgemm_args_t;

/* y := beta y + alpha op(A) x, A stored m x n, column-major. */
typedef struct sgemv_args {
    int ta;
    int64_t m, n;
    float alpha, beta;
    const float *a, *x;
    float *y;
    int64_t lda, incx, incy;
} sgemv_args_t;

static inline int64_t read_integer(const void *p, bool wide)
{
    return wide ? *(const int64_t *)p : *(const int32_t *)p;
}

/* Real data: the conjugate transpose is the transpose. */
static inline int read_letter(char letter)
{
    switch (letter) {
    case 'N':
    case 'n':
        return LAC_NO_TRANS;
    case 'T':
    case 't':
    case 'C':
    case 'c':
        return LAC_TRANS;
    default:
        return BAD_TRANS;
    }
}

static inline int read_cblas_trans(int trans)
{
    return trans == CBLAS_NO_TRANS                             ? LAC_NO_TRANS
           : trans == CBLAS_TRANS || trans == CBLAS_CONJ_TRANS ? LAC_TRANS
                                                               : BAD_TRANS;
}

static inline sgemm_args_t read_sgemm(bool wide, SGEMM_PARAMS)
{
    return (sgemm_args_t){.ta = read_letter(*ta),
                          .tb = read_letter(*tb),
                          .m = read_integer(m, wide),
                          .n = read_integer(n, wide),
                          .k = read_integer(k, wide),
                          .alpha = *alpha,
                          .beta = *beta,
                          .a = a,
                          .b = b,
                          .c = c,
                          .lda = read_integer(lda, wide),
                          .ldb = read_integer(ldb, wide),
                          .ldc = read_integer(ldc, wide)};
}

static inline sgemv_args_t read_sgemv(bool wide, SGEMV_PARAMS)
{
    return (sgemv_args_t){.ta = read_letter(*ta),
                          .m = read_integer(m, wide),
                          .n = read_integer(n, wide),
                          .alpha = *alpha,
                          .beta = *beta,
                          .a = a,
                          .x = x,
                          .y = y,
                          .lda = read_integer(lda, wide),
                          .incx = read_integer(incx, wide),
                          .incy = read_integer(incy, wide)};
}

/* A row-major product is the column-major product of the transposes: C' = op(B)' op(A)'. An order that is
 * neither reads as a bad trans, so that the call counts as not understood. */
static inline sgemm_args_t read_cblas_sgemm(bool wide, CBLAS_SGEMM_PARAMS)
{
    bool rows = order == CBLAS_ROW_MAJOR;
    bool known = rows || order == CBLAS_COL_MAJOR;
    int left = known ? read_cblas_trans(ta) : BAD_TRANS, right = read_cblas_trans(tb);
    return (sgemm_args_t){.by_rows = rows,
                          .ta = rows ? right : left,
                          .tb = rows ? left : right,
                          .m = read_slot(rows ? n : m, wide),
                          .n = read_slot(rows ? m : n, wide),
                          .k = read_slot(k, wide),
                          .alpha = alpha,
                          .beta = beta,
                          .a = rows ? b : a,
                          .b = rows ? a : b,
                          .c = c,
                          .lda = read_slot(rows ? ldb : lda, wide),
                          .ldb = read_slot(rows ? lda : ldb, wide),
                          .ldc = read_slot(ldc, wide)};
}

static inline sgemv_args_t read_cblas_sgemv(bool wide, CBLAS_SGEMV_PARAMS)
{
    bool rows = order == CBLAS_ROW_MAJOR;
    bool known = rows || order == CBLAS_COL_MAJOR;
    int trans = known ? read_cblas_trans(ta) : BAD_TRANS;
    return (sgemv_args_t){.ta = rows && trans != BAD_TRANS ? !trans : trans,
                          .m = read_slot(rows ? n : m, wide),
                          .n = read_slot(rows ? m : n, wide),
                          .alpha = alpha,
                          .beta = beta,
                          .a = a,
                          .x = x,
                          .y = y,
                          .lda = read_slot(lda, wide),
                          .incx = read_slot(incx, wide),
                          .incy = read_slot(incy, wide)};
}

/* Whether the BLAS would accept the arguments and do any work for them. Anything else is its own business:
 * it has the quick returns, and the reports that the program may have replaced. */
static inline bool sgemm_is_proper(const sgemm_args_t *g)
{
    return product_is_proper(g->ta, g->tb, g->m, g->n, g->k, g->lda, g->ldb, g->ldc);
}

static inline bool sgemv_is_proper(const sgemv_args_t *g)
{
    return vector_product_is_proper(g->ta, g->m, g->n, g->lda, g->incx, g->incy);
}

#endif
