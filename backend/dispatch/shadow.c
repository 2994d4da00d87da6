/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Comparing a call with a second opinion, outside the caller's c. */
#include "shadow.h"
#include "shadow_device.h"
#include "../base/clock.h"
#include "../base/log.h"
#include "../base/memory.h"

#define ASSUMED_DENSITY 0.10 /* where nothing is known: it only steers */

bool lac_shadow_due(lac_ctx_t *ctx)
{
    return ctx->policy.compare && ctx->calls++ % (uint64_t)ctx->policy.compare_every == 0;
}

bool lac_shadow_begin(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p)
{
    if (ctx->backend->device) return lac_shadow_begin_device(ctx, shadow, p);
    shadow->c = lac_alloc((size_t)p->m * (size_t)p->n * sizeof *shadow->c);
    if (!shadow->c) return false;
    for (lac_dim_t i = 0; p->beta != 0.0f && i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) shadow->c[i * p->n + j] = p->c[i * p->crs + j * p->ccs];
    return true;
}

static void end_host(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p,
                     const lac_request_t *request, const lac_choice_t *choice, const lac_choice_t *second,
                     double took_us)
{
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    lac_problem_t again = *p;
    again.c = shadow->c;
    again.crs = p->n;
    again.ccs = 1;
    double begin = lac_now_us();
    if (second->route->run(second->route, ctx->exec, &again, &out)) return;
    lac_shadow_result_t mine = {p->c, p->crs, p->ccs, took_us},
                        other = {shadow->c, p->n, 1, lac_now_us() - begin};
    lac_shadow_report(p, request, choice->route, &mine, second->route, &other);
}

void lac_shadow_end(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p,
                    const lac_request_t *request, const lac_choice_t *choice, double took_us)
{
    lac_problem_t again = *p;
    lac_preference_t preference = {.forced = ctx->policy.compare};
    again.density_limit = -1.0;
    again.callers_blas = false; /* ours has to run */
    again.named = true;
    if (again.a.density < 0) again.a.density = ASSUMED_DENSITY;
    if (again.b.density < 0) again.b.density = ASSUMED_DENSITY;
    lac_choice_t second = lac_select(ctx->routes, ctx->route_count, &again, &ctx->machine, &preference);
    if (!ctx->backend->device)
        end_host(ctx, shadow, &again, request, choice, &second, took_us);
    else if (lac_shadow_end_device(ctx, shadow, &again, request, choice, &second))
        lac_warn("compare: %s", lac_last_error());
}

void lac_shadow_free(lac_shadow_t *shadow)
{
    lac_free(shadow->c);
    shadow->c = NULL;
}
