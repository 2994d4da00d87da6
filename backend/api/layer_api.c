/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lac_gemm_epilogue: a product by any route, bias and activation by it or behind it, then the formats of what
 * was written. */
#include "entry.h"
#include "../base/status.h"
#include "../data/check.h"
#include "lacuna/layer.h"

#include <math.h>
#include <string.h>

#define ALL_FORMATS (LAC_META_DENSITY | LAC_META_BITMASK | LAC_META_CSR | LAC_META_CSC | LAC_META_ACTIVE)

static lac_status_t read_epilogue(const lac_epilogue_t *epilogue, lac_epilogue_t *copy)
{
    *copy = (lac_epilogue_t){0};
    if (!epilogue) return LAC_OK;
    if (epilogue->size < sizeof *copy)
        return lac_fail(LAC_ERR_VALUE, "epilogue.size: is %zu; set it to sizeof(lac_epilogue_t)",
                        epilogue->size);
    memcpy(copy, epilogue, sizeof *copy);
    return LAC_OK;
}

static lac_status_t check_values(const lac_epilogue_t *e)
{
    bool limited = e->act == LAC_ACT_THRESHOLD || e->act == LAC_ACT_MAGNITUDE;
    if (e->act < LAC_ACT_NONE || e->act > LAC_ACT_MAGNITUDE)
        return lac_fail(LAC_ERR_VALUE, "epilogue.act: %d is no activation", (int)e->act);
    if (limited && isnan(e->threshold)) return lac_fail(LAC_ERR_VALUE, "epilogue.threshold: is NaN");
    if (e->act == LAC_ACT_MAGNITUDE && e->threshold < 0.0f)
        return lac_fail(LAC_ERR_VALUE, "epilogue.threshold: %g is no magnitude", (double)e->threshold);
    if (e->formats & ~ALL_FORMATS)
        return lac_fail(LAC_ERR_VALUE, "epilogue.formats: 0x%x is not made of LAC_META_ bits", e->formats);
    return LAC_OK;
}

static lac_status_t check_bias(const lac_ctx_t *ctx, const lac_epilogue_t *e, const lac_obj_t *c)
{
    if (!e->bias) return LAC_OK;
    lac_dim_t count = e->bias_per_row ? lac_obj_rows(c) : lac_obj_cols(c);
    lac_obj_t array = lac_view_array(e->bias, count, sizeof *e->bias);
    if (lac_share_memory(&array, c)) return lac_fail(LAC_ERR_ALIAS, "epilogue.bias: overlaps c");
    if (!ctx->backend->check || !ctx->backend->check(ctx->exec, "epilogue.bias", e->bias)) return LAC_OK;
    return lac_fail(LAC_ERR_SPACE, "epilogue.bias: does not lie on the context's device");
}

/* The epilogue of a call whose operands are checked already. */
static lac_status_t check_epilogue(const lac_ctx_t *ctx, const lac_epilogue_t *e, const lac_obj_t *a,
                                   const lac_obj_t *b, const lac_obj_t *c)
{
    const lac_device_t *device = ctx->backend->device;
    lac_status_t status = check_values(e);
    if (!status) status = check_bias(ctx, e, c);
    if (status) return status;
    if (!ctx->backend->apply_epilogue)
        return lac_fail(LAC_ERR_UNAVAILABLE, "ctx: the %s backend has no epilogues", ctx->backend->name);
    if (e->formats && !c->meta)
        return lac_fail(LAC_ERR_NULL, "c.meta: is NULL, and epilogue.formats asks for formats");
    if (c->meta && (c->meta == a->meta || c->meta == b->meta))
        return lac_fail(LAC_ERR_ALIAS, "c.meta: is that of %s", c->meta == a->meta ? "a" : "b");
    if (e->formats && device && device->capturing(ctx->exec))
        return lac_fail(LAC_ERR_UNAVAILABLE,
                        "epilogue.formats: cannot be measured while the stream is captured");
    return LAC_OK;
}

/* Reads and writes C once. On the host every route leaves it to be done. */
static double pass_us(const lac_ctx_t *ctx, const lac_problem_t *p)
{
    double bytes = 8.0 * (double)p->m * (double)p->n;
    return ctx->backend->device ? ctx->machine.cuda_launch_us + bytes / (ctx->machine.cuda_dram_gbps * 1e3)
                                : 0.0;
}

