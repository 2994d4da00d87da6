/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a gather of W's slices by rows costs: the routes event and csr have it in common. */
#ifndef LACUNA_CUDA_GATHER_H
#define LACUNA_CUDA_GATHER_H

#include "../model/sided.h"

/* Microseconds, the output included, launches and what finds the events not. Pure. */
double lac_cuda_gather_us(const lac_sided_t *s, const lac_machine_t *machine);

/* The same by lac_cuda_spmm_wide: for many rows of few nonzeros each. */
double lac_cuda_wide_us(const lac_sided_t *s, const lac_machine_t *machine);

/* Whether that is the faster of the two; of extents and nonzeros alone. */
bool lac_cuda_wide_wins(double m, double n, double k, double nnz, const lac_machine_t *machine);

#endif
