/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix-vector product: Lacuna's where it is faster, the cuBLAS behind us everywhere else. */
#include "cublas_entry.h"
#include "cublas_handle.h"
#include "cublas_places.h"

#include "lacuna/dropin.h"

static bool lacuna_gemv(const behind_t *behind, void *handle, const gemv_args_t *g, const char *symbol,
                        const void *caller)
{
    handle_state_t state;
    if (!gemv_is_proper(g) || (double)g->m * (double)g->n < lac_device_least()) return false;
    if (!handle_read(&behind->get, handle, &state)) return false;
    place_t *place = place_enter(state.stream, state.math);
    if (!place) return false;
    calls_in_progress++;
    int done = lac_sgemv_or_decline(place->ctx, (lac_trans_t)g->ta, g->m, g->n, *g->alpha, g->a, g->lda, g->x,
                                    g->incx, *g->beta, g->y, g->incy, symbol, caller);
    calls_in_progress--;
    place_leave(place);
    return done;
}

int enter_sgemv(cublas_symbol_t *symbol, const void *caller, SGEMV_PARAMS)
{
    const behind_t *behind = behind_of(symbol, caller);
    if (is_programs_own(behind)) {
        gemv_args_t g = read_sgemv(symbol->wide, SGEMV_ARGS);
        if (lacuna_gemv(behind, handle, &g, symbol->name, caller)) return CUBLAS_SUCCESS;
    }
    return FORWARD(sgemv_fn, SGEMV_ARGS);
}
