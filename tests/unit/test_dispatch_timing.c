/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What measured times teach a site, with made-up routes and times. */
#include "unit_support.h"
#include "planner/timing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static lac_refusal_t applicable(const lac_route_t *route, const lac_problem_t *p)
{
    (void)p;
    return route->name[0] == '-' ? LAC_REFUSED_NO_FORMAT : LAC_FITS;
}

/* The cost is in the name: "a7" costs 7. */
static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)p, (void)machine;
    return route->name[1] - '0';
}

#define ROUTE(name, role, side)                                                                              \
    {                                                                                                        \
        name, role, side, applicable, cost_us, NULL, NULL, NULL, false                                       \
    }

static const lac_route_t sparse = ROUTE("s4", LAC_ROLE_SPARSE, LAC_SIDE_LEFT),
                         contender = ROUTE("r5", LAC_ROLE_SPARSE, LAC_SIDE_RIGHT),
                         refused = ROUTE("-1", LAC_ROLE_SPARSE, LAC_SIDE_LEFT),
                         oracle = ROUTE("o1", LAC_ROLE_ORACLE, LAC_SIDE_NONE),
                         dense = ROUTE("d6", LAC_ROLE_DENSE, LAC_SIDE_NONE);
static const lac_route_t *const table[] = {&sparse, &contender, &refused, &oracle, &dense};
enum { SPARSE, CONTENDER, REFUSED, ORACLE, DENSE, COUNT };

static lac_ctx_t context(bool learn)
{
    lac_ctx_t ctx = {.routes = table, .route_count = COUNT};
    ctx.policy.learn = learn;
    return ctx;
}

static lac_ctx_t taught; /* whose time the runs below count for, where it does not matter */

/* Runs route `row` whose true time is `truth` times what the model says of it. */
static bool teach(lac_site_t *site, int row, double truth)
{
    double model = cost_us(table[row], NULL, NULL);
    return lac_timing_learn(&taught, site, row, model, truth * model);
}

static void expect_factor(const lac_site_t *site, int row, double want, double within)
{
    double got = (double)site->factor[row];
    if (!(fabs(got - want) <= within * want)) fail_msg("row %d: factor %g, expected %g", row, got, want);
}

static void test_converges(void **state)
{
    (void)state;
    static const double truths[] = {0.2, 0.9, 1.0, 1.5, 8.0};
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++) {
        lac_site_t site = {0};
        assert_false(teach(&site, SPARSE, 100.0)); /* the first run is cold */
        assert_true(site.factor[SPARSE] == 0.0f);
        assert_false(teach(&site, SPARSE, truths[i] * 5.0)); /* one run alone may have been interrupted */
        assert_true(site.factor[SPARSE] == 0.0f);
        assert_true(teach(&site, SPARSE, truths[i])); /* known now: worth finding break-even again */
        for (int run = 0; run < 50; run++) assert_false(teach(&site, SPARSE, truths[i]));
        expect_factor(&site, SPARSE, truths[i], 1e-5);
        assert_true(site.factor[DENSE] == 0.0f);
    }
}

/* Noise only ever adds: an interrupted call moves little, and the truth returns. */
static void test_outliers(void **state)
{
    (void)state;
    lac_site_t site = {0};
    for (int i = 0; i < 10; i++) teach(&site, DENSE, 1.0);
    teach(&site, DENSE, 1000.0);
    assert_true(site.factor[DENSE] < 1.1f);
    for (int i = 0; i < 20; i++) teach(&site, DENSE, 1.0);
    expect_factor(&site, DENSE, 1.0, 0.01);
}

static void test_follows_a_change(void **state)
{
    (void)state;
    lac_site_t site = {0};
    bool reported = false;
    for (int i = 0; i < 10; i++) teach(&site, DENSE, 1.0);
    for (int i = 0; i < 200; i++) reported |= teach(&site, DENSE, 3.0);
    expect_factor(&site, DENSE, 3.0, 0.1);
    assert_true(reported);
    reported = false;
    for (int i = 0; i < 50; i++) reported |= teach(&site, DENSE, 0.5);
    expect_factor(&site, DENSE, 0.5, 0.05);
    assert_true(reported);
}

static void test_no_row(void **state)
{
    (void)state;
    lac_site_t site = {0};
    assert_false(lac_timing_learn(&taught, &site, -1, 1.0, 1.0));
    assert_false(lac_timing_learn(&taught, &site, LAC_ROUTES_MAX, 1.0, 1.0));
    assert_false(lac_timing_learn(&taught, &site, 0, 0.0, 1.0));
    assert_true(site.spent_us == 3.0);
}

