/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix products: Lacuna's where it is faster, the cuBLAS behind us everywhere else. */
#include "cublas_entry.h"
#include "cublas_handle.h"
#include "cublas_places.h"

#include "lacuna/dropin.h"

_Thread_local int calls_in_progress __attribute__((tls_model("initial-exec")));

bool lacuna_gemm(const behind_t *behind, void *handle, gemm_args_t g, const char *symbol, const void *caller)
{
    handle_state_t state;
    if (!g.f32 || !gemm_is_proper(&g) || !gemm_batch_as_one(&g)) return false;
    if ((double)g.m * (double)g.n * (double)g.k < lac_device_least()) return false;
    if (!handle_read(&behind->get, handle, &state)) return false;
    place_t *place = place_enter(state.stream, g.math == MATH_OF_HANDLE ? state.math : g.math);
    if (!place) return false;
    calls_in_progress++;
    int done = lac_sgemm_or_decline(place->ctx, (lac_trans_t)g.ta, (lac_trans_t)g.tb, g.m, g.n, g.k, *g.alpha,
                                    g.a, g.lda, g.b, g.ldb, *g.beta, g.c, g.ldc, symbol, caller);
    calls_in_progress--;
    place_leave(place);
    return done;
}

int enter_sgemm(cublas_symbol_t *symbol, const void *caller, SGEMM_PARAMS)
{
    const behind_t *behind = behind_of(symbol, caller);
    if (is_programs_own(behind) &&
        lacuna_gemm(behind, handle, read_sgemm(symbol->wide, SGEMM_ARGS), symbol->name, caller))
        return CUBLAS_SUCCESS;
    return FORWARD(sgemm_fn, SGEMM_ARGS);
}

int enter_sgemm_strided(cublas_symbol_t *symbol, const void *caller, SGEMM_STRIDED_PARAMS)
{
    const behind_t *behind = behind_of(symbol, caller);
    if (is_programs_own(behind) &&
        lacuna_gemm(behind, handle, read_sgemm_strided(symbol->wide, SGEMM_STRIDED_ARGS), symbol->name,
                    caller))
        return CUBLAS_SUCCESS;
    return FORWARD(sgemm_strided_fn, SGEMM_STRIDED_ARGS);
}

int enter_gemm_ex(cublas_symbol_t *symbol, const void *caller, GEMM_EX_PARAMS)
{
    const behind_t *behind = behind_of(symbol, caller);
    if (is_programs_own(behind) &&
        lacuna_gemm(behind, handle, read_gemm_ex(symbol->wide, GEMM_EX_ARGS), symbol->name, caller))
        return CUBLAS_SUCCESS;
    return FORWARD(gemm_ex_fn, GEMM_EX_ARGS);
}

int enter_gemm_strided_ex(cublas_symbol_t *symbol, const void *caller, GEMM_STRIDED_EX_PARAMS)
{
    const behind_t *behind = behind_of(symbol, caller);
    if (is_programs_own(behind) &&
        lacuna_gemm(behind, handle, read_gemm_strided_ex(symbol->wide, GEMM_STRIDED_EX_ARGS), symbol->name,
                    caller))
        return CUBLAS_SUCCESS;
    return FORWARD(gemm_strided_ex_fn, GEMM_STRIDED_EX_ARGS);
}
