/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lac_gemm and its kin: check, describe, dispatch; with an epilogue, and as a plan that keeps its decision.
 */
#include "entry.h"
#include "base/status.h"
#include "operand/check.h"
#include "lacuna/layer.h"
#include "planner/dispatch.h"

#include <string.h>
#include <math.h>
#include <stdlib.h>

static lac_status_t check_buffer(const lac_ctx_t *ctx, const char *name, const lac_obj_t *obj)
{
    return obj->buf && ctx->backend->check ? ctx->backend->check(ctx->exec, name, obj->buf) : LAC_OK;
}

static lac_status_t check_scalar(const lac_ctx_t *ctx, const char *name, const void *scalar)
{
    if (!scalar) return lac_fail(LAC_ERR_NULL, "%s: is NULL; on the device there is no default", name);
    if (!ctx->backend->check || !ctx->backend->check(ctx->exec, name, scalar)) return LAC_OK;
    return lac_fail(LAC_ERR_SPACE, "%s: does not lie on the context's device", name);
}

lac_status_t lac_check_scalar_space(const lac_ctx_t *ctx, lac_space_t space)
{
    if (space == LAC_HOST) return LAC_OK;
    if (space != LAC_DEVICE) return lac_fail(LAC_ERR_VALUE, "call.scalars: %d is no space", (int)space);
    if (ctx->backend->space == LAC_DEVICE) return LAC_OK;
    return lac_fail(LAC_ERR_SPACE, "call.scalars: on a device, and the context computes on the host");
}

static lac_status_t check_scalars(const lac_ctx_t *ctx, lac_space_t space, const void *alpha,
                                  const void *beta)
{
    lac_status_t status = lac_check_scalar_space(ctx, space);
    if (status || space == LAC_HOST) return status;
    status = check_scalar(ctx, "alpha", alpha);
    return status ? status : check_scalar(ctx, "beta", beta);
}

static bool same_view(const lac_obj_t *x, const lac_obj_t *y)
{
    return x->buf == y->buf && x->m == y->m && x->n == y->n && x->rs == y->rs && x->cs == y->cs &&
           x->dt == y->dt && x->space == y->space && x->trans == y->trans && x->meta == y->meta;
}

/* Where these views would be kept; NULL where they say too little: what metadata says may change. */
static lac_checked_t *slot_of(lac_ctx_t *ctx, const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c)
{
    if (!a || !b || !c || a->meta || b->meta || c->meta || !c->buf) return NULL;
    uint64_t mixed = (uintptr_t)a->buf ^ (uintptr_t)b->buf >> 3 ^ (uintptr_t)c->buf >> 5;
    mixed *= UINT64_C(0x9E3779B97F4A7C15); /* a device's allocations begin at multiples of 2 MB */
    return &ctx->checked[(mixed >> 32) % LAC_CHECKED_CALLS];
}

static lac_status_t check_objects(const lac_ctx_t *ctx, const lac_obj_t *a, const lac_obj_t *b,
                                  const lac_obj_t *c)
{
    lac_status_t status;
    if ((status = lac_check_any_operand("a", a, false, lac_location_of(ctx)))) return status;
    if ((status = lac_check_any_operand("b", b, false, lac_location_of(ctx)))) return status;
    if ((status = lac_check_any_operand("c", c, true, lac_location_of(ctx)))) return status;
    return lac_check_product(a, b, c);
}

/* The same, but the views of a call that was in order need no second look, which took a fifth of a
 * call's time. */
static lac_status_t check_views(lac_ctx_t *ctx, const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c)
{
    lac_checked_t *place = slot_of(ctx, a, b, c);
    if (place && same_view(&place->c, c) && same_view(&place->a, a) && same_view(&place->b, b)) return LAC_OK;
    lac_status_t status = check_objects(ctx, a, b, c);
    if (place && !status) *place = (lac_checked_t){*a, *b, *c};
    return status;
}

