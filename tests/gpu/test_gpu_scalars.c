/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Scalars on the device: by every route, zeros and NaN among them, from plans, and changed between two
 * replays of one recording. */
#include "gpu_case.h"

#include <math.h>
#include <string.h>

static const char *const problems[] = {"sgemm:NN:10x700x300:A=bern0.02:C=dense:s4",
                                       "sgemm:NT:10x700x300:A=bern0.02:C=dense:frozenB=1:s8",
                                       "sgemm:TN:300x700x10:B=bern0.02:C=dense:layC=col+1:s9",
                                       "sgemm:NN:9x700x300:A=bern0.02:C=dense:metaA=csr:s12",
                                       "sgemm:NN:300x700x9:A=bern0.4:C=dense:frozenA=1:metaA=density:s13",
                                       "sgemm:NN:200x300x200:A=bern0.2:C=dense:layA=rowx2:layC=rowx3:s16",
                                       "sgemm:NN:7x0x9:C=dense:s17"};

/* One case with its two scalars beside it. */
typedef struct scalars {
    gpu_case_t x;
    float *there; /* alpha, beta */
    const char *route;
    lac_plan_t *plan; /* or NULL */
    lac_decision_t decision;
} scalars_t;

static bool make(scalars_t *s, lac_ctx_t *ctx, const char *text)
{
    const float unset[2] = {NAN, NAN};
    *s = (scalars_t){.route = NULL};
    if (!gpu_case_make(&s->x, ctx, text)) return false;
    s->there = gpu_upload(ctx, unset, sizeof unset);
    return s->there != NULL;
}

static void drop(scalars_t *s)
{
    lac_plan_free(s->plan);
    lac_device_free(s->x.ctx, s->there);
    gpu_case_free(&s->x);
}

static lac_status_t call(void *arg)
{
    scalars_t *s = arg;
    gpu_case_t *x = &s->x;
    lac_call_opts_t settings = {
        .size = sizeof settings, .route = s->route, .decision = &s->decision, .scalars = LAC_DEVICE};
    if (s->plan) return lac_plan_run(s->plan, s->there, &x->a, &x->b, s->there + 1, &x->c);
    return lac_gemm_ex(x->ctx, s->there, &x->a, &x->b, s->there + 1, &x->c, &settings);
}

/* The scalars that the next call finds, and a C that goes with them: beta = 0 finds poison. */
static bool prepare(scalars_t *s, float alpha, float beta)
{
    const float both[2] = {alpha, beta};
    char text[REF_PROBLEM_TEXT];
    s->x.problem.alpha = alpha;
    s->x.problem.beta = beta;
    ref_problem_print(&s->x.problem, text, sizeof text);
    return gpu_expect(lac_device_upload(s->x.ctx, s->there, both, sizeof both), LAC_OK, "scalars") &&
           gpu_case_change(&s->x, text);
}

static const float alphas[] = {1.0f, 0.0f, -0.5f}, betas[] = {0.0f, 1.0f, 2.25f};

static void each_pair(scalars_t *s, lac_status_t (*run)(void *), void *arg)
{
    for (size_t i = 0; i < GPU_COUNT(alphas); i++)
        for (size_t j = 0; j < GPU_COUNT(betas); j++) {
            prepare(s, alphas[i], betas[j]);
            if (!gpu_expect(run(arg), LAC_OK, s->x.text) || !gpu_case_check(&s->x, &s->decision, false))
                return;
        }
}

static void test_by_every_route(lac_ctx_t *ctx)
{
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, routes);
    for (size_t p = 0; p < GPU_COUNT(problems); p++)
        for (int r = 0; r < count; r++) {
            scalars_t s;
            if (make(&s, ctx, problems[p])) {
                s.route = routes[r];
                each_pair(&s, call, &s);
            }
            drop(&s);
        }
}

static void test_by_plans(lac_ctx_t *ctx)
{
    for (size_t p = 0; p < GPU_COUNT(problems); p++) {
        scalars_t s;
        lac_call_opts_t settings = {.size = sizeof settings, .scalars = LAC_DEVICE};
        if (make(&s, ctx, problems[p]) &&
            gpu_expect(lac_plan_create(ctx, &s.plan, &s.x.a, &s.x.b, &s.x.c, &settings), LAC_OK,
                       problems[p]) &&
            gpu_expect(lac_plan_explain(s.plan, &s.decision), LAC_OK, problems[p]))
            each_pair(&s, call, &s);
        drop(&s);
    }
}

static lac_status_t replay(void *recording)
{
    return lac_graph_launch(recording, 1, NULL);
}

/* The recording takes what the scalars hold when it is replayed. */
static void test_changed_between_replays(lac_ctx_t *ctx)
{
    static const char *const routes[] = {"event", "cublas", "native"};
    for (size_t r = 0; r < GPU_COUNT(routes); r++) {
        scalars_t s;
        lac_graph_t *recording = NULL;
        if (make(&s, ctx, problems[0])) {
            s.route = routes[r];
            if (prepare(&s, 3.0f, 0.0f) && gpu_expect(call(&s), LAC_OK, s.x.text) &&
                gpu_expect(lac_graph_capture(ctx, call, &s, 1, &recording), LAC_OK, s.x.text))
                each_pair(&s, replay, recording);
        }
        lac_graph_free(recording);
        drop(&s);
    }
}

/* alpha = 0 reads neither operand, on the device too. */
static void test_nothing_is_read(lac_ctx_t *ctx)
{
    static const char *const routes[] = {NULL, "event", "cublas", "native"};
    for (size_t r = 0; r < GPU_COUNT(routes); r++) {
        scalars_t s;
        if (make(&s, ctx, "sgemm:NN:33x70x31:A=dense/x:B=dense/x:C=dense:s4")) {
            s.route = routes[r];
            if (prepare(&s, 0.0f, 2.0f) && gpu_expect(call(&s), LAC_OK, s.x.text))
                gpu_case_check(&s.x, NULL, false);
        }
        drop(&s);
    }
}

static void test_mistakes(lac_ctx_t *ctx)
{
    scalars_t s;
    float here = 1.0f;
    lac_call_opts_t settings = {.size = sizeof settings, .scalars = LAC_DEVICE};
    if (make(&s, ctx, problems[0])) {
        gpu_case_t *x = &s.x;
        gpu_expect_error(lac_gemm_ex(ctx, NULL, &x->a, &x->b, s.there, &x->c, &settings), LAC_ERR_NULL,
                         "alpha", "no alpha");
        gpu_expect_error(lac_gemm_ex(ctx, s.there, &x->a, &x->b, &here, &x->c, &settings), LAC_ERR_SPACE,
                         "beta", "beta in host memory");
        settings.scalars = (lac_space_t)7;
        gpu_expect_error(lac_gemm_ex(ctx, s.there, &x->a, &x->b, s.there, &x->c, &settings), LAC_ERR_VALUE,
                         "call.scalars", "no space");
        if (gpu_case_checksum(x) != ref_matrix_checksum(&x->before)) gpu_fail("c was written");
    }
    drop(&s);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_by_every_route), GPU_TEST(test_by_plans),
                                       GPU_TEST(test_changed_between_replays), GPU_TEST(test_nothing_is_read),
                                       GPU_TEST(test_mistakes)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
