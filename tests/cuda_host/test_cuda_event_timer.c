/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The timer of runs on a device, on a made-up stream: however slowly the host queues, a time that is reported
 * is what the device worked, and a time that holds a gap is refused. Needs no device: nothing here runs. */
#include "unit_support.h"
#include "cuda/runtime/exec.h"
#include "cuda/runtime/capture.h"

#include <math.h>
#include <string.h>

/* A stream: what is queued runs in order, no sooner than it was queued, and not while a gate is closed. */

enum { EVENTS = 64, QUEUED = 64, KERNELS = 3, KERNEL_US = 10, AHEAD_US = 2, OWN_US = AHEAD_US + 1 };

typedef struct work {
    double queued_us, takes_us;
    int event; /* that is recorded; -1: none */
} work_t;

static double host_us, device_us; /* now; when the stream has done what it may do */
static double event_us[EVENTS];   /* when it happened; negative: not yet          */
static int events;
static work_t queued[QUEUED]; /* behind the closed gate */
static int queue_count;
static bool closed, capturing, no_events;
static double record_us;          /* of the host, to record an event */
static double gate_from, gate_us; /* of the closed gate */
static const volatile uint32_t *gate_open;
static uint32_t gate_ticket, *gate_expired;
static int gates;

static void run_work(const work_t *w)
{
    device_us = fmax(device_us, w->queued_us) + w->takes_us;
    if (w->event >= 0) event_us[w->event] = device_us;
}

/* Runs on where the host has opened the gate, or was too late for it. */
static void step(void)
{
    if (!closed) return;
    bool open = *gate_open >= gate_ticket, late = host_us > gate_from + gate_us;
    if (!open && !late) return;
    device_us = late ? gate_from + gate_us : fmax(gate_from, host_us);
    if (late) *gate_expired = gate_ticket;
    closed = false;
    for (int i = 0; i < queue_count; i++) run_work(&queued[i]);
    queue_count = 0;
}

static void queue(double takes_us, int event)
{
    work_t w = {host_us, takes_us, event};
    step();
    if (!closed) {
        run_work(&w);
        return;
    }
    assert_true(queue_count < QUEUED);
    queued[queue_count++] = w;
}

lac_status_t lac_cuda_host_gate(const uint32_t *open, uint32_t ticket, uint32_t *expired, double us,
                                lac_cuda_stream_t stream)
{
    (void)stream;
    step();
    if (closed) { /* one behind another: the first one's bound has to pass */
        host_us = gate_from + gate_us + 1.0;
        step();
    }
    gate_from = fmax(device_us, host_us), gate_us = us;
    gate_open = open, gate_ticket = ticket, gate_expired = expired;
    closed = true;
    gates++;
    return LAC_OK;
}

lac_status_t lac_cuda_run_ahead(lac_cuda_stream_t stream)
{
    (void)stream;
    queue(AHEAD_US, -1);
    return LAC_OK;
}

static int index_of(cudaEvent_t event)
{
    return (int)((uintptr_t)event - 1);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    assert_true(events < EVENTS);
    event_us[events] = -1.0;
    *event = (cudaEvent_t)(uintptr_t)++events; /* NOLINT: a number of the test's */
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)stream;
    if (no_events) return cudaErrorMemoryAllocation;
    host_us += record_us;
    event_us[index_of(event)] = -1.0;
    queue(1.0, index_of(event)); /* the timer's own time */
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    step();
    double at = event_us[index_of(event)];
    return at >= 0.0 && at <= host_us ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    *ms = (float)(1e-3 * (event_us[index_of(end)] - event_us[index_of(begin)]));
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

bool lac_cuda_capturing(const lac_exec_t *exec)
{
    (void)exec;
    return capturing;
}

enum cudaStreamCaptureMode lac_cuda_capture_relaxed_begin(void)
{
    return cudaStreamCaptureModeRelaxed;
}

