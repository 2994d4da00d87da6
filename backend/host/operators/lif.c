/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The neurons of a step on the host, shared among threads by neurons and copies. */
#include "operators.h"

#define NEURONS_EACH 16384 /* that are worth a thread */

typedef struct run {
    const lac_host_kernels_t *kernels;
    const lac_lif_t *lif;
    float rate;
} run_t;

static void neurons_part(void *arg, int part, int parts)
{
    const run_t *r = arg;
    long long j0, j1;
    lac_share(r->lif->n, 64, part, parts, &j0, &j1);
    for (int64_t i = 0; i < r->lif->m; i++) r->kernels->lif_step(r->lif, r->rate, i, j0, j1);
}

lac_status_t lac_host_lif(lac_exec_t *exec, const lac_lif_t *lif, int threads)
{
    run_t r = {lac_kernels(exec, LAC_F32), lif, lif->dt / lif->tau};
    double worth = (double)lif->m * (double)lif->n / NEURONS_EACH;
    lac_parallel(worth < 2.0 ? 1 : worth < threads ? (int)worth : threads, neurons_part, &r);
    return LAC_OK;
}
