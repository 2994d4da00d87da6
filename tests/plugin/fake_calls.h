/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a fake BLAS, cuBLAS or cuSPARSE remembers of the calls that reached it, and how a test asks for it. */
#ifndef LACUNA_FAKE_CALLS_H
#define LACUNA_FAKE_CALLS_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_SLOTS = 24, FAKE_STATUS = 7 }; /* what every call returns that returns something */

/* This thread's calls since the last fake_take. */
typedef struct fake_record {
    int calls, getters, setters, attributes;
    const char *first, *last; /* the first and the last function called               */
    bool through_plugin;      /* the last one was called by a drop-in library of ours */
    int64_t slot[FAKE_SLOTS]; /* the last one's letters, integers (narrowed), addresses and bits of floats, in
                                 the order of its parameters, hidden lengths last */
} fake_record_t;

/* Exported by every fake, and found with dlsym. */
typedef fake_record_t fake_take_fn(void);

/* What a library that is loaded already exports; NULL: nothing of that name. */
static inline void *fake_symbol(const char *library, const char *symbol)
{
    void *fake = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    return fake ? dlsym(fake, symbol) : NULL;
}

/* The record of a fake that is loaded already; -1 calls: it is not. */
static inline fake_record_t fake_taken(const char *library)
{
    fake_take_fn *take = (fake_take_fn *)fake_symbol(library, "fake_take");
    return take ? take() : (fake_record_t){.calls = -1};
}

#endif
