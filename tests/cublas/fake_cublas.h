/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The handles and the descriptions of a fake cuBLAS. */
#ifndef LACUNA_FAKE_CUBLAS_H
#define LACUNA_FAKE_CUBLAS_H

#include "../plugin/fake_calls.h"

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

#endif
