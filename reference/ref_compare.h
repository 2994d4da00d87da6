/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Comparison of a float product with the oracle that no NaN, no Inf and no missing write slips through. */
#ifndef REF_COMPARE_H
#define REF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ref_gemm.h"
#include "ref_matrix.h"

/* Errors are |got - want| / (2^-24 magnitude), element by element: units in the last place of |A||B|.
 * A wrong class (NaN, Inf, its sign), a nonzero where the magnitude is 0, and poison left in an element
 * count as an infinite error. */
typedef struct ref_report {
    bool ok;           /* wrong == 0 and the extents agree                                          */
    int64_t elements;  /* compared                                                                  */
    int64_t wrong;     /* with an error above the bound                                             */
    int64_t nonfinite; /* NaN or Inf in the oracle and, at the same place, in the result            */
    double bound;
    double max_error;  /* over all elements; INFINITY for a wrong class                             */
    double mean_error; /* over the elements finite on both sides                                    */
    int64_t row, col;  /* first element with the largest error, -1 when there is no element         */
    float got;
    double want, magnitude;
    const char *reason; /* of that element when it is wrong; "" otherwise. Static text              */
} ref_report_t;

/* The bound that any order of summation keeps, fused or not, scaled before or after: (k + 2) units, with the
 * second-order term: n / (1 - n 2^-24), n = k + 2 (Higham, Accuracy and Stability of Numerical Algorithms,
 * 3.1). INFINITY where that says nothing any more. */
double ref_bound(int64_t k);

/* Compares got (LAC_F32) with want. Where the magnitude itself exceeds the largest float, partial sums may
 * overflow in any order, so an Inf or NaN there is accepted. */
bool ref_compare(const ref_matrix_t *got, const ref_result_t *want, double bound, ref_report_t *report);

/* One line: verdict, counts, max and mean error, worst element. Returns its length, as snprintf does. */
size_t ref_report_print(const ref_report_t *report, char *text, size_t size);

#endif