void lac_cuda_capture_relaxed_end(enum cudaStreamCaptureMode mode)
{
    (void)mode;
}

/* A program that has runs timed. */

static lac_exec_t *setup_exec(void)
{
    static lac_exec_t exec;
    static uint32_t words[LAC_CUDA_GATE_WORDS];
    memset(words, 0, sizeof words);
    exec = (lac_exec_t){.clock = {.open = words, .expired = words + 1}};
    host_us = 1e6, device_us = 0.0;
    events = queue_count = gates = 0;
    closed = capturing = no_events = false;
    record_us = 0.0;
    return &exec;
}

static lac_timing_tag_t tag = {.site = 7, .row = 2};

/* One run of KERNELS kernels; the host takes gap_us before each. True where it was timed. */
static bool run_kernels(lac_exec_t *exec, double gap_us)
{
    bool timed = lac_cuda_timer_hooks.begin(exec);
    for (int i = 0; i < KERNELS; i++) {
        host_us += gap_us;
        step();
        queue(KERNEL_US, -1);
    }
    if (timed) lac_cuda_timer_hooks.end(exec, &tag);
    step();
    return timed;
}

/* The timer's own time is known from here on. */
static void make_ready(lac_exec_t *exec)
{
    lac_timing_tag_t mark;
    double us;
    for (int i = 0; i < 10; i++) {
        run_kernels(exec, 1.0);
        host_us += 1000.0;
        while (lac_cuda_timer_hooks.done(exec, &mark, &us)) {
        }
    }
    assert_true(exec->clock.own_us > 0.0);
}

/* What the timer says of one such run; negative: nothing. */
static double time_of(lac_exec_t *exec, double gap_us)
{
    lac_timing_tag_t mark;
    double us;
    if (!run_kernels(exec, gap_us)) return -1.0;
    host_us = fmax(host_us, device_us) + 1000.0;
    if (!lac_cuda_timer_hooks.done(exec, &mark, &us)) return -1.0;
    assert_memory_equal(&mark, &tag, sizeof mark);
    return us;
}

static void expect_exact(double us)
{
    if (!(fabs(us - KERNELS * KERNEL_US) < 0.01)) fail_msg("%g us, expected %d", us, KERNELS * KERNEL_US);
}

static void test_gaps_of_the_host_do_not_count(void **state)
{
    (void)state;
    static const double gaps[] = {0.0, 1.0, 5.0, 12.0, 25.0, 33.0};
    lac_exec_t *exec = setup_exec();
    make_ready(exec);
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) expect_exact(time_of(exec, gaps[i]));
}

/* What may not begin early is credited with what a graph would not have waited, where other kernels may. */
static void test_a_late_start_does_not_count(void **state)
{
    (void)state;
    static const double late_us = 0.5;
    lac_exec_t *exec = setup_exec();
    make_ready(exec);
    for (int major = 8; major <= 10; major++) {
        exec->major = major;
        tag.late = true;
        double us = time_of(exec, 2.0), want = KERNELS * KERNEL_US - (major >= 9 ? late_us : 0.0);
        if (!(fabs(us - want) < 0.01)) fail_msg("%d.0: %g us, expected %g", major, us, want);
        tag.late = false;
        expect_exact(time_of(exec, 2.0));
    }
}

/* The host comes too late for the gate: the time is refused. Refusals grow rare, and end with the first run
 * that the host queues in time. */
static void test_too_slow_a_host_is_refused(void **state)
{
    (void)state;
    lac_exec_t *exec = setup_exec();
    make_ready(exec);
    int before = gates;
    for (int i = 0; i < 3000; i++)
        if (time_of(exec, 200.0) >= 0.0) fail_msg("run %d: a time with gaps of the host was reported", i);
    if (gates - before > 20) fail_msg("%d gates for nothing", gates - before);
    int left_out = 0;
    while (time_of(exec, 2.0) < 0.0)
        if (++left_out > 1024) fail_msg("nothing is timed any more");
    for (int i = 0; i < 10; i++) expect_exact(time_of(exec, 2.0));
}

