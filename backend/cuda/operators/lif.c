/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The neurons of a step on a device: one launch, queued behind the products, which may run side by side. */
#include "operators.h"
#include "cuda_support.h"

_Static_assert(LAC_LIF_INPUTS_MAX == LAC_CUDA_LIF_INPUTS, "a launch takes every input");

void lac_cuda_chain(lac_exec_t *exec, bool follows)
{
    exec->late = follows;
}

lac_status_t lac_cuda_lif(lac_exec_t *exec, const lac_lif_t *lif, int threads)
{
    (void)threads;
    lac_cuda_lif_t g = {.m = lif->m,
                        .n = lif->n,
                        .rate = lif->dt / lif->tau,
                        .v_rest = lif->v_rest,
                        .v_threshold = lif->v_threshold,
                        .v_reset = lif->v_reset,
                        .refractory = lif->refractory,
                        .inputs = lif->inputs,
                        .current = lif->current,
                        .v = lif->v,
                        .wait = lif->wait,
                        .spikes = lif->spikes,
                        .bits = lif->bits,
                        .spikes_twin = lif->spikes_twin,
                        .bits_twin = lif->bits_twin,
                        .list = lif->list,
                        .count = lif->count};
    if (lif->list) {
        lac_status_t status = lac_cuda_step_state(exec, &g.state);
        if (status) return status;
    }
    for (int q = 0; q < lif->inputs; q++) {
        const lac_lif_input_t *x = &lif->input[q];
        g.input[q] =
            (lac_cuda_lif_input_t){x->g, x->received, x->weight, x->decay, x->reversal, x->conductance};
    }
    return lac_cuda_launched(lac_cuda_lif_step(&g, exec->stream), "lif");
}
