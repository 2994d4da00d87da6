/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The reference route: every product summed in double, to compare against; runs only when forced. */
#include "dense_view.h"
#include "host_routes.h"

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return !p->k || p->alpha == 0.0f || !p->m || !p->n ? LAC_REFUSED_TRIVIAL : LAC_FITS;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route, (void)machine;
    return 1e-3 * (double)p->m * (double)p->n * (double)p->k; /* about 1 ns each: never the cheapest */
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_dense_view_bytes(&p->a, p->m, p->k, false) + lac_dense_view_bytes(&p->b, p->k, p->n, false);
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)route, (void)out;
    lac_dense_view_t a, b;
    lac_status_t status = lac_dense_view(exec, &p->a, p->m, p->k, false, LAC_WORK_A, &a);
    if (!status) status = lac_dense_view(exec, &p->b, p->k, p->n, false, LAC_WORK_B, &b);
    if (status) return status;
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            double sum = 0.0;
            for (lac_dim_t k = 0; k < p->k; k++)
                sum += (double)a.buf[i * a.rs + k * a.cs] * (double)b.buf[k * b.rs + j * b.cs];
            float *c = &p->c[i * p->crs + j * p->ccs];
            *c = (float)((double)p->alpha * sum + (p->beta == 0.0f ? 0.0 : (double)p->beta * (double)*c));
        }
    return LAC_OK;
}

const lac_route_t lac_route_reference = {"reference", LAC_ROLE_ORACLE, LAC_SIDE_NONE, applicable,
                                         cost_us,     bytes,           run,           NULL};
