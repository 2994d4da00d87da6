/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The operands of one problem: copies on a device, metadata, and attached formats. */
#include "operands.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

static size_t stored_bytes(const ref_matrix_t *x)
{
    return (size_t)(x->slots + 2 * x->guard) * lac_dt_size(x->dt);
}

bool computes_on_device(const lac_ctx_t *ctx)
{
    return lac_device_stream(ctx) != NULL;
}

lac_status_t device_array(lac_ctx_t *ctx, const void *from, size_t bytes, void **array)
{
    lac_status_t status = lac_device_alloc(ctx, bytes, array);
    return status != LAC_OK ? status : lac_device_upload(ctx, *array, from, bytes);
}

lac_status_t device_copy_make(device_copy_t *copy, lac_ctx_t *ctx, const ref_matrix_t *x, lac_obj_t *obj)
{
    copy->ctx = ctx;
    lac_status_t status = device_array(ctx, x->base, stored_bytes(x), &copy->memory);
    obj->space = LAC_DEVICE;
    obj->buf = (char *)copy->memory + (size_t)x->guard * lac_dt_size(x->dt);
    return status;
}

/* Contents of a matrix of the same geometry to the copy. Waits; does nothing without a copy. */
static lac_status_t device_copy_put(const device_copy_t *copy, const ref_matrix_t *x)
{
    return copy->memory ? lac_device_upload(copy->ctx, copy->memory, x->base, stored_bytes(x)) : LAC_OK;
}

lac_status_t device_copy_fetch(const device_copy_t *copy, ref_matrix_t *x)
{
    return copy->memory ? lac_device_download(copy->ctx, x->base, copy->memory, stored_bytes(x)) : LAC_OK;
}

void device_copy_free(device_copy_t *copy)
{
    if (copy->memory) lac_device_free(copy->ctx, copy->memory);
    *copy = (device_copy_t){0};
}

/* The metadata of an operand, and the arrays that are attached to it. */

unsigned attachment_scan_mask(ref_meta_t meta)
{
    switch (meta) {
    case REF_META_NONE:
        return 0;
    case REF_META_DENSITY:
        return LAC_META_DENSITY;
    case REF_META_CSR:
    case REF_META_ELL: /* which nobody measures: a buffer's rows are as long as they are */
        return LAC_META_CSR;
    case REF_META_CSC:
        return LAC_META_CSC;
    case REF_META_BITS:
        return LAC_META_BITMASK;
    case REF_META_ACTIVE:
        return LAC_META_ACTIVE;
    case REF_META_EVENT_BITS: /* which a caller alone has */
    case REF_META_EVENT_LISTS:
        return LAC_META_DENSITY;
    }
    return 0;
}

static void *narrow_pointers(const ref_compressed_t *format)
{
    int32_t *ptr = malloc((size_t)(format->lines + 1) * sizeof *ptr);
    for (int64_t i = 0; ptr && i <= format->lines; i++) ptr[i] = (int32_t)format->ptr[i];
    return ptr;
}

static void *wide_indices(const ref_compressed_t *format)
{
    int64_t *idx = malloc((size_t)(format->nnz + 1) * sizeof *idx);
    for (int64_t i = 0; idx && i < format->nnz; i++) idx[i] = format->idx[i];
    return idx;
}

/* An array as the library takes it: itself on the host, a copy on a device. *status keeps the first error. */
static const void *placed(attachment_t *know, const void *array, int64_t count, size_t width,
                          lac_status_t *status)
{
    if (!computes_on_device(know->ctx) || *status != LAC_OK) return array;
    *status = device_array(know->ctx, array, (size_t)count * width, &know->array[know->arrays]);
    return know->array[know->arrays++];
}

static size_t value_size(const ref_matrix_t *x)
{
    return lac_dt_size(x->dt == LAC_F64 ? LAC_F64 : LAC_F32);
}

/* ones: of entries that are 1, which the API lets a caller say by giving no values. */
static lac_status_t attach_compressed(attachment_t *know, const ref_matrix_t *x, bool ones, ref_meta_t meta,
                                      bool wide)
{
    bool by_rows = meta != REF_META_CSC, ell = meta == REF_META_ELL;
    lac_status_t status = LAC_OK;
    const ref_compressed_t *format = &know->compressed;
    bool made = by_rows ? ref_csr_make(&know->compressed, x) : ref_csc_make(&know->compressed, x);
    if (made && format->nnz > INT32_MAX) wide = true;
    if (made) know->narrow = wide ? wide_indices(format) : narrow_pointers(format);
    if (!know->narrow) return LAC_ERR_MEMORY;
    const void *ptr = wide ? (const void *)format->ptr : know->narrow;
    const void *idx = wide ? know->narrow : (const void *)format->idx;
    size_t width = wide ? sizeof(int64_t) : sizeof(int32_t);
    ptr = placed(know, ptr, format->lines + 1, width, &status);
    idx = placed(know, idx, format->nnz, width, &status);
    const void *val = ones ? NULL : placed(know, format->val, format->nnz, value_size(x), &status);
    lac_index_t it = wide ? LAC_I64 : LAC_I32;
    if (status != LAC_OK) return status;
    if (ell) return lac_meta_attach_ell(know->meta, it, x->m ? format->nnz / x->m : 0, idx, val);
    return by_rows ? lac_meta_attach_csr(know->meta, it, ptr, idx, val)
                   : lac_meta_attach_csc(know->meta, it, ptr, idx, val);
}

