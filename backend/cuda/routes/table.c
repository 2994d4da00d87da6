/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The route table of the CUDA backend: every route that its contexts can take. */
#include "routes.h"

/* clang-format off */
static const lac_route_t *const routes[] = {
    &lac_cuda_route_trivial,     /* nothing to sum                                           */
    &lac_cuda_route_event_left,  /* A sparse, few rows: gather the active rows of B          */
    &lac_cuda_route_event_right, /* B sparse, few columns: gather the active columns of A    */
    &lac_cuda_route_bitmask_left,  /* A frozen and half empty, B short                     */
    &lac_cuda_route_bitmask_right, /* B frozen and half empty, A short                     */
    &lac_cuda_route_csr_left,    /* A sparse, any shape                                      */
    &lac_cuda_route_csr_right,   /* B sparse, any shape                                      */
    &lac_cuda_route_cusparse_left,  /* A sparse, its nonzeros counted: cuSPARSE              */
    &lac_cuda_route_cusparse_right, /* B sparse, its nonzeros counted                        */
    &lac_cuda_route_tiles_left,  /* A dense with zeros, both sides long: tensor cores        */
    &lac_cuda_route_tiles_right, /* the same of B                                            */
    &lac_cuda_route_reference,   /* summed in double; only when forced                       */
    &lac_cuda_route_dense,       /* cuBLAS                                                   */
    &lac_cuda_route_native,       /* our own dense kernel: no cuBLAS, or seen to be faster    */
};
/* clang-format on */
_Static_assert(sizeof routes / sizeof *routes <= LAC_ROUTES_MAX, "a site has room for every row");

const lac_route_t *const *lac_cuda_routes(int *count)
{
    *count = (int)(sizeof routes / sizeof *routes);
    return routes;
}
