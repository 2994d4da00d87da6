/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Which of the loaded objects are BLASes. */
#ifndef LACUNA_BLAS_OBJECTS_H
#define LACUNA_BLAS_OBJECTS_H

#include "../objects/shared_objects.h"

/* Judged by the file's name. */
bool object_is_blas(const object_t *object);

/* Whether this is this library or another drop-in library of Lacuna. */
bool object_is_lacuna(const object_t *object);

/* Judged by the file's name: a BLAS with 64-bit integers behind the plain symbol names, as Debian's
 * libopenblas64, libblas64 and oneMKL's ilp64 layer are. */
bool object_is_wide_blas(const object_t *object);

/* Present, with this meaning, in every library that Lacuna puts in front of a BLAS; the core skips a library
 * that has it when it looks for the BLAS of the dense route. A function, since data of one name in two
 * libraries is what the address sanitizer objects to. */
void lacuna_blas_marker(void);

#endif
