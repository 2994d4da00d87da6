/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Attaching a caller's sparse form: checked once, in time linear in its size, then trusted. */
#include "metadata.h"
#include "../base/memory.h"
#include "../base/status.h"

#include <limits.h>

/* A caller's index array of either type, read one entry at a time. */
typedef struct indices {
    lac_it_t type;
    const void *data;
} indices_t;

static int64_t at(indices_t list, int64_t i)
{
    return list.type == LAC_I64 ? ((const int64_t *)list.data)[i] : ((const int32_t *)list.data)[i];
}

static lac_status_t check_pointers(indices_t ptr, int64_t majors, int64_t minors)
{
    if (at(ptr, 0) != 0) return lac_fail(LAC_ERR_SPARSE, "ptr[0]: is %lld, not 0", (long long)at(ptr, 0));
    for (int64_t i = 0; i < majors; i++) {
        int64_t begin = at(ptr, i), end = at(ptr, i + 1);
        if (end < begin)
            return lac_fail(LAC_ERR_SPARSE, "ptr[%lld]: is %lld, less than the pointer before it",
                            (long long)i + 1, (long long)end);
        if (end - begin > minors)
            return lac_fail(LAC_ERR_SPARSE, "ptr[%lld]: %lld entries do not fit an extent of %lld",
                            (long long)i + 1, (long long)(end - begin), (long long)minors);
    }
    return LAC_OK;
}

static lac_status_t check_indices(indices_t ptr, indices_t idx, int64_t majors, int64_t minors)
{
    for (int64_t i = 0; i < majors; i++) {
        int64_t last = -1;
        for (int64_t p = at(ptr, i); p < at(ptr, i + 1); p++) {
            int64_t j = at(idx, p);
            if (j < 0 || j >= minors)
                return lac_fail(LAC_ERR_SPARSE, "idx[%lld]: is %lld, outside [0, %lld)", (long long)p,
                                (long long)j, (long long)minors);
            if (j <= last)
                return lac_fail(LAC_ERR_SPARSE, "idx[%lld]: is %lld, %s", (long long)p, (long long)j,
                                j == last ? "a duplicate" : "less than the index before it: not sorted");
            last = j;
        }
    }
    return LAC_OK;
}

/* The library's own index types are 64 bits for pointers and 32 for indices: others are converted. */
static lac_status_t convert(indices_t ptr, indices_t idx, int64_t majors, lac_form_data_t *form)
{
    if (ptr.type == LAC_I64) {
        form->ptr = ptr.data;
        int32_t *narrow = lac_alloc((size_t)form->count * sizeof *narrow);
        if (!narrow)
            return lac_fail(LAC_ERR_MEMORY, "idx: out of memory for a copy of %lld", (long long)form->count);
        for (int64_t p = 0; p < form->count; p++) narrow[p] = (int32_t)at(idx, p);
        form->idx = form->owned[0] = narrow;
        form->owned_bytes = (size_t)form->count * sizeof *narrow;
        return LAC_OK;
    }
    form->idx = idx.data;
    int64_t *wide = lac_alloc((size_t)(majors + 1) * sizeof *wide);
    if (!wide)
        return lac_fail(LAC_ERR_MEMORY, "ptr: out of memory for a copy of %lld", (long long)majors + 1);
    for (int64_t i = 0; i <= majors; i++) wide[i] = at(ptr, i);
    form->ptr = form->owned[0] = wide;
    form->owned_bytes = (size_t)(majors + 1) * sizeof *wide;
    return LAC_OK;
}

static lac_status_t check_extents(const lac_meta_t *meta)
{
    if (meta->m <= INT32_MAX && meta->n <= INT32_MAX) return LAC_OK;
    return lac_fail(LAC_ERR_EXTENT, "m, n: %lld x %lld overflows 32-bit indices", (long long)meta->m,
                    (long long)meta->n);
}

static void install(lac_meta_t *meta, lac_form_t form, lac_form_data_t *data)
{
    data->origin = LAC_ORIGIN_ATTACHED;
    pthread_mutex_lock(&meta->build);
    lac_meta_install(meta, form, data);
    pthread_mutex_unlock(&meta->build);
}

