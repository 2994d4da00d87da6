/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The BLAS calls: one handler per shape of call, and the exported symbols, which symbols.def makes.
 *
 * Every handler does the same: find the BLAS behind; read the arguments; where the call is proper and the
 * program's own (not a BLAS calling itself), ask Lacuna; else, or when it declines, forward verbatim. */
#include "resolve.h"
#include "shapes.h"
#include "fallback.h"
#include "args.h"

/* A call on its way through. */
typedef struct guard {
    uintptr_t frame;
    blas_guard_t saved; /* as it was before this call, to be put back after it */
    const next_fn_t *next_fn;
    lac_ctx_t *ctx; /* that was asked; NULL: none was */
    bool proper;
} guard_t;

/* What is part of each exported symbol: to hand more than a dozen arguments on costs more than the whole way
 * of a small call. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A call that was left by longjmp (from the program's xerbla, or from a signal) never put its guard back: it
 * shows by not lying above us on the stack. */
ALWAYS_INLINE guard_t guard_begin(exported_symbol_t *symbol, const void *caller, void *frame)
{
    guard_t at = {.frame = (uintptr_t)frame};
    if (blas_guard.frame <= at.frame) blas_guard = (blas_guard_t){0};
    at.saved = blas_guard;
    at.next_fn = next_fn_of(symbol, caller);
    return at;
}

static inline void guard_end(const guard_t *at)
{
    blas_guard = at->saved;
}

/* Improper calls are counted apart: to the reporter that they end in, nothing is in progress. */
static inline void guard_forward(const guard_t *at)
{
    if (at->proper)
        blas_guard.depth++;
    else
        blas_guard.strays++;
    blas_guard.frame = at->frame;
    blas_guard.last = at->next_fn;
}

static inline void guard_forwarded(const guard_t *at)
{
    guard_end(at);
    if (at->ctx) lac_interpose_timing_end(at->ctx);
}

/* True where nothing is left to be forwarded: the product is there, or there is no BLAS to forward it to.
 * Lacuna is asked about a proper call of the program's own. While it computes, its dense route may call the
 * BLAS in which we are interposed. */
static bool serve(guard_t *at, lac_gemm_args_t *g, int verdict, blas_routine_t routine, int order)
{
    at->proper = verdict == CALL_PROPER;
    if (at->proper && !blas_guard.depth) {
        blas_guard.depth = 1;
        blas_guard.frame = at->frame;
        if ((at->ctx = lac_thread_ctx())) {
            lac_interpose_invalidate_output(g->dt, g->c, g->m, g->n, g->crs, g->ccs);
            g->registered = lac_interpose_is_registered(g) != 0;
        }
        bool done = at->ctx && !lac_interpose_dense_streak(at->ctx, g, 1, 0) && lac_try_gemm(at->ctx, g);
        guard_end(at);
        if (done) return true;
    }
    if (at->next_fn->fn) return false;
    last_resort(g, verdict, routine, order);
    return true;
}

/* The handlers, one per shape of call. */
#define HANDLER ALWAYS_INLINE void

HANDLER enter_gemm(lac_dt_t dt, exported_symbol_t *symbol, const void *caller, GEMM_PARAMS(void))
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    lac_gemm_args_t g;
    int verdict = read_gemm(&g, dt, at.next_fn->wide, GEMM_ARGS);
    g.symbol = symbol->name, g.caller = caller;
    if (serve(&at, &g, verdict, BLAS_GEMM, 0)) return;
    guard_forward(&at);
    ((gemm_fn *)at.next_fn->fn)(GEMM_ARGS, 1, 1);
    guard_forwarded(&at);
}

