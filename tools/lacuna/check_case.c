/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem of the check, through every route and every entry point. */
#include "check_case.h"
#include "result_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static lac_status_t call_bare(lac_ctx_t *ctx, const operand_set_t *set)
{
    const ref_problem_t *p = &set->problem;
    const lac_obj_t *a = &set->a, *b = &set->b, *c = &set->c;
    if (p->op == REF_DGEMV)
        return lac_dgemv(ctx, a->trans, a->m, a->n, set->alpha, a->buf, a->rs, a->cs, b->buf, b->rs,
                         set->beta, c->buf, c->rs);
    if (p->op == REF_DGEMM)
        return lac_dgemm(ctx, a->trans, b->trans, p->m, p->n, p->k, set->alpha, a->buf, a->rs, a->cs, b->buf,
                         b->rs, b->cs, set->beta, c->buf, c->rs, c->cs);
    if (p->op == REF_SGEMV)
        return lac_sgemv(ctx, a->trans, a->m, a->n, p->alpha, a->buf, a->rs, a->cs, b->buf, b->rs, p->beta,
                         c->buf, c->rs);
    return lac_sgemm(ctx, a->trans, b->trans, p->m, p->n, p->k, p->alpha, a->buf, a->rs, a->cs, b->buf, b->rs,
                     b->cs, p->beta, c->buf, c->rs, c->cs);
}

static lac_status_t call_plan(lac_ctx_t *ctx, const operand_set_t *set, const char *route,
                              lac_decision_t *decision)
{
    lac_plan_t *plan;
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    lac_status_t status = lac_plan_create(ctx, &plan, &set->a, &set->b, &set->c, &call);
    if (status != LAC_OK) return status;
    status = lac_plan_run(plan, operand_set_alpha(set), &set->a, &set->b, operand_set_beta(set), &set->c);
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
    return lac_gemm_batched(ctx, parts, operand_set_alpha(set), &a, rows * (transposed ? a.cs : a.rs),
                            &set->b, 0, operand_set_beta(set), &c, rows * c.rs);
}

/* C := beta C + alpha A B of the set. route: NULL, or a name that ENTRY_EX and ENTRY_PLAN force. The decision
 * is left alone where the entry point does not report it. Queues only, on a device. */
static lac_status_t check_call(lac_ctx_t *ctx, const operand_set_t *set, entry_t entry, const char *route,
                               lac_decision_t *decision)
{
    lac_call_opts_t call = {.size = sizeof call, .route = route, .decision = decision};
    switch (entry) {
    case ENTRY_EX:
        return lac_gemm_ex(ctx, operand_set_alpha(set), &set->a, &set->b, operand_set_beta(set), &set->c,
                           &call);
    case ENTRY_BARE:
        return call_bare(ctx, set);
    case ENTRY_PLAN:
        return call_plan(ctx, set, route, decision);
    case ENTRY_BATCHED:
        return call_batched(ctx, set);
    }
    return LAC_ERR_VALUE;
}

/* One problem of the check. */

#define RAN_TEXT 64

/* One call's outcome. */
typedef struct outcome {
    lac_status_t status;
    uint64_t bits;           /* of C                                 */
    lac_decision_t decision; /* route is NULL where none is reported */
} outcome_t;

static bool has_special_values(const ref_problem_t *p)
{
    return p->a.pattern.values == REF_SPECIAL || p->b.pattern.values == REF_SPECIAL;
}

/* The product under one reading of 0 * Inf; NULL, with the reason in why, where there is none. */
static const ref_result_t *expected(check_run_t *run, unsigned nan, char *why, size_t size)
{
    ref_result_t *result = &run->oracle[has_special_values(&run->set.problem) ? nan : REF_STRICT];
    if (result->value) return result;
    if (run->device_oracle)
        return device_oracle(&run->set, run->options->ctx, result, why, size) ? result : NULL;
    ref_case_t before = run->set.data;
    before.c = run->set.c_before;
    if (ref_gemm_case(&run->set.problem, &before, nan, result)) return result;
    snprintf(why, size, "the oracle is out of memory");
    return NULL;
}

