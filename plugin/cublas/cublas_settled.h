/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Calls that are known to be declined, counted down by each thread for itself.
 *
 * A place found dense stays so until its next look, many calls later. Till then a call needs neither the
 * handle's state nor a context, and forwarding it is right whatever has changed since. */
#ifndef LACUNA_CUBLAS_SETTLED_H
#define LACUNA_CUBLAS_SETTLED_H

#include "cublas_args.h"

#include <stddef.h>

enum { SETTLED_KEPT = 16, SETTLED_MOST = 64 }; /* shapes of a thread; calls that are granted at once */

typedef struct settled {
    const void *handle, *caller;
    int64_t m, n, k, lda, ldb;
    int ta, tb, adds;
    unsigned left;
} settled_t;

extern _Thread_local settled_t settled_calls[SETTLED_KEPT] __attribute__((tls_model("initial-exec")));

static inline settled_t *settled_place(const void *caller, const gemm_args_t *g)
{
    uint64_t mix =
        (uint64_t)(uintptr_t)caller ^ (uint64_t)g->m * 31 ^ (uint64_t)g->n * 1009 ^ (uint64_t)g->k * 65521;
    return &settled_calls[(mix ^ mix >> 7 ^ mix >> 17) % SETTLED_KEPT];
}

static inline bool settled_is(const settled_t *s, const void *handle, const void *caller,
                              const gemm_args_t *g, int adds)
{
    return s->handle == handle && s->caller == caller && s->m == g->m && s->n == g->n && s->k == g->k &&
           s->lda == g->lda && s->ldb == g->ldb && s->ta == g->ta && s->tb == g->tb && s->adds == adds;
}

/* True where this call is one of those. */
static inline bool settled_take(const void *handle, const void *caller, const gemm_args_t *g, int adds)
{
    settled_t *s = settled_place(caller, g);
    if (!s->left || !settled_is(s, handle, caller, g, adds)) return false;
    s->left--;
    return true;
}

/* So many more calls like this one are to be declined. */
static inline void settled_grant(const void *handle, const void *caller, const gemm_args_t *g, int adds,
                                 unsigned calls)
{
    *settled_place(caller, g) =
        (settled_t){handle, caller, g->m, g->n, g->k, g->lda, g->ldb, g->ta, g->tb, adds, calls};
}

#endif
