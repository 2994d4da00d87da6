/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cheap verdict on a timed result, so that the speed of a wrong kernel is never reported: every element
 * against the baseline's result, and some elements against a product in double.
 *
 * The tolerance of an element is 2 (k + 2) 2^-24 times |alpha| |a_i| |b_j| + |beta c|, with the Euclidean
 * norms of row i and column j, which bound |A||B| (Cauchy and Schwarz) and cost one pass over the operands.
 * `lacuna check` is the strict comparison, element by element with the oracle. */
#ifndef TOOL_RESULT_CHECK_H
#define TOOL_RESULT_CHECK_H

#include <stdbool.h>

#include "operand_set.h"

#define RESULT_SAMPLES 256

typedef struct result_sample {
    int64_t i, j;
    double want, tolerance;
} result_sample_t;

typedef struct result_check {
    const operand_set_t *set;
    double *row_norm, *col_norm; /* of op(A) [m] and op(B) [n]  */
    float *want;                 /* [m * n] the baseline's result */
    result_sample_t sample[RESULT_SAMPLES];
    int samples;
} result_check_t;

/* C of the set must be in its state before the call. False: out of memory. */
bool result_check_make(result_check_t *check, const operand_set_t *set);
void result_check_free(result_check_t *check);

/* Takes the C of the set as the baseline's result. False, with one line in why: the samples disagree. */
bool result_check_baseline(result_check_t *check, char *why, size_t size);

/* Compares the C of the set with the samples and the baseline. False, with one line in why. */
bool result_check_agrees(const result_check_t *check, char *why, size_t size);

#endif
