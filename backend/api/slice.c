/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Row slices and their adjoint: checked here, done by the context's backend. */
#include "entry.h"
#include "base/status.h"
#include "operand/check.h"
#include "lacuna/slice.h"

#include <inttypes.h>

/* What every call brings, in the order of the public arguments. */
typedef struct call {
    lac_ctx_t *ctx;
    const lac_obj_t *a;
    lac_index_t it;
    lac_dim_t count;
    const void *rows;
    const lac_slice_opts_t *options;
} call_t;

static size_t width_of(lac_index_t it)
{
    return it == LAC_I64 ? sizeof(int64_t) : sizeof(int32_t);
}

static lac_status_t check_index_type(const char *name, lac_index_t it)
{
    if (it == LAC_I32 || it == LAC_I64) return LAC_OK;
    return lac_fail(LAC_ERR_TYPE, "%s: %d is no index type", name, (int)it);
}

static lac_status_t check_space(const lac_ctx_t *ctx, const char *name, const void *memory)
{
    return memory && ctx->backend->check ? ctx->backend->check(ctx->exec, name, memory) : LAC_OK;
}

static lac_status_t read_options(const lac_slice_opts_t *options, lac_slicing_t *s)
{
    if (!options) return LAC_OK;
    if (options->size < sizeof *options)
        return lac_fail(LAC_ERR_VALUE, "options.size: is %zu; set it to sizeof(lac_slice_opts_t)",
                        options->size);
    s->val = options->val;
    s->homogeneous = options->homogeneous;
    s->zero_rows = options->zero_rows;
    return LAC_OK;
}

