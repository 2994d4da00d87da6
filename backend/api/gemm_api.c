/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lac_gemm and its kin: check, describe, dispatch. */
#include "entry.h"
#include "../base/status.h"
#include "../data/check.h"

#include <string.h>

static lac_status_t check_buffer(const lac_ctx_t *ctx, const char *name, const lac_obj_t *obj)
{
    return obj->buf && ctx->backend->check ? ctx->backend->check(ctx->exec, name, obj->buf) : LAC_OK;
}

static lac_status_t check_scalar(const lac_ctx_t *ctx, const char *name, const float *scalar)
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

static lac_status_t check_scalars(const lac_ctx_t *ctx, lac_space_t space, const float *alpha,
                                  const float *beta)
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
    if ((status = lac_check_operand("a", a, false, ctx->backend->space))) return status;
    if ((status = lac_check_operand("b", b, false, ctx->backend->space))) return status;
    if ((status = lac_check_operand("c", c, true, ctx->backend->space))) return status;
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

lac_status_t lac_describe_call_at(lac_ctx_t *ctx, lac_space_t scalars, const float *alpha, const lac_obj_t *a,
                                  const lac_obj_t *b, const float *beta, const lac_obj_t *c, lac_problem_t *p)
{
    lac_status_t status;
    lac_clear_error();
    if (!ctx) return lac_fail(LAC_ERR_NULL, "ctx: is NULL");
    if ((status = check_scalars(ctx, scalars, alpha, beta))) return status;
    if ((status = check_views(ctx, a, b, c))) return status;
    if ((status = check_buffer(ctx, "a", a))) return status;
    if ((status = check_buffer(ctx, "b", b))) return status;
    if ((status = check_buffer(ctx, "c", c))) return status;
    if (scalars == LAC_DEVICE) {
        lac_problem_describe(p, 1.0f, a, b, 1.0f, c);
        p->alpha_at = alpha;
        p->beta_at = beta;
    } else {
        lac_problem_describe(p, alpha ? *alpha : 1.0f, a, b, beta ? *beta : 0.0f, c);
    }
    return LAC_OK;
}

lac_status_t lac_describe_call(lac_ctx_t *ctx, const float *alpha, const lac_obj_t *a, const lac_obj_t *b,
                               const float *beta, const lac_obj_t *c, lac_problem_t *p)
{
    return lac_describe_call_at(ctx, LAC_HOST, alpha, a, b, beta, c, p);
}

lac_status_t lac_read_call(const lac_call_opts_t *call, lac_call_opts_t *copy, const char **route)
{
    bool accepted = true;
    *copy = (lac_call_opts_t){0};
    *route = NULL;
    if (!call) return LAC_OK;
    if (call->size < offsetof(lac_call_opts_t, route) + sizeof call->route)
        return lac_fail(LAC_ERR_VALUE, "call.size: is %zu; set it to sizeof(lac_call_opts_t)", call->size);
    /* Half a pointer is none: an older, smaller structure ends between members. */
    size_t size = call->size / sizeof(void *) * sizeof(void *);
    memcpy(copy, call, size < sizeof *copy ? size : sizeof *copy);
    if (copy->route) *route = lac_policy_backend(copy->route, &accepted);
    if (!accepted) return lac_fail(LAC_ERR_VALUE, "call.route: '%.64s' is no backend", copy->route);
    return LAC_OK;
}

lac_status_t lac_run_call(lac_ctx_t *ctx, lac_problem_t *p, const lac_call_opts_t *settings,
                          lac_request_t *request, lac_call_opts_t *call)
{
    request->symbol = settings->symbol ? settings->symbol : "lac_gemm";
    request->decision = settings->decision;
    request->caller = settings->caller;
    request->may_decline = settings->may_decline;
    int token = lac_enter(ctx);
    lac_status_t status = lac_dispatch(ctx, p, request);
    lac_leave(ctx, token);
    if (call && call->size >= offsetof(lac_call_opts_t, declined) + sizeof call->declined)
        call->declined = request->declined;
    return status;
}

