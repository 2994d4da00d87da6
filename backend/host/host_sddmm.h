/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products on the host: the backend's hook. */
#ifndef LACUNA_HOST_SDDMM_H
#define LACUNA_HOST_SDDMM_H

#include "host_exec.h"

lac_status_t lac_host_sddmm(lac_exec_t *exec, const lac_problem_t *p, const lac_format_data_t *pattern,
                            float *values);

#endif
