/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The entries for drop-in libraries: a product of dense arrays, and one of CSR arrays. Nothing is read before
 * a call's shape says that it could pay. */
#include "entry.h"
#include "base/environment.h"
#include "base/status.h"
#include "operand/check.h"
#include "planner/device_timing.h"
#include "planner/dispatch.h"
#include "planner/statistics.h"
#include "lacuna/context.h"
#include "interpose.h"
#include "operand/registry.h"
#include "planner/select.h"
#include "planner/spmm_autotune.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Products of fewer multiply-adds take the BLAS about as long as any decision would; a device, as long as two
 * launches. */
#define SMALL        (32.0 * 32.0 * 32.0)
#define DEVICE_SMALL (1024.0 * 1024.0)

static pthread_once_t keyed = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static atomic_bool prepared;
static bool disabled, has_key, counted;
static bool blind; /* nothing is probed, and nobody wants to know of calls */
static double min_macs;
static lac_policy_t settings; /* of contexts that nobody changes */
static _Thread_local lac_ctx_t *mine;
static _Thread_local bool tried;

static void free_mine(void *ctx)
{
    mine = NULL;
    tried = true; /* the thread is ending: later destructors go without */
    lac_ctx_free(ctx);
}

static void prepare(void)
{
    const char *off = lac_env("LACUNA_DISABLE");
    disabled = off && strcmp(off, "0") != 0;
    has_key = !pthread_key_create(&thread_key, free_mine);
    lac_policy_load(&settings);
    counted = settings.stats && !disabled;
    if (counted) lac_statistics_begin();
    bool all = settings.backend || lac_policy_guarantees(&settings) || lac_report_wanted(&settings);
    blind = settings.detect != LAC_DETECT_PROBE && !all && !settings.compare;
    min_macs = all ? 0.0 : DEVICE_SMALL;
    if (disabled) min_macs = (double)INFINITY;
    atomic_store_explicit(&prepared, true, memory_order_release);
}

static inline void prepare_once(void)
{
    if (!atomic_load_explicit(&prepared, memory_order_acquire)) pthread_once(&keyed, prepare);
}

double lac_interpose_min_macs(void)
{
    prepare_once();
    return min_macs;
}

void lac_interpose_count_passthrough(const char *symbol, lac_pass_t why)
{
    pthread_once(&keyed, prepare);
    if (counted) lac_statistics_forwarded(symbol, why);
}

lac_ctx_t *lac_thread_ctx(void)
{
    if (tried) return mine;
    pthread_once(&keyed, prepare);
    tried = true;
    if (disabled || !has_key || lac_ctx_create(&mine)) return NULL;
    pthread_setspecific(thread_key, mine);
    return mine;
}

static bool is_batch(const lac_gemm_args_t *args)
{
    return args->batch.count > 1;
}

/* Too small to be worth a thought, unless somebody asked for one. */
static bool is_small(const lac_ctx_t *ctx, const lac_gemm_args_t *args)
{
    double small = ctx->backend->asynchronous ? DEVICE_SMALL : SMALL;
    return (double)args->m * (double)args->n * (double)args->k < small && !ctx->policy.backend &&
           !lac_policy_guarantees(&ctx->policy) && !lac_report_wanted(&ctx->policy);
}

/* Nothing would ever be found out of operands that nobody registered. */
static bool is_blind(const lac_ctx_t *ctx)
{
    return blind && ctx == mine;
}

void lac_interpose_invalidate_output(lac_dt_t dt, const void *c, lac_dim_t m, lac_dim_t n, lac_inc_t rs,
                                     lac_inc_t cs)
{
    if (!lac_registry_size) return;
    lac_obj_t written = lac_view(dt, LAC_HOST, m, n, c, rs, cs);
    lac_registry_written(&written);
}

static bool may_be_registered(const void *buf, lac_dim_t m, lac_dim_t n)
{
    lac_memory_id_t at;
    bool ended;
    return lac_policy_freezes(&settings, m, n) || (lac_registry_find(buf, &at, &ended) && !ended);
}

int lac_interpose_is_registered(const lac_gemm_args_t *args)
{
    prepare_once();
    if (!lac_registry_size && !settings.frozen_count) return 0;
    return may_be_registered(args->a.buf, args->m, args->k) ||
           may_be_registered(args->b.buf, args->k, args->n);
}

