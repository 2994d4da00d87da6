/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The dispatcher reads as the call goes: fill in densities, select, run, learn, report. */
#include "dispatch.h"
#include "device_timing.h"
#include "history.h"
#include "select.h"
#include "shadow.h"
#include "timing.h"
#include "base/status.h"
#include "base/log.h"

#include <string.h>
#include <dlfcn.h>
#include <stdio.h>

#define HYSTERESIS    0.10 /* a challenger must be this much cheaper than the route that served last */
#define CHOSEN_MARGIN 1.1  /* a scan goes on up to so many times the density that its route was chosen at  */

static void apply_policy(const lac_policy_t *policy, lac_problem_t *p)
{
    p->settings.threads = policy->threads;
    p->settings.blas_threads = lac_policy_blas_threads(policy);
    p->settings.strict_nan = policy->strict_nan;
    p->settings.may_copy = policy->may_copy;
    p->settings.fixed_sums = policy->fixed_sums;
    p->settings.math = policy->math;
    lac_problem_settle_skip(p, policy->skip);
}

/* The environment's pinned backend, the call's, the context's: in this order. */
static const char *wanted_route(const lac_policy_t *policy, const char *asked)
{
    return policy->backend_pinned || !asked ? policy->backend : asked;
}

/* A forced sparse route runs whatever the density is. */
static void assume_densities(lac_problem_t *p)
{
    if (p->a.density < 0) p->a.density = LAC_ASSUMED_DENSITY;
    if (p->b.density < 0) p->b.density = LAC_ASSUMED_DENSITY;
}

static void assume_forced(lac_problem_t *p)
{
    assume_densities(p);
    p->terms.named = true;
}

/* Routes that skip the zeros of an operand serve whatever its density is, where none may be multiplied. */
static void assume_guaranteed(lac_problem_t *p)
{
    lac_operand_t *x = lac_problem_skips(p, &p->b) ? &p->b : &p->a;
    if (lac_problem_guarantees(p) && x->density < 0) x->density = LAC_ASSUMED_DENSITY;
}

/* What the cost model alone says of the route in a row. */
static double predicted_us(const lac_ctx_t *ctx, const lac_problem_t *p, int row)
{
    return row < 0 ? -1.0 : ctx->routes[row]->cost_us(ctx->routes[row], p, &ctx->machine);
}

/* A call that is recorded, with an operand of which nothing is known beside one that stays: what is chosen
 * serves replays whose operand may be another. */
static bool is_recorded(const lac_ctx_t *ctx, const lac_problem_t *p)
{
    const lac_device_t *device = ctx->backend->device;
    bool unsure = (p->a.density < 0 && p->b.frozen) || (p->b.density < 0 && p->a.frozen);
    return device && unsure && device->capturing(ctx->exec);
}

/* `trusts`: predictions are taken at their word, as the owner of a plan does. */
static lac_choice_t choose(const lac_ctx_t *ctx, lac_problem_t *p, const lac_site_t *site, const char *wanted,
                           bool trusts)
{
    lac_preference_t preference = {.forced = wanted,
                                   .incumbent = site ? site->route : NULL,
                                   .hysteresis = HYSTERESIS,
                                   .sparse_margin = ctx->policy.sparse_margin};
    if (trusts)
        preference.factor = lac_timing_factors(ctx, site);
    else
        lac_timing_prefer(ctx, site, p, &preference);
    if (!wanted) {
        preference.on_device = is_recorded(ctx, p);
        lac_choice_t choice = lac_select(ctx->routes, ctx->route_count, p, &ctx->machine, &preference);
        lac_select_settle(&choice, p);
        return choice;
    }
    lac_problem_t known = *p;
    p->terms.named = true; /* first the operand of which something is known, then any */
    for (int assumed = 0; assumed < 2; assumed++) {
        if (assumed) assume_forced(p);
        lac_choice_t choice = lac_select(ctx->routes, ctx->route_count, p, &ctx->machine, &preference);
        if (choice.why == LAC_WHY_FORCED) return choice;
    }
    *p = known; /* what serves instead is not chosen by an assumption */
    return lac_select(ctx->routes, ctx->route_count, p, &ctx->machine, &preference);
}

