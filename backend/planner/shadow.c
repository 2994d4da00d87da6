/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Comparing a call with a second opinion, outside the caller's c, on the host and on a device. */
#include "shadow.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* The largest difference of two results, and the line about it. */

/* Element (i, j) lies at buf[i * rs + j * cs]. */
typedef struct result {
    const void *buf;
    lac_inc_t rs, cs;
    double us;
} result_t;

typedef struct difference {
    double largest, scale;
    lac_dim_t row, column;
} difference_t;

/* NaN never passes: a NaN on one side only counts as an infinite difference. */
static double apart(double x, double y)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y) ? 0.0 : (double)INFINITY;
    return x == y ? 0.0 : fabs(x - y);
}

static double element(lac_dt_t dt, const result_t *x, lac_dim_t i, lac_dim_t j)
{
    const char *first = x->buf;
    return lac_scalar(first + (i * x->rs + j * x->cs) * (lac_inc_t)lac_dt_size(dt), dt, 0.0);
}

static difference_t compare(const lac_problem_t *p, const result_t *first, const result_t *second)
{
    difference_t d = {0};
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            if (!lac_triangle_holds(p->triangle, i, j)) continue;
            double mine = element(p->dt, first, i, j), other = element(p->dt, second, i, j);
            double gap = apart(mine, other);
            if (fabs(other) > d.scale) d.scale = fabs(other);
            if (gap > d.largest) d.largest = gap, d.row = i, d.column = j;
        }
    return d;
}

/* Writes the line, from two results and two times. */
static void report(const lac_problem_t *p, const char *symbol, const lac_route_t *first, const result_t *mine,
                   const lac_route_t *second, const result_t *other)
{
    difference_t d = compare(p, mine, other);
    lac_log(
        "lacuna,1,compare,%s,%lldx%lldx%lld,%s,%s,max difference %.3g at (%lld,%lld) of %.3g,time ratio %.3f",
        symbol, (long long)p->m, (long long)p->k, (long long)p->n, first->name, second->name, d.largest,
        (long long)d.row, (long long)d.column, d.scale, other->us > 0 ? mine->us / other->us : 0.0);
}

/* On the host: the second route runs on a copy of c as it was before the call. */

static bool begin_host(lac_shadow_t *shadow, const lac_problem_t *p)
{
    size_t size = lac_dt_size(p->dt);
    shadow->c = lac_alloc((size_t)p->m * (size_t)p->n * size);
    if (!shadow->c) return false;
    for (lac_dim_t i = 0; p->beta != 0.0 && i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++)
            if (lac_triangle_holds(p->triangle, i, j))
                memcpy((char *)shadow->c + (size_t)(i * p->n + j) * size, lac_c_at(p, i, j), size);
    return true;
}

static void end_host(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p, const char *symbol,
                     const lac_choice_t *choice, const lac_choice_t *second, double took_us)
{
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    lac_problem_t again = *p;
    again.c = shadow->c;
    again.crs = p->n;
    again.ccs = 1;
    double begin = lac_now_us();
    if (second->route->run(second->route, ctx->exec, &again, &out)) return;
    result_t mine = {p->c, p->crs, p->ccs, took_us}, other = {shadow->c, p->n, 1, lac_now_us() - begin};
    report(p, symbol, choice->route, &mine, second->route, &other);
}

/* On a device: both routes run on a copy of c there, and are timed by the device's own clock. */

#define TIMED_CALLS 5 /* after one that warms up */

/* The stretch of memory that the elements of c lie in, from its lowest address. */
static void find_stretch(const lac_problem_t *p, lac_shadow_t *shadow)
{
    int64_t down = (p->m - 1) * p->crs, along = (p->n - 1) * p->ccs;
    int64_t high = (down > 0 ? down : 0) + (along > 0 ? along : 0);
    shadow->low = (down < 0 ? down : 0) + (along < 0 ? along : 0);
    shadow->count = high - shadow->low + 1;
}