HANDLER enter_cblas_gemm(lac_dt_t dt, exported_symbol_t *symbol, const void *caller,
                         CBLAS_GEMM_PARAMS(void, const void *))
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    lac_gemm_args_t g;
    int verdict = read_cblas_gemm(&g, dt, at.next_fn->wide, CBLAS_GEMM_ARGS(alpha, beta));
    g.symbol = symbol->name, g.caller = caller;
    if (serve(&at, &g, verdict, BLAS_GEMM, order)) return;
    guard_forward(&at);
    if (dt == LAC_F64)
        ((cblas_dgemm_fn *)at.next_fn->fn)(CBLAS_GEMM_ARGS(*(const double *)alpha, *(const double *)beta));
    else
        ((cblas_sgemm_fn *)at.next_fn->fn)(CBLAS_GEMM_ARGS(*(const float *)alpha, *(const float *)beta));
    guard_forwarded(&at);
}

HANDLER enter_gemv(lac_dt_t dt, exported_symbol_t *symbol, const void *caller, GEMV_PARAMS(void))
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    lac_gemm_args_t g;
    int verdict = read_gemv(&g, dt, at.next_fn->wide, GEMV_ARGS);
    g.symbol = symbol->name, g.caller = caller;
    if (serve(&at, &g, verdict, BLAS_GEMV, 0)) return;
    guard_forward(&at);
    ((gemv_fn *)at.next_fn->fn)(GEMV_ARGS, 1);
    guard_forwarded(&at);
}

HANDLER enter_cblas_gemv(lac_dt_t dt, exported_symbol_t *symbol, const void *caller,
                         CBLAS_GEMV_PARAMS(void, const void *))
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    lac_gemm_args_t g;
    int verdict = read_cblas_gemv(&g, dt, at.next_fn->wide, CBLAS_GEMV_ARGS(alpha, beta));
    g.symbol = symbol->name, g.caller = caller;
    if (serve(&at, &g, verdict, BLAS_GEMV, order)) return;
    guard_forward(&at);
    if (dt == LAC_F64)
        ((cblas_dgemv_fn *)at.next_fn->fn)(CBLAS_GEMV_ARGS(*(const double *)alpha, *(const double *)beta));
    else
        ((cblas_sgemv_fn *)at.next_fn->fn)(CBLAS_GEMV_ARGS(*(const float *)alpha, *(const float *)beta));
    guard_forwarded(&at);
}

HANDLER enter_syrk(lac_dt_t dt, exported_symbol_t *symbol, const void *caller, SYRK_PARAMS(void))
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    lac_gemm_args_t g;
    int verdict = read_syrk(&g, dt, at.next_fn->wide, SYRK_ARGS);
    g.symbol = symbol->name, g.caller = caller;
    if (serve(&at, &g, verdict, BLAS_SYRK, 0)) return;
    guard_forward(&at);
    ((syrk_fn *)at.next_fn->fn)(SYRK_ARGS, 1, 1);
    guard_forwarded(&at);
}

HANDLER enter_cblas_syrk(lac_dt_t dt, exported_symbol_t *symbol, const void *caller,
                         CBLAS_SYRK_PARAMS(void, const void *))
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    lac_gemm_args_t g;
    int verdict = read_cblas_syrk(&g, dt, at.next_fn->wide, CBLAS_SYRK_ARGS(alpha, beta));
    g.symbol = symbol->name, g.caller = caller;
    if (serve(&at, &g, verdict, BLAS_SYRK, order)) return;
    guard_forward(&at);
    if (dt == LAC_F64)
        ((cblas_dsyrk_fn *)at.next_fn->fn)(CBLAS_SYRK_ARGS(*(const double *)alpha, *(const double *)beta));
    else
        ((cblas_ssyrk_fn *)at.next_fn->fn)(CBLAS_SYRK_ARGS(*(const float *)alpha, *(const float *)beta));
    guard_forwarded(&at);
}

HANDLER enter_symm(lac_dt_t dt, exported_symbol_t *symbol, const void *caller, SYMM_PARAMS(void))
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    lac_gemm_args_t g;
    int verdict = read_symm(&g, dt, at.next_fn->wide, SYMM_ARGS);
    g.symbol = symbol->name, g.caller = caller;
    if (serve(&at, &g, verdict, BLAS_SYMM, 0)) return;
    guard_forward(&at);
    ((symm_fn *)at.next_fn->fn)(SYMM_ARGS, 1, 1);
    guard_forwarded(&at);
}

