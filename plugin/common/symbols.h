/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the drop-in libraries share: the objects that are loaded in this process, and the cache of symbols
 * found in them. */
#ifndef LACUNA_PLUGIN_COMMON_SYMBOLS_H
#define LACUNA_PLUGIN_COMMON_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct object {
    uintptr_t base;   /* load address: tells objects apart                       */
    uintptr_t lo, hi; /* where its segments lie                                  */
    const char *path; /* "" for the program; valid while the object stays loaded */
} object_t;

/* The object that an address lies in; false for code made at run time. */
bool object_of(const void *address, object_t *object);

/* A symbol as the object itself would find it: in it, then in what it was linked against. NULL: none. */
void *object_symbol(const object_t *object, const char *name);

/* Whether the object itself has the symbol, and not only what it was linked against. */
bool object_defines(const object_t *object, const char *name);

/* Its path without the folders. */
const char *object_file_name(const object_t *object);

/* Keeps the object loaded for as long as the process lives. */
void object_pin(const object_t *object);

/* Calls visit for each loaded object that matches, in load order, until it returns true; at most 32 of them.
 */
bool objects_visit(bool (*match)(const object_t *object), bool (*visit)(const object_t *object, void *arg),
                   void *arg);

/* What stands behind a symbol that a drop-in library exports, found once for each loaded object that calls
 * it.
 *
 * A process can hold several libraries with the same symbols (each Python package brings its own), so an
 * answer belongs to a symbol and to the object that calls it. Answers are kept for ever in a list that only
 * grows: reading it takes no lock and writes nothing. */

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
