/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A factor per route and site: measured over predicted time, robust to noise, which only ever adds. */
#include "timing.h"

#include <math.h>

#define RUNS_KNOWN  3    /* the first run warms up; the next ones count                        */
#define HOT_CALLS   8    /* a site that was not called this often is not worth a trial         */
#define TRIAL_REACH 3.0  /* predictions are not off by more: what costs more is not tried      */
#define TRIAL_SHARE 0.01 /* of the time spent so far that trials may take                      */
#define TRIAL_WORST 3.0  /* times its prediction that a host's route is charged before its first run    */
#define DENSE_DOUBT 0.1  /* of a vendor's time that a prediction of it may be wrong by         */
#define ASK_EVERY   8    /* calls of a device's site between two that ask what else there is to try ...   */
#define ASK_SELDOM  256  /* ... and once the site is known: asking costs a microsecond, as much as a call */
#define SITE_KNOWN  1024 /* calls                                                                         */
#define DRIFT       1.3  /* a factor that moved this far changes the break-even densities      */
#define AGAIN_FIRST 64   /* calls after which the routes that lost are measured again ...      */
#define AGAIN_TIMES 4    /* ... and then each time that the calls have grown so many times     */
#define LOSS_MAX    3.0  /* dense calls: what a run counts for that took longer was interrupted */

/* Calls of a known site of the host between two that weigh its routes again: where each call did, a product
 * of 1 x 1 x 1 took 0.77 us, and 0.50 with this (two-core Xeon, 2026-11-23). */
#define WEIGH_EVERY 8

/* Where the vendor's product serves on the host, the calls that are timed, weigh the routes and ask what else
 * there is to try lie a sixteenth of all calls so far apart, and REST_MAX at most: the others pass through
 * 1700 instructions of ours in place of 6600 (100 x 100 x 100, AVX2, counted 2026-11-25). A power of 2. */
#define REST_SHARE 16
#define REST_MAX   64

/* On a device a timed run takes a closed gate, two events and their questions: 15 to 30 us of a program that
 * waits for each product, where products of 20 us are usual (60 shapes of ten calls, H200, 2026-11-23). So
 * short products are left alone in their first calls, which promise the dense call's time and 3 % in all. */
#define CALM_CALLS 16
#define CALM_BELOW 300.0 /* us of a dense call */

/* Calls return before their work is done: the host's clock says nothing of them. */
static bool is_asynchronous(const lac_ctx_t *ctx)
{
    return ctx->backend && ctx->backend->asynchronous;
}

/* Nothing that is queued now runs now, or can be timed. */
static bool is_captured(const lac_ctx_t *ctx)
{
    return is_asynchronous(ctx) && ctx->backend->device->capturing(ctx->exec);
}

static bool learns(const lac_ctx_t *ctx)
{
    return ctx->policy.learn && (!is_asynchronous(ctx) || ctx->backend->clock);
}

const float *lac_timing_factors(const lac_ctx_t *ctx, const lac_site_t *site)
{
    return learns(ctx) && site ? site->factor : NULL;
}

/* What predictions may be wrong by on the host: the constants are another machine's, or were measured on this
 * one, perhaps beside other work; dense products of this kind were timed at other sites of this context. */
#define SPARSE_DOUBT       1.5
#define SPARSE_DOUBT_TUNED 1.25
#define DENSE_DOUBT_HERE   2.0
#define DENSE_DOUBT_TUNED  1.6
#define DENSE_DOUBT_CLASS  1.3
#define CLASS_KNOWN        3 /* runs */

/* An operand with more nonzeros than zeros takes no sparse route on the host; nor does a fuller one on a
 * device, where gathers of all slices take 5 to 8 times what is predicted of them (1x4718x623, 2x8153x3042;
 * H200, 2026-11-23), unless there are so few slices that this is predicted well. */
#define DENSEST        0.5
#define DENSEST_DEVICE 0.7
#define DENSEST_ANY_K  512

