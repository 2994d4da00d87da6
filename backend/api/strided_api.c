/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A strided batch for drop-in libraries: one by one where that beats the caller's one call for all. */
#include "column_product.h"
#include "entry.h"
#include "../data/check.h"
#include "../data/registry.h"
#include "../dispatch/dispatch.h"
#include "../dispatch/select.h"

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
    p.site_bits = bits;
    p.extra_us = alone_us(ctx, &p, batch->count);
    int token = lac_enter(ctx);
    lac_status_t status = lac_dispatch(ctx, &p, &request);
    bool served = !status && !request.declined;
    if (served) status = serve_rest(ctx, &p, &decision, batch);
    lac_leave(ctx, token);
    /* Half a batch that was added to cannot be taken back: the device has failed, and will say so. */
    return served && (!status || beta != 0.0f);
}
