/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Conversions on the host: the backend's hooks. */
#ifndef LACUNA_HOST_DENSIFY_H
#define LACUNA_HOST_DENSIFY_H

#include "host_exec.h"

lac_status_t lac_host_densify(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                              float *out, lac_inc_t rs, lac_inc_t cs, int threads);
lac_status_t lac_host_count(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            int64_t *count, int threads);

#endif
