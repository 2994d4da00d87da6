/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The judging of the regret runs, on made-up samples: which routes are compared, what their ratios are, and
 * what the promise against the baseline allows. */
#include "regret_judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bench_case_t bench; /* lanes are added to an empty one */
static char ctx;           /* an address for lanes that have a context; nothing is called */

static void expect_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want))) fail_msg("%.15g, expected %.15g", got, want);
}

static int make_empty(void **state)
{
    (void)state;
    memset(&bench, 0, sizeof bench);
    snprintf(bench.set.text, sizeof bench.set.text, "sgemm:NN:1x2x3");
    return 0;
}

/* A lane with three samples; vendor lanes have no context. auto's decision is event left. */
static bench_contender_t *add(const char *route, const double *sample, double predicted_us)
{
    bench_contender_t *contender = &bench.contender[bench.contenders];
    bool is_auto = strcmp(route, ROUTE_AUTO) == 0;
    snprintf(contender->route, sizeof contender->route, "%s", route);
    contender->ctx = strcmp(route, ROUTE_VENDOR) == 0 ? NULL : (lac_ctx_t *)(void *)&ctx;
    contender->call.route = is_auto ? NULL : contender->route;
    contender->decision =
        (lac_decision_t){.route = is_auto ? "event" : contender->route, .cost_us = predicted_us};
    contender->decision.side = is_auto ? "left" : "";
    bench.timed[BENCH_WARM][bench.contenders].sample = (double *)sample;
    bench.timed[BENCH_WARM][bench.contenders++].count = 3;
    return contender;
}

/* The median of the ratios within a round is neither their mean nor the ratio of the medians. */
static const double base[] = {40, 100, 200}, best[] = {20, 10, 40}, chosen[] = {22, 30, 41},
                    slow[] = {50, 60, 70}, faster[] = {1, 2, 3};

static void add_all(void)
{
    add(ROUTE_VENDOR, base, 0);
    add(ROUTE_AUTO, chosen, 7);
    add("csr", slow, 61);
    add("event", best, 11);
    add(ROUTE_VENDOR, faster, 0); /* called directly: no route of the library */
}

static void test_ratios(void **state)
{
    regret_t r;
    (void)state;
    add_all();
    assert_true(regret_judge(&r, &bench));
    assert_string_equal(r.problem, "sgemm:NN:1x2x3");
    assert_string_equal(r.best, "event");
    assert_string_equal(r.decided, "event left");
    expect_near(r.auto_us, 30);
    expect_near(r.best_us, 20);
    expect_near(r.base_us, 100);
    expect_near(r.over_best, 1.1);           /* 1.1, 3, 1.025    */
    expect_near(r.over_base, 0.3);           /* 0.55, 0.3, 0.205 */
    expect_near(r.over_promise, 30 / 102.0); /* 22 / 41.5, 30 / 102, 41 / 204 */
    assert_int_equal(r.contenders, 2);
    assert_string_equal(r.contender[0].route, "csr");
    expect_near(r.contender[0].us, 60);
    expect_near(r.contender[0].predicted_us, 61);
    assert_string_equal(r.contender[1].route, "event");
    expect_near(r.contender[1].us, 20);
    expect_near(r.contender[1].predicted_us, 11);
}

/* The dispatcher slower than the baseline: every ratio is above 1. */
static void test_slower_than_the_baseline(void **state)
{
    regret_t r;
    (void)state;
    add(ROUTE_VENDOR, best, 0);
    add(ROUTE_AUTO, slow, 0);
    add("csr", chosen, 0);
    assert_true(regret_judge(&r, &bench));
    assert_string_equal(r.best, "csr");
    expect_near(r.over_best, 2.0);          /* 50 / 22, 60 / 30, 70 / 41 */
    expect_near(r.over_base, 2.5);          /* 50 / 20, 60 / 10, 70 / 40 */
    expect_near(r.over_promise, 50 / 21.5); /* 50 / 21.5, 60 / 11.5, 70 / 41.5 */
}

