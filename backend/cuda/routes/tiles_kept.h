/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the product by tiles makes of S beforehand, kept with a frozen operand. */
#ifndef LACUNA_CUDA_ROUTES_TILES_KEPT_H
#define LACUNA_CUDA_ROUTES_TILES_KEPT_H

#include "route/sided.h"
#include "cuda/runtime/exec.h"
#include "cuda_kernels.h" /* kernels/cuda */

/* True where lists and pieces of S are kept: a frozen buffer of the type that is multiplied, and copies are
 * allowed. Pure. */
bool lac_cuda_tiles_keeps(const lac_problem_t *p, const lac_sided_t *s);

/* Device memory that they take, or will, so far as that is known beforehand. Pure. */
size_t lac_cuda_tiles_kept_bytes(const lac_sided_t *s, double active);

/* Those of product->a, made now where they are not there; product->packed stays NULL where that cannot be,
 * since the stream is captured. Making them allocates and waits for the stream. */
lac_status_t lac_cuda_tiles_kept_now(lac_exec_t *exec, const lac_sided_t *s, lac_cuda_tiles_t *product);

#endif