lac_status_t lac_gemm_ex(lac_ctx_t *ctx, const float *alpha, const lac_obj_t *a, const lac_obj_t *b,
                         const float *beta, const lac_obj_t *c, lac_call_opts_t *call)
{
    lac_problem_t p;
    lac_call_opts_t settings;
    lac_request_t request = {0};
    lac_status_t status = lac_read_call(call, &settings, &request.route);
    if (!status) status = lac_describe_call_at(ctx, settings.scalars, alpha, a, b, beta, c, &p);
    return status ? status : lac_run_call(ctx, &p, &settings, &request, call);
}

lac_status_t lac_gemm(lac_ctx_t *ctx, const float *alpha, const lac_obj_t *a, const lac_obj_t *b,
                      const float *beta, const lac_obj_t *c)
{
    return lac_gemm_ex(ctx, alpha, a, b, beta, c, NULL);
}

lac_status_t lac_explain(lac_ctx_t *ctx, const float *alpha, const lac_obj_t *a, const lac_obj_t *b,
                         const float *beta, const lac_obj_t *c, lac_call_opts_t *call,
                         lac_decision_t *decision)
{
    lac_problem_t p;
    lac_call_opts_t settings;
    lac_request_t request = {.symbol = "lac_explain"};
    lac_status_t status = lac_read_call(call, &settings, &request.route);
    if (!status) status = lac_describe_call_at(ctx, settings.scalars, alpha, a, b, beta, c, &p);
    if (status) return status;
    if (!decision) return lac_fail(LAC_ERR_NULL, "decision: is NULL");
    request.caller = settings.caller;
    int token = lac_enter(ctx);
    lac_dispatch_explain(ctx, &p, &request, decision);
    lac_leave(ctx, token);
    return LAC_OK;
}

static lac_obj_t f32_matrix(const lac_ctx_t *ctx, lac_trans_t trans, lac_dim_t rows, lac_dim_t cols,
                            const float *buf, lac_inc_t rs, lac_inc_t cs)
{
    bool swapped = trans == LAC_TRANS;
    lac_space_t space = ctx ? ctx->backend->space : LAC_HOST;
    lac_obj_t x = {LAC_F32, space, trans, swapped ? cols : rows, swapped ? rows : cols, rs, cs, NULL, NULL};
    memcpy(&x.buf, &buf, sizeof buf); /* an input of the call: never written through */
    return x;
}

lac_status_t lac_sgemm(lac_ctx_t *ctx, lac_trans_t ta, lac_trans_t tb, lac_dim_t m, lac_dim_t n, lac_dim_t k,
                       float alpha, const float *a, lac_inc_t rsa, lac_inc_t csa, const float *b,
                       lac_inc_t rsb, lac_inc_t csb, float beta, float *c, lac_inc_t rsc, lac_inc_t csc)
{
    lac_obj_t oa = f32_matrix(ctx, ta, m, k, a, rsa, csa), ob = f32_matrix(ctx, tb, k, n, b, rsb, csb);
    lac_obj_t oc = f32_matrix(ctx, LAC_NO_TRANS, m, n, c, rsc, csc);
    return lac_gemm(ctx, &alpha, &oa, &ob, &beta, &oc);
}

/* BLAS counts a vector with a negative increment from its far end. One that no memory holds is refused later.
 */
static const float *first_of(const float *x, lac_dim_t count, lac_inc_t inc)
{
    int64_t back;
    bool behind = x && inc < 0 && count > 0 && !__builtin_mul_overflow(1 - count, inc, &back) &&
                  back < PTRDIFF_MAX / (int64_t)sizeof *x;
    return behind ? x + back : x;
}

lac_status_t lac_sgemv(lac_ctx_t *ctx, lac_trans_t ta, lac_dim_t m, lac_dim_t n, float alpha, const float *a,
                       lac_inc_t rsa, lac_inc_t csa, const float *x, lac_inc_t incx, float beta, float *y,
                       lac_inc_t incy)
{
    bool swapped = ta == LAC_TRANS;
    lac_dim_t rows = swapped ? n : m, cols = swapped ? m : n;
    lac_obj_t oa = f32_matrix(ctx, ta, rows, cols, a, rsa, csa);
    lac_obj_t ox = f32_matrix(ctx, LAC_NO_TRANS, cols, 1, first_of(x, cols, incx), incx, 1);
    lac_obj_t oy = f32_matrix(ctx, LAC_NO_TRANS, rows, 1, first_of(y, rows, incy), incy, 1);
    return lac_gemm(ctx, &alpha, &oa, &ox, &beta, &oy);
}