/* The same, but from memory where the site chose from the same facts before. */
static lac_choice_t choose_again(const lac_ctx_t *ctx, lac_problem_t *p, lac_site_t *site, const char *wanted,
                                 bool trusts)
{
    unsigned epoch;
    if (!site || trusts || is_recorded(ctx, p)) return choose(ctx, p, site, wanted, trusts);
    bool anew = lac_timing_weighs(ctx, site, &epoch);
    lac_decision_key_t facts;
    lac_decision_key(&facts, p, wanted, site->route, epoch);
    const lac_choice_t *before = anew ? NULL : lac_decision_cache_find(&site->cache, &facts);
    if (!before) {
        site->cache = (lac_decision_cache_t){facts, choose(ctx, p, site, wanted, false)};
        return site->cache.choice;
    }
    if (wanted && before->route->side != LAC_SIDE_NONE && before->why == LAC_WHY_FORCED) assume_forced(p);
    return *before;
}

/* A call with nothing to sum teaches nothing. */
static bool is_nothing(const lac_problem_t *p)
{
    return lac_problem_is_trivial(p);
}

/* Where this call belongs in the history. NULL: nowhere. */
static lac_site_t *site_of(lac_ctx_t *ctx, const lac_problem_t *p, const lac_request_t *request)
{
    return is_nothing(p) ? NULL : lac_history_site(ctx, p, request->symbol, request->caller);
}

lac_site_t *lac_dispatch_fill_densities(lac_ctx_t *ctx, lac_problem_t *p, const lac_request_t *request)
{
    apply_policy(&ctx->policy, p);
    lac_site_t *site = site_of(ctx, p, request);
    if (site && site->state == LAC_SITE_NEW) site->countdown = 0;
    if (site) lac_history_fill_densities(ctx, site, p);
    return site;
}

static bool is_trial(const lac_choice_t *choice)
{
    return choice->why == LAC_WHY_TRIAL;
}

/* A scan may stop where its operand turns out too full, unless the route is forced or its density is a fact.
 */
static void set_limit(lac_problem_t *p, const lac_site_t *site, const lac_choice_t *choice, bool forced,
                      double asked)
{
    lac_side_t side = choice->route->side;
    if (asked > 0.0) {
        p->terms.density_limit = asked;
        return;
    }
    if (forced || !site || side == LAC_SIDE_NONE || is_trial(choice)) return; /* a trial finds out */
    if (lac_problem_guarantees(p)) return; /* nothing but what skips may serve */
    double limit = side == LAC_SIDE_LEFT ? site->left.break_even : site->right.break_even;
    double chosen_at = CHOSEN_MARGIN * (side == LAC_SIDE_LEFT ? p->a.density : p->b.density);
    if (limit > 0.0 && chosen_at > limit) limit = chosen_at; /* hysteresis chose it beyond break-even */
    if (limit > 0.0 && limit < 1.0) p->terms.density_limit = limit;
}

/* In front of another BLAS, that BLAS is the dense route, and knows best how to do nothing. Where it cannot
 * be timed from outside, a trial of it is our own call of the vendor's product. */
static bool leaves_to_caller(const lac_ctx_t *ctx, const lac_choice_t *choice, const lac_request_t *request,
                             bool forced)
{
    const lac_route_t *route = choice->route;
    bool plain = route->role == LAC_ROLE_NATIVE && !forced;
    if (!request->may_decline) return false;
    if (ctx->backend->clock && is_trial(choice) && !request->followed) return false;
    return route->role == LAC_ROLE_DENSE || route->role == LAC_ROLE_TRIVIAL || plain;
}

/* True where a route of ours that nobody asked for could not have its memory: there is too little, or the
 * stream is captured and none may be allocated. */
static bool lacks_memory(lac_status_t status, const lac_choice_t *choice)
{
    bool asked_for = choice->why == LAC_WHY_FORCED || choice->why == LAC_WHY_PLANNED;
    lac_role_t role = choice->route->role;
    bool ours = role == LAC_ROLE_SPARSE || role == LAC_ROLE_FAST || role == LAC_ROLE_EITHER;
    return status == LAC_ERR_MEMORY && ours && !asked_for;
}

