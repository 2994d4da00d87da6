/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What is reported of a site at exit: gain, regret and the best that was to be had, why it is dense; and of
 * calls that were never probed, whose symbols are bounded. */
#include "unit_support.h"
#include "planner/statistics.h"
#include "operand/problem.h"
#include "api/interpose.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 8, K = 512, N = 256, CALLS = 10, DENSE_US = 1000 };

static float a[M * K], b[K * N], c[M * N];

static int row_named(const lac_ctx_t *ctx, const char *name, lac_side_t side)
{
    for (int i = 0; i < ctx->route_count; i++)
        if (!strcmp(ctx->routes[i]->name, name) && ctx->routes[i]->side == side) return i;
    fail_msg("no route %s", name);
    return -1;
}

/* A site whose calls ran by `name`, of which the sparse side was seen last at 1 %. */
static lac_site_t site_of(const lac_ctx_t *ctx, const char *name, lac_side_t side)
{
    lac_site_t site = {.key = {.m = M, .n = N, .k = K}, .symbol = "sgemm_", .dense_us = DENSE_US};
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, M, K, a, K), ob = lac_obj_rowmajor(LAC_F32, K, N, b, N),
              oc = lac_obj_rowmajor(LAC_F32, M, N, c, N);
    lac_problem_describe(&site.shape, 1.0f, &oa, &ob, 0.0f, &oc);
    site.shape.settings.threads = 1;
    site.route = ctx->routes[row_named(ctx, name, side)];
    site.left = site.right = (lac_seen_t){.density = -1.0, .k_active = -1.0, .sampled = -1.0};
    site.left.density = 0.01;
    site.dense_row = row_named(ctx, "dense", LAC_SIDE_NONE);
    if (site.route->role == LAC_ROLE_SPARSE) {
        site.sparse_route = site.route;
        site.sparse_calls = CALLS;
        site.sparse_us_measured = 500.0, site.sparse_us_predicted = 400.0;
    } else {
        site.declined_calls = CALLS;
    }
    return site;
}

/* A call by a route at the site's density, `factor` times what the model says. */
static double route_us(const lac_ctx_t *ctx, const lac_site_t *site, int row, double factor)
{
    lac_problem_t p = site->shape;
    p.a.density = site->left.density, p.b.density = site->right.density;
    return ctx->routes[row]->cost_us(ctx->routes[row], &p, &ctx->machine) * factor + p.account.extra_us;
}

static bool is_near(double got, double want)
{
    return got - want <= 1e-9 * want && want - got <= 1e-9 * want;
}

static void test_sparse_site(void **state)
{
    const lac_ctx_t *ctx = *state;
    lac_site_t site = site_of(ctx, "event", LAC_SIDE_LEFT);
    int event = row_named(ctx, "event", LAC_SIDE_LEFT), csr = row_named(ctx, "csr", LAC_SIDE_LEFT);
    lac_site_stats_t stats = lac_site_stats(ctx, &site);
    assert_string_equal(stats.shape, "8x512x256");
    assert_string_equal(stats.symbol, "sgemm_");
    assert_string_equal(stats.route, "event");
    assert_string_equal(stats.why_dense, "");
    assert_true(stats.min_extent == M && stats.density == 0.01);
    assert_true(stats.measured_us == 500.0); /* the host's clock */
    assert_false(stats.dense_timed);         /* so that nothing is known of gains */
    assert_true(stats.gained_us == 0.0 && stats.best_us < 0.0 && stats.regret_us < 0.0);

    site.factor[site.dense_row] = 2.0f;
    stats = lac_site_stats(ctx, &site);
    assert_true(stats.dense_timed && stats.gained_us == CALLS * DENSE_US - 500.0);
    assert_true(stats.best_us == CALLS * DENSE_US && stats.regret_us == 0.0); /* nothing else was measured */
    site.factor[csr] = 0.5f;
    stats = lac_site_stats(ctx, &site);
    assert_true(is_near(stats.best_us, CALLS * route_us(ctx, &site, csr, 0.5)));
    assert_true(is_near(stats.regret_us, 500.0 - stats.best_us));
    site.factor[event] = 0.25f;
    site.declined_calls = 3;
    stats = lac_site_stats(ctx, &site);
    assert_true(is_near(stats.best_us, (CALLS + 3) * route_us(ctx, &site, event, 0.25)));
    assert_true(is_near(stats.regret_us, 500.0 + 3 * DENSE_US - stats.best_us));
    site.sparse_us_measured = 0.0, site.declined_calls = 0; /* better than all that was measured: no regret */
    assert_true(lac_site_stats(ctx, &site).regret_us == 0.0);
    site.dense_row = -1;
    assert_false(lac_site_stats(ctx, &site).dense_timed);
}

