/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a fake cuBLAS remembers of the calls that reached it. */
#ifndef LACUNA_FAKE_CUBLAS_H
#define LACUNA_FAKE_CUBLAS_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_SLOTS = 24, FAKE_STATUS = 7 }; /* what every call returns */

/* This thread's calls since the last fake_take. */
typedef struct fake_record {
    int calls, getters, setters, attributes;
    const char *first, *last; /* the first and the last function called                */
    bool through_plugin;      /* the last one was called by a drop-in library of ours  */
    int64_t slot[FAKE_SLOTS]; /* the last one's arguments, in the order of its parameters, narrowed */
} fake_record_t;

/* What a handle says of itself, whichever it is; a getter named in `fails` by its bit gives an error.
 * Exported as `fake_handle`, found with dlsym. */
enum { FAKE_STREAM = 1, FAKE_POINTER_MODE = 2, FAKE_MATH_MODE = 4 };
typedef struct fake_handle {
    void *stream;
    int scalars, math, fails;
} fake_handle_t;

/* A description of a product, or a layout: its attributes by number. One that is FAKE_UNREADABLE is not to be
 * had. */
enum { FAKE_ATTRIBUTES = 40, FAKE_UNREADABLE = -12345 };
typedef struct fake_attributes {
    int64_t value[FAKE_ATTRIBUTES];
} fake_attributes_t;

/* Exported by every fake cuBLAS, and found with dlsym. */
typedef fake_record_t fake_take_fn(void);

/* What a library that is loaded already exports; NULL: nothing of that name. */
static inline void *fake_symbol(const char *library, const char *symbol)
{
    void *fake = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    return fake ? dlsym(fake, symbol) : NULL;
}

#endif
