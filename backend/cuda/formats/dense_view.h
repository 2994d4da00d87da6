/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The plain f32 contents of any operand on the device: what dense routes multiply, what conversions write
 * and count, and which tiles of it hold a nonzero. */
#ifndef LACUNA_CUDA_FORMATS_DENSE_VIEW_H
#define LACUNA_CUDA_FORMATS_DENSE_VIEW_H

#include "cuda/runtime/exec.h"

/* Element (r, c) lies at buf[r * rs + c * cs]. */
typedef struct lac_cuda_dense_view {
    const float *buf;
    lac_inc_t rs, cs;
} lac_cuda_dense_view_t;

/* Bytes of workspace that lac_cuda_dense_view needs; 0 where the operand's own buffer serves: of the type of
 * the sums, and by a unit stride where `unit` asks for one. */
size_t lac_cuda_dense_view_bytes(const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols, bool unit);

/* The contents; a copy by rows is made at *memory, which moves behind it, where the buffer does not serve. */
lac_status_t lac_cuda_dense_view(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                 bool unit, char **memory, lac_cuda_dense_view_t *contents);

/* Conversions on a device that leave an operand's metadata alone: the backend's hooks. */

lac_status_t lac_cuda_densify(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                              void *out, lac_inc_t rs, lac_inc_t cs, int threads);
lac_status_t lac_cuda_count(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            int64_t *count, int threads);

/* Which tiles of an operand on the device hold a nonzero. */

lac_status_t lac_cuda_occupancy(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                const lac_tiling_t *tiling);

#endif