static bool begin_device(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p)
{
    if (!p->m || !p->n) return false;
    if (p->dt != LAC_F32) {
        lac_warn("compare: left out on a device for f16, bf16 and f64 outputs");
        return false;
    }
    if (ctx->backend->device->capturing(ctx->exec)) {
        lac_warn("compare: left out while the stream is captured");
        return false;
    }
    find_stretch(p, shadow);
    size_t bytes = (size_t)shadow->count * sizeof(float);
    shadow->c = lac_alloc(bytes);
    return shadow->c &&
           !ctx->backend->device->download(ctx->exec, shadow->c, (const float *)p->c + shadow->low, bytes);
}

typedef struct timed {
    lac_ctx_t *ctx;
    const lac_route_t *route;
    const lac_problem_t *p;
} timed_t;

static lac_status_t run_once(void *arg)
{
    const timed_t *t = arg;
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    return t->route->run(t->route, t->ctx->exec, t->p, &out);
}

static lac_status_t time_route(lac_ctx_t *ctx, const lac_route_t *route, const lac_problem_t *p, double *us)
{
    timed_t t = {ctx, route, p};
    lac_status_t status = run_once(&t);
    return status ? status : ctx->backend->device->time(ctx->exec, run_once, &t, TIMED_CALLS, us);
}

static lac_status_t end_device(lac_ctx_t *ctx, const lac_shadow_t *shadow, const lac_problem_t *p,
                               const char *symbol, const lac_choice_t *choice, const lac_choice_t *second)
{
    const lac_device_t *device = ctx->backend->device;
    size_t bytes = (size_t)shadow->count * sizeof(float);
    float *first_c = lac_alloc(bytes), *second_c = lac_alloc(bytes);
    void *scratch = NULL;
    lac_status_t status = first_c && second_c ? LAC_OK : LAC_ERR_MEMORY;
    lac_problem_t again = *p;
    result_t mine = {first_c - shadow->low, p->crs, p->ccs, 0.0},
             other = {second_c - shadow->low, p->crs, p->ccs, 0.0};
    if (!status) status = device->download(ctx->exec, first_c, (const float *)p->c + shadow->low, bytes);
    if (!status) status = device->alloc(ctx->exec, bytes, &scratch);
    again.c = (float *)scratch - shadow->low;
    timed_t once = {ctx, second->route, &again};
    if (!status) status = device->upload(ctx->exec, scratch, shadow->c, bytes);
    if (!status) status = run_once(&once);
    if (!status) status = device->download(ctx->exec, second_c, scratch, bytes);
    if (!status) status = time_route(ctx, choice->route, &again, &mine.us);
    if (!status) status = time_route(ctx, second->route, &again, &other.us);
    if (!status) report(p, symbol, choice->route, &mine, second->route, &other);
    if (scratch) device->release(ctx->exec, scratch);
    lac_free(first_c);
    lac_free(second_c);
    return status;
}

/* Either. */

bool lac_shadow_due(lac_ctx_t *ctx)
{
    return ctx->policy.compare && ctx->calls++ % (uint64_t)ctx->policy.compare_every == 0;
}

bool lac_shadow_begin(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p)
{
    return ctx->backend->device ? begin_device(ctx, shadow, p) : begin_host(shadow, p);
}

void lac_shadow_end(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p, const char *symbol,
                    const lac_choice_t *choice, double took_us)
{
    lac_problem_t again = *p;
    lac_preference_t preference = {.forced = ctx->policy.compare};
    again.terms.density_limit = -1.0;
    again.terms.callers_blas = false; /* ours has to run */
    again.terms.named = true;
    if (again.a.density < 0) again.a.density = LAC_ASSUMED_DENSITY;
    if (again.b.density < 0) again.b.density = LAC_ASSUMED_DENSITY;
    lac_choice_t second = lac_select(ctx->routes, ctx->route_count, &again, &ctx->machine, &preference);
    if (!ctx->backend->device)
        end_host(ctx, shadow, &again, symbol, choice, &second, took_us);
    else if (end_device(ctx, shadow, &again, symbol, choice, &second))
        lac_warn("compare: %s", lac_last_error());
}

void lac_shadow_free(lac_shadow_t *shadow)
{
    if (!shadow->c) return;
    lac_free(shadow->c);
    shadow->c = NULL;
}
