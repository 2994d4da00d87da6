/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The BLAS behind a symbol: the function that a caller would have reached without this library. */
#ifndef LACUNA_PLUGIN_BLAS_RESOLVE_H
#define LACUNA_PLUGIN_BLAS_RESOLVE_H

#include "common/symbols.h"

typedef struct next_fn {
    resolved_t resolved;
    void *fn;             /* the function; NULL when no BLAS was found anywhere                */
    bool wide;            /* its integers have 64 bits                                         */
    atomic_bool excluded; /* it leads back here: look again                                    */
    uintptr_t object;     /* load address of the library that holds fn                         */
} next_fn_t;

/* This thread's calls in progress through this library. */
typedef struct blas_guard {
    int depth;             /* calls being computed or forwarded; above 0, a call is a BLAS's own      */
    int strays;            /* calls forwarded unseen because of their arguments                       */
    uintptr_t frame;       /* stack frame of the innermost of them; a call made by it lies below      */
    const next_fn_t *last; /* where it was forwarded                                                  */
} blas_guard_t;

extern _Thread_local blas_guard_t blas_guard __attribute__((tls_model("initial-exec")));

/* BLASes nest two or three deep (cblas_sgemm on sgemm_ on a hook). More is a loop: what stands behind us is
 * a BLAS demuxer (FlexiBLAS, libblastrampoline) whose target is us. */
enum { BLAS_LOOP = 8 };

/* The slow half of next_fn_of: searches, and keeps what it found. Never NULL. */
const next_fn_t *next_fn_search(exported_symbol_t *symbol, const void *caller);

/* Forgets the place that the latest call was forwarded to, for every symbol asked later. */
void next_fn_break_loop(exported_symbol_t *symbol);

static inline const next_fn_t *next_fn_of(exported_symbol_t *symbol, const void *caller)
{
    if (__builtin_expect(blas_guard.depth >= BLAS_LOOP || blas_guard.strays >= BLAS_LOOP, 0))
        next_fn_break_loop(symbol);
    const resolved_t *a = atomic_load_explicit(&symbol->known, memory_order_acquire);
    for (; a; a = a->next) {
        const next_fn_t *b = (const next_fn_t *)a;
        if (resolved_holds_for(a, caller) && !atomic_load_explicit(&b->excluded, memory_order_relaxed))
            return b;
    }
    return next_fn_search(symbol, caller);
}

/* Which of the loaded objects are BLASes. */

/* Judged by the file's name. */
bool object_is_blas(const object_t *object);

/* Whether this is this library or another drop-in library of Lacuna. */
bool object_is_lacuna(const object_t *object);

/* Judged by the file's name: a BLAS with 64-bit integers behind the plain symbol names, as Debian's
 * libopenblas64, libblas64 and oneMKL's ilp64 layer are. */
bool object_is_wide_blas(const object_t *object);

/* Present, with this meaning, in every library that Lacuna puts in front of a BLAS; the core skips a library
 * that has it when it looks for the BLAS of the dense route. A function, since data of one name in two
 * libraries is what the address sanitizer objects to. */
void lacuna_blas_marker(void);

#endif
