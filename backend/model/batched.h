/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A batch: where the matrices of many products of one shape lie. */
#ifndef LACUNA_MODEL_BATCHED_H
#define LACUNA_MODEL_BATCHED_H

#include "route.h"

#define LAC_BATCH_SET 128 /* matrices that are named one by one */

/* Of count products; what they have in common is the problem of the first. Each matrix begins a step behind
 * the one before, in elements, or, where `each` is set, at each[q]: then all three are, and count is
 * LAC_BATCH_SET at most. */
typedef struct lac_batch {
    lac_dim_t count;
    lac_inc_t a_step, b_step, c_step;
    const void *const *a_each, *const *b_each;
    float *const *c_each;
    const lac_route_t *single; /* that one product alone would take, by one thread */
    double single_us;          /* and its predicted time                          */
} lac_batch_t;

/* What served a batch as a whole. */
typedef struct lac_batch_outcome {
    bool served;
    lac_role_t role; /* sparse or dense                  */
    lac_side_t side; /* that was taken as sparse         */
} lac_batch_outcome_t;

#endif