/* The dense route: our own kernel where that is the faster one, unless it lacks memory, too. */
static lac_status_t run_dense(lac_ctx_t *ctx, const lac_problem_t *p, lac_why_t why, lac_choice_t *choice)
{
    lac_problem_t bare = *p;
    lac_preference_t preference = {0};
    lac_status_t status = LAC_ERR_MEMORY;
    bare.a.density = bare.b.density = -1.0;
    for (int vendor = 0; vendor < 2; vendor++) {
        lac_outcome_t out = {false, -1.0, -1.0, NULL};
        preference.without_fast = vendor;
        *choice = lac_select(ctx->routes, ctx->route_count, &bare, &ctx->machine, &preference);
        choice->why = why;
        status = choice->route->run(choice->route, ctx->exec, p, &out);
        if (!lacks_memory(status, choice)) break;
        lac_clear_error();
    }
    return status;
}

/* What came of a run. Where it gave up or lacked memory, the dense route serves, here or in the caller's own
 * BLAS; the choice then says so. */
static lac_status_t accept(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, lac_request_t *request,
                           lac_choice_t *choice, lac_status_t status, const lac_outcome_t *out)
{
    bool no_room = lacks_memory(status, choice);
    if (status && !no_room) return status;
    if (no_room) lac_clear_error();
    bool by_caller = out->declined && request->density_limit > 0.0; /* says nothing of what pays */
    bool unseen = choice->why == LAC_WHY_ON_DEVICE;                 /* and replays may see another operand */
    if (!no_room && site && !by_caller && !unseen) lac_history_learn(ctx, site, p, choice, out);
    request->bits = no_room ? NULL : out->bits;
    if (!no_room && !ctx->backend->asynchronous) request->density = out->density;
    if (!no_room && !out->declined) return LAC_OK;
    lac_why_t why = no_room ? LAC_WHY_NO_ROOM : LAC_WHY_DENSER;
    if (!request->may_decline) return run_dense(ctx, p, why, choice);
    request->declined = true;
    choice->why = why;
    return LAC_OK;
}

/* The call goes back to the caller's BLAS, which now and then is timed: lac_dispatch_forwarded. */
static void decline(lac_ctx_t *ctx, lac_site_t *site, lac_request_t *request)
{
    request->declined = true;
    if (!site) return;
    site->declined_calls++;
    lac_timing_spend(ctx, site, site->dense_us);
    if (!lac_timing_wants(ctx, site, site->dense_row, site->calls)) return;
    ctx->forwarded = site;
    ctx->forwarded_row = site->dense_row;
    ctx->forwarded_at_us = ctx->now_us();
}

/* True where a dense kernel of ours serves the site where no sparse route does: it is not left to the caller.
 */
static bool serves_dense(const lac_ctx_t *ctx, const lac_site_t *site)
{
    return site && site->dense_row >= 0 && ctx->routes[site->dense_row]->role == LAC_ROLE_FAST;
}

static void count_declined(lac_ctx_t *ctx, lac_site_t *site, unsigned calls)
{
    site->calls += calls;
    site->declined_calls += calls;
    lac_timing_spend(ctx, site, calls * site->dense_us);
}

/* Of the calls that were granted, those that were made count now. The others were never made: a program with
 * more shapes than its caller remembers asks anew each time. Were they counted, trials would have a budget
 * from calls that there never were, and probes would come as if these had been waited for. */
static void settle_granted(lac_ctx_t *ctx, lac_site_t *site, unsigned made)
{
    if (made > site->granted) made = site->granted;
    if (made > 0) count_declined(ctx, site, made);
    site->countdown += site->granted - made;
    site->granted = 0;
}

unsigned lac_dispatch_dense_streak(lac_ctx_t *ctx, const lac_site_key_t *key, unsigned most, unsigned made)
{
    if (ctx->policy.backend || lac_policy_guarantees(&ctx->policy) || lac_report_wanted(&ctx->policy))
        return 0;
    lac_site_t *site = lac_site_known(&ctx->sites, key);
    if (site && site->granted > 0) settle_granted(ctx, site, made);
    if (!site || site->countdown == 0 || serves_dense(ctx, site) ||
        lac_timing_wants(ctx, site, site->dense_row, site->calls + 1))
        return 0;
    if (lac_timing_reset_penalty_due(ctx, site)) return 0;
    unsigned calls = site->countdown < most ? site->countdown : most;
    site->countdown -= calls;
    site->granted = calls - 1;
    count_declined(ctx, site, 1);
    ctx->forwarded = NULL;
    return calls;
}

