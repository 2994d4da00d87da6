/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The finder of symbols that the drop-in libraries share: the objects that are loaded in this process, and
 * the search for the function behind an exported symbol. */
#ifndef LACUNA_PLUGIN_COMMON_SYMBOLS_H
#define LACUNA_PLUGIN_COMMON_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdatomic.h>
#include <stddef.h>

typedef struct object {
    uintptr_t base;   /* load address: identifies the object                     */
    uintptr_t lo, hi; /* where its segments lie                                  */
    const char *path; /* "" for the program; valid while the object stays loaded */
} object_t;

/* A symbol as the object itself would find it: in it, then in what it was linked against. NULL: none. */
void *object_symbol(const object_t *object, const char *name);

/* Its path without the folders. */
const char *object_file_name(const object_t *object);

/* True where its file name begins with one of the stems, the last of which is followed by NULL. */
bool object_is_named(const object_t *object, const char *const *stems);

/* The symbol of the first loaded object that is so named and has it; NULL: none. */
void *loaded_symbol(const char *const *stems, const char *name);

/* The function behind an exported symbol: what callers in one object would have reached without the drop-in
 * library.
 *
 * A process can hold several libraries with the same symbols (each Python package brings its own), so an
 * answer belongs to a symbol and to the object that calls it. Answers are kept for ever in a list that only
 * grows: reading it takes no lock and writes nothing. */
typedef struct next_fn {
    uintptr_t lo, bytes; /* callers' addresses that it holds for */
    const struct next_fn *next;
    void *fn;             /* the function; NULL when none was found anywhere                       */
    uintptr_t object;     /* load address of the library that holds fn                             */
    bool wide;            /* its integers have 64 bits                                             */
    bool forward_only;    /* the caller is a library of the vendor's, whose calls are left alone   */
    atomic_bool excluded; /* it leads back to the drop-in library: search again                    */
} next_fn_t;

typedef struct exported_symbol {
    const char *name;
    bool wide; /* its integers have 64 bits, as far as the name says */
    _Atomic(const next_fn_t *) known;
} exported_symbol_t;

/* How the searches of the drop-in libraries differ. Members after may_answer can be NULL. */
typedef struct finder {
    const char *marker; /* exported by every drop-in library for these symbols: none of them is the answer */
    size_t bytes;       /* of an answer, which begins with a next_fn_t                                      */

    /* This thread's room for an answer that is not kept; a library's own, since such room is scarce. */
    next_fn_t *(*unkept)(void);

    /* Whether a loaded library may serve a caller that was linked against none. */
    bool (*may_answer)(const exported_symbol_t *symbol, const object_t *object);

    /* The vendor's own libraries: their calls are only forwarded; and where several versions of one are
     * loaded, a caller reaches the version that it was linked against. */
    bool (*is_vendor)(const object_t *object);

    /* Libraries that were seen to lead back here. */
    bool (*is_excluded)(const object_t *object);

    /* Where no loaded library has the symbol. */
    void *(*fallback)(const char *name);

    /* Fills in the rest of an answer that was found in `object`. */
    void (*complete)(const exported_symbol_t *symbol, next_fn_t *answer, const object_t *object);

    /* The drop-in library calls none of its own symbols: one that seems to was jumped to by a library that it
     * was forwarded to. */
    void (*break_loop)(exported_symbol_t *symbol);
} finder_t;

/* The answer that is known for a caller; NULL: none yet. */
static inline const next_fn_t *next_fn_known(const exported_symbol_t *symbol, const void *caller)
{
    const next_fn_t *b = atomic_load_explicit(&symbol->known, memory_order_acquire);
    while (b && ((uintptr_t)caller - b->lo >= b->bytes ||
                 atomic_load_explicit(&b->excluded, memory_order_relaxed)))
        b = b->next;
    return b;
}

/* The slow half: searches, and keeps what it found. Never NULL. Leaves errno and dlerror as they were. */
const next_fn_t *next_fn_search(const finder_t *finder, exported_symbol_t *symbol, const void *caller);

#endif
