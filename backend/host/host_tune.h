/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Measures the host's machine constants for the cost model. */
#ifndef LACUNA_HOST_TUNE_H
#define LACUNA_HOST_TUNE_H

#include "host_exec.h"
#include "lacuna/context.h"

/* Fills every constant of the host, in some seconds. Each is the least of several runs, on operands larger
 * than the caches where the constant is about memory. Errors: MEMORY. */
lac_status_t lac_host_tune(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_info_fn progress,
                           void *arg);

#endif
