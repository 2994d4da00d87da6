/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A batch asks the site of its first product what is known of the operands, and teaches it what served. */
#include "dispatch_batch.h"
#include "history.h"
#include "report.h"
#include "../base/log.h"

/* The table's route that did what the batch did, for the history's sake. */
static const lac_route_t *route_like(const lac_ctx_t *ctx, const lac_batch_outcome_t *out)
{
    for (int i = 0; i < ctx->route_count; i++)
        if (ctx->routes[i]->role == out->role && ctx->routes[i]->side == out->side) return ctx->routes[i];
    return NULL;
}

static void learn(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, const lac_batch_outcome_t *out)
{
    lac_choice_t choice = {route_like(ctx, out), -1, LAC_WHY_BATCHED, -1.0, -1.0};
    lac_outcome_t seen = {false, -1.0, -1.0, NULL};
    if (out->side == LAC_SIDE_LEFT) seen.density = p->a.density;
    if (out->side == LAC_SIDE_RIGHT) seen.density = p->b.density;
    if (site && choice.route) lac_history_learn(ctx, site, p, &choice, &seen);
}

static void choose_single(const lac_ctx_t *ctx, const lac_problem_t *p, lac_batch_t *batch)
{
    lac_preference_t preference = {.sparse_margin = ctx->policy.sparse_margin};
    lac_problem_t one = *p;
    one.threads = 1;
    lac_choice_t choice = lac_select(ctx->routes, ctx->route_count, &one, &ctx->machine, &preference);
    batch->single = choice.route;
    batch->single_us = choice.cost_us;
}

lac_status_t lac_dispatch_batch(lac_ctx_t *ctx, lac_problem_t *p, lac_batch_t *batch, const char *symbol,
                                bool *served)
{
    lac_batch_outcome_t out = {0};
    lac_request_t request = {.symbol = symbol};
    *served = false;
    if (!ctx->backend->batched || ctx->policy.backend || ctx->policy.compare) return LAC_OK;
    lac_site_t *site = lac_dispatch_recall(ctx, p, &request);
    choose_single(ctx, p, batch);
    lac_status_t status = ctx->backend->batched(ctx->exec, p, batch, &out);
    if (status || !out.served) return status;
    *served = true;
    learn(ctx, site, p, &out);
    if (ctx->policy.verbose & LAC_VERBOSE_EXEC)
        lac_log("lacuna,1,batch,%s,%lld,%lldx%lldx%lld,%s", symbol, (long long)batch->count, (long long)p->m,
                (long long)p->k, (long long)p->n, out.role == LAC_ROLE_SPARSE ? "event" : "dense");
    return LAC_OK;
}
