/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the search for a BLAS has of its own: which loaded objects are BLASes, and BLAS demuxers. */
#define _GNU_SOURCE
#include "resolve.h"
#include "api/interpose.h"

#include <stddef.h>
#include <string.h>

__attribute__((visibility("default"))) void lacuna_blas_marker(void) {}

/* Judged by the file's name: a BLAS with 64-bit integers behind the plain symbol names, as Debian's
 * libopenblas64, libblas64 and oneMKL's ilp64 layer are. */
static bool is_wide_blas(const object_t *object)
{
    if (!lac_is_blas(object->path)) return false;
    const char *name = object_file_name(object);
    size_t stem = strcspn(name, "-."); /* before a version, or a wheel's checksum */
    for (size_t i = 3; i + 2 <= stem; i++) {
        if (strncmp(name + i, "64", 2) != 0) continue;
        bool lp64 = strncmp(name + i - 2, "lp", 2) == 0 && name[i - 3] != 'i';
        bool processor = strncmp(name + i - 2, "6_", 2) == 0 || strncmp(name + i - 2, "ch", 2) == 0;
        if (!lp64 && !processor) return true;
    }
    return false;
}

/* Behind a plain name, a BLAS with 64-bit integers cannot be what the caller means. */
static bool may_answer(const exported_symbol_t *symbol, const object_t *object)
{
    return lac_is_blas(object->path) && (symbol->wide || !is_wide_blas(object));
}

static void complete(const exported_symbol_t *symbol, next_fn_t *answer, const object_t *object)
{
    (void)symbol;
    answer->wide |= is_wide_blas(object);
}

/* BLAS demuxers. */

enum { EXCLUDED_MAX = 8 };

_Thread_local blas_guard_t blas_guard __attribute__((tls_model("initial-exec")));

/* Load addresses of those that were seen to lead back here. */
static _Atomic(uintptr_t) excluded_object[EXCLUDED_MAX];

static bool is_excluded(const object_t *object)
{
    for (int i = 0; i < EXCLUDED_MAX; i++)
        if (atomic_load(&excluded_object[i]) == object->base) return true;
    return false;
}

void next_fn_break_loop(exported_symbol_t *symbol)
{
    uintptr_t base = blas_guard.last ? blas_guard.last->object : 0;
    for (int i = 0; base && i < EXCLUDED_MAX; i++) {
        uintptr_t empty = 0;
        if (atomic_compare_exchange_strong(&excluded_object[i], &empty, base) || empty == base) break;
    }
    for (const next_fn_t *a = atomic_load(&symbol->known); base && a; a = a->next) {
        next_fn_t *b = (next_fn_t *)(uintptr_t)a;
        if (b->object == base) atomic_store(&b->excluded, true);
    }
    blas_guard.depth = 1; /* still inside a call; the frames above restore their own counts */
    blas_guard.strays = 0;
}

static next_fn_t *unkept(void)
{
    static _Thread_local next_fn_t answer;
    return &answer;
}

const finder_t blas_finder = {.marker = "lacuna_blas_marker",
                              .bytes = sizeof(next_fn_t),
                              .unkept = unkept,
                              .may_answer = may_answer,
                              .is_excluded = is_excluded,
                              .fallback = lac_blas_symbol,
                              .complete = complete,
                              .break_loop = next_fn_break_loop};
