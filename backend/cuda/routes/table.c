/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The route table of the CUDA backend: the rows that routes.def names. */
#include "routes.h"

static const lac_route_t *const routes[] = {
#define LAC_ROUTE(name, role, host, cuda, text) LAC_LIST_##cuda(lac_cuda_route_##name)
#include "route/routes.def"
#undef LAC_ROUTE
};
_Static_assert(sizeof routes / sizeof *routes <= LAC_ROUTES_MAX, "a site has room for every row");

const lac_route_t *const *lac_cuda_routes(int *count)
{
    *count = (int)(sizeof routes / sizeof *routes);
    return routes;
}
