/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The second opinion of `compare`: what it says, on the host and on a device, and that a call stands where it
 * cannot be had. */
#include "fake_device.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { M = 4, K = 6, N = 3 };

static float a[M * K], b[K * N], c[2 * M * N], expected[M * N];

static void make_operands(void)
{
    memset(expected, 0, sizeof expected);
    for (int i = 0; i < M * K; i++) a[i] = i % 4 ? 0.0f : (float)(i % 7 - 2);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 1);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++) expected[i * N + j] += a[i * K + k] * b[k * N + j];
}

static lac_ctx_t *comparing(lac_ctx_t *ctx)
{
    make_operands();
    unit_expect(lac_ctx_set(ctx, "compare", "reference"), LAC_OK, "compare");
    (void)unit_log();
    return ctx;
}

/* C somewhere in its own memory: `from` elements behind c, with strides of either sign. */
static lac_status_t multiply(lac_ctx_t *ctx, lac_dim_t from, lac_inc_t rs, lac_inc_t cs, float beta)
{
    const float alpha = 1.0f;
    bool there = ctx->backend->space == LAC_DEVICE;
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, M, K, a, K), ob = lac_obj_rowmajor(LAC_F32, K, N, b, N),
              oc = lac_obj_rowmajor(LAC_F32, M, N, c + from, N);
    lac_call_opts_t call = {.size = sizeof call, .route = "event"};
    if (there) oa.space = ob.space = oc.space = LAC_DEVICE;
    oc.rs = rs, oc.cs = cs;
    for (int i = 0; i < 2 * M * N; i++) c[i] = 2.0f;
    return lac_gemm_ex(ctx, &alpha, &oa, &ob, &beta, &oc, &call);
}

static void expect_product(lac_dim_t from, lac_inc_t rs, lac_inc_t cs, float beta)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            assert_true(c[from + i * rs + j * cs] == expected[i * N + j] + 2.0f * beta);
}

static const struct slot {
    lac_dim_t from;
    lac_inc_t rs, cs;
} places[] = {{0, N, 1}, {0, 1, M}, {(M - 1) * N, -N, 1}, {N - 1, N, -1}, {1, 2 * N, 2}};

static void compare_everywhere(lac_ctx_t *ctx)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int beta = 0; beta < 2; beta++) {
            const struct slot *p = &places[i];
            unit_expect(multiply(ctx, p->from, p->rs, p->cs, (float)beta), LAC_OK, "compared");
            expect_product(p->from, p->rs, p->cs, (float)beta);
            const char *text = unit_log();
            unit_expect_text(text,
                             "lacuna,1,compare,lac_gemm,4x6x3,event,reference,max difference 0 at (0,0)");
            assert_int_equal(unit_lines(text), 1);
        }
    lac_ctx_free(ctx);
}

static void test_on_the_host(void **state)
{
    (void)state;
    compare_everywhere(comparing(unit_ctx()));
}

static void test_on_a_device(void **state)
{
    (void)state;
    compare_everywhere(comparing(fake_device_ctx()));
    assert_int_equal(fake.allocated, 0);
}

/* A NaN that both have is no difference; one that only one has is an infinite one. The event route never
 * checks what its zeros meet. */
static void test_not_a_number(void **state)
{
    (void)state;
    lac_ctx_t *ctx = comparing(unit_ctx());
    a[0] = NAN;
    unit_expect(multiply(ctx, 0, N, 1, 0.0f), LAC_OK, "NaN on both sides");
    assert_true(isnan(c[0]));
    unit_expect_text(unit_log(), "max difference 0 at");
    b[0] = NAN; /* meets a zero in every row */
    for (int i = 0; i < M; i++) a[i * K] = 0.0f;
    unit_expect(multiply(ctx, 0, N, 1, 0.0f), LAC_OK, "NaN on one side");
    assert_true(!isnan(c[0]));
    unit_expect_text(unit_log(), "max difference inf at (0,0)");
    lac_ctx_free(ctx);
}

