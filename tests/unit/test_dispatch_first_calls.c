/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The promise for the first calls: many shapes, ten calls each, in front of a BLAS whose speed the test sets,
 * on a clock that the test keeps. The host's own cost model predicts; what runs really take is made up. */
#include "unit_support.h"
#include "planner/dispatch.h"
#include "planner/timing.h"
#include "host/routes/routes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 200, CALLS = 10 };

/* One machine: its BLAS is `blas` times as fast as the model says, its sparse kernels `sparse` times. */
typedef struct world {
    double blas, sparse;
    int threads;
    bool learn, rank_k; /* rank_k: a triangle of A A' is asked for */
} world_t;

static world_t world;
static double clock_us, density; /* of the sparse side of the call that is under way: A's */
static int sparse_runs, gave_up;

static double now_us(void)
{
    return clock_us;
}

static lac_refusal_t fits_dense(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return LAC_FITS;
}

/* The truth of a route: its own model at the density that is really there, times the speed of this world. */
static double truth_us(const lac_route_t *route, const lac_problem_t *p)
{
    static lac_machine_t machine;
    lac_problem_t real = *p;
    lac_machine_default(&machine);
    real.a.density = density, real.b.density = 1.0, real.a.k_active = real.b.k_active = -1.0;
    double speed = route->role == LAC_ROLE_SPARSE ? world.sparse : world.blas;
    return route->cost_us(route, &real, &machine) / speed;
}

static lac_status_t run(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                        lac_outcome_t *out)
{
    (void)exec;
    double us = truth_us(route, p);
    if (route->role == LAC_ROLE_SPARSE) {
        double there = route->side == LAC_SIDE_LEFT ? density : 1.0;
        sparse_runs++;
        out->density = there;
        out->declined = p->terms.density_limit >= 0 && there > p->terms.density_limit;
        gave_up += out->declined;
        if (out->declined)
            us = fmin(us, lac_scan_us(4.0 * (double)p->m * (double)p->k,
                                      &(lac_machine_t){.scan_gbps = 10, .scan_cached_gbps = 10}));
    }
    clock_us += us;
    return LAC_OK;
}

static int64_t sample(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                      lac_sample_t *out, uint64_t seed, const void *tag, bool first)
{
    (void)exec, (void)rows, (void)cols, (void)seed, (void)tag, (void)first;
    clock_us += 0.01 * (double)out->looked;
    out->lines = -1.0;
    return x->buf == (const void *)1 ? (int64_t)lrint(density * (double)out->looked) : out->looked;
}

static const lac_backend_t backend = {.name = "made up", .sample = sample};
static lac_route_t routes[7];
static const lac_route_t *table[7];

static lac_ctx_t context(void)
{
    const lac_route_t *real[] = {&lac_host_route_event[0], &lac_host_route_event[1], &lac_host_route_csr[0],
                                 &lac_host_route_csr[1],   lac_host_route_dense,     lac_host_route_native};
    lac_ctx_t ctx = {.backend = &backend, .routes = table, .route_count = 6, .now_us = now_us};
    for (int i = 0; i < 6; i++) {
        routes[i] = *real[i];
        routes[i].run = run;
        table[i] = &routes[i];
    }
    routes[4].applicable = fits_dense;
    lac_machine_default(&ctx.machine);
    ctx.policy.learn = world.learn;
    ctx.policy.detect = LAC_DETECT_PROBE;
    ctx.policy.sparse_margin = 0.05;
    ctx.policy.threads = ctx.policy.blas_threads = ctx.policy.processors = world.threads;
    return ctx;
}

/* A call as a drop-in library makes it. */
static void call(lac_ctx_t *ctx, lac_problem_t p)
{
    lac_request_t request = {.symbol = "sgemm", .may_decline = true, .followed = true};
    unit_expect(lac_dispatch(ctx, &p, &request), LAC_OK, "dispatch");
    if (!request.declined) return;
    clock_us += truth_us(&routes[4], &p);
    if (ctx->forwarded) lac_dispatch_forwarded(ctx);
}

static lac_problem_t problem(uint64_t *random)
{
    int64_t extent[3];
    for (int i = 0; i < 3; i++) extent[i] = (int64_t)exp2((double)unit_between(random, 0, 120) / 10.0);
    lac_problem_t p = {
        .m = extent[0], .n = extent[1], .k = extent[2], .alpha = 1.0f, .terms.density_limit = -1.0};
    p.a = (lac_operand_t){.density = -1, .k_active = -1, .rs = p.k, .cs = 1, .buf = (const void *)1};
    p.b = (lac_operand_t){.density = -1, .k_active = -1, .rs = p.n, .cs = 1, .buf = (const void *)2};
    if (world.rank_k) {
        p.n = p.m;
        p.b = (lac_operand_t){.density = -1, .k_active = -1, .rs = 1, .cs = p.k, .buf = (const void *)1};
        p.triangle = LAC_TRIANGLE_LOWER;
    }
    p.crs = p.n, p.ccs = 1;
    return p;
}