/* The operand whose zeros the setting guarantees not to be multiplied, as the manual says which it is. */
static unsigned guaranteed(const check_run_t *run)
{
    const ref_problem_t *p = &run->set.problem;
    bool a = p->a.dt == LAC_U8, b = p->b.dt == LAC_U8;
    if (run->options->skip != 'g') return run->options->skip == 'a' ? REF_SKIP_A : REF_SKIP_B;
    if (a == b) a = p->m <= p->n;
    return a ? REF_SKIP_A : REF_SKIP_B;
}

/* What a route may make of 0 * Inf: it drops the zeros of the side that it takes as sparse, and may drop
 * those of a W that has no buffer to hold them. An entry point that does not report its route may do as
 * any route does, and so may one whose zeros the device counts. */
static int readings(const check_run_t *run, const lac_decision_t *d, unsigned reading[4])
{
    const ref_problem_t *p = &run->set.problem;
    bool counted = d->route && d->break_even >= 0.0;
    bool reported = (d->route && !counted) || run->options->strict_nan || !has_special_values(p);
    bool left = d->side && strcmp(d->side, "left") == 0, right = d->side && strcmp(d->side, "right") == 0;
    reading[0] = REF_STRICT;
    if (run->options->skip && run->options->skip != 'f') {
        reading[0] = guaranteed(run);
        reading[1] = REF_SKIP_A | REF_SKIP_B;
        return (reading[0] == REF_SKIP_A ? p->b.only : p->a.only) ? 2 : 1;
    }
    if (reported && !run->options->strict_nan && (left || right)) {
        reading[0] = left ? REF_SKIP_A : REF_SKIP_B;
        reading[1] = REF_SKIP_A | REF_SKIP_B;
        return (left ? p->b.only : p->a.only) ? 2 : 1;
    }
    if (reported) return 1;
    reading[1] = REF_SKIP_A;
    reading[2] = REF_SKIP_B;
    return 3;
}

static outcome_t call_once(check_run_t *run, lac_ctx_t *ctx, entry_t entry, const char *route)
{
    outcome_t out = {0};
    operand_set_t *set = &run->set;
    out.status = operand_set_reset(set);
    if (out.status == LAC_OK)
        out.status =
            check_call(ctx, set, entry, strcmp(route, ROUTE_AUTO) == 0 ? NULL : route, &out.decision);
    if (out.status == LAC_OK && computes_on_device(ctx)) out.status = lac_device_wait(ctx);
    if (out.status == LAC_OK) out.status = operand_set_fetch(set);
    out.bits = ref_matrix_result_checksum(&set->data.c);
    return out;
}

/* C against the oracle, under the first reading that fits it. False with the reason in why. */
static bool compare_values(check_run_t *run, const outcome_t *out, check_line_t *line, char *why, size_t size)
{
    const ref_problem_t *p = &run->set.problem;
    unsigned reading[4];
    int count = readings(run, &out->decision, reading);
    double bound = ref_bound(p->k) + (run->device_oracle ? DEVICE_ORACLE_UNITS : 0.0);
    ref_report_t report = {0};
    for (int i = 0; i < count; i++) {
        const ref_result_t *want = expected(run, reading[i], why, size);
        if (!want) return false;
        if (ref_compare(&run->set.data.c, want, bound, &report)) break;
    }
    line->max_error = report.max_error;
    line->mean_error = report.mean_error;
    if (!report.ok) ref_report_print(&report, why, size);
    return report.ok;
}

static bool inputs_intact(const check_run_t *run)
{
    return ref_matrix_checksum(&run->set.data.a) == run->sum_a &&
           ref_matrix_checksum(&run->set.data.b) == run->sum_b;
}

