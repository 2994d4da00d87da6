/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Shadow runs: the same call by a second route, to compare results and times (LACUNA_COMPARE). */
#ifndef LACUNA_DISPATCH_SHADOW_H
#define LACUNA_DISPATCH_SHADOW_H

#include "dispatch.h"
#include "select.h"

typedef struct lac_shadow {
    float *c; /* m x n by rows: c as it was, then the second route's result */
} lac_shadow_t;

/* Counts the call; true for every N-th one where comparing is on. */
bool lac_shadow_due(lac_ctx_t *ctx);

/* Keeps c's contents before the call; false where there is no memory for it. */
bool lac_shadow_begin(lac_shadow_t *shadow, const lac_problem_t *p);

/* Runs the second route and writes one line: largest difference, where, and the ratio of the times. */
void lac_shadow_end(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p,
                    const lac_request_t *request, const lac_choice_t *choice, double took_us);

void lac_shadow_free(lac_shadow_t *shadow);

#endif
