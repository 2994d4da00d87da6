/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Which tiles of an operand hold a nonzero: from its buffer, or from the format that stands for it. */
#include "host_occupancy.h"
#include "dense_view.h"

#include <string.h>

/* Marks the tile of element (r, c) of op(X). */
static void mark(const lac_tiling_t *t, lac_dim_t r, lac_dim_t c)
{
    lac_dim_t tile = c / t->cols;
    t->bits[r / t->rows * t->words + tile / 64] |= UINT64_C(1) << tile % 64;
}

/* The tiles of the entries of compressed rows; of columns where `columns`. op(X) may be X transposed. */
static void mark_compressed(const lac_tiling_t *t, const lac_format_data_t *format, lac_dim_t majors,
                            bool columns)
{
    for (lac_dim_t i = 0; i < majors; i++)
        for (int64_t p = format->ptr[i]; p < format->ptr[i + 1]; p++) {
            if (format->val && format->val[p] == 0.0f) continue;
            mark(t, columns ? format->idx[p] : i, columns ? i : format->idx[p]);
        }
}

static bool is_compressed(const lac_operand_t *x)
{
    return x->formats & (1u << LAC_FORMAT_CSR | 1u << LAC_FORMAT_CSC);
}

static void mark_format(const lac_tiling_t *t, const lac_operand_t *x)
{
    if (x->formats & 1u << LAC_FORMAT_CSR)
        mark_compressed(t, lac_meta_format(x->meta, LAC_FORMAT_CSR), x->meta->m, x->transposed);
    else
        mark_compressed(t, lac_meta_format(x->meta, LAC_FORMAT_CSC), x->meta->n, !x->transposed);
}

static void mark_dense(const lac_tiling_t *t, lac_dim_t rows, lac_dim_t cols, lac_dense_view_t from)
{
    bool by_rows = (from.cs < 0 ? -from.cs : from.cs) <= (from.rs < 0 ? -from.rs : from.rs);
    lac_dim_t outer = by_rows ? rows : cols, inner = by_rows ? cols : rows;
    for (lac_dim_t i = 0; i < outer; i++)
        for (lac_dim_t j = 0; j < inner; j++) {
            lac_dim_t r = by_rows ? i : j, c = by_rows ? j : i;
            if (from.buf[r * from.rs + c * from.cs] != 0.0f) mark(t, r, c);
        }
}

lac_status_t lac_host_occupancy(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                const lac_tiling_t *tiling)
{
    int64_t words = (rows / tiling->rows + (rows % tiling->rows > 0)) * tiling->words, count = 0;
    lac_dense_view_t from;
    bool some = rows && cols, dense = some && !is_compressed(x);
    lac_status_t status = dense ? lac_dense_view(exec, x, rows, cols, false, LAC_WORK_A, &from) : LAC_OK;
    if (status) return status;
    memset(tiling->bits, 0, (size_t)words * sizeof *tiling->bits);
    if (dense)
        mark_dense(tiling, rows, cols, from);
    else if (some)
        mark_format(tiling, x);
    for (int64_t w = 0; w < words; w++) count += __builtin_popcountll(tiling->bits[w]);
    if (tiling->count) *tiling->count = count;
    return LAC_OK;
}
