/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the tests of the host kernels share: operands, a plain reference in long double, comparisons that NaN
 * fails.
 */
#ifndef LACUNA_TESTS_KERNEL_CASE_H
#define LACUNA_TESTS_KERNEL_CASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host_kernels.h"
#include "real.h" /* real_t: each test is compiled once per type of values */

/* The kernels of instruction set number i that this machine has, or NULL past the last one. */
const lac_host_kernels_t *kernel_isa(int i);

/* One product: S m x kk (at s[i * kk + k]), W kk x n (at w[k * n + j]), out m x n at rs, cs. */
typedef struct kernel_case {
    const char *isa;
    int64_t m, kk, n;
    double density;
    real_t alpha, beta;
    int layout;    /* of out: 0 row-major, 1 column-major, 2 gaps in both directions */
    bool specials; /* S has a NaN, W has Inf at every k without an event, and at one more */
    uint64_t seed;

    int64_t rs, cs, extent; /* of out; extent is its length in values */
    real_t *s, *w, *before; /* before: out as the call finds it */
} kernel_case_t;

/* Fills the operands from the parameters above; W is all NaN-free, out is NaN where beta == 0. */
void case_build(kernel_case_t *c);
void case_free(kernel_case_t *c);
/* A copy of the untouched out. */
real_t *case_out(const kernel_case_t *c);
/* A factor as the kernels take it. */
#define CASE_SCALAR(x) lac_host_scalar(REAL_TYPE, (double)(x))
/* One of them as a kernel's output. */
#define CASE_OUTPUT(c, out)                                                                                  \
    (&(lac_host_output_t){CASE_SCALAR((c)->alpha), CASE_SCALAR((c)->beta), (out), (c)->rs, (c)->cs})
/* Fails, printing the case, unless `out` is the product of rows [i0, i1) and columns [j0, j1) within the
 * rounding of one multiply-add per event, and every other element and gap is untouched. */
void case_check(const kernel_case_t *c, const real_t *out, int64_t i0, int64_t i1, int64_t j0, int64_t j1);
/* Fails unless two results are bitwise the same. */
void case_same(const kernel_case_t *c, const real_t *a, const real_t *b, const char *what);

/* How the kernels say that they sum. */
enum case_order { ORDER_RUNS, ORDER_BLOCKS, ORDER_LANE_OF_ENTRY, ORDER_LANE_OF_K };
/* The product, rounded step by step in that order. */
real_t *case_exact(const kernel_case_t *c, enum case_order order);

/* A copy of S or W at other strides: element (r, c) of the rows x cols source at [r * rs + c * cs]. */
real_t *strided_copy(const real_t *from, int64_t rows, int64_t cols, int64_t rs, int64_t cs);
uint64_t next_random(uint64_t *state);

/* Event list, CSR and bitmask of c->s, made by plain loops. */
lac_events_t *case_events(const kernel_case_t *c, int64_t fragments);
void events_free(lac_events_t *ev, int64_t fragments);
lac_rows_t case_rows(const kernel_case_t *c);
void rows_free(lac_rows_t *r);
lac_bits_t case_bits(const kernel_case_t *c);
void bits_free(lac_bits_t *b);

/* Runs `body` for instruction sets x awkward shapes x scalars x layouts. */
void for_each_case(void (*body)(const lac_host_kernels_t *, kernel_case_t *));

#endif
