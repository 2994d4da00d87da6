/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The planner at boundaries that single faults fell through: what a sparse route would have cost, remembered
 * densities, when a site is alike again, which of several times counts, extents in either order. */
#include "unit_support.h"
#include "planner/policy.h"
#include "planner/select.h"
#include "planner/site.h"
#include "planner/spmm_autotune.h"

#include <math.h>
#include <string.h>

static lac_refusal_t fits(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return LAC_FITS;
}

/* A route's name is its cost. */
static double cost_us(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)p, (void)machine;
    return (double)(route->name[0] - 'a');
}

static const lac_route_t cheap = {
    .name = "f", .role = LAC_ROLE_SPARSE, .side = LAC_SIDE_LEFT, .applicable = fits, .cost_us = cost_us};
static const lac_route_t dear = {
    .name = "u", .role = LAC_ROLE_SPARSE, .side = LAC_SIDE_RIGHT, .applicable = fits, .cost_us = cost_us};
static const lac_route_t tiled = {
    .name = "t", .role = LAC_ROLE_SPARSE, .side = LAC_SIDE_LEFT, .traits = LAC_ROUTE_ANY_DENSITY};
static const lac_route_t dense = {
    .name = "k", .role = LAC_ROLE_DENSE, .side = LAC_SIDE_NONE, .applicable = fits, .cost_us = cost_us};

/* The dense route that serves since predictions are doubted says so, whichever sparse route comes last. */
static void test_unproven(void **state)
{
    (void)state;
    static const lac_machine_t machine;
    const lac_route_t *const one[] = {&cheap, &dear, &dense}, *const other[] = {&dear, &cheap, &dense},
                             *const none[] = {&dear, &dense};
    const lac_preference_t doubts = {.sparse_doubt = 3.0};
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    lac_choice_t choice = lac_select(one, 3, &p, &machine, &doubts);
    assert_true(choice.route == &dense && choice.why == LAC_WHY_UNPROVEN);
    choice = lac_select(other, 3, &p, &machine, &doubts);
    assert_true(choice.route == &dense && choice.why == LAC_WHY_UNPROVEN);
    choice = lac_select(none, 2, &p, &machine, &doubts);
    assert_true(choice.route == &dense && choice.why == LAC_WHY_CHEAPEST);
}

/* Fuller than any that pays: by a sample or from memory, not by its owner's word, and of the route's side. */
static void test_too_dense(void **state)
{
    (void)state;
    lac_problem_t p = {.m = 1, .n = 1, .k = 1};
    p.a.density = 0.5, p.b.density = 0.1;
    static const struct {
        lac_source_t known;
        bool counts;
    } sources[] = {{LAC_KNOWN_REMEMBERED, true},
                   {LAC_KNOWN_PROBED, true},
                   {LAC_KNOWN_SCANNED, false},
                   {LAC_KNOWN_ATTACHED, false},
                   {LAC_KNOWN_FROZEN, false}};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        p.a.known = p.b.known = sources[i].known;
        assert_int_equal(lac_route_too_dense(&cheap, &p, 0.4), sources[i].counts);
        assert_false(lac_route_too_dense(&cheap, &p, 0.5));
        assert_false(lac_route_too_dense(&dear, &p, 0.4)); /* the right side */
        assert_false(lac_route_too_dense(&tiled, &p, 0.4));
        assert_false(lac_route_too_dense(&dense, &p, 0.01));
        assert_false(lac_route_too_dense(&cheap, &p, 0.0));
    }
}

/* A mixed site is alike again after 64 calls that were served, in that call and no later. */
static void test_alike_again(void **state)
{
    (void)state;
    lac_site_t site = {.turns = 2, .state = LAC_SITE_PROBED};
    for (int i = 1; i < 64; i++) {
        assert_int_equal(lac_site_next(&site, LAC_SITE_SERVED, true, 3), LAC_SITE_PROBED);
        assert_int_equal(site.turns, 2);
    }
    lac_site_next(&site, LAC_SITE_SERVED, true, 3);
    assert_int_equal(site.turns, 0);
    assert_int_equal(lac_site_next(&site, LAC_SITE_SERVED, true, 3), LAC_SITE_SPARSE);
}

/* A site that serves sparse is probed by its next call; a dense one backs off from the least wait, doubling.
 */
