/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What passes spikes on through the synapses: two matrix products a time step, wherever they are computed.
 *
 * A program is linked with one of coba_synapses_blas.c (cblas_sgemm, whichever library serves it) and
 * device/coba_synapses_device.c (a CUDA device, through Lacuna). The rest of it is the same. */
#ifndef COBA_SYNAPSES_H
#define COBA_SYNAPSES_H

#include <stdio.h>

#include "coba_network.h"

enum { COBA_NO_DEVICE = 77 }; /* exit status of a program whose products have nowhere to run */

typedef struct coba_synapses coba_synapses_t;

/* The network must outlive it. NULL: no memory. Where there is no device to compute on, says so in one line
 * and ends the program with COBA_NO_DEVICE. */
coba_synapses_t *coba_synapses_open(const coba_network_t *network, int trials);

/* spikes, add_e, add_i are [trials x neurons], row-major, n_e of the neurons excitatory, W the weights:
 *     add_e := spikes[:, 0 : n_e] W[0 : n_e, :]        add_i := spikes[:, n_e :] W[n_e :, :]
 * Does not return where a product fails: the reason is printed. */
void coba_synapses_pass(coba_synapses_t *synapses, const float *spikes, float *add_e, float *add_i);

/* What is worth reporting of how the products were computed; may print nothing. */
void coba_synapses_note(coba_synapses_t *synapses, FILE *out);

/* NULL is accepted. */
void coba_synapses_close(coba_synapses_t *synapses);

#endif
