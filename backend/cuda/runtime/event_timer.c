/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What runs take on the device: pairs of events around them, read by a later call when they are done.

 A device that waits for the host would be timed with the host's gaps between launches. So it is kept busy
 while a clocked run is queued: for a short run, the pause costs more than the run itself, but few are
 clocked. */
#include "exec.h"
#include "capture.h"

#define PAUSE_US 20.0 /* cuBLAS queues a product in 8 to 12 us, an event route in 4 to 8 (H200, 2026-11) */
#define EMPTIES  4    /* pairs with nothing in between, of which the shortest is the clock's own time */

static bool make(lac_cuda_span_t *span)
{
    if (span->end) return true;
    if (!span->begin && cudaEventCreate(&span->begin) != cudaSuccess) return false;
    return cudaEventCreate(&span->end) == cudaSuccess;
}

/* The place after the newest; NULL where all are under way, or CUDA has no event for it. */
static lac_cuda_span_t *next(lac_cuda_event_timer_t *clock)
{
    if (clock->newest - clock->oldest == LAC_CUDA_SPANS) return NULL;
    lac_cuda_span_t *span = &clock->span[clock->newest % LAC_CUDA_SPANS];
    return make(span) ? span : NULL;
}

static void close_span(lac_exec_t *exec, lac_cuda_span_t *span, const lac_timing_tag_t *mark)
{
    span->mark = *mark;
    if (cudaEventRecord(span->end, exec->stream) == cudaSuccess) exec->clock.newest++;
}

static bool begin(lac_exec_t *exec)
{
    lac_cuda_event_timer_t *clock = &exec->clock;
    bool open = false;
    if (lac_cuda_capturing(exec)) return false;
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_cuda_span_t *span = next(clock);
    if (span && lac_cuda_spin_delay(PAUSE_US, exec->stream) == LAC_OK &&
        cudaEventRecord(span->begin, exec->stream) == cudaSuccess) {
        open = clock->empties == EMPTIES;
        if (!open) {
            close_span(exec, span, &(lac_timing_tag_t){0, -1, 0.0});
            clock->empties++;
        }
    }
    cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
    return open;
}

static void end(lac_exec_t *exec, const lac_timing_tag_t *mark)
{
    lac_cuda_event_timer_t *clock = &exec->clock;
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    close_span(exec, &clock->span[clock->newest % LAC_CUDA_SPANS], mark);
    cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
}

/* The oldest span where it is done; its time without the clock's own. */
static bool take(lac_cuda_event_timer_t *clock, lac_timing_tag_t *mark, double *us)
{
    const lac_cuda_span_t *span = &clock->span[clock->oldest % LAC_CUDA_SPANS];
    float ms = 0.0f;
    if (cudaEventQuery(span->end) == cudaErrorNotReady) return false;
    clock->oldest++;
    *mark = span->mark;
    bool reported = cudaEventElapsedTime(&ms, span->begin, span->end) == cudaSuccess;
    *us = 1e3 * (double)ms;
    if (!mark->site && reported && (clock->own_us <= 0.0 || *us < clock->own_us)) clock->own_us = *us;
    if (!reported) mark->site = 0;
    *us = *us > clock->own_us ? *us - clock->own_us : 0.0;
    return true;
}

static bool done(lac_exec_t *exec, lac_timing_tag_t *mark, double *us)
{
    lac_cuda_event_timer_t *clock = &exec->clock;
    if (clock->oldest == clock->newest || lac_cuda_capturing(exec)) return false;
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    bool found = false;
    while (!found && clock->oldest != clock->newest && take(clock, mark, us)) found = mark->site != 0;
    cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
    return found;
}

const lac_event_timer_t lac_cuda_timer_hooks = {begin, end, done};

void lac_cuda_event_timer_close(lac_exec_t *exec)
{
    for (int i = 0; i < LAC_CUDA_SPANS; i++) {
        lac_cuda_span_t *span = &exec->clock.span[i];
        if (span->begin) cudaEventDestroy(span->begin);
        if (span->end) cudaEventDestroy(span->end);
    }
}
