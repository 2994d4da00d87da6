/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Attached formats tried, and the format that metadata shows against that of the contents. */
#include "call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A copy on the host of an array of a format; NULL with a status other than LAC_OK where there is none. */
static void *copied(const apitest_t *t, const void *array, size_t bytes, lac_status_t *status)
{
    void *copy = calloc(1, bytes ? bytes : 1);
    if (!copy) *status = LAC_ERR_MEMORY;
    if (!copy || !bytes || *status != LAC_OK) return copy;
    if (!array)
        *status = LAC_ERR_INTERNAL;
    else if (computes_on_device(t->ctx))
        *status = lac_device_download(t->ctx, copy, array, bytes);
    else
        memcpy(copy, array, bytes);
    if (t->corrupt) *(unsigned char *)copy ^= 1;
    return copy;
}

/* An array of the format, byte by byte. */
static apitest_end_t compare_array(apitest_t *t, const char *name, const void *array, const void *want,
                                   size_t bytes)
{
    lac_status_t status = LAC_OK;
    void *got = copied(t, array, bytes, &status);
    apitest_end_t end = APITEST_PASSED;
    if (status != LAC_OK)
        end = apitest_fail(t, "%s cannot be read: %s", name, lac_status_text(status));
    else if (bytes && memcmp(got, want, bytes) != 0)
        end = apitest_fail(t, "%s is not that of the contents", name);
    free(got);
    return end;
}

/* Its values: NULL stands for ones. */
static double value_at(const void *values, lac_dt_t dt, int64_t e)
{
    return dt == LAC_F64 ? ((const double *)values)[e] : (double)((const float *)values)[e];
}

/* `of` is the type of the format's values; those of x, from which `want` was made, are doubles or floats. */
static apitest_end_t compare_values(apitest_t *t, const char *name, const void *array, lac_dt_t of,
                                    const void *want, const ref_matrix_t *x, int64_t count)
{
    lac_status_t status = LAC_OK;
    void *got = array ? copied(t, array, (size_t)count * lac_dt_size(of), &status) : NULL;
    apitest_end_t end = APITEST_PASSED;
    if (status != LAC_OK) end = apitest_fail(t, "%s cannot be read: %s", name, lac_status_text(status));
    for (int64_t e = 0; end == APITEST_PASSED && e < count; e++) {
        double is = got ? value_at(got, of, e) : 1.0, be = value_at(want, x->dt, e);
        if (is != be && !(isnan(is) && isnan(be)))
            end = apitest_fail(t, "%s[%lld] is %.17g and must be %.17g", name, (long long)e, is, be);
    }
    free(got);
    return end;
}

static apitest_end_t compare_compressed(apitest_t *t, const lac_format_view_t *view, lac_dt_t of,
                                        const ref_matrix_t *x, unsigned format)
{
    ref_compressed_t want;
    bool by_rows = format != LAC_META_CSC;
    bool made = by_rows ? ref_csr_make(&want, x) : ref_csc_make(&want, x);
    if (!made) return apitest_fail(t, "out of memory");
    apitest_end_t end = APITEST_PASSED;
    if (view->count != want.nnz)
        end = apitest_fail(t, "%s has %lld entries and must have %lld", by_rows ? "CSR" : "CSC",
                           (long long)view->count, (long long)want.nnz);
    if (end == APITEST_PASSED && format != LAC_META_ELL)
        end = compare_array(t, "ptr", view->ptr, want.ptr, (size_t)(want.lines + 1) * sizeof *want.ptr);
    if (end == APITEST_PASSED)
        end = compare_array(t, "idx", view->idx, want.idx, (size_t)want.nnz * sizeof *want.idx);
    if (end == APITEST_PASSED) end = compare_values(t, "val", view->val, of, want.val, x, want.nnz);
    ref_compressed_free(&want);
    return end;
}

static apitest_end_t compare_bits(apitest_t *t, const lac_format_view_t *view, lac_dt_t of,
                                  const ref_matrix_t *x)
{
    ref_bits_t want;
    if (!ref_bits_make(&want, x)) return apitest_fail(t, "out of memory");
    apitest_end_t end = APITEST_PASSED;
    if (view->count != want.nnz)
        end = apitest_fail(t, "the bitmask has %lld values and must have %lld", (long long)view->count,
                           (long long)want.nnz);
    if (end == APITEST_PASSED)
        end = compare_array(t, "bits", view->bits, want.bits,
                            (size_t)(want.rows * want.words) * sizeof *want.bits);
    if (end == APITEST_PASSED)
        end = compare_array(t, "ptr", view->ptr, want.first, (size_t)want.rows * sizeof *want.first);
    if (end == APITEST_PASSED) end = compare_values(t, "val", view->val, of, want.val, x, want.nnz);
    ref_bits_free(&want);
    return end;
}

