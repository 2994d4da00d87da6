/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A lock that recordings share, and the calls that recordings of others forbid. */
#include "capture.h"

#include <pthread.h>

static pthread_rwlock_t device = PTHREAD_RWLOCK_INITIALIZER;
static _Thread_local int recordings; /* of this thread; only the first of them takes the lock */

void lac_cuda_graph_capture_begin(void)
{
    if (!recordings++) pthread_rwlock_rdlock(&device);
}

void lac_cuda_graph_capture_end(void)
{
    if (!--recordings) pthread_rwlock_unlock(&device);
}

bool lac_cuda_alone_begin(void)
{
    return !recordings && pthread_rwlock_wrlock(&device) == 0;
}

void lac_cuda_alone_end(void)
{
    pthread_rwlock_unlock(&device);
}

enum cudaStreamCaptureMode lac_cuda_capture_relaxed_begin(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

void lac_cuda_capture_relaxed_end(enum cudaStreamCaptureMode mode)
{
    cudaThreadExchangeStreamCaptureMode(&mode);
}
