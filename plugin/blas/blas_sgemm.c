/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix product: Lacuna's where it is faster, the BLAS behind us everywhere else. */
#include "blas_entry.h"
#include "blas_last_resort.h"
#include "blas_args.h"

static bool lacuna_sgemm(lac_ctx_t *ctx, const sgemm_args_t *g, const blas_symbol_t *symbol,
                         const void *caller)
{
    return ctx &&
           lac_sgemm_or_decline(ctx, (lac_trans_t)g->ta, (lac_trans_t)g->tb, g->m, g->n, g->k, g->alpha, g->a,
                                g->lda, g->b, g->ldb, g->beta, g->c, g->ldc, symbol->name, caller);
}

void enter_sgemm(blas_symbol_t *symbol, const void *caller, SGEMM_PARAMS)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    blas_guard_t saved = guard_enter(frame);
    const behind_t *behind = behind_of(symbol, caller);
    sgemm_args_t g = read_sgemm(behind->wide, SGEMM_ARGS);
    bool proper = sgemm_is_proper(&g);
    lac_ctx_t *ctx = NULL;
    bool done = false;
    if (guard_asks(proper)) {
        guard_asking(frame);
        ctx = lac_thread_ctx();
        done = lacuna_sgemm(ctx, &g, symbol, caller);
        guard_leave(saved);
    }
    if (!done && !behind->fn) {
        last_resort_sgemm(&g, symbol->name, 0);
    } else if (!done) {
        guard_forwarding(frame, behind, proper);
        ((sgemm_fn *)behind->fn)(SGEMM_ARGS, 1, 1);
        guard_leave(saved);
        if (ctx) lac_forwarded(ctx);
    }
}

void enter_cblas_sgemm(blas_symbol_t *symbol, const void *caller, CBLAS_SGEMM_PARAMS)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    blas_guard_t saved = guard_enter(frame);
    const behind_t *behind = behind_of(symbol, caller);
    sgemm_args_t g = read_cblas_sgemm(behind->wide, CBLAS_SGEMM_ARGS);
    bool proper = sgemm_is_proper(&g);
    lac_ctx_t *ctx = NULL;
    bool done = false;
    if (guard_asks(proper)) {
        guard_asking(frame);
        ctx = lac_thread_ctx();
        done = lacuna_sgemm(ctx, &g, symbol, caller);
        guard_leave(saved);
    }
    if (!done && !behind->fn) {
        last_resort_sgemm(&g, symbol->name, order);
    } else if (!done) {
        guard_forwarding(frame, behind, proper);
        ((cblas_sgemm_fn *)behind->fn)(CBLAS_SGEMM_ARGS);
        guard_leave(saved);
        if (ctx) lac_forwarded(ctx);
    }
}
