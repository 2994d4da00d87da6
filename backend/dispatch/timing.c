/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A factor per route and site: measured over predicted time, robust to noise, which only ever adds. */
#include "timing.h"

#define RUNS_KNOWN  3    /* the first run warms up; the next ones count                        */
#define HOT_CALLS   8    /* a site that was not called this often is not worth a trial         */
#define TRIAL_REACH 3.0  /* predictions are not off by more: what costs more is not tried      */
#define TRIAL_SHARE 0.01 /* of the time spent at a site so far that trials may take            */
#define DENSE_DOUBT 0.1  /* of a vendor's time that a prediction of it may be wrong by         */
#define ASK_EVERY   8    /* calls of a device's site between two that ask what else there is to try ...   */
#define ASK_SELDOM  256  /* ... and once the site is known: asking costs a microsecond, as much as a call */
#define SITE_KNOWN  1024 /* calls                                                                         */
#define DRIFT       1.3  /* a factor that moved this far changes the break-even densities      */
#define AGAIN_FIRST 64   /* calls after which the routes that lost are measured again ...      */
#define AGAIN_TIMES 4    /* ... and then each time that the calls have grown so many times     */
#define LOSS_MOST   3.0  /* dense calls: what a run counts for that took longer was interrupted */

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

static bool is_sparse(const lac_route_t *route)
{
    return route->role == LAC_ROLE_SPARSE;
}

static bool can_be_tried(const lac_route_t *route)
{
    return is_sparse(route) || route->role == LAC_ROLE_DENSE || route->role == LAC_ROLE_PLAIN;
}

static int row_of(const lac_ctx_t *ctx, const lac_route_t *route)
{
    for (int i = 0; i < ctx->route_count && i < LAC_SITE_ROUTES; i++)
        if (ctx->routes[i] == route) return i;
    return -1;
}

bool lac_timing_forgive_due(const lac_ctx_t *ctx, const lac_site_t *site)
{
    return lac_timing_every_call(ctx) && site->calls >= (site->again_at ? site->again_at : AGAIN_FIRST);
}

/* What a route lost by may have been the machine's bad moment: now and then it may show better times. */
static void forgive(lac_site_t *site, int serving)
{
    site->again_at = (site->again_at ? site->again_at : AGAIN_FIRST) * AGAIN_TIMES;
    for (int i = 0; i < LAC_SITE_ROUTES; i++)
        if (i != serving && site->runs[i] >= RUNS_KNOWN) site->runs[i] = 1;
}

bool lac_timing_forgive(const lac_ctx_t *ctx, lac_site_t *site)
{
    if (TRIAL_SHARE * site->spent_us < site->tried_us + site->lost_us) {
        site->again_at = 2 * site->calls; /* what was tried has cost enough for now */
        return false;
    }
    int serving = row_of(ctx, site->route);
    bool changed = false;
    forgive(site, serving);
    /* Where a sparse route serves, trials find the others. Where none does, nobody counts, and no route can
     * be tried of which no density is known: it takes a look, and what the model alone says, to find them. */
    if (serving >= 0 && is_sparse(ctx->routes[serving])) return false;
    for (int i = 0; i < ctx->route_count && i < LAC_SITE_ROUTES; i++) {
        if (!is_sparse(ctx->routes[i]) || site->factor[i] <= 1.0f) continue;
        site->factor[i] = site->settled[i] = 0.0f;
        changed = true;
    }
    return changed;
}

/* A device's calls are too short to ask each time. What was looked at in this call is known in this call
 * alone, where the dense route serves. */
static bool may_ask(const lac_ctx_t *ctx, const lac_site_t *site)
{
    if (!is_asynchronous(ctx)) return true;
    uint64_t every = site->calls < SITE_KNOWN ? ASK_EVERY : ASK_SELDOM;
    bool due = site->looked || site->calls % every == 0;
    return due && !ctx->backend->device->capturing(ctx->exec);
}

