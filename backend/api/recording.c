/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A product in somebody's recording: one route of ours whatever the operands hold, or both ways of it and the
 * probe that chooses. */
#include "entry.h"
#include "base/status.h"
#include "operand/check.h"
#include "planner/select.h"
#include "planner/timing.h"

#include <stdlib.h>

/* What a replay spends on choosing: 3 us on the look, 7 on the condition (H200, CUDA 13.0, 2026-11-21). */
#define CHOOSING_US 10.0

typedef struct ways {
    lac_ctx_t *ctx;
    lac_problem_t *p;
    const lac_residual_t *residual;              /* NULL: nothing is added */
    const lac_route_t *sparse_path, *dense_path; /* sparse_path NULL: there is one way */
} ways_t;

/* A site of the call that a sparse route serves; the eager calls' operands may have been registered. */
static const lac_site_t *sparse_site(const lac_ctx_t *ctx, const lac_gemm_args_t *args, uint64_t frozen)
{
    lac_site_key_t at = lac_site_key_of(args);
    at.types |= frozen;
    const lac_site_t *site = lac_site_peek(&ctx->sites, &at);
    return site && site->route && site->route->role == LAC_ROLE_SPARSE ? site : NULL;
}

/* Without what is kept of a frozen operand, a recording pays from another density on, and what was measured
 * with it does not count. */
static double limit_when_recorded(const lac_ctx_t *ctx, const lac_site_t *site, bool right)
{
    lac_preference_t none = {0};
    lac_problem_t p = site->shape;
    p.a.density = p.b.density = -1.0;
    double dense_us = lac_select(ctx->routes, ctx->route_count, &p, &ctx->machine, &none).cost_us;
    return lac_break_even(ctx->routes, ctx->route_count, &p, &ctx->machine, NULL,
                          right ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT,
                          dense_us / (1.0 + ctx->policy.sparse_margin));
}

int lac_gemm_estimate(const lac_ctx_t *ctx, const lac_gemm_args_t *args, lac_estimate_t *estimate)
{
    static const uint64_t frozen[] = {0, LAC_SITE_FROZEN_A, LAC_SITE_FROZEN_B,
                                      LAC_SITE_FROZEN_A | LAC_SITE_FROZEN_B};
    const lac_site_t *site = NULL;
    size_t i = 0;
    while (i < sizeof frozen / sizeof *frozen && !(site = sparse_site(ctx, args, frozen[i]))) i++;
    if (!site) return 0;
    bool right = site->route->side == LAC_SIDE_RIGHT;
    lac_seen_t seen = right ? site->right : site->left;
    if (i) seen.break_even = limit_when_recorded(ctx, site, right);
    if (seen.density < 0.0 || seen.density >= seen.break_even) return 0;
    lac_problem_t p = site->shape;
    lac_preference_t preference = {.factor = i ? NULL : lac_timing_factors(ctx, site)};
    p.a.density = p.b.density = -1.0;
    *(right ? &p.b.density : &p.a.density) = seen.density;
    lac_choice_t choice = lac_select(ctx->routes, ctx->route_count, &p, &ctx->machine, &preference);
    *estimate = (lac_estimate_t){right, seen.density, seen.break_even, choice.cost_us, choice.dense_us};
    return choice.route->role == LAC_ROLE_SPARSE;
}

/* False where it cannot be recorded. What is registered of its operands is to be given back, if anything. */
static bool problem_of(lac_ctx_t *ctx, const lac_gemm_args_t *args, lac_problem_t *p, lac_known_t *known)
{
    *known = (lac_known_t){NULL, NULL};
    lac_obj_t a = lac_view(args->a.dt, LAC_DEVICE, args->m, args->k, args->a.buf, args->a.rs, args->a.cs),
              b = lac_view(args->b.dt, LAC_DEVICE, args->k, args->n, args->b.buf, args->b.rs, args->b.cs),
              c = lac_view(args->dt, LAC_DEVICE, args->m, args->n, args->c, args->crs, args->ccs);
    if (args->adds && lac_is_half(args->a.dt)) return false;
    if (lac_share_memory(&a, &c) || lac_share_memory(&b, &c)) return false;
    lac_problem_from_args(p, args);
    *known = lac_known_of_call(ctx, args, &a, &b, p);
    p->settings.may_copy = ctx->policy.may_copy;
    p->settings.math = ctx->policy.math;
    p->settings.strict_nan = ctx->policy.strict_nan;
    p->settings.fixed_sums = ctx->policy.fixed_sums;
    lac_problem_settle_skip(p, ctx->policy.skip);
    return true;
}