/* What a call comes to that the route in `row` would serve. */
static lac_choice_t served(lac_ctx_t *ctx, lac_site_t *site, int row)
{
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    lac_choice_t choice = {table[row], row, LAC_WHY_CHEAPEST, 6.0, 6.0};
    lac_timing_trial(ctx, site, &p, false, &choice);
    return choice;
}

static lac_choice_t tried(lac_ctx_t *ctx, lac_site_t *site)
{
    return served(ctx, site, DENSE);
}

static void test_trials(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(true), off = context(false), poor = context(true);
    ctx.learned.spent_us = off.learned.spent_us = 1e6;
    poor.learned.spent_us = 500.0;
    lac_site_t site = {.calls = 100, .dense_row = DENSE, .runs = {[DENSE] = 3}};
    assert_ptr_equal(tried(&off, &site).route, &dense);
    lac_site_t unmeasured = {.calls = 100, .dense_row = DENSE, .runs = {[DENSE] = 2}};
    assert_ptr_equal(tried(&ctx, &unmeasured).route, &dense);
    assert_ptr_equal(tried(&poor, &site).route,
                     &dense); /* 1 % of 500 us is less than the 6 that are at risk */
    lac_choice_t choice = tried(&ctx, &site);
    assert_ptr_equal(choice.route, &sparse);
    assert_int_equal(choice.row, SPARSE);
    assert_int_equal(choice.why, LAC_WHY_TRIAL);
    assert_true(choice.cost_us == 4.0 &&
                site.tried_us == 6.0); /* three times as slow as predicted, against 6 */
    assert_true(ctx.learned.charged_us == 6.0);
    const lac_route_t *never[] = {&refused, &oracle};
    for (int i = 0; i < 50; i++) {
        choice = tried(&ctx, &site);
        if (choice.why != LAC_WHY_TRIAL) break;
        assert_ptr_not_equal(choice.route, never[0]);
        assert_ptr_not_equal(choice.route, never[1]);
        teach(&site, choice.row, 1.0);
    }
    assert_int_equal(choice.why, LAC_WHY_CHEAPEST); /* all are known: no more trials */
    assert_int_equal(site.runs[SPARSE], 3);
    assert_int_equal(site.runs[CONTENDER], 3);
}

/* Our dense kernel, cheapest by its prediction, is never tried where the call would be left to the caller's
 * BLAS all the same: it would stand before every other route for ever. */
static void test_no_trial_of_what_the_caller_serves(void **state)
{
    (void)state;
    static const lac_route_t native = ROUTE("n2", LAC_ROLE_NATIVE, LAC_SIDE_NONE);
    static const lac_route_t *const with_native[] = {&sparse, &contender, &refused, &oracle, &dense, &native};
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    for (int may_decline = 0; may_decline < 2; may_decline++) {
        lac_ctx_t ctx = context(true);
        ctx.routes = with_native;
        ctx.route_count = COUNT + 1;
        ctx.learned.spent_us = 1e6;
        lac_site_t site = {.calls = 100, .dense_row = DENSE, .runs = {[DENSE] = 3}};
        lac_choice_t choice = {&dense, DENSE, LAC_WHY_CHEAPEST, 6.0, 6.0};
        assert_true(lac_timing_trial(&ctx, &site, &p, may_decline, &choice));
        assert_ptr_equal(choice.route, may_decline ? &sparse : &native);
    }
}

/* Of the calls that the vendor's product serves on the host, fewer and fewer learn: none rests before its
 * time is known, where another route serves, or where the call was probed. */
static void test_rests(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(true), off = context(false);
    lac_site_t site = {.route = &dense, .dense_row = DENSE, .runs = {[DENSE] = 3}};
    int learn[3] = {0};
    unsigned epoch, same;
    for (site.calls = 1; site.calls <= 10240; site.calls++) {
        bool rests = lac_timing_rests(&ctx, &site);
        if (site.calls < 32) assert_false(rests);
        learn[(site.calls > 128) + (site.calls > 1024)] += !rests;
        assert_true(lac_timing_weighs(&ctx, &site, &epoch) == !rests);
        site.learned += 9;
        lac_timing_weighs(&ctx, &site, &same);
        assert_int_equal(epoch, same); /* what was weighed stands until the next that learns */
        assert_false(lac_timing_rests(&off, &site));
    }
    assert_in_range(learn[0], 48, 96);
    assert_in_range(learn[1], 32, 64);
    assert_int_equal(learn[2], (10240 - 1024) / 64);
    site.calls = 10239;
    assert_true(lac_timing_rests(&ctx, &site));
    ctx.learned.spent_us = 1e6;
    assert_int_equal(tried(&ctx, &site).why, LAC_WHY_CHEAPEST);
    site.probed = true;
    assert_false(lac_timing_rests(&ctx, &site));
    assert_int_equal(tried(&ctx, &site).why, LAC_WHY_TRIAL); /* its density is known in this call alone */
    site.probed = false;
    site.runs[DENSE] = 2;
    assert_false(lac_timing_rests(&ctx, &site));
    site.runs[DENSE] = 3, site.route = &sparse;
    assert_false(lac_timing_rests(&ctx, &site));
}

