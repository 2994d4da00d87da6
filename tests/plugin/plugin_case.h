/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Every entry point of the drop-in BLAS as a row, calls through any of them, and the right answers.
 *
 * Mathematics: C := beta C + alpha op(A) op(B), summed here in double by the definition; B is a vector, or
 * op(A)' (and one triangle of C is meant), or A is symmetric. Inputs are small integers over a power of two,
 * so that every order of summation gives the same number, of either type. */
#ifndef LACUNA_PLUGIN_CASE_H
#define LACUNA_PLUGIN_CASE_H

#include <stdbool.h>
#include <stdint.h>

/* Of each kind the call of floats and that of doubles; the Fortran calls, then the C ones. */
typedef enum plugin_shape {
    SHAPE_SGEMM,
    SHAPE_DGEMM,
    SHAPE_SGEMV,
    SHAPE_DGEMV,
    SHAPE_SSYRK,
    SHAPE_DSYRK,
    SHAPE_SSYMM,
    SHAPE_DSYMM,
    SHAPE_CBLAS_SGEMM,
    SHAPE_CBLAS_DGEMM,
    SHAPE_CBLAS_SGEMV,
    SHAPE_CBLAS_DGEMV,
    SHAPE_CBLAS_SSYRK,
    SHAPE_CBLAS_DSYRK,
    SHAPE_CBLAS_SSYMM,
    SHAPE_CBLAS_DSYMM
} plugin_shape_t;

typedef enum plugin_kind { KIND_GEMM, KIND_GEMV, KIND_SYRK, KIND_SYMM, KIND_COUNT } plugin_kind_t;

typedef struct plugin_symbol {
    const char *name;
    plugin_shape_t shape;
    bool wide; /* 64-bit integers */
} plugin_symbol_t;

static inline plugin_kind_t plugin_kind(const plugin_symbol_t *symbol)
{
    return (plugin_kind_t)(symbol->shape / 2 % KIND_COUNT);
}
static inline bool plugin_is_fortran(const plugin_symbol_t *symbol)
{
    return symbol->shape < SHAPE_CBLAS_SGEMM;
}
static inline bool plugin_is_double(const plugin_symbol_t *symbol)
{
    return symbol->shape % 2;
}

extern const plugin_symbol_t plugin_symbols[];
extern const int plugin_symbol_count;

enum { CASE_MAX = 4096 }; /* elements of each operand */

/* One call. Row-major where order is 101. Of gemv, B is x (step ldb) and C is y (step ldc), A is m x n. Of
 * syrk, ta is uplo and tb trans, and neither m nor B is there. Of symm, ta is side and tb uplo. */
typedef struct plugin_case {
    int order; /* 101, 102; Fortran calls are always 102 */
    char ta, tb;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta; /* numbers that floats hold, whatever the symbol's type */
    double a[CASE_MAX], b[CASE_MAX], c[CASE_MAX], want[CASE_MAX];
} plugin_case_t;

/* Calls fn, a function of the symbol's shape and width. Narrow integers of C calls carry rubbish in the upper
 * half of their slots, as the ABI allows. */
void plugin_case_call(plugin_case_t *p, const plugin_symbol_t *symbol, void *fn);

/* How many elements of C are not the wanted ones; NaN counts. */
int plugin_case_wrong(const plugin_case_t *p);

/* The i-th of a round of cases (orders, letters, extents, steps, scalars), for a symbol; false past the last.
 */
bool plugin_case_make(plugin_case_t *p, const plugin_symbol_t *symbol, int i);

#endif
