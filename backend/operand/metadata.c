/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Life and generations of metadata. Passive: nothing here reads an operand. */
#include "metadata.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/threads.h"

#include <stdlib.h>

static void drop_format(lac_format_data_t *format)
{
    void (*release)(void *) = format->release ? format->release : lac_free;
    for (size_t i = 0; i < sizeof format->owned / sizeof *format->owned; i++)
        if (format->owned[i]) release(format->owned[i]);
    *format = (lac_format_data_t){0};
}

/* Leaves of a format its memory, as far as its size is known. */
static void keep_memory(lac_format_data_t *format)
{
    lac_format_data_t kept = {.release = format->release};
    for (int i = 0; i < 4; i++) {
        if (!format->room[i]) continue;
        kept.owned[i] = format->owned[i];
        kept.room[i] = format->room[i];
        kept.owned_bytes += format->room[i];
        format->owned[i] = NULL;
    }
    drop_format(format);
    *format = kept;
}

static _Atomic uint64_t serials;

lac_status_t lac_meta_create(lac_meta_t **meta, lac_dim_t m, lac_dim_t n)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    *meta = NULL;
    if (m < 0 || n < 0)
        return lac_fail(LAC_ERR_EXTENT, "m, n: %lld x %lld is negative", (long long)m, (long long)n);
    lac_meta_t *made = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "metadata: out of memory");
    made->m = m;
    made->n = n;
    made->serial = ++serials;
    made->generation = 1;
    made->nnz = -1;
    pthread_mutex_init(&made->build, NULL);
    *meta = made;
    return LAC_OK;
}

void lac_meta_free(lac_meta_t *meta)
{
    if (!meta) return;
    for (int i = 0; i < LAC_FORMAT_COUNT; i++) drop_format(&meta->format[i]);
    pthread_mutex_destroy(&meta->build);
    free(meta);
}

void lac_meta_lock(lac_meta_t *meta)
{
    lac_defer_forks();
    pthread_mutex_lock(&meta->build);
}

void lac_meta_unlock(lac_meta_t *meta)
{
    pthread_mutex_unlock(&meta->build);
    lac_allow_forks();
}

lac_status_t lac_meta_freeze(lac_meta_t *meta)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    lac_meta_lock(meta);
    meta->frozen = true;
    lac_meta_unlock(meta);
    return LAC_OK;
}

void lac_meta_renew(lac_meta_t *meta, unsigned keep)
{
    lac_meta_lock(meta);
    meta->frozen = false;
    meta->generation++;
    meta->density_origin = LAC_ORIGIN_NONE; /* the number stays, as a hint */
    atomic_store(&meta->ready, 0);
    for (int i = 0; i < LAC_FORMAT_COUNT; i++)
        if (keep & 1u << i)
            keep_memory(&meta->format[i]);
        else
            drop_format(&meta->format[i]);
    lac_meta_unlock(meta);
}

lac_status_t lac_meta_touch(lac_meta_t *meta)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    lac_meta_renew(meta, 0);
    return LAC_OK;
}

bool lac_meta_settle(lac_meta_t *meta, lac_location_t location)
{
    int found = LAC_RESIDENCY_OPEN,
        residency = location.space == LAC_HOST
                        ? (int)LAC_RESIDENCY_HOST
                        : (int)LAC_RESIDENCY_DEVICE + (location.device > 0 ? location.device : 0);
    if (atomic_load_explicit(&meta->residency, memory_order_relaxed) == residency) return true;
    return atomic_compare_exchange_strong(&meta->residency, &found, residency) || found == residency;
}

bool lac_meta_settle_values(lac_meta_t *meta, lac_dt_t dt)
{
    int values = (int)dt + 1, found = 0;
    if (atomic_load_explicit(&meta->values, memory_order_relaxed) == values) return true;
    return atomic_compare_exchange_strong(&meta->values, &found, values) || found == values;
}

lac_dt_t lac_meta_values(const lac_meta_t *meta)
{
    int values = meta ? atomic_load_explicit(&meta->values, memory_order_relaxed) : 0;
    return values ? (lac_dt_t)(values - 1) : LAC_F32;
}

