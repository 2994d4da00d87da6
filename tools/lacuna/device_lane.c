/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Timing one thing on a device. */
#include "device_lane.h"

#include <stdbool.h>

#include "sample_stats.h"
#include "stopwatch.h"

#define US_MIN 1e-3 /* of a call, after the sweeps have been taken off */
/* Calls between two waits when the host's time is taken: short of the 1024 launches that a device queues. */
#define HOST_BATCH     64
#define HOST_BATCH_US  4000.0
#define HOST_BATCHES   15
#define QUEUED_UNTIMED 4 /* calls that keep the device busy while the host begins to queue */

static bool record(const device_lane_t *lane, lac_work_fn work, void *arg, int calls, lac_graph_t **recording)
{
    if (*recording && lane->recorded == calls) return true;
    lac_graph_free(*recording);
    *recording = NULL;
    return lac_graph_capture(lane->ctx, work, arg, calls, recording) == LAC_OK;
}

static double replayed(lac_graph_t *recording)
{
    double us;
    bool ran =
        lac_graph_launch(recording, 1, NULL) == LAC_OK && lac_graph_launch(recording, 1, &us) == LAC_OK;
    return ran ? us : -1.0;
}

double device_lane_replayed(void *timed, int calls)
{
    device_lane_t *lane = timed;
    if (!record(lane, lane->queue, lane->arg, calls, &lane->recording)) return -1.0;
    lane->recorded = calls;
    return replayed(lane->recording);
}

static lac_status_t queue_sweep(void *arg)
{
    const device_lane_t *lane = arg;
    return device_sweep_queue(lane->sweep, lane->ctx);
}

static lac_status_t queue_swept(void *arg)
{
    const device_lane_t *lane = arg;
    lac_status_t status = device_sweep_queue(lane->sweep, lane->ctx);
    return status != LAC_OK ? status : lane->queue(lane->arg);
}

double device_lane_cold(void *timed, int calls)
{
    device_lane_t *lane = timed;
    /* The first sweep on a context makes its BLAS handle, which a recording may not do. */
    if (!lane->sweeps && (queue_sweep(lane) != LAC_OK || lac_device_wait(lane->ctx) != LAC_OK)) return -1.0;
    if (!record(lane, queue_swept, lane, calls, &lane->recording) ||
        !record(lane, queue_sweep, lane, calls, &lane->sweeps))
        return -1.0;
    lane->recorded = calls;
    double both = replayed(lane->recording), alone = replayed(lane->sweeps);
    if (both < 0.0 || alone < 0.0) return -1.0;
    return both - alone > US_MIN ? both - alone : US_MIN;
}

double device_lane_queued(void *timed, int calls)
{
    device_lane_t *lane = timed;
    double us;
    for (int i = 0; i < QUEUED_UNTIMED; i++)
        if (lane->queue(lane->arg) != LAC_OK) return -1.0;
    return lac_device_time(lane->ctx, lane->queue, lane->arg, calls, &us) == LAC_OK ? us : -1.0;
}

double device_lane_host_us(const device_lane_t *lane, double call_us)
{
    double took[HOST_BATCHES], calls = HOST_BATCH_US / (call_us > 1.0 ? call_us : 1.0);
    int batch = calls > HOST_BATCH ? HOST_BATCH : calls < 1.0 ? 1 : (int)calls;
    for (int b = 0; b < HOST_BATCHES; b++) {
        if (lac_device_wait(lane->ctx) != LAC_OK) return -1.0;
        double begin = stopwatch_us();
        for (int i = 0; i < batch; i++)
            if (lane->queue(lane->arg) != LAC_OK) return -1.0;
        took[b] = (stopwatch_us() - begin) / batch;
    }
    return lac_device_wait(lane->ctx) == LAC_OK ? sample_stats(took, HOST_BATCHES).median : -1.0;
}

void device_lane_forget(device_lane_t *lane)
{
    lac_graph_free(lane->recording);
    lac_graph_free(lane->sweeps);
    lane->recording = lane->sweeps = NULL;
    lane->recorded = 0;
}
