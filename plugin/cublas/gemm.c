/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix product and the matrix-vector product: Lacuna's where it is faster, the cuBLAS behind us
 * everywhere else. */
#include "resolve.h"
#include "shapes.h"
#include "entry.h"
#include "context.h"

typedef struct handle_state {
    void *stream;
    int math; /* CUBLAS_MATH_DEFAULT, _PEDANTIC or _TF32 */
} handle_state_t;

/* Reads a handle. False where it cannot be read, where scalars lie on the device, or where its arithmetic is
 * none of those that we stand for: the call is then the vendor's. Workspace, atomics mode and the rest do not
 * matter to what Lacuna queues. */
static inline bool handle_read(const getters_t *get, void *handle, handle_state_t *state)
{
    int scalars = -1, math = -1;
    if (!handle || !get->stream || !get->pointer_mode || !get->math_mode) return false;
    if (get->pointer_mode(handle, &scalars) || scalars != CUBLAS_SCALARS_ON_HOST) return false;
    if (get->math_mode(handle, &math) || get->stream(handle, &state->stream)) return false;
    state->math = math & ~CUBLAS_MATH_NO_REDUCTION;
    return state->math == CUBLAS_MATH_DEFAULT || state->math == CUBLAS_MATH_PEDANTIC ||
           state->math == CUBLAS_MATH_TF32;
}

/* The matrix products: Lacuna's where it is faster, the cuBLAS behind us everywhere else. */

_Thread_local int calls_in_progress __attribute__((tls_model("initial-exec")));
_Thread_local dense_entry_t dense_cache[DENSE_CACHE_SIZE] __attribute__((tls_model("initial-exec")));

bool call_capture(call_t *call, void *stream, int math, const gemm_args_t *g, const lac_residual_t *residual,
                  lac_pass_t why)
{
    if (why != LAC_PASS_CAPTURED) return passed_on(call, why);
    lac_captured_gemm_t product = {(lac_trans_t)g->ta,
                                   (lac_trans_t)g->tb,
                                   g->m,
                                   g->n,
                                   g->k,
                                   *g->alpha,
                                   *g->beta,
                                   g->a,
                                   g->b,
                                   g->c,
                                   g->lda,
                                   g->ldb,
                                   g->ldc,
                                   residual ? *residual : (lac_residual_t){0},
                                   call->symbol,
                                   call->caller};
    calls_in_progress++;
    int done = capture_product(stream, math, &product, &why);
    calls_in_progress--;
    call->capture_lost = done < 0;
    if (done > 0) lac_interpose_count_passthrough(call->symbol, LAC_PASS_GRAPH);
    return done > 0 || passed_on(call, why);
}

static int try_product(const call_t *call, lac_ctx_t *ctx, const void *handle, const gemm_args_t *g,
                       bool registered)
{
    unsigned calls =
        registered ? 0
                   : lac_interpose_dense_streak(ctx, (lac_trans_t)g->ta, (lac_trans_t)g->tb, g->m, g->n, g->k,
                                                g->lda, g->ldb, 0, call->caller, DENSE_CACHE_GRANT_MAX);
    if (calls) dense_cache_grant(handle, call->caller, g, 0, calls - 1);
    if (calls) return 0;
    return lac_try_sgemm(ctx, (lac_trans_t)g->ta, (lac_trans_t)g->tb, g->m, g->n, g->k, *g->alpha, g->a,
                         g->lda, g->b, g->ldb, *g->beta, g->c, g->ldc, call->symbol, call->caller);
}

static int try_batch(const call_t *call, lac_ctx_t *ctx, const gemm_args_t *g)
{
    const lac_strides_t batch = {g->stride_a, g->stride_b, g->stride_c, g->count};
    return lac_try_sgemm_strided(ctx, (lac_trans_t)g->ta, (lac_trans_t)g->tb, g->m, g->n, g->k, *g->alpha,
                                 g->a, g->lda, g->b, g->ldb, *g->beta, g->c, g->ldc, &batch, call->symbol,
                                 call->caller);
}

/* What is registered where C is to be is not as it was, whoever computes it. Of a batch, all between the
 * first C and the end of the last. */
static void invalidate_written(const gemm_args_t *g)
{
    int64_t apart = g->stride_c < 0 ? 0 : g->stride_c, one = (g->n - 1) * g->ldc + g->m;
    if (!g->f32_result || g->m <= 0 || g->n <= 0 || g->ldc < g->m || g->count <= 0) return;
    if (g->count == 1)
        lac_interpose_is_registered(g->m, g->n, -1, NULL, NULL, g->c, g->ldc);
    else
        lac_interpose_is_registered((g->count - 1) * apart + one, 1, -1, NULL, NULL, g->c,
                                    (g->count - 1) * apart + one);
}

