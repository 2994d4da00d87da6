/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One handler per shape of call; entries.c makes the exported symbols from symbols.def and
 * calls these.
 *
 * Every handler does the same: find the cuBLAS behind; where the call is the program's own (neither a cuBLAS
 * calling itself nor cuSOLVER), read the arguments and ask Lacuna; where it declines, or something was not
 * understood, forward verbatim. Now and then what cuBLAS takes for a declined call is timed. */
#ifndef LACUNA_PLUGIN_CUBLAS_ENTRY_H
#define LACUNA_PLUGIN_CUBLAS_ENTRY_H

#include "args.h"
#include "context.h"
#include "resolve.h"
#include "api/interpose.h"

#include <stddef.h>

int enter_sgemm(exported_symbol_t *symbol, const void *caller, SGEMM_PARAMS);
int enter_sgemv(exported_symbol_t *symbol, const void *caller, SGEMV_PARAMS);
int enter_sgemm_strided(exported_symbol_t *symbol, const void *caller, SGEMM_STRIDED_PARAMS);
int enter_sgemm_batched(exported_symbol_t *symbol, const void *caller, SGEMM_BATCHED_PARAMS);
int enter_gemm_ex(exported_symbol_t *symbol, const void *caller, GEMM_EX_PARAMS);
int enter_gemm_strided_ex(exported_symbol_t *symbol, const void *caller, GEMM_STRIDED_EX_PARAMS);
int enter_lt_matmul(exported_symbol_t *symbol, const void *caller, LT_MATMUL_PARAMS);
int enter_spmm(exported_symbol_t *symbol, const void *caller, SPMM_PARAMS);

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

/* FORWARD(ask, type, arguments): the call as it came. */
#define FORWARD(call, type, ...)                                                                             \
    ((call)->capture_lost                                                                                    \
         ? CUBLAS_EXECUTION_FAILED                                                                           \
         : (calls_in_progress++,                                                                             \
            served(call, (call)->next_fn->found.fn ? ((type *)(call)->next_fn->found.fn)(__VA_ARGS__)        \
                                                   : CUBLAS_NOT_INITIALIZED)))
static inline int served(const call_t *call, int status)
{
    calls_in_progress--;
    if (call->timed) stream_context_served(call->timed);
    return status;
}

/* The place of the call, entered; NULL, and why, where it has none. */
static inline stream_context_t *call_enter(void *stream, int math, lac_pass_t *why)
{
    stream_context_t *sc = stream_context_enter(stream, math, why);
    calls_in_progress += sc != NULL;
    return sc;
}

/* A product that has no place; true where that is because it is being captured, and both ways of it now are
 * in the recording. */
bool call_capture(call_t *call, void *stream, int math, const gemm_args_t *g, const lac_residual_t *residual,
                  lac_pass_t why);

/* Leaves the place, unless the call goes to cuBLAS and is being timed. Returns `done` as true or false. */
static inline bool call_leave(call_t *call, stream_context_t *sc, int done)
{
    calls_in_progress--;
    if (!done && lac_interpose_timing_pending(sc->ctx))
        stream_context_pause(call->timed = sc);
    else
        stream_context_leave(sc);
    return done != 0;
}

/* True where Lacuna has queued the product. */
bool lacuna_gemm(call_t *call, void *handle, gemm_args_t *g);

/* Calls that are known to be declined, counted down by each thread for itself.
 *
 * A place found dense stays so until its next look, many calls later. Till then a call needs neither the
 * handle's state nor a context, and forwarding it is right whatever has changed since. */

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
