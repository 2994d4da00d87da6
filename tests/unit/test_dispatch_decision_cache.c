/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A remembered choice: made once for the same facts, anew for other ones, and now and then where a clock has
 * a say. */
#include "unit_support.h"
#include "base/clock.h"
#include "planner/dispatch.h"

#include <string.h>

static int weighed, ran[2];
static bool waited;

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    return route->side == LAC_SIDE_LEFT && p->a.density < 0 ? LAC_REFUSED_DENSITY_UNKNOWN : LAC_FITS;
}

static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)machine;
    weighed++;
    return route->side == LAC_SIDE_LEFT ? 100.0 * p->a.density : 10.0;
}

static size_t bytes(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return 0;
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)exec;
    ran[route->side == LAC_SIDE_LEFT]++;
    waited = p->terms.named;
    out->density = p->a.density;
    return LAC_OK;
}

static const lac_route_t sparse = {"sparse", LAC_ROLE_SPARSE, LAC_SIDE_LEFT, applicable,
                                   cost_us,  bytes,           run,           NULL,
                                   false},
                         dense = {"dense", LAC_ROLE_DENSE, LAC_SIDE_NONE, applicable, cost_us, bytes,
                                  run,     NULL,           false};
static const lac_route_t *const table[] = {&sparse, &dense};

static int64_t sample(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                      lac_sample_t *out, uint64_t seed, const void *tag, bool first)
{
    (void)exec, (void)x, (void)rows, (void)cols, (void)seed, (void)tag, (void)first;
    out->looked = 0; /* never answers */
    return 0;
}

static const lac_backend_t device = {.name = "device", .asynchronous = true, .sample = sample},
                           host = {.name = "host", .sample = sample};

static lac_ctx_t context(const lac_backend_t *backend)
{
    lac_ctx_t ctx = {.backend = backend, .routes = table, .route_count = 2, .now_us = lac_now_us};
    ctx.policy.learn = true;
    ctx.policy.detect = LAC_DETECT_OFF;
    return ctx;
}

static double beta; /* of the calls */

/* What a call weighed, with A of this density as a fact. */
static int call(lac_ctx_t *ctx, double density, lac_inc_t crs, const char *route)
{
    static float c[64];
    lac_request_t request = {.symbol = "test", .route = route};
    lac_problem_t p = {.m = 4, .n = 4, .k = 4, .alpha = 1.0f, .beta = beta, .c = c, .crs = crs, .ccs = 1};
    p.a.density = density;
    p.a.known = LAC_KNOWN_ATTACHED;
    p.a.buf = p.b.buf = c;
    p.b.density = p.a.k_active = p.b.k_active = -1.0;
    weighed = 0;
    unit_expect(lac_dispatch(ctx, &p, &request), LAC_OK, "dispatch");
    return weighed;
}

static void settle(lac_ctx_t *ctx, double density)
{
    for (int i = 0; i < 4; i++) call(ctx, density, 4, NULL);
}

static void test_same_facts(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(&device);
    memset(ran, 0, sizeof ran);
    settle(&ctx, 0.01);
    assert_int_equal(call(&ctx, 0.01, 4, NULL), 0);
    assert_int_equal(ran[1], 5);
    assert_int_not_equal(call(&ctx, 0.01, 5, NULL), 0); /* c lies otherwise */
    beta = 1.0;
    assert_int_not_equal(call(&ctx, 0.01, 4, NULL), 0); /* what it held is added to */
    beta = 0.0;
    settle(&ctx, 0.01);
    assert_int_not_equal(call(&ctx, 0.5, 4, NULL), 0);
    settle(&ctx, 0.5);
    memset(ran, 0, sizeof ran);
    assert_int_equal(call(&ctx, 0.5, 4, NULL), 0);
    assert_int_equal(ran[0], 1);
    lac_sites_free(&ctx.sites);
}

static void test_forced(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(&device);
    settle(&ctx, 0.5);
    assert_false(waited);
    for (int i = 0; i < 3; i++) call(&ctx, 0.5, 4, "sparse");
    memset(ran, 0, sizeof ran);
    assert_int_equal(call(&ctx, 0.5, 4, "sparse"), 0);
    assert_int_equal(ran[1], 1);
    assert_true(waited); /* what a name permits is remembered with it */
    assert_int_not_equal(call(&ctx, 0.5, 4, NULL), 0);
    assert_false(waited);
    lac_sites_free(&ctx.sites);
}

static void test_clock_has_a_say(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(&host);
    settle(&ctx, 0.01);
    assert_int_not_equal(call(&ctx, 0.01, 4, NULL), 0);
    lac_sites_free(&ctx.sites);
}

/* Between two readings the route that serves takes just what is predicted of it. */
static double predicted_us;

static double as_predicted(void)
{
    static double us;
    return us += predicted_us;
}

/* A site of the host that was called often weighs its routes now and then; before that, for each call. */
static void test_known_site(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(&host);
    ctx.now_us = as_predicted;
    predicted_us = 1.0;
    settle(&ctx, 0.01);
    int first = call(&ctx, 0.01, 4, NULL), least = first, again = 0;
    for (int i = 0; i < 900; i++) assert_true(call(&ctx, 0.01, 4, NULL) >= first);
    for (int i = 0; i < 200; i++) call(&ctx, 0.01, 4, NULL);
    for (int i = 0; i < 80; i++) {
        int now = call(&ctx, 0.01, 4, NULL);
        if (now < least) least = now;
        again += now >= first;
    }
    assert_true(least < first);
    assert_in_range(again, 1, 20);
    lac_sites_free(&ctx.sites);
}

/* Where the vendor's product serves, calls soon rest: they neither weigh routes nor read the clock, and what
 * they are expected to take counts all the same. */
static void test_a_dense_site_rests(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(&host);
    ctx.now_us = as_predicted;
    predicted_us = 10.0;
    settle(&ctx, 0.9);
    int first = call(&ctx, 0.9, 4, NULL); /* every route is weighed */
    for (int i = 0; i < 2048; i++) call(&ctx, 0.9, 4, NULL);
    const lac_site_t *site = lac_site_at(&ctx.sites, 0);
    assert_ptr_equal(site->route, &dense);
    int again = 0;
    unsigned timed = site->learned;
    uint64_t served = site->declined_calls;
    double spent = site->spent_us;
    ran[0] = 0;
    for (int i = 0; i < 640; i++) {
        unsigned before = site->learned;
        double before_us = site->spent_us;
        int now = call(&ctx, 0.9, 4, NULL);
        again += now >= first;
        if (site->learned == before && now == 0)
            assert_true(site->spent_us == before_us + site->cache.choice.cost_us);
    }
    assert_int_equal(ran[0], 640);
    assert_int_equal(site->declined_calls - served, 640);
    assert_int_equal(site->learned - timed, 10);
    assert_int_equal(again, 10);
    assert_true(site->spent_us > spent);
    lac_sites_free(&ctx.sites);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_facts), cmocka_unit_test(test_forced),
                                       cmocka_unit_test(test_clock_has_a_say),
                                       cmocka_unit_test(test_known_site),
                                       cmocka_unit_test(test_a_dense_site_rests)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