lac_status_t lac_describe_call(lac_ctx_t *ctx, lac_space_t scalars, const void *alpha, const lac_obj_t *a,
                               const lac_obj_t *b, const void *beta, const lac_obj_t *c, lac_problem_t *p)
{
    lac_status_t status;
    lac_clear_error();
    if (!ctx) {
        lac_fail(LAC_ERR_NULL, "ctx: is NULL");
        return LAC_ERR_NULL;
    }
    if ((status = check_scalars(ctx, scalars, alpha, beta))) return status;
    if ((status = check_views(ctx, a, b, c))) return status;
    if ((status = check_buffer(ctx, "a", a))) return status;
    if ((status = check_buffer(ctx, "b", b))) return status;
    if ((status = check_buffer(ctx, "c", c))) return status;
    lac_problem_from_views(p, scalars, alpha, a, b, beta, c);
    return LAC_OK;
}

/* The members of a caller's lac_call_opts_t that its size says are there; the rest zero. Errors: VALUE. */
static lac_status_t read_call(const lac_call_opts_t *call, lac_call_opts_t *copy, const char **route)
{
    bool accepted = true, whole = call && call->size >= sizeof *copy;
    *copy = whole ? *call : (lac_call_opts_t){0};
    *route = NULL;
    if (!call) return LAC_OK;
    if (call->size < offsetof(lac_call_opts_t, route) + sizeof call->route)
        return lac_fail(LAC_ERR_VALUE, "call.size: is %zu; set it to sizeof(lac_call_opts_t)", call->size);
    /* Half a pointer is none: an older, smaller structure ends between members. */
    size_t size = call->size / sizeof(void *) * sizeof(void *);
    if (!whole) memcpy(copy, call, size);
    if (copy->route) *route = lac_policy_backend(copy->route, &accepted);
    if (!accepted) return lac_fail(LAC_ERR_VALUE, "call.route: '%.64s' is no backend", copy->route);
    if (copy->skip < LAC_SKIP_DEFAULT || copy->skip > LAC_SKIP_GUARANTEED_B)
        return lac_fail(LAC_ERR_VALUE, "call.skip: %d is no lac_skip_t", copy->skip);
    if (!(copy->density_limit >= 0.0 && copy->density_limit <= 1.0))
        return lac_fail(LAC_ERR_VALUE, "call.density_limit: is %g; expected 0 to 1", copy->density_limit);
    return LAC_OK;
}

/* What the call says of zeros. Errors: VALUE. */
static lac_status_t set_skip(const lac_ctx_t *ctx, const lac_call_opts_t *settings, lac_problem_t *p)
{
    p->settings.skip = (lac_skip_t)settings->skip;
    if (settings->skip < LAC_SKIP_GUARANTEED || !ctx->policy.strict_nan) return LAC_OK;
    return lac_fail(LAC_ERR_VALUE, "call.skip: a guarantee excludes the option nan, which is strict");
}

/* Runs what was described; request->route is set by read_call. */
static inline lac_status_t run_call(lac_ctx_t *ctx, lac_problem_t *p, const lac_call_opts_t *settings,
                                    lac_request_t *request, lac_call_opts_t *call)
{
    request->symbol = settings->symbol ? settings->symbol : "lac_gemm";
    request->decision = settings->decision;
    request->caller = settings->caller;
    request->may_decline = settings->may_decline;
    request->density_limit = settings->density_limit;
    int token = lac_enter(ctx);
    lac_status_t status = lac_dispatch(ctx, p, request);
    lac_leave(ctx, token);
    if (call && call->size >= offsetof(lac_call_opts_t, declined) + sizeof call->declined)
        call->declined = request->declined;
    if (call && call->size >= offsetof(lac_call_opts_t, density) + sizeof call->density)
        call->density = request->density;
    return status;
}

