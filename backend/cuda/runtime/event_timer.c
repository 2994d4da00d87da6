/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What runs take on the device: pairs of events around them, read by a later call when they are done.

 A device that waits for the host would be timed with the host's gaps between launches. So a timed run stands
 behind a gate that the host opens once all of it is queued. Where the host takes so long that the gate gives
 up, the time is refused, and the timer asks less often. */
#include "exec.h"
#include "capture.h"

#include <math.h>

/* How long a gate holds its stream. cuBLAS queues a product in 8 to 12 us, an event route in 4 to 8 (H200,
 * 2026-11), and tiles of nine launches more than 100 where each takes the host 5 more (gpu.slow_host); one
 * that takes longer than this is interrupted, or waits for the stream. */
#define GATE_US 150.0
/* Behind another kernel, one that may not begin before that has ended starts later in a stream than in a
 * graph: by 0.5 to 0.9 us, and a vendor's product may be two; those that may by 0.2 (H200, 2026-11-27). Where
 * it matters, products of 2 to 4 us follow each other in graphs. Before 9.0 none may, and all start as late.
 */
#define LATE_START_US 0.5
#define EMPTY         (-1) /* a row: nothing runs between the two events */
#define EMPTIES       4    /* such pairs, of which the shortest is the timer's own time */
#define SKIP_MAX      1024 /* runs that are left untimed after many refusals in a row */

static bool make(lac_cuda_span_t *span)
{
    if (span->end) return true;
    if (!span->begin && cudaEventCreate(&span->begin) != cudaSuccess) return false;
    return cudaEventCreate(&span->end) == cudaSuccess;
}

/* The slot after the newest; NULL where all are under way, or CUDA has no event for it. */
static lac_cuda_span_t *next(lac_cuda_event_timer_t *timer)
{
    if (timer->newest - timer->oldest == LAC_CUDA_SPANS) return NULL;
    lac_cuda_span_t *span = &timer->span[timer->newest % LAC_CUDA_SPANS];
    return make(span) ? span : NULL;
}

static uint32_t *expired(const lac_cuda_event_timer_t *timer, const lac_cuda_span_t *span)
{
    return timer->expired + (span - timer->span);
}

/* Lets the stream run on. What has been queued since the gate was closed is in the device's queue by now. */
static void open_gate(lac_cuda_event_timer_t *timer)
{
    __atomic_store_n(timer->open, timer->ticket, __ATOMIC_SEQ_CST);
}

static void close_span(lac_exec_t *exec, lac_cuda_span_t *span, const lac_timing_tag_t *mark)
{
    span->mark = *mark;
    if (cudaEventRecord(span->end, exec->stream) == cudaSuccess) exec->clock.newest++;
    open_gate(&exec->clock);
}

/* A closed gate and the first event behind it. A run that is alone between two events takes longer than
 * behind another kernel, and one that may begin before that has ended takes longer by more: so one runs ahead
 * of it. */
static bool open_span(lac_exec_t *exec, lac_cuda_span_t *span)
{
    lac_cuda_event_timer_t *timer = &exec->clock;
    span->ticket = ++timer->ticket;
    if (lac_cuda_host_gate((const uint32_t *)timer->open, span->ticket, expired(timer, span), GATE_US,
                           exec->stream) == LAC_OK &&
        cudaEventRecord(span->begin, exec->stream) == cudaSuccess &&
        lac_cuda_run_ahead(exec->stream) == LAC_OK)
        return true;
    open_gate(timer);
    return false;
}

static bool begin(lac_exec_t *exec)
{
    lac_cuda_event_timer_t *timer = &exec->clock;
    bool open = false;
    if (lac_cuda_capturing(exec)) return false;
    if (timer->skip > 0) {
        timer->skip--;
        return false;
    }
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_cuda_span_t *span = next(timer);
    if (span && open_span(exec, span)) {
        open = timer->empties == EMPTIES;
        if (!open) {
            close_span(exec, span, &(lac_timing_tag_t){0, EMPTY, 0.0, false});
            timer->empties++;
        }
    }
    cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
    return open;
}

static void end(lac_exec_t *exec, const lac_timing_tag_t *mark)
{
    lac_cuda_event_timer_t *timer = &exec->clock;
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    close_span(exec, &timer->span[timer->newest % LAC_CUDA_SPANS], mark);
    cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
}

/* A host that is too slow now may be so for long: each refusal in a row doubles the runs left untimed. */
static void count_refusal(lac_cuda_event_timer_t *timer, bool refused)
{
    if (!refused) {
        timer->refused = timer->skip = 0;
        return;
    }
    timer->skip = timer->refused ? 2 * timer->refused : 1;
    if (timer->skip > SKIP_MAX) timer->skip = SKIP_MAX;
    timer->refused = timer->skip;
}

/* The oldest span where it is done; its time without the timer's own. mark->site is 0 where the time says
 * nothing of the device. */
static bool take(lac_exec_t *exec, lac_timing_tag_t *mark, double *us)
{
    lac_cuda_event_timer_t *timer = &exec->clock;
    const lac_cuda_span_t *span = &timer->span[timer->oldest % LAC_CUDA_SPANS];
    float ms = 0.0f;
    if (cudaEventQuery(span->end) == cudaErrorNotReady) return false;
    timer->oldest++;
    *mark = span->mark;
    bool waited = __atomic_load_n(expired(timer, span), __ATOMIC_SEQ_CST) == span->ticket;
    bool known = cudaEventElapsedTime(&ms, span->begin, span->end) == cudaSuccess && !waited;
    *us = 1e3 * (double)ms;
    count_refusal(timer, waited);
    if (mark->row == EMPTY && known && (timer->own_us <= 0.0 || *us < timer->own_us)) timer->own_us = *us;
    if (mark->row == EMPTY && !known) timer->empties--; /* another one, then */
    if (!known) mark->site = 0;
    *us = *us > timer->own_us ? *us - timer->own_us : 0.0;
    if (mark->late && exec->major >= 9) *us = fmax(*us - LATE_START_US, 0.5 * *us);
    return true;
}

static bool done(lac_exec_t *exec, lac_timing_tag_t *mark, double *us)
{
    lac_cuda_event_timer_t *timer = &exec->clock;
    if (timer->oldest == timer->newest || lac_cuda_capturing(exec)) return false;
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    bool found = false;
    while (!found && timer->oldest != timer->newest && take(exec, mark, us)) found = mark->site != 0;
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
