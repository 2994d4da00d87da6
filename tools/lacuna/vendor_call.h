/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The same product straight from the system BLAS, as a program without Lacuna would call it. */
#ifndef TOOL_VENDOR_CALL_H
#define TOOL_VENDOR_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "operands.h"

#define ROUTE_VENDOR "vendor" /* its name in lists of routes; not a route of the library */
#define ROUTE_GEMV   "gemv" /* the same where a program would call sgemv for a product of one row or column */

typedef struct vendor_call {
    void *function;           /* sgemm_ or sgemv_, dgemm_ or dgemv_ */
    const operand_set_t *set; /* has the scalars; it stays where it is */
    bool gemv;
    char ta, tb;
    int32_t m, n, k, lda, ldb, ldc; /* gemv: ldb and ldc are the increments of x and y */
    const void *a, *b;
    void *c;
} vendor_call_t;

/* Describes the call for plain operands. NULL when it can be made; otherwise why it cannot (static text). */
const char *vendor_call_make(vendor_call_t *call, const operand_set_t *set);

/* The matrix-vector product that gives the same C. Where the problem is no product of one row or one column,
 * or sgemv cannot say its strides, it returns why. */
const char *vendor_call_make_gemv(vendor_call_t *call, const operand_set_t *set);

void vendor_call_run(const vendor_call_t *v);

#endif
