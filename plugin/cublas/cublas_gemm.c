/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix products: Lacuna's where it is faster, the cuBLAS behind us everywhere else. */
#include "cublas_entry.h"
#include "cublas_handle.h"

_Thread_local int calls_in_progress __attribute__((tls_model("initial-exec")));

bool lacuna_gemm(ask_t *ask, void *handle, gemm_args_t g)
{
    handle_state_t state;
    if (!g.f32) return unasked(ask, LAC_FORWARD_FORM);
    if (!gemm_is_proper(&g)) return unasked(ask, LAC_FORWARD_ARGUMENTS);
    if (!gemm_batch_as_one(&g)) return unasked(ask, LAC_FORWARD_BATCH);
    if ((double)g.m * (double)g.n * (double)g.k < lac_device_least()) return unasked(ask, LAC_FORWARD_SMALL);
    if (!handle_read(&ask->behind->get, handle, &state)) return unasked(ask, LAC_FORWARD_HANDLE);
    place_t *place = ask_enter(ask, state.stream, g.math == MATH_OF_HANDLE ? state.math : g.math);
    if (!place) return false;
    int done = lac_sgemm_or_decline(place->ctx, (lac_trans_t)g.ta, (lac_trans_t)g.tb, g.m, g.n, g.k, *g.alpha,
                                    g.a, g.lda, g.b, g.ldb, *g.beta, g.c, g.ldc, ask->symbol, ask->caller);
    return ask_leave(ask, place, done);
}

int enter_sgemm(exported_symbol_t *symbol, const void *caller, SGEMM_PARAMS)
{
    ask_t ask;
    if (ask_begin(&ask, symbol, caller) && lacuna_gemm(&ask, handle, read_sgemm(symbol->wide, SGEMM_ARGS)))
        return CUBLAS_SUCCESS;
    return FORWARD(&ask, sgemm_fn, SGEMM_ARGS);
}

int enter_sgemm_strided(exported_symbol_t *symbol, const void *caller, SGEMM_STRIDED_PARAMS)
{
    ask_t ask;
    if (ask_begin(&ask, symbol, caller) &&
        lacuna_gemm(&ask, handle, read_sgemm_strided(symbol->wide, SGEMM_STRIDED_ARGS)))
        return CUBLAS_SUCCESS;
    return FORWARD(&ask, sgemm_strided_fn, SGEMM_STRIDED_ARGS);
}

int enter_gemm_ex(exported_symbol_t *symbol, const void *caller, GEMM_EX_PARAMS)
{
    ask_t ask;
    if (ask_begin(&ask, symbol, caller) &&
        lacuna_gemm(&ask, handle, read_gemm_ex(symbol->wide, GEMM_EX_ARGS)))
        return CUBLAS_SUCCESS;
    return FORWARD(&ask, gemm_ex_fn, GEMM_EX_ARGS);
}

int enter_gemm_strided_ex(exported_symbol_t *symbol, const void *caller, GEMM_STRIDED_EX_PARAMS)
{
    ask_t ask;
    if (ask_begin(&ask, symbol, caller) &&
        lacuna_gemm(&ask, handle, read_gemm_strided_ex(symbol->wide, GEMM_STRIDED_EX_ARGS)))
        return CUBLAS_SUCCESS;
    return FORWARD(&ask, gemm_strided_ex_fn, GEMM_STRIDED_EX_ARGS);
}
