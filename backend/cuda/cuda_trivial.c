/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The trivial route on a device: nothing to sum, so c is only scaled. */
#include "cuda_exec.h"
#include "cuda_routes.h"

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    bool nothing = p->m == 0 || p->n == 0 || p->k == 0 || p->alpha == 0.0f;
    return nothing ? LAC_FITS : LAC_REFUSED_NOT_TRIVIAL;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    return machine->cuda_launch_us + 8.0 * (double)p->m * (double)p->n / (machine->cuda_dram_gbps * 1e3);
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return 0;
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)route, (void)out;
    if ((p->beta == 1.0f && !p->beta_at) || exec->preparing) return LAC_OK;
    return lac_cuda_launched(lac_cuda_scale(p->m, p->n, lac_cuda_beta(p), p->c, p->crs, p->ccs, exec->stream),
                             "trivial");
}

const lac_route_t lac_cuda_route_trivial = {
    "trivial", LAC_ROLE_TRIVIAL, LAC_SIDE_NONE, applicable, cost_us, bytes, run, NULL};
