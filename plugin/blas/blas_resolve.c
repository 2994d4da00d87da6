/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The search for the BLAS behind a symbol, in the order in which the dynamic linker would have looked. */
#define _GNU_SOURCE
#include "blas_resolve.h"
#include "blas_objects.h"

#include "lacuna/interpose.h"

#include <dlfcn.h>
#include <errno.h>

enum { SHUNNED_MAX = 8 };

_Thread_local blas_guard_t blas_guard __attribute__((tls_model("initial-exec")));

/* Load addresses of the switchboards that were seen to lead back here. */
static _Atomic(uintptr_t) shunned_object[SHUNNED_MAX];

static bool is_shunned(uintptr_t base)
{
    for (int i = 0; i < SHUNNED_MAX; i++)
        if (atomic_load(&shunned_object[i]) == base) return true;
    return false;
}

typedef struct quest {
    const exported_symbol_t *symbol;
    behind_t *answer;
} quest_t;

/* Takes fn as the answer, unless it is ours, another Lacuna library's, or a switchboard's. */
static bool accept(quest_t *quest, void *fn)
{
    object_t object = {0};
    if (!fn || !object_of(fn, &object)) return false;
    if (is_shunned(object.base) || object_is_lacuna(&object)) return false;
    object_pin(&object);
    quest->answer->fn = fn;
    quest->answer->object = object.base;
    quest->answer->wide = quest->symbol->wide || object_is_wide_blas(&object);
    return true;
}

/* A BLAS that is loaded, though the caller was not linked against it. Behind a plain name, one with 64-bit
 * integers cannot be what the caller means. */
static bool accept_loaded(const object_t *object, void *arg)
{
    quest_t *quest = arg;
    if (!quest->symbol->wide && object_is_wide_blas(object)) return false;
    return accept(quest, object_symbol(object, quest->symbol->name));
}

/* The scopes in the linker's order: what was loaded after this library in the global scope; then the
 * caller's own scope, which is where a Python extension (RTLD_LOCAL) has its BLAS. A caller that brought
 * none (it was handed this function's address) gets a BLAS of the process; one that stands in front of
 * nothing, the BLAS of the dense route. */
static void search(quest_t *quest, const object_t *caller)
{
    const char *name = quest->symbol->name;
    if (accept(quest, dlsym(RTLD_NEXT, name))) return;
    if (caller && accept(quest, object_symbol(caller, name))) return;
    if (objects_visit(object_is_blas, accept_loaded, quest)) return;
    accept(quest, lac_blas_symbol(name));
}

void behind_break_loop(exported_symbol_t *symbol)
{
    uintptr_t base = blas_guard.last ? blas_guard.last->object : 0;
    for (int i = 0; base && i < SHUNNED_MAX; i++) {
        uintptr_t empty = 0;
        if (atomic_compare_exchange_strong(&shunned_object[i], &empty, base) || empty == base) break;
    }
    for (const answer_t *a = atomic_load(&symbol->known); base && a; a = a->next) {
        behind_t *b = (behind_t *)(uintptr_t)a;
        if (b->object == base) atomic_store(&b->shunned, true);
    }
    blas_guard.depth = 1; /* still inside a call; the frames above restore their own counts */
    blas_guard.strays = 0;
}

/* This library calls none of its own symbols: a call that seems to come from here was forwarded to a
 * switchboard, which jumped back. */
static bool is_own(const object_t *object)
{
    return (uintptr_t)shunned_object - object->lo < object->hi - object->lo;
}

const behind_t *behind_search(exported_symbol_t *symbol, const void *caller)
{
    static _Thread_local behind_t unkept;
    int saved_errno = errno;
    object_t found = {0}, *object = object_of(caller, &found) ? &found : NULL;
    bool looped = object && is_own(object);
    if (looped) behind_break_loop(symbol);
    behind_t *b = (behind_t *)answer_new(symbol, object, caller, !looped, &unkept.answer, sizeof unkept);
    b->wide = symbol->wide;
    search(&(quest_t){symbol, b}, object);
    if (b != &unkept) answer_keep(symbol, &b->answer);
    (void)dlerror(); /* a failed look-up of ours is not the program's error */
    errno = saved_errno;
    return b;
}