/* Bits make these formats, by rows; columns are read from C itself, and then tell the density as well. */
static bool asks_for_bits(const lac_ctx_t *ctx, const lac_epilogue_t *e)
{
    bool by_rows = e->formats & (LAC_META_CSR | LAC_META_BITMASK) || !(e->formats & LAC_META_CSC);
    return e->formats && by_rows && ctx->backend->scan_bits;
}

static lac_epilogue_args_t describe(const lac_ctx_t *ctx, const lac_epilogue_t *e, const lac_problem_t *p,
                                    const lac_obj_t *c)
{
    bool all = e->act == LAC_ACT_NONE;
    return (lac_epilogue_args_t){.any = !all || e->bias,
                                 .bias = e->bias,
                                 .bias_per_row = e->bias_per_row,
                                 .magnitude = e->act == LAC_ACT_MAGNITUDE,
                                 .limit = all                      ? NAN
                                          : e->act == LAC_ACT_RELU ? 0.0f
                                                                   : e->threshold,
                                 .pass_us = pass_us(ctx, p),
                                 .bits = asks_for_bits(ctx, e),
                                 .bits_transposed = c->trans == LAC_TRANS};
}

static lac_status_t run_epilogue(const lac_ctx_t *ctx, const lac_problem_t *p)
{
    return p->epilogue.any && p->m && p->n ? ctx->backend->apply_epilogue(ctx->exec, p) : LAC_OK;
}

/* The formats that these bits ask for; their memory serves again. */
static unsigned formats_of(unsigned bits)
{
    return (bits & LAC_META_CSR ? 1u << LAC_FORMAT_CSR : 0) |
           (bits & LAC_META_CSC ? 1u << LAC_FORMAT_CSC : 0) |
           (bits & LAC_META_BITMASK ? 1u << LAC_FORMAT_BITS : 0) |
           (bits & LAC_META_ACTIVE ? 1u << LAC_FORMAT_ACTIVE : 0);
}

/* What was measured of an output stands until its owner says otherwise, as what is attached does. bits: of
 * C, where the product told them. */
static lac_status_t measure(const lac_ctx_t *ctx, const lac_obj_t *c, unsigned what, const uint64_t *bits)
{
    lac_meta_t *meta = c->meta;
    lac_obj_t stored = *c;
    stored.trans = LAC_NO_TRANS;
    lac_meta_lock(meta);
    lac_status_t status = bits ? ctx->backend->scan_bits(ctx->exec, &stored, what, bits)
                               : ctx->backend->scan(ctx->exec, &stored, what, ctx->policy.threads);
    for (int i = 0; i < LAC_FORMAT_COUNT; i++) {
        if (meta->format[i].origin != LAC_ORIGIN_SCANNED) continue;
        meta->format[i].origin = LAC_ORIGIN_DERIVED;
    }
    if (!status) meta->density_origin = LAC_ORIGIN_DERIVED;
    lac_meta_unlock(meta);
    return status;
}

lac_status_t lac_gemm_epilogue(lac_ctx_t *ctx, const float *alpha, const lac_obj_t *a, const lac_obj_t *b,
                               const float *beta, const lac_obj_t *c, const lac_epilogue_t *epilogue,
                               lac_call_opts_t *call)
{
    lac_problem_t p;
    lac_call_opts_t settings;
    lac_epilogue_t e;
    lac_request_t request = {0};
    lac_status_t status = lac_read_call(call, &settings, &request.route);
    if (!status) status = read_epilogue(epilogue, &e);
    if (!status) status = lac_describe_call_at(ctx, settings.scalars, alpha, a, b, beta, c, &p);
    if (!status) status = check_epilogue(ctx, &e, a, b, c);
    if (status) return status;
    p.epilogue = describe(ctx, &e, &p, c);
    if (p.epilogue.any) p.site_bits |= LAC_SITE_EPILOGUE;
    status = lac_run_call(ctx, &p, &settings, &request, call);
    if (status || request.declined) return status;
    if (c->meta) lac_meta_renew(c->meta, formats_of(e.formats));
    int token = lac_enter(ctx);
    if (!request.epilogue_done) status = run_epilogue(ctx, &p);
    if (!status && c->meta && e.formats) status = measure(ctx, c, e.formats, request.bits);
    lac_leave(ctx, token);
    return status;
}
