/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Lacuna's contexts: one for each device context, stream and precision that the program's handles use.
 *
 * Calls on one stream run in order, so that those of several threads may share its context and workspace. It
 * is made by the first call that could need it and stays until the process ends. */
#ifndef LACUNA_PLUGIN_CUBLAS_CONTEXT_H
#define LACUNA_PLUGIN_CUBLAS_CONTEXT_H

#include "api/interpose.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct sc {
    void *device; /* the driver's context */
    void *stream;
    lac_ctx_t *_Atomic ctx;
    _Atomic unsigned long long born; /* the number of the driver's context when ctx was made */
    pthread_mutex_t lock;            /* of ctx */
    int math;                        /* of CUBLAS_MATH_ */
    int capture_mode;                /* of the thread that is in here, to be put back */
} stream_context_t;

/* The context of a call on `stream` in the device context that is current, locked. NULL, and why, where the
 * call is to be forwarded: the stream is captured (a recording may be replayed beside eager work, with which
 * it must not share a workspace); it is the per-thread default stream, which is one handle for many; there
 * are too many; or no context could be made. Leave it with stream_context_leave. */
stream_context_t *stream_context_enter(void *stream, int math, lac_pass_t *why);
void stream_context_leave(stream_context_t *sc);

/* Keeps the lock while cuBLAS serves a call that the context has declined and is timing, and leaves then. */
void stream_context_pause(stream_context_t *sc);
void stream_context_served(stream_context_t *sc);

/* Products on streams that are being captured.
 *
 * A CUDA graph outlives its capture and may be replayed beside eager work, so what Lacuna records has a
 * context of its own: one for each capture and stream, given back when the last graph that came of it is
 * destroyed. */

/* Records both ways of the product where one that was computed before showed it sparse. 1: done. 0: to be
 * forwarded, and why. Negative: the capture is spoilt. */
int capture_product(void *stream, int math, const lac_gemm_args_t *g, lac_pass_t *why);

#endif
