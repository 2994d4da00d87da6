/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Which tiles of an operand on the device hold a nonzero: one pass over its buffer, or over the dense
 * contents of the format that stands for it. Nothing is waited for. */
#include "cuda_occupancy.h"
#include "cuda_dense_view.h"

lac_status_t lac_cuda_occupancy(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                const lac_tiling_t *tiling)
{
    lac_cuda_matrix_t from = {x->dt, x->buf, rows, cols, x->rs, x->cs};
    lac_cuda_tiling_t to = {tiling->rows, tiling->cols, tiling->words, tiling->bits, tiling->count};
    lac_cuda_dense_view_t contents;
    char *memory;
    if (!x->buf && rows && cols) {
        lac_status_t status =
            lac_cuda_work(exec, lac_cuda_dense_view_bytes(x, rows, cols, false), (void **)&memory);
        if (!status) status = lac_cuda_dense_view(exec, x, rows, cols, false, &memory, &contents);
        if (status) return status;
        from = (lac_cuda_matrix_t){LAC_F32, contents.buf, rows, cols, contents.rs, contents.cs};
    }
    return lac_cuda_launched(lac_cuda_tile_bits(&from, &to, exec->stream), "tile occupancy");
}
