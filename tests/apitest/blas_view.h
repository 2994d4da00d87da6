/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A problem's product as a column-major BLAS takes it. */
#ifndef TOOL_BLAS_VIEW_H
#define TOOL_BLAS_VIEW_H

#include "operand_set.h"

/* Where C is stored by rows this is its transpose: op(B)' op(A)', with b and a in each other's place. */
typedef struct blas_view {
    lac_trans_t ta, tb;
    lac_dim_t m, n, k;
    const float *a, *b;
    float *c;
    lac_inc_t lda, ldb, ldc;
    bool transposed; /* it is */
} blas_view_t;

/* False where there is none: an operand is binary, sparse only or empty, or has no stride of 1 beside a
 * leading dimension that is long enough. */
bool blas_view(blas_view_t *view, const operand_set_t *set);

/* The same of one operand: f32 in a buffer, with elements. */
bool blas_takes(const lac_obj_t *x);

#endif
