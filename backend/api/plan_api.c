/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Plans: a decision kept, to be run again. */
#include "entry.h"
#include "../base/status.h"
#include "../dispatch/dispatch.h"

#include <stdlib.h>
#include <string.h>

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
    lac_status_t status = lac_read_call(call, &settings, &request.route);
    if (!status) status = lac_describe_call(ctx, NULL, a, b, NULL, c, &p);
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
    return x->m == y->m && x->n == y->n && x->k == y->k && x->crs == y->crs && x->ccs == y->ccs &&
           same_operand(&x->a, &y->a) && same_operand(&x->b, &y->b);
}

lac_status_t lac_plan_run(lac_plan_t *plan, const float *alpha, const lac_obj_t *a, const lac_obj_t *b,
                          const float *beta, const lac_obj_t *c)
{
    lac_problem_t p;
    lac_clear_error();
    if (!plan) return lac_fail(LAC_ERR_NULL, "plan: is NULL");
    lac_status_t status = lac_describe_call_at(plan->ctx, plan->scalars, alpha, a, b, beta, c, &p);
    if (status) return status;
    if (!same_shape(&p, &plan->shape))
        return lac_fail(LAC_ERR_EXTENT, "a, b, c: extents, strides or types differ from the plan's");
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