/* What tells sites apart beside the shape and the caller. */
static uint64_t site_bits(const lac_gemm_args_t *args)
{
    uint64_t type = lac_site_type(args->a.dt, args->b.dt, args->dt) | LAC_SITE_TRIANGLES(args->triangles);
    if (is_batch(args)) return type | LAC_SITE_BATCH(args->batch.count);
    return args->adds ? type | LAC_SITE_ADDS : type;
}

lac_site_key_t lac_site_key_of(const lac_gemm_args_t *args)
{
    return (lac_site_key_t){.m = args->m,
                            .n = args->n,
                            .k = args->k,
                            .ars = args->a.rs,
                            .acs = args->a.cs,
                            .brs = args->b.rs,
                            .bcs = args->b.cs,
                            .caller = args->caller,
                            .types = site_bits(args)};
}

/* True for the first call of a small shape on the host, which passes before anything else is asked about it.
 */
static bool is_first(lac_ctx_t *ctx, const lac_gemm_args_t *args)
{
    lac_problem_t p;
    if (ctx->backend->asynchronous) return false;
    lac_problem_from_args(&p, args);
    p.account.site_bits = site_bits(args);
    return lac_dispatch_first(ctx, &p, args->symbol, args->caller);
}

unsigned lac_interpose_dense_streak(lac_ctx_t *ctx, const lac_gemm_args_t *args, unsigned most, unsigned made)
{
    if (!ctx) return 0;
    if (!is_batch(args) && is_small(ctx, args)) return most;
    if (args->registered) return 0;
    if (is_blind(ctx)) return most;
    lac_site_key_t at = lac_site_key_of(args);
    unsigned calls = lac_dispatch_dense_streak(ctx, &at, most, made);
    return calls ? calls : is_first(ctx, args);
}

static double adding_us(const lac_ctx_t *ctx, const lac_gemm_args_t *args)
{
    double bytes = 8.0 * (double)args->m * (double)args->n;
    double once = ctx->machine.cuda_launch_us + bytes / (ctx->machine.cuda_l2_gbps * 1e3);
    return once * ((args->residual.d != NULL) + (args->residual.bias != NULL));
}

/* What a product costs more alone than as one of a batch that the vendor's batched call makes at once: then
 * nothing but arithmetic and memory counts. */
static double alone_us(const lac_ctx_t *ctx, const lac_problem_t *p, lac_dim_t count)
{
    lac_problem_t bare = *p;
    lac_preference_t none = {0};
    const lac_machine_t *machine = &ctx->machine;
    double m = (double)p->m, n = (double)p->n, k = (double)p->k, all = (double)count;
    bare.a.density = bare.b.density = -1.0;
    double alone = lac_select(ctx->routes, ctx->route_count, &bare, machine, &none).cost_us;
    double each = (double)lac_dt_size(p->a.dt) * m * k + (double)lac_dt_size(p->b.dt) * k * n +
                  (double)lac_dt_size(p->dt) * m * n;
    double speed = machine->cuda_dense_tflops * (lac_problem_is_half(p) ? LAC_HALF_TFLOPS : 1.0);
    double worked = 2.0 * m * n * k * all / (speed * 1e6);
    double moved = each * all / (machine->cuda_dram_gbps * 1e3);
    double whole = machine->cuda_dense_call_us + (worked > moved ? worked : moved);
    return alone > whole / all ? alone - whole / all : 0.0;
}

/* The other products of a batch as the first one was served. */
static lac_status_t serve_rest(lac_ctx_t *ctx, const lac_problem_t *first, const lac_decision_t *decision,
                               const lac_strides_t *batch)
{
    const lac_route_t *route = lac_dispatch_route(ctx, decision);
    lac_status_t status = LAC_OK;
    for (lac_dim_t q = 1; !status && q < batch->count; q++) {
        lac_problem_t p = *first;
        p.a.buf = (const char *)first->a.buf + q * batch->a * (int64_t)lac_dt_size(p.a.dt);
        p.b.buf = (const char *)first->b.buf + q * batch->b * (int64_t)lac_dt_size(p.b.dt);
        p.c = (char *)first->c + q * batch->c * (int64_t)lac_dt_size(p.dt);
        status = lac_dispatch_planned(ctx, &p, route);
    }
    return status;
}

