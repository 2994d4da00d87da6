/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Which tiles of an operand hold a nonzero: from its buffer, or from the form that stands for it. */
#include "host_occupancy.h"
#include "contents.h"

#include <string.h>

/* Marks the tile of element (r, c) of op(X). */
static void mark(const lac_tiling_t *t, lac_dim_t r, lac_dim_t c)
{
    lac_dim_t tile = c / t->cols;
    t->bits[r / t->rows * t->words + tile / 64] |= UINT64_C(1) << tile % 64;
}

/* The tiles of the entries of compressed rows; of columns where `columns`. op(X) may be X turned. */
static void mark_compressed(const lac_tiling_t *t, const lac_form_data_t *form, lac_dim_t majors,
                            bool columns)
{
    for (lac_dim_t i = 0; i < majors; i++)
        for (int64_t p = form->ptr[i]; p < form->ptr[i + 1]; p++) {
            if (form->val && form->val[p] == 0.0f) continue;
            mark(t, columns ? form->idx[p] : i, columns ? i : form->idx[p]);
        }
}

static bool mark_form(const lac_tiling_t *t, const lac_operand_t *x)
{
    const lac_form_data_t *form;
    if (x->forms & 1u << LAC_FORM_CSR && (form = lac_meta_form(x->meta, LAC_FORM_CSR)))
        mark_compressed(t, form, x->meta->m, x->flipped);
    else if (x->forms & 1u << LAC_FORM_CSC && (form = lac_meta_form(x->meta, LAC_FORM_CSC)))
        mark_compressed(t, form, x->meta->n, !x->flipped);
    else
        return false;
    return true;
}

static lac_status_t mark_dense(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                               const lac_tiling_t *t)
{
    lac_contents_t from;
    lac_status_t status = lac_contents(exec, x, rows, cols, false, LAC_WORK_A, &from);
    if (status) return status;
    bool by_rows = (from.cs < 0 ? -from.cs : from.cs) <= (from.rs < 0 ? -from.rs : from.rs);
    lac_dim_t outer = by_rows ? rows : cols, inner = by_rows ? cols : rows;
    for (lac_dim_t i = 0; i < outer; i++)
        for (lac_dim_t j = 0; j < inner; j++) {
            lac_dim_t r = by_rows ? i : j, c = by_rows ? j : i;
            if (from.buf[r * from.rs + c * from.cs] != 0.0f) mark(t, r, c);
        }
    return LAC_OK;
}

lac_status_t lac_host_occupancy(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                const lac_tiling_t *tiling)
{
    int64_t words = (rows / tiling->rows + (rows % tiling->rows > 0)) * tiling->words, count = 0;
    lac_status_t status = LAC_OK;
    memset(tiling->bits, 0, (size_t)words * sizeof *tiling->bits);
    if (rows && cols && !mark_form(tiling, x)) status = mark_dense(exec, x, rows, cols, tiling);
    for (int64_t w = 0; w < words; w++) count += __builtin_popcountll(tiling->bits[w]);
    if (!status && tiling->count) *tiling->count = count;
    return status;
}
