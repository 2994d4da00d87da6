/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Arrays and matrices that lie where a context computes. */
#include "guarded_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "ref_generate.h"

enum { GUARD = 64, POISON = 0xa5 };

lac_status_t guarded_buffer_make(guarded_buffer_t *array, lac_ctx_t *ctx, size_t bytes, const void *from)
{
    *array = (guarded_buffer_t){.ctx = ctx, .bytes = bytes};
    array->base = malloc(bytes + 2 * GUARD);
    if (!array->base) return LAC_ERR_MEMORY;
    memset(array->base, POISON, bytes + 2 * GUARD);
    if (from && bytes) memcpy(array->base + GUARD, from, bytes);
    return computes_on_device(ctx) ? device_array(ctx, array->base, bytes + 2 * GUARD, &array->device)
                                   : LAC_OK;
}

void *guarded_buffer_at(const guarded_buffer_t *array)
{
    return (array->device ? (unsigned char *)array->device : array->base) + GUARD;
}

void *guarded_buffer_host(const guarded_buffer_t *array)
{
    return array->base + GUARD;
}

lac_status_t guarded_buffer_fetch(guarded_buffer_t *array)
{
    if (!array->device) return LAC_OK;
    return lac_device_download(array->ctx, array->base, array->device, array->bytes + 2 * GUARD);
}

static bool is_poison(const unsigned char *from, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && from[i] == POISON) i++;
    return i == bytes;
}

bool guarded_buffer_overrun(const guarded_buffer_t *array)
{
    return is_poison(array->base, GUARD) && is_poison(array->base + GUARD + array->bytes, GUARD);
}

bool guarded_buffer_untouched(const guarded_buffer_t *array)
{
    return is_poison(array->base, array->bytes + 2 * GUARD);
}

void guarded_buffer_free(guarded_buffer_t *array)
{
    if (array->device) lac_device_free(array->ctx, array->device);
    free(array->base);
    *array = (guarded_buffer_t){0};
}

lac_status_t guarded_matrix_make(guarded_matrix_t *x, lac_ctx_t *ctx, int64_t m, int64_t n,
                                 const ref_layout_t *layout, const ref_pattern_t *pattern, uint64_t seed)
{
    *x = (guarded_matrix_t){0};
    if (!ref_matrix_alloc(&x->host, LAC_F32, m, n, layout, GUARD)) return LAC_ERR_MEMORY;
    if (pattern && !ref_fill(&x->host, pattern, seed)) return LAC_ERR_MEMORY;
    x->obj = ref_matrix_obj(&x->host, LAC_NO_TRANS);
    return computes_on_device(ctx) ? device_copy_make(&x->copy, ctx, &x->host, &x->obj) : LAC_OK;
}

lac_status_t guarded_matrix_fetch(guarded_matrix_t *x)
{
    return device_copy_fetch(&x->copy, &x->host);
}

void guarded_matrix_free(guarded_matrix_t *x)
{
    device_copy_free(&x->copy);
    ref_matrix_free(&x->host);
}
