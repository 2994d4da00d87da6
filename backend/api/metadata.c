/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Metadata of an operand: scanned from its buffer, and converted between formats. */
#include "entry.h"
#include "base/log.h"
#include "base/status.h"
#include "operand/check.h"
#include "operand/metadata.h"
#include "planner/context.h"
#include "base/memory.h"
#include "lacuna/convert.h"

#include <inttypes.h>

#define SCANS (LAC_META_DENSITY | LAC_META_BITMASK | LAC_META_CSR | LAC_META_CSC | LAC_META_ACTIVE)

lac_status_t lac_meta_create_for(lac_ctx_t *ctx, lac_meta_t **meta, lac_dim_t m, lac_dim_t n)
{
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    lac_status_t status = lac_meta_create(meta, m, n);
    if (status) return status;
    (*meta)->memory = ctx->backend->memory;
    (*meta)->device = ctx->device;
    lac_meta_settle(*meta, lac_location_of(ctx));
    return LAC_OK;
}

lac_status_t lac_meta_scan(lac_ctx_t *ctx, const lac_obj_t *obj, unsigned what)
{
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    if (!obj) return lac_fail(LAC_ERR_NULL, "obj: is NULL");
    if (!obj->meta) return lac_fail(LAC_ERR_NULL, "obj.meta: is NULL");
    if (!obj->buf && obj->m && obj->n)
        return lac_fail(LAC_ERR_EMPTY, "obj.buf: is NULL, there is nothing to scan");
    if (!what || what & ~SCANS)
        return lac_fail(LAC_ERR_VALUE, "what: 0x%x is not made of LAC_META_ bits", what);
    lac_status_t status = lac_check_any_operand("obj", obj, false, lac_location_of(ctx));
    if (status) return status;
    if (obj->buf && ctx->backend->check) status = ctx->backend->check(ctx->exec, "obj", obj->buf);
    if (status) return status;
    int token = lac_enter(ctx);
    lac_meta_lock(obj->meta);
    status = ctx->backend->scan(ctx->exec, obj, what, ctx->policy.threads);
    lac_meta_unlock(obj->meta);
    lac_leave(ctx, token);
    if (!status && ctx->policy.verbose & LAC_VERBOSE_META)
        lac_log("lacuna,1,meta,scan,%lldx%lld,%lld nonzero", (long long)obj->m, (long long)obj->n,
                (long long)obj->meta->nnz);
    return status;
}

/* Conversions between the formats of an operand. */

static const struct {
    unsigned bit;
    lac_format_t format;
} formats[] = {{LAC_META_CSR, LAC_FORMAT_CSR},
               {LAC_META_CSC, LAC_FORMAT_CSC},
               {LAC_META_BITMASK, LAC_FORMAT_BITS},
               {LAC_META_ACTIVE, LAC_FORMAT_ACTIVE}};

/* CSR whose rows are known to have as many entries each. */
static const lac_format_data_t *ell_of(const lac_meta_t *meta)
{
    const lac_format_data_t *rows =
        lac_meta_trusted(meta) & 1u << LAC_FORMAT_CSR ? lac_meta_format(meta, LAC_FORMAT_CSR) : NULL;
    return rows && rows->even ? rows : NULL;
}

enum { FORMATS = sizeof formats / sizeof *formats };

#define ALL_FORMATS (LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK | LAC_META_ACTIVE | LAC_META_ELL)

static lac_status_t check_space(const lac_ctx_t *ctx, const char *name, const void *memory)
{
    return memory && ctx->backend->check ? ctx->backend->check(ctx->exec, name, memory) : LAC_OK;
}

static lac_status_t check_input(const lac_ctx_t *ctx, const char *name, const lac_obj_t *obj)
{
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    lac_status_t status = lac_check_operand(name, obj, false, lac_location_of(ctx));
    return status ? status : check_space(ctx, name, obj->buf);
}

static lac_status_t no_conversions(const lac_ctx_t *ctx)
{
    return lac_fail(LAC_ERR_UNAVAILABLE, "ctx: the %s backend converts nothing; use a host context",
                    ctx->backend->name);
}

/* The bits of formats that do not stand yet. */
static unsigned missing(const lac_obj_t *obj, unsigned what)
{
    unsigned trusted = lac_meta_trusted(obj->meta);
    for (int i = 0; i < FORMATS; i++)
        if (trusted & 1u << formats[i].format) what &= ~formats[i].bit;
    return what;
}

/* Memory of the context's space for as long as a conversion takes. */
static lac_status_t borrow(lac_ctx_t *ctx, size_t bytes, void **memory)
{
    const lac_device_t *device = ctx->backend->device;
    if (device) return device->alloc(ctx->exec, bytes, memory);
    *memory = lac_alloc(bytes);
    return *memory ? LAC_OK : lac_fail(LAC_ERR_MEMORY, "obj: out of memory for its dense contents");
}

