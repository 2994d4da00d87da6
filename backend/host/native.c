/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The native route: our own blocked dense kernel, where no BLAS is found or its integers are too short. */
#include "dense_view.h"
#include "host_routes.h"

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return !p->k || p->alpha == 0.0f || !p->m || !p->n ? LAC_REFUSED_TRIVIAL : LAC_FITS;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    double serial = 2.0 * (double)p->m * (double)p->n * (double)p->k / (machine->native_gflops * 1e3);
    double copies = (double)(lac_dense_view_bytes(&p->a, p->m, p->k, false) +
                             lac_dense_view_bytes(&p->b, p->k, p->n, false));
    return machine->route_us + copies / (machine->pack_gbps * 1e2) +
           serial / lac_host_parts(p->threads, serial, machine->fork_join_us);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return lac_dense_view_bytes(&p->a, p->m, p->k, false) + lac_dense_view_bytes(&p->b, p->k, p->n, false) +
           (size_t)p->threads * (size_t)lac_dense_scratch() * sizeof(float);
}

typedef struct product {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
    lac_dense_view_t a, b;
    bool by_columns; /* the longer side of c is shared among the threads */
    float *scratch;
} product_t;

static void product_part(void *arg, int part, int parts)
{
    const product_t *g = arg;
    const lac_problem_t *p = g->p;
    float *scratch = g->scratch + part * lac_dense_scratch();
    long long i0, i1;
    lac_share(g->by_columns ? p->n : p->m, 8, part, parts, &i0, &i1);
    if (i0 == i1) return;
    if (g->by_columns)
        g->kernels->dense_f32(g->b.buf, g->b.cs, g->b.rs, g->a.buf, g->a.cs, g->a.rs, i0, i1, p->m, p->k,
                              p->alpha, p->beta, p->c, p->ccs, p->crs, scratch);
    else
        g->kernels->dense_f32(g->a.buf, g->a.rs, g->a.cs, g->b.buf, g->b.rs, g->b.cs, i0, i1, p->n, p->k,
                              p->alpha, p->beta, p->c, p->crs, p->ccs, scratch);
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)route, (void)out;
    product_t g = {.kernels = exec->kernels, .p = p, .by_columns = p->n > p->m};
    lac_status_t status = lac_dense_view(exec, &p->a, p->m, p->k, false, LAC_WORK_A, &g.a);
    if (!status) status = lac_dense_view(exec, &p->b, p->k, p->n, false, LAC_WORK_B, &g.b);
    if (status) return status;
    double serial = 2.0 * (double)p->m * (double)p->n * (double)p->k / (exec->machine->native_gflops * 1e3);
    int parts = lac_host_parts(p->threads, serial, exec->machine->fork_join_us);
    g.scratch = lac_work(exec, LAC_WORK_ACC, (size_t)parts * (size_t)lac_dense_scratch() * sizeof(float));
    if (!g.scratch) return LAC_ERR_MEMORY;
    lac_parallel(parts, product_part, &g);
    return LAC_OK;
}

const lac_route_t lac_route_native = {"native", LAC_ROLE_NATIVE, LAC_SIDE_NONE, applicable,
                                      cost_us,  bytes,           run,           NULL};
