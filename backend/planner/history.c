/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Looks at operands only where a look can pay, and less and less often where it did not. */
#include "history.h"
#include "select.h"
#include "timing.h"
#include "base/log.h"

#include <math.h>
#include <string.h>

#define PROBE_US        1.0   /* a sample of one operand out of cache; one Xeon, 2026-11                 */
#define PROBE_DEVICE_US 6.0   /* queueing samples of both operands; H200, CUDA 13.0, 2026-11             */
#define PROBE_SHARE     0.002 /* of a dense call's time that looking may cost in steady state           */
#define SAMPLE_US       0.01  /* one element of a sample */
#define SAMPLES_MIN     64
#define SAMPLES_MAX     1024
#define SAMPLES_FIRST   8 /* times as many in the first look, on which the first routes to be tried rest */
/* Lines of k, or blocks, of a sample: so few of what evenly spread nonzeros would have, and by so many times
 * the error of 256 of them, that the zeros are taken to lie by k, or by blocks. */
#define KEPT_SPREAD 0.8
#define KEPT_NOISE  0.25
/* Between two samples on a device of an operand that a sparse route serves: what they may cost of its gain,
 * and of its own time; and calls. Data may turn dense, and what is lost until that is seen goes with the gain
 * (60 sparse calls of 16 x 8192 x 4096, then dense ones: 438 us a call in place of 155; H200, 2026-11-23). */
#define REFRESH_OF_GAIN 0.05
#define REFRESH_OF_CALL 0.02
#define SAMPLE_QUEUE_US 2.0 /* of the device */
#define REFRESH_MIN     4
#define REFRESH_MAX     64
#define MEET_CALLS      256   /* between two samples of an operand beside one that brings its density */
#define PROBE_MARGIN    2.0   /* dense calls: a route of which the model says no more is worth a trial    */
#define COMPARE_US      100.0 /* dense time of a site's calls before its costs are compared: that takes 2 us */
#define PROBE_EACH_US   250.0 /* dense time from which probing every call takes less than half a per cent */

/* An operand whose density the call itself brings needs no look. */
static bool brings_density(const lac_operand_t *x)
{
    return x->known >= LAC_KNOWN_SCANNED;
}

/* What was scanned once may have changed since; what is frozen or attached may not. */
static bool brings_fact(const lac_operand_t *x)
{
    return x->known >= LAC_KNOWN_ATTACHED;
}

/* A hint counts until the site has seen for itself. */
static void doubt_hint(const lac_site_t *site, const lac_seen_t *seen, lac_operand_t *x)
{
    if (x->known != LAC_KNOWN_SCANNED || !x->buf || (seen->density < 0 && !site->wait)) return;
    x->known = LAC_KNOWN_NOT;
    x->density = -1.0;
}

/* True where a probe costs little beside a dense call. On a device an answer comes late. */
static bool probes_are_cheap(const lac_ctx_t *ctx, const lac_site_t *site)
{
    return !ctx->backend->asynchronous && site->dense_us >= PROBE_EACH_US;
}

static lac_site_key_t key_of(const lac_problem_t *p, const void *caller)
{
    uint64_t types = (uint64_t)(p->a.dt == LAC_U8) | (uint64_t)(p->b.dt == LAC_U8) << 1 |
                     (uint64_t)brings_fact(&p->a) << 2 | (uint64_t)brings_fact(&p->b) << 3 |
                     (p->a.frozen ? LAC_SITE_FROZEN_A : 0) | (p->b.frozen ? LAC_SITE_FROZEN_B : 0) |
                     lac_site_type(p->a.dt, p->b.dt, p->dt) | p->account.site_bits;
    if (lac_problem_guarantees(p)) types |= lac_problem_skips(p, &p->a) ? LAC_SITE_SKIP_A : LAC_SITE_SKIP_B;
    return (lac_site_key_t){p->m, p->n, p->k, p->a.rs, p->a.cs, p->b.rs, p->b.cs, caller, types};
}