/* Where calls return before they are done, the few that the device timed stand for all; where it timed none,
 * nothing is known, whatever the host's clock says. */
static void test_clocked_site(void **state)
{
    lac_ctx_t *ctx = *state;
    const lac_backend_t *before = ctx->backend;
    lac_backend_t asynchronous = *before;
    asynchronous.asynchronous = true;
    ctx->backend = &asynchronous;
    lac_site_t site = site_of(ctx, "event", LAC_SIDE_LEFT);
    int row = row_named(ctx, "event", LAC_SIDE_LEFT);
    site.shape.account.extra_us = 7.0;
    site.factor[site.dense_row] = 1.0f;
    lac_site_stats_t stats = lac_site_stats(ctx, &site);
    assert_true(stats.dense_timed && stats.measured_us < 0.0);
    assert_true(stats.gained_us == 0.0 && stats.best_us < 0.0 && stats.regret_us < 0.0);

    site.factor[row] = 3.0f;
    double us = route_us(ctx, &site, row, 3.0);
    stats = lac_site_stats(ctx, &site);
    assert_true(is_near(stats.measured_us, us * CALLS));
    assert_true(is_near(stats.gained_us, CALLS * (DENSE_US - us)) && stats.regret_us == 0.0);
    site.route = ctx->routes[site.dense_row]; /* the dense route serves now: what was served is known still */
    assert_true(is_near(lac_site_stats(ctx, &site).measured_us, us * CALLS));
    site.factor[site.dense_row] = 0.0f; /* but a gain is against a measured time alone */
    stats = lac_site_stats(ctx, &site);
    assert_true(stats.gained_us == 0.0 && stats.regret_us < 0.0 && is_near(stats.measured_us, us * CALLS));
    site.left.density = -1.0; /* a route that would not apply now */
    assert_true(lac_site_stats(ctx, &site).measured_us < 0.0);
    site.sparse_calls = 0;
    assert_true(lac_site_stats(ctx, &site).measured_us == 0.0);
    ctx->backend = before;
}

/* What is not known is a dash, not a number, and no part of a sum. */
static void test_what_is_not_known(void **state)
{
    lac_site_stats_t sites[2] = {{.sparse = 2, .dense_us = 9.0, .predicted_us = 4.0, .density = 0.01},
                                 {.sparse = 2, .dense_us = 8.0, .predicted_us = 4.0, .density = 0.01}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(sites[i].shape, sizeof sites[i].shape, "%s", i ? "known" : "unknown");
        snprintf(sites[i].symbol, sizeof sites[i].symbol, "sgemm_");
        snprintf(sites[i].route, sizeof sites[i].route, "event");
        sites[i].why_dense = "", sites[i].min_extent = 4;
    }
    sites[0].measured_us = sites[0].best_us = sites[0].regret_us = -1.0;
    sites[1].measured_us = 6000.0, sites[1].gained_us = 10000.0, sites[1].dense_timed = true;
    sites[1].best_us = 4000.0, sites[1].regret_us = 2000.0;
    unit_log();
    lac_statistics_print_sites(sites, 2);
    const char *log = unit_log();
    unit_expect_text(log, "measured gain 0.010 s, at the 1 of them where both were timed\n");
    unit_expect_text(log, "2.0          -          -  event\n");
    unit_expect_text(log, "2.0     3000.0        2.0  event\n");
    unit_expect_text(log, "0.008        6.000     10.000      2.000     1.500\n");
}

