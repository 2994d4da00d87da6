/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation on a device: the backend's hook. */
#ifndef LACUNA_CUDA_FINISH_H
#define LACUNA_CUDA_FINISH_H

#include "../model/finish.h"
#include "cuda_exec.h"

lac_status_t lac_cuda_finish(lac_exec_t *exec, const lac_finish_t *finish, int threads);

#endif