bool lac_dispatch_first(lac_ctx_t *ctx, lac_problem_t *p, const char *symbol, const void *caller)
{
    if (ctx->policy.backend || lac_policy_guarantees(&ctx->policy) || lac_report_wanted(&ctx->policy) ||
        is_nothing(p))
        return false;
    apply_policy(&ctx->policy, p);
    lac_site_t *site = lac_history_first(ctx, p, symbol, caller);
    if (!site) return false;
    site->declined_calls++;
    lac_timing_spend(ctx, site, site->dense_us);
    ctx->forwarded = NULL;
    return true;
}

void lac_dispatch_forwarded(lac_ctx_t *ctx)
{
    lac_site_t *site = ctx->forwarded;
    int row = ctx->forwarded_row;
    lac_problem_t p = site->shape;
    ctx->forwarded = NULL;
    if (ctx->backend->clock) {
        lac_choice_t dense = {ctx->routes[row], row, LAC_WHY_TRIAL, -1.0, -1.0};
        lac_device_timing_end(ctx, site, &p, &dense);
        return;
    }
    double took = ctx->now_us() - ctx->forwarded_at_us;
    if (ctx->learned.charge_us > 0.0) lac_timing_settle(ctx, took, ctx->learned.instead_us);
    lac_history_timed(ctx, site, &p, row, predicted_us(ctx, &p, row), took);
}

/* Which part of the epilogue is done once `route` has run. Bits of what is not finished are no use. */
static void close_epilogue(const lac_problem_t *p, lac_request_t *request, const lac_route_t *route)
{
    if (!p->epilogue.any) return;
    request->epilogue_done = !request->declined && lac_route_fuses_epilogue(route, p);
    if (!request->epilogue_done) request->bits = NULL;
}

/* What a timed call teaches: the chosen route took so long; or it gave up, and the time until then was lost:
 * all of it, where the caller's BLAS serves. A call that failed teaches nothing. */
static void learn_time(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, const lac_choice_t *choice,
                       double took_us, bool gave_up, bool declined)
{
    bool charged = ctx->learned.charge_us > 0.0;
    double instead_us = charged ? ctx->learned.instead_us : site->dense_us;
    if (charged || gave_up) lac_timing_settle(ctx, took_us, declined ? 0.0 : instead_us);
    if (!gave_up) lac_history_timed(ctx, site, p, choice->row, predicted_us(ctx, p, choice->row), took_us);
}

/* True where the host's clock times the run; of one that it does not, what was expected counts. */
static bool is_timed(lac_ctx_t *ctx, lac_site_t *site, const lac_choice_t *choice)
{
    if (!site || !lac_timing_every_call(ctx)) return false;
    bool rests = choice->route->role == LAC_ROLE_DENSE && !is_trial(choice) && lac_timing_rests(ctx, site);
    if (rests) lac_timing_spend(ctx, site, choice->cost_us);
    return !rests;
}

/* Runs what was chosen, or declines where that gives up, and tells the site and the user. */
static lac_status_t serve(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, lac_request_t *request,
                          lac_choice_t *choice)
{
    lac_shadow_t shadow = {0};
    lac_problem_t product;
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    const lac_route_t *decided = choice->route;
    bool compared = lac_shadow_due(ctx) && lac_shadow_begin(ctx, &shadow, p);
    if (compared) { /* products are compared, without their epilogues */
        product = *p;
        product.epilogue.any = product.epilogue.bits = false;
        p = &product;
    }

    bool learns = is_timed(ctx, site, choice),
         clocked = ctx->backend->clock && lac_device_timing_begin(ctx, site, choice);
    bool timed = compared || learns || lac_report_wanted(&ctx->policy);
    double begin_us = timed ? ctx->now_us() : 0.0;
    lac_status_t status = decided->run(decided, ctx->exec, p, &out);
    status = accept(ctx, site, p, request, choice, status, &out);
    double took_us = timed ? ctx->now_us() - begin_us : 0.0;
    bool gave_up = choice->route != decided || request->declined;

    close_epilogue(p, request, choice->route);
    if (clocked) lac_device_timing_end(ctx, status || gave_up ? NULL : site, p, choice);
    if (learns && !status) learn_time(ctx, site, p, choice, took_us, gave_up, request->declined);
    if (gave_up && request->decision) /* the record names what ran */
        lac_select_record(ctx->routes, ctx->route_count, p, &ctx->machine, choice, request->decision);
    if (request->declined) decline(ctx, site, request);
    if (compared && !status && !request->declined)
        lac_shadow_end(ctx, &shadow, p, request->symbol, choice, took_us);
    lac_shadow_free(&shadow);
    if (!status) lac_report_call(ctx, site, p, request, choice, took_us);
    return status;
}

