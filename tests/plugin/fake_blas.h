/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a fake BLAS remembers of the calls that reached it. */
#ifndef LACUNA_FAKE_BLAS_H
#define LACUNA_FAKE_BLAS_H

#include <stdint.h>

enum { FAKE_ARGUMENTS = 15 };

/* This thread's calls since the last fake_take. Letters, integers, addresses and the bits of floats, in the
 * order of the parameters, hidden lengths last. */
typedef struct fake_record {
    int calls;
    const char *first, *last; /* the first and the last function called */
    int64_t argument[FAKE_ARGUMENTS];
} fake_record_t;

/* Exported by every fake BLAS, and found with dlsym. */
typedef fake_record_t fake_take_fn(void);

#endif
