/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Batches on a device: the backend's hook. */
#ifndef LACUNA_CUDA_BATCH_H
#define LACUNA_CUDA_BATCH_H

#include "cuda_exec.h"

lac_status_t lac_cuda_batched(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                              lac_batch_outcome_t *out);

#endif