/* Time over that of the plain BLAS, for the shapes whose data are dense and for the others. */
static void play(double *of_dense, double *of_sparse)
{
    static lac_problem_t shapes[SHAPES];
    double taken[2] = {0, 0}, plain[2] = {0, 0};
    uint64_t random = 7;
    lac_ctx_t ctx = context();
    sparse_runs = gave_up = 0;
    for (int s = 0; s < SHAPES; s++) shapes[s] = problem(&random);
    for (int turn = 0; turn < CALLS; turn++)
        for (int s = 0; s < SHAPES; s++) {
            bool is_sparse = s % 2;
            density = is_sparse ? pow(10.0, -0.5 - 2.5 * (double)(s % 20) / 20.0) : s % 4 ? 0.7 : 1.0;
            double begin = clock_us;
            call(&ctx, shapes[s]);
            lac_problem_t p = shapes[s];
            p.settings.threads = world.threads;
            taken[is_sparse] += clock_us - begin;
            plain[is_sparse] += truth_us(&routes[4], &p);
        }
    *of_dense = taken[0] / plain[0];
    *of_sparse = taken[1] / plain[1];
    lac_sites_free(&ctx.sites);
}

static void expect_world(double gain)
{
    double of_dense, of_sparse;
    play(&of_dense, &of_sparse);
    printf("%2d threads, BLAS %.2f, sparse %.2f, learn %d: dense %.4f, sparse %.4f; %d sparse runs, %d given "
           "up\n",
           world.threads, world.blas, world.sparse, world.learn, of_dense, of_sparse, sparse_runs, gave_up);
    if (of_dense > 1.03) fail_msg("dense data take %.3f of the BLAS's time", of_dense);
    double worst = world.learn ? 1.03 : world.blas / world.sparse > 3.0 ? 4.0 : 1.03;
    if (of_sparse > worst) fail_msg("sparse data take %.3f of the BLAS's time", of_sparse);
    if (world.blas <= world.sparse && of_sparse > gain)
        fail_msg("sparse data gain too little: %.3f", of_sparse);
}

/* Dense data never pay for what others gain, however wrong the constants are and however many threads there
 * are; what is sparse gains where the model is not wrong by more than the doubt that it is taken with. */
static void test_first_calls(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 4, 16, 64};
    static const double speeds[] = {0.25, 0.5, 1.0, 2.0, 4.0};
    for (int t = 0; t < 5; t++)
        for (int b = 0; b < 5; b++)
            for (int s = 0; s < 3; s++)
                for (int learn = 0; learn < 2; learn++) {
                    world = (world_t){speeds[b], speeds[s + 1], threads[t], learn, false};
                    expect_world(0.8);
                }
}

/* The same of triangles of A A', which the BLAS does in half the time of a product. */
static void test_first_calls_of_rank_k_updates(void **state)
{
    (void)state;
    static const int threads[] = {1, 4, 64};
    static const double speeds[] = {0.5, 1.0, 2.0};
    for (int t = 0; t < 3; t++)
        for (int b = 0; b < 3; b++)
            for (int s = 0; s < 3; s++) {
                world = (world_t){speeds[b], speeds[s], threads[t], true, true};
                expect_world(0.9);
            }
}

/* Sparse and dense data in turns at one site, as a program has them that calls all products from one line:
 * after a few calls each finds its route, and no scan is given up any more. */
static void test_turns(void **state)
{
    (void)state;
    static const int periods[][2] = {{1, 1}, {3, 1}, {1, 3}, {2, 5}}; /* sparse calls, dense calls */
    for (int i = 0; i < 4; i++) {
        world = (world_t){1.0, 1.0, 1, true, false};
        lac_ctx_t ctx = context();
        lac_problem_t p = {.m = 10, .n = 2000, .k = 2000, .alpha = 1.0f, .terms.density_limit = -1.0};
        p.a = (lac_operand_t){.density = -1, .k_active = -1, .rs = p.k, .cs = 1, .buf = (const void *)1};
        p.b = (lac_operand_t){.density = -1, .k_active = -1, .rs = p.n, .cs = 1, .buf = (const void *)2};
        p.crs = p.n, p.ccs = 1;
        double taken = 0.0, best = 0.0;
        for (int n = 0; n < 400; n++) {
            if (n == 50) taken = best = 0.0, sparse_runs = gave_up = 0;
            bool is_sparse = n % (periods[i][0] + periods[i][1]) < periods[i][0];
            density = is_sparse ? 0.005 : 1.0;
            lac_problem_t one = p;
            one.settings.threads = 1;
            double begin = clock_us, event = truth_us(&routes[0], &one), dense = truth_us(&routes[4], &one);
            call(&ctx, p);
            taken += clock_us - begin;
            best += is_sparse ? event : dense;
        }
        if (gave_up > 4 || taken > 1.05 * best)
            fail_msg("%d sparse and %d dense in turns: %.3f of the best, %d given up", periods[i][0],
                     periods[i][1], taken / best, gave_up);
        lac_sites_free(&ctx.sites);
    }
}

