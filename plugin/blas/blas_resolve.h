/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The BLAS behind a symbol: the function that a caller would have reached without this library.
 *
 * A program can hold several BLASes (a NumPy wheel brings its own), so the answer belongs to a symbol and to
 * the loaded object that calls it. Answers are kept for ever in a list that only grows: reading it takes no
 * lock and writes nothing. */
#ifndef LACUNA_BLAS_RESOLVE_H
#define LACUNA_BLAS_RESOLVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct behind {
    uintptr_t lo, bytes; /* callers' addresses that this answer holds for                     */
    void *fn;            /* the function; NULL when no BLAS was found anywhere                */
    bool wide;           /* its integers have 64 bits                                         */
    atomic_bool shunned; /* it leads back here: look again                                    */
    uintptr_t object;    /* load address of the library that holds fn                         */
    const struct behind *next;
} behind_t;

typedef struct blas_symbol {
    const char *name;
    bool wide; /* the name says 64-bit integers */
    _Atomic(const behind_t *) known;
} blas_symbol_t;

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
const behind_t *behind_search(blas_symbol_t *symbol, const void *caller);

/* Forgets the place that the latest call was forwarded to, for every symbol asked later. */
void behind_break_loop(blas_symbol_t *symbol);

static inline const behind_t *behind_of(blas_symbol_t *symbol, const void *caller)
{
    if (__builtin_expect(blas_guard.depth >= BLAS_LOOP || blas_guard.strays >= BLAS_LOOP, 0))
        behind_break_loop(symbol);
    const behind_t *b = atomic_load_explicit(&symbol->known, memory_order_acquire);
    for (; b; b = b->next)
        if ((uintptr_t)caller - b->lo < b->bytes && !atomic_load_explicit(&b->shunned, memory_order_relaxed))
            return b;
    return behind_search(symbol, caller);
}

#endif
