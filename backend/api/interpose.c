/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The entries for drop-in libraries: one product, a strided batch, a product of CSR arrays. Nothing is read
 * before a call's shape says that it could pay. */
#include "entry.h"
#include "base/environment.h"
#include "base/status.h"
#include "operand/check.h"
#include "planner/dispatch.h"
#include "planner/statistics.h"
#include "lacuna/context.h"
#include "interpose.h"
#include "operand/registry.h"
#include "planner/select.h"
#include "planner/timing.h"
#include "planner/spmm_autotune.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* Products of fewer multiply-adds take the BLAS about as long as any decision would; a device, as long as two
 * launches. */
#define SMALL        (32.0 * 32.0 * 32.0)
#define DEVICE_SMALL (1024.0 * 1024.0)

static pthread_once_t keyed = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
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
    bool all = settings.backend || lac_report_wanted(&settings);
    blind = settings.detect != LAC_DETECT_PROBE && !all && !settings.compare;
    min_macs = disabled ? (double)INFINITY : all ? 0.0 : DEVICE_SMALL;
}

double lac_interpose_min_macs(void)
{
    pthread_once(&keyed, prepare);
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

/* Too small to be worth a thought, unless somebody asked for one. */
static bool is_small(const lac_ctx_t *ctx, double multiply_adds)
{
    double small = ctx->backend->asynchronous ? DEVICE_SMALL : SMALL;
    return multiply_adds < small && !ctx->policy.backend && !lac_report_wanted(&ctx->policy);
}

/* Nothing would ever be found out of operands that nobody registered. */
static bool is_blind(const lac_ctx_t *ctx)
{
    return blind && ctx == mine;
}

static double adding_us(const lac_ctx_t *ctx, const lac_residual_t *residual, const lac_problem_t *p)
{
    double bytes = 8.0 * (double)p->m * (double)p->n;
    double once = ctx->machine.cuda_launch_us + bytes / (ctx->machine.cuda_l2_gbps * 1e3);
    return once * ((residual->d != NULL) + (residual->bias != NULL));
}

static bool may_be_registered(const void *buf, lac_dim_t m, lac_dim_t n)
{
    lac_memory_id_t at;
    bool ended;
    return lac_policy_freezes(&settings, m, n) || (lac_registry_find(buf, &at, &ended) && !ended);
}

int lac_interpose_is_registered(lac_dim_t m, lac_dim_t n, lac_dim_t k, const float *a, const float *b,
                                const float *c, lac_inc_t ldc)
{
    pthread_once(&keyed, prepare);
    if (!lac_registry_size && !settings.frozen_count) return 0;
    lac_obj_t oc = lac_column_obj(LAC_HOST, LAC_NO_TRANS, m, n, c, 1, ldc);
    lac_registry_written(&oc);
    return may_be_registered(a, m, k) || may_be_registered(b, k, n);
}

static int computed(lac_ctx_t *ctx, float alpha, lac_obj_t *a, lac_obj_t *b, float beta, const lac_obj_t *c,
                    const lac_residual_t *residual, const char *symbol, const void *caller)
{
    lac_problem_t p;
    lac_request_t request = {.symbol = symbol, .caller = caller, .may_decline = true, .followed = true};
    if (lac_check_product(a, b, c)) return 0; /* aliased: what the BLAS makes of it is its own affair */
    int token = lac_enter(ctx);
    lac_known_t known = lac_known_take(ctx, a, b);
    lac_problem_describe(&p, alpha, a, b, beta, c);
    p.terms.callers_blas = true;
    p.account.extra_us = residual ? adding_us(ctx, residual, &p) : 0.0;
    p.account.site_bits = residual ? LAC_SITE_ADDS : 0;
    lac_status_t status = lac_dispatch(ctx, &p, &request);
    if (!status && !request.declined && residual) status = lac_residual_queue(ctx, residual, &p);
    lac_known_give_back(&known);
    lac_leave(ctx, token);
    return !status && !request.declined;
}

unsigned lac_interpose_dense_streak(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n,
                                    lac_dim_t k, lac_inc_t lda, lac_inc_t ldb, int adds, const void *caller,
                                    unsigned most)
{
    lac_site_key_t at = lac_column_key(ta, tb, m, n, k, lda, ldb, adds ? LAC_SITE_ADDS : 0, caller);
    return ctx ? lac_dispatch_dense_streak(ctx, &at, most) : 0;
}

static int product(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                   float alpha, const float *a, lac_inc_t lda, const float *b, lac_inc_t ldb, float beta,
                   float *c, lac_inc_t ldc, const lac_residual_t *residual, const char *symbol,
                   const void *caller)
{
    lac_space_t space = ctx->backend->space;
    lac_obj_t oa = lac_column_obj(space, ta, m, k, a, 1, lda),
              ob = lac_column_obj(space, tb, k, n, b, 1, ldb);
    lac_obj_t oc = lac_column_obj(space, LAC_NO_TRANS, m, n, c, 1, ldc);
    return computed(ctx, alpha, &oa, &ob, beta, &oc, residual, symbol, caller);
}

/* True for the first call of a small shape on the host, which passes before anything else is asked about it.
 */
static bool is_first(lac_ctx_t *ctx, const lac_site_key_t *at, float alpha, const float *a, const float *b,
                     float *c, lac_inc_t ldc, const char *symbol)
{
    if (ctx->backend->asynchronous) return false;
    lac_problem_t p = {.m = at->m, .n = at->n, .k = at->k, .alpha = alpha, .c = c, .crs = 1, .ccs = ldc};
    p.a = (lac_operand_t){.density = -1.0, .k_active = -1.0, .rs = at->ars, .cs = at->acs, .buf = a};
    p.b = (lac_operand_t){.density = -1.0, .k_active = -1.0, .rs = at->brs, .cs = at->bcs, .buf = b};
    p.terms.density_limit = -1.0;
    return lac_dispatch_first(ctx, &p, symbol, at->caller);
}

int lac_try_sgemm(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                  float alpha, const float *a, lac_inc_t lda, const float *b, lac_inc_t ldb, float beta,
                  float *c, lac_inc_t ldc, const char *symbol, const void *caller)
{
    if (!ctx) return 0;
    bool registered = lac_interpose_is_registered(m, n, k, a, b, c, ldc);
    if (is_small(ctx, (double)m * (double)n * (double)k)) return 0;
    if (!registered) {
        if (is_blind(ctx)) return 0;
        lac_site_key_t at = lac_column_key(ta, tb, m, n, k, lda, ldb, 0, caller);
        if (lac_dispatch_dense_streak(ctx, &at, 1)) return 0;
        if (is_first(ctx, &at, alpha, a, b, c, ldc, symbol)) return 0;
    }
    return product(ctx, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, NULL, symbol, caller);
}

/* op(X), rows x cols, in a row-major matrix of the given leading dimension. */
static lac_obj_t row_obj(lac_space_t space, lac_trans_t trans, lac_dim_t rows, lac_dim_t cols,
                         const float *buf, lac_inc_t ld)
{
    return lac_column_obj(space, trans, rows, cols, buf, ld, 1);
}

int lac_try_sgemm_rows(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                       float alpha, const float *a, lac_inc_t lda, const float *b, lac_inc_t ldb, float beta,
                       float *c, lac_inc_t ldc, const char *symbol, const void *caller)
{
    if (!ctx) return 0;
    bool registered = lac_interpose_is_registered(n, m, k, b, a, c, ldc);
    if (is_small(ctx, (double)m * (double)n * (double)k)) return 0;
    lac_site_key_t at = {.m = m, .n = n, .k = k, .caller = caller};
    at.ars = ta == LAC_TRANS ? 1 : lda, at.acs = ta == LAC_TRANS ? lda : 1;
    at.brs = tb == LAC_TRANS ? 1 : ldb, at.bcs = tb == LAC_TRANS ? ldb : 1;
    if (!registered && lac_dispatch_dense_streak(ctx, &at, 1)) return 0;
    lac_space_t space = ctx->backend->space;
    lac_obj_t oa = row_obj(space, ta, m, k, a, lda), ob = row_obj(space, tb, k, n, b, ldb),
              oc = row_obj(space, LAC_NO_TRANS, m, n, c, ldc);
    return computed(ctx, alpha, &oa, &ob, beta, &oc, NULL, symbol, caller);
}

int lac_try_sgemm_residual(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n,
                           lac_dim_t k, float alpha, const float *a, lac_inc_t lda, const float *b,
                           lac_inc_t ldb, float beta, float *c, lac_inc_t ldc, const lac_residual_t *residual,
                           const char *symbol, const void *caller)
{
    bool adds = residual->d || residual->bias;
    lac_interpose_is_registered(m, n, k, a, b, c, ldc);
    if (!ctx || (adds && !ctx->backend->device) || is_small(ctx, (double)m * (double)n * (double)k)) return 0;
    residual = adds ? residual : NULL;
    return product(ctx, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, residual, symbol, caller);
}

static const float *first_of(const float *x, lac_dim_t count, lac_inc_t inc)
{
    return inc < 0 && count > 0 ? x + (1 - count) * inc : x;
}

int lac_try_sgemv(lac_ctx_t *ctx, lac_trans_t ta, lac_dim_t m, lac_dim_t n, float alpha, const float *a,
                  lac_inc_t lda, const float *x, lac_inc_t incx, float beta, float *y, lac_inc_t incy,
                  const char *symbol, const void *caller)
{
    if (!ctx) return 0;
    bool swapped = ta == LAC_TRANS;
    lac_dim_t rows = swapped ? n : m, cols = swapped ? m : n;
    bool registered = lac_interpose_is_registered(1, rows, cols, x, a, y, incy < 0 ? -incy : incy);
    if (is_small(ctx, (double)m * (double)n)) return 0;
    lac_site_key_t at = {.m = rows, .n = 1, .k = cols, .brs = incx, .bcs = 1, .caller = caller};
    at.ars = swapped ? lda : 1, at.acs = swapped ? 1 : lda;
    if (!registered && (is_blind(ctx) || lac_dispatch_dense_streak(ctx, &at, 1))) return 0;
    lac_space_t space = ctx->backend->space;
    lac_obj_t oa = lac_column_obj(space, ta, rows, cols, a, 1, lda);
    lac_obj_t ox = lac_column_obj(space, LAC_NO_TRANS, cols, 1, first_of(x, cols, incx), incx, 1);
    lac_obj_t oy = lac_column_obj(space, LAC_NO_TRANS, rows, 1, first_of(y, rows, incy), incy, 1);
    return computed(ctx, alpha, &oa, &ox, beta, &oy, NULL, symbol, caller);
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

/* Keys, views and sums of column-major products. */

lac_site_key_t lac_column_key(lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                              lac_inc_t lda, lac_inc_t ldb, uint64_t site_bits, const void *caller)
{
    lac_site_key_t at = {.m = m, .n = n, .k = k, .caller = caller, .types = site_bits};
    at.ars = ta == LAC_TRANS ? lda : 1, at.acs = ta == LAC_TRANS ? 1 : lda;
    at.brs = tb == LAC_TRANS ? ldb : 1, at.bcs = tb == LAC_TRANS ? 1 : ldb;
    return at;
}

lac_obj_t lac_column_obj(lac_space_t space, lac_trans_t trans, lac_dim_t rows, lac_dim_t cols,
                         const float *buf, lac_inc_t rs, lac_inc_t ld)
{
    bool swapped = trans == LAC_TRANS;
    lac_obj_t x = {LAC_F32, space, trans, swapped ? cols : rows, swapped ? rows : cols, rs, ld, NULL, NULL};
    memcpy(&x.buf, &buf, sizeof buf);
    return x;
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

/* A strided batch for drop-in libraries: one by one where that beats the caller's one call for all. */

/* What a product costs more alone than as one of `count` that the vendor's batched call makes at once: then
 * nothing but arithmetic and memory counts. */
static double alone_us(const lac_ctx_t *ctx, const lac_problem_t *p, lac_dim_t count)
{
    lac_problem_t bare = *p;
    lac_preference_t none = {0};
    const lac_machine_t *machine = &ctx->machine;
    double m = (double)p->m, n = (double)p->n, k = (double)p->k, all = (double)count;
    bare.a.density = bare.b.density = -1.0;
    double alone = lac_select(ctx->routes, ctx->route_count, &bare, machine, &none).cost_us;
    double sums = 2.0 * m * n * k * all / (machine->cuda_dense_tflops * 1e6);
    double bytes = 4.0 * (m * k + k * n + m * n) * all / (machine->cuda_dram_gbps * 1e3);
    double whole = machine->cuda_dense_call_us + (sums > bytes ? sums : bytes);
    return alone > whole / all ? alone - whole / all : 0.0;
}

/* The others as the first one was served. */
static lac_status_t serve_rest(lac_ctx_t *ctx, const lac_problem_t *first, const lac_decision_t *decision,
                               const lac_strides_t *batch)
{
    const lac_route_t *route = lac_dispatch_route(ctx, decision);
    lac_status_t status = LAC_OK;
    for (lac_dim_t q = 1; !status && q < batch->count; q++) {
        lac_problem_t p = *first;
        p.a.buf = (const float *)first->a.buf + q * batch->a;
        p.b.buf = (const float *)first->b.buf + q * batch->b;
        p.c = first->c + q * batch->c;
        status = lac_dispatch_planned(ctx, &p, route);
    }
    return status;
}

int lac_try_sgemm_strided(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n,
                          lac_dim_t k, float alpha, const float *a, lac_inc_t lda, const float *b,
                          lac_inc_t ldb, float beta, float *c, lac_inc_t ldc, const lac_strides_t *batch,
                          const char *symbol, const void *caller)
{
    lac_problem_t p;
    lac_decision_t decision;
    lac_request_t request = {
        .symbol = symbol, .caller = caller, .may_decline = true, .untried = true, .decision = &decision};
    if (!ctx || !ctx->backend->device) return 0;
    for (lac_dim_t q = 0; lac_registry_size && q < batch->count; q++)
        lac_interpose_is_registered(m, n, k, a, b, c + q * batch->c, ldc);
    uint64_t bits = LAC_SITE_BATCH(batch->count);
    lac_site_key_t at = lac_column_key(ta, tb, m, n, k, lda, ldb, bits, caller);
    if (lac_dispatch_dense_streak(ctx, &at, 1)) return 0;
    lac_space_t space = ctx->backend->space;
    lac_obj_t oa = lac_column_obj(space, ta, m, k, a, 1, lda),
              ob = lac_column_obj(space, tb, k, n, b, 1, ldb),
              oc = lac_column_obj(space, LAC_NO_TRANS, m, n, c, 1, ldc);
    if (lac_check_product(&oa, &ob, &oc)) return 0;
    lac_problem_describe(&p, alpha, &oa, &ob, beta, &oc);
    p.account.site_bits = bits;
    p.account.extra_us = alone_us(ctx, &p, batch->count);
    int token = lac_enter(ctx);
    lac_status_t status = lac_dispatch(ctx, &p, &request);
    bool served = !status && !request.declined;
    if (served) status = serve_rest(ctx, &p, &decision, batch);
    lac_leave(ctx, token);
    /* Half a batch that was added to cannot be taken back: the device has failed, and will say so. */
    return served && (!status || beta != 0.0f);
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
