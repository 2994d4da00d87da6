/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Opening shared libraries at run time: the first of several names that opens. */
#ifndef LACUNA_BASE_LIBRARY_H
#define LACUNA_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* False in a fully static executable: its dlopen would bring a second C library, and crash. */
bool lac_library_can_load(void);

/* Opens the first of `names` (up to NULL) that can be opened; it stays open for ever. NULL, with the reason
 * in why, where none can. */
void *lac_library_open(const char *const *names, char *why, size_t size);

/* A symbol, or NULL with the reason in why (which may be NULL). */
void *lac_library_symbol(void *library, const char *symbol, char *why, size_t size);

/* A call of a vendor's library, and the function pointer that is to point at it. */
typedef struct lac_library_call {
    const char *symbol; /* NULL: the end of a list */
    void *function;
    bool optional; /* NULL where the library lacks it */
} lac_library_call_t;

/* Fills in the pointers of all `calls`. False, and the first that is missing in why, where one is. */
bool lac_library_take(void *library, const char *vendor, const lac_library_call_t *calls, char *why,
                      size_t size);

/* Writes the path of `name` in the folder of the library that holds `inside`; empty where that is unknown. */
void lac_library_beside(const void *inside, const char *name, char *path, size_t size);

#endif