/* A vendor's product that is predicted to take about as long as what serves loses little where it is tried:
 * it waits for a tenth of its time to be affordable, the others for all of theirs. */
static void test_a_close_vendor_is_tried_early(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(true);
    lac_site_t site = {.calls = 100, .route = &sparse, .dense_row = DENSE};
    ctx.learned.spent_us = 59.0;
    assert_int_equal(served(&ctx, &site, SPARSE).why, LAC_WHY_CHEAPEST);
    ctx.learned.spent_us = 61.0;
    lac_choice_t choice = served(&ctx, &site, SPARSE);
    assert_int_equal(choice.row, DENSE);
    assert_int_equal(choice.why, LAC_WHY_TRIAL);
    assert_true(choice.cost_us == 6.0 && fabs(site.tried_us - 0.6) < 1e-9);
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    lac_site_t far = {
        .calls = 100, .route = &sparse, .dense_row = DENSE}; /* 3 against 6: a trial would lose 3 */
    ctx.learned.charged_us = 0.0;
    ctx.learned.spent_us = 290.0;
    lac_choice_t cheap = {&sparse, SPARSE, LAC_WHY_CHEAPEST, 3.0, 6.0};
    assert_false(lac_timing_trial(&ctx, &far, &p, false, &cheap));
    ctx.learned.spent_us = 310.0;
    assert_true(lac_timing_trial(&ctx, &far, &p, false, &cheap));
    assert_int_equal(cheap.row, DENSE);
    assert_true(far.tried_us == 3.0);
}

/* A route half as fast as the model says is found to be just that by its trials, not a quarter. */
static void test_trials_find_the_truth(void **state)
{
    (void)state;
    static const double truths[] = {0.25, 0.5, 1.0, 2.0, 2.9};
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++) {
        lac_ctx_t ctx = context(true);
        ctx.learned.spent_us = 1e6;
        lac_site_t site = {.calls = 100, .dense_row = DENSE, .runs = {[DENSE] = 3}};
        for (int run = 0; run < 20; run++) {
            double factor = (double)site.factor[SPARSE];
            lac_choice_t choice = tried(&ctx, &site);
            if (choice.why != LAC_WHY_TRIAL) continue;
            if (choice.row == SPARSE && factor > 0.0) assert_true(choice.cost_us == 4.0 * factor);
            teach(&site, choice.row, truths[i]);
        }
        expect_factor(&site, SPARSE, truths[i], 1e-5);
    }
}

/* One call's turn for what lost before; true where break-even densities have to be found anew. */
static bool penalty_reset(lac_ctx_t *ctx, lac_site_t *site)
{
    return lac_timing_reset_penalty_due(ctx, site) && lac_timing_reset_penalty(ctx, site);
}

/* A route whose first measurements fell into a bad moment gets another chance, and is then seen as it is. */
static void test_losers_are_tried_again(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(true);
    ctx.learned.spent_us = 1e6;
    lac_site_t site = {.calls = 10, .spent_us = 1e6, .route = &sparse, .dense_row = DENSE};
    for (int i = 0; i < 3; i++) teach(&site, SPARSE, 2.0), teach(&site, CONTENDER, 2.0);
    for (int i = 0; i < 3; i++) teach(&site, DENSE, 2.0);
    assert_int_equal(served(&ctx, &site, SPARSE).why, LAC_WHY_CHEAPEST);
    int trials = 0;
    for (site.calls = 10; site.calls < 1000; site.calls++) {
        assert_false(penalty_reset(&ctx, &site));
        lac_choice_t choice = served(&ctx, &site, SPARSE);
        if (choice.why != LAC_WHY_TRIAL) continue;
        trials++;
        teach(&site, choice.row, 1.0);
    }
    expect_factor(&site, SPARSE, 2.0, 1e-5);
    expect_factor(&site, CONTENDER, 1.0, 1e-5);
    expect_factor(&site, DENSE, 1.0, 1e-5);
    assert_int_equal(trials, 2 * 2 * 2); /* at 64 and 256 calls, two runs of two routes */
}