static void test_every_nth_call(void **state)
{
    (void)state;
    lac_ctx_t *ctx = comparing(unit_ctx());
    unit_expect(lac_ctx_set(ctx, "compare", "reference:3"), LAC_OK, "every third");
    for (int i = 0; i < 7; i++) unit_expect(multiply(ctx, 0, N, 1, 0.0f), LAC_OK, "call");
    assert_int_equal(unit_lines(unit_log()), 3); /* the first, the fourth and the seventh */
    lac_ctx_free(ctx);
}

/* Any of the device's own calls may fail: the product stands, a warning says why, and nothing is kept. */
static void test_failures_leave_the_product(void **state)
{
    (void)state;
    bool failed = true;
    int n = 1;
    for (; failed; n++) {
        lac_ctx_t *ctx = comparing(fake_device_ctx());
        fake.fails = n;
        unit_expect(multiply(ctx, 0, N, 1, 1.0f), LAC_OK, "the call itself");
        expect_product(0, N, 1, 1.0f);
        assert_int_equal(fake.allocated, 0);
        failed = fake.calls >= n;
        const char *text = unit_log();
        bool compared = strstr(text, "lacuna,1,compare") != NULL, warned = strstr(text, "compare: device");
        assert_true(compared || failed);
        assert_true(!warned || !compared);
        lac_ctx_free(ctx);
    }
    assert_true(n > 7);
}

static lac_status_t run_without_memory(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                                       lac_outcome_t *out)
{
    (void)route, (void)exec, (void)p, (void)out;
    return lac_fail(LAC_ERR_MEMORY, "out of memory");
}

/* A second opinion that fails on the host is none: nothing is said of a difference, and the product stands.
 */
static void test_second_run_fails_on_the_host(void **state)
{
    (void)state;
    static const lac_route_t *routes[LAC_ROUTES_MAX];
    lac_ctx_t *ctx = comparing(unit_ctx());
    lac_route_t failing = {0};
    for (int i = 0; i < ctx->route_count; i++) {
        routes[i] = ctx->routes[i];
        if (strcmp(routes[i]->name, "reference")) continue;
        failing = *routes[i];
        failing.run = run_without_memory;
        routes[i] = &failing;
    }
    assert_non_null(failing.run);
    ctx->routes = routes;
    unit_expect(multiply(ctx, 0, N, 1, 1.0f), LAC_OK, "the call itself");
    expect_product(0, N, 1, 1.0f);
    assert_string_equal(unit_log(), "");
    lac_ctx_free(ctx);
}

static void test_captured_and_empty(void **state)
{
    (void)state;
    lac_ctx_t *ctx = comparing(fake_device_ctx());
    fake.capturing = true;
    unit_expect(multiply(ctx, 0, N, 1, 0.0f), LAC_OK, "captured");
    expect_product(0, N, 1, 0.0f);
    unit_expect_text(unit_log(), "compare: left out while the stream is captured");
    fake.capturing = false;
    lac_obj_t oa = fake_device_matrix(0, K, a), ob = fake_device_matrix(K, N, b),
              oc = fake_device_matrix(0, N, c), right = fake_device_matrix(K, 0, b),
              none = fake_device_matrix(M, 0, c), all = fake_device_matrix(M, K, a);
    unit_expect(lac_gemm(ctx, NULL, &oa, &ob, NULL, &oc), LAC_OK, "no rows");
    unit_expect(lac_gemm(ctx, NULL, &all, &right, NULL, &none), LAC_OK, "no columns");
    assert_string_equal(unit_log(), "");
    assert_int_equal(fake.calls, 0);
    lac_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on_the_host),
        cmocka_unit_test(test_on_a_device),
        cmocka_unit_test(test_not_a_number),
        cmocka_unit_test(test_every_nth_call),
        cmocka_unit_test(test_failures_leave_the_product),
        cmocka_unit_test(test_second_run_fails_on_the_host),
        cmocka_unit_test(test_captured_and_empty),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
