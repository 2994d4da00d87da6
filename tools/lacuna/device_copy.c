/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A host matrix's copy on a device. */
#include "device_copy.h"

static size_t element_size(const ref_matrix_t *x)
{
    return x->dt == LAC_U8 ? sizeof(uint8_t) : sizeof(float);
}

static size_t stored_bytes(const ref_matrix_t *x)
{
    return (size_t)(x->slots + 2 * x->guard) * element_size(x);
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
    obj->buf = (char *)copy->memory + (size_t)x->guard * element_size(x);
    return status;
}

lac_status_t device_copy_put(const device_copy_t *copy, const ref_matrix_t *x)
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
