/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Attaching a caller's sparse format: checked once, in time linear in its size, then trusted. */
#include "metadata.h"
#include "base/memory.h"
#include "base/status.h"

#include <limits.h>
#include <string.h>

/* A caller's index array of either type, read one entry at a time. */
typedef struct indices {
    lac_index_t type;
    const void *data;
} indices_t;

static int64_t at(indices_t list, int64_t i)
{
    return list.type == LAC_I64 ? ((const int64_t *)list.data)[i] : ((const int32_t *)list.data)[i];
}

/* Also counts the entries, and those of the longest major. */
static lac_status_t check_pointers(indices_t ptr, int64_t majors, int64_t minors, lac_format_data_t *data)
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
        if (end - begin > data->longest) data->longest = end - begin;
    }
    data->count = at(ptr, majors);
    data->even = data->longest * majors == data->count;
    return LAC_OK;
}

/* Entries [begin, end) of one major. */
static lac_status_t check_major(indices_t idx, int64_t begin, int64_t end, int64_t minors)
{
    int64_t last = -1;
    for (int64_t p = begin; p < end; p++) {
        int64_t j = at(idx, p);
        if (j < 0 || j >= minors)
            return lac_fail(LAC_ERR_SPARSE, "idx[%lld]: is %lld, outside [0, %lld)", (long long)p,
                            (long long)j, (long long)minors);
        if (j <= last)
            return lac_fail(LAC_ERR_SPARSE, "idx[%lld]: is %lld, %s", (long long)p, (long long)j,
                            j == last ? "a duplicate" : "less than the index before it: not sorted");
        last = j;
    }
    return LAC_OK;
}

static lac_status_t check_indices(indices_t ptr, indices_t idx, int64_t majors, int64_t minors)
{
    lac_status_t status = LAC_OK;
    for (int64_t i = 0; !status && i < majors; i++)
        status = check_major(idx, at(ptr, i), at(ptr, i + 1), minors);
    return status;
}

static lac_status_t check_even_indices(indices_t idx, const lac_meta_t *meta, int64_t width)
{
    lac_status_t status = LAC_OK;
    for (int64_t i = 0; !status && i < meta->m; i++)
        status = check_major(idx, i * width, (i + 1) * width, meta->n);
    return status;
}

/* What checks can read of a caller's array: itself, or, where it lies on a device, a copy. */
typedef struct readable {
    const void *data;
    void *copy;
} readable_t;

static lac_status_t make_readable(const lac_meta_t *meta, const char *name, const void *data, size_t bytes,
                                  readable_t *out)
{
    *out = (readable_t){data, NULL};
    if (!meta->memory || !bytes) return LAC_OK;
    out->data = out->copy = lac_alloc(bytes);
    if (!out->copy) {
        lac_fail(LAC_ERR_MEMORY, "%s: out of memory for a copy of %zu bytes", name, bytes);
        return LAC_ERR_MEMORY; /* in so many words, for those who follow NULL through here */
    }
    return meta->memory->fetch(meta->device, out->copy, data, bytes);
}

/* Gives the format an array of the library's own, moved to where the metadata lies. */
static lac_status_t own(const lac_meta_t *meta, int slot, void *made, size_t bytes, lac_format_data_t *format,
                        const void **where)
{
    lac_status_t status = LAC_OK;
    format->owned[slot] = made;
    if (meta->memory) {
        format->release = meta->memory->release;
        status = meta->memory->upload_new(meta->device, &format->owned[slot], made, bytes);
        lac_free(made);
        if (status) format->owned[slot] = NULL;
    }
    *where = format->owned[slot];
    format->owned_bytes += bytes;
    return status;
}

/* The library's own index types are 64 bits for pointers and 32 for indices: others are converted. `ptr` and
 * `idx` are readable here; the caller's arrays are already in the format. */

static lac_status_t narrow_indices(const lac_meta_t *meta, indices_t idx, lac_format_data_t *format)
{
    const void *where;
    int32_t *narrow = lac_alloc((size_t)format->count * sizeof *narrow);
    if (!narrow)
        return lac_fail(LAC_ERR_MEMORY, "idx: out of memory for a copy of %lld", (long long)format->count);
    for (int64_t p = 0; p < format->count; p++) narrow[p] = (int32_t)at(idx, p);
    lac_status_t status = own(meta, 0, narrow, (size_t)format->count * sizeof *narrow, format, &where);
    format->idx = where;
    return status;
}

