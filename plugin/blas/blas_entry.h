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

#include "lacuna/dropin.h"

void enter_sgemm(blas_symbol_t *symbol, const void *caller, SGEMM_PARAMS);
void enter_sgemv(blas_symbol_t *symbol, const void *caller, SGEMV_PARAMS);
void enter_cblas_sgemm(blas_symbol_t *symbol, const void *caller, CBLAS_SGEMM_PARAMS);
void enter_cblas_sgemv(blas_symbol_t *symbol, const void *caller, CBLAS_SGEMV_PARAMS);

/* The guard as it was before this call, to be put back after it. A call that was left by longjmp (from the
 * program's xerbla, or from a signal) never put its own back: it shows by not lying above us on the stack. */
static inline blas_guard_t guard_enter(uintptr_t frame)
{
    if (blas_guard.frame <= frame) blas_guard = (blas_guard_t){0};
    return blas_guard;
}

static inline void guard_leave(blas_guard_t saved)
{
    blas_guard = saved;
}

/* Whether to ask Lacuna: a proper call of the program's own. */
static inline bool guard_asks(bool proper)
{
    return proper && blas_guard.depth == 0;
}

/* While Lacuna computes, its dense route may call the BLAS in which we are interposed. */
static inline void guard_asking(uintptr_t frame)
{
    blas_guard.depth = 1;
    blas_guard.frame = frame;
}

/* Improper calls are counted apart: to the reporter that they end in, nothing is in progress. */
static inline void guard_forwarding(uintptr_t frame, const behind_t *behind, bool proper)
{
    if (proper)
        blas_guard.depth++;
    else
        blas_guard.strays++;
    blas_guard.frame = frame;
    blas_guard.last = behind;
}

#endif
