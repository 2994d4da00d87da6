/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The oracle: the product in double, and the magnitude against which its error is measured. */
#ifndef REF_GEMM_H
#define REF_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "ref_generate.h"
#include "ref_matrix.h"
#include "ref_problem.h"

/* What becomes of 0 * Inf and 0 * NaN. Flags; REF_SKIP_A | REF_SKIP_B drops a term when either factor is 0.
 * For finite operands all four give the same numbers. */
typedef enum ref_nan {
    REF_STRICT = 0, /* they are NaN, as IEEE 754 has it and LACUNA_NAN=strict keeps it       */
    REF_SKIP_A = 1, /* a zero of A drops the term, as a route that skips A's zeros does      */
    REF_SKIP_B = 2  /* a zero of B drops the term                                            */
} ref_nan_t;

/* Both arrays are m x n by rows, without padding. */
typedef struct ref_result {
    int64_t m, n, k;
    double *value;     /* beta C + alpha A B                    */
    double *magnitude; /* |beta| |C| + |alpha| |A| |B|          */
} ref_result_t;

/* out := beta c + alpha a b, accumulated in double, for a [m, k], b [k, n], c [m, n] (views already
 * transposed, see ref_matrix_op). beta == 0 never reads c, which may then be NULL; alpha == 0 never reads a
 * or b. nan is a ref_nan_t or both flags. False: out of memory or extents that do not fit; *out is empty. */
bool ref_gemm(const ref_matrix_t *a, const ref_matrix_t *b, const ref_matrix_t *c, float alpha, float beta,
              unsigned nan, ref_result_t *out);

/* The same for a problem and its operands (c before the call that is checked). */
bool ref_gemm_case(const ref_problem_t *problem, const ref_case_t *operands, unsigned nan, ref_result_t *out);

/* Accepts an empty result and NULL. */
void ref_result_free(ref_result_t *result);

#endif