/* Vectors, short products and large ones, each of three ranges of time. */
static int class_of(const lac_problem_t *p, double predicted_us)
{
    lac_dim_t shorter = p->m < p->n ? p->m : p->n;
    int shape = (shorter > 1) + (shorter > 64), range = (predicted_us >= 30) + (predicted_us >= 1e3);
    return 3 * shape + range;
}

/* What the model alone says of the vendor's product, and its row; negative where none applies. */
static double dense_predicted_us(const lac_ctx_t *ctx, const lac_problem_t *p, int *row)
{
    for (int i = 0; i < ctx->route_count; i++) {
        const lac_route_t *route = ctx->routes[i];
        if (route->role != LAC_ROLE_DENSE || route->applicable(route, p) != LAC_FITS) continue;
        *row = i;
        return route->cost_us(route, p, &ctx->machine);
    }
    return -1.0;
}

/* What dense products of one kind took over what was predicted; 0: not known. */
static double class_factor(const lac_ctx_t *ctx, const lac_problem_t *p, double predicted_us)
{
    const lac_dense_class_t *dense = &ctx->learned.dense[class_of(p, predicted_us)];
    return learns(ctx) && dense->runs >= CLASS_KNOWN ? (double)dense->applied : 0.0;
}

bool lac_timing_dense(const lac_ctx_t *ctx, const lac_problem_t *p, int *row, double *us)
{
    double predicted = is_asynchronous(ctx) ? -1.0 : dense_predicted_us(ctx, p, row);
    if (predicted < 0.0) return false;
    double factor = class_factor(ctx, p, predicted);
    *us = factor > 0.0 ? factor * predicted : predicted;
    return true;
}

/* 0: no operand is too dense. */
static double densest(const lac_ctx_t *ctx, const lac_problem_t *p)
{
    if (!is_asynchronous(ctx)) return DENSEST;
    return p->k <= DENSEST_ANY_K ? 0.0 : DENSEST_DEVICE;
}

void lac_timing_prefer(const lac_ctx_t *ctx, const lac_site_t *site, const lac_problem_t *p,
                       lac_preference_t *preference)
{
    preference->factor = lac_timing_factors(ctx, site);
    preference->densest = densest(ctx, p);
    if (is_asynchronous(ctx)) return; /* there the device's own measurements decide, after one trial */
    int row;
    preference->dense_factor = class_factor(ctx, p, dense_predicted_us(ctx, p, &row));
    preference->sparse_doubt = ctx->tuned ? SPARSE_DOUBT_TUNED : SPARSE_DOUBT;
    preference->dense_doubt = ctx->tuned ? DENSE_DOUBT_TUNED : DENSE_DOUBT_HERE;
    if (preference->dense_factor > 0.0) preference->dense_doubt = DENSE_DOUBT_CLASS;
}

void lac_timing_spend(lac_ctx_t *ctx, lac_site_t *site, double us)
{
    site->spent_us += us;
    ctx->learned.spent_us += us;
}

void lac_timing_settle(lac_ctx_t *ctx, double took_us, double instead_us)
{
    ctx->learned.charged_us += fmax(took_us - instead_us, 0.0) - ctx->learned.charge_us;
    ctx->learned.charge_us = 0.0;
}

static double budget_us(const lac_ctx_t *ctx)
{
    return TRIAL_SHARE * ctx->learned.spent_us - ctx->learned.charged_us;
}

bool lac_timing_every_call(const lac_ctx_t *ctx)
{
    return learns(ctx) && !is_asynchronous(ctx);
}

static bool serves_vendor(const lac_site_t *site)
{
    return site->route && site->route->role == LAC_ROLE_DENSE;
}

/* Calls from one that learns to the next: a power of 2. */
static uint64_t rest_of(uint64_t calls)
{
    if (calls >= REST_SHARE * REST_MAX) return REST_MAX;
    return UINT64_C(1) << (63 - __builtin_clzll(calls / REST_SHARE | 1));
}

