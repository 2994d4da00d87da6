/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The operands of one problem as the library takes them. */
#include "operand_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RENEWED_SEED 0x72656e6577 /* told apart from the seeds of a list */

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

/* One operand, and the floats of a binary one, on the device. An operand that is sparse only has no buffer
 * there but the plain one. */
static lac_status_t copy_operand(lac_ctx_t *ctx, const ref_matrix_t *x, device_copy_t *copy, lac_obj_t *obj,
                                 const ref_matrix_t *f32, device_copy_t *copy_f32, lac_obj_t *plain)
{
    lac_status_t status = device_copy_make(copy, ctx, x, obj);
    plain->space = LAC_DEVICE;
    plain->buf = obj->buf;
    if (status == LAC_OK && f32->base) status = device_copy_make(copy_f32, ctx, f32, plain);
    return status;
}

static lac_status_t copy_to_device(operand_set_t *set, lac_ctx_t *ctx)
{
    lac_status_t status =
        copy_operand(ctx, &set->data.a, &set->copy_a, &set->a, &set->a_f32, &set->copy_a_f32, &set->plain_a);
    if (status == LAC_OK)
        status = copy_operand(ctx, &set->data.b, &set->copy_b, &set->b, &set->b_f32, &set->copy_b_f32,
                              &set->plain_b);
    if (status == LAC_OK) status = device_copy_make(&set->copy_c, ctx, &set->data.c, &set->c);
    return status;
}

bool operand_set_make(operand_set_t *set, const ref_problem_t *problem, lac_ctx_t *ctx, char *error,
                      size_t error_size)
{
    *set = (operand_set_t){.problem = *problem};
    ref_problem_print(problem, set->text, sizeof set->text);
    bool wide = problem->seed % 2 == 0;
    const char *what = "operands";
    lac_status_t status = make_data(set) ? LAC_OK : LAC_ERR_MEMORY;
    if (status == LAC_OK && computes_on_device(ctx)) status = copy_to_device(set, ctx);
    if (status == LAC_OK) {
        what = "metaA";
        status = attachment_make(&set->know_a, ctx, &set->a, &set->data.a, &problem->a, wide);
    }
    if (status == LAC_OK) {
        what = "metaB";
        status = attachment_make(&set->know_b, ctx, &set->b, &set->data.b, &problem->b, wide);
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
    attachment_free(&set->know_a);
    attachment_free(&set->know_b);
    device_copy_free(&set->copy_a);
    device_copy_free(&set->copy_b);
    device_copy_free(&set->copy_c);
    device_copy_free(&set->copy_a_f32);
    device_copy_free(&set->copy_b_f32);
    ref_matrix_free(&set->a_f32);
    ref_matrix_free(&set->b_f32);
    ref_matrix_free(&set->c_before);
    ref_case_free(&set->data);
    memset(set, 0, sizeof *set);
}

lac_status_t operand_set_reset(operand_set_t *set)
{
    if (set->copy_c.memory) return device_copy_put(&set->copy_c, &set->c_before);
    ref_matrix_restore(&set->data.c, &set->c_before);
    return LAC_OK;
}

lac_status_t operand_set_fetch(operand_set_t *set)
{
    return device_copy_fetch(&set->copy_c, &set->data.c);
}

lac_status_t operand_set_fetch_inputs(operand_set_t *set)
{
    lac_status_t status = device_copy_fetch(&set->copy_a, &set->data.a);
    return status != LAC_OK ? status : device_copy_fetch(&set->copy_b, &set->data.b);
}

static lac_status_t renew(const attachment_t *know, const lac_obj_t *obj, const device_copy_t *copy,
                          ref_matrix_t *contents, const ref_matrix_t *fresh)
{
    if (!obj->buf) return LAC_OK;
    ref_matrix_restore(contents, fresh);
    lac_status_t status = device_copy_put(copy, contents);
    return status == LAC_OK && know->meta ? lac_meta_touch(know->meta) : status;
}

lac_status_t operand_set_renew(operand_set_t *set)
{
    ref_case_t fresh;
    ref_problem_t other = set->problem;
    other.seed += RENEWED_SEED;
    if (!ref_case_make(&fresh, &other, OPERAND_SET_GUARD)) return LAC_ERR_MEMORY;
    lac_status_t status = renew(&set->know_a, &set->a, &set->copy_a, &set->data.a, &fresh.a);
    if (status == LAC_OK) status = renew(&set->know_b, &set->b, &set->copy_b, &set->data.b, &fresh.b);
    ref_case_free(&fresh);
    return status;
}

static lac_status_t scan(const attachment_t *know, const lac_obj_t *obj, const ref_operand_t *said)
{
    if (!obj->buf || !know->meta) return LAC_OK;
    unsigned what = attachment_scan_mask(said->meta);
    lac_status_t status = what ? lac_meta_scan(know->ctx, obj, what) : LAC_OK;
    return status == LAC_OK && said->frozen ? lac_meta_freeze(know->meta) : status;
}

lac_status_t operand_set_scan(operand_set_t *set)
{
    lac_status_t status = scan(&set->know_a, &set->a, &set->problem.a);
    return status != LAC_OK ? status : scan(&set->know_b, &set->b, &set->problem.b);
}