lac_status_t lac_gemm_ex(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                         const void *beta, const lac_obj_t *c, lac_call_opts_t *call)
{
    lac_problem_t p;
    lac_call_opts_t settings;
    lac_request_t request = {0};
    lac_status_t status = read_call(call, &settings, &request.route);
    if (!status) status = lac_describe_call(ctx, settings.scalars, alpha, a, b, beta, c, &p);
    if (!status) status = set_skip(ctx, &settings, &p);
    return status ? status : run_call(ctx, &p, &settings, &request, call);
}

lac_status_t lac_gemm(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                      const void *beta, const lac_obj_t *c)
{
    return lac_gemm_ex(ctx, alpha, a, b, beta, c, NULL);
}

lac_status_t lac_explain(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                         const void *beta, const lac_obj_t *c, lac_call_opts_t *call,
                         lac_decision_t *decision)
{
    lac_problem_t p;
    lac_call_opts_t settings;
    lac_request_t request = {.symbol = "lac_explain"};
    lac_status_t status = read_call(call, &settings, &request.route);
    if (!status) status = lac_describe_call(ctx, settings.scalars, alpha, a, b, beta, c, &p);
    if (!status) status = set_skip(ctx, &settings, &p);
    if (status) return status;
    if (!decision) return lac_fail(LAC_ERR_NULL, "decision: is NULL");
    request.caller = settings.caller;
    int token = lac_enter(ctx);
    lac_dispatch_explain(ctx, &p, &request, decision);
    lac_leave(ctx, token);
    return LAC_OK;
}

/* op(X), rows x cols, as the matrix that is stored. */
static lac_obj_t matrix_of(const lac_ctx_t *ctx, lac_dt_t dt, lac_trans_t trans, lac_dim_t rows,
                           lac_dim_t cols, const void *buf, lac_inc_t rs, lac_inc_t cs)
{
    bool swapped = trans == LAC_TRANS;
    lac_space_t space = ctx ? ctx->backend->space : LAC_HOST;
    lac_obj_t x = lac_view(dt, space, swapped ? cols : rows, swapped ? rows : cols, buf, rs, cs);
    x.trans = trans;
    return x;
}

/* The calls on bare pointers, of any type: op(A) m x k, op(B) k x n. */
static lac_status_t multiply(lac_ctx_t *ctx, lac_dt_t dt, lac_trans_t ta, lac_trans_t tb, lac_dim_t m,
                             lac_dim_t n, lac_dim_t k, const void *alpha, const void *a, lac_inc_t rsa,
                             lac_inc_t csa, const void *b, lac_inc_t rsb, lac_inc_t csb, const void *beta,
                             void *c, lac_inc_t rsc, lac_inc_t csc)
{
    lac_obj_t oa = matrix_of(ctx, dt, ta, m, k, a, rsa, csa), ob = matrix_of(ctx, dt, tb, k, n, b, rsb, csb);
    lac_obj_t oc = matrix_of(ctx, dt, LAC_NO_TRANS, m, n, c, rsc, csc);
    return lac_gemm(ctx, alpha, &oa, &ob, beta, &oc);
}

lac_status_t lac_sgemm(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                       float alpha, const float *a, lac_inc_t rsa, lac_inc_t csa, const float *b,
                       lac_inc_t rsb, lac_inc_t csb, float beta, float *c, lac_inc_t rsc, lac_inc_t csc)
{
    return multiply(ctx, LAC_F32, ta, tb, m, n, k, &alpha, a, rsa, csa, b, rsb, csb, &beta, c, rsc, csc);
}

lac_status_t lac_dgemm(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                       double alpha, const double *a, lac_inc_t rsa, lac_inc_t csa, const double *b,
                       lac_inc_t rsb, lac_inc_t csb, double beta, double *c, lac_inc_t rsc, lac_inc_t csc)
{
    return multiply(ctx, LAC_F64, ta, tb, m, n, k, &alpha, a, rsa, csa, b, rsb, csb, &beta, c, rsc, csc);
}

/* BLAS counts a vector with a negative increment from its far end. One that no memory holds is refused later.
 */
