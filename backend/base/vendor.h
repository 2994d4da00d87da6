/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The process's BLAS, found at run time. */
#ifndef LACUNA_BASE_VENDOR_H
#define LACUNA_BASE_VENDOR_H

#include "lacuna/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sgemm_ and sgemv_ of the reference interface, or dgemm_ and dgemv_: values and scalars are of the call's
 * type. Integers have 64 bits in memory, and values that fit 32: a
 * BLAS with 32-bit integers reads the lower half, which on a little-endian machine comes first. The hidden
 * character lengths are passed because some compilers' BLAS expects them, and no other minds. */
typedef void (*lac_gemm_fn)(const char *ta, const char *tb, const int64_t *m, const int64_t *n,
                            const int64_t *k, const void *alpha, const void *a, const int64_t *lda,
                            const void *b, const int64_t *ldb, const void *beta, void *c, const int64_t *ldc,
                            size_t ta_length, size_t tb_length);
typedef void (*lac_gemv_fn)(const char *ta, const int64_t *m, const int64_t *n, const void *alpha,
                            const void *a, const int64_t *lda, const void *x, const int64_t *incx,
                            const void *beta, void *y, const int64_t *incy, size_t ta_length);

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a BLAS reads the lower half of an integer first");

typedef struct lac_blas {
    lac_gemm_fn gemm[2]; /* of float and of double; NULL: no BLAS was found, or it has none of that type */
    lac_gemv_fn gemv[2];
    char name[256];    /* the file that was opened, or "" */
    char version[128]; /* as the library reports it, or "" */
    char missing[256]; /* why there is none, or "" */
} lac_blas_t;

/* The process's BLAS: the one that LACUNA_BLAS names; else the first that is loaded already; else the first
 * of OpenBLAS, BLIS, MKL and libblas that opens. Never a drop-in library of ours. Searched for once, by the
 * first call, and kept loaded; the answer lives for ever. */
const lac_blas_t *lac_blas(void);

/* False where a BLAS is wanted and none can be loaded: in a fully static executable, unless LACUNA_BLAS is
 * "none". */
bool lac_blas_can_load(void);

/* Whether a path is that of a BLAS library, judged by the file's name. */
LAC_API int lac_is_blas(const char *path);

/* The same of a vendor's library that multiplies within algorithms of its own (cuBLAS, cuSOLVER, oneMKL): its
 * calls of a BLAS are left alone. */
LAC_API int lac_is_vendor(const char *path);

/* A symbol of the BLAS that the dense route uses (LACUNA_BLAS, one that is loaded, or one that is opened
 * now), never one of a Lacuna drop-in library; NULL when there is none. The fallback of a drop-in library
 * with no BLAS behind it. */
LAC_API void *lac_blas_symbol(const char *name);

#endif
