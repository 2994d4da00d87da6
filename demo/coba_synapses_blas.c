/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The products of a time step as two ordinary calls of cblas_sgemm, which is declared here so that a run-time
 * BLAS alone is enough to build it. */
#include "coba_synapses.h"

#include <stdlib.h>

/* The CBLAS enumerations are passed as int on every ABI in use. */
enum { COBA_ROW_MAJOR = 101, COBA_NO_TRANS = 111 };

/* C := alpha op(A) op(B) + beta C, from whichever BLAS the dynamic linker finds. */
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* The products of a time step as two ordinary calls of cblas_sgemm. */

struct coba_synapses {
    const coba_network_t *network;
    int trials;
};

coba_synapses_t *coba_synapses_open(const coba_network_t *network, int trials)
{
    coba_synapses_t *synapses = malloc(sizeof *synapses);
    if (synapses) *synapses = (coba_synapses_t){network, trials};
    return synapses;
}

void coba_synapses_pass(coba_synapses_t *synapses, const float *spikes, float *add_e, float *add_i)
{
    const coba_network_t *network = synapses->network;
    const int n = network->neurons, n_e = network->excitatory, n_i = n - n_e;
    cblas_sgemm(COBA_ROW_MAJOR, COBA_NO_TRANS, COBA_NO_TRANS, synapses->trials, n, n_e, 1.0f, spikes, n,
                network->weights, n, 0.0f, add_e, n);
    cblas_sgemm(COBA_ROW_MAJOR, COBA_NO_TRANS, COBA_NO_TRANS, synapses->trials, n, n_i, 1.0f, spikes + n_e, n,
                network->weights + (size_t)n_e * (size_t)n, n, 0.0f, add_i, n);
}

void coba_synapses_note(coba_synapses_t *synapses, FILE *out)
{
    (void)synapses, (void)out;
}

void coba_synapses_close(coba_synapses_t *synapses)
{
    free(synapses);
}
