/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The matrix product and the matrix-vector product: Lacuna's where it is faster, the cuBLAS behind us
 * everywhere else. */
#include "entry.h"

#include <string.h>

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

_Thread_local int calls_in_progress __attribute__((tls_model("initial-exec")));
_Thread_local dense_entry_t dense_cache[DENSE_CACHE_SIZE] __attribute__((tls_model("initial-exec")));

bool call_capture(call_t *call, void *stream, int math, const lac_gemm_args_t *g, lac_pass_t why)
{
    if (why != LAC_PASS_CAPTURED) return passed_on(call, why);
    calls_in_progress++;
    int done = capture_product(stream, math, g, &why);
    calls_in_progress--;
    call->capture_lost = done < 0;
    if (done > 0) lac_interpose_count_passthrough(call->symbol, LAC_PASS_GRAPH);
    return done > 0 || passed_on(call, why);
}

/* What is registered where C is to be is not as it was, whoever computes it. Of a batch, all between the
 * first C and the end of the last. */
static void invalidate_written(const cublas_args_t *x)
{
    const lac_gemm_args_t *g = &x->gemm;
    int64_t count = g->batch.count, step = g->batch.c < 0 ? 0 : g->batch.c;
    if (!x->c_type || !g->c || g->m <= 0 || g->n <= 0 || count <= 0) return;
    if (x->vector ? g->crs == 0 : g->ccs < g->m) return;
    if (count == 1) {
        lac_interpose_invalidate_output(g->dt, g->c, g->m, g->n, g->crs, g->ccs);
        return;
    }
    int64_t all = (count - 1) * step + (g->n - 1) * g->ccs + g->m;
    lac_interpose_invalidate_output(g->dt, g->c, all, 1, 1, 1);
}

/* A number of binary16 on the host. */
static float half_scalar(const void *scalar)
{
    uint16_t half;
    float x;
    memcpy(&half, scalar, sizeof half);
    uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
    uint32_t bits = (exponent == 31 ? UINT32_C(255) : exponent + 112) << 23 | fraction << 13;
    memcpy(&x, &bits, sizeof x);
    if (exponent == 0) x = (float)fraction * 0x1p-24f;
    return half >> 15 ? -x : x;
}

bool lacuna_gemm(call_t *call, void *handle, cublas_args_t *x)
{
    handle_state_t state;
    float scalars[2];
    lac_gemm_args_t *g = &x->gemm;
    g->symbol = call->symbol, g->caller = call->caller;
    bool one = x->types && x->proper && gemm_batch_as_one(g);
    invalidate_written(x);
    if (!x->types) return passed_on(call, LAC_PASS_TYPE);
    if (!x->proper) return passed_on(call, LAC_PASS_ARGUMENTS);
    if (!one && !gemm_batch_is_apart(g)) return passed_on(call, LAC_PASS_BATCH);
    g->registered = one && lac_interpose_is_registered(g);
    if ((double)g->m * (double)g->n * (double)g->k < lac_interpose_min_macs())
        return passed_on(call, LAC_PASS_SMALL);
    if (one && !g->registered && dense_cache_take(handle, g)) return false;
    if (!handle_read(&call->next_fn->get, handle, &state)) return passed_on(call, LAC_PASS_HANDLE);
    int math = x->math == MATH_OF_HANDLE ? state.math : x->math;
    if (x->half_scalars) {
        scalars[0] = half_scalar(g->alpha), scalars[1] = half_scalar(g->beta);
        set_scalars(g, &scalars[0], &scalars[1]);
    }
    lac_pass_t why;
    stream_context_t *sc = call_enter(state.stream, math, &why);
    if (sc) {
        unsigned calls = lac_interpose_dense_streak(sc->ctx, g, one ? DENSE_CACHE_GRANT_MAX : 1,
                                                    one ? dense_cache_made(handle, g) : 0);
        if (calls && one) dense_cache_grant(handle, g, calls - 1);
        return call_leave(call, sc, calls ? 0 : lac_try_gemm(sc->ctx, g));
    }
    if (!one && why == LAC_PASS_CAPTURED) why = LAC_PASS_BATCH;
    return one && !x->vector ? call_capture(call, state.stream, math, g, why) : passed_on(call, why);
}