static lac_status_t convert(const lac_meta_t *meta, indices_t ptr, indices_t idx, int64_t majors,
                            lac_format_data_t *format)
{
    const void *where;
    if (ptr.type == LAC_I64) return narrow_indices(meta, idx, format);
    int64_t *wide = lac_alloc((size_t)(majors + 1) * sizeof *wide);
    if (!wide)
        return lac_fail(LAC_ERR_MEMORY, "ptr: out of memory for a copy of %lld", (long long)majors + 1);
    for (int64_t i = 0; i <= majors; i++) wide[i] = at(ptr, i);
    lac_status_t status = own(meta, 0, wide, (size_t)(majors + 1) * sizeof *wide, format, &where);
    format->ptr = where;
    return status;
}

static lac_status_t check_extents(const lac_meta_t *meta)
{
    if (meta->m <= INT32_MAX && meta->n <= INT32_MAX) return LAC_OK;
    return lac_fail(LAC_ERR_EXTENT, "m, n: %lld x %lld overflows 32-bit indices", (long long)meta->m,
                    (long long)meta->n);
}

/* Where the arrays lie, and of which type values are. */
static lac_status_t settle(lac_meta_t *meta, const void *val)
{
    if (val && !meta->values) lac_meta_settle_values(meta, LAC_F32);
    lac_location_t there = {LAC_DEVICE, meta->device};
    if (lac_meta_settle(meta, meta->memory ? there : LAC_LOCATION_HOST)) return LAC_OK;
    return lac_fail(LAC_ERR_SPACE,
                    "meta: serves an operand on a device; to attach arrays there, make it with "
                    "lac_meta_create_for");
}

static void install(lac_meta_t *meta, lac_format_t format, lac_format_data_t *data)
{
    data->origin = LAC_ORIGIN_ATTACHED;
    lac_meta_lock(meta);
    lac_meta_install(meta, format, data);
    lac_meta_unlock(meta);
}

static lac_status_t attach_compressed(lac_meta_t *meta, lac_format_t format, int64_t majors, int64_t minors,
                                      lac_index_t it, const void *ptr_data, const void *idx_data,
                                      const void *val)
{
    size_t width = it == LAC_I64 ? sizeof(int64_t) : sizeof(int32_t);
    readable_t ptr_seen, idx_seen = {NULL, NULL};
    lac_status_t status;
    if (it != LAC_I32 && it != LAC_I64) return lac_fail(LAC_ERR_TYPE, "it: %d is no index type", (int)it);
    if (!ptr_data) return lac_fail(LAC_ERR_NULL, "ptr: is NULL");
    if ((status = check_extents(meta))) return status;
    if ((status = settle(meta, val))) return status;
    status = make_readable(meta, "ptr", ptr_data, (size_t)(majors + 1) * width, &ptr_seen);
    indices_t ptr = {it, ptr_seen.data};
    lac_format_data_t data = {.val = val};
    if (!status) status = check_pointers(ptr, majors, minors, &data);
    if (!status && data.count && !idx_data) status = lac_fail(LAC_ERR_NULL, "idx: is NULL");
    if (!status) status = make_readable(meta, "idx", idx_data, (size_t)data.count * width, &idx_seen);
    indices_t idx = {it, idx_seen.data};
    if (!status) status = check_indices(ptr, idx, majors, minors);
    if (it == LAC_I64)
        data.ptr = ptr_data;
    else
        data.idx = idx_data;
    if (!status) status = convert(meta, ptr, idx, majors, &data);
    if (!status) install(meta, format, &data);
    lac_free(ptr_seen.copy);
    lac_free(idx_seen.copy);
    return status;
}

lac_status_t lac_meta_attach_csr(lac_meta_t *meta, lac_index_t it, const void *ptr, const void *idx,
                                 const void *val)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    return attach_compressed(meta, LAC_FORMAT_CSR, meta->m, meta->n, it, ptr, idx, val);
}

lac_status_t lac_meta_attach_csc(lac_meta_t *meta, lac_index_t it, const void *ptr, const void *idx,
                                 const void *val)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    return attach_compressed(meta, LAC_FORMAT_CSC, meta->n, meta->m, it, ptr, idx, val);
}