/* The bias of a product of two bytes an element: its sums are rounded once, with it. */
static lac_epilogue_args_t added_bias(const lac_gemm_args_t *args)
{
    return (lac_epilogue_args_t){
        .any = true, .bias_per_row = true, .limit = (double)NAN, .bias = args->residual.bias};
}

int lac_try_gemm(lac_ctx_t *ctx, const lac_gemm_args_t *args)
{
    lac_problem_t p;
    lac_decision_t decision;
    bool batch = is_batch(args);
    bool half = lac_is_half(args->a.dt), bias = half && args->adds;
    if (!ctx || ((batch || args->adds) && !ctx->backend->device)) return 0;
    if (half && args->adds && args->residual.d) return 0;
    lac_space_t space = ctx->backend->space;
    lac_obj_t a = lac_view(args->a.dt, space, args->m, args->k, args->a.buf, args->a.rs, args->a.cs),
              b = lac_view(args->b.dt, space, args->k, args->n, args->b.buf, args->b.rs, args->b.cs),
              c = lac_view(args->dt, space, args->m, args->n, args->c, args->crs, args->ccs);
    if (lac_share_memory(&a, &c) || lac_share_memory(&b, &c))
        return 0; /* what the BLAS makes of it is its own affair */
    lac_request_t request = {.symbol = args->symbol,
                             .caller = args->caller,
                             .may_decline = true,
                             .followed = true,
                             .untried = batch,
                             .decision = batch ? &decision : NULL};
    int token = lac_enter(ctx);
    lac_problem_from_args(&p, args);
    lac_known_t known = lac_known_of_call(ctx, args, &a, &b, &p);
    p.terms.callers_blas = !batch;
    p.account.site_bits = site_bits(args);
    if (batch) p.account.extra_us = alone_us(ctx, &p, args->batch.count);
    if (bias)
        p.epilogue = added_bias(args);
    else if (args->adds)
        p.account.extra_us = adding_us(ctx, args);
    lac_status_t status = lac_dispatch(ctx, &p, &request);
    bool served = !status && !request.declined && (!bias || request.epilogue_done);
    if (served && batch) status = serve_rest(ctx, &p, &decision, &args->batch);
    if (served && args->adds && !bias) status = lac_residual_queue(ctx, &args->residual, &p);
    lac_known_give_back(&known);
    lac_leave(ctx, token);
    /* A C that was read and written cannot be taken back, of a batch or below what should be added: the
     * device has failed, and will say so. Were it declined, the caller's BLAS would take C as it is now for
     * what it was. */
    return served && (!status || p.beta != 0.0);
}

lac_status_t lac_compute_gemm(lac_ctx_t *ctx, const lac_gemm_args_t *args)
{
    lac_problem_t p;
    lac_request_t request = {.symbol = args->symbol, .caller = args->caller};
    lac_obj_t a = lac_view(args->a.dt, LAC_HOST, args->m, args->k, args->a.buf, args->a.rs, args->a.cs),
              b = lac_view(args->b.dt, LAC_HOST, args->k, args->n, args->b.buf, args->b.rs, args->b.cs),
              c = lac_view(args->dt, LAC_HOST, args->m, args->n, args->c, args->crs, args->ccs);
    if (lac_share_memory(&a, &c) || lac_share_memory(&b, &c))
        return lac_fail(LAC_ERR_ALIAS, "c: overlaps a or b");
    int token = lac_enter(ctx);
    lac_problem_from_args(&p, args);
    p.account.site_bits = site_bits(args);
    lac_status_t status = lac_dispatch(ctx, &p, &request);
    lac_leave(ctx, token);
    return status;
}

int lac_interpose_timing_pending(const lac_ctx_t *ctx)
{
    return ctx && (ctx->forwarded || ctx->contender.site);
}

void lac_interpose_timing_end(lac_ctx_t *ctx)
{
    if (!lac_interpose_timing_pending(ctx)) return;
    int token = lac_enter(ctx);
    if (ctx->forwarded) lac_dispatch_forwarded(ctx);
    if (ctx->contender.site) ctx->backend->clock->end(ctx->exec, &ctx->contender);
    ctx->contender.site = 0;
    lac_leave(ctx, token);
}