/* The values of C, its surroundings, A and B (on a device those are compared once, at the end). False with
 * the reason in why. */
static bool compare(check_run_t *run, const outcome_t *out, check_line_t *line, char *why, size_t size)
{
    operand_set_t *set = &run->set;
    int64_t where;
    if (!compare_values(run, out, line, why, size)) return false;
    if (!ref_matrix_padding_intact(&set->data.c, &where)) {
        snprintf(why, size, "wrote outside C, %lld elements from its first", (long long)where);
        return false;
    }
    if (set->copy_c.memory || inputs_intact(run)) return true;
    snprintf(why, size, "changed A or B");
    return false;
}

/* cuSPARSE promises neither its bits nor what becomes of an infinity, and so serves by name only. */
static bool keeps_promises(const char *route)
{
    return strcmp(route, "cusparse") != 0;
}

static bool same_decision(const outcome_t *x, const outcome_t *y)
{
    const lac_decision_t *d = &x->decision, *e = &y->decision;
    if (!d->route || !e->route) return false;
    return strcmp(d->route, e->route) == 0 && strcmp(d->side, e->side) == 0 && d->density == e->density;
}

/* By the same decision the result is the same bits each time and with any number of threads. The dispatcher
 * may choose another route as it learns, and a device's kernel is cut by the density that the samples speak
 * of: that result has to be right, in bits of its own. */
static bool repeat(check_run_t *run, lac_ctx_t *ctx, entry_t entry, const char *route, const outcome_t *first,
                   char *why, size_t size)
{
    bool other = ctx == run->options->one;
    const char *what = !other                   ? "a further run"
                       : run->set.copy_c.memory ? "a run on another stream"
                                                : "a run with one thread";
    outcome_t again = call_once(run, ctx, entry, route);
    if (again.status != LAC_OK) {
        snprintf(why, size, "%s failed: %s", what, lac_last_error());
        return false;
    }
    if (again.bits == first->bits) return true;
    check_line_t line;
    if (!same_decision(first, &again)) return compare(run, &again, &line, why, size);
    snprintf(why, size, "%s gave other bits", what);
    return false;
}

/* A sparse route reports the density that it counted; what a device counts the host does not know. False with
 * the reason in why. */
static bool reports_density(const check_run_t *run, const lac_call_opts_t *call, char *why, size_t size)
{
    const char *side = call->decision->side;
    const ref_matrix_t *s = *side == 'l' ? &run->set.data.a : &run->set.data.b;
    double nonzeros = (double)ref_matrix_nonzeros(s), elements = (double)s->m * (double)s->n;
    if (!*side || (call->density < 0.0 && computes_on_device(run->options->ctx))) return true;
    if (fabs(call->density * elements - nonzeros) < 0.5) return true;
    snprintf(why, size, "%s: reports the density %.9g of %.0f nonzeros among %.0f", side, call->density,
             nonzeros, elements);
    return false;
}

/* And where it counts more than the caller's limit, it gives up before it writes C. */
static bool keeps_limit(check_run_t *run, const lac_call_opts_t *call, char *why, size_t size)
{
    if (!call->declined && *call->decision->side && call->density > call->density_limit)
        snprintf(why, size, "%s: goes on with density %.9g beyond the limit %.9g", call->decision->side,
                 call->density, call->density_limit);
    else if (call->declined &&
             ref_matrix_result_checksum(&run->set.data.c) != ref_matrix_result_checksum(&run->set.c_before))
        snprintf(why, size, "gave up beyond the limit of its density, and has written C");
    else
        return true;
    return false;
}

