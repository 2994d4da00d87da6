/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Timing one thing on a device. */
#include "device_contender.h"

#include <stdbool.h>

#include "sample_stats.h"
#include "wall_clock.h"

#define US_MIN 1e-3 /* of a call, after the sweeps have been taken off */
/* Calls between two waits when the host's time is taken: short of the 1024 launches that a device queues. */
#define HOST_BATCH     64
#define HOST_BATCH_US  4000.0
#define HOST_BATCHES   15
#define QUEUED_UNTIMED 4 /* calls that keep the device busy while the host begins to queue */

static bool record(const device_contender_t *contender, lac_work_fn work, void *arg, int calls,
                   lac_graph_t **recording)
{
    if (*recording && contender->recorded == calls) return true;
    lac_graph_free(*recording);
    *recording = NULL;
    return lac_graph_capture(contender->ctx, work, arg, calls, recording) == LAC_OK;
}

static double replayed(lac_graph_t *recording)
{
    double us;
    bool ran =
        lac_graph_launch(recording, 1, NULL) == LAC_OK && lac_graph_launch(recording, 1, &us) == LAC_OK;
    return ran ? us : -1.0;
}

double device_contender_replayed(void *timed, int calls)
{
    device_contender_t *contender = timed;
    if (!record(contender, contender->queue, contender->arg, calls, &contender->recording)) return -1.0;
    contender->recorded = calls;
    return replayed(contender->recording);
}

static lac_status_t queue_sweep(void *arg)
{
    const device_contender_t *contender = arg;
    return l2_flush_queue(contender->sweep, contender->ctx);
}

static lac_status_t queue_swept(void *arg)
{
    const device_contender_t *contender = arg;
    lac_status_t status = l2_flush_queue(contender->sweep, contender->ctx);
    return status != LAC_OK ? status : contender->queue(contender->arg);
}

double device_contender_cold(void *timed, int calls)
{
    device_contender_t *contender = timed;
    /* The first sweep on a context makes its BLAS handle, which a recording may not do. */
    if (!contender->sweeps && (queue_sweep(contender) != LAC_OK || lac_device_wait(contender->ctx) != LAC_OK))
        return -1.0;
    if (!record(contender, queue_swept, contender, calls, &contender->recording) ||
        !record(contender, queue_sweep, contender, calls, &contender->sweeps))
        return -1.0;
    contender->recorded = calls;
    double both = replayed(contender->recording), alone = replayed(contender->sweeps);
    if (both < 0.0 || alone < 0.0) return -1.0;
    return both - alone > US_MIN ? both - alone : US_MIN;
}

double device_contender_queued(void *timed, int calls)
{
    device_contender_t *contender = timed;
    double us;
    for (int i = 0; i < QUEUED_UNTIMED; i++)
        if (contender->queue(contender->arg) != LAC_OK) return -1.0;
    return lac_device_time(contender->ctx, contender->queue, contender->arg, calls, &us) == LAC_OK ? us
                                                                                                   : -1.0;
}

double device_contender_host_us(const device_contender_t *contender, double call_us)
{
    double took[HOST_BATCHES], calls = HOST_BATCH_US / (call_us > 1.0 ? call_us : 1.0);
    int batch = calls > HOST_BATCH ? HOST_BATCH : calls < 1.0 ? 1 : (int)calls;
    for (int b = 0; b < HOST_BATCHES; b++) {
        if (lac_device_wait(contender->ctx) != LAC_OK) return -1.0;
        double begin = clock_us();
        for (int i = 0; i < batch; i++)
            if (contender->queue(contender->arg) != LAC_OK) return -1.0;
        took[b] = (clock_us() - begin) / batch;
    }
    return lac_device_wait(contender->ctx) == LAC_OK ? sample_stats(took, HOST_BATCHES).median : -1.0;
}

void device_contender_forget(device_contender_t *contender)
{
    lac_graph_free(contender->recording);
    lac_graph_free(contender->sweeps);
    contender->recording = contender->sweeps = NULL;
    contender->recorded = 0;
}