/* Where routes are measured, a trial finds out what a prediction that is too high hides. */
static void find_side(const lac_ctx_t *ctx, const lac_site_t *site, lac_seen_t *seen,
                      const lac_problem_t *bare, lac_side_t side)
{
    const float *factor = lac_timing_factors(ctx, site);
    double pays_us = site->dense_us / (1.0 + ctx->policy.sparse_margin),
           near_us = PROBE_MARGIN * site->dense_us;
    seen->break_even =
        lac_break_even(ctx->routes, ctx->route_count, bare, &ctx->machine, factor, side, pays_us);
    seen->probe_threshold = seen->break_even;
    if (factor)
        seen->probe_threshold =
            lac_break_even(ctx->routes, ctx->route_count, bare, &ctx->machine, factor, side, near_us);
}

/* The time of the route that skips nothing. */
static void find_dense(const lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p)
{
    lac_problem_t bare = *p;
    lac_preference_t preference = {0};
    bare.a.density = bare.b.density = -1.0;
    lac_timing_prefer(ctx, site, p, &preference);
    lac_choice_t dense = lac_select(ctx->routes, ctx->route_count, &bare, &ctx->machine, &preference);
    site->dense_us = dense.cost_us;
    site->dense_row = dense.row;
    site->dense_epoch = ctx->learned.dense_epoch;
}

/* The densities below which a sparse route would be chosen, counting the scan of an operand not seen yet. */
static void find_break_even(const lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p)
{
    lac_problem_t bare = *p;
    bare.a.density = bare.b.density = -1.0;
    find_dense(ctx, site, p);
    if (!brings_fact(&p->a)) find_side(ctx, site, &site->left, &bare, LAC_SIDE_LEFT);
    if (!brings_fact(&p->b)) find_side(ctx, site, &site->right, &bare, LAC_SIDE_RIGHT);
}

/* The site of a problem, prepared where it is new. */
static lac_site_t *prepared(lac_ctx_t *ctx, const lac_problem_t *p, const char *symbol, const void *caller,
                            bool *fresh)
{
    lac_site_key_t key = key_of(p, caller);
    lac_site_t *site = lac_site_find(&ctx->sites, &key, fresh);
    if (!site || !*fresh) return site;
    if (!lac_timing_dense(ctx, p, &site->dense_row, &site->dense_us)) find_dense(ctx, site, p);
    site->dense_epoch = ctx->learned.dense_epoch;
    strncpy(site->symbol, symbol, sizeof site->symbol - 1);
    site->shape = *p;
    site->shape.a.meta = site->shape.b.meta = NULL; /* the caller's, and not ours to keep */
    site->shape.a.formats = site->shape.b.formats = 0;
    site->shape.a.frozen = site->shape.b.frozen = false;
    bool soon = ctx->backend->asynchronous || site->dense_us >= COMPARE_US;
    site->countdown = soon ? 0 : (unsigned)(COMPARE_US / (site->dense_us + COMPARE_US / LAC_SITE_WAIT_MAX));
    return site;
}

lac_site_t *lac_history_site(lac_ctx_t *ctx, const lac_problem_t *p, const char *symbol, const void *caller)
{
    bool fresh;
    lac_site_t *site = prepared(ctx, p, symbol, caller, &fresh);
    if (site) site->calls++;
    return site;
}

lac_site_t *lac_history_first(lac_ctx_t *ctx, const lac_problem_t *p, const char *symbol, const void *caller)
{
    bool fresh;
    lac_site_t *site = prepared(ctx, p, symbol, caller, &fresh);
    if (!site || !fresh || site->countdown == 0) return NULL;
    site->countdown--;
    site->calls++;
    return site;
}

/* As many as the share of a dense call's time pays for. */
static int64_t samples_for(const lac_ctx_t *ctx, const lac_site_t *site)
{
    double samples = fmax(PROBE_SHARE * site->dense_us / SAMPLE_US, SAMPLES_MIN);
    if (site->probes <= 1 && !ctx->backend->asynchronous) samples *= SAMPLES_FIRST;
    return (int64_t)fmin(samples, SAMPLES_MAX);
}

