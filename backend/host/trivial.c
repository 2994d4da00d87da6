/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The trivial route: nothing to sum, so c is only scaled. */
#include "host_exec.h"
#include "host_routes.h"

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    bool nothing = p->m == 0 || p->n == 0 || p->k == 0 || p->alpha == 0.0f;
    return nothing ? LAC_FITS : LAC_REFUSED_NOT_TRIVIAL;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    return 4.0 * (double)p->m * (double)p->n / (machine->row_gbps * 1e3);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return 0;
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)route, (void)exec, (void)out;
    if (p->beta == 1.0f) return LAC_OK;
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            float *c = &p->c[i * p->crs + j * p->ccs];
            *c = p->beta == 0.0f ? 0.0f : p->beta * *c;
        }
    return LAC_OK;
}

const lac_route_t lac_route_trivial = {
    "trivial", LAC_ROLE_TRIVIAL, LAC_SIDE_NONE, applicable, cost_us, bytes, run, NULL};