static const void *first_of(lac_dt_t dt, const void *x, lac_dim_t count, lac_inc_t inc)
{
    int64_t back, size = (int64_t)lac_dt_size(dt);
    bool behind = x && inc < 0 && count > 0 && !__builtin_mul_overflow(1 - count, inc, &back) &&
                  back < PTRDIFF_MAX / size;
    return behind ? (const char *)x + back * size : x;
}

/* y := beta y + alpha op(A) x of any type, A stored m x n. */
static lac_status_t multiply_vector(lac_ctx_t *ctx, lac_dt_t dt, const char *symbol, lac_trans_t ta,
                                    lac_dim_t m, lac_dim_t n, const void *alpha, const void *a, lac_inc_t rsa,
                                    lac_inc_t csa, const void *x, lac_inc_t incx, const void *beta, void *y,
                                    lac_inc_t incy)
{
    bool swapped = ta == LAC_TRANS;
    lac_dim_t rows = swapped ? n : m, cols = swapped ? m : n;
    lac_obj_t oa = matrix_of(ctx, dt, ta, rows, cols, a, rsa, csa);
    lac_obj_t ox = matrix_of(ctx, dt, LAC_NO_TRANS, cols, 1, first_of(dt, x, cols, incx), incx, 1);
    lac_obj_t oy = matrix_of(ctx, dt, LAC_NO_TRANS, rows, 1, first_of(dt, y, rows, incy), incy, 1);
    const lac_call_opts_t settings = {.symbol = symbol};
    lac_request_t request = {0};
    lac_problem_t p;
    lac_status_t status = lac_describe_call(ctx, LAC_HOST, alpha, &oa, &ox, beta, &oy, &p);
    if (status) return status;
    p.terms.vector = true;
    return run_call(ctx, &p, &settings, &request, NULL);
}

lac_status_t lac_sgemv(lac_ctx_t *ctx, lac_trans_t ta, lac_dim_t m, lac_dim_t n, float alpha, const float *a,
                       lac_inc_t rsa, lac_inc_t csa, const float *x, lac_inc_t incx, float beta, float *y,
                       lac_inc_t incy)
{
    return multiply_vector(ctx, LAC_F32, "lac_sgemv", ta, m, n, &alpha, a, rsa, csa, x, incx, &beta, y, incy);
}

lac_status_t lac_dgemv(lac_ctx_t *ctx, lac_trans_t ta, lac_dim_t m, lac_dim_t n, double alpha,
                       const double *a, lac_inc_t rsa, lac_inc_t csa, const double *x, lac_inc_t incx,
                       double beta, double *y, lac_inc_t incy)
{
    return multiply_vector(ctx, LAC_F64, "lac_dgemv", ta, m, n, &alpha, a, rsa, csa, x, incx, &beta, y, incy);
}

/* lac_gemm_epilogue: a product by any route, bias and activation by it or behind it, then the formats of what
 * was written. */

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
    if (e->act == LAC_ACT_MAGNITUDE && e->threshold < 0.0)
        return lac_fail(LAC_ERR_VALUE, "epilogue.threshold: %g is no magnitude", e->threshold);
    if (e->formats & ~ALL_FORMATS)
        return lac_fail(LAC_ERR_VALUE, "epilogue.formats: 0x%x is not made of LAC_META_ bits", e->formats);
    return LAC_OK;
}

static lac_status_t check_bias(const lac_ctx_t *ctx, const lac_epilogue_t *e, const lac_obj_t *c)
{
    if (!e->bias) return LAC_OK;
    lac_dim_t count = e->bias_per_row ? lac_obj_rows(c) : lac_obj_cols(c);
    lac_obj_t array = lac_view_array(e->bias, count, lac_dt_size(c->dt));
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
    if (lac_is_half(c->dt))
        return lac_fail(LAC_ERR_TYPE, "c.dt: an epilogue is for LAC_F32 and LAC_F64 outputs");
    if (c->dt == LAC_F64 && device)
        return lac_fail(LAC_ERR_TYPE, "c.dt: an epilogue on a device is for LAC_F32 outputs");
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
    double bytes = 2.0 * (double)lac_dt_size(p->dt) * (double)p->m * (double)p->n;
    return ctx->backend->device ? ctx->machine.cuda_launch_us + bytes / (ctx->machine.cuda_dram_gbps * 1e3)
                                : 0.0;
}