/* Fraction of lines of k, or of blocks, with any nonzero, where the nonzeros keep to some of them; negative
 * where they do not, as far as a sample shows that found some in the fraction `found`, looking at `each`
 * elements: as many as where nonzeros are spread over all. Those that have any are taken for equally full. */
static double kept_to(double density, double found, int each)
{
    if (found <= 0.0) return -1.0;
    double spread = lac_active_fraction(density, each), active = fmax(found, density);
    if (found > KEPT_SPREAD * spread || found > spread - KEPT_NOISE * sqrt(spread)) return -1.0;
    for (int i = 0; i < 8; i++) active = fmin(found / lac_active_fraction(density / active, each), 1.0);
    return active;
}

/* What a sample says of an operand. */
typedef struct sampled {
    double density; /* negative: none is to be had now, the answer of a device is pending */
    double k_active, blocks_active;
} sampled_t;

/* The density at which tiles would gain as much, were the nonzeros spread evenly: what a sample is compared
 * with break-even by. */
static double even_density(const sampled_t *found)
{
    if (found->blocks_active < 0.0) return found->density;
    return fmin(found->density, lac_active_density(found->blocks_active, LAC_BLOCK_ACROSS));
}

static sampled_t sample(const lac_ctx_t *ctx, lac_seen_t *kept, const lac_problem_t *p,
                        const lac_operand_t *x, const lac_site_t *site)
{
    sampled_t found = {-1.0, -1.0, -1.0};
    bool right = x == &p->b;
    lac_dim_t rows = right ? p->k : p->m, cols = right ? p->n : p->k;
    lac_sample_t sample = {.looked = samples_for(ctx, site), .k_by_rows = right};
    uint64_t seed = site->calls; /* other places each time, so that no pattern hides for ever */
    int64_t seen = ctx->backend->sample(ctx->exec, x, rows, cols, &sample, seed, kept, site->calls <= 1);
    kept->pending = sample.looked == 0;
    if (kept->pending) return found;
    found.density = seen ? (double)seen / (double)sample.looked : 0.5 / (double)sample.looked;
    found.k_active = kept_to(found.density, sample.lines, sample.each);
    found.blocks_active = kept_to(found.density, sample.blocks, sample.each_block);
    if (ctx->policy.verbose & LAC_VERBOSE_META)
        lac_log("lacuna,1,meta,probe,%lldx%lld,%lld of %lld nonzero", (long long)rows, (long long)cols,
                (long long)seen, (long long)sample.looked);
    if (found.k_active >= 0.0 && ctx->policy.verbose & LAC_VERBOSE_META)
        lac_log("lacuna,1,meta,probe,%lldx%lld,in %.3g of its k", (long long)rows, (long long)cols,
                found.k_active);
    if (found.blocks_active >= 0.0 && ctx->policy.verbose & LAC_VERBOSE_META)
        lac_log("lacuna,1,meta,probe,%lldx%lld,in %.3g of its blocks of %dx%d", (long long)rows,
                (long long)cols, found.blocks_active, LAC_BLOCK_ACROSS, LAC_BLOCK_K);
    return found;
}

/* Kept of a sample from call to call. */
static void keep_sampled(lac_seen_t *seen, const sampled_t *found)
{
    seen->density = found->density;
    seen->k_active = found->k_active;
    seen->blocks_active = found->blocks_active;
}

/* Takes a fresh sample of an operand that can pay; true where it speaks for a sparse route, or for the trial
 * of one. */
