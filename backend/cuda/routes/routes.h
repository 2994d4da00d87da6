/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The routes of the CUDA backend, which routes.def lists, and what they share. */
#ifndef LACUNA_CUDA_ROUTES_ROUTES_H
#define LACUNA_CUDA_ROUTES_ROUTES_H

#include "route/route.h"
#include "cuda_kernels.h" /* kernels/cuda */
#include "cuda/runtime/exec.h"

/* The scalars of a problem as kernels take them: f32, of a product of doubles f64. */
static inline lac_cuda_scalar_t lac_cuda_alpha(const lac_problem_t *p)
{
    return p->dt == LAC_F64 ? (lac_cuda_scalar_t){.device = p->alpha_at, .f64 = p->alpha}
                            : (lac_cuda_scalar_t){.device = p->alpha_at, .value = (float)p->alpha};
}
static inline lac_cuda_scalar_t lac_cuda_beta(const lac_problem_t *p)
{
    return p->dt == LAC_F64 ? (lac_cuda_scalar_t){.device = p->beta_at, .f64 = p->beta}
                            : (lac_cuda_scalar_t){.device = p->beta_at, .value = (float)p->beta};
}

/* True for an extent or a stride that kernels hold in 32 bits. */
static inline bool lac_cuda_fits_index(int64_t x)
{
    return x < INT32_MAX;
}

#define LAC_ROUTE(name, role, host, cuda, text) LAC_DECLARE_##cuda(lac_cuda_route_##name)
#include "route/routes.def"
#undef LAC_ROUTE

/* Their table, in the order of a tie, the fallback last. */
const lac_route_t *const *lac_cuda_routes(int *count);

/* The stream route as a part of another: why it does not apply, its time (gated: where the device chooses
 * it), and what it multiplies, S aside, which is the operand of that side. */
lac_side_t lac_cuda_stream_side(const lac_problem_t *p);
lac_refusal_t lac_cuda_stream_refusal(const lac_problem_t *p);
double lac_cuda_stream_us(const lac_problem_t *p, bool gated, const lac_machine_t *machine);
lac_cuda_product_t lac_cuda_stream_product(const lac_problem_t *p);

/* Bias and activation on a device: the backend's hook, and what routes need that finish by themselves. */

lac_status_t lac_cuda_apply_epilogue(lac_exec_t *exec, const lac_problem_t *p);

/* p->epilogue as kernels take it that write the output of a route on this side. */
lac_cuda_epilogue_t lac_cuda_epilogue(const lac_problem_t *p, lac_side_t side);
/* A route's `fuses_epilogue` where all its kernels take that: true. */
bool lac_cuda_fuses_epilogue(const lac_route_t *route, const lac_problem_t *p);

#endif