/* Made once without a limit, then with one below the density. */
static check_status_t judge_contract(check_run_t *run, const char *route, char *why, size_t size)
{
    operand_set_t *set = &run->set;
    lac_decision_t decision;
    lac_call_opts_t call = {.size = sizeof call, .route = route, .decision = &decision};
    for (int limited = 0; limited < 2; limited++) {
        lac_status_t status = operand_set_reset(set);
        if (status == LAC_OK)
            status = lac_gemm_ex(run->options->ctx, operand_set_alpha(set), &set->a, &set->b,
                                 operand_set_beta(set), &set->c, &call);
        if (status == LAC_OK) status = operand_set_fetch(set);
        if (status != LAC_OK) {
            snprintf(why, size, "with a limit: %s: %s", lac_status_text(status), lac_last_error());
            return CHECK_FAILED;
        }
        if (!call.declined && !reports_density(run, &call, why, size)) return CHECK_FAILED;
        if (limited && !keeps_limit(run, &call, why, size)) return CHECK_FAILED;
        if (call.density <= 0.0) return CHECK_PASSED;
        call.density_limit = 0.5 * call.density;
        call.may_decline = 1;
    }
    return CHECK_PASSED;
}

static check_status_t judge(check_run_t *run, entry_t entry, const char *route, check_line_t *line, char *ran,
                            char *why, size_t size)
{
    const check_options_t *options = run->options;
    outcome_t first = call_once(run, options->ctx, entry, route);
    const lac_decision_t *d = &first.decision;
    if (first.status != LAC_OK) {
        snprintf(why, size, "%s: %s", lac_status_text(first.status), lac_last_error());
        return CHECK_FAILED;
    }
    if (d->route) snprintf(ran, RAN_TEXT, "%s%s%s", d->route, *d->side ? " " : "", d->side);
    if (!compare(run, &first, line, why, size)) return CHECK_FAILED;
    if (strcmp(route, ROUTE_AUTO) != 0 && !route_obeyed(d, route)) {
        snprintf(why, size, "%s ran instead: %s", d->route, d->reason);
        return CHECK_REFUSED;
    }
    if (!keeps_promises(route)) return CHECK_PASSED;
    bool same = repeat(run, options->one, entry, route, &first, why, size);
    for (int i = 1; same && i < options->runs; i++)
        same = repeat(run, options->ctx, entry, route, &first, why, size);
    if (same && entry == ENTRY_EX && strcmp(route, ROUTE_AUTO) != 0 && *first.decision.side)
        return judge_contract(run, route, why, size);
    return same ? CHECK_PASSED : CHECK_FAILED;
}

static const char *oracle_name(const check_run_t *run)
{
    return run->device_oracle
               ? "the device's route reference"
               : (run->set.problem.c.dt == LAC_F64 ? "a product in long double" : "a product in double");
}

static void check_entry(check_run_t *run, entry_t entry, const char *route, const char *name)
{
    char why[512] = "", ran[RAN_TEXT] = "";
    check_line_t line = {.problem = run->set.text, .route = name, .ran = ran, .why = why};
    line.oracle = oracle_name(run);
    line.status = judge(run, entry, route, &line, ran, why, sizeof why);
    run->report(run->arg, &line);
}

static void check_route(check_run_t *run, const char *route)
{
    route_verdict_t verdict;
    bool promised = keeps_promises(route) || !has_special_values(&run->set.problem);
    route_ask(&verdict, run->options->ctx, &run->set, route);
    check_line_t line = {.problem = run->set.text, .route = route, .ran = "", .why = verdict.why};
    line.oracle = oracle_name(run);
    line.status = verdict.status == LAC_OK ? CHECK_REFUSED : CHECK_FAILED;
    if (verdict.status == LAC_OK && verdict.applies && !promised)
        line.why = "of Inf and NaN nothing is promised";
    if (verdict.status == LAC_OK && verdict.applies && promised)
        check_entry(run, ENTRY_EX, route, route);
    else
        run->report(run->arg, &line);
}