static bool probe_side(const lac_ctx_t *ctx, lac_site_t *site, lac_seen_t *seen, const lac_problem_t *p,
                       lac_operand_t *x)
{
    if (brings_density(x) || !x->buf || seen->probe_threshold <= 0.0) return false;
    sampled_t found = sample(ctx, seen, p, x, site);
    bool there = found.density >= 0;
    if (there) seen->sampled = found.density;
    bool pays = there && even_density(&found) <= seen->break_even;
    bool near = there && even_density(&found) <= seen->probe_threshold;
    /* On a device what does not speak for a sparse route is not kept: no run there counts what it saw. */
    if (!there || (ctx->backend->asynchronous && !pays && !near)) return false;
    x->density = found.density;
    x->k_active = found.k_active;
    x->blocks_active = found.blocks_active;
    x->known = LAC_KNOWN_PROBED;
    site->pays |= pays;
    return pays || (near && lac_timing_affords(ctx, site));
}

/* What was counted or, on the side that no route has served yet, sampled: there may be the cheaper route. No
 * run on a device counts what it saw, so that a sample there would be believed for ever. */
static bool remember(const lac_ctx_t *ctx, const lac_seen_t *seen, lac_operand_t *x)
{
    if (brings_density(x) || !x->buf) return false;
    if (seen->density >= 0) {
        x->density = seen->density;
        x->k_active = seen->k_active;
        x->blocks_active = seen->blocks_active;
        x->known = LAC_KNOWN_REMEMBERED;
        return true;
    }
    if (ctx->backend->asynchronous || seen->sampled < 0) return false;
    x->density = seen->sampled;
    x->k_active = x->blocks_active = -1.0;
    x->known = LAC_KNOWN_PROBED;
    return true;
}

/* Calls of a sparse route between two samples: the more it gains, the fewer. */
static uint64_t refresh_calls(const lac_site_t *site)
{
    double each_us = site->cache.choice.cost_us, gain_us = site->dense_us - each_us;
    double share =
        fmin(REFRESH_OF_GAIN * gain_us / PROBE_DEVICE_US, REFRESH_OF_CALL * each_us / SAMPLE_QUEUE_US);
    if (share * REFRESH_MAX <= 1.0) return REFRESH_MAX;
    return share * REFRESH_MIN >= 1.0 ? REFRESH_MIN : (uint64_t)(1.0 / share);
}

/* On a device no run counts what it saw, so a site that a sparse route serves is sampled now and then. */
static void refresh(const lac_ctx_t *ctx, const lac_site_t *site, lac_seen_t *seen, const lac_problem_t *p,
                    const lac_operand_t *x)
{
    if (!ctx->backend->asynchronous || ctx->policy.detect != LAC_DETECT_PROBE) return;
    if (brings_density(x) || !x->buf || (seen->density < 0 && !seen->assumed)) return;
    if (!seen->pending && !seen->assumed && site->calls % refresh_calls(site)) return;
    sampled_t found = sample(ctx, seen, p, x, site);
    if (found.density < 0) return;
    keep_sampled(seen, &found);
    seen->assumed = false;
}

/* Calls between two probes at which probing costs no more than its share. */
static unsigned min_wait(const lac_ctx_t *ctx, const lac_site_t *site)
{
    double probe_us = ctx->backend->asynchronous ? PROBE_DEVICE_US : PROBE_US,
           budget_us = PROBE_SHARE * site->dense_us; /* of one call */
    if (budget_us * LAC_SITE_WAIT_MAX <= probe_us) return LAC_SITE_WAIT_MAX;
    return probe_us <= budget_us ? 1u : (unsigned)(probe_us / budget_us);
}

/* Break-even densities once more, after what was measured has changed. What was too dense before may pay now:
 * then the next look is due. */
static void refresh_break_even(const lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p)
{
    double left = site->left.break_even, right = site->right.break_even;
    find_break_even(ctx, site, p);
    if (site->left.break_even > left || site->right.break_even > right)
        site->wait = site->countdown = site->granted = 0;
}

static void step(const lac_ctx_t *ctx, lac_site_t *site, lac_site_event_t event)
{
    lac_site_next(site, event, probes_are_cheap(ctx, site), min_wait(ctx, site));
}

