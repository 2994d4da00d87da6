/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation on a device: the backend's hook, and what routes need that finish by themselves. */
#ifndef LACUNA_CUDA_FINISH_H
#define LACUNA_CUDA_FINISH_H

#include "../model/route.h"
#include "cuda_exec.h"

lac_status_t lac_cuda_finish(lac_exec_t *exec, const lac_problem_t *p);

/* p->after as kernels take it that write the output of a route on this side. */
lac_cuda_after_t lac_cuda_after(const lac_problem_t *p, lac_side_t side);
/* A route's `finishes` where all its kernels take that: true. */
bool lac_cuda_finishes(const lac_route_t *route, const lac_problem_t *p);

#endif