bool lac_timing_rests(const lac_ctx_t *ctx, const lac_site_t *site)
{
    if (!serves_vendor(site) || site->probed || site->calls % rest_of(site->calls) == 0) return false;
    return lac_timing_every_call(ctx) && lac_timing_is_known(site, site->dense_row);
}

bool lac_timing_weighs(const lac_ctx_t *ctx, const lac_site_t *site, unsigned *epoch)
{
    bool every_call = lac_timing_every_call(ctx), vendor = every_call && serves_vendor(site);
    *epoch = vendor ? 0 : every_call ? site->learned / WEIGH_EVERY : site->learned;
    return vendor ? !lac_timing_rests(ctx, site) : every_call && site->calls < SITE_KNOWN;
}

bool lac_timing_is_known(const lac_site_t *site, int row)
{
    return row < 0 || row >= LAC_ROUTES_MAX || site->runs[row] >= RUNS_KNOWN;
}

static bool is_sparse(const lac_route_t *route)
{
    return route->role == LAC_ROLE_SPARSE;
}

/* Our dense kernel does not stand in for a BLAS that the call would be left to. */
static bool can_be_tried(const lac_route_t *route, bool may_decline)
{
    if (route->role == LAC_ROLE_NATIVE && may_decline) return false;
    return route->role != LAC_ROLE_TRIVIAL && route->role != LAC_ROLE_ORACLE &&
           route->role != LAC_ROLE_EITHER;
}

static int row_of(const lac_ctx_t *ctx, const lac_route_t *route)
{
    for (int i = 0; i < ctx->route_count && i < LAC_ROUTES_MAX; i++)
        if (ctx->routes[i] == route) return i;
    return -1;
}

static uint64_t again_at(const lac_site_t *site)
{
    return site->again_at ? site->again_at : AGAIN_FIRST;
}

bool lac_timing_reset_penalty_due(const lac_ctx_t *ctx, const lac_site_t *site)
{
    return lac_timing_every_call(ctx) && site->calls >= again_at(site);
}

/* What a route lost by may have been the machine's bad moment: now and then it may show better times. */
static void reset_runs(lac_site_t *site, int serving)
{
    site->again_at = site->again_from + AGAIN_TIMES * (again_at(site) - site->again_from);
    for (int i = 0; i < LAC_ROUTES_MAX; i++)
        if (i != serving && site->runs[i] >= RUNS_KNOWN) site->runs[i] = 1;
}

void lac_timing_lost(lac_site_t *site)
{
    uint64_t served = site->calls - site->sparse_from;
    if (site->sparse_from && served >= AGAIN_FIRST) {
        site->again_from = site->calls;
        site->again_at = site->calls + AGAIN_FIRST;
    }
}

bool lac_timing_reset_penalty(const lac_ctx_t *ctx, lac_site_t *site)
{
    if (TRIAL_SHARE * site->spent_us < site->tried_us + site->lost_us) {
        site->again_at = 2 * site->calls; /* what was tried has cost enough for now */
        return false;
    }
    int serving = row_of(ctx, site->route);
    bool changed = false;
    reset_runs(site, serving);
    /* Where a sparse route serves, trials find the others. Where none does, nobody counts, and no route can
     * be tried of which no density is known: it takes a look, and what the model alone says, to find them. */
    if (serving >= 0 && is_sparse(ctx->routes[serving])) return false;
    for (int i = 0; i < ctx->route_count && i < LAC_ROUTES_MAX; i++) {
        if (!is_sparse(ctx->routes[i]) || site->factor[i] <= 1.0f) continue;
        site->factor[i] = site->break_even_factor[i] = 0.0f;
        changed = true;
    }
    return changed;
}

/* A device's calls are too short to ask each time. What was looked at in this call is known in this call
 * alone, where the dense route serves. */
static bool may_ask(const lac_ctx_t *ctx, const lac_site_t *site)
{
    if (!is_asynchronous(ctx))
        return site->probed || serves_vendor(site) || site->calls < SITE_KNOWN ||
               site->calls % WEIGH_EVERY == 0;
    uint64_t every = site->calls < SITE_KNOWN ? ASK_EVERY : ASK_SELDOM;
    bool due = site->probed || site->calls % every == 0;
    return due && !is_captured(ctx);
}

