/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Timing one thing on a device: recorded and replayed, with its caches emptied, call by call, and on the
 * host's clock alone. */
#ifndef TOOL_DEVICE_CONTENDER_H
#define TOOL_DEVICE_CONTENDER_H

#include "l2_flush.h"
#include "lacuna/lacuna.h"

typedef struct device_contender {
    lac_ctx_t *ctx;
    lac_work_fn queue; /* queues one call on ctx */
    void *arg;
    const l2_flush_t *sweep; /* for device_contender_cold                      */
    lac_graph_t *recording;  /* of `recorded` calls, or NULL              */
    lac_graph_t *sweeps;     /* of as many sweeps alone, or NULL          */
    int recorded;
} device_contender_t;

/* The next three give microseconds per call over `calls` calls, negative where one failed (lac_last_error
 * says why). They have the type of timed_contender_t.measure: timed is a device_contender_t. */

/* The calls recorded once and replayed as one, behind a replay that is not timed, so that nothing of the host
 * shows. */
double device_contender_replayed(void *timed, int calls);

/* The same with a sweep through the device's memory before each call, less the time of the sweeps alone. */
double device_contender_cold(void *timed, int calls);

/* Queued by the host one after the other: what takes longer shows, the device's work or the host's. */
double device_contender_queued(void *timed, int calls);

/* Microseconds of the host for one call while the device's queue is not full; negative where one failed.
 * call_us is what a call takes on the device. */
double device_contender_host_us(const device_contender_t *contender, double call_us);

/* Frees the recordings; the lane can be timed again. */
void device_contender_forget(device_contender_t *contender);

#endif