/* Pointers to rows of one length. */
static lac_status_t make_pointers(const lac_meta_t *meta, int64_t width, lac_format_data_t *data)
{
    const void *where;
    int64_t *ptr = lac_alloc((size_t)(meta->m + 1) * sizeof *ptr);
    if (!ptr)
        return lac_fail(LAC_ERR_MEMORY, "idx: out of memory for %lld row pointers", (long long)meta->m + 1);
    for (int64_t i = 0; i <= meta->m; i++) ptr[i] = i * width;
    lac_status_t status = own(meta, 1, ptr, (size_t)(meta->m + 1) * sizeof *ptr, data, &where);
    data->ptr = where;
    return status;
}

lac_status_t lac_meta_attach_ell(lac_meta_t *meta, lac_index_t it, lac_dim_t width, const void *idx_data,
                                 const void *val)
{
    size_t bytes = it == LAC_I64 ? sizeof(int64_t) : sizeof(int32_t);
    readable_t seen = {NULL, NULL};
    lac_format_data_t data = {.val = val, .even = true};
    lac_status_t status;
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    if (it != LAC_I32 && it != LAC_I64) return lac_fail(LAC_ERR_TYPE, "it: %d is no index type", (int)it);
    if (width < 0 || width > meta->n)
        return lac_fail(LAC_ERR_EXTENT, "width: %lld is outside [0, %lld]", (long long)width,
                        (long long)meta->n);
    if ((status = check_extents(meta))) return status;
    data.count = meta->m * width;
    data.longest = meta->m ? width : 0;
    if (data.count && !idx_data) return lac_fail(LAC_ERR_NULL, "idx: is NULL");
    if ((status = settle(meta, val))) return status;
    status = make_readable(meta, "idx", idx_data, (size_t)data.count * bytes, &seen);
    if (!status) status = check_even_indices((indices_t){it, seen.data}, meta, width);
    if (it == LAC_I32) data.idx = idx_data;
    if (!status && it == LAC_I64) status = narrow_indices(meta, (indices_t){it, seen.data}, &data);
    if (!status) status = make_pointers(meta, width, &data);
    if (!status) install(meta, LAC_FORMAT_CSR, &data);
    for (int i = 0; status && i < 2; i++)
        if (data.owned[i]) (data.release ? data.release : lac_free)(data.owned[i]);
    lac_free(seen.copy);
    return status;
}

lac_status_t lac_meta_attach_active(lac_meta_t *meta, lac_dim_t count, const int32_t *idx, const void *val)
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
    readable_t seen;
    lac_status_t status = settle(meta, val);
    if (status) return status;
    status = make_readable(meta, "idx", idx, (size_t)count * sizeof *idx, &seen);
    const int32_t *list = seen.data;
    for (int64_t p = 0; !status && p < count; p++)
        if (list[p] < 0 || list[p] >= meta->n || (p && list[p] <= list[p - 1]))
            status = lac_fail(LAC_ERR_SPARSE, "idx[%lld]: is %d, %s", (long long)p, list[p],
                              list[p] < 0 || list[p] >= meta->n ? "outside the extent" : "not ascending");
    lac_free(seen.copy);
    lac_format_data_t data = {.count = count, .idx = idx, .val = val};
    if (!status) install(meta, LAC_FORMAT_ACTIVE, &data);
    return status;
}

lac_status_t lac_meta_attach_event_lists(lac_meta_t *meta, lac_dim_t ld, const int32_t *idx,
                                         const int32_t *count, lac_dim_t first)
{
    lac_status_t status;
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    if (ld < 0 || ld > INT32_MAX)
        return lac_fail(LAC_ERR_EXTENT, "ld: %lld is outside [0, 2^31)", (long long)ld);
    if (first < 0 || first > INT32_MAX)
        return lac_fail(LAC_ERR_VALUE, "first: %lld is outside [0, 2^31)", (long long)first);
    if (meta->m && ld && !idx) return lac_fail(LAC_ERR_NULL, "idx: is NULL");
    if (meta->m && !count) return lac_fail(LAC_ERR_NULL, "count: is NULL");
    if ((status = check_extents(meta))) return status;
    if ((status = settle(meta, NULL))) return status;
    lac_format_data_t data = {.count = ld, .idx = idx, .counts = count, .first = first};
    install(meta, LAC_FORMAT_EVENT_LISTS, &data);
    return LAC_OK;
}