/* False, for the caller's sake: cuBLAS's own, and it writes. */
static bool not_ours(const call_t *call, const gemm_args_t *g, lac_pass_t why)
{
    invalidate_written(g);
    return passed_on(call, why);
}

bool lacuna_gemm(call_t *call, void *handle, gemm_args_t *g)
{
    handle_state_t state;
    if (!g->f32) return not_ours(call, g, LAC_PASS_TYPE);
    if (!gemm_is_proper(g)) return not_ours(call, g, LAC_PASS_ARGUMENTS);
    bool one = gemm_batch_as_one(g);
    if (!one && !gemm_batch_is_apart(g)) return not_ours(call, g, LAC_PASS_BATCH);
    bool registered = one && lac_interpose_is_registered(g->m, g->n, g->k, g->a, g->b, g->c, g->ldc);
    if (!one) invalidate_written(g);
    if ((double)g->m * (double)g->n * (double)g->k < lac_interpose_min_macs())
        return passed_on(call, LAC_PASS_SMALL);
    if (one && !registered && dense_cache_take(handle, call->caller, g, 0)) return false;
    if (!handle_read(&call->next_fn->get, handle, &state)) return passed_on(call, LAC_PASS_HANDLE);
    int math = g->math == MATH_OF_HANDLE ? state.math : g->math;
    lac_pass_t why;
    stream_context_t *sc = call_enter(state.stream, math, &why);
    if (!sc && !one) return passed_on(call, why == LAC_PASS_CAPTURED ? LAC_PASS_BATCH : why);
    if (!sc) return call_capture(call, state.stream, math, g, NULL, why);
    return call_leave(call, sc,
                      one ? try_product(call, sc->ctx, handle, g, registered) : try_batch(call, sc->ctx, g));
}

int enter_sgemm(exported_symbol_t *symbol, const void *caller, SGEMM_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller)) {
        gemm_args_t g = read_sgemm(symbol->wide, SGEMM_ARGS);
        if (lacuna_gemm(&call, handle, &g)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, sgemm_fn, SGEMM_ARGS);
}

int enter_sgemm_strided(exported_symbol_t *symbol, const void *caller, SGEMM_STRIDED_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller)) {
        gemm_args_t g = read_sgemm_strided(symbol->wide, SGEMM_STRIDED_ARGS);
        if (lacuna_gemm(&call, handle, &g)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, sgemm_strided_fn, SGEMM_STRIDED_ARGS);
}

/* The addresses of the matrices lie on the device: to read them would be to wait for it. */
int enter_sgemm_batched(exported_symbol_t *symbol, const void *caller, SGEMM_BATCHED_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller)) (void)passed_on(&call, LAC_PASS_DEVICE_POINTERS);
    return FORWARD(&call, sgemm_batched_fn, SGEMM_BATCHED_ARGS);
}

int enter_gemm_ex(exported_symbol_t *symbol, const void *caller, GEMM_EX_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller)) {
        gemm_args_t g = read_gemm_ex(symbol->wide, GEMM_EX_ARGS);
        if (lacuna_gemm(&call, handle, &g)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, gemm_ex_fn, GEMM_EX_ARGS);
}

int enter_gemm_strided_ex(exported_symbol_t *symbol, const void *caller, GEMM_STRIDED_EX_PARAMS)
{
    call_t call;
    if (call_begin(&call, symbol, caller)) {
        gemm_args_t g = read_gemm_strided_ex(symbol->wide, GEMM_STRIDED_EX_ARGS);
        if (lacuna_gemm(&call, handle, &g)) return CUBLAS_SUCCESS;
    }
    return FORWARD(&call, gemm_strided_ex_fn, GEMM_STRIDED_EX_ARGS);
}

/* The matrix-vector product: Lacuna's where it is faster, the cuBLAS behind us everywhere else. */

/* What is registered where y is to be is not as it was, whoever computes it. */
static void invalidate_gemv_written(const gemv_args_t *g)
{
    int64_t step = g->incy < 0 ? -g->incy : g->incy;
    lac_interpose_is_registered(1, g->ta ? g->n : g->m, -1, NULL, NULL, g->y, step);
}

static bool lacuna_gemv(call_t *call, void *handle, const gemv_args_t *g)
{
    handle_state_t state;
    if (!gemv_is_proper(g)) return passed_on(call, LAC_PASS_ARGUMENTS);
    invalidate_gemv_written(g);
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