/* Everything but what the call writes. */
static lac_status_t describe(const call_t *c, lac_slicing_t *s)
{
    lac_status_t status;
    *s = (lac_slicing_t){0};
    lac_clear_error();
    if (!c->ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    const lac_backend_t *backend = c->ctx->backend;
    if (!backend->slicer)
        return lac_fail(LAC_ERR_UNAVAILABLE, "ctx: the %s backend slices no rows; use a host context",
                        backend->name);
    if ((status = lac_check_operand("a", c->a, false, lac_location_of(c->ctx)))) return status;
    if ((status = check_space(c->ctx, "a", c->a->buf))) return status;
    if ((status = check_index_type("it", c->it))) return status;
    if (c->count < 0 || c->count > INT64_MAX / (int64_t)sizeof(double) - 1)
        return lac_fail(LAC_ERR_EXTENT, "count: %" PRId64 " is %s", c->count,
                        c->count < 0 ? "negative" : "more than memory holds");
    if (c->count && !c->rows) return lac_fail(LAC_ERR_NULL, "rows: is NULL");
    if ((status = check_space(c->ctx, "rows", c->rows))) return status;
    *s = (lac_slicing_t){.a = lac_operand_describe(c->a),
                         .which = c->a->trans == LAC_TRANS ? LAC_FORMAT_CSC : LAC_FORMAT_CSR,
                         .m = lac_obj_rows(c->a),
                         .n = lac_obj_cols(c->a),
                         .count = c->count,
                         .it = c->it,
                         .rows = c->rows,
                         .threads = c->ctx->policy.threads};
    return read_options(c->options, s);
}

/* The compressed rows, or why there are none. */
static lac_status_t find_format(const call_t *c, lac_slicing_t *s)
{
    const char *format = s->which == LAC_FORMAT_CSR ? "CSR" : "CSC";
    const lac_meta_t *meta = c->a->meta;
    lac_status_t status = LAC_OK;
    if (meta) status = c->ctx->backend->slicer->format(c->ctx->exec, s, &s->format);
    if (status) return status;
    if (!s->format && meta && meta->generation > 1)
        return lac_fail(LAC_ERR_STALE, "a.meta: was touched; attach %s again, or scan and freeze", format);
    if (!s->format)
        return lac_fail(LAC_ERR_EMPTY, "a.meta: %s that stands for it; attach %s, or scan and freeze",
                        meta ? "holds no format" : "is NULL: there is none", format);
    if (!s->val && !s->homogeneous) s->val = s->format->val;
    return check_space(c->ctx, "options.val", s->val);
}

/* That what is written shares no memory with what is read. */
static lac_status_t check_apart(const call_t *c, const lac_slicing_t *s, const char *name,
                                const lac_obj_t *written)
{
    const lac_format_data_t *format = s->format;
    size_t size = lac_dt_size(s->a.values);
    const struct {
        const char *name;
        lac_obj_t read;
    } reads[] = {{"a.buf", *c->a},
                 {"rows", lac_view_array(s->rows, s->count, width_of(s->it))},
                 {"the row pointers of a", lac_view_array(format->ptr, s->m + 1, sizeof *format->ptr)},
                 {"the indices of a", lac_view_array(format->idx, format->count, sizeof *format->idx)},
                 {"the values of a", lac_view_array(format->val, format->count, size)},
                 {"options.val", lac_view_array(s->val, s->homogeneous ? 1 : format->count, size)}};
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        if (lac_share_memory(&reads[i].read, written))
            return lac_fail(LAC_ERR_ALIAS, "%s: overlaps %s", name, reads[i].name);
    return LAC_OK;
}

static lac_status_t check_dense(const call_t *c, const lac_slicing_t *s, const char *name,
                                const lac_obj_t *dense, bool output)
{
    lac_status_t status = lac_check_operand(name, dense, output, lac_location_of(c->ctx));
    if (status) return status;
    if (dense->dt != s->a.values)
        return lac_fail(LAC_ERR_TYPE, "%s.dt: is not %s, as the values of a are", name,
                        s->a.values == LAC_F64 ? "LAC_F64" : "LAC_F32");
    if (lac_obj_rows(dense) != s->count || lac_obj_cols(dense) != s->n)
        return lac_fail(LAC_ERR_EXTENT,
                        "%s: is %" PRId64 " x %" PRId64 ", and %" PRId64 " rows of a are %" PRId64
                        " x %" PRId64,
                        name, lac_obj_rows(dense), lac_obj_cols(dense), s->count, s->count, s->n);
    if (!dense->buf && dense->m && dense->n) return lac_fail(LAC_ERR_NULL, "%s.buf: is NULL", name);
    return check_space(c->ctx, name, dense->buf);
}

lac_status_t lac_slice_rows(lac_ctx_t *ctx, const lac_obj_t *a, lac_index_t it, lac_dim_t count,
                            const void *rows, const lac_obj_t *out, const lac_slice_opts_t *options)
{
    call_t c = {ctx, a, it, count, rows, options};
    lac_slicing_t s;
    lac_status_t status = describe(&c, &s);
    if (!status) status = check_dense(&c, &s, "out", out, true);
    if (status) return status;
    bool swapped = out->trans == LAC_TRANS;
    int token = lac_enter(ctx);
    status = find_format(&c, &s);
    if (!status) status = check_apart(&c, &s, "out", out);
    if (!status)
        status = ctx->backend->slicer->rows(ctx->exec, &s, out->buf, swapped ? out->cs : out->rs,
                                            swapped ? out->rs : out->cs);
    lac_leave(ctx, token);
    return status;
}

static lac_status_t check_gradient(const call_t *c, const lac_slicing_t *s, const lac_obj_t *grad_out,
                                   const void *grad_val)
{
    int64_t count = s->homogeneous ? 1 : s->format->count;
    if (count && !grad_val) return lac_fail(LAC_ERR_NULL, "grad_val: is NULL");
    lac_status_t status = check_space(c->ctx, "grad_val", grad_val);
    if (status) return status;
    lac_obj_t written = lac_view_array(grad_val, count, lac_dt_size(s->a.values));
    if (lac_share_memory(grad_out, &written)) return lac_fail(LAC_ERR_ALIAS, "grad_val: overlaps grad_out");
    return check_apart(c, s, "grad_val", &written);
}

lac_status_t lac_slice_rows_grad(lac_ctx_t *ctx, const lac_obj_t *a, lac_index_t it, lac_dim_t count,
                                 const void *rows, const lac_obj_t *grad_out, void *grad_val,
                                 const lac_slice_opts_t *options)
{
    call_t c = {ctx, a, it, count, rows, options};
    lac_slicing_t s;
    lac_status_t status = describe(&c, &s);
    if (!status) status = check_dense(&c, &s, "grad_out", grad_out, false);
    if (status) return status;
    bool swapped = grad_out->trans == LAC_TRANS;
    int token = lac_enter(ctx);
    status = find_format(&c, &s);
    if (!status) status = check_gradient(&c, &s, grad_out, grad_val);
    if (!status)
        status =
            ctx->backend->slicer->grad(ctx->exec, &s, grad_out->buf, swapped ? grad_out->cs : grad_out->rs,
                                       swapped ? grad_out->rs : grad_out->cs, grad_val);
    lac_leave(ctx, token);
    return status;
}

static lac_status_t check_pointers(const call_t *c, lac_index_t ptr_it, const void *ptr)
{
    lac_status_t status = check_index_type("ptr_it", ptr_it);
    if (status) return status;
    return ptr ? check_space(c->ctx, "ptr", ptr) : lac_fail(LAC_ERR_NULL, "ptr: is NULL");
}

lac_status_t lac_slice_rows_count(lac_ctx_t *ctx, const lac_obj_t *a, lac_index_t it, lac_dim_t count,
                                  const void *rows, lac_index_t ptr_it, void *ptr,
                                  const lac_slice_opts_t *options)
{
    call_t c = {ctx, a, it, count, rows, options};
    lac_slicing_t s;
    lac_status_t status = describe(&c, &s);
    if (!status) status = check_pointers(&c, ptr_it, ptr);
    if (status) return status;
    lac_obj_t written = lac_view_array(ptr, count + 1, width_of(ptr_it));
    int token = lac_enter(ctx);
    status = find_format(&c, &s);
    if (!status) status = check_apart(&c, &s, "ptr", &written);
    if (!status) status = ctx->backend->slicer->count(ctx->exec, &s, ptr_it, ptr);
    lac_leave(ctx, token);
    return status;
}

/* What the second call writes, against what it reads and each other. */
static lac_status_t check_entries(const call_t *c, const lac_slicing_t *s, lac_index_t ptr_it,
                                  const void *ptr, const void *idx, const void *val, int64_t entries)
{
    if (entries && !idx) return lac_fail(LAC_ERR_NULL, "idx: is NULL");
    if (entries == LAC_ENTRIES_UNKNOWN) entries = 1; /* where they begin, at least */
    lac_obj_t pointers = lac_view_array(ptr, s->count + 1, width_of(ptr_it)),
              indices = lac_view_array(idx, entries, width_of(ptr_it)),
              values = lac_view_array(val, entries, lac_dt_size(s->a.values));
    if (lac_share_memory(&pointers, &indices)) return lac_fail(LAC_ERR_ALIAS, "idx: overlaps ptr");
    if (lac_share_memory(&pointers, &values)) return lac_fail(LAC_ERR_ALIAS, "val: overlaps ptr");
    if (lac_share_memory(&indices, &values)) return lac_fail(LAC_ERR_ALIAS, "val: overlaps idx");
    lac_status_t status = check_apart(c, s, "idx", &indices);
    return status ? status : check_apart(c, s, "val", &values);
}

lac_status_t lac_slice_rows_csr(lac_ctx_t *ctx, const lac_obj_t *a, lac_index_t it, lac_dim_t count,
                                const void *rows, lac_index_t ptr_it, const void *ptr, void *idx, void *val,
                                const lac_slice_opts_t *options)
{
    call_t c = {ctx, a, it, count, rows, options};
    lac_slicing_t s;
    int64_t entries = 0;
    lac_status_t status = describe(&c, &s);
    if (!status) status = check_pointers(&c, ptr_it, ptr);
    if (!status) status = check_space(ctx, "idx", idx);
    if (!status) status = check_space(ctx, "val", val);
    if (status) return status;
    const lac_slicer_t *slicer = ctx->backend->slicer;
    int token = lac_enter(ctx);
    status = find_format(&c, &s);
    if (!status) status = slicer->entries(ctx->exec, &s, ptr_it, ptr, &entries);
    if (!status) status = check_entries(&c, &s, ptr_it, ptr, idx, val, entries);
    if (!status && entries) status = slicer->csr(ctx->exec, &s, ptr_it, ptr, idx, val);
    lac_leave(ctx, token);
    return status;
}
