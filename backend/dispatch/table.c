/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The route table: every route that a context can take, in the order of a tie; the fallback last. */
#include "table.h"
#include "../host/host_routes.h"

/* clang-format off */
static const lac_route_t *const host_routes[] = {
    &lac_route_trivial,       /* nothing to sum                                             */
    &lac_route_event_left,    /* A sparse, few rows: gather the active rows of B            */
    &lac_route_event_right,   /* B sparse, few columns: gather the active columns of A      */
    &lac_route_bitmask_left,  /* A frozen and half empty, B short                           */
    &lac_route_bitmask_right, /* B frozen and half empty, A short                           */
    &lac_route_csr_left,      /* A sparse, any shape                                        */
    &lac_route_csr_right,     /* B sparse, any shape                                        */
    &lac_route_reference,     /* summed in double; only when forced                         */
    &lac_route_dense,         /* the system's BLAS                                          */
    &lac_route_native,         /* our own dense kernel, where there is no BLAS: always legal */
};
/* clang-format on */
_Static_assert(sizeof host_routes / sizeof *host_routes <= LAC_ROUTES_MAX, "a site has room for every row");

const lac_route_t *const *lac_route_table(const lac_backend_t *backend, int *count)
{
    if (backend->routes) return backend->routes(count);
    *count = (int)(sizeof host_routes / sizeof *host_routes);
    return host_routes;
}
