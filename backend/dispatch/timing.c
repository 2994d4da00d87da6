/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A factor per route and site: measured over predicted time, robust to noise, which only ever adds. */
#include "timing.h"

#define RUNS_KNOWN  3    /* the first run warms up; the next ones count                        */
#define HOT_CALLS   8    /* a site that was not called this often is not worth a trial         */
#define TRIAL_REACH 3.0  /* predictions are not off by more: what costs more is not tried      */
#define TRIAL_SHARE 0.01 /* of the time spent at a site so far that trials may take            */
#define ASK_EVERY   8    /* calls of a device's site between two that ask what else there is to try ...   */
#define ASK_SELDOM  256  /* ... and once the site is known: asking costs a microsecond, as much as a call */
#define SITE_KNOWN  1024 /* calls                                                                         */
#define DRIFT       1.3  /* a factor that moved this far changes the break-even densities      */
#define AGAIN_FIRST 64   /* calls after which the routes that lost are measured again ...      */
#define AGAIN_TIMES 4    /* ... and then each time that the calls have grown so many times     */

/* Calls return before their work is done: the host's clock says nothing of them. */
static bool is_asynchronous(const lac_ctx_t *ctx)
{
    return ctx->backend && ctx->backend->asynchronous;
}

static bool learns(const lac_ctx_t *ctx)
{
    return ctx->policy.learn && (!is_asynchronous(ctx) || ctx->backend->clock);
}

const float *lac_timing_factors(const lac_ctx_t *ctx, const lac_site_t *site)
{
    return learns(ctx) && site ? site->factor : NULL;
}

bool lac_timing_every_call(const lac_ctx_t *ctx)
{
    return learns(ctx) && !is_asynchronous(ctx);
}

bool lac_timing_is_known(const lac_site_t *site, int row)
{
    return row < 0 || row >= LAC_SITE_ROUTES || site->runs[row] >= RUNS_KNOWN;
}

static bool can_be_tried(const lac_route_t *route)
{
    return route->role == LAC_ROLE_SPARSE || route->role == LAC_ROLE_DENSE || route->role == LAC_ROLE_PLAIN;
}

/* What a route lost by may have been the machine's bad moment: now and then it may show better times. */
static void forgive(lac_site_t *site, int chosen)
{
    if (site->again_at == 0) site->again_at = AGAIN_FIRST;
    if (site->calls < site->again_at) return;
    site->again_at *= AGAIN_TIMES;
    for (int i = 0; i < LAC_SITE_ROUTES; i++)
        if (i != chosen && site->runs[i] >= RUNS_KNOWN) site->runs[i] = 1;
}

/* A device's calls are too short to ask each time. */
static bool may_ask(const lac_ctx_t *ctx, const lac_site_t *site)
{
    if (!is_asynchronous(ctx)) return true;
    uint64_t every = site->calls < SITE_KNOWN ? ASK_EVERY : ASK_SELDOM;
    return site->calls % every == 0 && !ctx->backend->device->capturing(ctx->exec);
}

bool lac_timing_trial(const lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, lac_choice_t *choice)
{
    double budget = TRIAL_SHARE * site->spent_us - site->tried_us, best = TRIAL_REACH * choice->cost_us;
    int row = -1;
    if (learns(ctx)) forgive(site, choice->row);
    if (!learns(ctx) || site->calls < HOT_CALLS || choice->cost_us > budget || !may_ask(ctx, site))
        return false;
    for (int i = 0; i < ctx->route_count && i < LAC_SITE_ROUTES; i++) {
        const lac_route_t *route = ctx->routes[i];
        if (i == choice->row || site->runs[i] >= RUNS_KNOWN || !can_be_tried(route)) continue;
        if (route->applicable(route, p) != LAC_FITS) continue;
        double cost = route->cost_us(route, p, &ctx->machine);
        if (site->factor[i] > 0.0f) cost *= (double)site->factor[i];
        if (cost >= best || cost > budget) continue;
        best = cost;
        row = i;
    }
    if (row < 0) return false;
    site->tried_us += best;
    choice->route = ctx->routes[row];
    choice->row = row;
    choice->cost_us = best;
    choice->reason = "trial";
    return true;
}

bool lac_timing_learn(lac_site_t *site, int row, double predicted_us, double took_us)
{
    site->spent_us += took_us;
    site->learned++;
    if (row < 0 || row >= LAC_SITE_ROUTES || predicted_us <= 0.0) return false;
    bool known = site->runs[row] >= RUNS_KNOWN;
    float now = (float)(took_us / predicted_us), before = site->factor[row];
    if (!known) site->runs[row]++;
    if (site->runs[row] < 2) return false; /* cold: page faults, workspace, a sleeping pool */
    if (before <= 0.0f || (!known && now < before))
        site->factor[row] = now;
    else if (known) /* what is faster than expected is the truth sooner than what is slower */
        site->factor[row] += now < before ? 0.3f * (now - before)
                                          : 0.05f * ((now < 2.0f * before ? now : 2.0f * before) - before);
    if (site->runs[row] < RUNS_KNOWN) return false;
    double drift = site->settled[row] > 0.0f ? (double)(site->factor[row] / site->settled[row]) : DRIFT;
    if (drift < DRIFT && drift > 1.0 / DRIFT) return false;
    site->settled[row] = site->factor[row];
    return true;
}

bool lac_timing_wants(const lac_ctx_t *ctx, const lac_site_t *site, int row)
{
    if (!lac_timing_every_call(ctx) || row < 0 || row >= LAC_SITE_ROUTES) return false;
    if (site->runs[row] < RUNS_KNOWN) return true;
    bool may_pay = site->left.break_even > 0.0 || site->right.break_even > 0.0;
    return may_pay && site->calls % 256 == 0;
}