/* True where a call that rests needs no more than the vendor's product, and the site no more than its
 * predicted time: what every call of `serve` touches comes from the second-level cache behind a product of
 * some 20 us. */
static bool passes(const lac_ctx_t *ctx, const lac_site_t *site, const lac_problem_t *p,
                   const lac_request_t *request, const lac_choice_t *choice)
{
    bool seen = request->decision || ctx->policy.compare || lac_report_wanted(&ctx->policy);
    return site && choice->route->role == LAC_ROLE_DENSE && !request->may_decline && !seen &&
           !p->epilogue.any && lac_timing_rests(ctx, site);
}

static lac_status_t pass(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, const lac_choice_t *choice)
{
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    site->declined_calls++;
    lac_timing_spend(ctx, site, choice->cost_us);
    return choice->route->run(choice->route, ctx->exec, p, &out);
}

lac_status_t lac_dispatch(lac_ctx_t *ctx, lac_problem_t *p, lac_request_t *request)
{
    const char *wanted = wanted_route(&ctx->policy, request->route);
    request->declined = request->epilogue_done = false;
    request->bits = NULL;
    request->density = -1.0;
    ctx->forwarded = NULL;
    ctx->learned.charge_us = 0.0; /* a trial of which nobody said what it took counts for its worst */
    apply_policy(&ctx->policy, p);
    if (lac_problem_guarantees(p)) request->may_decline = false; /* a BLAS multiplies zeros */
    if (ctx->backend->clock) lac_device_timing_collect(ctx);
    lac_site_t *site = site_of(ctx, p, request);
    if (site && !request->may_decline && site->state == LAC_SITE_NEW)
        site->countdown = 0; /* not in passing */
    bool sparse_candidate = site && lac_history_fill_densities(ctx, site, p);
    assume_guaranteed(p);
    bool ours = sparse_candidate || serves_dense(ctx, site);
    if (!ours && request->may_decline && !wanted && !lac_report_wanted(&ctx->policy)) {
        decline(ctx, site, request);
        return LAC_OK;
    }

    lac_choice_t choice = choose_again(ctx, p, site, wanted, request->untried);
    if (passes(ctx, site, p, request, &choice)) return pass(ctx, site, p, &choice);
    if (site) site->intended = choice.route;
    if (!wanted && site && !lac_timing_trial_of_dense(ctx, site, &choice) && !request->untried)
        lac_timing_trial(ctx, site, p, request->may_decline, &choice);
    if (request->decision)
        lac_select_record(ctx->routes, ctx->route_count, p, &ctx->machine, &choice, request->decision);
    bool forced = wanted && choice.why == LAC_WHY_FORCED;
    set_limit(p, site, &choice, forced, request->density_limit);
    if (!leaves_to_caller(ctx, &choice, request, forced)) return serve(ctx, site, p, request, &choice);

    lac_outcome_t unseen = {false, -1.0, -1.0, NULL};
    if (site) lac_history_learn(ctx, site, p, &choice, &unseen);
    decline(ctx, site, request);
    lac_report_call(ctx, site, p, request, &choice, 0.0); /* a log is slow: not while the device waits */
    bool clocked = site && is_trial(&choice) && choice.route->role == LAC_ROLE_DENSE && ctx->backend->clock;
    if (clocked && lac_device_timing_begin(ctx, site, &choice)) {
        ctx->forwarded = site;
        ctx->forwarded_row = choice.row;
    }
    return LAC_OK;
}

void lac_dispatch_explain(lac_ctx_t *ctx, lac_problem_t *p, const lac_request_t *request,
                          lac_decision_t *decision)
{
    apply_policy(&ctx->policy, p);
    lac_site_t *site = site_of(ctx, p, request);
    if (site) {
        site->calls--;
        lac_site_t before = *site;
        site->countdown = 0; /* a person asked: look now */
        lac_history_fill_densities(ctx, site, p);
        before.left = site->left, before.right = site->right, before.dense_us = site->dense_us;
        before.dense_row = site->dense_row, before.probes = site->probes;
        *site = before;
    }
    assume_guaranteed(p);
    lac_choice_t choice = choose(ctx, p, site, wanted_route(&ctx->policy, request->route), request->untried);
    lac_select_record(ctx->routes, ctx->route_count, p, &ctx->machine, &choice, decision);
}

