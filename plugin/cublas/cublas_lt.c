/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix product of cuBLASLt, which PyTorch calls for a linear layer with a bias. */
#include "cublas_entry.h"
#include "cublas_lt_args.h"
#include "cublas_places.h"

static bool lacuna_lt_matmul(const behind_t *behind, const char *symbol, const void *caller, LT_MATMUL_PARAMS)
{
    lt_args_t args;
    if (!read_lt_matmul(&args, &behind->get, LT_MATMUL_ARGS) || !gemm_is_proper(&args.gemm)) return false;
    const gemm_args_t *g = &args.gemm;
    if ((double)g->m * (double)g->n * (double)g->k < lac_device_least()) return false;
    place_t *place = place_enter(stream, g->math);
    if (!place) return false;
    calls_in_progress++;
    int done = lac_sgemm_added_or_decline(place->ctx, (lac_trans_t)g->ta, (lac_trans_t)g->tb, g->m, g->n,
                                          g->k, args.alpha, g->a, g->lda, g->b, g->ldb, args.beta, g->c,
                                          g->ldc, &args.addend, symbol, caller);
    calls_in_progress--;
    place_leave(place);
    return done;
}

int enter_lt_matmul(cublas_symbol_t *symbol, const void *caller, LT_MATMUL_PARAMS)
{
    const behind_t *behind = behind_of(symbol, caller);
    if (is_programs_own(behind) && lacuna_lt_matmul(behind, symbol->name, caller, LT_MATMUL_ARGS))
        return CUBLAS_SUCCESS;
    return FORWARD(lt_matmul_fn, LT_MATMUL_ARGS);
}