/* Compares the costs of a new site's routes once its calls have taken long enough for that, or somebody says
 * what the operands hold. */
static bool is_compared(const lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p)
{
    if (site->state != LAC_SITE_NEW) {
        if (site->dense_epoch != ctx->learned.dense_epoch && !lac_timing_is_known(site, site->dense_row))
            refresh_break_even(ctx, site, p); /* what is known of dense products has changed */
        return true;
    }
    bool facts = brings_density(&p->a) || brings_density(&p->b);
    if (site->countdown > 0 && !facts) {
        site->countdown--;
        return false;
    }
    find_break_even(ctx, site, p);
    step(ctx, site, LAC_SITE_COMPARED);
    return true;
}

/* Where the other operand brings its density, a sparse route may serve by that alone: an operand of which
 * nothing is known is sampled, at once and now and then again, since its zeros may be the better ones (events
 * that meet a weight without a buffer: a whole weight read, or a few of its rows). */
static void meet(const lac_ctx_t *ctx, const lac_site_t *site, lac_seen_t *seen, const lac_problem_t *p,
                 const lac_operand_t *x, const lac_operand_t *other)
{
    if (ctx->policy.detect != LAC_DETECT_PROBE || seen->density >= 0 || seen->probe_threshold <= 0.0) return;
    if (!brings_fact(other) || brings_density(x) || !x->buf) return;
    if (!seen->pending && seen->sampled >= 0 && site->calls % MEET_CALLS) return;
    sampled_t found = sample(ctx, seen, p, x, site);
    if (found.density < 0) return;
    seen->sampled = found.density;
    if (ctx->backend->asynchronous && even_density(&found) <= seen->break_even)
        keep_sampled(seen, &found); /* from now on refreshed */
}

/* Of a site that a sparse route serves: what is remembered, on a device refreshed by a sample now and then.
 */
static bool remember_both(const lac_ctx_t *ctx, lac_site_t *site, lac_problem_t *p)
{
    meet(ctx, site, &site->left, p, &p->a, &p->b);
    meet(ctx, site, &site->right, p, &p->b, &p->a);
    refresh(ctx, site, &site->left, p, &p->a);
    refresh(ctx, site, &site->right, p, &p->b);
    bool left = remember(ctx, &site->left, &p->a), right = remember(ctx, &site->right, &p->b);
    return left || right;
}

/* Of any other: samples. What they say of sparse routes, where they say no, is the call's event. */
static bool probe_both(const lac_ctx_t *ctx, lac_site_t *site, lac_problem_t *p)
{
    site->probes++;
    site->probed = true;
    bool left = probe_side(ctx, site, &site->left, p, &p->a),
         right = probe_side(ctx, site, &site->right, p, &p->b);
    if (left || right) return true;
    if (site->left.pending || site->right.pending) return false; /* the next call asks again */
    step(ctx, site, LAC_SITE_NOT_PAYING);
    if (site->left.probe_threshold <= 0 && site->right.probe_threshold <= 0)
        site->countdown = ~0u; /* nothing to look for */
    return false;
}

bool lac_history_fill_densities(lac_ctx_t *ctx, lac_site_t *site, lac_problem_t *p)
{
    if (lac_timing_reset_penalty_due(ctx, site) && lac_timing_reset_penalty(ctx, site))
        refresh_break_even(ctx, site, p);
    doubt_hint(site, &site->left, &p->a);
    doubt_hint(site, &site->right, &p->b);
    bool brings = brings_density(&p->a) || brings_density(&p->b);
    site->probed = site->pays = site->stepped = false;
    if (!is_compared(ctx, site, p)) return brings;
    if (site->state == LAC_SITE_SPARSE) return remember_both(ctx, site, p) || brings;
    if (ctx->policy.detect != LAC_DETECT_PROBE) return brings;
    if (site->countdown > 0) {
        site->countdown--;
        return brings;
    }
    return probe_both(ctx, site, p) || brings;
}

