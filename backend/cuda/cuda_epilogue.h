/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation on a device: the backend's hook, and what routes need that finish by themselves. */
#ifndef LACUNA_CUDA_EPILOGUE_H
#define LACUNA_CUDA_EPILOGUE_H

#include "../model/route.h"
#include "cuda_exec.h"

lac_status_t lac_cuda_apply_epilogue(lac_exec_t *exec, const lac_problem_t *p);

/* p->epilogue as kernels take it that write the output of a route on this side. */
lac_cuda_epilogue_t lac_cuda_epilogue(const lac_problem_t *p, lac_side_t side);
/* A route's `fuses_epilogue` where all its kernels take that: true. */
bool lac_cuda_fuses_epilogue(const lac_route_t *route, const lac_problem_t *p);

#endif