/* What served for long and lost is measured again as soon as at a new site; what only had its turn waits on.
 */
static void test_what_served_returns_soon(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(true);
    lac_site_t site = {
        .calls = 5000, .spent_us = 1e6, .route = &sparse, .again_at = 16384, .sparse_from = 4000};
    lac_timing_lost(&site);
    site.route = &dense;
    static const uint64_t due[] = {5000 + 64, 5000 + 256, 5000 + 1024};
    for (size_t i = 0; i < sizeof due / sizeof *due; i++) {
        site.calls = due[i] - 1;
        assert_false(lac_timing_reset_penalty_due(&ctx, &site));
        site.sparse_from = site.calls - 10; /* it had its turn and lost */
        lac_timing_lost(&site);
        site.calls = due[i];
        assert_true(lac_timing_reset_penalty_due(&ctx, &site));
        lac_timing_reset_penalty(&ctx, &site);
    }
    site.sparse_from = 0; /* no sparse route serves */
    lac_timing_lost(&site);
    assert_false(lac_timing_reset_penalty_due(&ctx, &site));
}

/* Where the dense route serves, nothing is known of any density, and no sparse route can be tried: what they
 * lost by is forgotten, so that a probe finds them. */
static void test_losers_are_looked_for(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(true), off = context(false);
    lac_site_t site = {.calls = 63, .spent_us = 1e4, .dense_us = 6.0, .route = &dense};
    for (int i = 0; i < 3; i++)
        teach(&site, SPARSE, 4.0), teach(&site, DENSE, 2.0), teach(&site, CONTENDER, 0.5);
    assert_false(penalty_reset(&ctx, &site));
    site.calls = 64;
    assert_false(penalty_reset(&off, &site));
    assert_true(penalty_reset(&ctx, &site));
    assert_true(site.factor[SPARSE] == 0.0f);
    expect_factor(&site, CONTENDER, 0.5,
                  1e-5); /* faster than the model says: that is no moment of the machine */
    expect_factor(&site, DENSE, 2.0, 1e-5);
    assert_false(penalty_reset(&ctx, &site));
    teach(&site, SPARSE, 9.0);
    assert_true(teach(&site, SPARSE, 4.0)); /* two runs teach again */
    expect_factor(&site, SPARSE, 4.0, 1e-5);
}

/* A route that loses each time is not penalty_reset for more than its share of the time. */
static void test_losers_have_a_budget(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(true);
    lac_site_t site = {.dense_us = 6.0, .route = &dense};
    double lost = 0.0;
    int runs = 0;
    for (int i = 0; i < 3; i++) teach(&site, DENSE, 1.0);
    for (site.calls = 1; site.calls < 100000; site.calls++) {
        penalty_reset(&ctx, &site);
        bool again = site.factor[SPARSE] <= 0.0f; /* a probe finds it sparse, and 4 us as the model has it */
        teach(&site, again ? SPARSE : DENSE, again ? 100.0 : 1.0);
        lost += again ? 400.0 - 6.0 : 0.0, runs += again;
    }
    if (lost > 0.02 * site.spent_us) fail_msg("%g us lost of %g", lost, site.spent_us);
    assert_true(site.lost_us > 0.0);
    assert_true(site.lost_us <= 2.0 * 6.0 * runs + 1e-6); /* a run counts for three dense ones at most */
}

/* All sites share one budget: what one has charged the others cannot. What a trial lost in truth replaces
 * what it might have lost. */
static void test_the_budget_is_shared(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(true);
    lac_site_t one = {.calls = 100, .dense_row = DENSE, .runs = {[DENSE] = 3}}, other = one;
    ctx.learned.spent_us = 700.0; /* 7 to spend, and 6 at risk each time */
    assert_int_equal(tried(&ctx, &one).why, LAC_WHY_TRIAL);
    assert_int_equal(tried(&ctx, &other).why, LAC_WHY_CHEAPEST);
    lac_timing_settle(&ctx, 8.0, 6.0);
    assert_true(ctx.learned.charged_us == 2.0);
    assert_int_equal(tried(&ctx, &other).why, LAC_WHY_CHEAPEST);
    ctx.learned.spent_us = 801.0;
    assert_int_equal(tried(&ctx, &other).why, LAC_WHY_TRIAL);
    lac_timing_settle(&ctx, 3.0, 6.0); /* it won */
    assert_true(ctx.learned.charged_us == 2.0);
    lac_timing_settle(&ctx, 5.0, 0.0); /* no trial, but a scan in vain */
    assert_true(ctx.learned.charged_us == 7.0);
}

