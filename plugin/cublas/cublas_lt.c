/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix product of cuBLASLt, which PyTorch calls for a linear layer with a bias. */
#include "cublas_entry.h"
#include "cublas_lt_args.h"
#include "cublas_settled.h"

_Thread_local uint64_t settled_lt[SETTLED_KEPT] __attribute__((tls_model("initial-exec")));

static int ask_lt(const ask_t *ask, lac_ctx_t *ctx, lt_args_t *args, bool registered, LT_MATMUL_PARAMS)
{
    const gemm_args_t *g = &args->gemm;
    lac_trans_t ta = (lac_trans_t)g->ta, tb = (lac_trans_t)g->tb;
    unsigned calls = registered ? 0
                                : lac_interpose_dense_streak(ctx, ta, tb, g->m, g->n, g->k, g->lda, g->ldb,
                                                             args->adds, ask->caller, SETTLED_MAX);
    if (calls) settled_grant(stream, ask->caller, g, args->adds, calls - 1);
    if (calls) return 0;
    if (!read_lt_rest(args, &ask->behind->get, LT_MATMUL_ARGS)) return unasked(ask, LAC_PASS_TYPE);
    return lac_try_sgemm_residual(ctx, ta, tb, g->m, g->n, g->k, args->alpha, g->a, g->lda, g->b, g->ldb,
                                  args->beta, g->c, g->ldc, &args->residual, ask->symbol, ask->caller);
}

static bool lacuna_lt_matmul(ask_t *ask, LT_MATMUL_PARAMS)
{
    lt_args_t args;
    const gemm_args_t *g = &args.gemm;
    settled_lt_t like = {stream, ask->caller, a, 0, 0};
    if (!handle) return unasked(ask, LAC_PASS_ARGUMENTS);
    /* What is frozen by its shape never settles, so that k does not matter. */
    bool f32;
    if (read_lt_result(&ask->behind->get, d_layout, &like.m, &like.n, &f32) &&
        !lac_interpose_is_registered(like.m, like.n, -1, a, b, f32 ? d : NULL, like.m) &&
        settled_lt_take(&like))
        return false;
    if (!read_lt_shape(&args, &ask->behind->get, LT_MATMUL_ARGS)) return unasked(ask, LAC_PASS_TYPE);
    if ((g->ta | g->tb) < 0 || g->m <= 0 || g->n <= 0 || g->k <= 0) return unasked(ask, LAC_PASS_ARGUMENTS);
    if ((double)g->m * (double)g->n * (double)g->k < lac_interpose_min_macs())
        return unasked(ask, LAC_PASS_SMALL);
    /* Where D's lines lie is not read yet: at least one behind the other. */
    bool registered = lac_interpose_is_registered(g->m, g->n, g->k, g->a, g->b, f32 ? g->c : NULL, g->m);
    if (!registered && settled_take(stream, ask->caller, g, args.adds)) {
        settled_lt_keep(&like, g);
        return false;
    }
    lac_pass_t why;
    place_t *place = ask_enter(stream, g->math, &why);
    if (place) return ask_leave(ask, place, ask_lt(ask, place->ctx, &args, registered, LT_MATMUL_ARGS));
    if (!read_lt_rest(&args, &ask->behind->get, LT_MATMUL_ARGS)) return unasked(ask, LAC_PASS_TYPE);
    return ask_recording(ask, stream, g->math, g, &args.residual, why);
}

int enter_lt_matmul(exported_symbol_t *symbol, const void *caller, LT_MATMUL_PARAMS)
{
    ask_t ask;
    if (ask_begin(&ask, symbol, caller) && lacuna_lt_matmul(&ask, LT_MATMUL_ARGS)) return CUBLAS_SUCCESS;
    return FORWARD(&ask, lt_matmul_fn, LT_MATMUL_ARGS);
}
