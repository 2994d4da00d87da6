/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The system BLAS, found at run time. */
#ifndef LACUNA_BASE_VENDOR_H
#define LACUNA_BASE_VENDOR_H

#include <stddef.h>
#include <stdint.h>

/* sgemm_ and sgemv_ of the reference interface with 32-bit integers; the hidden character lengths are passed
 * because some compilers' BLAS expects them, and no other minds. */
typedef void (*lac_sgemm_fn)(const char *ta, const char *tb, const int32_t *m, const int32_t *n,
                             const int32_t *k, const float *alpha, const float *a, const int32_t *lda,
                             const float *b, const int32_t *ldb, const float *beta, float *c,
                             const int32_t *ldc, size_t ta_length, size_t tb_length);
typedef void (*lac_sgemv_fn)(const char *ta, const int32_t *m, const int32_t *n, const float *alpha,
                             const float *a, const int32_t *lda, const float *x, const int32_t *incx,
                             const float *beta, float *y, const int32_t *incy, size_t ta_length);

typedef struct lac_blas {
    lac_sgemm_fn sgemm; /* NULL: no BLAS was found */
    lac_sgemv_fn sgemv;
    char name[256];    /* the file that was opened, or "" */
    char version[128]; /* as the library tells it, or "" */
    char missing[256]; /* why there is none, or "" */
} lac_blas_t;

/* The process's BLAS: LACUNA_BLAS, or the first of OpenBLAS, BLIS, MKL and libblas that opens and is not a
 * drop-in library of ours. Looked for once; the answer lives for ever. */
const lac_blas_t *lac_blas(void);

#endif
