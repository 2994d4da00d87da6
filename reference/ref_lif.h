/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The neurons of lac_lif_step by plain loops, one neuron after the other. */
#ifndef REF_LIF_H
#define REF_LIF_H

#include "lacuna/lif.h"

/* What lac_lif_step does once every input's `received` is there, in the operations that lacuna/lif.h lists:
 * its bits. Arrays on the host. */
void ref_lif_neurons(const lac_lif_t *lif);

/* received := events w in double, dense operands alone, zeros of the events skipped; rounded once. */
void ref_lif_receive(const lac_lif_t *lif, int input);

#endif
