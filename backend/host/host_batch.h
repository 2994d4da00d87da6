/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Batches on the host: the backend's hook. */
#ifndef LACUNA_HOST_BATCH_H
#define LACUNA_HOST_BATCH_H

#include "host_exec.h"
#include "../model/batched.h"

lac_status_t lac_host_batched(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                              lac_batch_outcome_t *out);

#endif