static apitest_end_t compare_active(apitest_t *t, const lac_format_view_t *view, lac_dt_t of,
                                    const ref_matrix_t *x)
{
    ref_active_t want;
    if (!ref_active_make(&want, x)) return apitest_fail(t, "out of memory");
    apitest_end_t end = APITEST_PASSED;
    if (view->count != want.active)
        end = apitest_fail(t, "%lld columns are active and %lld must be", (long long)view->count,
                           (long long)want.active);
    if (end == APITEST_PASSED)
        end = compare_array(t, "idx", view->idx, want.k, (size_t)want.active * sizeof *want.k);
    if (end == APITEST_PASSED)
        end = compare_values(t, "val", view->val, of, want.slots, x, want.active * want.rows);
    ref_active_free(&want);
    return end;
}

apitest_end_t apitest_format(apitest_t *t, const lac_meta_t *meta, unsigned format,
                             const ref_matrix_t *stored)
{
    lac_dt_t of = apitest_type(t);
    lac_format_view_t view;
    lac_status_t status = lac_meta_view(meta, format, &view);
    if (status != LAC_OK) return apitest_stop(t, status, "lac_meta_view");
    if (format == LAC_META_BITMASK) return compare_bits(t, &view, of, stored);
    if (format == LAC_META_ACTIVE) return compare_active(t, &view, of, stored);
    if (format == LAC_META_ELL && view.ptr) return apitest_fail(t, "ELL has row pointers");
    return compare_compressed(t, &view, of, stored, format);
}

/* Attached formats tried: one that breaks a rule is refused and leaves what was attached before; one that is
 * right is the format of the contents. */

/* A compressed format in the caller's index type, one entry of it spoiled, or an active list or a bitmask. */
typedef struct offer {
    unsigned format;
    lac_index_t it;
    ref_compressed_t compressed;
    ref_active_t active;
    ref_bits_t bits;
    int64_t count;        /* active columns; ELL: entries of a row */
    size_t size;          /* of a value                            */
    lac_status_t want;    /* of the spoiled format */
    const char *argument; /* that it names       */
} offer_t;

static lac_status_t take_format(offer_t *o, const ref_matrix_t *x)
{
    bool rows = o->format == LAC_META_CSR || o->format == LAC_META_ELL;
    bool made = rows                           ? ref_csr_make(&o->compressed, x)
                : o->format == LAC_META_CSC    ? ref_csc_make(&o->compressed, x)
                : o->format == LAC_META_ACTIVE ? ref_active_make(&o->active, x)
                                               : ref_bits_make(&o->bits, x);
    o->count = o->active.active;
    if (o->format == LAC_META_ELL) o->count = x->m ? o->compressed.nnz / x->m : 0;
    o->size = x->dt == LAC_F64 ? sizeof(double) : sizeof(float);
    return made ? LAC_OK : LAC_ERR_MEMORY;
}

static void give_format(offer_t *o)
{
    ref_compressed_free(&o->compressed);
    ref_active_free(&o->active);
    ref_bits_free(&o->bits);
}

static void expect(offer_t *o, lac_status_t want, const char *argument)
{
    o->want = want;
    o->argument = argument;
}

/* Row pointers that begin elsewhere, fall, or leave no room for so many entries. */
static void corrupt_pointers(rng_t *rng, offer_t *o)
{
    ref_compressed_t *format = &o->compressed;
    int64_t i = 1 + (int64_t)rng_below(rng, (uint64_t)format->lines + 1);
    expect(o, LAC_ERR_SPARSE, "ptr");
    if (i > format->lines)
        format->ptr[0] = 1;
    else if (rng_below(rng, 2) == 0)
        format->ptr[i] = format->ptr[i - 1] - 1;
    else
        format->ptr[i] = format->ptr[i - 1] + format->width + 1;
}

/* Indices outside, twice, or not in order. */
static void corrupt_indices(rng_t *rng, offer_t *o, int32_t *idx, int64_t entry, bool has_next, int64_t width)
{
    expect(o, LAC_ERR_SPARSE, "idx");
    int32_t own = idx[entry];
    switch (has_next ? rng_below(rng, 4) : rng_below(rng, 2)) {
    case 0:
        idx[entry] = -1 - (int32_t)rng_below(rng, 1000);
        break;
    case 1:
        idx[entry] = (int32_t)width + (int32_t)rng_below(rng, 1000);
        break;
    case 2:
        idx[entry + 1] = own;
        break;
    default:
        idx[entry] = idx[entry + 1];
        idx[entry + 1] = own;
    }
}

