/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The operands of one problem as the library takes them. */
#include "operand_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned operand_set_scan_mask(ref_meta_t meta)
{
    switch (meta) {
    case REF_META_NONE:
        return 0;
    case REF_META_DENSITY:
        return LAC_META_DENSITY;
    case REF_META_CSR:
        return LAC_META_CSR;
    case REF_META_CSC:
        return LAC_META_CSC;
    case REF_META_BITS:
        return LAC_META_BITMASK;
    case REF_META_ACTIVE:
        return LAC_META_ACTIVE;
    }
    return 0;
}

static void *narrow_pointers(const ref_compressed_t *form)
{
    int32_t *ptr = malloc((size_t)(form->lines + 1) * sizeof *ptr);
    for (int64_t i = 0; ptr && i <= form->lines; i++) ptr[i] = (int32_t)form->ptr[i];
    return ptr;
}

static void *wide_indices(const ref_compressed_t *form)
{
    int64_t *idx = malloc((size_t)(form->nnz + 1) * sizeof *idx);
    for (int64_t i = 0; idx && i < form->nnz; i++) idx[i] = form->idx[i];
    return idx;
}

/* Entries of a binary operand are 1, which the API lets a caller say by giving no values. */
static lac_status_t attach_compressed(attachment_t *know, const ref_matrix_t *x, bool by_rows, bool wide)
{
    const ref_compressed_t *form = &know->compressed;
    bool made = by_rows ? ref_csr_make(&know->compressed, x) : ref_csc_make(&know->compressed, x);
    if (made && form->nnz > INT32_MAX) wide = true;
    if (made) know->narrow = wide ? wide_indices(form) : narrow_pointers(form);
    if (!know->narrow) return LAC_ERR_MEMORY;
    const void *ptr = wide ? (const void *)form->ptr : know->narrow;
    const void *idx = wide ? know->narrow : (const void *)form->idx;
    const float *val = x->dt == LAC_U8 ? NULL : form->val;
    lac_it_t it = wide ? LAC_I64 : LAC_I32;
    return by_rows ? lac_meta_attach_csr(know->meta, it, ptr, idx, val)
                   : lac_meta_attach_csc(know->meta, it, ptr, idx, val);
}

static lac_status_t attach_form(attachment_t *know, lac_ctx_t *ctx, const lac_obj_t *obj,
                                const ref_matrix_t *x, ref_meta_t meta, bool wide)
{
    switch (meta) {
    case REF_META_NONE:
        return LAC_OK;
    case REF_META_DENSITY:
        return lac_meta_scan(ctx, obj, LAC_META_DENSITY);
    case REF_META_CSR:
        return attach_compressed(know, x, true, wide);
    case REF_META_CSC:
        return attach_compressed(know, x, false, wide);
    case REF_META_BITS:
        if (!ref_bits_make(&know->bits, x)) return LAC_ERR_MEMORY;
        return lac_meta_attach_bitmask(know->meta, know->bits.bits, know->bits.val);
    case REF_META_ACTIVE:
        if (!ref_active_make(&know->active, x)) return LAC_ERR_MEMORY;
        return lac_meta_attach_active(know->meta, know->active.active, know->active.k, know->active.slots);
    }
    return LAC_ERR_VALUE;
}

static lac_status_t attach(attachment_t *know, lac_ctx_t *ctx, lac_obj_t *obj, const ref_matrix_t *x,
                           const ref_operand_t *said, bool wide)
{
    if (said->meta == REF_META_NONE && !said->frozen) return LAC_OK;
    lac_status_t status = lac_meta_create(&know->meta, x->m, x->n);
    if (status != LAC_OK) return status;
    obj->meta = know->meta;
    status = attach_form(know, ctx, obj, x, said->meta, wide);
    if (status == LAC_OK && said->frozen) status = lac_meta_freeze(know->meta);
    if (said->only) obj->buf = NULL;
    return status;
}

static void detach(attachment_t *know)
{
    lac_meta_free(know->meta);
    ref_compressed_free(&know->compressed);
    ref_bits_free(&know->bits);
    ref_active_free(&know->active);
    free(know->narrow);
}

static bool floats_of(ref_matrix_t *out, const ref_matrix_t *x, const ref_layout_t *layout)
{
    if (!ref_matrix_alloc(out, LAC_F32, x->m, x->n, layout, 0)) return false;
    float *to = out->data;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) to[i * out->rs + j * out->cs] = ref_matrix_at(x, i, j);
    return true;
}

static bool make_plain(lac_obj_t *plain, ref_matrix_t *f32, const ref_matrix_t *x, const ref_operand_t *said,
                       lac_trans_t trans)
{
    if (x->dt == LAC_U8 && !floats_of(f32, x, &said->layout)) return false;
    *plain = ref_matrix_obj(x->dt == LAC_U8 ? f32 : x, trans);
    return true;
}

static bool make_data(operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    if (!ref_case_make(&set->data, p, OPERAND_SET_GUARD)) return false;
    if (!ref_matrix_copy(&set->c_before, &set->data.c)) return false;
    set->a = ref_matrix_obj(&set->data.a, p->trans_a);
    set->b = ref_matrix_obj(&set->data.b, p->trans_b);
    set->c = ref_matrix_obj(&set->data.c, LAC_NO_TRANS);
    return make_plain(&set->plain_a, &set->a_f32, &set->data.a, &p->a, p->trans_a) &&
           make_plain(&set->plain_b, &set->b_f32, &set->data.b, &p->b, p->trans_b);
}

bool operand_set_make(operand_set_t *set, const ref_problem_t *problem, lac_ctx_t *ctx, char *error,
                      size_t error_size)
{
    *set = (operand_set_t){.problem = *problem};
    ref_problem_print(problem, set->text, sizeof set->text);
    bool wide = problem->seed % 2 == 0;
    const char *what = "operands";
    lac_status_t status = make_data(set) ? LAC_OK : LAC_ERR_MEMORY;
    if (status == LAC_OK) {
        what = "metaA";
        status = attach(&set->know_a, ctx, &set->a, &set->data.a, &problem->a, wide);
    }
    if (status == LAC_OK) {
        what = "metaB";
        status = attach(&set->know_b, ctx, &set->b, &set->data.b, &problem->b, wide);
    }
    if (status == LAC_OK) return true;
    const char *why = status == LAC_ERR_MEMORY ? "" : lac_last_error();
    snprintf(error, error_size, "%s: %s: %s%s%s", set->text, what, lac_status_text(status), *why ? ": " : "",
             why);
    operand_set_free(set);
    return false;
}

void operand_set_free(operand_set_t *set)
{
    detach(&set->know_a);
    detach(&set->know_b);
    ref_matrix_free(&set->a_f32);
    ref_matrix_free(&set->b_f32);
    ref_matrix_free(&set->c_before);
    ref_case_free(&set->data);
    memset(set, 0, sizeof *set);
}

void operand_set_reset(operand_set_t *set)
{
    ref_matrix_restore(&set->data.c, &set->c_before);
}
