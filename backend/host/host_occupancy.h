/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Which tiles of an operand hold a nonzero. */
#ifndef LACUNA_HOST_OCCUPANCY_H
#define LACUNA_HOST_OCCUPANCY_H

#include "host_exec.h"
#include "../model/backend.h"

lac_status_t lac_host_occupancy(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                const lac_tiling_t *tiling);

#endif
