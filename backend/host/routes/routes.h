/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The routes of the host, one file each; routes.def lists them. */
#ifndef LACUNA_HOST_ROUTES_ROUTES_H
#define LACUNA_HOST_ROUTES_ROUTES_H

#include "route/route.h"

#define LAC_ROUTE(name, role, host, cuda, text) LAC_DECLARE_##host(lac_host_route_##name)
#include "route/routes.def"
#undef LAC_ROUTE

/* Their table, in the order of a tie, the fallback last. */
const lac_route_t *const *lac_host_routes(int *count);

#endif
