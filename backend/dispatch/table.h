/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The one list of routes and backends. */
#ifndef LACUNA_DISPATCH_TABLE_H
#define LACUNA_DISPATCH_TABLE_H

#include "../model/backend.h"

/* The routes of a backend, in the order of a tie, the fallback last; *count is how many. */
const lac_route_t *const *lac_route_table(const lac_backend_t *backend, int *count);

#endif
