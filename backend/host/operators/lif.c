/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The neurons of a step on the host, shared among threads by neurons and copies. */
#include "operators.h"

#include <string.h>

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

/* Who fired in copy i, eight neurons at a time. */
static void list_spikes(const lac_lif_t *lif, int64_t i)
{
    const uint8_t *spikes = lif->spikes + i * lif->n;
    int32_t *list = lif->list + i * lif->n, count = 0;
    for (int64_t j = 0; j < lif->n; j += 8) {
        uint64_t eight = 0;
        int64_t many = lif->n - j < 8 ? lif->n - j : 8;
        memcpy(&eight, spikes + j, (size_t)many);
        for (int64_t l = 0; eight && l < many; l++)
            if (spikes[j + l]) list[count++] = (int32_t)(j + l);
    }
    lif->count[i] = count;
}

static void lists_part(void *arg, int part, int parts)
{
    const run_t *r = arg;
    long long i0, i1;
    lac_share(r->lif->m, 1, part, parts, &i0, &i1);
    for (int64_t i = i0; i < i1; i++) list_spikes(r->lif, i);
}

lac_status_t lac_host_lif(lac_exec_t *exec, const lac_lif_t *lif, int threads)
{
    run_t r = {lac_kernels(exec, LAC_F32), lif, lif->dt / lif->tau};
    double worth = (double)lif->m * (double)lif->n / NEURONS_EACH;
    int parts = worth < 2.0 ? 1 : worth < threads ? (int)worth : threads;
    lac_parallel(parts, neurons_part, &r);
    if (lif->list) lac_parallel(parts < lif->m ? parts : (int)lif->m, lists_part, &r);
    return LAC_OK;
}