/* Bits make these formats, by rows; columns are read from C itself, and then tell the density as well. */
static bool asks_for_bits(const lac_ctx_t *ctx, const lac_epilogue_t *e)
{
    bool by_rows = e->formats & (LAC_META_CSR | LAC_META_BITMASK) || !(e->formats & LAC_META_CSC);
    return e->formats && by_rows && ctx->backend->scan_bits;
}

/* What passes the activation lies above it; NaN: everything passes. */
static double limit_of(const lac_epilogue_t *e)
{
    if (e->act == LAC_ACT_NONE) return (double)NAN;
    return e->act == LAC_ACT_RELU ? 0.0 : e->threshold;
}

static lac_epilogue_args_t describe(const lac_ctx_t *ctx, const lac_epilogue_t *e, const lac_obj_t *c)
{
    return (lac_epilogue_args_t){.any = e->act != LAC_ACT_NONE || e->bias,
                                 .bias = e->bias,
                                 .bias_per_row = e->bias_per_row,
                                 .magnitude = e->act == LAC_ACT_MAGNITUDE,
                                 .limit = limit_of(e),
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
    static const struct {
        unsigned bit, format;
    } asked[] = {{LAC_META_CSR, LAC_FORMAT_CSR},
                 {LAC_META_CSC, LAC_FORMAT_CSC},
                 {LAC_META_BITMASK, LAC_FORMAT_BITS},
                 {LAC_META_ACTIVE, LAC_FORMAT_ACTIVE}};
    unsigned formats = 0;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        if (bits & asked[i].bit) formats |= 1u << asked[i].format;
    return formats;
}

/* What was measured of an output stands until its owner says otherwise, as what is attached does. bits: of
 * C, where the product reported them. */
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

lac_status_t lac_gemm_epilogue(lac_ctx_t *ctx, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                               const void *beta, const lac_obj_t *c, const lac_epilogue_t *epilogue,
                               lac_call_opts_t *call)
{
    lac_problem_t p;
    lac_call_opts_t settings;
    lac_epilogue_t e;
    lac_request_t request = {0};
    lac_status_t status = read_call(call, &settings, &request.route);
    if (!status) status = read_epilogue(epilogue, &e);
    if (!status) status = lac_describe_call(ctx, settings.scalars, alpha, a, b, beta, c, &p);
    if (!status) status = set_skip(ctx, &settings, &p);
    if (!status) status = check_epilogue(ctx, &e, a, b, c);
    if (status) return status;
    p.epilogue = describe(ctx, &e, c);
    p.account.epilogue_us = pass_us(ctx, &p);
    if (p.epilogue.any) p.account.site_bits |= LAC_SITE_EPILOGUE;
    status = run_call(ctx, &p, &settings, &request, call);
    if (status || request.declined) return status;
    if (c->meta) lac_meta_renew(c->meta, formats_of(e.formats));
    int token = lac_enter(ctx);
    if (!request.epilogue_done) status = run_epilogue(ctx, &p);
    if (!status && c->meta && e.formats) status = measure(ctx, c, e.formats, request.bits);
    lac_leave(ctx, token);
    return status;
}

/* Plans: a decision kept, to be run again. */

struct lac_plan {
    lac_ctx_t *ctx;
    const lac_route_t *route;
    lac_decision_t decision;
    lac_problem_t shape; /* extents and strides that a run must repeat */
    lac_space_t scalars; /* of a run                                   */
};

/* Grows what the plan's runs will need, so that the first may already be captured. */
static lac_status_t prepare(lac_ctx_t *ctx, const lac_route_t *route, lac_problem_t *p)
{
    if (!ctx->backend->prepare) return LAC_OK;
    int token = lac_enter(ctx);
    lac_status_t status = ctx->backend->prepare(ctx->exec, route, p);
    lac_leave(ctx, token);
    return status;
}

/* Stands for a scalar on the device while no run has brought one. */
static const float any_scalar = 1.0f;

lac_status_t lac_plan_create(lac_ctx_t *ctx, lac_plan_t **plan, const lac_obj_t *a, const lac_obj_t *b,
                             const lac_obj_t *c, const lac_call_opts_t *call)
{
    lac_problem_t p;
    lac_call_opts_t settings;
    lac_request_t request = {.symbol = "lac_plan_create", .untried = true};
    lac_clear_error();
    if (!plan) return lac_fail(LAC_ERR_NULL, "plan: is NULL");
    *plan = NULL;
    lac_status_t status = read_call(call, &settings, &request.route);
    if (!status) status = lac_describe_call(ctx, LAC_HOST, NULL, a, b, NULL, c, &p);
    if (!status) status = set_skip(ctx, &settings, &p);
    if (!status) status = lac_check_scalar_space(ctx, settings.scalars);
    if (!status && settings.scalars == LAC_DEVICE) p.alpha_at = p.beta_at = &any_scalar;
    if (status) return status;
    lac_plan_t *made = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "plan: out of memory");
    made->shape = p;
    made->scalars = settings.scalars;
    int token = lac_enter(ctx);
    lac_dispatch_explain(ctx, &p, &request, &made->decision);
    lac_leave(ctx, token);
    made->ctx = ctx;
    made->route = lac_dispatch_route(ctx, &made->decision);
    if ((status = prepare(ctx, made->route, &p))) {
        free(made);
        return status;
    }
    *plan = made;
    return LAC_OK;
}

