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

/* The parameters of each kind of call, for values of type `real`, and their names. The C calls bring scalars
 * by value. */
#define GEMM_PARAMS(real)                                                                                    \
    const char *ta, const char *tb, const void *m, const void *n, const void *k, const real *alpha,          \
        const real *a, const void *lda, const real *b, const void *ldb, const real *beta, real *c,           \
        const void *ldc
#define GEMM_ARGS ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

#define GEMV_PARAMS(real)                                                                                    \
    const char *ta, const void *m, const void *n, const real *alpha, const real *a, const void *lda,         \
        const real *x, const void *incx, const real *beta, real *y, const void *incy
#define GEMV_ARGS ta, m, n, alpha, a, lda, x, incx, beta, y, incy

#define CBLAS_GEMM_PARAMS(real, scalar)                                                                      \
    int order, int ta, int tb, int64_t m, int64_t n, int64_t k, scalar alpha, const real *a, int64_t lda,    \
        const real *b, int64_t ldb, scalar beta, real *c, int64_t ldc
#define CBLAS_GEMM_ARGS(alpha, beta) order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

#define CBLAS_GEMV_PARAMS(real, scalar)                                                                      \
    int order, int ta, int64_t m, int64_t n, scalar alpha, const real *a, int64_t lda, const real *x,        \
        int64_t incx, scalar beta, real *y, int64_t incy
#define CBLAS_GEMV_ARGS(alpha, beta) order, ta, m, n, alpha, a, lda, x, incx, beta, y, incy

/* Of one triangle of C := .. A A' or A' A, and of products of a symmetric matrix. */
#define SYRK_PARAMS(real)                                                                                    \
    const char *uplo, const char *trans, const void *n, const void *k, const real *alpha, const real *a,     \
        const void *lda, const real *beta, real *c, const void *ldc
#define SYRK_ARGS uplo, trans, n, k, alpha, a, lda, beta, c, ldc

#define SYMM_PARAMS(real)                                                                                    \
    const char *side, const char *uplo, const void *m, const void *n, const real *alpha, const real *a,      \
        const void *lda, const real *b, const void *ldb, const real *beta, real *c, const void *ldc
#define SYMM_ARGS side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc

#define CBLAS_SYRK_PARAMS(real, scalar)                                                                      \
    int order, int uplo, int trans, int64_t n, int64_t k, scalar alpha, const real *a, int64_t lda,          \
        scalar beta, real *c, int64_t ldc
#define CBLAS_SYRK_ARGS(alpha, beta) order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc

#define CBLAS_SYMM_PARAMS(real, scalar)                                                                      \
    int order, int side, int uplo, int64_t m, int64_t n, scalar alpha, const real *a, int64_t lda,           \
        const real *b, int64_t ldb, scalar beta, real *c, int64_t ldc
#define CBLAS_SYMM_ARGS(alpha, beta) order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc

/* The shapes of symbols.def: a kind of call and a type. */
#define SGEMM_PARAMS       GEMM_PARAMS(float)
#define DGEMM_PARAMS       GEMM_PARAMS(double)
#define SGEMV_PARAMS       GEMV_PARAMS(float)
#define DGEMV_PARAMS       GEMV_PARAMS(double)
#define SSYRK_PARAMS       SYRK_PARAMS(float)
#define DSYRK_PARAMS       SYRK_PARAMS(double)
#define SSYMM_PARAMS       SYMM_PARAMS(float)
#define DSYMM_PARAMS       SYMM_PARAMS(double)
#define CBLAS_SGEMM_PARAMS CBLAS_GEMM_PARAMS(float, float)
#define CBLAS_DGEMM_PARAMS CBLAS_GEMM_PARAMS(double, double)
#define CBLAS_SGEMV_PARAMS CBLAS_GEMV_PARAMS(float, float)
#define CBLAS_DGEMV_PARAMS CBLAS_GEMV_PARAMS(double, double)
#define CBLAS_SSYRK_PARAMS CBLAS_SYRK_PARAMS(float, float)
#define CBLAS_DSYRK_PARAMS CBLAS_SYRK_PARAMS(double, double)
#define CBLAS_SSYMM_PARAMS CBLAS_SYMM_PARAMS(float, float)
#define CBLAS_DSYMM_PARAMS CBLAS_SYMM_PARAMS(double, double)

/* Fortran calls of every type are alike. */
typedef void gemm_fn(GEMM_PARAMS(void), size_t ta_len, size_t tb_len);
typedef void gemv_fn(GEMV_PARAMS(void), size_t ta_len);
typedef void syrk_fn(SYRK_PARAMS(void), size_t uplo_len, size_t trans_len);
typedef void symm_fn(SYMM_PARAMS(void), size_t side_len, size_t uplo_len);
typedef void sgemm_fn(SGEMM_PARAMS, size_t ta_len, size_t tb_len);
typedef void dgemm_fn(DGEMM_PARAMS, size_t ta_len, size_t tb_len);
typedef void sgemv_fn(SGEMV_PARAMS, size_t ta_len);
typedef void dgemv_fn(DGEMV_PARAMS, size_t ta_len);
typedef void ssyrk_fn(SSYRK_PARAMS, size_t uplo_len, size_t trans_len);
typedef void dsyrk_fn(DSYRK_PARAMS, size_t uplo_len, size_t trans_len);
typedef void ssymm_fn(SSYMM_PARAMS, size_t side_len, size_t uplo_len);
typedef void dsymm_fn(DSYMM_PARAMS, size_t side_len, size_t uplo_len);
typedef void cblas_sgemm_fn(CBLAS_SGEMM_PARAMS);
typedef void cblas_dgemm_fn(CBLAS_DGEMM_PARAMS);
typedef void cblas_sgemv_fn(CBLAS_SGEMV_PARAMS);
typedef void cblas_dgemv_fn(CBLAS_DGEMV_PARAMS);
typedef void cblas_ssyrk_fn(CBLAS_SSYRK_PARAMS);
typedef void cblas_dsyrk_fn(CBLAS_DSYRK_PARAMS);
typedef void cblas_ssymm_fn(CBLAS_SSYMM_PARAMS);
typedef void cblas_dsymm_fn(CBLAS_DSYMM_PARAMS);

enum { CBLAS_ROW_MAJOR = 101, CBLAS_COL_MAJOR = 102 };
enum { CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112, CBLAS_CONJ_TRANS = 113 };
enum { CBLAS_UPPER = 121, CBLAS_LOWER = 122, CBLAS_LEFT = 141, CBLAS_RIGHT = 142 };

#endif