/* Behind other work the device does not wait, however slow the host is. */
static void test_a_busy_stream(void **state)
{
    (void)state;
    lac_exec_t *exec = setup_exec();
    make_ready(exec);
    for (int i = 0; i < 10; i++) {
        queue(5000.0, -1);
        expect_exact(time_of(exec, 200.0));
    }
}

/* The timer's own time is asked for again where the host interfered. */
static void test_own_time_is_measured_in_the_end(void **state)
{
    (void)state;
    lac_exec_t *exec = setup_exec();
    make_ready(exec);
    assert_true(fabs(exec->clock.own_us - OWN_US) < 0.01);
}

/* A host that is too slow even for that leaves it unknown, and nothing is timed until it is. */
static void test_own_time_waits_for_the_host(void **state)
{
    (void)state;
    lac_exec_t *exec = setup_exec();
    lac_timing_tag_t mark;
    double us;
    record_us = 250.0; /* more than the gate's bound */
    for (int i = 0; i < 100; i++) {
        assert_false(run_kernels(exec, 1.0));
        host_us += 1000.0;
        assert_false(lac_cuda_timer_hooks.done(exec, &mark, &us));
    }
    assert_true(exec->clock.own_us <= 0.0);
    record_us = 0.0;
    for (int i = 0; i < 200; i++) { /* those left out after refusals, too */
        run_kernels(exec, 1.0);
        host_us += 1000.0;
        while (lac_cuda_timer_hooks.done(exec, &mark, &us)) {
        }
    }
    assert_true(fabs(exec->clock.own_us - OWN_US) < 0.01);
    expect_exact(time_of(exec, 2.0));
}

/* Where the first event cannot be recorded nothing is timed, and the stream runs on at once. */
static void test_no_event(void **state)
{
    (void)state;
    lac_exec_t *exec = setup_exec();
    make_ready(exec);
    no_events = true;
    assert_false(lac_cuda_timer_hooks.begin(exec));
    double from = host_us;
    step();
    assert_false(closed);
    assert_true(host_us - from < 1.0);
    no_events = false;
    expect_exact(time_of(exec, 2.0));
}

/* A run whose end nobody announces holds the stream for the gate's bound, and no longer. */
static void test_an_end_that_never_comes(void **state)
{
    (void)state;
    lac_exec_t *exec = setup_exec();
    make_ready(exec);
    assert_true(lac_cuda_timer_hooks.begin(exec));
    queue(KERNEL_US, -1);
    host_us += 1e4;
    step();
    assert_false(closed);
    expect_exact(time_of(exec, 2.0));
}

/* Where all slots are taken, or the stream is captured, nothing is held. */
static void test_no_slot(void **state)
{
    (void)state;
    lac_exec_t *exec = setup_exec();
    make_ready(exec);
    queue(1e6, -1);
    int timed = 0;
    for (int i = 0; i < 100; i++) timed += run_kernels(exec, 1.0);
    assert_int_equal(timed, LAC_CUDA_SPANS);
    host_us += 2e6;
    step();
    assert_false(closed);
    capturing = true;
    int before = gates;
    assert_false(run_kernels(exec, 1.0));
    assert_int_equal(gates, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gaps_of_the_host_do_not_count),
                                       cmocka_unit_test(test_a_late_start_does_not_count),
                                       cmocka_unit_test(test_too_slow_a_host_is_refused),
                                       cmocka_unit_test(test_a_busy_stream),
                                       cmocka_unit_test(test_own_time_is_measured_in_the_end),
                                       cmocka_unit_test(test_own_time_waits_for_the_host),
                                       cmocka_unit_test(test_no_event),
                                       cmocka_unit_test(test_an_end_that_never_comes),
                                       cmocka_unit_test(test_no_slot)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