HANDLER enter_cblas_symm(lac_dt_t dt, exported_symbol_t *symbol, const void *caller,
                         CBLAS_SYMM_PARAMS(void, const void *))
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    lac_gemm_args_t g;
    int verdict = read_cblas_symm(&g, dt, at.next_fn->wide, CBLAS_SYMM_ARGS(alpha, beta));
    g.symbol = symbol->name, g.caller = caller;
    if (serve(&at, &g, verdict, BLAS_SYMM, order)) return;
    guard_forward(&at);
    if (dt == LAC_F64)
        ((cblas_dsymm_fn *)at.next_fn->fn)(CBLAS_SYMM_ARGS(*(const double *)alpha, *(const double *)beta));
    else
        ((cblas_ssymm_fn *)at.next_fn->fn)(CBLAS_SYMM_ARGS(*(const float *)alpha, *(const float *)beta));
    guard_forwarded(&at);
}

/* The exported BLAS symbols, made from symbols.def. They carry no version: a tagged definition would not
 * intercept the untagged references of programs linked before it existed. */

/* clang-format off */
#define SGEMM_ENTER(...)       enter_gemm(LAC_F32, __VA_ARGS__, GEMM_ARGS)
#define DGEMM_ENTER(...)       enter_gemm(LAC_F64, __VA_ARGS__, GEMM_ARGS)
#define SGEMV_ENTER(...)       enter_gemv(LAC_F32, __VA_ARGS__, GEMV_ARGS)
#define DGEMV_ENTER(...)       enter_gemv(LAC_F64, __VA_ARGS__, GEMV_ARGS)
#define SSYRK_ENTER(...)       enter_syrk(LAC_F32, __VA_ARGS__, SYRK_ARGS)
#define DSYRK_ENTER(...)       enter_syrk(LAC_F64, __VA_ARGS__, SYRK_ARGS)
#define SSYMM_ENTER(...)       enter_symm(LAC_F32, __VA_ARGS__, SYMM_ARGS)
#define DSYMM_ENTER(...)       enter_symm(LAC_F64, __VA_ARGS__, SYMM_ARGS)
#define CBLAS_SGEMM_ENTER(...) enter_cblas_gemm(LAC_F32, __VA_ARGS__, CBLAS_GEMM_ARGS(&alpha, &beta))
#define CBLAS_DGEMM_ENTER(...) enter_cblas_gemm(LAC_F64, __VA_ARGS__, CBLAS_GEMM_ARGS(&alpha, &beta))
#define CBLAS_SGEMV_ENTER(...) enter_cblas_gemv(LAC_F32, __VA_ARGS__, CBLAS_GEMV_ARGS(&alpha, &beta))
#define CBLAS_DGEMV_ENTER(...) enter_cblas_gemv(LAC_F64, __VA_ARGS__, CBLAS_GEMV_ARGS(&alpha, &beta))
#define CBLAS_SSYRK_ENTER(...) enter_cblas_syrk(LAC_F32, __VA_ARGS__, CBLAS_SYRK_ARGS(&alpha, &beta))
#define CBLAS_DSYRK_ENTER(...) enter_cblas_syrk(LAC_F64, __VA_ARGS__, CBLAS_SYRK_ARGS(&alpha, &beta))
#define CBLAS_SSYMM_ENTER(...) enter_cblas_symm(LAC_F32, __VA_ARGS__, CBLAS_SYMM_ARGS(&alpha, &beta))
#define CBLAS_DSYMM_ENTER(...) enter_cblas_symm(LAC_F64, __VA_ARGS__, CBLAS_SYMM_ARGS(&alpha, &beta))
#define SYMBOL(shape, name, wide) \
    __attribute__((visibility("default"))) void name(shape##_PARAMS); \
    void name(shape##_PARAMS) \
    { \
        static exported_symbol_t symbol = {#name, wide, NULL}; \
        shape##_ENTER(&symbol, __builtin_return_address(0)); \
    }
#include "symbols.def"
/* clang-format on */
