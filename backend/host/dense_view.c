/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Expansion of sparse formats and conversion of types, for routes that need every element. */
#include "dense_view.h"
#include "../base/status.h"

#include <string.h>

static bool usable(const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols, bool unit)
{
    return x->buf && x->dt == LAC_F32 &&
           (!unit || ((x->rs == 1 || rows <= 1) && (x->cs >= rows || cols <= 1)) ||
            ((x->cs == 1 || cols <= 1) && (x->rs >= cols || rows <= 1)));
}

/* SIZE_MAX, of which there is never enough, where the number does not fit. */
static size_t dense_bytes(lac_dim_t rows, lac_dim_t cols)
{
    size_t bytes;
    if (__builtin_mul_overflow((size_t)rows, (size_t)cols, &bytes)) return SIZE_MAX;
    return __builtin_mul_overflow(bytes, sizeof(float), &bytes) ? SIZE_MAX : bytes;
}

size_t lac_dense_view_bytes(const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols, bool unit)
{
    return usable(x, rows, cols, unit) ? 0 : dense_bytes(rows, cols);
}

static void copy_elements(const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols, float *to)
{
    for (lac_dim_t r = 0; r < rows; r++)
        for (lac_dim_t c = 0; c < cols; c++) {
            lac_inc_t at = r * x->rs + c * x->cs;
            to[r * cols + c] =
                x->dt == LAC_F32 ? ((const float *)x->buf)[at] : (float)(((const uint8_t *)x->buf)[at] != 0);
        }
}

/* Writes the entries of one compressed format; majors are rows of op(X) when `by_rows`, columns otherwise. */
static void densify_compressed(const lac_format_data_t *format, int64_t majors, bool by_rows, lac_dim_t cols,
                               float *to)
{
    for (int64_t i = 0; i < majors; i++)
        for (int64_t p = format->ptr[i]; p < format->ptr[i + 1]; p++) {
            int64_t j = format->idx[p];
            to[by_rows ? i * cols + j : j * cols + i] = format->val ? format->val[p] : 1.0f;
        }
}

static void densify_bits(const lac_format_data_t *format, int64_t majors, int64_t minors, bool by_rows,
                         lac_dim_t cols, float *to)
{
    int64_t words = (minors + 63) / 64;
    for (int64_t i = 0; i < majors; i++) {
        const float *value = format->val + format->ptr[i];
        for (int64_t j = 0; j < minors; j++)
            if (format->bits[i * words + j / 64] >> (j % 64) & 1)
                to[by_rows ? i * cols + j : j * cols + i] = *value++;
    }
}

static void densify_active(const lac_format_data_t *format, int64_t m, bool transposed, lac_dim_t cols,
                           float *to)
{
    for (int64_t p = 0; p < format->count; p++)
        for (int64_t i = 0; i < m; i++) {
            int64_t j = format->idx[p];
            to[transposed ? j * cols + i : i * cols + j] = format->val[p * m + i];
        }
}

static lac_status_t densify(const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols, float *to)
{
    const lac_meta_t *meta = x->meta;
    const lac_format_data_t *format;
    memset(to, 0, (size_t)rows * (size_t)cols * sizeof *to);
    if ((format = lac_meta_format(meta, LAC_FORMAT_CSR)))
        densify_compressed(format, meta->m, !x->transposed, cols, to);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_CSC)))
        densify_compressed(format, meta->n, x->transposed, cols, to);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_BITS)))
        densify_bits(format, meta->m, meta->n, !x->transposed, cols, to);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_BITS_T)))
        densify_bits(format, meta->n, meta->m, x->transposed, cols, to);
    else if ((format = lac_meta_format(meta, LAC_FORMAT_ACTIVE)))
        densify_active(format, meta->m, x->transposed, cols, to);
    else
        return lac_fail(LAC_ERR_INTERNAL, "contents: the operand has neither a buffer nor a format");
    return LAC_OK;
}

lac_status_t lac_dense_view(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            bool unit, lac_work_t purpose, lac_dense_view_t *contents)
{
    *contents = (lac_dense_view_t){x->buf, x->rs, x->cs};
    if (usable(x, rows, cols, unit)) return LAC_OK;
    float *copy = lac_work(exec, purpose, dense_bytes(rows, cols));
    if (!copy) return LAC_ERR_MEMORY;
    *contents = (lac_dense_view_t){copy, cols, 1};
    if (!x->buf) return densify(x, rows, cols, copy);
    copy_elements(x, rows, cols, copy);
    return LAC_OK;
}
