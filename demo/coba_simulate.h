/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Runs trials of the network side by side, two matrix products a time step. */
#ifndef COBA_SIMULATE_H
#define COBA_SIMULATE_H

#include "coba_network.h"
#include "coba_spikes.h"
#include "coba_synapses.h"

/* What a run leaves behind. */
typedef struct coba_result {
    coba_spikes_t spikes;
    float *v; /* [trials x neurons] mV: membrane potentials after the last step    */
    int64_t products;
    double product_seconds; /* wall time of the products, transfers included                    */
    double loop_seconds;    /* wall time of all steps, products included                        */
} coba_result_t;

/* Called after each step; may be NULL. */
typedef void coba_progress_t(int step, int steps);

/* Trial t draws its initial potentials and conductances (those of the Brian implementation in Brette et al.
 * 2007) and its stimulus from stream t + 1 of the seed. Returns 0, or -1 when memory ran out. Free the result
 * either way. */
int coba_simulate(const coba_network_t *network, coba_synapses_t *synapses, int trials, int steps,
                  uint64_t seed, coba_progress_t *progress, coba_result_t *result);

/* A result of zeros may be freed. */
void coba_result_free(coba_result_t *result);

/* Seconds on a clock that never steps back. */
double coba_seconds(void);

#endif
