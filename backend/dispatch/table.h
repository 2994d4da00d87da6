/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The one list of routes. */
#ifndef LACUNA_DISPATCH_TABLE_H
#define LACUNA_DISPATCH_TABLE_H

#include "../model/route.h"

extern const lac_route_t *const lac_route_table[];
extern const int lac_route_count;

#endif
