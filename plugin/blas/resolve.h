/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The BLAS behind a symbol: the function that a caller would have reached without this library. */
#ifndef LACUNA_PLUGIN_BLAS_RESOLVE_H
#define LACUNA_PLUGIN_BLAS_RESOLVE_H

#include "common/symbols.h"

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

extern const finder_t blas_finder;

/* Excludes the library that the latest call was forwarded to from every later search. */
void next_fn_break_loop(exported_symbol_t *symbol);

static inline const next_fn_t *next_fn_of(exported_symbol_t *symbol, const void *caller)
{
    if (__builtin_expect(blas_guard.depth >= BLAS_LOOP || blas_guard.strays >= BLAS_LOOP, 0))
        next_fn_break_loop(symbol);
    const next_fn_t *b = next_fn_known(symbol, caller);
    return b ? b : next_fn_search(&blas_finder, symbol, caller);
}

/* Present, with this meaning, in every library that Lacuna puts in front of a BLAS; the core skips a library
 * that has it when it looks for the BLAS of the dense route. A function, since data of one name in two
 * libraries is what the address sanitizer objects to. */
void lacuna_blas_marker(void);

#endif