static void corrupt_compressed(rng_t *rng, offer_t *o)
{
    const ref_compressed_t *format = &o->compressed;
    if (format->nnz == 0 || rng_below(rng, 3) == 0) {
        if (o->format != LAC_META_ELL) {
            corrupt_pointers(rng, o);
            return;
        }
        expect(o, LAC_ERR_EXTENT, "width");
        o->count = rng_below(rng, 2) == 0 ? -1 : format->width + 1;
        return;
    }
    int64_t entry = (int64_t)rng_below(rng, (uint64_t)format->nnz), line = 0;
    while (format->ptr[line + 1] <= entry) line++;
    corrupt_indices(rng, o, format->idx, entry, entry + 1 < format->ptr[line + 1], format->width);
}

static void corrupt_active(rng_t *rng, offer_t *o)
{
    const ref_active_t *format = &o->active;
    if (format->active == 0 || rng_below(rng, 3) == 0) {
        expect(o, LAC_ERR_EXTENT, "count");
        o->count = rng_below(rng, 2) == 0 ? -1 : format->cols + 1;
        return;
    }
    int64_t entry = (int64_t)rng_below(rng, (uint64_t)format->active);
    corrupt_indices(rng, o, format->k, entry, entry + 1 < format->active, format->cols);
}

/* A bit behind the last column, where the last word has one. */
static void corrupt_bits(rng_t *rng, offer_t *o)
{
    const ref_bits_t *format = &o->bits;
    if (format->cols % 64 == 0 || format->rows == 0) return;
    int64_t row = (int64_t)rng_below(rng, (uint64_t)format->rows),
            bit = format->cols % 64 + (int64_t)rng_below(rng, (uint64_t)(64 - format->cols % 64));
    format->bits[(row + 1) * format->words - 1] |= UINT64_C(1) << bit;
    expect(o, LAC_ERR_SPARSE, "bits");
}

/* What was wanted is LAC_OK where nothing could be spoiled. */
static void corrupt(rng_t *rng, offer_t *o)
{
    expect(o, LAC_OK, "");
    if (o->format == LAC_META_ACTIVE)
        corrupt_active(rng, o);
    else if (o->format == LAC_META_BITMASK)
        corrupt_bits(rng, o);
    else
        corrupt_compressed(rng, o);
}

/* What is attached, in the context's space; it must outlive the metadata. */
typedef struct attached {
    guarded_buffer_t first, second, val;
} attached_t;

static void free_attached(attached_t *at)
{
    guarded_buffer_free(&at->first);
    guarded_buffer_free(&at->second);
    guarded_buffer_free(&at->val);
}

/* The list in the caller's index type. */
static lac_status_t copy_indices(guarded_buffer_t *array, lac_ctx_t *ctx, lac_index_t it, const void *from,
                                 lac_index_t from_it, int64_t count)
{
    void *list = calloc((size_t)count + 1, index_width(it));
    for (int64_t i = 0; list && i < count; i++) index_store(list, it, i, index_load(from, from_it, i));
    lac_status_t status =
        list ? guarded_buffer_make(array, ctx, (size_t)count * index_width(it), list) : LAC_ERR_MEMORY;
    free(list);
    return status;
}

static lac_status_t attach_compressed(const apitest_t *t, lac_meta_t *meta, const offer_t *o, attached_t *at)
{
    const ref_compressed_t *format = &o->compressed;
    size_t size = o->size;
    lac_status_t status = copy_indices(&at->first, t->ctx, o->it, format->ptr, LAC_I64, format->lines + 1);
    if (status == LAC_OK)
        status = copy_indices(&at->second, t->ctx, o->it, format->idx, LAC_I32, format->nnz);
    if (status == LAC_OK)
        status = guarded_buffer_make(&at->val, t->ctx, (size_t)format->nnz * size, format->val);
    if (status != LAC_OK) return status;
    const void *ptr = guarded_buffer_at(&at->first), *idx = guarded_buffer_at(&at->second);
    const void *val = guarded_buffer_at(&at->val);
    if (o->format == LAC_META_ELL) return lac_meta_attach_ell(meta, o->it, o->count, idx, val);
    return o->format == LAC_META_CSR ? lac_meta_attach_csr(meta, o->it, ptr, idx, val)
                                     : lac_meta_attach_csc(meta, o->it, ptr, idx, val);
}