bool lac_timing_affords(const lac_ctx_t *ctx, const lac_site_t *site)
{
    return learns(ctx) && site->calls >= HOT_CALLS && site->dense_us <= budget_us(ctx);
}

/* What a trial may lose. A vendor's product is predicted well enough for what it takes beyond the route that
 * serves to count alone: it is what the caller must never be slower than, so it is tried early where it is
 * close. Any other route may take far more than predicted: on a device, where the dense product may not have
 * been measured, all of it counts; on the host, what it would lose were it three times as slow. */
static double risk_us(const lac_ctx_t *ctx, const lac_route_t *route, double cost_us, double serving_us)
{
    if (route->role == LAC_ROLE_DENSE) return fmax(cost_us - serving_us, DENSE_DOUBT * cost_us);
    if (is_asynchronous(ctx)) return cost_us;
    return fmax(TRIAL_WORST * cost_us - serving_us, 0.0);
}

bool lac_timing_is_calm(const lac_site_t *site)
{
    return site->calls < CALM_CALLS && site->dense_us < CALM_BELOW;
}

/* Early enough to know what a trial is compared with, and late enough to be worth it. */
static bool is_hot(const lac_ctx_t *ctx, const lac_site_t *site)
{
    if (is_asynchronous(ctx)) return site->calls >= HOT_CALLS && !lac_timing_is_calm(site);
    bool serves_sparse = site->route && is_sparse(site->route);
    return serves_sparse ? site->calls >= HOT_CALLS : lac_timing_is_known(site, site->dense_row);
}

/* The dense route is about to replace a sparse one that serves, and was never measured here. */
static bool replaces_unmeasured(const lac_ctx_t *ctx, const lac_site_t *site, const lac_choice_t *choice)
{
    if (site->state != LAC_SITE_SPARSE || choice->row != site->dense_row || !site->sparse_route) return false;
    return choice->route->role == LAC_ROLE_DENSE && !lac_timing_is_known(site, choice->row) &&
           !is_captured(ctx);
}

bool lac_timing_trial_of_dense(const lac_ctx_t *ctx, lac_site_t *site, lac_choice_t *choice)
{
    if (!learns(ctx) || !replaces_unmeasured(ctx, site, choice)) return false;
    site->intended = site->sparse_route;
    choice->why = LAC_WHY_TRIAL;
    return true;
}

typedef struct trial {
    int row; /* -1: none */
    double cost_us, risk_us;
} trial_t;

/* The cheapest route that is not known here, could pay, and loses no more than the budget. */
static trial_t find_trial(const lac_ctx_t *ctx, const lac_site_t *site, const lac_problem_t *p,
                          bool may_decline, const lac_choice_t *choice, double budget_us)
{
    trial_t best = {.row = -1, .cost_us = TRIAL_REACH * choice->cost_us};
    for (int i = 0; i < ctx->route_count && i < LAC_ROUTES_MAX; i++) {
        const lac_route_t *route = ctx->routes[i];
        if (i == choice->row || lac_timing_is_known(site, i) || !can_be_tried(route, may_decline)) continue;
        if (route->applicable(route, p) != LAC_FITS || lac_route_too_dense(route, p, densest(ctx, p)))
            continue;
        double cost = route->cost_us(route, p, &ctx->machine);
        if (site->factor[i] > 0.0f) cost *= (double)site->factor[i];
        double risk = risk_us(ctx, route, cost, choice->cost_us);
        if (cost < best.cost_us && risk <= budget_us) best = (trial_t){i, cost, risk};
    }
    return best;
}

/* A host's trial is charged its risk until lac_timing_settle knows what it lost; a device's, whose end is not
 * seen, for good. */
static void charge(lac_ctx_t *ctx, lac_site_t *site, const trial_t *trial, double instead_us)
{
    site->tried_us += trial->risk_us;
    ctx->learned.charged_us += trial->risk_us;
    ctx->learned.instead_us = instead_us;
    ctx->learned.charge_us = is_asynchronous(ctx) ? 0.0 : trial->risk_us;
}