bool lac_timing_affords(const lac_ctx_t *ctx, const lac_site_t *site)
{
    return learns(ctx) && site->calls >= HOT_CALLS &&
           site->dense_us <= TRIAL_SHARE * site->spent_us - site->tried_us;
}

/* What a trial may lose. A vendor's product is foreseen well enough for what it takes beyond the route that
 * serves to count alone: it is what the caller must never be slower than, so it is tried early where it is
 * close. Of any other route all that it takes counts, for it may take far more. */
static double risk_us(const lac_route_t *route, double cost_us, double serving_us)
{
    if (route->role != LAC_ROLE_DENSE) return cost_us;
    double doubt = DENSE_DOUBT * cost_us, beyond = cost_us - serving_us;
    return beyond > doubt ? beyond : doubt;
}

bool lac_timing_trial(const lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, lac_choice_t *choice)
{
    double budget = TRIAL_SHARE * site->spent_us - site->tried_us, best = TRIAL_REACH * choice->cost_us;
    double risk = 0.0;
    int row = -1;
    bool again = site->calls >= (site->again_at ? site->again_at : AGAIN_FIRST);
    if (learns(ctx) && is_asynchronous(ctx) && again) forgive(site, choice->row);
    if (!learns(ctx) || site->calls < HOT_CALLS || budget <= 0.0 || !may_ask(ctx, site)) return false;
    for (int i = 0; i < ctx->route_count && i < LAC_SITE_ROUTES; i++) {
        const lac_route_t *route = ctx->routes[i];
        if (i == choice->row || site->runs[i] >= RUNS_KNOWN || !can_be_tried(route)) continue;
        if (route->applicable(route, p) != LAC_FITS) continue;
        double cost = route->cost_us(route, p, &ctx->machine);
        if (site->factor[i] > 0.0f) cost *= (double)site->factor[i];
        double risked = risk_us(route, cost, choice->cost_us);
        if (cost >= best || risked > budget) continue;
        best = cost;
        risk = risked;
        row = i;
    }
    if (row < 0) return false;
    site->tried_us += risk;
    choice->route = ctx->routes[row];
    choice->row = row;
    choice->cost_us = best;
    choice->why = LAC_WHY_TRIAL;
    return true;
}

/* What a run that was to find out about a route took beyond the dense product. */
static void count_loss(lac_site_t *site, double took_us)
{
    double most = LOSS_MOST * site->dense_us, counted = took_us < most ? took_us : most;
    if (counted > site->dense_us) site->lost_us += counted - site->dense_us;
}

/* A run of a route that is not known yet. The first is cold: page faults, workspace, a sleeping pool. Of the
 * next ones the least counts, and not before there are enough: one alone may have been interrupted. */
static void learn_first(lac_site_t *site, int row, float now, double took_us)
{
    float *first = &site->first[row], *factor = &site->factor[row];
    if (++site->runs[row] < 2) return;
    count_loss(site, took_us);
    if (*first <= 0.0f || now < *first) *first = now;
    if (site->runs[row] < RUNS_KNOWN) return;
    if (*factor <= 0.0f || *first < *factor) *factor = *first;
    *first = 0.0f;
}

/* What is faster than expected is the truth sooner than what is slower. */
static float followed(float before, float now)
{
    if (now < before) return before + 0.3f * (now - before);
    return before + 0.05f * ((now < 2.0f * before ? now : 2.0f * before) - before);
}

bool lac_timing_learn(lac_site_t *site, int row, double predicted_us, double took_us)
{
    site->spent_us += took_us;
    site->learned++;
    if (row < 0 || row >= LAC_SITE_ROUTES || predicted_us <= 0.0) return false;
    float now = (float)(took_us / predicted_us);
    if (lac_timing_is_known(site, row))
        site->factor[row] = followed(site->factor[row], now);
    else
        learn_first(site, row, now, took_us);
    if (!lac_timing_is_known(site, row)) return false;
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