static lac_status_t attach(const apitest_t *t, lac_meta_t *meta, const offer_t *o, attached_t *at)
{
    const ref_active_t *active = &o->active;
    const ref_bits_t *bits = &o->bits;
    size_t size = o->size;
    lac_status_t status;
    if (o->format == LAC_META_CSR || o->format == LAC_META_CSC || o->format == LAC_META_ELL)
        return attach_compressed(t, meta, o, at);
    if (o->format == LAC_META_ACTIVE) {
        status = copy_indices(&at->first, t->ctx, LAC_I32, active->k, LAC_I32, active->active);
        if (status == LAC_OK)
            status = guarded_buffer_make(&at->val, t->ctx, (size_t)(active->active * active->rows) * size,
                                         active->slots);
        return status != LAC_OK ? status
                                : lac_meta_attach_active(meta, o->count, guarded_buffer_at(&at->first),
                                                         guarded_buffer_at(&at->val));
    }
    status = guarded_buffer_make(&at->first, t->ctx, (size_t)(bits->rows * bits->words) * sizeof *bits->bits,
                                 bits->bits);
    if (status == LAC_OK) status = guarded_buffer_make(&at->val, t->ctx, (size_t)bits->nnz * size, bits->val);
    return status != LAC_OK
               ? status
               : lac_meta_attach_bitmask(meta, guarded_buffer_at(&at->first), guarded_buffer_at(&at->val));
}

/* The spoiled format is refused, and what the metadata holds is what it held. */
static apitest_end_t try_corrupted(apitest_t *t, lac_meta_t *meta, unsigned format, lac_index_t it, bool held,
                                   const ref_matrix_t *x)
{
    offer_t o = {.format = format, .it = it};
    attached_t at = {0};
    lac_status_t status = take_format(&o, x);
    if (status != LAC_OK) return apitest_stop(t, status, "the format");
    corrupt(&t->rng, &o);
    apitest_end_t end = APITEST_PASSED;
    if (o.want != LAC_OK)
        end = apitest_expect(t, apitest_call(t, attach(t, meta, &o, &at)), o.want, o.argument);
    const lac_obj_t obj = {.meta = meta};
    if (end == APITEST_PASSED && apitest_stands(&obj, format) != held)
        end = apitest_fail(t, "the format was refused and has changed what is attached");
    free_attached(&at);
    give_format(&o);
    return end;
}

/* Spoiled before or after it is attached as it should be. */
static apitest_end_t try_formats(apitest_t *t, lac_meta_t *meta, const offer_t *o, attached_t *at, bool first,
                                 const ref_matrix_t *x)
{
    lac_status_t status = first ? attach(t, meta, o, at) : LAC_OK;
    apitest_end_t end = APITEST_PASSED;
    if (status == LAC_OK) end = try_corrupted(t, meta, o->format, o->it, first, x);
    if (end != APITEST_PASSED) return end;
    if (status == LAC_OK && !first) status = attach(t, meta, o, at);
    return status == LAC_OK ? apitest_format(t, meta, o->format, x) : apitest_stop(t, status, "attaching");
}

static bool has_even_rows(const ref_matrix_t *x)
{
    ref_compressed_t format;
    bool even = ref_csr_make(&format, x);
    for (int64_t i = 1; even && i < format.lines; i++)
        even = format.ptr[i + 1] - format.ptr[i] == format.ptr[1];
    ref_compressed_free(&format);
    return even;
}

apitest_end_t apitest_attach(apitest_t *t)
{
    static const unsigned format[] = {LAC_META_CSR, LAC_META_CSC,     LAC_META_CSR,
                                      LAC_META_CSC, LAC_META_BITMASK, LAC_META_ACTIVE};
    const ref_matrix_t *x = apitest_operand(t).stored;
    if (x->dt == LAC_U8 && apitest_type(t) == LAC_F64)
        return apitest_refuse(t, "what is made of binary events here are floats");
    offer_t o = {.format = format[rng_below(&t->rng, 6)]};
    if (o.format == LAC_META_CSR && has_even_rows(x)) o.format = LAC_META_ELL;
    bool first = rng_below(&t->rng, 2) == 0;
    o.it = rng_below(&t->rng, 2) == 0 ? LAC_I32 : LAC_I64;
    attached_t at = {0};
    lac_meta_t *meta;
    lac_status_t status = lac_meta_create_for(t->ctx, &meta, x->m, x->n);
    if (status == LAC_OK) status = lac_meta_set_type(meta, apitest_type(t));
    if (status == LAC_OK) status = take_format(&o, x);
    apitest_end_t end =
        status == LAC_OK ? try_formats(t, meta, &o, &at, first, x) : apitest_stop(t, status, "the format");
    lac_meta_free(meta);
    free_attached(&at);
    give_format(&o);
    return end;
}
