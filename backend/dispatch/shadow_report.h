/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What is compared in a shadow run, and the line that says how it came out. */
#ifndef LACUNA_DISPATCH_SHADOW_REPORT_H
#define LACUNA_DISPATCH_SHADOW_REPORT_H

#include "dispatch.h"

/* C as it was before the call, in the program's own memory: m x n by rows, and on a device the whole stretch
 * of memory that its elements lie in. */
typedef struct lac_shadow {
    float *c;
    int64_t low, count; /* a device's: c->buf[low] is the first of so many floats */
} lac_shadow_t;

/* Writes the line, from two results and two times. Element (i, j) of a result lies at
 * buf[i * rs + j * cs]. */
typedef struct lac_shadow_result {
    const float *buf;
    lac_inc_t rs, cs;
    double us;
} lac_shadow_result_t;
void lac_shadow_report(const lac_problem_t *p, const lac_request_t *request, const lac_route_t *first,
                       const lac_shadow_result_t *mine, const lac_route_t *second,
                       const lac_shadow_result_t *other);

#endif
