/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Keeps recordings apart from what would spoil them.
 *
 * Waiting for the whole device, in any thread, makes every capture under way invalid; a vendor library does
 * so where it destroys a handle. Recordings share the device, what waits for it comes alone. */
#ifndef LACUNA_CUDA_RUNTIME_CAPTURE_H
#define LACUNA_CUDA_RUNTIME_CAPTURE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

/* Around a recording. Recordings may overlap, in one thread too. */
void lac_cuda_graph_capture_begin(void);
void lac_cuda_graph_capture_end(void);

/* Around what waits for the device: first lets the recordings of other threads end. False, and nothing to
 * end, in a thread that is recording itself. */
bool lac_cuda_alone_begin(void);
void lac_cuda_alone_end(void);

/* Around what may not be called while anybody records in the mode for which that is everybody's business (to
 * allocate, to ask for an event): says that here it is no business of theirs, whose recording would end in an
 * error. begin returns what end restores. */
enum cudaStreamCaptureMode lac_cuda_capture_relaxed_begin(void);
void lac_cuda_capture_relaxed_end(enum cudaStreamCaptureMode mode);

#endif
