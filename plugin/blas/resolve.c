/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Which loaded objects are BLASes, and the search for the one behind a symbol. */
#define _GNU_SOURCE
#include "resolve.h"
#include "api/interpose.h"

#include <stddef.h>
#include <string.h>
#include <dlfcn.h>
#include <errno.h>

__attribute__((visibility("default"))) void lacuna_blas_marker(void) {}

bool object_is_blas(const object_t *object)
{
    return lac_is_blas(object->path);
}

bool object_is_lacuna(const object_t *object)
{
    return object_defines(object, "lacuna_blas_marker");
}

bool object_is_wide_blas(const object_t *object)
{
    if (!object_is_blas(object)) return false;
    const char *name = object_file_name(object);
    size_t stem = strcspn(name, "-."); /* what follows is a version, or a wheel's checksum */
    for (size_t i = 3; i + 2 <= stem; i++) {
        if (strncmp(name + i, "64", 2) != 0) continue;
        bool lp64 = strncmp(name + i - 2, "lp", 2) == 0 && name[i - 3] != 'i';
        bool processor = strncmp(name + i - 2, "6_", 2) == 0 || strncmp(name + i - 2, "ch", 2) == 0;
        if (!lp64 && !processor) return true;
    }
    return false;
}

/* The search for the BLAS behind a symbol, in the order in which the dynamic linker would have looked. */

enum { EXCLUDED_MAX = 8 };

_Thread_local blas_guard_t blas_guard __attribute__((tls_model("initial-exec")));

/* Load addresses of the BLAS demuxers that were seen to lead back here. */
static _Atomic(uintptr_t) excluded_object[EXCLUDED_MAX];

static bool is_excluded(uintptr_t base)
{
    for (int i = 0; i < EXCLUDED_MAX; i++)
        if (atomic_load(&excluded_object[i]) == base) return true;
    return false;
}

typedef struct lookup {
    const exported_symbol_t *symbol;
    next_fn_t *resolved;
} lookup_t;

/* Takes fn as the answer, unless it is ours, another Lacuna library's, or a BLAS demuxer's. */
static bool accept(lookup_t *lookup, void *fn)
{
    object_t object = {0};
    if (!fn || !object_of(fn, &object)) return false;
    if (is_excluded(object.base) || object_is_lacuna(&object)) return false;
    object_pin(&object);
    lookup->resolved->fn = fn;
    lookup->resolved->object = object.base;
    lookup->resolved->wide = lookup->symbol->wide || object_is_wide_blas(&object);
    return true;
}

/* A BLAS that is loaded, though the caller was not linked against it. Behind a plain name, one with 64-bit
 * integers cannot be what the caller means. */
static bool accept_loaded(const object_t *object, void *arg)
{
    lookup_t *lookup = arg;
    if (!lookup->symbol->wide && object_is_wide_blas(object)) return false;
    return accept(lookup, object_symbol(object, lookup->symbol->name));
}

/* The scopes in the linker's order: what was loaded after this library in the global scope; then the
 * caller's own scope, which is where a Python extension (RTLD_LOCAL) has its BLAS. A caller that brought
 * none (it was handed this function's address) gets a BLAS of the process; one that stands in front of
 * nothing, the BLAS of the dense route. */
static void search(lookup_t *lookup, const object_t *caller)
{
    const char *name = lookup->symbol->name;
    if (accept(lookup, dlsym(RTLD_NEXT, name))) return;
    if (caller && accept(lookup, object_symbol(caller, name))) return;
    if (objects_visit(object_is_blas, accept_loaded, lookup)) return;
    accept(lookup, lac_blas_symbol(name));
}

void next_fn_break_loop(exported_symbol_t *symbol)
{
    uintptr_t base = blas_guard.last ? blas_guard.last->object : 0;
    for (int i = 0; base && i < EXCLUDED_MAX; i++) {
        uintptr_t empty = 0;
        if (atomic_compare_exchange_strong(&excluded_object[i], &empty, base) || empty == base) break;
    }
    for (const resolved_t *a = atomic_load(&symbol->known); base && a; a = a->next) {
        next_fn_t *b = (next_fn_t *)(uintptr_t)a;
        if (b->object == base) atomic_store(&b->excluded, true);
    }
    blas_guard.depth = 1; /* still inside a call; the frames above restore their own counts */
    blas_guard.strays = 0;
}

/* This library calls none of its own symbols: a call that seems to come from here was forwarded to a
 * BLAS demuxer, which jumped back. */
static bool is_own(const object_t *object)
{
    return (uintptr_t)excluded_object - object->lo < object->hi - object->lo;
}

const next_fn_t *next_fn_search(exported_symbol_t *symbol, const void *caller)
{
    static _Thread_local next_fn_t unkept;
    int saved_errno = errno;
    object_t found = {0}, *object = object_of(caller, &found) ? &found : NULL;
    bool looped = object && is_own(object);
    if (looped) next_fn_break_loop(symbol);
    next_fn_t *b =
        (next_fn_t *)resolved_new(symbol, object, caller, !looped, &unkept.resolved, sizeof unkept);
    b->wide = symbol->wide;
    search(&(lookup_t){symbol, b}, object);
    if (b != &unkept) resolved_keep(symbol, &b->resolved);
    (void)dlerror(); /* a failed look-up of ours is not the program's error */
    errno = saved_errno;
    return b;
}
