/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Layers before a device that is none. Refused or declined (bias that lies elsewhere, formats while the
 * stream is captured, a backend without epilogues), nothing is written, and C's metadata stays as it was; and
 * a route that does bias and activation by itself is not followed by a pass. */
#include "fake_device.h"

#include "lacuna/layer.h"

enum { N = 4 };

static float a[N * N], b[N * N], c[N * N], bias[N];

typedef struct layer {
    lac_obj_t a, b, c;
    lac_epilogue_t e;
    uint64_t generation;
} layer_t;

static layer_t make(lac_ctx_t *ctx)
{
    layer_t x = {
        fake_device_matrix(N, N, a), fake_device_matrix(N, N, b), fake_device_matrix(N, N, c), {0}, 0};
    x.e = (lac_epilogue_t){
        .size = sizeof x.e, .bias = bias, .act = LAC_ACT_RELU, .formats = LAC_META_CSR | LAC_META_DENSITY};
    for (int i = 0; i < N * N; i++) a[i] = (float)(i % 3), b[i] = (float)(1 - i % 2), c[i] = -77.0f;
    unit_expect(lac_meta_create_for(ctx, &x.c.meta, N, N), LAC_OK, "meta");
    x.generation = lac_meta_generation(x.c.meta);
    return x;
}

static lac_status_t run(lac_ctx_t *ctx, const layer_t *x, lac_call_opts_t *call)
{
    return lac_gemm_epilogue(ctx, NULL, &x->a, &x->b, NULL, &x->c, &x->e, call);
}

static void untouched(const layer_t *x)
{
    for (int i = 0; i < N * N; i++) assert_true(c[i] == -77.0f);
    assert_true(lac_meta_generation(x->c.meta) == x->generation);
    fake.elsewhere = NULL;
}

static void test_refusals(void **state)
{
    lac_ctx_t *ctx = *state;
    layer_t x = make(ctx);
    fake.elsewhere = bias;
    fake_device_refuses(run(ctx, &x, NULL), LAC_ERR_SPACE, "epilogue.bias: does not lie");
    untouched(&x);
    fake.elsewhere = c;
    fake_device_refuses(run(ctx, &x, NULL), LAC_ERR_SPACE, "c: is not here");
    untouched(&x);
    fake.capturing = true;
    fake_device_refuses(run(ctx, &x, NULL), LAC_ERR_UNAVAILABLE, "epilogue.formats: cannot be measured");
    untouched(&x);
    fake.capturing = false;
    fake_device_backend()->apply_epilogue = NULL;
    fake_device_refuses(run(ctx, &x, NULL), LAC_ERR_UNAVAILABLE, "has no epilogues");
    untouched(&x);
    lac_meta_free(x.c.meta);
}

/* A recording may hold a layer that asks for no formats; C's metadata then says nothing of it. */
static void test_captured(void **state)
{
    lac_ctx_t *ctx = *state;
    layer_t x = make(ctx);
    x.e.formats = 0;
    fake.capturing = true;
    unit_expect(run(ctx, &x, NULL), LAC_OK, "captured");
    fake.capturing = false;
    assert_true(lac_meta_generation(x.c.meta) > x.generation);
    assert_true(lac_meta_density(x.c.meta) < 0);
    x.e.formats = LAC_META_CSR;
    unit_expect(run(ctx, &x, NULL), LAC_OK, "not captured");
    assert_true(lac_meta_density(x.c.meta) > 0);
    lac_meta_free(x.c.meta);
}

/* So small a product is left to the caller's BLAS, and so is its epilogue. */
static void test_declined(void **state)
{
    lac_ctx_t *ctx = *state;
    layer_t x = make(ctx);
    lac_call_opts_t call = {.size = sizeof call, .may_decline = 1};
    unit_expect(run(ctx, &x, &call), LAC_OK, "declined");
    assert_true(call.declined);
    untouched(&x);
    lac_meta_free(x.c.meta);
}

static int fusing_runs, passes;

static lac_refusal_t always_fits(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return LAC_FITS;
}

static double costs_one(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route, (void)p, (void)machine;
    return 1.0;
}

static size_t takes_none(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return 0;
}

static lac_status_t fusing_run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                               lac_outcome_t *out)
{
    (void)route, (void)exec, (void)out;
    fusing_runs += p->epilogue.any && p->epilogue.bias == bias && p->epilogue.limit == 0.0;
    for (int i = 0; i < N * N; i++) ((float *)p->c)[i] = 5.0f;
    return LAC_OK;
}

static bool fuses_by_rows(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route;
    return p->epilogue.bias_per_row;
}

static lac_status_t counted_pass(lac_exec_t *exec, const lac_problem_t *p)
{
    (void)exec;
    passes += p->epilogue.any && p->c == c;
    return LAC_OK;
}

static void run_expecting(lac_ctx_t *ctx, const layer_t *x, int runs, int passes_behind)
{
    fusing_runs = passes = 0;
    unit_expect(run(ctx, x, NULL), LAC_OK, "layer");
    assert_int_equal(fusing_runs, runs);
    assert_int_equal(passes, passes_behind);
}

/* Where routes are compared their products are, and the epilogue is a pass of its own. */
static void test_route_that_fuses(void **state)
{
    static const lac_route_t self = {"self",     LAC_ROLE_DENSE, LAC_SIDE_NONE, always_fits, costs_one,
                                     takes_none, fusing_run,     fuses_by_rows, false};
    static const lac_route_t *const table[] = {&self};
    lac_ctx_t *ctx = *state;
    layer_t x = make(ctx);
    ctx->routes = table, ctx->route_count = 1;
    fake_device_backend()->apply_epilogue = counted_pass;
    x.e.bias_per_row = 1;
    run_expecting(ctx, &x, 1, 0);
    x.e.bias_per_row = 0;
    run_expecting(ctx, &x, 1, 1);
    x.e.bias_per_row = 1;
    ctx->policy.compare = "self", ctx->policy.compare_every = 1;
    run_expecting(ctx, &x, 0, 1);
    ctx->policy.compare = NULL;
    lac_meta_free(x.c.meta);
}

static int setup(void **state)
{
    *state = fake_device_ctx();
    return 0;
}

#define LAYER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_device_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {LAYER_TEST(test_refusals), LAYER_TEST(test_captured),
                                       LAYER_TEST(test_declined), LAYER_TEST(test_route_that_fuses)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