static void test_why_dense(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_site_t site = site_of(ctx, "reference", LAC_SIDE_NONE);
    assert_string_equal(lac_site_stats(ctx, &site).why_dense, "pays at no density");
    site.right.break_even = 0.02;
    assert_string_equal(lac_site_stats(ctx, &site).why_dense, "too dense");
    site.left.break_even = 0.02, site.right.break_even = 0.0;
    site.left.density = -1.0;
    assert_string_equal(lac_site_stats(ctx, &site).why_dense, "nothing seen yet");
    site.right.sampled = 0.3;
    assert_string_equal(lac_site_stats(ctx, &site).why_dense, "too dense");
    assert_true(lac_site_stats(ctx, &site).density == 0.3);
    site.left.sampled = 0.4;
    assert_true(lac_site_stats(ctx, &site).density == 0.3);
    site.left.sampled = 0.2;
    assert_true(lac_site_stats(ctx, &site).density == 0.2);
    unit_expect(lac_ctx_set(ctx, "detect", "registered"), LAC_OK, "detect");
    assert_string_equal(lac_site_stats(ctx, &site).why_dense, "not probed");
    site.probes = 1;
    assert_string_equal(lac_site_stats(ctx, &site).why_dense, "too dense");
    unit_expect(lac_ctx_set(ctx, "backend", "native"), LAC_OK, "backend");
    assert_string_equal(lac_site_stats(ctx, &site).why_dense, "the forced route does not apply");
    site.route = ctx->routes[row_named(ctx, "native", LAC_SIDE_NONE)];
    assert_string_equal(lac_site_stats(ctx, &site).why_dense, "forced");
    unit_expect(lac_ctx_set(ctx, "backend", "auto"), LAC_OK, "backend");
    site.route = NULL;
    assert_string_equal(lac_site_stats(ctx, &site).route, "dense");
    unit_expect(lac_ctx_set(ctx, "detect", "probe"), LAC_OK, "detect");
}

/* A weight as x @ W.T brings it, [n, k]: slow to skip in, unless it is frozen. */
static void test_weight(void **state)
{
    const lac_ctx_t *ctx = *state;
    for (int right = 0; right < 2; right++)
        for (int seen = 0; seen < 2; seen++) {
            lac_site_t site = site_of(ctx, "event", right ? LAC_SIDE_RIGHT : LAC_SIDE_LEFT);
            lac_problem_t *p = &site.shape;
            lac_inc_t k = p->k;
            p->m = right ? 2048 : 8, p->n = right ? 8 : 2048;
            p->a.rs = k, p->a.cs = 1, p->b.rs = 1, p->b.cs = k, p->crs = p->n;
            site.left.density = seen && !right ? 0.01 : -1.0;
            site.right.density = seen && right ? 0.01 : -1.0;
            lac_site_stats_t stats = lac_site_stats(ctx, &site);
            assert_string_equal(stats.weight, "2048x512");
            assert_true(stats.weight_us > 0.0 && stats.weight_us < DENSE_US / 2.0);
            site.dense_us = 0.1; /* where the dense call is as fast, there is nothing to gain */
            assert_string_equal(lac_site_stats(ctx, &site).weight, "");
            site.dense_us = DENSE_US;
            site.key.types = right ? LAC_SITE_FROZEN_A : LAC_SITE_FROZEN_B; /* it is frozen */
            assert_string_equal(lac_site_stats(ctx, &site).weight, "");
            site.key.types = 0;
            p->settings.may_copy = false;
            assert_string_equal(lac_site_stats(ctx, &site).weight, "");
            p->settings.may_copy = true;
            if (right) p->a.rs = 1, p->a.cs = p->m; /* lies as the routes read it */
            if (!right) p->b.rs = p->n, p->b.cs = 1;
            assert_string_equal(lac_site_stats(ctx, &site).weight, "");
        }
}

static void test_weights_in_the_tables(void **state)
{
    static lac_site_stats_t sites[4];
    static const char *const weights[] = {"4096x1024", "", "4096x1024", "64x32"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        sites[i] = (lac_site_stats_t){
            .dense = 1, .dense_us = 10.0, .density = 0.01, .why_dense = "", .weight_us = 2};
        snprintf(sites[i].weight, sizeof sites[i].weight, "%s", weights[i]);
        snprintf(sites[i].shape, sizeof sites[i].shape, "8x8x8");
    }
    unit_log();
    lac_statistics_print_sites(sites, 4);
    const char *log = unit_log();
    unit_expect_text(log, "try LACUNA_FROZEN=4096x1024,64x32\n");
    unit_expect_text(log, "8x8x8 takes 10.0 us a call, with it frozen some 2.0\n");
}

/* ---- the tables ---- */