lac_status_t lac_dispatch_planned(lac_ctx_t *ctx, lac_problem_t *p, const lac_route_t *route)
{
    lac_request_t request = {.symbol = "lac_plan_run"};
    lac_choice_t choice = {route, -1, LAC_WHY_PLANNED, -1.0, -1.0};
    apply_policy(&ctx->policy, p);
    lac_problem_t known = *p;
    if (route->side != LAC_SIDE_NONE) assume_forced(p);
    if (route->applicable(route, p) != LAC_FITS) {
        *p = known;
        return lac_dispatch(ctx, p, &request);
    }
    choice.cost_us = route->cost_us(route, p, &ctx->machine);
    return serve(ctx, NULL, p, &request, &choice);
}

const lac_route_t *lac_dispatch_route(const lac_ctx_t *ctx, const lac_decision_t *decision)
{
    for (int i = 0; i < ctx->route_count; i++)
        if (!strcmp(ctx->routes[i]->name, decision->route) &&
            !strcmp(lac_side_name(ctx->routes[i]->side), decision->side))
            return ctx->routes[i];
    return ctx->routes[ctx->route_count - 1];
}

/* A batch asks the site of its first product what is known of the operands, and teaches it what served. */

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
    one.settings.threads = 1;
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
    if (lac_policy_guarantees(&ctx->policy)) return LAC_OK; /* a route keeps that, one by one */
    lac_site_t *site = lac_dispatch_fill_densities(ctx, p, &request);
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

/* Verbose lines in a versioned format. */

bool lac_report_wanted(const lac_policy_t *policy)
{
    return policy->stats || policy->verbose & LAC_VERBOSE_EXEC;
}

static char letter(lac_inc_t rs, lac_inc_t cs)
{
    if (cs == 1) return 'N';
    return rs == 1 ? 'T' : 'G';
}

/* The module and offset of the calling instruction: "-" where it is in none. */
static void find_caller(const void *caller, char *text, size_t size)
{
    Dl_info info;
    if (!caller || !dladdr(caller, &info) || !info.dli_fname) {
        snprintf(text, size, "-");
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(text, size, "%s+0x%lx", slash ? slash + 1 : info.dli_fname,
             (unsigned long)((const char *)caller - (const char *)info.dli_fbase));
}

/* The same, but from memory for the callers of late, because dladdr searches all symbols of a module. A
 * module that another one replaced keeps its name. */
static const char *name_caller(const void *caller)
{
    enum { CALLERS = 16 };
    static _Thread_local struct {
        const void *caller;
        char text[128];
    } known[CALLERS];
    uint64_t mixed = (uint64_t)(uintptr_t)caller * UINT64_C(0x9E3779B97F4A7C15);
    size_t i = mixed >> 60;
    if (!known[i].text[0] || known[i].caller != caller) {
        find_caller(caller, known[i].text, sizeof known[i].text);
        known[i].caller = caller;
    }
    return known[i].text;
}

static void log_call(const char *device, const lac_problem_t *p, const lac_request_t *request,
                     const lac_choice_t *choice)
{
    const lac_operand_t *x = choice->route->side == LAC_SIDE_RIGHT ? &p->b : &p->a;
    lac_log("lacuna,1,exec,%s,%s,%s,%c%c,%lld,%lld,%lld,%s,%.4g,%.4g,%.4g,%s,%s%s", request->symbol,
            name_caller(request->caller), device, letter(p->a.rs, p->a.cs), letter(p->b.rs, p->b.cs),
            (long long)p->m, (long long)p->n, (long long)p->k, lac_source_name(x->known), x->density,
            choice->cost_us, choice->dense_us, request->declined ? "dense" : choice->route->name,
            lac_why_text(choice->why), request->declined ? " (declined)" : "");
}

void lac_report_call(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, const lac_request_t *request,
                     const lac_choice_t *choice, double took_us)
{
    if (ctx->policy.verbose & LAC_VERBOSE_EXEC) log_call(ctx->backend->name, p, request, choice);
    if (!site) return;
    if (request->declined) return; /* counted as it was declined */
    if (choice->route->role != LAC_ROLE_SPARSE) {
        site->declined_calls++;
        return;
    }
    site->sparse_calls++;
    site->sparse_us_predicted += choice->cost_us;
    site->sparse_us_measured += took_us;
}
