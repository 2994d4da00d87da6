/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The one list of routes and backends, and the loader of those that live in libraries of their own. */
#ifndef LACUNA_PLANNER_BACKENDS_H
#define LACUNA_PLANNER_BACKENDS_H

#include "route/backend.h"

/* The routes of a backend, in the order of a tie, the fallback last; *count is how many. */
const lac_route_t *const *lac_route_table(const lac_backend_t *backend, int *count);

/* Backends that live in libraries of their own. */

/* The CUDA backend, loaded on first use; NULL, with the reason in *why (which lives for ever), where there is
 * none. */
const lac_backend_t *lac_backend_cuda(const char **why);

#endif
