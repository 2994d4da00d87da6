/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cheap verdict on a timed result, so that the speed of a wrong kernel is never reported: every element
 * against the baseline's result, and some elements against a product in double.
 *
 * The tolerance of an element is 2 (k + 2) 2^-24 times |alpha| |a_i| |b_j| + |beta c|, with the Euclidean
 * norms of row i and column j, which bound |A||B| (Cauchy and Schwarz) and cost one pass over the operands.
 * `lacuna check` is the strict comparison, element by element with the oracle. */
#ifndef LACUNA_TOOLS_LACUNA_RESULT_CHECK_H
#define LACUNA_TOOLS_LACUNA_RESULT_CHECK_H

#include "operands.h"
#include "ref_gemm.h"

#include <stdbool.h>

#define RESULT_SAMPLES 256

typedef struct result_sample {
    int64_t i, j;
    double want, tolerance;
} result_sample_t;

typedef struct result_check {
    const operand_set_t *set;
    double *row_norm, *col_norm; /* of op(A) [m] and op(B) [n]  */
    double *want;                /* [m * n] the baseline's result */
    result_sample_t sample[RESULT_SAMPLES];
    int samples;
    int corrected;          /* elements of want that were wrong, as a product in double found */
    char baseline_why[128]; /* the first of them */
} result_check_t;

/* C of the set must be in its state before the call. False: out of memory. */
bool result_check_make(result_check_t *check, const operand_set_t *set);
void result_check_free(result_check_t *check);

/* Takes the C of the set as the baseline's result. False, with one line in why: the samples disagree. */
bool result_check_baseline(result_check_t *check, char *why, size_t size);

/* Compares the C of the set with the samples and the baseline. False, with one line in why: it is wrong.
 * Where the baseline turns out to be wrong instead, check->corrected counts. */
bool result_check_agrees(result_check_t *check, char *why, size_t size);

/* The oracle for products that would take the host seconds: the device's own product in double.
 *
 * The route "reference" of a device sums in double and rounds once. It is run twice: on the operands, and on
 * their magnitudes, which give the |A||B| that errors are measured by. Some elements are summed again on the
 * host, so that it is not only the device that vouches for itself. */

/* What the one rounding adds to an error, in the units of ref_compare. */
#define DEVICE_ORACLE_UNITS 1.0

/* True where the set lies on a device and the host's oracle would take long. */
bool device_oracle_serves(const operand_set_t *set);

/* out := beta C + alpha A B for a set with finite operands, C as it is before a call. ctx computes on the
 * set's device. False, with one line in why: memory, a call that failed, or the host's elements disagree. */
bool device_oracle(const operand_set_t *set, lac_ctx_t *ctx, ref_result_t *out, char *why, size_t size);

#endif
