/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Routes held to the accuracy contract: at most twice the error of the vendor's sgemm on the same data.
 *
 * Each problem is computed on five kinds of data (the values that its string names for A and B are replaced):
 * uniform, exponents spread over 2^+-8 and 2^+-30, all positive, and uniform with an outlier 2^12 times as
 * large in 256 nonzeros, at whose height a sum that runs straight through rounds every later term. The error
 * is that of ref_compare, |C - AB| in units of 2^-24 |A||B|, mean and max over the elements; the vendor's is
 * taken from the BLAS (on a device from the route cublas) on plain dense operands. Where no BLAS is, a
 * product that adds up blocks of 384 k, as a BLAS does, stands in for it. */
#ifndef TOOL_ACCURACY_H
#define TOOL_ACCURACY_H

#include "command.h"
#include "problems.h"
#include "route_set.h"

#define ACCURACY_CONTRACT 2.0 /* times the vendor's error */

typedef struct accuracy_options {
    common_options_t common;
    route_set_t routes;
    const char *json; /* a file for all rows; NULL: none */
} accuracy_options_t;

/* Drops from all routes those that have no error of their own: auto, the oracle, the vendor's products. */
void accuracy_drop_others(route_set_t *routes, const char *asked);

/* Prints the rows farthest from the vendor's error, the worst one last. Returns an exit code: EXIT_WRONG
 * where a row breaks the contract, or none was judged. */
int accuracy_run(const problem_list_t *problems, const accuracy_options_t *options, const char *command);

#endif