static void give_back(lac_ctx_t *ctx, void *memory)
{
    if (ctx->backend->device)
        ctx->backend->device->release(ctx->exec, memory);
    else
        lac_free(memory);
}

/* Measures the dense contents that were laid out for it. What is known of the operand stays as it was, and
 * the formats are as true as what they were made of. */
static lac_status_t measure(lac_ctx_t *ctx, const lac_obj_t *dense, unsigned what)
{
    lac_meta_t *meta = dense->meta;
    lac_meta_lock(meta);
    int64_t nnz = meta->nnz;
    lac_origin_t origin = meta->density_origin;
    lac_status_t status = ctx->backend->scan(ctx->exec, dense, what, ctx->policy.threads);
    for (int i = 0; !status && i < FORMATS; i++)
        if (what & formats[i].bit) meta->format[formats[i].format].origin = LAC_ORIGIN_DERIVED;
    if (origin != LAC_ORIGIN_NONE) {
        meta->nnz = nnz;
        meta->density_origin = origin;
    }
    lac_meta_unlock(meta);
    return status;
}

static lac_status_t by_way_of_dense(lac_ctx_t *ctx, const lac_obj_t *obj, unsigned what)
{
    lac_operand_t x = lac_operand_describe(obj);
    lac_obj_t dense = lac_obj_rowmajor(x.values, obj->m, obj->n, NULL, obj->n);
    size_t bytes;
    if (!ctx->backend->densify) return no_conversions(ctx);
    if (__builtin_mul_overflow((size_t)obj->m, (size_t)obj->n * lac_dt_size(x.values), &bytes))
        return lac_fail(LAC_ERR_MEMORY, "obj: its dense contents overflow memory");
    dense.space = obj->space;
    dense.meta = obj->meta;
    lac_status_t status = borrow(ctx, bytes, &dense.buf);
    if (status) return status;
    status = ctx->backend->densify(ctx->exec, &x, obj->m, obj->n, dense.buf, dense.rs, dense.cs,
                                   ctx->policy.threads);
    if (!status) status = measure(ctx, &dense, what);
    give_back(ctx, dense.buf);
    return status;
}

/* The compressed formats that the backend makes of what there is without expanding it. */
static lac_status_t compress(lac_ctx_t *ctx, const lac_obj_t *obj, unsigned what)
{
    lac_status_t status = LAC_OK;
    for (int i = 0; !status && i < FORMATS; i++) {
        const lac_format_data_t *found;
        bool compressed = formats[i].format == LAC_FORMAT_CSR || formats[i].format == LAC_FORMAT_CSC;
        lac_slicing_t s = {
            .a = lac_operand_describe(obj), .which = formats[i].format, .threads = ctx->policy.threads};
        if (what & formats[i].bit && compressed && ctx->backend->slicer)
            status = ctx->backend->slicer->format(ctx->exec, &s, &found);
    }
    return status;
}

/* Makes sure that the CSR, which stands, is known to have rows of one length. Errors: SPARSE, MEMORY. */
static lac_status_t even_rows(lac_ctx_t *ctx, const lac_obj_t *obj)
{
    lac_meta_t *meta = obj->meta;
    const lac_device_t *device = ctx->backend->device;
    const lac_format_data_t *rows = lac_meta_format(meta, LAC_FORMAT_CSR);
    size_t bytes = (size_t)(meta->m + 1) * sizeof(int64_t);
    int64_t *copy = NULL;
    lac_status_t status = LAC_OK;
    if (!rows) return lac_fail(LAC_ERR_INTERNAL, "obj.meta: the format went away");
    if (rows->even) return LAC_OK;
    if (device) {
        if (!(copy = lac_alloc(bytes))) return lac_fail(LAC_ERR_MEMORY, "obj: out of memory");
        status = device->download(ctx->exec, copy, rows->ptr, bytes);
    }
    const int64_t *ptr = copy ? copy : rows->ptr;
    for (int64_t i = 0; !status && i < meta->m; i++)
        if (ptr[i + 1] - ptr[i] != ptr[1])
            status = lac_fail(LAC_ERR_SPARSE,
                              "obj: row %" PRId64 " has %" PRId64 " entries, and row 0 has %" PRId64
                              ": no fixed fan-out",
                              i, ptr[i + 1] - ptr[i], ptr[1]);
    lac_free(copy);
    if (status) return status;
    lac_meta_lock(meta);
    meta->format[LAC_FORMAT_CSR].even = true;
    lac_meta_unlock(meta);
    return LAC_OK;
}