/* The time of a scan that gave up is not that of its route, and that of the dense product behind it is not
 * either: neither is learned. */
static void test_runs_that_gave_up_teach_no_time(void **state)
{
    (void)state;
    for (int drop_in = 0; drop_in < 2; drop_in++) {
        world = (world_t){1.0, 1.0, 1, true, false};
        lac_ctx_t ctx = context();
        lac_problem_t p = {.m = 10, .n = 2000, .k = 2000, .alpha = 1.0f, .terms.density_limit = -1.0};
        p.a = (lac_operand_t){.density = -1, .k_active = -1, .rs = p.k, .cs = 1, .buf = (const void *)1};
        p.b = (lac_operand_t){.density = -1, .k_active = -1, .rs = p.n, .cs = 1, .buf = (const void *)2};
        p.crs = p.n, p.ccs = 1;
        for (int n = 0; n < 100; n++) {
            float factor[LAC_ROUTES_MAX], first[LAC_ROUTES_MAX];
            unsigned char runs[LAC_ROUTES_MAX];
            const lac_site_t *site = n ? lac_site_at(&ctx.sites, 0) : NULL;
            if (site) memcpy(factor, site->factor, sizeof factor), memcpy(first, site->first, sizeof first);
            if (site) memcpy(runs, site->runs, sizeof runs);
            density = n % 10 == 5 ? 1.0 : 0.002;
            int before = gave_up;
            lac_problem_t one = p;
            lac_request_t request = {.symbol = "sgemm", .may_decline = drop_in, .followed = drop_in};
            unit_expect(lac_dispatch(&ctx, &one, &request), LAC_OK, "dispatch");
            if (gave_up > before) {
                assert_memory_equal(factor, site->factor, sizeof factor);
                assert_memory_equal(first, site->first, sizeof first);
                assert_memory_equal(runs, site->runs, sizeof runs);
            }
            if (request.declined) clock_us += truth_us(&routes[4], &one);
            if (ctx.forwarded) lac_dispatch_forwarded(&ctx);
        }
        if (gave_up < 2) fail_msg("%d runs gave up", gave_up);
        lac_sites_free(&ctx.sites);
        gave_up = 0;
    }
}

/* Small products of ever new shapes: their costs are not compared before they have taken long enough. */
static void test_small_products_are_let_through(void **state)
{
    (void)state;
    world = (world_t){1.0, 1.0, 1, true, false};
    lac_ctx_t ctx = context();
    density = 0.01;
    for (int n = 0; n < 2000; n++) {
        lac_problem_t p = {.m = 40, .n = 40 + n, .k = 40, .alpha = 1.0f, .terms.density_limit = -1.0};
        p.a = (lac_operand_t){.density = -1, .k_active = -1, .rs = p.k, .cs = 1, .buf = (const void *)1};
        p.b = (lac_operand_t){.density = -1, .k_active = -1, .rs = p.n, .cs = 1, .buf = (const void *)2};
        p.crs = p.n, p.ccs = 1;
        lac_request_t request = {.symbol = "sgemm", .may_decline = true, .followed = true};
        unit_expect(lac_dispatch(&ctx, &p, &request), LAC_OK, "dispatch");
        const lac_site_t *site = lac_site_at(&ctx.sites, ctx.sites.count - 1);
        if (site->dense_us >= 50.0) continue;
        assert_true(request.declined);
        assert_int_equal(site->state, LAC_SITE_NEW);
        assert_null(ctx.forwarded); /* nor is it timed */
    }
    assert_int_equal(ctx.sites.count, 2000);
    assert_int_equal(ctx.sites.evicted, 0);
    lac_sites_free(&ctx.sites);
}

static lac_problem_t cube(int64_t n)
{
    lac_problem_t p = {
        .m = n, .n = n, .k = n, .alpha = 1.0f, .crs = n, .ccs = 1, .terms.density_limit = -1.0};
    p.a = (lac_operand_t){.density = -1, .k_active = -1, .rs = n, .cs = 1, .buf = (const void *)1};
    p.b = (lac_operand_t){.density = -1, .k_active = -1, .rs = n, .cs = 1, .buf = (const void *)2};
    return p;
}

