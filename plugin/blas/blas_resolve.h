/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The BLAS behind a symbol: the function that a caller would have reached without this library. */
#ifndef LACUNA_BLAS_RESOLVE_H
#define LACUNA_BLAS_RESOLVE_H

#include "../objects/kept_answers.h"

typedef struct behind {
    answer_t answer;
    void *fn;            /* the function; NULL when no BLAS was found anywhere                */
    bool wide;           /* its integers have 64 bits                                         */
    atomic_bool shunned; /* it leads back here: look again                                    */
    uintptr_t object;    /* load address of the library that holds fn                         */
} behind_t;

/* This thread's calls in progress through this library. */
typedef struct blas_guard {
    int depth;            /* calls being computed or forwarded; above 0, a call is a BLAS's own      */
    int strays;           /* calls forwarded unseen because of their arguments                       */
    uintptr_t frame;      /* stack frame of the innermost of them; a call made by it lies below      */
    const behind_t *last; /* where it was forwarded                                                  */
} blas_guard_t;

extern _Thread_local blas_guard_t blas_guard __attribute__((tls_model("initial-exec")));

/* BLASes nest two or three deep (cblas_sgemm on sgemm_ on a hook). More is a loop: what stands behind us is
 * a switchboard (FlexiBLAS, libblastrampoline) whose target is us. */
enum { BLAS_LOOP = 8 };

/* The slow half of behind_of: searches, and keeps what it found. Never NULL. */
const behind_t *behind_search(exported_symbol_t *symbol, const void *caller);

/* Forgets the place that the latest call was forwarded to, for every symbol asked later. */
void behind_break_loop(exported_symbol_t *symbol);

static inline const behind_t *behind_of(exported_symbol_t *symbol, const void *caller)
{
    if (__builtin_expect(blas_guard.depth >= BLAS_LOOP || blas_guard.strays >= BLAS_LOOP, 0))
        behind_break_loop(symbol);
    const answer_t *a = atomic_load_explicit(&symbol->known, memory_order_acquire);
    for (; a; a = a->next) {
        const behind_t *b = (const behind_t *)a;
        if (answer_holds_for(a, caller) && !atomic_load_explicit(&b->shunned, memory_order_relaxed)) return b;
    }
    return behind_search(symbol, caller);
}

#endif
