/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Timing one thing on a device: recorded and replayed, with its caches emptied, call by call, and on the
 * host's clock alone. */
#ifndef TOOL_DEVICE_LANE_H
#define TOOL_DEVICE_LANE_H

#include "device_sweep.h"
#include "lacuna/lacuna.h"

typedef struct device_lane {
    lac_ctx_t *ctx;
    lac_work_fn queue; /* queues one call on ctx */
    void *arg;
    const device_sweep_t *sweep; /* for device_lane_cold                      */
    lac_graph_t *recording;      /* of `recorded` calls, or NULL              */
    lac_graph_t *sweeps;         /* of as many sweeps alone, or NULL          */
    int recorded;
} device_lane_t;

/* The next three give microseconds per call over `calls` calls, negative where one failed (lac_last_error
 * says why). They have the type of timed_lane_t.measure: timed is a device_lane_t. */

/* The calls recorded once and replayed as one, behind a replay that is not timed, so that nothing of the host
 * shows. */
double device_lane_replayed(void *timed, int calls);

/* The same with a sweep through the device's memory before each call, less the time of the sweeps alone. */
double device_lane_cold(void *timed, int calls);

/* Queued by the host one after the other: what takes longer shows, the device's work or the host's. */
double device_lane_queued(void *timed, int calls);

/* Microseconds of the host for one call while the device's queue is not full; negative where one failed.
 * call_us is what a call takes on the device. */
double device_lane_host_us(const device_lane_t *lane, double call_us);

/* Frees the recordings; the lane can be timed again. */
void device_lane_forget(device_lane_t *lane);

#endif
