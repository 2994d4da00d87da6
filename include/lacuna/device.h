/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Device memory, synchronization, and calls captured once and launched
 * as a graph: for programs without a device API of their own.
 *
 * Everything here works on the device and stream of a context made by lac_ctx_create_cuda, and is UNAVAILABLE
 * on a host context. Programs that have the CUDA runtime may use it instead, and mix the two. */
#ifndef LACUNA_DEVICE_H
#define LACUNA_DEVICE_H

#include "lacuna/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `bytes` of device memory. Errors: NULL, UNAVAILABLE, MEMORY. */
LAC_API lac_status_t lac_device_alloc(lac_ctx_t *ctx, size_t bytes, void **memory);
/* Waits for the device, then frees. memory may be NULL. Errors: NULL, UNAVAILABLE, VENDOR. */
LAC_API lac_status_t lac_device_free(lac_ctx_t *ctx, void *memory);

/* Copies to and from the device in stream order, and waits. Errors: NULL, UNAVAILABLE, VENDOR; what an
 * earlier call of lacuna/slice.h found too late. */
LAC_API lac_status_t lac_device_upload(lac_ctx_t *ctx, void *to, const void *from, size_t bytes);
LAC_API lac_status_t lac_device_download(lac_ctx_t *ctx, void *to, const void *from, size_t bytes);

/* Waits until everything on the context's stream is done. Errors: NULL, UNAVAILABLE; VENDOR where a launch
 * or a kernel failed since; what an earlier call of lacuna/slice.h found too late. */
LAC_API lac_status_t lac_device_wait(lac_ctx_t *ctx);

/* The context's stream (a cudaStream_t); NULL on a host context and for the default stream. */
LAC_API void *lac_device_stream(const lac_ctx_t *ctx);

/* Work that queues calls on the context; what it returns other than LAC_OK ends the timing or recording. */
typedef lac_status_t (*lac_work_fn)(void *arg);

/* Calls `work` so many times and measures, between two events on the stream, microseconds per call. Waits. */
LAC_API lac_status_t lac_device_time(lac_ctx_t *ctx, lac_work_fn work, void *arg, int calls, double *us);

typedef struct lac_graph lac_graph_t; /* opaque: calls captured into a CUDA graph */

/* Captures what `work` queues, `calls` times over, without running it. The operands' buffers and the context
 * must live as long as the recording; their contents may change between replays. Nothing may have to grow:
 * run the calls once before, or make a plan. Errors: NULL, VALUE (calls < 1), UNAVAILABLE, VENDOR, and what
 * work returns. *recording is NULL on failure. Free before the context. */
LAC_API lac_status_t lac_graph_capture(lac_ctx_t *ctx, lac_work_fn work, void *arg, int calls,
                                       lac_graph_t **recording);

/* Replays it so many times. us == NULL: queues and returns. Otherwise waits, and sets microseconds per
 * recorded call. Errors: NULL, VALUE, VENDOR. */
LAC_API lac_status_t lac_graph_launch(lac_graph_t *recording, int times, double *us);

/* NULL is accepted. */
LAC_API void lac_graph_free(lac_graph_t *recording);

#ifdef __cplusplus
}
#endif
#endif