/* A scan gave up: nobody knows the density, but that it is beyond break-even. */
static void forget_density(lac_seen_t *seen)
{
    seen->density = -1.0;
    seen->sampled = fmax(seen->sampled, seen->break_even);
}

static void log_change(const lac_ctx_t *ctx, const lac_site_t *site, const lac_problem_t *p,
                       const lac_route_t *to)
{
    if (!(ctx->policy.verbose & LAC_VERBOSE_DISPATCH)) return;
    lac_log("lacuna,1,dispatch,%s,%lldx%lldx%lld,%s,%s", site->symbol, (long long)p->m, (long long)p->k,
            (long long)p->n, site->route ? site->route->name : "new", to->name);
}

/* What a sparse route counted of its operand x; where it counts nothing, as on a device, what was known
 * before. Where that was nothing, the route was forced, and the density that it assumed says nothing. */
static void learn_density(lac_seen_t *seen, const lac_operand_t *x, const lac_outcome_t *outcome)
{
    bool counted = outcome->density >= 0;
    if (brings_fact(x)) return;
    seen->assumed = !counted && x->known == LAC_KNOWN_NOT;
    if (seen->assumed) return;
    seen->density = counted ? outcome->density : x->density;
    seen->k_active = counted ? outcome->k_active : x->k_active;
    seen->blocks_active = counted ? -1.0 : x->blocks_active;
}

/* The event of a call that `serves` served; `promises`: another route may be cheaper. */
static void step_after_call(const lac_ctx_t *ctx, lac_site_t *site, const lac_route_t *serves, bool promises)
{
    bool pending = site->left.pending || site->right.pending;
    if (serves->side != LAC_SIDE_NONE)
        step(ctx, site, LAC_SITE_SERVED);
    else if (site->probed && !site->stepped && !pending)
        step(ctx, site, promises ? LAC_SITE_PROMISES : LAC_SITE_NOT_PAYING);
    else if (site->state == LAC_SITE_SPARSE && !lac_timing_is_open(ctx, site)) {
        lac_timing_lost(site);
        step(ctx, site, LAC_SITE_LOST);
    }
}

void lac_history_learn(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, const lac_choice_t *choice,
                       const lac_outcome_t *outcome)
{
    const lac_route_t *ran = choice->route;
    bool right = ran->side == LAC_SIDE_RIGHT, sparse = ran->side != LAC_SIDE_NONE,
         trial = choice->why == LAC_WHY_TRIAL;
    lac_seen_t *seen = right ? &site->right : &site->left;
    if (sparse && outcome->declined) {
        forget_density(seen);
        site->route = NULL;
        step(ctx, site, LAC_SITE_GAVE_UP);
        return;
    }
    if (sparse) learn_density(seen, right ? &p->b : &p->a, outcome);
    /* A trial says nothing of which route serves: that is the one it was made in place of. */
    const lac_route_t *serves = trial ? site->intended : ran;
    if (!serves) return;
    if (!trial && site->route != serves) log_change(ctx, site, p, serves);
    site->route = serves;
    if (serves->role == LAC_ROLE_SPARSE) site->sparse_route = serves;
    bool promises = site->pays && (choice->why == LAC_WHY_UNPROVEN || trial);
    step_after_call(ctx, site, serves, promises || (trial && sparse)); /* a trial has another one behind it */
}

void lac_history_timed(lac_ctx_t *ctx, lac_site_t *site, const lac_problem_t *p, int row, double predicted_us,
                       double took_us)
{
    if (!lac_timing_factors(ctx, site) || row < 0) return;
    if (row == site->dense_row && ctx->routes[row]->role == LAC_ROLE_DENSE)
        lac_timing_learn_dense(ctx, p, predicted_us, took_us);
    if (!lac_timing_learn(ctx, site, row, predicted_us, took_us)) return;
    refresh_break_even(ctx, site, p);
}
