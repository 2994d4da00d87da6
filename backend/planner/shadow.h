/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Shadow runs: the same call by a second route, to compare results and times (LACUNA_COMPARE). */
#ifndef LACUNA_PLANNER_SHADOW_H
#define LACUNA_PLANNER_SHADOW_H

#include "context.h"
#include "select.h"

/* C as it was before the call, in the program's own memory: m x n by rows, and on a device the whole stretch
 * of memory that its elements lie in. */
typedef struct lac_shadow {
    void *c;
    int64_t low, count; /* a device's: c->buf[low] is the first of so many floats: devices compute in f32 */
} lac_shadow_t;

/* Counts the call; true for every N-th one where comparing is on. */
bool lac_shadow_due(lac_ctx_t *ctx);

/* Keeps c's contents before the call; false where there is no memory for it, or its stream is captured. */
bool lac_shadow_begin(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p);

/* Runs the second route outside the caller's c and writes one line: largest difference, where, and the ratio
 * of the times. took_us is the call's; on a device, which it says nothing of, both routes are timed anew. */
void lac_shadow_end(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p, const char *symbol,
                    const lac_choice_t *choice, double took_us);

void lac_shadow_free(lac_shadow_t *shadow);

#endif
