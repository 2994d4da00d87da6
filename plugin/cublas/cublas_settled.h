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

enum { SETTLED_KEPT = 16, SETTLED_MAX = 64 }; /* shapes of a thread; calls that are granted at once */

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

/* A product that is known by its descriptions: whose calls they were that had this A, and a D of these
 * extents. Three questions in place of eleven; the descriptions' own addresses are used again for others. */
typedef struct settled_lt {
    const void *stream, *caller, *a;
    int64_t m, n;
} settled_lt_t;

/* Upper bits of a hash, and the place in settled_calls. Room that every thread of a program has from the
 * start is scarce, and a mistake only forwards some calls. */
extern _Thread_local uint64_t settled_lt[SETTLED_KEPT] __attribute__((tls_model("initial-exec")));

static inline uint64_t settled_lt_hash(const settled_lt_t *x)
{
    uint64_t h = (uint64_t)(uintptr_t)x->a ^ (uint64_t)(uintptr_t)x->caller << 20 ^ (uint64_t)x->m << 44;
    h = (h ^ h >> 29) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)x->n ^ (uint64_t)(uintptr_t)x->stream << 13;
    h *= UINT64_C(0xBF58476D1CE4E5B9);
    return h ^ h >> 32;
}

static inline bool settled_lt_take(const settled_lt_t *x)
{
    uint64_t hash = settled_lt_hash(x), kept = settled_lt[hash % SETTLED_KEPT];
    settled_t *s = &settled_calls[kept % SETTLED_KEPT]; /* it may have become another's since */
    if (kept / SETTLED_KEPT != hash / SETTLED_KEPT || !s->left || s->m != x->m || s->n != x->n ||
        s->handle != x->stream || s->caller != x->caller)
        return false;
    s->left--;
    return true;
}

static inline void settled_lt_keep(const settled_lt_t *x, const gemm_args_t *g)
{
    uint64_t hash = settled_lt_hash(x), place = (uint64_t)(settled_place(x->caller, g) - settled_calls);
    settled_lt[hash % SETTLED_KEPT] = hash / SETTLED_KEPT * SETTLED_KEPT + place;
}

#endif
