/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Calls that are known to be declined, counted down by each thread for itself.
 *
 * A place found dense stays so until its next look, many calls later. Till then a call needs neither the
 * handle's state nor a context, and forwarding it is right whatever has changed since. */
#ifndef LACUNA_CUBLAS_DENSE_CACHE_H
#define LACUNA_CUBLAS_DENSE_CACHE_H

#include "cublas_args.h"

#include <stddef.h>

enum {
    DENSE_CACHE_SIZE = 16,
    DENSE_CACHE_GRANT_MAX = 64
}; /* shapes of a thread; calls that are granted at once */

typedef struct dense_entry {
    const void *handle, *caller;
    int64_t m, n, k, lda, ldb;
    int ta, tb, adds;
    unsigned left;
} dense_entry_t;

extern _Thread_local dense_entry_t dense_cache[DENSE_CACHE_SIZE] __attribute__((tls_model("initial-exec")));

static inline dense_entry_t *dense_cache_slot(const void *caller, const gemm_args_t *g)
{
    uint64_t mix =
        (uint64_t)(uintptr_t)caller ^ (uint64_t)g->m * 31 ^ (uint64_t)g->n * 1009 ^ (uint64_t)g->k * 65521;
    return &dense_cache[(mix ^ mix >> 7 ^ mix >> 17) % DENSE_CACHE_SIZE];
}

static inline bool dense_cache_matches(const dense_entry_t *s, const void *handle, const void *caller,
                                       const gemm_args_t *g, int adds)
{
    return s->handle == handle && s->caller == caller && s->m == g->m && s->n == g->n && s->k == g->k &&
           s->lda == g->lda && s->ldb == g->ldb && s->ta == g->ta && s->tb == g->tb && s->adds == adds;
}

/* True where this call is one of those. */
static inline bool dense_cache_take(const void *handle, const void *caller, const gemm_args_t *g, int adds)
{
    dense_entry_t *s = dense_cache_slot(caller, g);
    if (!s->left || !dense_cache_matches(s, handle, caller, g, adds)) return false;
    s->left--;
    return true;
}

/* So many more calls like this one are to be declined. */
static inline void dense_cache_grant(const void *handle, const void *caller, const gemm_args_t *g, int adds,
                                     unsigned calls)
{
    *dense_cache_slot(caller, g) =
        (dense_entry_t){handle, caller, g->m, g->n, g->k, g->lda, g->ldb, g->ta, g->tb, adds, calls};
}

/* A product that is known by its descriptions: whose calls they were that had this A, and a D of these
 * extents. Three questions in place of eleven; the descriptions' own addresses are used again for others. */
typedef struct dense_cache_lt {
    const void *stream, *caller, *a;
    int64_t m, n;
} dense_lt_key_t;

/* Upper bits of a hash, and the place in dense_cache. Room that every thread of a program has from the
 * start is scarce, and a mistake only forwards some calls. */
extern _Thread_local uint64_t dense_cache_lt[DENSE_CACHE_SIZE] __attribute__((tls_model("initial-exec")));

static inline uint64_t dense_lt_hash(const dense_lt_key_t *x)
{
    uint64_t h = (uint64_t)(uintptr_t)x->a ^ (uint64_t)(uintptr_t)x->caller << 20 ^ (uint64_t)x->m << 44;
    h = (h ^ h >> 29) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)x->n ^ (uint64_t)(uintptr_t)x->stream << 13;
    h *= UINT64_C(0xBF58476D1CE4E5B9);
    return h ^ h >> 32;
}

static inline bool dense_lt_take(const dense_lt_key_t *x)
{
    uint64_t hash = dense_lt_hash(x), kept = dense_cache_lt[hash % DENSE_CACHE_SIZE];
    dense_entry_t *s = &dense_cache[kept % DENSE_CACHE_SIZE]; /* it may have become another's since */
    if (kept / DENSE_CACHE_SIZE != hash / DENSE_CACHE_SIZE || !s->left || s->m != x->m || s->n != x->n ||
        s->handle != x->stream || s->caller != x->caller)
        return false;
    s->left--;
    return true;
}

static inline void dense_lt_keep(const dense_lt_key_t *x, const gemm_args_t *g)
{
    uint64_t hash = dense_lt_hash(x), sc = (uint64_t)(dense_cache_slot(x->caller, g) - dense_cache);
    dense_cache_lt[hash % DENSE_CACHE_SIZE] = hash / DENSE_CACHE_SIZE * DENSE_CACHE_SIZE + sc;
}

#endif
