/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Few runs are clocked: the first ones of a route at a site, and one of many afterwards. */
#include "device_timing.h"
#include "history.h"
#include "spmm_autotune.h"
#include "timing.h"

/* Calls of a site whose route is known between two that are timed: one takes a kernel and two events more. */
#define CLOCK_EVERY 1024

static bool has_clock(const lac_ctx_t *ctx)
{
    return ctx->policy.learn && ctx->backend && ctx->backend->clock;
}

bool lac_device_timing_begin(lac_ctx_t *ctx, lac_site_t *site, const lac_choice_t *choice)
{
    if (!site || !has_clock(ctx) || choice->row < 0) return false;
    bool tells = choice->route->role != LAC_ROLE_EITHER, /* else its time hangs on what nobody knows */
        known = lac_timing_is_known(site, choice->row);
    bool due = tells && (known ? site->calls % CLOCK_EVERY == 0 : !lac_timing_is_calm(site));
    if (due && ctx->backend->clock->begin(ctx->exec)) return true;
    lac_timing_spend(ctx, site, choice->cost_us);
    return false;
}

/* The vendor's kernels and our plain one; others of ours may begin early, where a device lets them. */
static bool is_late(const lac_route_t *route)
{
    return route->role == LAC_ROLE_DENSE || route->role == LAC_ROLE_NATIVE;
}

void lac_device_timing_end(lac_ctx_t *ctx, const lac_site_t *site, const lac_problem_t *p,
                           const lac_choice_t *choice)
{
    lac_timing_tag_t mark = {site ? site->id : 0, choice->row, 0.0, is_late(choice->route)};
    if (site) mark.predicted_us = choice->route->cost_us(choice->route, p, &ctx->machine);
    ctx->backend->clock->end(ctx->exec, &mark);
}

/* What the caller's one call for a whole batch took, as the time of one product by the dense route alone:
 * routes that make one after the other are charged what a product costs more that way. */
static double alone_us(const lac_site_t *site, int row, double us)
{
    uint64_t count = lac_site_batch_count(&site->key);
    return count && row == site->dense_row ? us / (double)count + site->shape.account.extra_us : us;
}

void lac_device_timing_collect(lac_ctx_t *ctx)
{
    lac_timing_tag_t mark;
    double us;
    if (!has_clock(ctx)) return;
    while (ctx->backend->clock->done(ctx->exec, &mark, &us)) {
        if (mark.row >= LAC_SPMM_AUTOTUNE_ROW) {
            lac_spmm_autotune_learn(ctx->autotune, &mark, us);
            continue;
        }
        lac_site_t *site = lac_site_numbered(&ctx->sites, mark.site); /* it may be gone by now */
        if (site)
            lac_history_timed(ctx, site, &site->shape, mark.row, mark.predicted_us,
                              alone_us(site, mark.row, us));
    }
}