static lac_status_t queue(const ways_t *ways, const lac_route_t *route)
{
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    lac_status_t status = route->run(route, ways->ctx->exec, ways->p, &out);
    if (!status && out.declined) return lac_fail(LAC_ERR_INTERNAL, "recording: a route gave up");
    if (!status && ways->residual) status = lac_residual_queue(ways->ctx, ways->residual, ways->p);
    return status;
}

static lac_status_t queue_sparse(void *arg)
{
    return queue(arg, ((const ways_t *)arg)->sparse_path);
}

static lac_status_t queue_dense(void *arg)
{
    return queue(arg, ((const ways_t *)arg)->dense_path);
}

/* estimate: NULL where nothing is known. */
static void assume(lac_problem_t *p, const lac_estimate_t *estimate)
{
    p->a.density = p->b.density = -1.0;
    if (!estimate) return;
    lac_operand_t *x = estimate->right ? &p->b : &p->a;
    x->density = estimate->density;
    x->k_active = x->blocks_active = -1.0;
    x->known = LAC_KNOWN_REMEMBERED;
}

static lac_choice_t select_at(const lac_ctx_t *ctx, lac_problem_t *p, const lac_estimate_t *estimate)
{
    lac_preference_t none = {0};
    assume(p, estimate);
    return lac_select(ctx->routes, ctx->route_count, p, &ctx->machine, &none);
}

/* What serves whatever the operands hold: a route that counts on the device, which looks at the shorter side,
 * unless it is the other that is known to be sparse. What is known of that side decides whether it pays. */
static lac_choice_t select_any(const lac_ctx_t *ctx, lac_problem_t *p, const lac_estimate_t *estimate)
{
    lac_preference_t any = {.on_device = !estimate || (estimate->right != 0) == (p->m > p->n)};
    if (estimate && any.on_device) any.counted_density = estimate->density;
    assume(p, NULL);
    return lac_select(ctx->routes, ctx->route_count, p, &ctx->machine, &any);
}

static bool is_ours(const lac_choice_t *choice)
{
    return choice->route->role == LAC_ROLE_FAST || choice->why == LAC_WHY_ON_DEVICE;
}

static lac_choice_t select_guaranteed(const lac_ctx_t *ctx, lac_problem_t *p, const lac_estimate_t *estimate)
{
    lac_preference_t none = {0};
    assume(p, estimate);
    lac_operand_t *x = lac_problem_skips(p, &p->b) ? &p->b : &p->a;
    if (x->density < 0) x->density = LAC_ASSUMED_DENSITY;
    return lac_select(ctx->routes, ctx->route_count, p, &ctx->machine, &none);
}

static double cost_at(const lac_ctx_t *ctx, lac_problem_t *p, const lac_estimate_t *estimate,
                      const lac_route_t *route)
{
    assume(p, estimate);
    return route->cost_us(route, p, &ctx->machine);
}

/* What was made of an operand that stays may from now on stand for it. */
static void describe_anew(lac_operand_t *x)
{
    if (x->meta && x->frozen) x->formats = lac_meta_trusted(x->meta);
}

/* Room, handles and formats of what stays for both ways, while the context's own stream may still be waited
 * for. */
static lac_status_t prepare(void *arg)
{
    const ways_t *ways = arg;
    const lac_backend_t *backend = ways->ctx->backend;
    lac_status_t status =
        ways->sparse_path ? backend->prepare(ways->ctx->exec, ways->sparse_path, ways->p) : LAC_OK;
    if (!status) status = backend->prepare(ways->ctx->exec, ways->dense_path, ways->p);
    describe_anew(&ways->p->a);
    describe_anew(&ways->p->b);
    return status ? status : backend->device->wait(ways->ctx->exec);
}

/* Whether a probe and both ways are predicted to be worth more than the dense way alone, which is `dense`. */
static bool pays(const lac_estimate_t *estimate, const lac_choice_t *sparse, const lac_choice_t *dense)
{
    if (!estimate || sparse->route->role != LAC_ROLE_SPARSE) return false;
    double dense_us = dense->route->role == LAC_ROLE_FAST ? dense->cost_us : estimate->dense_us;
    return estimate->cost_us + CHOOSING_US < dense_us &&
           (sparse->route->side == LAC_SIDE_RIGHT) == (estimate->right != 0);
}

