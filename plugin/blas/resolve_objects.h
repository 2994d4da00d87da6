/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Questions about the objects (program and shared libraries) that are loaded in this process. */
#ifndef LACUNA_RESOLVE_OBJECTS_H
#define LACUNA_RESOLVE_OBJECTS_H

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

/* Whether this is this library or another drop-in library of Lacuna. */
bool object_is_lacuna(const object_t *object);

/* Keeps the object loaded for as long as the process lives. */
void object_pin(const object_t *object);

/* Judged by the file's name: a BLAS with 64-bit integers behind the plain symbol names, as Debian's
 * libopenblas64, libblas64 and oneMKL's ilp64 layer are. */
bool object_is_wide_blas(const object_t *object);

/* Calls visit for each loaded library whose file name is that of a BLAS, in load order, until it returns
 * true; at most 32 of them. */
bool objects_visit_blas(bool (*visit)(const object_t *object, void *arg), void *arg);

/* Present, with this meaning, in every library that Lacuna puts in front of a BLAS; the core skips a library
 * that has it when it looks for the BLAS of the dense route. A function, since data of one name in two libraries
 * is what the address sanitizer objects to. */
void lacuna_blas_marker(void);

#endif
