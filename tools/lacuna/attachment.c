/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The metadata of an operand, and the arrays that are attached to it. */
#include "attachment.h"

#include <stdlib.h>

#include "device_copy.h"

unsigned attachment_scan_mask(ref_meta_t meta)
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

/* Entries of a binary operand are 1, which the API lets a caller say by giving no values. */
static lac_status_t attach_compressed(attachment_t *know, const ref_matrix_t *x, bool by_rows, bool wide)
{
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
    const float *val = x->dt == LAC_U8 ? NULL : placed(know, format->val, format->nnz, sizeof *val, &status);
    lac_index_t it = wide ? LAC_I64 : LAC_I32;
    if (status != LAC_OK) return status;
    return by_rows ? lac_meta_attach_csr(know->meta, it, ptr, idx, val)
                   : lac_meta_attach_csc(know->meta, it, ptr, idx, val);
}

static lac_status_t attach_bits(attachment_t *know, const ref_matrix_t *x)
{
    lac_status_t status = LAC_OK;
    const ref_bits_t *format = &know->bits;
    if (!ref_bits_make(&know->bits, x)) return LAC_ERR_MEMORY;
    const uint64_t *bits = placed(know, format->bits, format->rows * format->words, sizeof *bits, &status);
    const float *val = placed(know, format->val, format->nnz, sizeof *val, &status);
    return status != LAC_OK ? status : lac_meta_attach_bitmask(know->meta, bits, val);
}

static lac_status_t attach_active(attachment_t *know, const ref_matrix_t *x)
{
    lac_status_t status = LAC_OK;
    const ref_active_t *format = &know->active;
    if (!ref_active_make(&know->active, x)) return LAC_ERR_MEMORY;
    const int32_t *k = placed(know, format->k, format->active, sizeof *k, &status);
    const float *slots = placed(know, format->slots, format->active * format->rows, sizeof *slots, &status);
    return status != LAC_OK ? status : lac_meta_attach_active(know->meta, format->active, k, slots);
}

static lac_status_t attach_format(attachment_t *know, const lac_obj_t *obj, const ref_matrix_t *x,
                                  ref_meta_t meta, bool wide)
{
    switch (meta) {
    case REF_META_NONE:
        return LAC_OK;
    case REF_META_DENSITY:
        return lac_meta_scan(know->ctx, obj, LAC_META_DENSITY);
    case REF_META_CSR:
        return attach_compressed(know, x, true, wide);
    case REF_META_CSC:
        return attach_compressed(know, x, false, wide);
    case REF_META_BITS:
        return attach_bits(know, x);
    case REF_META_ACTIVE:
        return attach_active(know, x);
    }
    return LAC_ERR_VALUE;
}

lac_status_t attachment_make(attachment_t *know, lac_ctx_t *ctx, lac_obj_t *obj, const ref_matrix_t *x,
                             const ref_operand_t *said, bool wide)
{
    if (said->meta == REF_META_NONE && !said->frozen) return LAC_OK;
    lac_status_t status = lac_meta_create_for(ctx, &know->meta, x->m, x->n);
    if (status != LAC_OK) return status;
    know->ctx = ctx;
    obj->meta = know->meta;
    status = attach_format(know, obj, x, said->meta, wide);
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
    free(know->narrow);
}
