/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Connections with delays, parted into a row for each neuron and delay. */
#ifndef LACUNA_OPERAND_DELAYS_H
#define LACUNA_OPERAND_DELAYS_H

#include "lacuna/csr.h"

/* lac_csr_by_delay on arrays of the host, checked but for what they hold. The arrays that are written may be
 * NULL, but for ptr. Where an index, pointer or delay is out of range nothing is written: VALUE, with its
 * place. */
typedef struct lac_delays {
    const lac_csr_t *a;
    const int32_t *delay;
    lac_dim_t delays, pitch;
    void *ptr, *idx, *order;
    float *val;
} lac_delays_t;

lac_status_t lac_split_delays(const lac_delays_t *x);

#endif