/* A way that is our own is predicted to be faster than the caller's, whatever the operands hold: it is
 * recorded alone, or where it skips nothing in place of the caller's. */
static int record(lac_ctx_t *ctx, void *stream, lac_problem_t *p, const lac_residual_t *residual,
                  const lac_estimate_t *estimate, void (*on_release)(void *), void *owner)
{
    bool guaranteed = lac_problem_guarantees(p); /* then one way alone, which skips */
    lac_choice_t dense = guaranteed ? select_guaranteed(ctx, p, estimate) : select_any(ctx, p, estimate),
                 sparse = select_at(ctx, p, estimate);
    ways_t ways = {ctx, p, residual, NULL, dense.route};
    lac_branch_t branch = {.stream = stream,
                           .prepare = prepare,
                           .dense_path = queue_dense,
                           .arg = &ways,
                           .on_release = on_release,
                           .owner = owner};
    if (dense.route->role == LAC_ROLE_FAST) dense.cost_us = cost_at(ctx, p, estimate, dense.route);
    if (guaranteed) {
        select_guaranteed(ctx, p, estimate);
    } else if (dense.why == LAC_WHY_ON_DEVICE) {
        if (dense.route->role == LAC_ROLE_EITHER) assume(p, estimate);
        lac_select_settle(&dense, p);
    } else if (pays(estimate, &sparse, &dense)) {
        ways.sparse_path = sparse.route;
        branch.sparse_path = queue_sparse;
        branch.limit = estimate->limit;
        branch.x = estimate->right ? &p->b : &p->a;
        branch.rows = estimate->right ? p->k : p->m;
        branch.cols = estimate->right ? p->n : p->k;
    } else if (!is_ours(&dense)) {
        on_release(owner);
        return 0;
    }
    lac_status_t status = ctx->backend->device->branch(ctx->exec, &branch);
    if (!status) return 1;
    return branch.touched ? -1 : 0;
}

int lac_records_any_density(lac_ctx_t *ctx, const lac_gemm_args_t *args)
{
    lac_problem_t p;
    lac_known_t known;
    bool any = problem_of(ctx, args, &p, &known);
    if (any && !lac_problem_guarantees(&p)) {
        lac_choice_t choice = select_any(ctx, &p, NULL);
        any = is_ours(&choice);
    }
    lac_known_give_back(&known);
    return any;
}

/* What goes with a recording: the metadata that it reads, and whom its caller wants called. */
typedef struct recorded {
    lac_known_t known;
    void (*on_release)(void *owner);
    void *owner;
} recorded_t;

static void release(void *arg)
{
    recorded_t *recorded = arg;
    lac_registry_unpin(recorded->known.a);
    lac_registry_unpin(recorded->known.b);
    recorded->on_release(recorded->owner);
    free(recorded);
}

static int record_holding(lac_ctx_t *ctx, void *stream, const lac_gemm_args_t *args,
                          const lac_estimate_t *estimate, recorded_t *recorded)
{
    lac_problem_t p;
    int done = 0;
    int token = lac_enter(ctx);
    bool can = problem_of(ctx, args, &p, &recorded->known);
    lac_known_t known = recorded->known; /* recorded may be gone by then */
    lac_registry_pin(known.a);
    lac_registry_pin(known.b);
    if (can)
        done = record(ctx, stream, &p, args->adds ? &args->residual : NULL, estimate, release, recorded);
    else
        release(recorded);
    lac_known_give_back(&known);
    lac_leave(ctx, token);
    return done;
}

int lac_capture_gemm(lac_ctx_t *ctx, void *stream, const lac_gemm_args_t *args,
                     const lac_estimate_t *estimate, void (*on_release)(void *owner), void *owner)
{
    bool can = ctx->backend->device && ctx->backend->device->branch && ctx->backend->prepare;
    recorded_t *recorded = can ? malloc(sizeof *recorded) : NULL;
    if (!recorded) {
        on_release(owner);
        return 0;
    }
    *recorded = (recorded_t){{NULL, NULL}, on_release, owner};
    return record_holding(ctx, stream, args, estimate, recorded);
}