static void test_tables(void **state)
{
    static lac_site_stats_t sites[25];
    (void)state;
    unit_log();
    lac_statistics_print_sites(sites, 25); /* nothing was called */
    assert_string_equal(unit_log(), "");
    for (int i = 0; i < 25; i++) {
        static const double densities[] = {-1.0, 0.0005, 0.005, 0.05, 0.3, 0.9}, extents[] = {1, 16, 17, 129};
        lac_site_stats_t *s = &sites[i];
        *s = (lac_site_stats_t){.density = densities[i % 6], .min_extent = extents[i % 4], .why_dense = ""};
        snprintf(s->shape, sizeof s->shape, "shape%d", i);
        s->sparse = i % 2 ? 2 : 0, s->dense = 1, s->dense_us = i + 1.0;
        s->best_us = i ? 1.0 : 0.0, s->regret_us = i == 1 ? 1.0 : 0.0;
    }
    sites[24].why_dense = "too dense";
    for (int i = 0; i < 25; i++)
        if (i != 7 && i != 9) sites[i].regret_us = -1.0;
    sites[3].dense_us = sites[5].dense_us;
    lac_statistics_print_sites(sites, 25);
    const char *text = unit_log();
    unit_expect_text(text, "lacuna: 24 calls by sparse routes, 25 by the dense one, at 25 sites");
    unit_expect_text(text, "at the 2 of them where both were timed\n");
    unit_expect_text(text, "(5 more sites)");
    unit_expect_text(text, ": too dense\n");
    assert_non_null(strstr(text, "shape23"));
    assert_true(strstr(text, "shape23") < strstr(text, "shape9")); /* by the time of all its calls */
    assert_null(strstr(text, "shape0 "));
    static const char *const words[] = {"n = 1",   "n <= 16", "n <= 128", "n large", "not seen",
                                        "< 0.1 %", "< 1 %",   "< 10 %",   "< 50 %",  "dense"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) unit_expect_text(text, words[i]);
}

/* Numbers in the tables have points, whatever the program's locale has. */
static void test_decimal_comma(void **state)
{
    (void)state;
    char command[512];
    lac_site_stats_t stats = {.density = 0.0125, .min_extent = 4, .sparse = 1, .why_dense = ""};
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s >/dev/null 2>&1",
             unit_path("de_DE.UTF-8"));
    int made = system(command);
    setenv("LOCPATH", unit_path("."), 1);
    bool comma = !made && setlocale(LC_ALL, "de_DE.UTF-8") && !strcmp(localeconv()->decimal_point, ",");
    lac_statistics_print_sites(&stats, 1);
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    unit_expect_text(unit_log(), " 1.250% ");
    if (!comma) skip();
}

/* ---- calls that were not probed ---- */

static void child(void)
{
    static char names[40][16];
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "symbol%02d", i);
        lac_interpose_count_passthrough(names[i], LAC_PASS_SMALL);
        lac_interpose_count_passthrough(names[i], LAC_PASS_TYPE);
        lac_interpose_count_passthrough(names[i], LAC_PASS_SMALL);
    }
    exit(0);
}

static void test_forwarded(void **state)
{
    (void)state;
    static const char *const asked[] = {"LACUNA_STATS=1", NULL}, *const nothing[] = {NULL},
                             *const disabled[] = {"LACUNA_STATS=1", "LACUNA_DISABLE=1", NULL},
                             *const enabled[] = {"LACUNA_STATS=1", "LACUNA_DISABLE=0", NULL};
    const char *text = unit_child("forwarded", asked);
    unit_expect_text(text, "lacuna: symbol00 not probed: 1 type, arithmetic or layout; 2 small\n");
    unit_expect_text(text, "lacuna: symbol31 not probed: ");
    assert_int_equal(unit_lines(text), 32); /* more symbols than there are */
    assert_int_equal(unit_lines(unit_child("forwarded", enabled)), 32);
    assert_string_equal(unit_child("forwarded", nothing), "");
    assert_string_equal(unit_child("forwarded", disabled), "");
}

static int setup(void **state)
{
    lac_ctx_t *ctx = unit_ctx();
    lac_machine_default(&ctx->machine);
    *state = ctx;
    return 0;
}

static int teardown(void **state)
{
    lac_ctx_free(*state);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sparse_site, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clocked_site, setup, teardown),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test_setup_teardown(test_weight, setup, teardown),
        cmocka_unit_test(test_weights_in_the_tables),
        cmocka_unit_test_setup_teardown(test_why_dense, setup, teardown),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_decimal_comma),
        cmocka_unit_test(test_forwarded),
    };
    unit_begin();
    if (unit_scenario(argc, argv)) child();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