static lac_status_t attach_bits(attachment_t *know, const ref_matrix_t *x)
{
    lac_status_t status = LAC_OK;
    const ref_bits_t *format = &know->bits;
    if (!ref_bits_make(&know->bits, x)) return LAC_ERR_MEMORY;
    const uint64_t *bits = placed(know, format->bits, format->rows * format->words, sizeof *bits, &status);
    const void *val = placed(know, format->val, format->nnz, value_size(x), &status);
    return status != LAC_OK ? status : lac_meta_attach_bitmask(know->meta, bits, val);
}

static lac_status_t attach_active(attachment_t *know, const ref_matrix_t *x)
{
    lac_status_t status = LAC_OK;
    const ref_active_t *format = &know->active;
    if (!ref_active_make(&know->active, x)) return LAC_ERR_MEMORY;
    const int32_t *k = placed(know, format->k, format->active, sizeof *k, &status);
    const void *slots = placed(know, format->slots, format->active * format->rows, value_size(x), &status);
    return status != LAC_OK ? status : lac_meta_attach_active(know->meta, format->active, k, slots);
}

/* Column j is bit `first` + j of a row of so many words; the other bits are those of other operands. */
static lac_status_t attach_event_bits(attachment_t *know, const ref_matrix_t *x, int64_t first)
{
    lac_status_t status = LAC_OK;
    int64_t words = (first + x->n + 63) / 64 + first % 2, count = x->m * words;
    uint64_t *bits = know->events = malloc((size_t)(count + 1) * sizeof *bits);
    if (!bits) return LAC_ERR_MEMORY;
    memset(bits, 0xff, (size_t)(count + 1) * sizeof *bits);
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++)
            if (ref_matrix_at(x, i, j) == 0.0)
                bits[i * words + (first + j) / 64] &= ~(UINT64_C(1) << ((first + j) % 64));
    bits = (uint64_t *)placed(know, bits, count, sizeof *bits, &status);
    return status != LAC_OK ? status : lac_meta_attach_event_bits(know->meta, words, bits, first);
}

/* Columns count from `first`; what comes before and behind belongs to other operands. */
static lac_status_t attach_event_lists(attachment_t *know, const ref_matrix_t *x, int64_t first)
{
    lac_status_t status = LAC_OK;
    int64_t ld = x->n + 3;
    int32_t *list = know->events = calloc((size_t)(x->m * ld + 1), sizeof *list),
            *counts = know->counts = calloc((size_t)(x->m + 1), sizeof *counts);
    if (!list || !counts) return LAC_ERR_MEMORY;
    for (int64_t i = 0; i < x->m; i++) {
        int32_t *row = list + i * ld, *n = counts + i;
        if (first) row[(*n)++] = (int32_t)first - 1;
        for (int64_t j = 0; j < x->n; j++)
            if (ref_matrix_at(x, i, j) != 0.0) row[(*n)++] = (int32_t)(first + j);
        if (first % 2) row[(*n)++] = (int32_t)(first + x->n);
    }
    const int32_t *idx = placed(know, list, x->m * ld, sizeof *idx, &status);
    const int32_t *count = placed(know, counts, x->m, sizeof *count, &status);
    return status != LAC_OK ? status : lac_meta_attach_event_lists(know->meta, ld, idx, count, first);
}

static lac_status_t attach_format(attachment_t *know, const lac_obj_t *obj, const ref_matrix_t *x,
                                  const ref_operand_t *said, bool wide)
{
    int64_t first = wide ? 0 : 37 + x->n % 2; /* of the events */
    switch (said->meta) {
    case REF_META_NONE:
        return LAC_OK;
    case REF_META_DENSITY:
        return lac_meta_scan(know->ctx, obj, LAC_META_DENSITY);
    case REF_META_CSR:
    case REF_META_CSC:
    case REF_META_ELL:
        return attach_compressed(know, x, obj->dt == LAC_U8 || said->pattern.values == REF_ONES, said->meta,
                                 wide);
    case REF_META_BITS:
        return attach_bits(know, x);
    case REF_META_ACTIVE:
        return attach_active(know, x);
    case REF_META_EVENT_BITS:
        return attach_event_bits(know, x, first);
    case REF_META_EVENT_LISTS:
        return attach_event_lists(know, x, first);
    }
    return LAC_ERR_VALUE;
}

static bool numbers_of(ref_matrix_t *out, lac_dt_t dt, const ref_matrix_t *x, const ref_layout_t *layout)
{
    if (!ref_matrix_alloc(out, dt, x->m, x->n, layout, 0)) return false;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) ref_matrix_put(out, i, j, ref_matrix_at(x, i, j));
    return true;
}

