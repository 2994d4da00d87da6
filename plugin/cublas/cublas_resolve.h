/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cuBLAS behind a symbol: the function that a caller would have reached without this library.
 *
 * A process can hold more than one cuBLAS (each Python package brings its own), so the answer belongs to a
 * symbol and to the loaded object that calls it. Answers are kept for ever in a list that only grows: reading
 * it takes no lock and writes nothing. */
#ifndef LACUNA_CUBLAS_RESOLVE_H
#define LACUNA_CUBLAS_RESOLVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is asked of a handle, a description or a layout. Nothing of it is ever set. */
typedef struct getters {
    int (*stream)(void *handle, void **stream);
    int (*pointer_mode)(void *handle, int *mode);
    int (*math_mode)(void *handle, int *mode);
    int (*lt_product)(const void *desc, int attribute, void *value, size_t bytes, size_t *written);
    int (*lt_layout)(const void *layout, int attribute, void *value, size_t bytes, size_t *written);
} getters_t;

typedef struct behind {
    uintptr_t lo, bytes; /* callers' addresses that this answer holds for                     */
    void *fn;            /* the function; NULL when no cuBLAS was found anywhere              */
    getters_t get;       /* of the same library; NULL where it lacks one                      */
    bool forward_only;   /* the caller is a library of the vendor's, whose calls are its own affair */
    const struct behind *next;
} behind_t;

typedef struct cublas_symbol {
    const char *name;
    bool wide; /* its integers have 64 bits */
    _Atomic(const behind_t *) known;
} cublas_symbol_t;

/* The slow half of behind_of: searches, and keeps what it found. Never NULL. */
const behind_t *behind_search(cublas_symbol_t *symbol, const void *caller);

static inline const behind_t *behind_of(cublas_symbol_t *symbol, const void *caller)
{
    const behind_t *b = atomic_load_explicit(&symbol->known, memory_order_acquire);
    for (; b; b = b->next)
        if ((uintptr_t)caller - b->lo < b->bytes) return b;
    return behind_search(symbol, caller);
}

/* A function of the CUDA driver that this process has loaded; NULL where it has loaded none. */
void *driver_symbol(const char *name);

/* Present in every library that Lacuna puts in front of cuBLAS: none of them is what stands behind. */
void lacuna_cublas_marker(void);

#endif
