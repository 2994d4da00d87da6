/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the tests of row slices share: a random operand in CSR with its dense contents, contexts, a reference.
 */
#ifndef SLICE_CASE_H
#define SLICE_CASE_H

#include "unit_support.h"

enum { SLICE_CONTEXTS = 3 }; /* with 1, 2 and 3 threads */

typedef struct slice_case {
    int64_t m, n, nnz;
    lac_index_t it;     /* of the attached arrays */
    void *ptr, *idx;    /* of that type           */
    int64_t *first;     /* [m + 1] as ptr         */
    int32_t *column;    /* [nnz] as idx           */
    float *val, *dense; /* dense: m x n by rows   */
    lac_obj_t a;        /* sparse only            */
} slice_case_t;

/* The contexts, made once. */
lac_ctx_t *slice_ctx(int i);
void slice_ctx_free(void);

/* An m x n operand of about this density, some rows empty and one full, attached as CSR. With `values` false
 * the CSR has none. */
void slice_case_make(slice_case_t *c, int64_t m, int64_t n, double density, lac_index_t it, bool values,
                     uint64_t *random);
void slice_case_free(slice_case_t *c);

/* Rows as int64_t, in a type of the caller's; freed by the caller. */
void *slice_list(lac_index_t it, const int64_t *rows, int64_t count);

/* count x n floats that no slice should leave, or a random gradient; freed by the caller. */
float *slice_poison(int64_t count);
float *slice_random(int64_t count, uint64_t *random);

/* The slice in double from values of the caller's: out[i * n + j]. */
void slice_reference(const slice_case_t *c, const double *val, const int64_t *rows, int64_t count,
                     double *out);

/* Slices with every context and both index types, and fails unless each row is that of the dense contents, to
 * the bit. The rows are in range. */
void slice_expect_rows(const slice_case_t *c, const int64_t *rows, int64_t count, const char *what);

#endif
