/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A product with the CSR arrays of somebody else's call. */
#ifndef LACUNA_CUDA_SPMM_ARRAYS_H
#define LACUNA_CUDA_SPMM_ARRAYS_H

#include "cuda_exec.h"

/* Queues it. What our kernels do not read as it is, 32-bit row pointers, 64-bit indices, a transposed A, a
 * long B by columns, is brought into the workspace first, in every call. Errors: EXTENT, MEMORY, VENDOR. */
lac_status_t lac_cuda_spmm_arrays(lac_exec_t *exec, const lac_spmm_t *x);

#endif