lac_status_t lac_meta_convert(lac_ctx_t *ctx, const lac_obj_t *obj, unsigned what)
{
    lac_status_t status = check_input(ctx, "obj", obj);
    if (status) return status;
    if (!obj->meta) return lac_fail(LAC_ERR_NULL, "obj.meta: is NULL");
    if (!what || what & ~ALL_FORMATS)
        return lac_fail(LAC_ERR_VALUE, "what: 0x%x is not made of bits of formats", what);
    bool ell = what & LAC_META_ELL;
    if (ell) what = (what & ~LAC_META_ELL) | LAC_META_CSR; /* which it is, and more is known */
    lac_obj_t stored = *obj;
    stored.trans = LAC_NO_TRANS;
    if (!(lac_meta_trusted(obj->meta) & LAC_FORMATS_SPARSE)) {
        if (!obj->meta->frozen || (!obj->buf && obj->m && obj->n))
            return lac_fail(
                obj->meta->generation > 1 ? LAC_ERR_STALE : LAC_ERR_EMPTY,
                "obj.meta: nothing stands for the contents; attach a format, or freeze the operand");
    }
    int token = lac_enter(ctx);
    status = compress(ctx, &stored, missing(obj, what));
    what = missing(obj, what);
    if (!status && what && stored.buf && obj->meta->frozen) {
        lac_meta_lock(obj->meta);
        status = ctx->backend->scan(ctx->exec, &stored, what, ctx->policy.threads);
        lac_meta_unlock(obj->meta);
    } else if (!status && what)
        status = by_way_of_dense(ctx, &stored, what);
    if (!status && ell) status = even_rows(ctx, &stored);
    lac_leave(ctx, token);
    return status;
}

lac_status_t lac_meta_view(const lac_meta_t *meta, unsigned format, lac_format_view_t *view)
{
    lac_clear_error();
    if (!meta) return lac_fail(LAC_ERR_NULL, "meta: is NULL");
    if (!view) return lac_fail(LAC_ERR_NULL, "view: is NULL");
    *view = (lac_format_view_t){0};
    if (format == LAC_META_ELL) {
        const lac_format_data_t *ell = ell_of(meta);
        if (!ell)
            return lac_fail(LAC_ERR_EMPTY,
                            "meta: the format is not there, or does not stand for the contents");
        *view = (lac_format_view_t){ell->count, NULL, ell->idx, ell->val, NULL};
        return LAC_OK;
    }
    for (int i = 0; i < FORMATS; i++) {
        if (formats[i].bit != format) continue;
        bool stands = lac_meta_trusted(meta) & 1u << formats[i].format;
        const lac_format_data_t *data = stands ? lac_meta_format(meta, formats[i].format) : NULL;
        if (!data)
            return lac_fail(LAC_ERR_EMPTY,
                            "meta: the format is not there, or does not stand for the contents");
        *view = (lac_format_view_t){data->count, data->ptr, data->idx, data->val, data->bits};
        return LAC_OK;
    }
    return lac_fail(LAC_ERR_VALUE, "format: 0x%x is not the bit of one format", format);
}

/* That what is written shares no memory with the buffer or a format of an operand. */
static lac_status_t check_apart(const char *name, const lac_obj_t *a, const lac_obj_t *written)
{
    unsigned trusted = lac_meta_trusted(a->meta);
    bool meet = a->buf && lac_share_memory(a, written);
    for (int i = 0; i < FORMATS; i++) {
        const lac_format_data_t *format =
            trusted & 1u << formats[i].format ? lac_meta_format(a->meta, formats[i].format) : NULL;
        if (!format) continue;
        int64_t values = formats[i].format == LAC_FORMAT_ACTIVE ? format->count * a->m : format->count;
        lac_obj_t idx = lac_view_array(format->idx, format->idx ? format->count : 0, sizeof *format->idx),
                  val = lac_view_array(format->val, format->val ? values : 0,
                                       lac_dt_size(lac_meta_values(a->meta)));
        meet |= lac_share_memory(&idx, written) || lac_share_memory(&val, written);
    }
    return meet ? lac_fail(LAC_ERR_ALIAS, "%s: overlaps a", name) : LAC_OK;
}

