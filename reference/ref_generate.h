/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operands with a given structure of zeros, the same on every platform.
 *
 * Whether element (i, j) is a nonzero, and its value, are functions of seed, pattern, extents, i and j alone
 * (a counter-based generator, integer and exact or correctly rounded arithmetic, no libm): strides, order
 * of filling and threads do not matter, and one element can be known without the others. */
#ifndef REF_GENERATE_H
#define REF_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "ref_matrix.h"
#include "ref_problem.h"

/* Writes every element of x (never the padding). For LAC_U8 a nonzero is 1 with REF_ONES and any byte in
 * 1 .. 255 with the other kinds. False: out of memory. */
bool ref_fill(ref_matrix_t *x, const ref_pattern_t *pattern, uint64_t seed);

/* The operands of one problem, as stored: structure was laid along op(A), op(B). They are dense here even
 * where the problem says "only"; ref_sparse.h makes the sparse formats. */
typedef struct ref_case {
    ref_matrix_t a, b, c;
} ref_case_t;

/* Allocates and fills. C is poison when beta is 0, so that reading it, or not writing it, shows. guard is
 * for C; A and B have none (see ref_matrix_alloc). False: out of memory, *out is empty. */
bool ref_case_make(ref_case_t *out, const ref_problem_t *problem, int64_t guard);

/* Accepts an empty case and NULL. */
void ref_case_free(ref_case_t *operands);

#endif