lac_status_t attachment_make(attachment_t *know, lac_ctx_t *ctx, lac_obj_t *obj, const ref_matrix_t *x,
                             const ref_operand_t *said, lac_dt_t dt, bool wide)
{
    if (said->meta == REF_META_NONE && !said->frozen) return LAC_OK;
    lac_status_t status = lac_meta_create_for(ctx, &know->meta, x->m, x->n);
    if (status != LAC_OK) return status;
    know->ctx = ctx;
    obj->meta = know->meta;
    if (dt == LAC_F64) status = lac_meta_set_type(know->meta, dt);
    bool apart = x->dt == LAC_U8 && dt == LAC_F64; /* the values of its formats are doubles */
    if (status == LAC_OK && apart && !numbers_of(&know->numbers, dt, x, &said->layout))
        status = LAC_ERR_MEMORY;
    if (status == LAC_OK) status = attach_format(know, obj, apart ? &know->numbers : x, said, wide);
    if (status == LAC_OK && said->frozen) status = lac_meta_freeze(know->meta);
    if (said->only) obj->buf = NULL;
    return status;
}

void attachment_free(attachment_t *know)
{
    lac_meta_free(know->meta);
    for (int i = 0; i < know->arrays; i++) lac_device_free(know->ctx, know->array[i]);
    ref_compressed_free(&know->compressed);
    ref_bits_free(&know->bits);
    ref_active_free(&know->active);
    ref_matrix_free(&know->numbers);
    free(know->narrow);
    free(know->events);
    free(know->counts);
}

/* The operands of one problem as the library takes them. */

#define RENEWED_SEED 0x72656e6577 /* distinct from the seeds of a list */

/* The one type that a BLAS takes both operands in: in place of bytes that of the other operand, of two types
 * the wider. */
static lac_dt_t plain_type(const ref_problem_t *p)
{
    if (p->op >= REF_HGEMM && (p->a.dt == LAC_F32 || p->b.dt == LAC_F32)) return LAC_F32;
    return ref_is_half(p->a.dt) ? p->a.dt : ref_is_half(p->b.dt) ? p->b.dt : p->c.dt;
}

static bool make_plain(lac_obj_t *plain, ref_matrix_t *numbers, lac_dt_t dt, const ref_matrix_t *x,
                       const ref_operand_t *said, lac_trans_t trans)
{
    if (x->dt != dt && !numbers_of(numbers, dt, x, &said->layout)) return false;
    *plain = ref_matrix_obj(x->dt != dt ? numbers : x, trans);
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
    return make_plain(&set->plain_a, &set->a_plain, plain_type(p), &set->data.a, &p->a, p->trans_a) &&
           make_plain(&set->plain_b, &set->b_plain, plain_type(p), &set->data.b, &p->b, p->trans_b);
}

/* One operand, and the numbers of a binary one, on the device. An operand that is sparse only has no buffer
 * there but the plain one. */
static lac_status_t copy_operand(lac_ctx_t *ctx, const ref_matrix_t *x, device_copy_t *copy, lac_obj_t *obj,
                                 const ref_matrix_t *numbers, device_copy_t *copy_numbers, lac_obj_t *plain)
{
    lac_status_t status = device_copy_make(copy, ctx, x, obj);
    plain->space = LAC_DEVICE;
    plain->buf = obj->buf;
    if (status == LAC_OK && numbers->base) status = device_copy_make(copy_numbers, ctx, numbers, plain);
    return status;
}

static lac_status_t copy_to_device(operand_set_t *set, lac_ctx_t *ctx)
{
    lac_status_t status = copy_operand(ctx, &set->data.a, &set->copy_a, &set->a, &set->a_plain,
                                       &set->copy_a_plain, &set->plain_a);
    if (status == LAC_OK)
        status = copy_operand(ctx, &set->data.b, &set->copy_b, &set->b, &set->b_plain, &set->copy_b_plain,
                              &set->plain_b);
    if (status == LAC_OK) status = device_copy_make(&set->copy_c, ctx, &set->data.c, &set->c);
    return status;
}

bool operand_set_make(operand_set_t *set, const ref_problem_t *problem, lac_ctx_t *ctx, char *error,
                      size_t error_size)
{
    *set =
        (operand_set_t){.problem = *problem, .alpha = (double)problem->alpha, .beta = (double)problem->beta};
    ref_problem_print(problem, set->text, sizeof set->text);
    bool wide = problem->seed % 2 == 0;
    const char *what = "operands";
    lac_status_t status = make_data(set) ? LAC_OK : LAC_ERR_MEMORY;
    if (status == LAC_OK && computes_on_device(ctx)) status = copy_to_device(set, ctx);
    if (status == LAC_OK) {
        what = "metaA";
        status = attachment_make(&set->know_a, ctx, &set->a, &set->data.a, &problem->a, problem->c.dt, wide);
    }
    if (status == LAC_OK) {
        what = "metaB";
        status = attachment_make(&set->know_b, ctx, &set->b, &set->data.b, &problem->b, problem->c.dt, wide);
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
    device_copy_free(&set->copy_a_plain);
    device_copy_free(&set->copy_b_plain);
    ref_matrix_free(&set->a_plain);
    ref_matrix_free(&set->b_plain);
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
