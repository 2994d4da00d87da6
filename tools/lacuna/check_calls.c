/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The entry points that the check goes through. */
#include "check_calls.h"

static lac_status_t call_bare(lac_ctx_t *ctx, const operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    const lac_obj_t *a = &set->a, *b = &set->b, *c = &set->c;
    const float *x = a->buf, *y = b->buf;
    if (p->op == REF_SGEMV)
        return lac_sgemv(ctx, a->trans, a->m, a->n, p->alpha, x, a->rs, a->cs, y, b->rs, p->beta, c->buf,
                         c->rs);
    return lac_sgemm(ctx, a->trans, b->trans, p->m, p->n, p->k, p->alpha, x, a->rs, a->cs, y, b->rs, b->cs,
                     p->beta, c->buf, c->rs, c->cs);
}

static lac_status_t call_plan(lac_ctx_t *ctx, const operand_set_t *set, const char *route,
                              lac_decision_t *decision)
{
    lac_plan_t *plan;
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    lac_status_t status = lac_plan_create(ctx, &plan, &set->a, &set->b, &set->c, &call);
    if (status != LAC_OK) return status;
    status = lac_plan_run(plan, &set->problem.alpha, &set->a, &set->b, &set->problem.beta, &set->c);
    if (status == LAC_OK) status = lac_plan_explain(plan, decision);
    lac_plan_free(plan);
    return status;
}

/* Rows of op(A) and of C in equal parts, with one B for all. */
static lac_status_t call_batched(lac_ctx_t *ctx, const operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    lac_obj_t a = set->a, c = set->c;
    lac_dim_t parts = p->m % 3 == 0 ? 3 : p->m % 2 == 0 ? 2 : 1, rows = p->m / parts;
    bool transposed = a.trans != LAC_NO_TRANS;
    *(transposed ? &a.n : &a.m) = rows;
    c.m = rows;
    a.meta = NULL; /* of all rows */
    return lac_gemm_batched(ctx, parts, &p->alpha, &a, rows * (transposed ? a.cs : a.rs), &set->b, 0,
                            &p->beta, &c, rows * c.rs);
}

lac_status_t check_call(lac_ctx_t *ctx, const operand_set_t *set, entry_t entry, const char *route,
                        lac_decision_t *decision)
{
    const ref_problem_t *p = &set->problem;
    lac_call_opts_t call = {.size = sizeof call, .route = route, .decision = decision};
    switch (entry) {
    case ENTRY_EX:
        return lac_gemm_ex(ctx, &p->alpha, &set->a, &set->b, &p->beta, &set->c, &call);
    case ENTRY_BARE:
        return call_bare(ctx, set);
    case ENTRY_PLAN:
        return call_plan(ctx, set, route, decision);
    case ENTRY_BATCHED:
        return call_batched(ctx, set);
    }
    return LAC_ERR_VALUE;
}
