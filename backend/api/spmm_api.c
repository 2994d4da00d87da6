/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A product of CSR arrays for drop-in libraries: who serves it is measured, not modelled. */
#include "entry.h"
#include "../base/status.h"
#include "../dispatch/device_timing.h"
#include "../dispatch/spmm_autotune.h"
#include "lacuna/interpose.h"

#include <string.h>

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
