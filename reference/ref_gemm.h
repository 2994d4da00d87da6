/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The oracle: the product in double, and the magnitude against which its error is measured. */
#ifndef LACUNA_REFERENCE_REF_GEMM_H
#define LACUNA_REFERENCE_REF_GEMM_H

#include "ref_generate.h"
#include "ref_matrix.h"
#include "ref_problem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

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

/* out := beta c + alpha a b, accumulated in double, of doubles in long double with compensation, for a [m,
 * k], b [k, n], c [m, n] (views already transposed, see ref_matrix_op). beta == 0 never reads c, which may
 * then be NULL; alpha == 0 never reads a or b. nan is a ref_nan_t or both flags. False: out of memory or
 * extents that do not fit; *out is empty. */
bool ref_gemm(const ref_matrix_t *a, const ref_matrix_t *b, const ref_matrix_t *c, float alpha, float beta,
              unsigned nan, ref_result_t *out);

/* The same for a problem and its operands (c before the call that is checked). */
bool ref_gemm_case(const ref_problem_t *problem, const ref_case_t *operands, unsigned nan, ref_result_t *out);

/* Accepts an empty result and NULL. */
void ref_result_free(ref_result_t *result);

/* Comparison of a product with the oracle that no NaN, no Inf and no missing write slips through. */

/* Errors are |got - want| / (2^-24 magnitude), of doubles / (2^-53 magnitude), element by element: units in
 * the last place of |A||B|. Of a result of f16 or bf16, half an ulp of it is taken off first: its sum is one
 * of floats, which is rounded once. What the oracle of doubles rounds is half a unit of its value. A wrong
 * class (NaN, Inf, its sign), a nonzero where the magnitude is 0, and poison left in an element count as an
 * infinite error. */
typedef struct ref_report {
    bool ok;           /* wrong == 0 and the extents agree                                          */
    int64_t elements;  /* compared                                                                  */
    int64_t wrong;     /* with an error above the bound                                             */
    int64_t nonfinite; /* NaN or Inf in the oracle and, at the same place, in the result            */
    double bound;
    double max_error;  /* over all elements; INFINITY for a wrong class                             */
    double mean_error; /* over the elements finite on both sides                                    */
    int64_t row, col;  /* first element with the largest error, -1 when there is no element         */
    lac_dt_t dt;       /* of the result                                                             */
    double got;
    double want, magnitude;
    const char *reason; /* of that element when it is wrong; "" otherwise. Static text              */
} ref_report_t;

/* The bound that any order of summation keeps, fused or not, scaled before or after: (k + 2) units, with the
 * second-order term: n / (1 - n 2^-24), n = k + 2 (Higham, Accuracy and Stability of Numerical Algorithms,
 * 3.1); of floats, and so a little wide for doubles. INFINITY where that says nothing any more. */
double ref_bound(int64_t k);

/* Compares got, of numbers, with want. Where the magnitude itself exceeds the largest number, partial
 * sums may overflow in any order, so an Inf or NaN there is accepted. */
bool ref_compare(const ref_matrix_t *got, const ref_result_t *want, double bound, ref_report_t *report);

/* One line: verdict, counts, max and mean error, worst element. Returns its length, as snprintf does. */
size_t ref_report_print(const ref_report_t *report, char *text, size_t size);

#endif