static lac_status_t attach_compressed(lac_meta_t *meta, lac_form_t form, int64_t majors, int64_t minors,
                                      lac_it_t it, const void *ptr_data, const void *idx_data,
                                      const float *val)
{
    lac_status_t status;
    if (it != LAC_I32 && it != LAC_I64) return lac_fail(LAC_ERR_TYPE, "it: %d is no index type", (int)it);
    if (!ptr_data) return lac_fail(LAC_ERR_NULL, "ptr: is NULL");
    if ((status = check_extents(meta))) return status;
    indices_t ptr = {it, ptr_data}, idx = {it, idx_data};
    if ((status = check_pointers(ptr, majors, minors))) return status;
    lac_form_data_t data = {.count = at(ptr, majors), .val = val};
    if (data.count && !idx_data) return lac_fail(LAC_ERR_NULL, "idx: is NULL");
    if ((status = check_indices(ptr, idx, majors, minors))) return status;
    if ((status = convert(ptr, idx, majors, &data))) return status;
    install(meta, form, &data);
    return LAC_OK;
}

lac_status_t lac_meta_attach_csr(lac_meta_t *meta, lac_it_t it, const void *ptr, const void *idx,
                                 const float *val)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    return attach_compressed(meta, LAC_FORM_CSR, meta->m, meta->n, it, ptr, idx, val);
}

lac_status_t lac_meta_attach_csc(lac_meta_t *meta, lac_it_t it, const void *ptr, const void *idx,
                                 const float *val)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    return attach_compressed(meta, LAC_FORM_CSC, meta->n, meta->m, it, ptr, idx, val);
}

lac_status_t lac_meta_attach_active(lac_meta_t *meta, lac_dim_t count, const int32_t *idx, const float *val)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    if (count < 0 || count > meta->n)
        return lac_fail(LAC_ERR_EXTENT, "count: %lld is outside [0, %lld]", (long long)count,
                        (long long)meta->n);
    if (count && !idx) return lac_fail(LAC_ERR_NULL, "idx: is NULL");
    if (count && !val) return lac_fail(LAC_ERR_NULL, "val: is NULL");
    if (meta->m > INT32_MAX)
        return lac_fail(LAC_ERR_EXTENT, "m: %lld overflows 32-bit indices", (long long)meta->m);
    for (int64_t p = 0; p < count; p++)
        if (idx[p] < 0 || idx[p] >= meta->n || (p && idx[p] <= idx[p - 1]))
            return lac_fail(LAC_ERR_SPARSE, "idx[%lld]: is %d, %s", (long long)p, idx[p],
                            idx[p] < 0 || idx[p] >= meta->n ? "outside the extent" : "not ascending");
    lac_form_data_t data = {.count = count, .idx = idx, .val = val};
    install(meta, LAC_FORM_ACTIVE, &data);
    return LAC_OK;
}

lac_status_t lac_meta_attach_bitmask(lac_meta_t *meta, const uint64_t *bits, const float *val)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    lac_status_t status = check_extents(meta);
    if (status) return status;
    int64_t words = (meta->n + 63) / 64;
    if (meta->m && words && !bits) return lac_fail(LAC_ERR_NULL, "bits: is NULL");
    uint64_t unused = meta->n % 64 ? ~UINT64_C(0) << (meta->n % 64) : 0;
    int64_t *first = lac_alloc((size_t)meta->m * sizeof *first);
    if (!first)
        return lac_fail(LAC_ERR_MEMORY, "bits: out of memory for %lld row offsets", (long long)meta->m);
    int64_t count = 0;
    for (int64_t i = 0; i < meta->m; i++) {
        first[i] = count;
        for (int64_t w = 0; w < words; w++) count += __builtin_popcountll(bits[i * words + w]);
        if (words && bits[i * words + words - 1] & unused) {
            lac_free(first);
            return lac_fail(LAC_ERR_SPARSE, "bits: row %lld has bits set beyond column %lld", (long long)i,
                            (long long)meta->n - 1);
        }
    }
    if (count && !val) {
        lac_free(first);
        return lac_fail(LAC_ERR_NULL, "val: is NULL");
    }
    /* The kernels read whole vectors: the values are copied so that reading past the last one is allowed. */
    float *packed = lac_alloc((size_t)(count + 16) * sizeof *packed);
    if (!packed) {
        lac_free(first);
        return lac_fail(LAC_ERR_MEMORY, "val: out of memory for %lld values", (long long)count);
    }
    for (int64_t p = 0; p < count; p++) packed[p] = val[p];
    for (int64_t p = count; p < count + 16; p++) packed[p] = 0.0f;
    lac_form_data_t data = {
        .count = count, .ptr = first, .bits = bits, .val = packed, .owned = {first, packed}};
    data.owned_bytes = (size_t)meta->m * sizeof *first + (size_t)(count + 16) * sizeof *packed;
    install(meta, LAC_FORM_BITS, &data);
    return LAC_OK;
}
