/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What bench/first_calls.c needs of a BLAS: first_calls_blas.c, or gpu/first_calls_cublas.c on a device. */
#ifndef LACUNA_BENCH_FIRST_CALLS_H
#define LACUNA_BENCH_FIRST_CALLS_H

#include <stdbool.h>
#include <stddef.h>

/* C := op(A) op(B), column-major. */
typedef struct product {
    int m, n, k;
    bool ta, tb;
    const float *a, *b;
    float *c;
} product_t;

enum { THROUGH, DIRECT }; /* the symbol as the linker binds it, and the vendor library's own */

/* Opens the vendor library for the whole process. False, with a message, where it cannot be used. */
bool blas_open(const char *library);

/* A copy of the array where the BLAS reads it; `from` NULL: zeroed. NULL without memory. */
float *blas_array(const float *from, size_t count);

/* One call, until its result is there. */
void blas_call(const product_t *p, int way);

#endif
