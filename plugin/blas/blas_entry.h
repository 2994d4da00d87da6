/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One handler per shape of call; blas_entries.c makes the exported symbols from blas_symbols.def and calls
 * these.
 *
 * Every handler does the same: find the BLAS behind; read the arguments; where the call is proper and the
 * program's own (not a BLAS calling itself), ask Lacuna; else, or when it declines, forward verbatim. */
#ifndef LACUNA_BLAS_ENTRY_H
#define LACUNA_BLAS_ENTRY_H

#include "blas_resolve.h"
#include "blas_shapes.h"

#include "lacuna/interpose.h"

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

#endif
