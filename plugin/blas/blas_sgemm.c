/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix product: Lacuna's where it is faster, the BLAS behind us everywhere else. */
#include "blas_entry.h"
#include "blas_fallback.h"
#include "blas_args.h"

/* Asked in the caller's own terms, which its reports then show. */
static bool is_computed(lac_ctx_t *ctx, const sgemm_args_t *g, const char *symbol, const void *caller)
{
    lac_trans_t ta = (lac_trans_t)g->ta, tb = (lac_trans_t)g->tb;
    return g->by_rows ? lac_try_sgemm_rows(ctx, tb, ta, g->n, g->m, g->k, g->alpha, g->b, g->ldb, g->a,
                                           g->lda, g->beta, g->c, g->ldc, symbol, caller)
                      : lac_try_sgemm(ctx, ta, tb, g->m, g->n, g->k, g->alpha, g->a, g->lda, g->b, g->ldb,
                                      g->beta, g->c, g->ldc, symbol, caller);
}

/* True where nothing is left to be forwarded: the product is there, or there is no BLAS to forward it to. */
static bool serve(guard_t *at, const sgemm_args_t *g, const exported_symbol_t *symbol, const void *caller,
                  int order)
{
    if (guard_admits(at, sgemm_is_proper(g))) {
        bool done = at->ctx && is_computed(at->ctx, g, symbol->name, caller);
        guard_end(at);
        if (done) return true;
    }
    if (at->next_fn->fn) return false;
    last_resort_sgemm(g, symbol->name, order);
    return true;
}

void enter_sgemm(exported_symbol_t *symbol, const void *caller, SGEMM_PARAMS)
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    sgemm_args_t g = read_sgemm(at.next_fn->wide, SGEMM_ARGS);
    if (serve(&at, &g, symbol, caller, 0)) return;
    guard_forward(&at);
    ((sgemm_fn *)at.next_fn->fn)(SGEMM_ARGS, 1, 1);
    guard_forwarded(&at);
}

void enter_cblas_sgemm(exported_symbol_t *symbol, const void *caller, CBLAS_SGEMM_PARAMS)
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    sgemm_args_t g = read_cblas_sgemm(at.next_fn->wide, CBLAS_SGEMM_ARGS);
    if (serve(&at, &g, symbol, caller, order)) return;
    guard_forward(&at);
    ((cblas_sgemm_fn *)at.next_fn->fn)(CBLAS_SGEMM_ARGS);
    guard_forwarded(&at);
}
