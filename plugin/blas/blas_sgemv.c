/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix-vector product: Lacuna's where it is faster, the BLAS behind us everywhere else. */
#include "blas_entry.h"
#include "blas_fallback.h"
#include "blas_args.h"

/* True where nothing is left to be forwarded: the product is there, or there is no BLAS to forward it to. */
static bool serve(guard_t *at, const sgemv_args_t *g, const exported_symbol_t *symbol, const void *caller,
                  int order)
{
    if (guard_admits(at, sgemv_is_proper(g))) {
        bool done = at->ctx && lac_try_sgemv(at->ctx, (lac_trans_t)g->ta, g->m, g->n, g->alpha, g->a, g->lda,
                                             g->x, g->incx, g->beta, g->y, g->incy, symbol->name, caller);
        guard_end(at);
        if (done) return true;
    }
    if (at->next_fn->fn) return false;
    last_resort_sgemv(g, symbol->name, order);
    return true;
}

void enter_sgemv(exported_symbol_t *symbol, const void *caller, SGEMV_PARAMS)
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    sgemv_args_t g = read_sgemv(at.next_fn->wide, SGEMV_ARGS);
    if (serve(&at, &g, symbol, caller, 0)) return;
    guard_forward(&at);
    ((sgemv_fn *)at.next_fn->fn)(SGEMV_ARGS, 1);
    guard_forwarded(&at);
}

void enter_cblas_sgemv(exported_symbol_t *symbol, const void *caller, CBLAS_SGEMV_PARAMS)
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    sgemv_args_t g = read_cblas_sgemv(at.next_fn->wide, CBLAS_SGEMV_ARGS);
    if (serve(&at, &g, symbol, caller, order)) return;
    guard_forward(&at);
    ((cblas_sgemv_fn *)at.next_fn->fn)(CBLAS_SGEMV_ARGS);
    guard_forwarded(&at);
}
