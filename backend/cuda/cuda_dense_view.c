/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Expansion of sparse formats and conversion of types on the device. */
#include "cuda_dense_view.h"
#include "../base/status.h"

static bool usable(const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols, bool unit)
{
    return x->buf && x->dt == LAC_F32 &&
           (!unit || ((x->rs == 1 || rows <= 1) && (x->cs >= rows || cols <= 1)) ||
            ((x->cs == 1 || cols <= 1) && (x->rs >= cols || rows <= 1)));
}

size_t lac_cuda_dense_view_bytes(const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols, bool unit)
{
    return usable(x, rows, cols, unit) ? 0 : lac_cuda_piece((size_t)rows * (size_t)cols * sizeof(float));
}

static lac_status_t densify(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            float *to)
{
    const lac_meta_t *meta = x->meta;
    const lac_format_data_t *format;
    /* Strides of the stored matrix's rows and columns in the copy of op(X) by rows. */
    int64_t down = x->transposed ? 1 : cols, along = x->transposed ? cols : 1;
    lac_status_t status = lac_cuda_check_error(
        cudaMemsetAsync(to, 0, (size_t)rows * (size_t)cols * sizeof *to, exec->stream), "contents");
    if (status) return status;
    if ((format = lac_meta_format(meta, LAC_FORMAT_CSR)))
        status = lac_cuda_densify_compressed(meta->m, format->ptr, format->idx, format->val, to, down, along,
                                             exec->stream);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_CSC)))
        status = lac_cuda_densify_compressed(meta->n, format->ptr, format->idx, format->val, to, along, down,
                                             exec->stream);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_BITS)))
        status = lac_cuda_densify_bits(meta->m, meta->n, format->bits, format->ptr, format->val, to, down,
                                       along, exec->stream);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_BITS_T)))
        status = lac_cuda_densify_bits(meta->n, meta->m, format->bits, format->ptr, format->val, to, along,
                                       down, exec->stream);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_ACTIVE)))
        status = lac_cuda_densify_active(meta->m, format->count, format->idx, format->val, to, down, along,
                                         exec->stream);
    else
        return lac_fail(LAC_ERR_INTERNAL, "contents: the operand has neither a buffer nor a format");
    return lac_cuda_launched(status, "contents");
}

lac_status_t lac_cuda_dense_view(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                 bool unit, char **memory, lac_cuda_dense_view_t *contents)
{
    *contents = (lac_cuda_dense_view_t){x->buf, x->rs, x->cs};
    if (usable(x, rows, cols, unit)) return LAC_OK;
    float *copy = (float *)(void *)*memory;
    *memory += lac_cuda_dense_view_bytes(x, rows, cols, unit);
    *contents = (lac_cuda_dense_view_t){copy, cols, 1};
    if (!x->buf) return densify(exec, x, rows, cols, copy);
    lac_cuda_matrix_t from = {x->dt, x->buf, rows, cols, x->rs, x->cs};
    return lac_cuda_launched(lac_cuda_copy(&from, 0.0f, copy, cols, 1, exec->stream), "contents");
}
