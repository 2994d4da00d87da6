/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix-vector product: Lacuna's where it is faster, the BLAS behind us everywhere else. */
#include "blas_entry.h"
#include "blas_last_resort.h"
#include "blas_args.h"

static bool lacuna_sgemv(lac_ctx_t *ctx, const sgemv_args_t *g, const blas_symbol_t *symbol,
                         const void *caller)
{
    return ctx && lac_sgemv_or_decline(ctx, (lac_trans_t)g->ta, g->m, g->n, g->alpha, g->a, g->lda, g->x,
                                       g->incx, g->beta, g->y, g->incy, symbol->name, caller);
}

void enter_sgemv(blas_symbol_t *symbol, const void *caller, SGEMV_PARAMS)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    blas_guard_t saved = guard_enter(frame);
    const behind_t *behind = behind_of(symbol, caller);
    sgemv_args_t g = read_sgemv(behind->wide, SGEMV_ARGS);
    bool proper = sgemv_is_proper(&g);
    lac_ctx_t *ctx = NULL;
    bool done = false;
    if (guard_asks(proper)) {
        guard_asking(frame);
        ctx = lac_thread_ctx();
        done = lacuna_sgemv(ctx, &g, symbol, caller);
        guard_leave(saved);
    }
    if (!done && !behind->fn) {
        last_resort_sgemv(&g, symbol->name, 0);
    } else if (!done) {
        guard_forwarding(frame, behind, proper);
        ((sgemv_fn *)behind->fn)(SGEMV_ARGS, 1);
        guard_leave(saved);
        if (ctx) lac_forwarded(ctx);
    }
}

void enter_cblas_sgemv(blas_symbol_t *symbol, const void *caller, CBLAS_SGEMV_PARAMS)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    blas_guard_t saved = guard_enter(frame);
    const behind_t *behind = behind_of(symbol, caller);
    sgemv_args_t g = read_cblas_sgemv(behind->wide, CBLAS_SGEMV_ARGS);
    bool proper = sgemv_is_proper(&g);
    lac_ctx_t *ctx = NULL;
    bool done = false;
    if (guard_asks(proper)) {
        guard_asking(frame);
        ctx = lac_thread_ctx();
        done = lacuna_sgemv(ctx, &g, symbol, caller);
        guard_leave(saved);
    }
    if (!done && !behind->fn) {
        last_resort_sgemv(&g, symbol->name, order);
    } else if (!done) {
        guard_forwarding(frame, behind, proper);
        ((cblas_sgemv_fn *)behind->fn)(CBLAS_SGEMV_ARGS);
        guard_leave(saved);
        if (ctx) lac_forwarded(ctx);
    }
}
