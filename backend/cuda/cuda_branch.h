/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A choice in somebody's recording: two ways, and a look at the data that chooses each time it is replayed.
 */
#ifndef LACUNA_CUDA_BRANCH_H
#define LACUNA_CUDA_BRANCH_H

#include "cuda_exec.h"

lac_status_t lac_cuda_branch(lac_exec_t *exec, lac_branch_t *branch);

#endif
