/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Plans on the device, scalars of every kind, the decision that is reported, and memory that stops growing.
 */
#include "gpu_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const problems[] = {"sgemm:NN:10x700x300:A=bern0.02:beta=1:C=dense:s4",
                                       "sgemm:NT:10x700x300:A=bern0.02:frozenB=1:s8",
                                       "sgemm:TN:300x700x10:B=bern0.02:layC=col+1:s9",
                                       "sgemm:NN:9x700x300:A=bern0.02:metaA=csr:s12",
                                       "sgemm:NN:300x700x9:A=bern0.4:frozenA=1:metaA=density:s13",
                                       "sgemm:NN:200x300x200:A=bern0.2:layA=rowx2:layC=rowx3:s16"};

static lac_plan_t *plan_for(gpu_case_t *x, const char *route)
{
    lac_plan_t *plan = NULL;
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    gpu_expect(lac_plan_create(x->ctx, &plan, &x->a, &x->b, &x->c, &call), LAC_OK, x->text);
    return plan;
}

static bool run(gpu_case_t *x, lac_plan_t *plan)
{
    lac_decision_t decision;
    gpu_case_reset(x);
    return gpu_expect(lac_plan_explain(plan, &decision), LAC_OK, "explain") &&
           gpu_expect(lac_plan_run(plan, &x->problem.alpha, &x->a, &x->b, &x->problem.beta, &x->c), LAC_OK,
                      x->text) &&
           gpu_case_check(x, &decision, false);
}

/* One plan for every pair of scalars. A beta of 0 finds poison in C. */
static void test_scalars(lac_ctx_t *ctx)
{
    static const float alphas[] = {1.0f, 0.0f, -0.5f}, betas[] = {0.0f, 1.0f, 2.25f};
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, routes);
    for (size_t p = 0; p < GPU_COUNT(problems); p += gpu_quick() ? 2 : 1)
        for (int r = 0; r < count; r++) {
            gpu_case_t x;
            lac_plan_t *plan = NULL;
            if (gpu_case_make(&x, ctx, problems[p]) && (!r || gpu_case_takes(&x, routes[r])) &&
                (plan = plan_for(&x, routes[r])))
                for (size_t i = 0; i < GPU_COUNT(alphas); i++)
                    for (size_t j = 0; j < GPU_COUNT(betas); j++) {
                        char text[REF_PROBLEM_TEXT];
                        x.problem.alpha = alphas[i];
                        x.problem.beta = betas[j];
                        ref_problem_print(&x.problem, text, sizeof text);
                        if (!gpu_case_change(&x, text) || !run(&x, plan)) break;
                    }
            lac_plan_free(plan);
            gpu_case_free(&x);
        }
}

/* Absent scalars are alpha = 1 and beta = 0. */
static void test_absent_scalars(lac_ctx_t *ctx)
{
    gpu_case_t x;
    if (gpu_case_make(&x, ctx, "sgemm:NN:10x700x300:A=bern0.02:s4") &&
        gpu_expect(lac_gemm(ctx, NULL, &x.a, &x.b, NULL, &x.c), LAC_OK, x.text))
        gpu_case_check(&x, NULL, false);
    gpu_case_free(&x);
}

/* alpha = 0 reads neither operand: both are full of NaN. */
static void test_nothing_is_read(lac_ctx_t *ctx)
{
    gpu_case_t x;
    float alpha = 0.0f, beta = 2.0f;
    if (gpu_case_make(&x, ctx,
                      "sgemm:NN:33x70x31:A=dense/x:B=dense/x:C=dense:beta=2:alpha=0:layC=rowx2:s4") &&
        gpu_expect(lac_gemm(ctx, &alpha, &x.a, &x.b, &beta, &x.c), LAC_OK, x.text))
        gpu_case_check(&x, NULL, false);
    gpu_case_free(&x);
}

