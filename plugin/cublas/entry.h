/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A call on its way through this library: what its handler in entries.c, and the file that knows its shape,
 * do with it. */
#ifndef LACUNA_PLUGIN_CUBLAS_ENTRY_H
#define LACUNA_PLUGIN_CUBLAS_ENTRY_H

#include "args.h"
#include "context.h"
#include "resolve.h"

#include <stddef.h>

/* This thread's calls in progress through this library; above 0, a call is a cuBLAS's own. A call that is
 * left by longjmp would never be counted back: from then on that thread's calls are forwarded. */
extern _Thread_local int calls_in_progress __attribute__((tls_model("initial-exec")));

/* A call on its way through. */
typedef struct call {
    const char *symbol;
    const void *caller;
    const cublas_fn_t *next_fn;
    bool capture_lost;       /* a capture that could not be continued */
    stream_context_t *timed; /* kept while cuBLAS serves a call that is being timed; else NULL */
} call_t;

/* False, for the caller's sake: the call is not ours, and why. */
static inline bool passed_on(const call_t *call, lac_pass_t why)
{
    lac_interpose_count_passthrough(call->symbol, why);
    return false;
}

/* Whether the call is the program's own, and worth reading. */
static inline bool call_begin(call_t *call, exported_symbol_t *symbol, const void *caller)
{
    *call = (call_t){symbol->name, caller, cublas_fn_of(symbol, caller), false, NULL};
    if (calls_in_progress || !call->next_fn->found.fn) return false;
    return call->next_fn->found.forward_only ? passed_on(call, LAC_PASS_VENDOR) : true;
}

/* FORWARD(call, type, arguments): the call as it came. */
#define FORWARD(call, type, ...)                                                                             \
    (forward_begin(call) ? forward_end(call, ((type *)(call)->next_fn->found.fn)(__VA_ARGS__))               \
                         : forward_error(call))

static inline bool forward_begin(const call_t *call)
{
    bool can = call->next_fn->found.fn && !call->capture_lost;
    calls_in_progress += can;
    return can;
}

static inline int forward_end(const call_t *call, int status)
{
    calls_in_progress--;
    if (call->timed) stream_context_served(call->timed);
    return status;
}

static inline int forward_error(const call_t *call)
{
    return call->capture_lost ? CUBLAS_EXECUTION_FAILED : CUBLAS_NOT_INITIALIZED;
}

/* The context of the call's stream, entered; NULL, and why, where it has none. */
static inline stream_context_t *call_enter(void *stream, int math, lac_pass_t *why)
{
    stream_context_t *sc = stream_context_enter(stream, math, why);
    calls_in_progress += sc != NULL;
    return sc;
}

/* A product that has no context; true where that is because it is being captured, and both paths of it now
 * are in the recording. */
bool call_capture(call_t *call, void *stream, int math, const lac_gemm_args_t *g, lac_pass_t why);

/* Leaves the context, unless the call goes to cuBLAS and is being timed. Returns `done` as true or false. */
static inline bool call_leave(call_t *call, stream_context_t *sc, int done)
{
    calls_in_progress--;
    if (!done && lac_interpose_timing_pending(sc->ctx))
        stream_context_pause(call->timed = sc);
    else
        stream_context_leave(sc);
    return done != 0;
}

/* A cublasLtMatmul and a cusparseSpMM as they came. */
typedef struct lt_call {
    LT_MATMUL_MEMBERS;
} lt_call_t;
typedef struct spmm_call {
    SPMM_MEMBERS;
} spmm_call_t;

/* True where Lacuna has queued the product; false where the call is cuBLAS's, or cuSPARSE's. */
bool lacuna_gemm(call_t *call, void *handle, cublas_args_t *x);
bool lacuna_lt_matmul(call_t *call, const lt_call_t *lt);
bool lacuna_spmm(call_t *call, const spmm_call_t *spmm);

/* Calls that are known to be declined, counted down by each thread for itself.
 *
 * A site found dense stays so until its next probe, many calls later. Till then a call needs neither the
 * handle's state nor a context, and forwarding it is right whatever has changed since. */

enum {
    DENSE_CACHE_SIZE = 16,
    DENSE_CACHE_GRANT_MAX = 64
}; /* shapes of a thread; calls that are granted at once */

typedef struct dense_entry {
    const void *key, *caller; /* the handle or, of cuBLASLt, the stream */
    int64_t m, n, k, a_line, b_line;
    int adds;
    unsigned short left, granted; /* of which so many are left */
} dense_entry_t;

extern _Thread_local dense_entry_t dense_cache[DENSE_CACHE_SIZE] __attribute__((tls_model("initial-exec")));

static inline dense_entry_t *dense_cache_slot(const lac_gemm_args_t *g)
{
    uint64_t mix =
        (uint64_t)(uintptr_t)g->caller ^ (uint64_t)g->m * 31 ^ (uint64_t)g->n * 1009 ^ (uint64_t)g->k * 65521;
    return &dense_cache[(mix ^ mix >> 7 ^ mix >> 17) % DENSE_CACHE_SIZE];
}

/* The stride that is not 1, and which of the two it is. */
static inline int64_t dense_cache_line(const lac_matrix_args_t *x)
{
    return x->rs == 1 ? x->cs : -x->rs;
}

static inline bool dense_cache_matches(const dense_entry_t *s, const void *key, const lac_gemm_args_t *g)
{
    return s->key == key && s->caller == g->caller && s->m == g->m && s->n == g->n && s->k == g->k &&
           s->a_line == dense_cache_line(&g->a) && s->b_line == dense_cache_line(&g->b) && s->adds == g->adds;
}

/* True where this call is one of those. */
static inline bool dense_cache_take(const void *key, const lac_gemm_args_t *g)
{
    dense_entry_t *s = dense_cache_slot(g);
    if (!s->left || !dense_cache_matches(s, key, g)) return false;
    s->left--;
    return true;
}

/* So many more calls like this one are to be declined. */
static inline void dense_cache_grant(const void *key, const lac_gemm_args_t *g, unsigned calls)
{
    *dense_cache_slot(g) = (dense_entry_t){key,
                                           g->caller,
                                           g->m,
                                           g->n,
                                           g->k,
                                           dense_cache_line(&g->a),
                                           dense_cache_line(&g->b),
                                           g->adds,
                                           (unsigned short)calls,
                                           (unsigned short)calls};
}

/* The calls like this one that were granted and have been made since; of an entry that another took over,
 * nobody knows. */
static inline unsigned dense_cache_made(const void *key, const lac_gemm_args_t *g)
{
    const dense_entry_t *s = dense_cache_slot(g);
    return dense_cache_matches(s, key, g) ? (unsigned)(s->granted - s->left) : 0;
}

/* A product that is known by its descriptions: whose calls they were that had this A, and a D of these
 * extents. Three questions in place of eleven; the descriptions' own addresses are used again for others. */
typedef struct dense_cache_lt {
    const void *stream, *caller, *a;
    int64_t m, n;
} dense_lt_key_t;

/* Upper bits of a hash, and the slot in dense_cache. Room that every thread of a program has from the
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
        s->key != x->stream || s->caller != x->caller)
        return false;
    s->left--;
    return true;
}

static inline void dense_lt_keep(const dense_lt_key_t *x, const lac_gemm_args_t *g)
{
    uint64_t hash = dense_lt_hash(x), sc = (uint64_t)(dense_cache_slot(g) - dense_cache);
    dense_cache_lt[hash % DENSE_CACHE_SIZE] = hash / DENSE_CACHE_SIZE * DENSE_CACHE_SIZE + sc;
}

#endif
