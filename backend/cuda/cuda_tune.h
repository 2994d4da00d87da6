/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Measures a device's constants for the cost model. */
#ifndef LACUNA_CUDA_TUNE_H
#define LACUNA_CUDA_TUNE_H

#include "cuda_exec.h"

/* Fills the device's constants, in some seconds, with 430 MB of its memory; the host's stay. Errors: MEMORY,
 * UNAVAILABLE where the exec has the default stream, which cannot be recorded; VENDOR. */
lac_status_t lac_cuda_tune(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_info_fn progress,
                           void *arg);

#endif
