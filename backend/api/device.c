/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Device memory and recordings: checked here, done by the context's backend. */
#include "entry.h"
#include "base/status.h"
#include "lacuna/device.h"

#include <stdlib.h>

struct lac_graph {
    lac_ctx_t *ctx;
    void *inside; /* the backend's */
    int calls;
};

static lac_status_t device_of(const lac_ctx_t *ctx, const lac_device_t **device)
{
    lac_clear_error();
    *device = NULL;
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    *device = ctx->backend->device;
    return *device ? LAC_OK : lac_fail(LAC_ERR_UNAVAILABLE, "ctx: computes on the host, not on a device");
}

lac_status_t lac_device_alloc(lac_ctx_t *ctx, size_t bytes, void **memory)
{
    const lac_device_t *device;
    lac_status_t status = device_of(ctx, &device);
    if (status) return status;
    if (!memory) return lac_fail(LAC_ERR_NULL, "memory: is NULL");
    *memory = NULL;
    int token = lac_enter(ctx);
    status = device->alloc(ctx->exec, bytes, memory);
    lac_leave(ctx, token);
    return status;
}

lac_status_t lac_device_free(lac_ctx_t *ctx, void *memory)
{
    const lac_device_t *device;
    lac_status_t status = device_of(ctx, &device);
    if (status || !memory) return status;
    int token = lac_enter(ctx);
    status = device->release(ctx->exec, memory);
    lac_leave(ctx, token);
    return status;
}

static lac_status_t copy(lac_ctx_t *ctx, void *to, const void *from, size_t bytes, bool down)
{
    const lac_device_t *device;
    lac_status_t status = device_of(ctx, &device);
    if (status || !bytes) return status;
    if (!to || !from) return lac_fail(LAC_ERR_NULL, "%s: is NULL", to ? "from" : "to");
    int token = lac_enter(ctx);
    status = (down ? device->download : device->upload)(ctx->exec, to, from, bytes);
    lac_leave(ctx, token);
    return status;
}

lac_status_t lac_device_upload(lac_ctx_t *ctx, void *to, const void *from, size_t bytes)
{
    return copy(ctx, to, from, bytes, false);
}

lac_status_t lac_device_download(lac_ctx_t *ctx, void *to, const void *from, size_t bytes)
{
    return copy(ctx, to, from, bytes, true);
}

lac_status_t lac_device_wait(lac_ctx_t *ctx)
{
    const lac_device_t *device;
    lac_status_t status = device_of(ctx, &device);
    if (status) return status;
    int token = lac_enter(ctx);
    status = device->wait(ctx->exec);
    lac_leave(ctx, token);
    return status;
}

void *lac_device_stream(const lac_ctx_t *ctx)
{
    return ctx && ctx->backend->device ? ctx->backend->device->stream(ctx->exec) : NULL;
}

static lac_status_t check_timed(lac_work_fn work, int calls)
{
    if (!work) return lac_fail(LAC_ERR_NULL, "work: is NULL");
    return calls >= 1 ? LAC_OK : lac_fail(LAC_ERR_VALUE, "calls: is %d, not positive", calls);
}

lac_status_t lac_device_time(lac_ctx_t *ctx, lac_work_fn work, void *arg, int calls, double *us)
{
    const lac_device_t *device;
    lac_status_t status = device_of(ctx, &device);
    if (!status) status = check_timed(work, calls);
    if (!status && !us) status = lac_fail(LAC_ERR_NULL, "us: is NULL");
    if (status) return status;
    int token = lac_enter(ctx);
    status = device->time(ctx->exec, work, arg, calls, us);
    lac_leave(ctx, token);
    return status;
}

lac_status_t lac_graph_capture(lac_ctx_t *ctx, lac_work_fn work, void *arg, int calls,
                               lac_graph_t **recording)
{
    const lac_device_t *device;
    lac_status_t status = device_of(ctx, &device);
    if (status) return status;
    if (!recording) return lac_fail(LAC_ERR_NULL, "recording: is NULL");
    *recording = NULL;
    if ((status = check_timed(work, calls))) return status;
    lac_graph_t *made = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "recording: out of memory");
    int token = lac_enter(ctx);
    status = device->record(ctx->exec, work, arg, calls, &made->inside);
    lac_leave(ctx, token);
    if (status) {
        free(made);
        return status;
    }
    made->ctx = ctx;
    made->calls = calls;
    *recording = made;
    return LAC_OK;
}

lac_status_t lac_graph_launch(lac_graph_t *recording, int times, double *us)
{
    lac_clear_error();
    if (!recording) return lac_fail(LAC_ERR_NULL, "recording: is NULL");
    if (times < 1) return lac_fail(LAC_ERR_VALUE, "times: is %d, not positive", times);
    lac_ctx_t *ctx = recording->ctx;
    int token = lac_enter(ctx);
    lac_status_t status = ctx->backend->device->replay(ctx->exec, recording->inside, times, us);
    lac_leave(ctx, token);
    if (!status && us) *us /= recording->calls;
    return status;
}

void lac_graph_free(lac_graph_t *recording)
{
    if (!recording) return;
    recording->ctx->backend->device->forget(recording->inside);
    free(recording);
}
