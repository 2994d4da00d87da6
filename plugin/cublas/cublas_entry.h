/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One handler per shape of call; cublas_entries.c makes the exported symbols from cublas_symbols.def and
 * calls these.
 *
 * Every handler does the same: find the cuBLAS behind; where the call is the program's own (neither a cuBLAS
 * calling itself nor cuSOLVER), read the arguments and ask Lacuna; where it declines, or something was not
 * understood, forward verbatim. Now and then what cuBLAS takes for a declined call is timed. */
#ifndef LACUNA_CUBLAS_ENTRY_H
#define LACUNA_CUBLAS_ENTRY_H

#include "cublas_args.h"
#include "stream_context.h"
#include "cublas_resolve.h"

#include "lacuna/interpose.h"

int enter_sgemm(exported_symbol_t *symbol, const void *caller, SGEMM_PARAMS);
int enter_sgemv(exported_symbol_t *symbol, const void *caller, SGEMV_PARAMS);
int enter_sgemm_strided(exported_symbol_t *symbol, const void *caller, SGEMM_STRIDED_PARAMS);
int enter_sgemm_batched(exported_symbol_t *symbol, const void *caller, SGEMM_BATCHED_PARAMS);
int enter_gemm_ex(exported_symbol_t *symbol, const void *caller, GEMM_EX_PARAMS);
int enter_gemm_strided_ex(exported_symbol_t *symbol, const void *caller, GEMM_STRIDED_EX_PARAMS);
int enter_lt_matmul(exported_symbol_t *symbol, const void *caller, LT_MATMUL_PARAMS);
int enter_spmm(exported_symbol_t *symbol, const void *caller, SPMM_PARAMS);

/* This thread's calls in progress through this library; above 0, a call is a cuBLAS's own. A call that is
 * left by longjmp would never be counted back: from then on that thread's calls are forwarded. */
extern _Thread_local int calls_in_progress __attribute__((tls_model("initial-exec")));

/* A call on its way through. */
typedef struct call {
    const char *symbol;
    const void *caller;
    const next_fn_t *next_fn;
    bool capture_lost;       /* a capture that could not be continued */
    stream_context_t *timed; /* kept while cuBLAS serves a call that is being timed; else NULL */
} call_t;

/* False, for the caller's sake: the call is not ours, and why. */
static inline bool passed_on(const call_t *call, lac_pass_t why)
{
    lac_interpose_count_passthrough(call->symbol, why);
    return false;
}

/* Whether the call is the program's own, and worth reading. */
static inline bool call_begin(call_t *call, exported_symbol_t *symbol, const void *caller)
{
    *call = (call_t){symbol->name, caller, next_fn_of(symbol, caller), false, NULL};
    if (calls_in_progress || !call->next_fn->fn) return false;
    return call->next_fn->forward_only ? passed_on(call, LAC_PASS_VENDOR) : true;
}

/* FORWARD(ask, type, arguments): the call as it came. */
#define FORWARD(call, type, ...)                                                                             \
    ((call)->capture_lost ? CUBLAS_EXECUTION_FAILED                                                          \
                          : (calls_in_progress++,                                                            \
                             served(call, (call)->next_fn->fn ? ((type *)(call)->next_fn->fn)(__VA_ARGS__)   \
                                                              : CUBLAS_NOT_INITIALIZED)))
static inline int served(const call_t *call, int status)
{
    calls_in_progress--;
    if (call->timed) stream_context_served(call->timed);
    return status;
}

/* The place of the call, entered; NULL, and why, where it has none. */
static inline stream_context_t *call_enter(void *stream, int math, lac_pass_t *why)
{
    stream_context_t *sc = stream_context_enter(stream, math, why);
    calls_in_progress += sc != NULL;
    return sc;
}

/* A product that has no place; true where that is because it is being captured, and both ways of it now are
 * in the recording. */
bool call_capture(call_t *call, void *stream, int math, const gemm_args_t *g, const lac_residual_t *residual,
                  lac_pass_t why);

/* Leaves the place, unless the call goes to cuBLAS and is being timed. Returns `done` as true or false. */
static inline bool call_leave(call_t *call, stream_context_t *sc, int done)
{
    calls_in_progress--;
    if (!done && lac_interpose_timing_pending(sc->ctx))
        stream_context_pause(call->timed = sc);
    else
        stream_context_leave(sc);
    return done != 0;
}

/* True where Lacuna has queued the product. */
bool lacuna_gemm(call_t *call, void *handle, gemm_args_t *g);

#endif
