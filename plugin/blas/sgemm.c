/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The BLAS calls: one handler per shape of call, and the exported symbols, which symbols.def makes.
 *
 * Every handler does the same: find the BLAS behind; read the arguments; where the call is proper and the
 * program's own (not a BLAS calling itself), ask Lacuna; else, or when it declines, forward verbatim. */
#include "resolve.h"
#include "shapes.h"
#include "api/interpose.h"
#include "fallback.h"
#include "args.h"

void enter_sgemm(exported_symbol_t *symbol, const void *caller, SGEMM_PARAMS);
void enter_sgemv(exported_symbol_t *symbol, const void *caller, SGEMV_PARAMS);
void enter_cblas_sgemm(exported_symbol_t *symbol, const void *caller, CBLAS_SGEMM_PARAMS);
void enter_cblas_sgemv(exported_symbol_t *symbol, const void *caller, CBLAS_SGEMV_PARAMS);

/* A call on its way through. */
typedef struct guard {
    uintptr_t frame;
    blas_guard_t saved; /* as it was before this call, to be put back after it */
    const next_fn_t *next_fn;
    lac_ctx_t *ctx; /* that was asked; NULL: none was */
    bool proper;
} guard_t;

/* A call that was left by longjmp (from the program's xerbla, or from a signal) never put its guard back: it
 * shows by not lying above us on the stack. */
static inline guard_t guard_begin(exported_symbol_t *symbol, const void *caller, void *frame)
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

/* Whether to ask Lacuna: a proper call of the program's own. While it computes, its dense route may call the
 * BLAS in which we are interposed. */
static inline bool guard_admits(guard_t *at, bool proper)
{
    at->proper = proper;
    if (!proper || blas_guard.depth) return false;
    blas_guard.depth = 1;
    blas_guard.frame = at->frame;
    at->ctx = lac_thread_ctx();
    return true;
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

/* The matrix product: Lacuna's where it is faster, the BLAS behind us everywhere else. */

/* Asked in the caller's own terms, which its reports then show. */
static bool is_computed(lac_ctx_t *ctx, const sgemm_args_t *g, const char *symbol, const void *caller)
{
    lac_trans_t ta = (lac_trans_t)g->ta, tb = (lac_trans_t)g->tb;
    return g->by_rows ? lac_try_sgemm_rows(ctx, tb, ta, g->n, g->m, g->k, g->alpha, g->b, g->ldb, g->a,
                                           g->lda, g->beta, g->c, g->ldc, symbol, caller)
                      : lac_try_sgemm(ctx, ta, tb, g->m, g->n, g->k, g->alpha, g->a, g->lda, g->b, g->ldb,
                                      g->beta, g->c, g->ldc, symbol, caller);
}

/* True where nothing is left to be forwarded: the product is there, or there is no BLAS to forward it to. */
static bool serve(guard_t *at, const sgemm_args_t *g, const exported_symbol_t *symbol, const void *caller,
                  int order)
{
    if (guard_admits(at, sgemm_is_proper(g))) {
        bool done = at->ctx && is_computed(at->ctx, g, symbol->name, caller);
        guard_end(at);
        if (done) return true;
    }
    if (at->next_fn->fn) return false;
    last_resort_sgemm(g, symbol->name, order);
    return true;
}

void enter_sgemm(exported_symbol_t *symbol, const void *caller, SGEMM_PARAMS)
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    sgemm_args_t g = read_sgemm(at.next_fn->wide, SGEMM_ARGS);
    if (serve(&at, &g, symbol, caller, 0)) return;
    guard_forward(&at);
    ((sgemm_fn *)at.next_fn->fn)(SGEMM_ARGS, 1, 1);
    guard_forwarded(&at);
}

void enter_cblas_sgemm(exported_symbol_t *symbol, const void *caller, CBLAS_SGEMM_PARAMS)
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    sgemm_args_t g = read_cblas_sgemm(at.next_fn->wide, CBLAS_SGEMM_ARGS);
    if (serve(&at, &g, symbol, caller, order)) return;
    guard_forward(&at);
    ((cblas_sgemm_fn *)at.next_fn->fn)(CBLAS_SGEMM_ARGS);
    guard_forwarded(&at);
}

/* The matrix-vector product: Lacuna's where it is faster, the BLAS behind us everywhere else. */

/* True where nothing is left to be forwarded: the product is there, or there is no BLAS to forward it to. */
static bool serve_gemv(guard_t *at, const sgemv_args_t *g, const exported_symbol_t *symbol,
                       const void *caller, int order)
{
    if (guard_admits(at, sgemv_is_proper(g))) {
        bool done = at->ctx && lac_try_sgemv(at->ctx, (lac_trans_t)g->ta, g->m, g->n, g->alpha, g->a, g->lda,
                                             g->x, g->incx, g->beta, g->y, g->incy, symbol->name, caller);
        guard_end(at);
        if (done) return true;
    }
    if (at->next_fn->fn) return false;
    last_resort_sgemv(g, symbol->name, order);
    return true;
}

void enter_sgemv(exported_symbol_t *symbol, const void *caller, SGEMV_PARAMS)
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    sgemv_args_t g = read_sgemv(at.next_fn->wide, SGEMV_ARGS);
    if (serve_gemv(&at, &g, symbol, caller, 0)) return;
    guard_forward(&at);
    ((sgemv_fn *)at.next_fn->fn)(SGEMV_ARGS, 1);
    guard_forwarded(&at);
}

void enter_cblas_sgemv(exported_symbol_t *symbol, const void *caller, CBLAS_SGEMV_PARAMS)
{
    guard_t at = guard_begin(symbol, caller, __builtin_frame_address(0));
    sgemv_args_t g = read_cblas_sgemv(at.next_fn->wide, CBLAS_SGEMV_ARGS);
    if (serve_gemv(&at, &g, symbol, caller, order)) return;
    guard_forward(&at);
    ((cblas_sgemv_fn *)at.next_fn->fn)(CBLAS_SGEMV_ARGS);
    guard_forwarded(&at);
}

/* The exported BLAS symbols, made from symbols.def. They carry no version: a tagged definition would not
 * intercept the untagged references of programs linked before it existed. */

/* clang-format off */
#define SGEMM_ENTER       enter_sgemm
#define SGEMV_ENTER       enter_sgemv
#define CBLAS_SGEMM_ENTER enter_cblas_sgemm
#define CBLAS_SGEMV_ENTER enter_cblas_sgemv
#define SYMBOL(shape, name, wide) \
    __attribute__((visibility("default"))) void name(shape##_PARAMS); \
    void name(shape##_PARAMS) \
    { \
        static exported_symbol_t symbol = {#name, wide, NULL}; \
        shape##_ENTER(&symbol, __builtin_return_address(0), shape##_ARGS); \
    }
#include "symbols.def"
/* clang-format on */