/* A call as a drop-in library makes it that first asks whether it is certain to be declined. */
static bool asked(lac_ctx_t *ctx, lac_problem_t p)
{
    lac_site_key_t key = {p.m, p.n, p.k, p.a.rs, p.a.cs, p.b.rs, p.b.cs, NULL, 0};
    if (!lac_dispatch_dense_streak(ctx, &key, 1, 0)) {
        call(ctx, p);
        return true;
    }
    clock_us += truth_us(&routes[4], &p);
    return false;
}

/* The time of a dense product that is known, and left to the caller's BLAS, is looked at now and then, with
 * the calls that are granted between. */
static void test_the_callers_blas_is_followed(void **state)
{
    (void)state;
    world = (world_t){1.0, 1.0, 1, true, false};
    lac_ctx_t ctx = context();
    lac_problem_t p = cube(300);
    int asks = 0;
    density = 1.0;
    for (int n = 0; n < 1024; n++) asked(&ctx, p);
    const lac_site_t *site = lac_site_at(&ctx.sites, 0);
    unsigned timed = site->learned;
    for (int n = 0; n < 10240; n++) asks += asked(&ctx, p);
    assert_in_range(site->learned - timed, 10240 / 256 - 1, 10240 / 256 + 5); /* and what else was asked */
    assert_in_range(asks, 40, 100);
    lac_sites_free(&ctx.sites);
}

/* A sparse route that pays is found though our dense kernel is predicted to be faster yet: that never serves
 * beside the caller's BLAS. */
static void test_our_dense_kernel_is_in_nobodys_way(void **state)
{
    (void)state;
    world = (world_t){0.5, 1.0, 2, true, false};
    lac_ctx_t ctx = context();
    lac_problem_t p = {.m = 1000, .n = 1000, .k = 1, .alpha = 1.0f, .terms.density_limit = -1.0};
    p.a = (lac_operand_t){.density = -1, .k_active = -1, .rs = 1, .cs = 1, .buf = (const void *)1};
    p.b = (lac_operand_t){.density = -1, .k_active = -1, .rs = p.n, .cs = 1, .buf = (const void *)2};
    p.crs = p.n, p.ccs = 1;
    p.settings.threads = world.threads;
    density = 0.03;
    sparse_runs = 0;
    for (int n = 0; n < 2000; n++) asked(&ctx, p);
    assert_true(sparse_runs > 500);
    lac_sites_free(&ctx.sites);
}

/* The short way for the first call of a small shape counts it once, as the long way does, and takes no other
 * call. */
static void test_first_call_of_a_small_shape(void **state)
{
    (void)state;
    world = (world_t){1.0, 1.0, 1, true, false};
    lac_ctx_t ctx = context(), other = context();
    lac_problem_t p = cube(40), large = cube(2000), nothing = cube(40);
    assert_true(lac_dispatch_first(&ctx, &p, "sgemm", NULL));
    call(&other, cube(40));
    const lac_site_t *site = lac_site_at(&ctx.sites, 0), *usual = lac_site_at(&other.sites, 0);
    assert_int_equal(site->calls, 1);
    assert_int_equal(site->declined_calls, 1);
    assert_memory_equal(&site->key, &usual->key, sizeof site->key);
    assert_int_equal(site->countdown, usual->countdown);
    assert_int_equal(site->declined_calls, usual->declined_calls);
    assert_int_equal(site->dense_row, usual->dense_row);
    assert_true(site->dense_us == usual->dense_us && site->spent_us == usual->spent_us);
    assert_int_equal(site->shape.settings.threads, world.threads);
    assert_string_equal(site->symbol, "sgemm");

    assert_false(lac_dispatch_first(&ctx, &p, "sgemm", NULL)); /* the second */
    assert_int_equal(site->calls, 1);
    assert_false(lac_dispatch_first(&ctx, &large, "sgemm", NULL)); /* probed at once */
    density = 1.0;
    call(&ctx, large);
    assert_int_equal(lac_site_at(&ctx.sites, 1)->calls, 1);
    assert_int_equal(lac_site_at(&ctx.sites, 1)->probes, 1);
    nothing.alpha = 0.0f;
    nothing.n = 41;
    assert_false(lac_dispatch_first(&ctx, &nothing, "sgemm", NULL));
    ctx.policy.stats = true; /* every call is reported */
    nothing.alpha = 1.0f;
    assert_false(lac_dispatch_first(&ctx, &nothing, "sgemm", NULL));
    assert_int_equal(ctx.sites.count, 2);
    lac_sites_free(&ctx.sites);
    lac_sites_free(&other.sites);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_calls),
                                       cmocka_unit_test(test_first_calls_of_rank_k_updates),
                                       cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_runs_that_gave_up_teach_no_time),
                                       cmocka_unit_test(test_small_products_are_let_through),
                                       cmocka_unit_test(test_first_call_of_a_small_shape),
                                       cmocka_unit_test(test_the_callers_blas_is_followed),
                                       cmocka_unit_test(test_our_dense_kernel_is_in_nobodys_way)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