bool lac_timing_trial(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, bool may_decline,
                      lac_choice_t *choice)
{
    if (!learns(ctx) || lac_timing_rests(ctx, site)) return false;
    if (is_asynchronous(ctx) && site->calls >= again_at(site)) reset_runs(site, choice->row);
    double budget = budget_us(ctx);
    if (budget <= 0.0 || !is_hot(ctx, site) || !may_ask(ctx, site)) return false;
    trial_t trial = find_trial(ctx, site, p, may_decline, choice, budget);
    if (trial.row < 0) return false;
    charge(ctx, site, &trial, choice->cost_us);
    choice->route = ctx->routes[trial.row];
    choice->row = trial.row;
    choice->cost_us = trial.cost_us;
    choice->why = LAC_WHY_TRIAL;
    return true;
}

/* What a run that was to find out about a route took beyond the dense product. */
static void count_loss(lac_site_t *site, double took_us)
{
    double counted = fmin(took_us, LOSS_MAX * site->dense_us);
    site->lost_us += fmax(counted - site->dense_us, 0.0);
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

bool lac_timing_is_open(const lac_ctx_t *ctx, const lac_site_t *site)
{
    return learns(ctx) && is_captured(ctx) && !lac_timing_is_known(site, site->dense_row);
}

double lac_timing_follow(double before, double now)
{
    if (now < before) return before + 0.3 * (now - before);
    return before + 0.05 * (fmin(now, 2.0 * before) - before);
}

/* True where a factor is so far from the one that other figures rest on that these are to be found anew. */
static bool has_drifted(float factor, float rests_on)
{
    return rests_on <= 0.0f || factor >= (float)DRIFT * rests_on || (float)DRIFT * factor <= rests_on;
}

void lac_timing_learn_dense(lac_ctx_t *ctx, const lac_problem_t *p, double predicted_us, double took_us)
{
    if (predicted_us <= 0.0 || is_asynchronous(ctx)) return;
    lac_dense_class_t *dense = &ctx->learned.dense[class_of(p, predicted_us)];
    float now = (float)(took_us / predicted_us);
    if (dense->runs >= CLASS_KNOWN)
        dense->factor = (float)lac_timing_follow((double)dense->factor, (double)now);
    else if (!dense->runs || now < dense->factor) /* the least of the first runs, which are cold */
        dense->factor = now;
    if (++dense->runs < CLASS_KNOWN || !has_drifted(dense->factor, dense->applied)) return;
    dense->applied = dense->factor;
    ctx->learned.dense_epoch++;
}

bool lac_timing_learn(lac_ctx_t *ctx, lac_site_t *site, int row, double predicted_us, double took_us)
{
    lac_timing_spend(ctx, site, took_us);
    site->learned++;
    if (row < 0 || row >= LAC_ROUTES_MAX || predicted_us <= 0.0) return false;
    float now = (float)(took_us / predicted_us), *factor = &site->factor[row];
    if (lac_timing_is_known(site, row))
        *factor = (float)lac_timing_follow((double)*factor, (double)now);
    else
        learn_first(site, row, now, took_us);
    if (!lac_timing_is_known(site, row) || !has_drifted(*factor, site->break_even_factor[row])) return false;
    site->break_even_factor[row] = *factor;
    return true;
}

/* Calls between two of a known dense product that are timed though the caller's BLAS makes them. */
#define WANT_EVERY 256

bool lac_timing_wants(const lac_ctx_t *ctx, const lac_site_t *site, int row, uint64_t call)
{
    if (!lac_timing_every_call(ctx) || row < 0 || row >= LAC_ROUTES_MAX) return false;
    if (site->state == LAC_SITE_NEW) return false;
    if (site->runs[row] < RUNS_KNOWN) return true;
    bool may_pay = site->left.break_even > 0.0 || site->right.break_even > 0.0;
    return may_pay && call % WANT_EVERY == 0;
}
