/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A list of answers, pushed to without a lock. */
#include "symbol_cache.h"

#include <stdlib.h>
#include <string.h>

enum { RESOLVED_MAX = 64, PAGE = 4096 };

static int answers(const exported_symbol_t *symbol)
{
    int count = 0;
    for (const resolved_t *a = atomic_load(&symbol->known); a; a = a->next) count++;
    return count;
}

/* Code made at run time belongs to no object: there the answer holds for one page, and pages may be many, so
 * that past RESOLVED_MAX an answer is not kept. A caller may be unloaded and another object take its place:
 * it inherits the answer, which stays valid because what was found is pinned. */
resolved_t *resolved_new(const exported_symbol_t *symbol, const object_t *object, const void *caller,
                         bool keep, resolved_t *unkept, size_t size)
{
    resolved_t *resolved = keep && answers(symbol) < RESOLVED_MAX ? calloc(1, size) : NULL;
    if (!resolved) resolved = memset(unkept, 0, size);
    resolved->lo = object ? object->lo : (uintptr_t)caller / PAGE * PAGE;
    resolved->bytes = object ? object->hi - object->lo : PAGE;
    return resolved;
}

void resolved_keep(exported_symbol_t *symbol, resolved_t *resolved)
{
    const resolved_t *first = atomic_load(&symbol->known);
    do resolved->next = first;
    while (!atomic_compare_exchange_weak(&symbol->known, &first, resolved));
}
