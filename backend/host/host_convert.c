/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The dense contents of any operand in the caller's memory, and how many nonzeros they have. */
#include "host_convert.h"
#include "contents.h"
#include "forms.h"
#include "host_slice.h"

/* A compressed form is a slice of all its lines. */
static lac_status_t all_lines(lac_exec_t *exec, const lac_form_data_t *form, int64_t lines, int64_t length,
                              int threads, float *out, lac_inc_t rs, lac_inc_t cs)
{
    lac_slicing_t s = {.form = form,
                       .m = lines,
                       .n = length,
                       .count = lines,
                       .val = form->val,
                       .zero_rows = true,
                       .threads = threads};
    return lac_host_slicer.rows(exec, &s, out, rs, cs);
}

lac_status_t lac_host_expand(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                             float *out, lac_inc_t rs, lac_inc_t cs, int threads)
{
    lac_contents_t from;
    const lac_form_data_t *form;
    if (x->forms & 1u << LAC_FORM_CSR && (form = lac_meta_form(x->meta, LAC_FORM_CSR)))
        return all_lines(exec, form, x->meta->m, x->meta->n, threads, out, x->flipped ? cs : rs,
                         x->flipped ? rs : cs);
    if (x->forms & 1u << LAC_FORM_CSC && (form = lac_meta_form(x->meta, LAC_FORM_CSC)))
        return all_lines(exec, form, x->meta->n, x->meta->m, threads, out, x->flipped ? rs : cs,
                         x->flipped ? cs : rs);
    lac_operand_t formed = *x;
    if (x->forms & LAC_FORMS_SPARSE) formed.buf = NULL; /* the form is what stands for the contents */
    lac_status_t status = lac_contents(exec, &formed, rows, cols, false, LAC_WORK_A, &from);
    if (status) return status;
    bool by_rows = (cs < 0 ? -cs : cs) <= (rs < 0 ? -rs : rs);
    lac_dim_t outer = by_rows ? rows : cols, inner = by_rows ? cols : rows;
    for (lac_dim_t i = 0; i < outer; i++)
        for (lac_dim_t j = 0; j < inner; j++) {
            lac_dim_t r = by_rows ? i : j, c = by_rows ? j : i;
            out[r * rs + c * cs] = from.buf[r * from.rs + c * from.cs];
        }
    return LAC_OK;
}

/* Among the values of an active list some may be 0. */
static int64_t count_active(const lac_form_data_t *form, int64_t m)
{
    int64_t count = 0;
    for (int64_t p = 0; p < form->count * m; p++) count += form->val[p] != 0.0f;
    return count;
}

lac_status_t lac_host_count(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            int64_t *count, int threads)
{
    static const lac_form_t counted[] = {LAC_FORM_CSR, LAC_FORM_CSC, LAC_FORM_BITS};
    const lac_form_data_t *form;
    for (int i = 0; i < 3; i++)
        if (x->forms & 1u << counted[i] && (form = lac_meta_form(x->meta, counted[i]))) {
            *count = form->count;
            return LAC_OK;
        }
    if (x->forms & 1u << LAC_FORM_ACTIVE && (form = lac_meta_form(x->meta, LAC_FORM_ACTIVE))) {
        *count = count_active(form, x->meta->m);
        return LAC_OK;
    }
    lac_stored_t stored = {x->dt, rows, cols, x->rs, x->cs, x->buf};
    *count = rows && cols ? lac_count_nonzeros(exec, &stored, threads) : 0;
    return *count < 0 ? LAC_ERR_MEMORY : LAC_OK;
}