static void check_entry_points(check_run_t *run)
{
    const ref_problem_t *p = &run->set.problem;
    bool half = p->op >= REF_HGEMM,
         bare = !half && p->a.dt == p->c.dt && p->b.dt == p->c.dt && !p->a.only && !p->b.only;
    static const char *const bare_names[] = {"lac_sgemm", "lac_sgemv", "lac_dgemm", "lac_dgemv"};
    if (bare) check_entry(run, ENTRY_BARE, ROUTE_AUTO, bare_names[p->op]);
    check_entry(run, ENTRY_PLAN, ROUTE_AUTO, "lac_plan_run");
    if (run->set.a.buf && !has_special_values(p))
        check_entry(run, ENTRY_BATCHED, ROUTE_AUTO, "lac_gemm_batched");
}

/* What a route did to A or B shows in their bits on the device. */
static void check_inputs(check_run_t *run)
{
    check_line_t line = {.problem = run->set.text, .route = "(A and B)", .ran = "", .why = ""};
    line.oracle = oracle_name(run);
    line.status = CHECK_FAILED;
    if (operand_set_fetch_inputs(&run->set) != LAC_OK)
        line.why = lac_last_error();
    else if (!inputs_intact(run))
        line.why = "a route changed A or B";
    else
        return;
    run->report(run->arg, &line);
}

static void forget_oracle(check_run_t *run)
{
    for (int i = 0; i < 4; i++) ref_result_free(&run->oracle[i]);
    run->sum_a = ref_matrix_checksum(&run->set.data.a);
    run->sum_b = ref_matrix_checksum(&run->set.data.b);
}

static void check_generation(check_run_t *run, lac_status_t status, const char *name)
{
    check_line_t line = {.problem = run->set.text, .route = name, .ran = "", .status = CHECK_FAILED};
    line.oracle = oracle_name(run);
    line.why = lac_last_error();
    if (status == LAC_OK)
        check_entry(run, ENTRY_EX, ROUTE_AUTO, name);
    else
        run->report(run->arg, &line);
}

/* What was known of a buffer must not outlive its contents, and what is measured of the new ones must hold.
 */
static void check_generations(check_run_t *run)
{
    const operand_set_t *set = &run->set;
    if (!(set->a.meta && set->a.buf) && !(set->b.meta && set->b.buf)) return;
    lac_status_t status = operand_set_renew(&run->set);
    forget_oracle(run);
    check_generation(run, status, "(touched)");
    check_generation(run, operand_set_scan(&run->set), "(scanned)");
}

int check_case_make(check_run_t *run, const ref_problem_t *problem, const check_options_t *options,
                    check_line_fn report, void *arg, const char *command)
{
    char error[2 * REF_PROBLEM_TEXT];
    *run = (check_run_t){.options = options, .report = report, .arg = arg};
    if (!operand_set_make(&run->set, problem, options->ctx, error, sizeof error)) {
        complain(command, "%s", error);
        return EXIT_UNAVAILABLE;
    }
    run->device_oracle = device_oracle_serves(&run->set);
    forget_oracle(run);
    return EXIT_OK;
}

void check_case_products(check_run_t *run)
{
    const route_set_t *routes = &run->options->routes;
    for (int i = 0; i < routes->count; i++) check_route(run, routes->name[i]);
    if (route_set_has(routes, ROUTE_AUTO)) check_entry_points(run);
}

void check_case_contents(check_run_t *run)
{
    if (run->set.copy_c.memory) check_inputs(run);
    if (route_set_has(&run->options->routes, ROUTE_AUTO)) check_generations(run);
}

void check_case_free(check_run_t *run)
{
    for (int i = 0; i < 4; i++) ref_result_free(&run->oracle[i]);
    operand_set_free(&run->set);
}

int check_case_run(const ref_problem_t *problem, const check_options_t *options, check_line_fn report,
                   void *arg, const char *command)
{
    check_run_t run;
    int code = check_case_make(&run, problem, options, report, arg, command);
    if (code != EXIT_OK) return code;
    check_case_products(&run);
    check_case_contents(&run);
    check_case_free(&run);
    return EXIT_OK;
}