/* The baseline may be the best route where it is one of the library's. */
static void test_best_is_the_baseline(void **state)
{
    regret_t r;
    (void)state;
    add("dense", best, 3);
    add(ROUTE_AUTO, chosen, 0);
    add("csr", slow, 0);
    assert_true(regret_judge(&r, &bench));
    assert_string_equal(r.best, "dense");
}

/* Results that are wrong, and routes that refused, have no time; those that are slow have. */
static void test_contenders_that_do_not_count(void **state)
{
    static const bench_status_t without[] = {BENCH_REFUSED, BENCH_WRONG, BENCH_FAILED};
    regret_t r;
    (void)state;
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        make_empty(NULL);
        add_all();
        bench.contender[3].status = without[i];
        assert_true(regret_judge(&r, &bench));
        assert_string_equal(r.best, "csr");
        assert_int_equal(r.contenders, 1);
        for (int contender = 0; contender < 3;
             contender++) { /* baseline, auto, the last route that is left */
            bench.contender[contender].status = without[i];
            assert_false(regret_judge(&r, &bench));
            bench.contender[contender].status = BENCH_OK;
        }
    }
    bench.contender[3].status = BENCH_SLOW;
    assert_true(regret_judge(&r, &bench));
    assert_string_equal(r.best, "event");
    bench.timed[BENCH_WARM][1].count = 0;
    assert_false(regret_judge(&r, &bench));
}

static void test_allowed(void **state)
{
    (void)state;
    expect_near(regret_over_allowed(11.5, 10), 1.0); /* 1.5 us are more than 2 % */
    expect_near(regret_over_allowed(23, 10), 2.0);
    expect_near(regret_over_allowed(10, 10), 10 / 11.5);
    expect_near(regret_over_allowed(76.5, 75), 1.0);   /* the same */
    expect_near(regret_over_allowed(1020, 1000), 1.0); /* 2 % are more */
    expect_near(regret_over_allowed(510, 1000), 0.5);
    expect_near(regret_over_allowed(3, 0), 2.0);
}

static void test_promise_broken(void **state)
{
    regret_t found[4] = {
        {.over_promise = 1.0}, {.over_promise = 1.001}, {.over_promise = 0.5}, {.over_promise = 3}};
    (void)state;
    assert_int_equal(regret_promise_broken(found, 4), 2);
    assert_int_equal(regret_promise_broken(found, 1), 0);
    assert_int_equal(regret_promise_broken(found, 0), 0);
}

/* One bad process of three, or one good one, decides nothing. */
static void test_the_process_in_the_middle_counts(void **state)
{
    static const double over[][REGRET_AGAIN] = {{0.9, 3, 1.1}, {3, 1.1, 0.9},   {1.1, 0.9, 3},
                                                {1.1, 1.1, 3}, {0.2, 1.1, 1.1}, {1.1, 1.1, 1.1}};
    (void)state;
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        regret_t found[REGRET_AGAIN];
        memset(found, 0, sizeof found);
        for (int j = 0; j < REGRET_AGAIN; j++) {
            found[j].over_promise = over[i][j];
            found[j].auto_us = 100.0 * over[i][j];
        }
        regret_t one = regret_middle(found);
        expect_near(one.over_promise, 1.1);
        expect_near(one.auto_us, 110.0);
        assert_int_equal(one.agains, REGRET_AGAIN);
        for (int j = 0; j < REGRET_AGAIN; j++) expect_near(one.again[j], over[i][j]);
    }
}

static void test_geometric_mean(void **state)
{
    static const double values[] = {0.5, 8.0, 2.0};
    (void)state;
    expect_near(geometric_mean(values, 3), 2.0);
    assert_true(geometric_mean(values, 0) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ratios, make_empty),
        cmocka_unit_test_setup(test_slower_than_the_baseline, make_empty),
        cmocka_unit_test_setup(test_best_is_the_baseline, make_empty),
        cmocka_unit_test(test_contenders_that_do_not_count),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_promise_broken),
        cmocka_unit_test(test_the_process_in_the_middle_counts),
        cmocka_unit_test(test_geometric_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
