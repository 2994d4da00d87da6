/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix-vector product: Lacuna's where it is faster, the cuBLAS behind us everywhere else. */
#include "cublas_entry.h"
#include "cublas_handle.h"

/* What is registered where y is to be is not as it was, whoever computes it. */
static void invalidate_written(const gemv_args_t *g)
{
    int64_t step = g->incy < 0 ? -g->incy : g->incy;
    lac_interpose_is_registered(1, g->ta ? g->n : g->m, -1, NULL, NULL, g->y, step);
}

static bool lacuna_gemv(call_t *call, void *handle, const gemv_args_t *g)
{
    handle_state_t state;
    if (!gemv_is_proper(g)) return passed_on(call, LAC_PASS_ARGUMENTS);
    invalidate_written(g);
    if ((double)g->m * (double)g->n < lac_interpose_min_macs()) return passed_on(call, LAC_PASS_SMALL);
    if (!handle_read(&call->next_fn->get, handle, &state)) return passed_on(call, LAC_PASS_HANDLE);
    lac_pass_t why;
    stream_context_t *sc = call_enter(state.stream, state.math, &why);
    if (!sc) return passed_on(call, why);
    int done = lac_try_sgemv(sc->ctx, (lac_trans_t)g->ta, g->m, g->n, *g->alpha, g->a, g->lda, g->x, g->incx,
                             *g->beta, g->y, g->incy, call->symbol, call->caller);
    return call_leave(call, sc, done);
}

int enter_sgemv(exported_symbol_t *symbol, const void *caller, SGEMV_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller)) {
        gemv_args_t g = read_sgemv(symbol->wide, SGEMV_ARGS);
        if (lacuna_gemv(&call, handle, &g)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, sgemv_fn, SGEMV_ARGS);
}
