/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Questions about the objects (program and shared libraries) that are loaded in this process. */
#ifndef LACUNA_PLUGIN_SHARED_OBJECTS_H
#define LACUNA_PLUGIN_SHARED_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
