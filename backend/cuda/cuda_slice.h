/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Row slices on a device: the backend's hooks, and what kernels told since somebody asked. */
#ifndef LACUNA_CUDA_SLICE_H
#define LACUNA_CUDA_SLICE_H

#include "cuda_exec.h"
#include "../model/slicer.h"

extern const lac_slicer_t lac_cuda_slicer;

/* Words of pinned memory that kernels write to: of the list of rows, and of row pointers. */
enum { LAC_CUDA_BAD_ROW, LAC_CUDA_BAD_POINTER, LAC_CUDA_BAD_WORDS };

/* A status with a message where a kernel that has run found what the host would have refused; then nothing is
 * known again. Costs nothing. */
lac_status_t lac_cuda_slice_check_errors(lac_exec_t *exec);

#endif
