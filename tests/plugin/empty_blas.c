/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS whose calls return at once: what a call through a drop-in library takes is then that library's. */
#define SYMBOL(shape, name, wide)                                                                            \
    __attribute__((visibility("default"))) void name(void);                                                  \
    void name(void) {}
#include "blas/symbols.def"
