/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Expansion of sparse formats and conversion of types on the device. */
#include "dense_view.h"
#include "base/status.h"
#include "cuda_kernels.h"

size_t lac_cuda_dense_view_bytes(const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols, bool unit)
{
    return lac_operand_is_dense(x, x->values, rows, cols, unit)
               ? 0
               : lac_cuda_piece((size_t)rows * (size_t)cols * lac_dt_size(x->values));
}

static lac_status_t densify(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            void *to)
{
    const lac_meta_t *meta = x->meta;
    const lac_format_data_t *format;
    /* Strides of the stored matrix's rows and columns in the copy of op(X) by rows. */
    int64_t down = x->transposed ? 1 : cols, along = x->transposed ? cols : 1;
    lac_status_t status = lac_cuda_check_error(
        cudaMemsetAsync(to, 0, (size_t)rows * (size_t)cols * lac_dt_size(x->values), exec->stream),
        "contents");
    if (status) return status;
    if ((format = lac_meta_format(meta, LAC_FORMAT_CSR)))
        status = lac_cuda_densify_compressed(meta->m, format->ptr, format->idx, x->values, format->val, to,
                                             down, along, exec->stream);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_CSC)))
        status = lac_cuda_densify_compressed(meta->n, format->ptr, format->idx, x->values, format->val, to,
                                             along, down, exec->stream);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_BITS)))
        status = lac_cuda_densify_bits(meta->m, meta->n, format->bits, format->ptr, x->values, format->val,
                                       to, down, along, exec->stream);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_BITS_T)))
        status = lac_cuda_densify_bits(meta->n, meta->m, format->bits, format->ptr, x->values, format->val,
                                       to, along, down, exec->stream);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_ACTIVE)))
        status = lac_cuda_densify_active(meta->m, format->count, format->idx, x->values, format->val, to,
                                         down, along, exec->stream);
    else
        return lac_fail(LAC_ERR_INTERNAL, "contents: the operand has neither a buffer nor a format");
    return lac_cuda_launched(status, "contents");
}

lac_status_t lac_cuda_dense_view(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                 bool unit, char **memory, lac_cuda_dense_view_t *contents)
{
    *contents = (lac_cuda_dense_view_t){x->buf, x->rs, x->cs};
    if (lac_operand_is_dense(x, x->values, rows, cols, unit)) return LAC_OK;
    void *copy = *memory;
    *memory += lac_cuda_dense_view_bytes(x, rows, cols, unit);
    *contents = (lac_cuda_dense_view_t){copy, cols, 1};
    if (!x->buf) return densify(exec, x, rows, cols, copy);
    lac_cuda_matrix_t from = {x->dt, x->buf, rows, cols, x->rs, x->cs};
    return lac_cuda_launched(lac_cuda_copy(&from, 0.0, x->values, copy, cols, 1, exec->stream), "contents");
}

/* The dense contents of any operand in the caller's memory, and how many nonzeros they have: nothing is
 * waited for. */

/* x without the buffer that a format stands for. */
static lac_operand_t formed(const lac_operand_t *x)
{
    lac_operand_t y = *x;
    if (x->formats & LAC_FORMATS_SPARSE) y.buf = NULL;
    return y;
}

/* A compressed format is a slice of all its lines. */
static lac_status_t all_lines(lac_exec_t *exec, const lac_format_data_t *format, int64_t lines,
                              int64_t length, float *out, lac_inc_t rs, lac_inc_t cs)
{
    lac_cuda_slice_t s = {.m = lines,
                          .n = length,
                          .count = lines,
                          .ptr = format->ptr,
                          .idx = format->idx,
                          .val = format->val,
                          .nnz = format->count};
    return lac_cuda_launched(lac_cuda_slice_rows(&s, out, rs, cs, exec->stream), "dense contents");
}

lac_status_t lac_cuda_densify(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                              void *out, lac_inc_t rs, lac_inc_t cs, int threads)
{
    (void)threads;
    /* Formats hold X, out receives op(X): the strides of X's rows and columns there. */
    lac_inc_t xrs = x->transposed ? cs : rs, xcs = x->transposed ? rs : cs;
    const lac_format_data_t *format;
    if ((format = lac_operand_format(x, LAC_FORMAT_CSR)))
        return all_lines(exec, format, x->meta->m, x->meta->n, out, xrs, xcs);
    if ((format = lac_operand_format(x, LAC_FORMAT_CSC)))
        return all_lines(exec, format, x->meta->n, x->meta->m, out, xcs, xrs);
    lac_operand_t y = formed(x);
    lac_cuda_matrix_t from = {y.dt, y.buf, rows, cols, y.rs, y.cs};
    lac_cuda_dense_view_t contents;
    char *memory;
    if (!y.buf) {
        lac_status_t status =
            lac_cuda_work(exec, lac_cuda_dense_view_bytes(&y, rows, cols, false), (void **)&memory);
        if (!status) status = lac_cuda_dense_view(exec, &y, rows, cols, false, &memory, &contents);
        if (status) return status;
        from = (lac_cuda_matrix_t){LAC_F32, contents.buf, rows, cols, contents.rs, contents.cs};
    }
    return lac_cuda_launched(lac_cuda_copy(&from, 0.0f, LAC_F32, out, rs, cs, exec->stream),
                             "dense contents");
}

static lac_status_t take(lac_exec_t *exec, const int64_t *from, int64_t *count)
{
    return lac_cuda_check_error(
        cudaMemcpyAsync(count, from, sizeof *count, cudaMemcpyDeviceToDevice, exec->stream), "count");
}

lac_status_t lac_cuda_count(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            int64_t *count, int threads)
{
    (void)threads;
    lac_operand_t y = formed(x);
    const lac_format_data_t *format;
    lac_cuda_dense_view_t contents = {y.buf, y.rs, y.cs};
    if ((format = lac_operand_format(&y, LAC_FORMAT_CSR))) return take(exec, format->ptr + y.meta->m, count);
    if ((format = lac_operand_format(&y, LAC_FORMAT_CSC))) return take(exec, format->ptr + y.meta->n, count);
    size_t dense = y.buf ? 0 : lac_cuda_dense_view_bytes(&y, rows, cols, false);
    size_t starts = lac_cuda_piece((size_t)(rows + 1) * sizeof(int64_t));
    char *memory;
    lac_status_t status =
        lac_cuda_work(exec, dense + starts + (size_t)lac_cuda_csr_bytes(rows), (void **)&memory);
    if (!status && !y.buf && rows && cols)
        status = lac_cuda_dense_view(exec, &y, rows, cols, false, &memory, &contents);
    if (status) return status;
    int64_t *first = (int64_t *)(void *)memory;
    lac_cuda_dense_t s = {y.buf ? y.dt : LAC_F32, contents.buf, contents.rs, contents.cs, 0.0};
    status =
        lac_cuda_launched(lac_cuda_csr_ptr(rows, cols, &s, first, memory + starts, exec->stream), "count");
    return status ? status : take(exec, first + rows, count);
}

/* Which tiles of an operand on the device hold a nonzero: one pass over its buffer, or over the dense
 * contents of the format that stands for it. Nothing is waited for. */

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
