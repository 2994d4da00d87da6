/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The public calls as steps that may be refused what they ask for: see test_faults_memory.c. */
#ifndef FAULT_STEPS_H
#define FAULT_STEPS_H

#include "lacuna/lacuna.h"

/* A number of steps, each of which takes and frees what it needs and ends at the first status that is not OK.
 */
typedef struct fault_steps {
    void (*make_operands)(void); /* once, before any of it */
    int (*count)(void);
    /* Runs the i-th. Says in *wrong, which is NULL before, where the result of LAC_OK is not right, or where
     * an error wrote to what it was to fill. */
    lac_status_t (*run)(lac_ctx_t *ctx, int i, const char **wrong);
} fault_steps_t;

extern const fault_steps_t fault_product_steps; /* one product, by every way there is        */
extern const fault_steps_t fault_sparse_steps;  /* slices, sampled products, gradients, batches */

#endif
