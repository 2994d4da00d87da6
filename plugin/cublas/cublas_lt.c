/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix product of cuBLASLt, which PyTorch calls for a linear layer with a bias. */
#include "cublas_entry.h"
#include "cublas_lt_args.h"
#include "cublas_dense_cache.h"

_Thread_local uint64_t dense_cache_lt[DENSE_CACHE_SIZE] __attribute__((tls_model("initial-exec")));

static int try_lt(const call_t *call, lac_ctx_t *ctx, lt_args_t *args, bool registered, LT_MATMUL_PARAMS)
{
    const gemm_args_t *g = &args->gemm;
    lac_trans_t ta = (lac_trans_t)g->ta, tb = (lac_trans_t)g->tb;
    unsigned calls = registered ? 0
                                : lac_interpose_dense_streak(ctx, ta, tb, g->m, g->n, g->k, g->lda, g->ldb,
                                                             args->adds, call->caller, DENSE_CACHE_GRANT_MAX);
    if (calls) dense_cache_grant(stream, call->caller, g, args->adds, calls - 1);
    if (calls) return 0;
    if (!read_lt_rest(args, &call->next_fn->get, LT_MATMUL_ARGS)) return passed_on(call, LAC_PASS_TYPE);
    return lac_try_sgemm_residual(ctx, ta, tb, g->m, g->n, g->k, args->alpha, g->a, g->lda, g->b, g->ldb,
                                  args->beta, g->c, g->ldc, &args->residual, call->symbol, call->caller);
}

static bool lacuna_lt_matmul(call_t *call, LT_MATMUL_PARAMS)
{
    lt_args_t args;
    const gemm_args_t *g = &args.gemm;
    dense_lt_key_t like = {stream, call->caller, a, 0, 0};
    if (!handle) return passed_on(call, LAC_PASS_ARGUMENTS);
    /* What is frozen by its shape never settles, so that k does not matter. */
    bool f32;
    if (read_lt_result(&call->next_fn->get, d_layout, &like.m, &like.n, &f32) &&
        !lac_interpose_is_registered(like.m, like.n, -1, a, b, f32 ? d : NULL, like.m) &&
        dense_lt_take(&like))
        return false;
    if (!read_lt_shape(&args, &call->next_fn->get, LT_MATMUL_ARGS)) return passed_on(call, LAC_PASS_TYPE);
    if ((g->ta | g->tb) < 0 || g->m <= 0 || g->n <= 0 || g->k <= 0)
        return passed_on(call, LAC_PASS_ARGUMENTS);
    if ((double)g->m * (double)g->n * (double)g->k < lac_interpose_min_macs())
        return passed_on(call, LAC_PASS_SMALL);
    /* Where D's lines lie is not read yet: at least one behind the other. */
    bool registered = lac_interpose_is_registered(g->m, g->n, g->k, g->a, g->b, f32 ? g->c : NULL, g->m);
    if (!registered && dense_cache_take(stream, call->caller, g, args.adds)) {
        dense_lt_keep(&like, g);
        return false;
    }
    lac_pass_t why;
    stream_context_t *sc = call_enter(stream, g->math, &why);
    if (sc) return call_leave(call, sc, try_lt(call, sc->ctx, &args, registered, LT_MATMUL_ARGS));
    if (!read_lt_rest(&args, &call->next_fn->get, LT_MATMUL_ARGS)) return passed_on(call, LAC_PASS_TYPE);
    return call_capture(call, stream, g->math, g, &args.residual, why);
}

int enter_lt_matmul(exported_symbol_t *symbol, const void *caller, LT_MATMUL_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller) && lacuna_lt_matmul(&call, LT_MATMUL_ARGS)) return CUBLAS_SUCCESS;
    return FORWARD(&call, lt_matmul_fn, LT_MATMUL_ARGS);
}
