/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products and the gradients of a product: checked here by the caller's names, done by the backend or
 * by the dispatcher. */
#include "entry.h"
#include "base/status.h"
#include "operand/check.h"
#include "lacuna/sddmm.h"

#include <inttypes.h>

/* out := beta out + alpha op(x) op(y), and what the public call names its operands. */
typedef struct call {
    lac_ctx_t *ctx;
    const void *alpha, *beta;
    lac_obj_t x, y;
    const char *x_name, *y_name, *out_name, *symbol;
} call_t;

static lac_status_t check_input(const lac_ctx_t *ctx, const char *name, const lac_obj_t *obj)
{
    lac_status_t status = lac_check_operand(name, obj, false, lac_location_of(ctx));
    if (!status && obj->buf && ctx->backend->check) status = ctx->backend->check(ctx->exec, name, obj->buf);
    return status;
}

static void transpose(lac_obj_t *obj)
{
    obj->trans = obj->trans == LAC_TRANS ? LAC_NO_TRANS : LAC_TRANS;
}

/* Fills x and y of a call that has everything else. */
static lac_status_t begin(call_t *c, const lac_obj_t *x, bool x_transposed, const lac_obj_t *y,
                          bool y_transposed)
{
    lac_status_t status;
    lac_clear_error();
    if (!c->ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    if ((status = check_input(c->ctx, c->x_name, x))) return status;
    if ((status = check_input(c->ctx, c->y_name, y))) return status;
    c->x = *x;
    c->y = *y;
    if (x_transposed) transpose(&c->x);
    if (y_transposed) transpose(&c->y);
    return LAC_OK;
}

/* An extent of one operand as the product reads it, against W's. */
static lac_status_t check_extent(const char *name, const char *of, lac_dim_t extent, const char *w_source,
                                 lac_dim_t expected)
{
    if (extent == expected) return LAC_OK;
    return lac_fail(LAC_ERR_EXTENT, "%s: has %" PRId64 " %s in this product, %s has %" PRId64, name, extent,
                    of, w_source, expected);
}

static lac_status_t check_extents(const call_t *c, const lac_obj_t *out)
{
    lac_status_t status =
        check_extent(c->y_name, "rows", lac_obj_rows(&c->y), c->x_name, lac_obj_cols(&c->x));
    if (!status)
        status = check_extent(c->out_name, "rows", lac_obj_rows(out), c->x_name, lac_obj_rows(&c->x));
    if (!status)
        status = check_extent(c->out_name, "columns", lac_obj_cols(out), c->y_name, lac_obj_cols(&c->y));
    return status;
}

static bool meets(const void *memory, int64_t count, size_t width, const lac_obj_t *written)
{
    lac_obj_t array = lac_view_array(memory, count, width);
    return memory && lac_share_memory(&array, written);
}

/* True where what is written shares memory with an array of a format, its values apart. */
static bool meets_indices(const lac_format_data_t *format, int64_t majors, const lac_obj_t *written)
{
    return meets(format->ptr, majors, sizeof *format->ptr, written) ||
           meets(format->idx, format->count, sizeof *format->idx, written);
}

/* True where what is written shares memory with a format that an operand may be read from. */
static bool meets_operand(const lac_obj_t *obj, const lac_obj_t *written)
{
    unsigned trusted = lac_meta_trusted(obj->meta);
    for (int i = 0; i < LAC_FORMAT_COUNT; i++) {
        const lac_format_data_t *format =
            trusted & 1u << i ? lac_meta_format(obj->meta, (lac_format_t)i) : NULL;
        if (!format) continue;
        const int64_t pointers[LAC_FORMAT_COUNT] = {
            [LAC_FORMAT_CSR] = obj->m + 1, [LAC_FORMAT_CSC] = obj->n + 1};
        int64_t per_entry = i == LAC_FORMAT_ACTIVE ? obj->m : 1;
        int64_t words = i == LAC_FORMAT_BITS         ? obj->m * ((obj->n + 63) / 64)
                        : i == LAC_FORMAT_EVENT_BITS ? obj->m * format->count
                                                     : 0;
        int64_t lists = i == LAC_FORMAT_EVENT_LISTS ? obj->m * format->count : 0;
        if (meets_indices(format, pointers[i], written) ||
            meets(format->idx, lists, sizeof *format->idx, written) ||
            meets(format->bits, words, sizeof *format->bits, written) ||
            meets(format->val, format->count * per_entry, lac_dt_size(lac_meta_values(obj->meta)), written))
            return true;
    }
    return obj->buf && lac_share_memory(obj, written);
}

/* The CSR format of the pattern, or NULL. */
static const lac_format_data_t *find_pattern(const lac_obj_t *pattern)
{
    bool stands = lac_meta_trusted(pattern->meta) & 1u << LAC_FORMAT_CSR;
    return stands ? lac_meta_format(pattern->meta, LAC_FORMAT_CSR) : NULL;
}

static lac_status_t refuse_pattern(const call_t *c, const lac_meta_t *meta)
{
    if (meta && meta->generation > 1)
        return lac_fail(LAC_ERR_STALE, "%s.meta: was touched; attach CSR again, or scan and freeze",
                        c->out_name);
    return lac_fail(LAC_ERR_EMPTY, "%s.meta: %s; attach CSR, or scan and freeze", c->out_name,
                    meta ? "holds no CSR format that stands for it" : "is NULL");
}

/* The product's type is that of its values: an operand that is not binary events has it. */
static lac_dt_t type_of(const call_t *c)
{
    if (c->x.dt != LAC_U8) return c->x.dt;
    return c->y.dt != LAC_U8 ? c->y.dt : LAC_F32;
}

static lac_status_t check_values(const call_t *c, const lac_obj_t *pattern, const lac_format_data_t *format,
                                 const void *values)
{
    if (format->count && !values) return lac_fail(LAC_ERR_NULL, "values: is NULL");
    const lac_backend_t *backend = c->ctx->backend;
    lac_status_t status = values && backend->check ? backend->check(c->ctx->exec, "values", values) : LAC_OK;
    if (status) return status;
    lac_obj_t written = lac_view_array(values, format->count, lac_dt_size(type_of(c)));
    if (meets_operand(&c->x, &written)) return lac_fail(LAC_ERR_ALIAS, "values: overlaps %s", c->x_name);
    if (meets_operand(&c->y, &written)) return lac_fail(LAC_ERR_ALIAS, "values: overlaps %s", c->y_name);
    if (meets_indices(format, pattern->m + 1, &written))
        return lac_fail(LAC_ERR_ALIAS, "values: overlaps the indices of %s", c->out_name);
    return LAC_OK;
}

/* The product at the entries of a pattern. */
static lac_status_t sample(call_t *c, const lac_obj_t *pattern, void *values)
{
    const lac_backend_t *backend = c->ctx->backend;
    lac_status_t status;
    if (!backend->sddmm)
        return lac_fail(LAC_ERR_UNAVAILABLE,
                        "ctx: the %s backend has no sampled products; use a host context", backend->name);
    if ((status = check_input(c->ctx, c->out_name, pattern))) return status;
    if ((status = check_extents(c, pattern))) return status;
    const lac_format_data_t *format = find_pattern(pattern);
    if (!format) return refuse_pattern(c, pattern->meta);
    if ((status = check_values(c, pattern, format, values))) return status;
    lac_obj_t stored = *pattern;
    stored.dt = type_of(c);
    if ((status = lac_check_type(c->x_name, &c->x, c->y_name, stored.dt))) return status;
    if ((status = lac_check_type(c->y_name, &c->y, c->x_name, stored.dt))) return status;
    if (pattern->trans == LAC_TRANS) { /* (X Y)' = Y' X' at the entries as they are stored */
        lac_obj_t x = c->x;
        c->x = c->y;
        c->y = x;
        transpose(&c->x);
        transpose(&c->y);
        transpose(&stored);
    }
    lac_problem_t p;
    lac_problem_describe(&p, lac_scalar(c->alpha, stored.dt, 1.0), &c->x, &c->y,
                         lac_scalar(c->beta, stored.dt, 0.0), &stored);
    p.settings.threads = c->ctx->policy.threads;
    p.c = NULL;
    int token = lac_enter(c->ctx);
    status = backend->sddmm(c->ctx->exec, &p, format, values);
    lac_leave(c->ctx, token);
    return status;
}

/* The whole product. What lac_gemm would check under its own names is checked here. */
static lac_status_t multiply(const call_t *c, const lac_obj_t *out)
{
    lac_call_opts_t settings = {.size = sizeof settings, .symbol = c->symbol};
    const lac_backend_t *backend = c->ctx->backend;
    lac_status_t status = lac_check_operand(c->out_name, out, true, lac_location_of(c->ctx));
    if (!status) status = lac_check_type(c->x_name, &c->x, c->out_name, out->dt);
    if (!status) status = lac_check_type(c->y_name, &c->y, c->out_name, out->dt);
    if (status) return status;
    if (backend->check && (status = backend->check(c->ctx->exec, c->out_name, out->buf))) return status;
    if ((status = check_extents(c, out))) return status;
    if (lac_share_memory(&c->x, out))
        return lac_fail(LAC_ERR_ALIAS, "%s: overlaps %s", c->out_name, c->x_name);
    if (lac_share_memory(&c->y, out))
        return lac_fail(LAC_ERR_ALIAS, "%s: overlaps %s", c->out_name, c->y_name);
    return lac_gemm_ex(c->ctx, c->alpha, &c->x, &c->y, c->beta, out, &settings);
}

lac_status_t lac_sddmm(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                       const void *beta, const lac_obj_t *pattern, void *values)
{
    call_t c = {
        .ctx = ctx, .alpha = alpha, .beta = beta, .x_name = "a", .y_name = "b", .out_name = "pattern"};
    lac_status_t status = begin(&c, a, false, b, false);
    return status ? status : sample(&c, pattern, values);
}

/* Only a pattern has no buffer; without values it may still be one, without entries. */
static lac_status_t gradient(call_t *c, const lac_obj_t *to, void *values)
{
    if (!to) return lac_fail(LAC_ERR_NULL, "%s: is NULL", c->out_name);
    bool sparse_only = !to->buf && to->meta;
    return values || sparse_only ? sample(c, to, values) : multiply(c, to);
}

lac_status_t lac_gemm_grad_a(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *grad_c, const lac_obj_t *b,
                             const void *beta, const lac_obj_t *grad_a, void *values)
{
    call_t c = {ctx, alpha, beta, .x_name = "grad_c", .y_name = "b", "grad_a", "lac_gemm_grad_a"};
    lac_status_t status = begin(&c, grad_c, false, b, true);
    return status ? status : gradient(&c, grad_a, values);
}

lac_status_t lac_gemm_grad_b(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *grad_c,
                             const void *beta, const lac_obj_t *grad_b, void *values)
{
    call_t c = {ctx, alpha, beta, .x_name = "a", .y_name = "grad_c", "grad_b", "lac_gemm_grad_b"};
    lac_status_t status = begin(&c, a, true, grad_c, false);
    return status ? status : gradient(&c, grad_b, values);
}