lac_status_t lac_meta_set_type(lac_meta_t *meta, lac_dt_t dt)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    if (dt != LAC_F32 && dt != LAC_F64)
        return lac_fail(LAC_ERR_TYPE, "dt: %d is neither LAC_F32 nor LAC_F64", (int)dt);
    if (!lac_meta_settle_values(meta, dt))
        return lac_fail(LAC_ERR_TYPE, "dt: the metadata holds values of %s already",
                        dt == LAC_F64 ? "LAC_F32" : "LAC_F64");
    return LAC_OK;
}

double lac_meta_density(const lac_meta_t *meta)
{
    int64_t nnz = meta ? meta->nnz : -1;
    if (nnz < 0) return -1.0;
    double elements = (double)meta->m * (double)meta->n;
    return elements > 0 ? (double)nnz / elements : 0.0;
}

uint64_t lac_meta_generation(const lac_meta_t *meta)
{
    return meta ? meta->generation : 0;
}

size_t lac_meta_bytes(const lac_meta_t *meta)
{
    if (!meta) return 0;
    size_t bytes = sizeof *meta;
    unsigned ready = atomic_load_explicit(&meta->ready, memory_order_acquire);
    for (int i = 0; i < LAC_FORMAT_COUNT; i++)
        if (ready & 1u << i) bytes += meta->format[i].owned_bytes;
    return bytes;
}

const lac_format_data_t *lac_meta_format(const lac_meta_t *meta, lac_format_t format)
{
    if (!meta || !(atomic_load_explicit(&meta->ready, memory_order_acquire) & 1u << format)) return NULL;
    return &meta->format[format];
}

unsigned lac_meta_trusted(const lac_meta_t *meta)
{
    if (!meta) return 0;
    unsigned ready = atomic_load_explicit(&meta->ready, memory_order_acquire), trusted = 0;
    for (int i = 0; i < LAC_FORMAT_COUNT; i++)
        if (ready & 1u << i && (meta->frozen || meta->format[i].origin >= LAC_ORIGIN_ATTACHED))
            trusted |= 1u << i;
    return trusted;
}

static void remove_format(lac_meta_t *meta, int format)
{
    atomic_fetch_and(&meta->ready, ~(1u << format));
    drop_format(&meta->format[format]);
}

/* What a format that is attached makes obsolete: what followed from another, and what was measured before
 * and is nobody's promise. */
static bool outlives_attaching(const lac_meta_t *meta, lac_origin_t origin)
{
    return origin == LAC_ORIGIN_ATTACHED || (origin == LAC_ORIGIN_SCANNED && meta->frozen);
}

void lac_meta_install(lac_meta_t *meta, lac_format_t format, const lac_format_data_t *data)
{
    for (int i = 0; data->origin == LAC_ORIGIN_ATTACHED && i < LAC_FORMAT_COUNT; i++)
        if (!outlives_attaching(meta, meta->format[i].origin)) remove_format(meta, i);
    remove_format(meta, (int)format);
    meta->format[format] = *data;
    meta->format[format].generation = meta->generation;
    meta->format[format].format_id = ++meta->format_ids;
    bool counts = format == LAC_FORMAT_CSR || format == LAC_FORMAT_CSC || format == LAC_FORMAT_BITS;
    if (counts && data->origin != LAC_ORIGIN_DERIVED) {
        meta->nnz = data->count;
        meta->density_origin = data->origin;
    }
    atomic_fetch_or_explicit(&meta->ready, 1u << format, memory_order_release);
}

static const lac_format_data_t *kept(const lac_meta_t *meta, lac_format_t which, uint64_t made_of)
{
    const lac_format_data_t *format = lac_meta_format(meta, which);
    return format && format->made_of == made_of ? format : NULL;
}

lac_status_t lac_meta_ensure(lac_meta_t *meta, lac_format_t which, uint64_t made_of, lac_meta_make_fn make,
                             void *arg, const lac_format_data_t **format)
{
    lac_status_t status = LAC_OK;
    lac_meta_lock(meta);
    if (!kept(meta, which, made_of)) {
        lac_format_data_t data = {0};
        status = make(arg, &data);
        if (!status) lac_meta_install(meta, which, &data);
    }
    *format = kept(meta, which, made_of);
    lac_meta_unlock(meta);
    return status;
}
