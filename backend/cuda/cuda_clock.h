/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The device's clock for runs. */
#ifndef LACUNA_CUDA_CLOCK_H
#define LACUNA_CUDA_CLOCK_H

#include "cuda_exec.h"

extern const lac_run_clock_t lac_cuda_run_clock;

void lac_cuda_clock_close(lac_exec_t *exec);

#endif
