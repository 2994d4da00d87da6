/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Life of an exec on a device. */
#ifndef LACUNA_CUDA_CONTEXT_H
#define LACUNA_CUDA_CONTEXT_H

#include "cuda_exec.h"

/* Why cudaGetDeviceCount failed, for people. */
const char *lac_cuda_why_none(cudaError_t error);

lac_status_t lac_cuda_open(lac_exec_t **exec, lac_device_request_t *request, const lac_machine_t *machine);
void lac_cuda_close(lac_exec_t *exec);
const char *lac_cuda_estimate(const lac_exec_t *exec, lac_machine_t *machine);
size_t lac_cuda_bytes(const lac_exec_t *exec);

#endif
