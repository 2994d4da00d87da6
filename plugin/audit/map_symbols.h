/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The exported functions of an object in another namespace, which dlsym does not reach. */
#ifndef LACUNA_AUDIT_MAP_SYMBOLS_H
#define LACUNA_AUDIT_MAP_SYMBOLS_H

#include <link.h>

/* Where an object has a function that it exports; 0: it has none of that name. */
uintptr_t map_function(const struct link_map *map, const char *name);

#endif