lac_status_t lac_residual_queue(const lac_ctx_t *ctx, const lac_residual_t *residual, const lac_problem_t *p)
{
    const lac_device_t *device = ctx->backend->device;
    lac_status_t status = LAC_OK;
    if (residual->d)
        status =
            device->add(ctx->exec, p->m, p->n, residual->d, 1, residual->ldd, 1.0f, p->c, p->crs, p->ccs);
    if (!status && residual->bias)
        status = device->add(ctx->exec, p->m, p->n, residual->bias, 1, 0, 1.0f, p->c, p->crs, p->ccs);
    return status;
}

/* A product of CSR arrays for drop-in libraries: who serves it is measured, not modelled. */

/* Counts of entries within a sixteenth are alike. */
static lac_dim_t rounded(lac_dim_t nnz)
{
    int shift = 0;
    while (nnz >> shift >= 32) shift++;
    return nnz >> shift << shift;
}

static lac_spmm_autotune_key_t key_of(const lac_spmm_t *x, const void *caller)
{
    uint64_t alg = (uint64_t)(uint32_t)x->alg << 8 | (uint64_t)x->trans << 3 | (uint64_t)x->ptr_type << 2 |
                   (uint64_t)x->idx_type << 1 | (uint64_t)(x->scalars == LAC_DEVICE);
    return (lac_spmm_autotune_key_t){x->m,   x->n,   x->k,   rounded(x->nnz), x->rsb,
                                     x->csb, x->rsc, x->csc, caller,          alg};
}

static bool served(const lac_ctx_t *ctx, const lac_spmm_t *call)
{
    bool done = !ctx->backend->spmm(ctx->exec, call);
    lac_clear_error(); /* nobody asked for it: theirs serves */
    return done;
}

/* Theirs, clocked from outside. */
static void decline(lac_ctx_t *ctx, lac_spmm_autotune_site_t *site, bool clocked)
{
    site->served[LAC_SPMM_VENDOR]++;
    if (!clocked || !ctx->backend->clock->begin(ctx->exec)) return;
    lac_spmm_autotune_asked(site, LAC_SPMM_VENDOR);
    ctx->contender = lac_spmm_autotune_tag(site, LAC_SPMM_VENDOR);
}

static bool serve(lac_ctx_t *ctx, const lac_spmm_t *call, lac_spmm_autotune_site_t *site, bool clocked)
{
    lac_timing_tag_t mark = lac_spmm_autotune_tag(site, LAC_SPMM_OURS);
    if (clocked) clocked = ctx->backend->clock->begin(ctx->exec);
    bool done = served(ctx, call);
    if (!done) mark.site = 0; /* the span is closed all the same */
    if (clocked) ctx->backend->clock->end(ctx->exec, &mark);
    if (clocked) lac_spmm_autotune_asked(site, LAC_SPMM_OURS);
    site->served[done ? LAC_SPMM_OURS : LAC_SPMM_VENDOR]++;
    return done;
}

static bool decided(lac_ctx_t *ctx, const lac_spmm_t *call, const char *symbol, const void *caller)
{
    bool clocked;
    const char *forced = ctx->policy.backend;
    lac_spmm_autotune_key_t key = key_of(call, caller);
    lac_spmm_autotune_site_t *site = lac_spmm_autotune_find(&ctx->autotune, &key, symbol);
    if (!site) return false;
    if (lac_policy_guarantees(&ctx->policy)) return serve(ctx, call, site, false); /* cuSPARSE may pad rows */
    if (forced && !strcmp(forced, "csr")) return serve(ctx, call, site, false);
    if (forced || !ctx->policy.learn || !ctx->backend->clock) {
        decline(ctx, site, false);
        return false;
    }
    lac_device_timing_collect(ctx);
    if (lac_spmm_autotune_choose(site, ctx->policy.sparse_margin, &clocked) == LAC_SPMM_OURS)
        return serve(ctx, call, site, clocked);
    decline(ctx, site, clocked);
    return false;
}

int lac_try_spmm(lac_ctx_t *ctx, const lac_spmm_t *call, const char *symbol, const void *caller)
{
    if (!ctx || !ctx->backend->spmm) return 0;
    ctx->contender.site = 0;
    ctx->forwarded = NULL;
    int token = lac_enter(ctx);
    bool done = decided(ctx, call, symbol, caller);
    lac_leave(ctx, token);
    return done;
}
