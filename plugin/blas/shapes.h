/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The shapes of the BLAS calls: their parameters, once for entry points, handlers and forwarding pointers.
 *
 * Fortran integers are read through a pointer whose width the symbol (or the BLAS behind it) decides. The C
 * calls take every integer as a 64-bit slot: on the 64-bit ABIs an int occupies such a slot with undefined
 * upper bits, so passing slots on verbatim serves BLASes of either width, and only the reader narrows.
 * Fortran callers append the length of each CHARACTER argument; they are always passed on, as 1. */
#ifndef LACUNA_PLUGIN_BLAS_SHAPES_H
#define LACUNA_PLUGIN_BLAS_SHAPES_H

#include <stddef.h>
#include <stdint.h>

_Static_assert(sizeof(void *) == 8, "the C entry points rely on 64-bit argument slots");

#define SGEMM_PARAMS                                                                                         \
    const char *ta, const char *tb, const void *m, const void *n, const void *k, const float *alpha,         \
        const float *a, const void *lda, const float *b, const void *ldb, const float *beta, float *c,       \
        const void *ldc
#define SGEMM_ARGS ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

#define SGEMV_PARAMS                                                                                         \
    const char *ta, const void *m, const void *n, const float *alpha, const float *a, const void *lda,       \
        const float *x, const void *incx, const float *beta, float *y, const void *incy
#define SGEMV_ARGS ta, m, n, alpha, a, lda, x, incx, beta, y, incy

#define CBLAS_SGEMM_PARAMS                                                                                   \
    int order, int ta, int tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,    \
        const float *b, int64_t ldb, float beta, float *c, int64_t ldc
#define CBLAS_SGEMM_ARGS order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

#define CBLAS_SGEMV_PARAMS                                                                                   \
    int order, int ta, int64_t m, int64_t n, float alpha, const float *a, int64_t lda, const float *x,       \
        int64_t incx, float beta, float *y, int64_t incy
#define CBLAS_SGEMV_ARGS order, ta, m, n, alpha, a, lda, x, incx, beta, y, incy

typedef void sgemm_fn(SGEMM_PARAMS, size_t ta_len, size_t tb_len);
typedef void sgemv_fn(SGEMV_PARAMS, size_t ta_len);
typedef void cblas_sgemm_fn(CBLAS_SGEMM_PARAMS);
typedef void cblas_sgemv_fn(CBLAS_SGEMV_PARAMS);

enum { CBLAS_ROW_MAJOR = 101, CBLAS_COL_MAJOR = 102 };
enum { CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112, CBLAS_CONJ_TRANS = 113 };

#endif
