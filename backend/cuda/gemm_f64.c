/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Every product summed in double by one kernel of our own: the reference route, and the dense route of a
 * machine that has no cuBLAS. */
#include "cuda_dense_view.h"
#include "cuda_routes.h"

#include <math.h>

/* Within 30 % for 57 products of 1 to 7104 tiles and k up to 472 (H200, 2026-11-21). A block goes along k
 * step by step, whoever else is on its multiprocessor. */
#define TILE    16.0
#define STEP_US 0.0375 /* one of k                                                  */
#define TILE_US 0.1    /* a tile, where a multiprocessor has more than it can hold  */
#define DEEP_US 0.15   /* ... and each 16 of its k                                  */

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return !p->k || p->alpha == 0.0f || !p->m || !p->n ? LAC_REFUSED_TRIVIAL : LAC_FITS;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route;
    double k = (double)p->k, tiles = ceil((double)p->m / TILE) * ceil((double)p->n / TILE);
    double shared = tiles / machine->cuda_processors * (TILE_US + DEEP_US * ceil(k / TILE));
    return machine->cuda_launch_us + STEP_US * k + shared;
}

static bool densifies(const lac_operand_t *x)
{
    return !x->buf;
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return (densifies(&p->a) ? lac_cuda_dense_view_bytes(&p->a, p->m, p->k, false) : 0) +
           (densifies(&p->b) ? lac_cuda_dense_view_bytes(&p->b, p->k, p->n, false) : 0);
}

/* The operand as the kernel reads it: either type, any strides; a sparse format expanded at *memory. */
static lac_status_t as_matrix(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                              char **memory, lac_cuda_matrix_t *matrix)
{
    lac_cuda_dense_view_t contents;
    *matrix = (lac_cuda_matrix_t){x->dt, x->buf, rows, cols, x->rs, x->cs};
    if (!densifies(x)) return LAC_OK;
    lac_status_t status = lac_cuda_dense_view(exec, x, rows, cols, false, memory, &contents);
    *matrix = (lac_cuda_matrix_t){LAC_F32, contents.buf, rows, cols, contents.rs, contents.cs};
    return status;
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)out;
    lac_cuda_matrix_t a, b;
    char *memory;
    lac_status_t status = lac_cuda_work(exec, bytes(route, p), (void **)&memory);
    if (status || exec->preparing) return status;
    status = as_matrix(exec, &p->a, p->m, p->k, &memory, &a);
    if (!status) status = as_matrix(exec, &p->b, p->k, p->n, &memory, &b);
    if (status) return status;
    return lac_cuda_launched(lac_cuda_gemm_f64(p->m, p->n, p->k, lac_cuda_alpha(p), &a, &b, lac_cuda_beta(p),
                                               p->c, p->crs, p->ccs, exec->stream),
                             route->name);
}

const lac_route_t lac_cuda_route_reference = {"reference", LAC_ROLE_ORACLE, LAC_SIDE_NONE, applicable,
                                              cost_us,     bytes,           run,           NULL};
const lac_route_t lac_cuda_route_native = {"native", LAC_ROLE_NATIVE, LAC_SIDE_NONE, applicable,
                                           cost_us,  bytes,           run,           NULL};