static void test_waits(void **state)
{
    (void)state;
    lac_site_t site = {0};
    lac_site_next(&site, LAC_SITE_SERVED, true, 3);
    assert_int_equal(site.countdown, 0);
    static const unsigned waits[] = {3, 6, 12};
    for (int i = 0; i < 3; i++) {
        lac_site_next(&site, LAC_SITE_NOT_PAYING, true, 3);
        assert_int_equal(site.countdown, waits[i]);
    }
    lac_site_next(&site, LAC_SITE_COMPARED, true, 3);
    assert_int_equal(site.countdown, 0);
    for (int i = 0; i < 60; i++) lac_site_next(&site, LAC_SITE_NOT_PAYING, true, 3);
    assert_int_equal(site.countdown, LAC_SITE_WAIT_MAX);
}

/* Of the first times the shortest counts; each belongs to its own site; what came back was asked for. */
static void test_times(void **state)
{
    (void)state;
    lac_spmm_autotune_t *autotune = NULL;
    lac_spmm_autotune_key_t key = {.m = 1}, another = {.m = 2};
    lac_spmm_autotune_site_t *site = lac_spmm_autotune_find(&autotune, &key, "one"),
                             *other = lac_spmm_autotune_find(&autotune, &another, "two");
    assert_true(site && other && site != other);
    lac_timing_tag_t tag = lac_spmm_autotune_tag(site, LAC_SPMM_OURS);
    lac_spmm_autotune_learn(autotune, &tag, 500.0); /* warms up */
    assert_int_equal(site->asked[LAC_SPMM_OURS], 1);
    lac_spmm_autotune_learn(autotune, &tag, 40.0);
    lac_spmm_autotune_learn(autotune, &tag, 90.0);
    assert_true(site->us[LAC_SPMM_OURS] == 40.0);
    assert_int_equal(site->runs[LAC_SPMM_OURS], 3);
    assert_int_equal(site->asked[LAC_SPMM_OURS], 3);
    assert_int_equal(site->runs[LAC_SPMM_VENDOR], 0);
    assert_int_equal(other->runs[LAC_SPMM_OURS], 0);
    assert_true(other->us[LAC_SPMM_OURS] == 0.0);
    lac_spmm_autotune_free(autotune);
}

static void test_frozen_extents(void **state)
{
    (void)state;
    lac_policy_t policy;
    bool known;
    lac_policy_load(&policy);
    assert_null(lac_policy_set(&policy, "frozen", "40x30,5x7", "a test", &known));
    assert_true(lac_policy_freezes(&policy, 40, 30) && lac_policy_freezes(&policy, 30, 40));
    assert_true(lac_policy_freezes(&policy, 7, 5));
    assert_false(lac_policy_freezes(&policy, 40, 7));
    assert_false(lac_policy_freezes(&policy, 40, 40));
    assert_non_null(lac_policy_set(&policy, "frozen", "4x0", "a test", &known));
    assert_non_null(lac_policy_set(&policy, "frozen", "0x4", "a test", &known));
}

/* The place of the largest difference: its row, then its column. */
static void test_place_of_difference(void **state)
{
    (void)state;
    enum { M = 3, K = 4, N = 5 };
    static float a[M * K], b[K * N], c[M * N];
    const float one = 1.0f, zero = 0.0f;
    lac_ctx_t *ctx = unit_ctx();
    unit_expect(lac_ctx_set(ctx, "compare", "reference"), LAC_OK, "compare");
    for (int i = 0; i < M * K; i++) a[i] = 1.0f;
    for (int i = 0; i < K * N; i++) b[i] = 2.0f;
    a[1 * K + 2] = 0.0f;
    b[2 * N + 4] =
        INFINITY; /* meets the only zero: the event route drops the product, NaN where it is kept */
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, M, K, a, K), ob = lac_obj_rowmajor(LAC_F32, K, N, b, N),
              oc = lac_obj_rowmajor(LAC_F32, M, N, c, N);
    lac_call_opts_t call = {.size = sizeof call, .route = "event"};
    (void)unit_log();
    unit_expect(lac_gemm_ex(ctx, &one, &oa, &ob, &zero, &oc, &call), LAC_OK, "product");
    unit_expect_text(unit_log(), "max difference inf at (1,4)");
    lac_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unproven),
                                       cmocka_unit_test(test_too_dense),
                                       cmocka_unit_test(test_alike_again),
                                       cmocka_unit_test(test_waits),
                                       cmocka_unit_test(test_times),
                                       cmocka_unit_test(test_frozen_extents),
                                       cmocka_unit_test(test_place_of_difference)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
