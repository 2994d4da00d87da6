/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The CUDA backend's hooks beyond the product: batches, sampled products, row slices, compressed
 * rows that a call brings along. */
#ifndef LACUNA_CUDA_OPERATORS_OPERATORS_H
#define LACUNA_CUDA_OPERATORS_OPERATORS_H

#include "cuda/runtime/exec.h"
#include "route/backend.h"

lac_status_t lac_cuda_batched(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                              lac_batch_outcome_t *out);

/* The neurons of a step on a device, and which products of it do not wait for each other: the backend's
 * hooks.
 */

void lac_cuda_chain(lac_exec_t *exec, bool follows);
lac_status_t lac_cuda_lif(lac_exec_t *exec, const lac_lif_t *lif, int threads);

/* Sampled products on a device: the backend's hook. */

lac_status_t lac_cuda_sample_product(lac_exec_t *exec, const lac_problem_t *p,
                                     const lac_format_data_t *pattern, void *values);

/* Row slices on a device: the backend's hooks, and what kernels reported since the last call of the check. */

extern const lac_slicer_t lac_cuda_slicer;

/* Words of pinned memory that kernels write to: of the list of rows, of row pointers, and of compressed rows
 * that a call brought. */
enum { LAC_CUDA_BAD_ROW, LAC_CUDA_BAD_POINTER, LAC_CUDA_BAD_CSR, LAC_CUDA_BAD_WORDS };

/* A status with a message where a kernel that has run found what the host would have refused; then nothing is
 * known again. Costs nothing. */
lac_status_t lac_cuda_slice_check_errors(lac_exec_t *exec);

/* Compressed rows that a call brings along, on a device: the backend's hooks, and the same check. */

extern const lac_csr_operators_t lac_cuda_csr;
lac_status_t lac_cuda_csr_check_errors(lac_exec_t *exec);

/* Ranks on devices: by NCCL, or by stores into each other's memory. */
extern const lac_link_hooks_t lac_cuda_link;

#endif