lac_status_t lac_meta_attach_event_bits(lac_meta_t *meta, lac_dim_t ld, const uint64_t *bits, lac_dim_t first)
{
    lac_status_t status;
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    if (ld < 0 || ld > INT32_MAX / 64)
        return lac_fail(LAC_ERR_EXTENT, "ld: %lld is outside [0, 2^25)", (long long)ld);
    if (first < 0 || first > INT32_MAX)
        return lac_fail(LAC_ERR_VALUE, "first: %lld is outside [0, 2^31)", (long long)first);
    if ((status = check_extents(meta))) return status;
    if (meta->n > 64 * ld - first)
        return lac_fail(LAC_ERR_EXTENT, "ld: %lld words hold no %lld columns from bit %lld on", (long long)ld,
                        (long long)meta->n, (long long)first);
    if (meta->m && meta->n && !bits) return lac_fail(LAC_ERR_NULL, "bits: is NULL");
    if ((status = settle(meta, NULL))) return status;
    lac_format_data_t data = {.count = ld, .bits = bits, .first = first};
    install(meta, LAC_FORMAT_EVENT_BITS, &data);
    return LAC_OK;
}

/* First values of each row, or a complaint about a bit beyond the last column. */
static lac_status_t count_bits(const lac_meta_t *meta, const uint64_t *bits, int64_t *first, int64_t *count)
{
    int64_t words = (meta->n + 63) / 64;
    uint64_t unused = meta->n % 64 ? ~UINT64_C(0) << (meta->n % 64) : 0;
    *count = 0;
    for (int64_t i = 0; i < meta->m; i++) {
        first[i] = *count;
        for (int64_t w = 0; w < words; w++) *count += __builtin_popcountll(bits[i * words + w]);
        if (words && bits[i * words + words - 1] & unused)
            return lac_fail(LAC_ERR_SPARSE, "bits: row %lld has bits set beyond column %lld", (long long)i,
                            (long long)meta->n - 1);
    }
    return LAC_OK;
}

/* The host's kernels read whole vectors: the values are copied so that reading past the last one is allowed.
 */
static lac_status_t pad_values(const lac_meta_t *meta, const void *val, lac_format_data_t *data)
{
    data->val = val;
    if (meta->memory) return LAC_OK;
    size_t size = lac_dt_size(lac_meta_values(meta)), used = (size_t)data->count * size;
    char *packed = lac_alloc(used + 16 * size);
    if (!packed)
        return lac_fail(LAC_ERR_MEMORY, "val: out of memory for %lld values", (long long)data->count);
    if (used) memcpy(packed, val, used);
    memset(packed + used, 0, 16 * size);
    data->owned[1] = packed;
    data->val = packed;
    data->owned_bytes += used + 16 * size;
    return LAC_OK;
}

lac_status_t lac_meta_attach_bitmask(lac_meta_t *meta, const uint64_t *bits, const void *val)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    lac_status_t status = check_extents(meta);
    if (status) return status;
    int64_t words = (meta->n + 63) / 64;
    if (meta->m && words && !bits) return lac_fail(LAC_ERR_NULL, "bits: is NULL");
    if ((status = settle(meta, val))) return status;
    int64_t *first = lac_alloc((size_t)meta->m * sizeof *first);
    if (!first)
        return lac_fail(LAC_ERR_MEMORY, "bits: out of memory for %lld row offsets", (long long)meta->m);
    readable_t seen;
    const void *where = NULL;
    lac_format_data_t data = {.bits = bits};
    status = make_readable(meta, "bits", bits, (size_t)(meta->m * words) * sizeof *bits, &seen);
    if (!status) status = count_bits(meta, seen.data, first, &data.count);
    if (!status && data.count && !val) status = lac_fail(LAC_ERR_NULL, "val: is NULL");
    if (!status) status = pad_values(meta, val, &data);
    lac_free(seen.copy);
    if (status) {
        lac_free(first);
        return status;
    }
    status = own(meta, 0, first, (size_t)meta->m * sizeof *first, &data, &where);
    data.ptr = where;
    if (!status) install(meta, LAC_FORMAT_BITS, &data);
    return status;
}