lac_status_t lac_to_dense(lac_ctx_t *ctx, const lac_obj_t *a, const lac_obj_t *out)
{
    lac_status_t status = check_input(ctx, "a", a);
    if (!status) status = lac_check_operand("out", out, true, lac_location_of(ctx));
    if (!status) status = check_space(ctx, "out", out->buf);
    if (status) return status;
    if (lac_obj_rows(a) != lac_obj_rows(out) || lac_obj_cols(a) != lac_obj_cols(out))
        return lac_fail(LAC_ERR_EXTENT, "out: is %" PRId64 " x %" PRId64 ", a is %" PRId64 " x %" PRId64,
                        lac_obj_rows(out), lac_obj_cols(out), lac_obj_rows(a), lac_obj_cols(a));
    lac_operand_t x = lac_operand_describe(a);
    if (a->dt == LAC_U8 && !(x.formats & LAC_FORMATS_SPARSE)) x.values = out->dt; /* from the buffer */
    if (x.values != out->dt)
        return lac_fail(LAC_ERR_TYPE, "out.dt: is not %s, as the values of a are",
                        x.values == LAC_F64 ? "LAC_F64" : "LAC_F32");
    if ((status = check_apart("out", a, out)) || !out->m || !out->n) return status;
    if (!ctx->backend->densify) return no_conversions(ctx);
    bool swapped = out->trans == LAC_TRANS;
    int token = lac_enter(ctx);
    status =
        ctx->backend->densify(ctx->exec, &x, lac_obj_rows(a), lac_obj_cols(a), out->buf,
                              swapped ? out->cs : out->rs, swapped ? out->rs : out->cs, ctx->policy.threads);
    lac_leave(ctx, token);
    return status;
}

/* What is written, and where; the words of a row of tiles are filled in. */
static lac_status_t check_tiling(const lac_ctx_t *ctx, const lac_obj_t *a, lac_tiling_t *t)
{
    lac_status_t status;
    lac_dim_t rows = lac_obj_rows(a), cols = lac_obj_cols(a);
    if (t->rows < 1) return lac_fail(LAC_ERR_VALUE, "tile_rows: %" PRId64 " is below 1", t->rows);
    if (t->cols < 1) return lac_fail(LAC_ERR_VALUE, "tile_cols: %" PRId64 " is below 1", t->cols);
    if (!t->bits) return lac_fail(LAC_ERR_NULL, "bits: is NULL");
    if ((status = check_space(ctx, "bits", t->bits))) return status;
    if ((status = check_space(ctx, "count", t->count))) return status;
    lac_dim_t down = rows / t->rows + (rows % t->rows > 0), along = cols / t->cols + (cols % t->cols > 0);
    t->words = along / 64 + (along % 64 > 0);
    int64_t all;
    if (__builtin_mul_overflow(down, t->words, &all) || all > PTRDIFF_MAX / (int64_t)sizeof *t->bits)
        return lac_fail(LAC_ERR_EXTENT, "bits: %" PRId64 " x %" PRId64 " words overflow memory", down,
                        t->words);
    lac_obj_t bits = lac_view_array(t->bits, all, sizeof *t->bits),
              count = lac_view_array(t->count, t->count != NULL, sizeof *t->count);
    if ((status = check_apart("bits", a, &bits))) return status;
    if ((status = check_apart("count", a, &count))) return status;
    return lac_share_memory(&bits, &count) ? lac_fail(LAC_ERR_ALIAS, "count: overlaps bits") : LAC_OK;
}

lac_status_t lac_tile_occupancy(lac_ctx_t *ctx, const lac_obj_t *a, lac_dim_t tile_rows, lac_dim_t tile_cols,
                                uint64_t *bits, int64_t *count)
{
    lac_tiling_t tiling = {.rows = tile_rows, .cols = tile_cols, .bits = bits, .count = count};
    lac_status_t status = check_input(ctx, "a", a);
    if (!status) status = check_tiling(ctx, a, &tiling);
    if (status) return status;
    if (!ctx->backend->occupancy) return no_conversions(ctx);
    lac_operand_t x = lac_operand_describe(a);
    if (x.formats & LAC_FORMATS_SPARSE) x.buf = NULL; /* the format is what stands for the contents */
    int token = lac_enter(ctx);
    status = ctx->backend->occupancy(ctx->exec, &x, lac_obj_rows(a), lac_obj_cols(a), &tiling);
    lac_leave(ctx, token);
    return status;
}

lac_status_t lac_count_nonzeros(lac_ctx_t *ctx, const lac_obj_t *a, int64_t *count)
{
    lac_status_t status = check_input(ctx, "a", a);
    if (status) return status;
    if (!count) return lac_fail(LAC_ERR_NULL, "count: is NULL");
    if (!ctx->backend->count) return no_conversions(ctx);
    if ((status = check_space(ctx, "count", count))) return status;
    lac_obj_t written = lac_view_array(count, 1, sizeof *count);
    if ((status = check_apart("count", a, &written))) return status;
    lac_operand_t x = lac_operand_describe(a);
    int token = lac_enter(ctx);
    status = ctx->backend->count(ctx->exec, &x, lac_obj_rows(a), lac_obj_cols(a), count, ctx->policy.threads);
    lac_leave(ctx, token);
    return status;
}
