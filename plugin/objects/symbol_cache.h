/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What stands behind a symbol that a drop-in library exports, found once for each loaded object that calls
 * it.
 *
 * A process can hold several libraries with the same symbols (each Python package brings its own), so an
 * answer belongs to a symbol and to the object that calls it. Answers are kept for ever in a list that only
 * grows: reading it takes no lock and writes nothing. */
#ifndef LACUNA_PLUGIN_SYMBOL_CACHE_H
#define LACUNA_PLUGIN_SYMBOL_CACHE_H

#include "shared_objects.h"

#include <stdatomic.h>
#include <stddef.h>

/* The beginning of what a drop-in library wants to know. */
typedef struct resolved {
    uintptr_t lo, bytes; /* callers' addresses that it holds for */
    const struct resolved *next;
} resolved_t;

typedef struct exported_symbol {
    const char *name;
    bool wide; /* its integers have 64 bits, as far as the name says */
    _Atomic(const resolved_t *) known;
} exported_symbol_t;

static inline bool resolved_holds_for(const resolved_t *resolved, const void *caller)
{
    return (uintptr_t)caller - resolved->lo < resolved->bytes;
}

/* An empty answer of `size` bytes for a caller in `object` (NULL: in none), to be filled in and then kept; or
 * `unkept`, emptied, where it is not to be kept, there are too many already, or there is no memory. */
resolved_t *resolved_new(const exported_symbol_t *symbol, const object_t *object, const void *caller,
                         bool keep, resolved_t *unkept, size_t size);

void resolved_keep(exported_symbol_t *symbol, resolved_t *resolved);

#endif
