/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Comparing on a device: both routes run on a copy of c there, and are timed by the device's own clock. */
#include "shadow_device.h"
#include "../base/log.h"
#include "../base/memory.h"

#define TIMED_CALLS 5 /* after one that warms up */

/* The stretch of memory that the elements of c lie in, from its lowest address. */
static void find_stretch(const lac_problem_t *p, lac_shadow_t *shadow)
{
    int64_t down = (p->m - 1) * p->crs, along = (p->n - 1) * p->ccs;
    int64_t high = (down > 0 ? down : 0) + (along > 0 ? along : 0);
    shadow->low = (down < 0 ? down : 0) + (along < 0 ? along : 0);
    shadow->count = high - shadow->low + 1;
}

bool lac_shadow_begin_device(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p)
{
    if (!p->m || !p->n) return false;
    if (ctx->backend->device->capturing(ctx->exec)) {
        lac_warn("compare: left out while the stream is captured");
        return false;
    }
    find_stretch(p, shadow);
    size_t bytes = (size_t)shadow->count * sizeof *shadow->c;
    shadow->c = lac_alloc(bytes);
    return shadow->c && !ctx->backend->device->download(ctx->exec, shadow->c, p->c + shadow->low, bytes);
}

typedef struct timed {
    lac_ctx_t *ctx;
    const lac_route_t *route;
    const lac_problem_t *p;
} timed_t;

static lac_status_t call(void *arg)
{
    const timed_t *t = arg;
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    return t->route->run(t->route, t->ctx->exec, t->p, &out);
}

static lac_status_t time_route(lac_ctx_t *ctx, const lac_route_t *route, const lac_problem_t *p, double *us)
{
    timed_t t = {ctx, route, p};
    lac_status_t status = call(&t);
    return status ? status : ctx->backend->device->time(ctx->exec, call, &t, TIMED_CALLS, us);
}

lac_status_t lac_shadow_end_device(lac_ctx_t *ctx, const lac_shadow_t *shadow, const lac_problem_t *p,
                                   const lac_request_t *request, const lac_choice_t *choice,
                                   const lac_choice_t *second)
{
    const lac_device_t *device = ctx->backend->device;
    size_t bytes = (size_t)shadow->count * sizeof(float);
    float *first_c = lac_alloc(bytes), *second_c = lac_alloc(bytes);
    void *scratch = NULL;
    lac_status_t status = first_c && second_c ? LAC_OK : LAC_ERR_MEMORY;
    lac_problem_t again = *p;
    lac_shadow_result_t mine = {first_c - shadow->low, p->crs, p->ccs, 0.0},
                        other = {second_c - shadow->low, p->crs, p->ccs, 0.0};
    if (!status) status = device->download(ctx->exec, first_c, p->c + shadow->low, bytes);
    if (!status) status = device->alloc(ctx->exec, bytes, &scratch);
    again.c = (float *)scratch - shadow->low;
    timed_t once = {ctx, second->route, &again};
    if (!status) status = device->upload(ctx->exec, scratch, shadow->c, bytes);
    if (!status) status = call(&once);
    if (!status) status = device->download(ctx->exec, second_c, scratch, bytes);
    if (!status) status = time_route(ctx, choice->route, &again, &mine.us);
    if (!status) status = time_route(ctx, second->route, &again, &other.us);
    if (!status) lac_shadow_report(p, request, choice->route, &mine, second->route, &other);
    if (scratch) device->release(ctx->exec, scratch);
    lac_free(first_c);
    lac_free(second_c);
    return status;
}