/* A plan is for one shape; where its route is no longer legal, another serves. */
static void test_other_operands(lac_ctx_t *ctx)
{
    gpu_case_t x;
    lac_plan_t *plan = NULL;
    lac_decision_t decision;
    if (gpu_case_make(&x, ctx, "sgemm:NN:9x700x300:A=bern0.02:metaA=csr:onlyA=1:s4") &&
        (plan = plan_for(&x, NULL))) {
        lac_obj_t c = x.c, a = x.a;
        run(&x, plan);
        c.cs = 2;
        c.rs = 601;
        gpu_expect_error(lac_plan_run(plan, NULL, &x.a, &x.b, NULL, &c), LAC_ERR_EXTENT, "differ", "strides");
        gpu_expect_error(lac_plan_run(NULL, NULL, &x.a, &x.b, NULL, &x.c), LAC_ERR_NULL, "plan", "no plan");
        gpu_expect_error(lac_plan_explain(plan, NULL), LAC_ERR_NULL, "decision", "explain");
        x.a.meta = NULL; /* the same operand as a buffer of which nothing is known */
        x.a.buf = x.know_a.memory;
        run(&x, plan);
        x.a = a;
    }
    gpu_expect(lac_plan_explain(plan, &decision), LAC_OK, "explain");
    lac_plan_free(plan);
    lac_plan_free(NULL);
    gpu_case_free(&x);
}

/* What is reported of a decision: the chosen route is among the candidates, and each has a cost or a refusal.
 */
static void test_reported_decision(lac_ctx_t *ctx)
{
    for (size_t p = 0; p < GPU_COUNT(problems); p++) {
        gpu_case_t x;
        lac_decision_t d;
        bool chosen = false;
        if (gpu_case_make(&x, ctx, problems[p]) &&
            gpu_expect(gpu_case_run(&x, NULL, &d), LAC_OK, problems[p])) {
            for (int i = 0; i < d.count; i++) {
                const lac_candidate_t *line = &d.candidate[i];
                chosen |= !strcmp(line->route, d.route) && !strcmp(line->side, d.side) && !line->refusal;
                if (!line->refusal == !(line->cost_us >= 0.0) || !isfinite(line->cost_us))
                    gpu_fail("%s: %s: cost %g, refusal %s", x.text, line->route, line->cost_us,
                             line->refusal ? line->refusal : "none");
            }
            if (!chosen || !d.reason[0]) gpu_fail("%s: %s is no candidate that fits", x.text, d.route);
            gpu_case_check(&x, &d, false);
        }
        gpu_case_free(&x);
    }
}

static void run_some(gpu_case_t *x, int times)
{
    for (int i = 0; i < times; i++) {
        gpu_expect(gpu_case_run(x, NULL, NULL), LAC_OK, x->text);
        gpu_expect(gpu_case_run(x, "event", NULL), LAC_OK, x->text);
        gpu_expect(gpu_case_run(x, "cublas", NULL), LAC_OK, x->text);
    }
}

/* Once the site knows its density, the context and the metadata hold what they will hold. */
static void test_memory_stays(lac_ctx_t *ctx)
{
    for (size_t p = 0; p < GPU_COUNT(problems); p++) {
        gpu_case_t x;
        if (gpu_case_make(&x, ctx, problems[p])) {
            run_some(&x, 3);
            gpu_expect(lac_device_wait(ctx), LAC_OK, "wait"); /* a sample that is under way arrives */
            run_some(&x, 1);
            size_t bytes = lac_ctx_bytes(ctx), known = lac_meta_bytes(x.know_b.meta);
            run_some(&x, 20);
            if (lac_ctx_bytes(ctx) != bytes || lac_meta_bytes(x.know_b.meta) != known)
                gpu_fail("%s: memory grew from %zu + %zu to %zu + %zu", x.text, bytes, known,
                         lac_ctx_bytes(ctx), lac_meta_bytes(x.know_b.meta));
        }
        gpu_case_free(&x);
    }
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_scalars),           GPU_TEST(test_absent_scalars),
                                       GPU_TEST(test_nothing_is_read),   GPU_TEST(test_other_operands),
                                       GPU_TEST(test_reported_decision), GPU_TEST(test_memory_stays)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
