/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products on a device: the backend's hook. */
#ifndef LACUNA_CUDA_SDDMM_H
#define LACUNA_CUDA_SDDMM_H

#include "cuda_exec.h"

lac_status_t lac_cuda_sample_product(lac_exec_t *exec, const lac_problem_t *p,
                                     const lac_format_data_t *pattern, float *values);

#endif