/* What the vendor's products take at some sites is expected at all, kind by kind, once a few were timed. */
static void test_dense_products_teach_all_sites(void **state)
{
    (void)state;
    static const lac_backend_t host = {.name = "host"};
    lac_ctx_t ctx = context(true);
    ctx.backend = &host;
    lac_problem_t vector = {.m = 1, .n = 9, .k = 9}, square = {.m = 900, .n = 900, .k = 900};
    lac_preference_t of_vector = {0}, of_square = {0};
    for (int i = 0; i < 3; i++) {
        lac_timing_prefer(&ctx, NULL, &vector, &of_vector);
        assert_true(of_vector.dense_factor == 0.0);
        lac_timing_learn_dense(&ctx, &vector, 6.0, i ? 3.0 : 30.0); /* the first is cold */
    }
    lac_timing_prefer(&ctx, NULL, &vector, &of_vector);
    lac_timing_prefer(&ctx, NULL, &square, &of_square);
    assert_true(of_vector.dense_factor == 0.5 && of_square.dense_factor == 0.0);
    assert_true(of_vector.dense_doubt < of_square.dense_doubt && of_vector.dense_doubt > 1.0);
    assert_int_equal(ctx.learned.dense_epoch, 1);
    for (int i = 0; i < 100; i++) lac_timing_learn_dense(&ctx, &vector, 6.0, 3.0);
    assert_int_equal(ctx.learned.dense_epoch, 1); /* nothing new */
    for (int i = 0; i < 100; i++) lac_timing_learn_dense(&ctx, &vector, 6.0, 1.0);
    assert_true(ctx.learned.dense_epoch > 1);
    lac_timing_prefer(&ctx, NULL, &vector, &of_vector);
    assert_true(of_vector.dense_factor < 0.25);
    ctx.policy.learn = false;
    lac_timing_prefer(&ctx, NULL, &vector, &of_vector);
    assert_true(of_vector.dense_factor == 0.0 && of_vector.dense_doubt == of_square.dense_doubt);
    ctx.tuned = true;
    lac_timing_prefer(&ctx, NULL, &vector, &of_vector);
    assert_true(of_vector.dense_doubt < of_square.dense_doubt);
}

static void test_wants(void **state)
{
    (void)state;
    lac_ctx_t ctx = context(true), off = context(false);
    lac_site_t site = {.calls = 1, .state = LAC_SITE_DENSE};
    assert_true(lac_timing_wants(&ctx, &site, DENSE, site.calls));
    assert_false(lac_timing_wants(&off, &site, DENSE, site.calls));
    assert_false(lac_timing_wants(&ctx, &site, -1, site.calls));
    assert_false(lac_timing_wants(&ctx, &site, LAC_ROUTES_MAX, site.calls));
    for (int i = 0; i < 3; i++) teach(&site, DENSE, 1.0);
    site.calls = 256;
    assert_false(lac_timing_wants(&ctx, &site, DENSE, site.calls)); /* known, and nothing could pay there */
    site.left.break_even = 0.1;
    int wanted = 0;
    for (site.calls = 0; site.calls < 1024; site.calls++)
        wanted += lac_timing_wants(&ctx, &site, DENSE, site.calls);
    assert_int_equal(wanted, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_converges),
                                       cmocka_unit_test(test_outliers),
                                       cmocka_unit_test(test_follows_a_change),
                                       cmocka_unit_test(test_no_row),
                                       cmocka_unit_test(test_trials),
                                       cmocka_unit_test(test_a_close_vendor_is_tried_early),
                                       cmocka_unit_test(test_no_trial_of_what_the_caller_serves),
                                       cmocka_unit_test(test_rests),
                                       cmocka_unit_test(test_trials_find_the_truth),
                                       cmocka_unit_test(test_losers_are_tried_again),
                                       cmocka_unit_test(test_what_served_returns_soon),
                                       cmocka_unit_test(test_losers_are_looked_for),
                                       cmocka_unit_test(test_losers_have_a_budget),
                                       cmocka_unit_test(test_the_budget_is_shared),
                                       cmocka_unit_test(test_dense_products_teach_all_sites),
                                       cmocka_unit_test(test_wants)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