static bool same_operand(const lac_operand_t *x, const lac_operand_t *y)
{
    return x->dt == y->dt && x->rs == y->rs && x->cs == y->cs && x->transposed == y->transposed;
}

static bool same_shape(const lac_problem_t *x, const lac_problem_t *y)
{
    return x->dt == y->dt && x->m == y->m && x->n == y->n && x->k == y->k && x->crs == y->crs &&
           x->ccs == y->ccs && same_operand(&x->a, &y->a) && same_operand(&x->b, &y->b);
}

lac_status_t lac_plan_run(lac_plan_t *plan, const void *alpha, const lac_obj_t *a, const lac_obj_t *b,
                          const void *beta, const lac_obj_t *c)
{
    lac_problem_t p;
    lac_clear_error();
    if (!plan) return lac_fail(LAC_ERR_NULL, "plan: is NULL");
    lac_status_t status = lac_describe_call(plan->ctx, plan->scalars, alpha, a, b, beta, c, &p);
    if (status) return status;
    if (!same_shape(&p, &plan->shape))
        return lac_fail(LAC_ERR_EXTENT, "a, b, c: extents, strides or types differ from the plan's");
    p.settings.skip = plan->shape.settings.skip;
    if (p.settings.skip >= LAC_SKIP_GUARANTEED && plan->ctx->policy.strict_nan)
        return lac_fail(LAC_ERR_VALUE, "plan: its guarantee excludes the option nan, which is strict");
    int token = lac_enter(plan->ctx);
    status = lac_dispatch_planned(plan->ctx, &p, plan->route);
    lac_leave(plan->ctx, token);
    return status;
}

lac_status_t lac_plan_explain(const lac_plan_t *plan, lac_decision_t *decision)
{
    lac_clear_error();
    if (!plan) return lac_fail(LAC_ERR_NULL, "plan: is NULL");
    if (!decision) return lac_fail(LAC_ERR_NULL, "decision: is NULL");
    *decision = plan->decision;
    return LAC_OK;
}

void lac_plan_free(lac_plan_t *plan)
{
    free(plan);
}
