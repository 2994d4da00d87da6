/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a site learns over many calls: sparse is found and remembered, dense is left alone, and both may
 * change. */
#include "unit_support.h"
#include "base/status.h"
#include "planner/history.h"
#include "planner/timing.h"
#include "../interpose_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Short times long: sparse routes win by far while S is sparse, whatever the machine. */
enum { M = 4, K = 1024, N = 1024 };

/* Calls to a dense site that a test waits for. */
static int patience(void)
{
    return unit_quick() ? 300 : 3000;
}

typedef struct product {
    lac_ctx_t *ctx;
    float *s, *w, *out;
    lac_obj_t a, b, c;
    lac_decision_t last;
    lac_call_opts_t call;
} product_t;

static int setup(void **state)
{
    product_t *t = calloc(1, sizeof *t);
    t->ctx = unit_ctx();
    lac_machine_default(&t->ctx->machine);
    unit_expect(lac_ctx_set(t->ctx, "learn", "off"), LAC_OK, "learn"); /* the clock decides nothing here */
    unit_expect(lac_ctx_set(t->ctx, "threads", "1"), LAC_OK, "threads");
    t->s = calloc(M * K, sizeof *t->s);
    t->w = malloc(sizeof *t->w * K * N);
    t->out = malloc(sizeof *t->out * M * N);
    for (int i = 0; i < K * N; i++) t->w[i] = (float)(i % 7 - 3);
    t->a = lac_obj_rowmajor(LAC_F32, M, K, t->s, K);
    t->b = lac_obj_rowmajor(LAC_F32, K, N, t->w, N);
    t->c = lac_obj_rowmajor(LAC_F32, M, N, t->out, N);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    product_t *t = *state;
    lac_ctx_free(t->ctx);
    free(t->s), free(t->w), free(t->out), free(t);
    return 0;
}

static void fill(product_t *t, int every)
{
    for (int i = 0; i < M * K; i++) t->s[i] = every && i % every == 0 ? (float)(i % 5 + 1) : 0.0f;
}

/* One call, its result checked at a few elements; the name of the route that ran. */
static const char *run(product_t *t)
{
    t->call = (lac_call_opts_t){.size = sizeof t->call, .decision = &t->last};
    unit_expect(lac_gemm_ex(t->ctx, NULL, &t->a, &t->b, NULL, &t->c, &t->call), LAC_OK, "gemm");
    for (int at = 0; at < 5; at++) {
        int i = at % M, j = at * 211 % N;
        float sum = 0.0f; /* small integers: exact in any order */
        for (int k = 0; k < K; k++) sum += t->s[i * K + k] * t->w[k * N + j];
        if (sum != t->out[i * N + j])
            fail_msg("%s (%s): wrong at %d, %d", t->last.route, t->last.reason, i, j);
    }
    return t->last.route;
}

static lac_site_t *only_site(product_t *t)
{
    lac_site_t *found = NULL;
    for (uint32_t i = 0; i < t->ctx->sites.count; i++) {
        assert_null(found);
        found = lac_site_at(&t->ctx->sites, i);
    }
    assert_non_null(found);
    return found;
}

static bool serves_dense(const char *route)
{
    return !strcmp(route, "dense") || !strcmp(route, "native");
}

/* Which of the two takes less is a matter of tenths of a microsecond. */
static bool serves_sparse(const char *route)
{
    return !strcmp(route, "event") || !strcmp(route, "csr");
}

static void test_sparse_is_found_and_remembered(void **state)
{
    product_t *t = *state;
    fill(t, 501);
    assert_true(serves_sparse(run(t)));
    assert_string_equal(t->last.side, "left");
    assert_string_equal(t->last.known, "probed");
    for (int i = 0; i < 5; i++) {
        assert_true(serves_sparse(run(t)));
        assert_string_equal(t->last.known, "remembered");
        assert_true(t->last.density == 9.0 / (M * K)); /* counted, not sampled */
    }
    assert_int_equal(only_site(t)->probes, 1);
}

/* What serves by hysteresis, at a density a little beyond break-even, is not given up each time for that. */
static void test_what_is_chosen_is_not_given_up(void **state)
{
    product_t *t = *state;
    fill(t, 501);
    for (int i = 0; i < 2; i++) assert_true(serves_sparse(run(t)));
    only_site(t)->left.break_even = 0.95 * t->last.density;
    assert_true(serves_sparse(run(t)));
    fill(t, 1);
    assert_true(serves_dense(run(t)));
    assert_string_equal(t->last.reason, "denser than expected");
}

/* Both operands sparse, and the one that a route skips in turns full: its density is no longer believed, so
 * that its route is not taken and given up again at every call. */
static void test_a_side_that_turns_full_does_not_flap(void **state)
{
    enum { ROWS = 256, COLS = 256, GIVEN_UP = 2 };
    product_t *t = *state;
    int calls = unit_quick() ? 8 : 200;
    float *x = calloc(N * COLS, sizeof *x), *out = malloc(sizeof *out * ROWS * COLS);
    for (int i = 0; i < ROWS * N; i++) t->w[i] = i % 1999 ? 0.0f : 1.0f;
    for (int i = 0; i < N * COLS; i += 401) x[i] = 1.0f;
    t->ctx->tuned = true; /* either side is worth it, beyond any doubt */
    t->a = lac_obj_rowmajor(LAC_F32, ROWS, N, t->w, N);
    t->b = lac_obj_rowmajor(LAC_F32, N, COLS, x, COLS);
    t->c = lac_obj_rowmajor(LAC_F32, ROWS, COLS, out, COLS);
    int given_up = 0;
    for (int i = 0; i < calls; i++) {
        if (i == 3) {
            assert_string_equal(t->last.side, "left"); /* the sparser one */
            for (int j = 0; j < ROWS * N; j++) t->w[j] = 1.0f;
        }
        t->call = (lac_call_opts_t){.size = sizeof t->call, .decision = &t->last};
        unit_expect(lac_gemm_ex(t->ctx, NULL, &t->a, &t->b, NULL, &t->c, &t->call), LAC_OK, "gemm");
        given_up += !strcmp(t->last.reason, "denser than expected");
    }
    if (given_up < 1 || given_up > GIVEN_UP) fail_msg("%d of %d calls were given up", given_up, calls);
    assert_true(only_site(t)->left.density < 0.0); /* nobody counted it */
    free(x), free(out);
}

static double cost_of(const lac_decision_t *d, const char *route, const char *side)
{
    for (int i = 0; i < d->count; i++)
        if (!strcmp(d->candidate[i].route, route) && !strcmp(d->candidate[i].side, side))
            return d->candidate[i].cost_us;
    return -1.0;
}

/* Where both operands are sparse, the side that did not serve first stays in the choice. */
static void test_the_other_side_is_kept_in_mind(void **state)
{
    enum { COLS = 512 }; /* enough for the gain to be certain */
    product_t *t = *state;
    float *x = calloc(N * COLS, sizeof *x), *out = malloc(sizeof *out * K * COLS);
    for (int i = 0; i < K * N; i++) t->w[i] = i % 211 ? 0.0f : 1.0f;
    for (int i = 0; i < N * COLS; i += 53) x[i] = 1.0f;
    t->a = lac_obj_rowmajor(LAC_F32, K, N, t->w, N);
    t->b = lac_obj_rowmajor(LAC_F32, N, COLS, x, COLS);
    t->c = lac_obj_rowmajor(LAC_F32, K, COLS, out, COLS);
    for (int i = 0; i < 3; i++) {
        t->call = (lac_call_opts_t){.size = sizeof t->call, .decision = &t->last};
        unit_expect(lac_gemm_ex(t->ctx, NULL, &t->a, &t->b, NULL, &t->c, &t->call), LAC_OK, "gemm");
        if (cost_of(&t->last, "csr", "left") < 0.0) fail_msg("call %d: the left side is forgotten", i);
        if (cost_of(&t->last, "csr", "right") < 0.0) fail_msg("call %d: the right side is forgotten", i);
    }
    assert_int_equal(only_site(t)->probes, 1);
    free(x), free(out);
}

/* The site of the product as if called from `caller`, and the result of a probe there. */
static lac_site_t *probed_site(product_t *t, const void *caller, bool *sparse_candidate, lac_choice_t *choice)
{
    lac_problem_t p;
    lac_problem_describe(&p, 1.0f, &t->a, &t->b, 0.0f, &t->c);
    p.settings.threads = 1;
    lac_site_t *site = lac_history_site(t->ctx, &p, "test", caller);
    t->ctx->learned.spent_us = 1e9, site->calls = 60;
    site->countdown = 0, site->runs[site->dense_row] = 3; /* compared at once; the BLAS's product is known */
    *sparse_candidate = lac_history_fill_densities(t->ctx, site, &p);
    *choice = (lac_choice_t){t->ctx->routes[site->dense_row], site->dense_row, LAC_WHY_CHEAPEST,
                             site->dense_us, site->dense_us};
    lac_timing_trial(t->ctx, site, &p, false, choice);
    return site;
}

/* What the model predicts to lose by little is probed and tried; by much, left alone. */
static void test_near_losers_are_tried(void **state)
{
    product_t *t = *state;
    lac_choice_t choice;
    bool sparse_candidate;
    fill(t, 501);
    unit_expect(lac_ctx_set(t->ctx, "learn", "on"), LAC_OK, "learn");
    lac_site_t *site = probed_site(t, "pays", &sparse_candidate, &choice);
    assert_true(sparse_candidate && site->left.break_even > 0.0);
    double dense_us = site->dense_us;
    t->ctx->machine.route_us = 1.5 * dense_us;
    site = probed_site(t, "nearly", &sparse_candidate, &choice);
    assert_true(site->left.break_even <= 0.0 && site->left.probe_threshold > 0.0);
    assert_true(sparse_candidate);
    assert_int_equal(choice.why, LAC_WHY_TRIAL);
    assert_int_equal(choice.route->role, LAC_ROLE_SPARSE);
    t->ctx->machine.route_us = 2.5 * dense_us;
    site = probed_site(t, "never", &sparse_candidate, &choice);
    assert_true(site->left.probe_threshold <= 0.0 && !sparse_candidate && site->countdown > 1000);
    assert_true(choice.route->role != LAC_ROLE_SPARSE);
}

static void test_dense_backs_off(void **state)
{
    product_t *t = *state;
    fill(t, 1);
    for (int i = 0; i < 4; i++) assert_true(serves_dense(run(t))); /* most calls are declined, below */
    assert_true(serves_dense(run(t)));
    lac_site_t *site = only_site(t);
    for (int i = 0; i < patience(); i++) {
        lac_obj_t x = t->a;
        int computed = try_sgemm(t->ctx, LAC_NO_TRANS, LAC_NO_TRANS, N, M, K, 1.0f, t->w, N, t->s, K, 0.0f,
                                 t->out, N, "test", x.buf);
        assert_int_equal(computed, 0);
    }
    int sites = 0;
    for (uint32_t i = 0; i < t->ctx->sites.count; i++) {
        lac_site_t *at = lac_site_at(&t->ctx->sites, i);
        if (at == site) continue;
        sites++;
        assert_int_equal(at->calls, patience());
        assert_int_equal(at->declined_calls, patience());
        if (at->probes > 40) fail_msg("%d looks in %d calls", (int)at->probes, patience());
        assert_true(at->probes > 1); /* it does not stop looking either */
    }
    assert_int_equal(sites, 1);
}

static void test_becoming_dense_and_sparse_again(void **state)
{
    product_t *t = *state;
    fill(t, 501);
    for (int i = 0; i < 3; i++) assert_true(serves_sparse(run(t)));
    fill(t, 1);
    assert_true(serves_dense(run(t))); /* the scan gives up, and the result is right */
    assert_string_equal(t->last.reason, "denser than expected");
    for (int i = 0; i < 20; i++) assert_true(serves_dense(run(t)));
    fill(t, 501);
    int calls = 0;
    while (serves_dense(run(t)))
        if (++calls > 200) fail_msg("sparse again, and not found in %d calls", calls);
    assert_true(serves_sparse(run(t)));
}

/* Half empty is denser than break-even at one thread, but a forced route runs. */
static void test_forced_does_not_give_up(void **state)
{
    product_t *t = *state;
    fill(t, 1);
    unit_expect(lac_ctx_set(t->ctx, "backend", "event"), LAC_OK, "backend");
    for (int i = 0; i < 3; i++) {
        assert_string_equal(run(t), "event");
        assert_string_equal(t->last.reason, "forced");
    }
}

/* What a forced route that does not apply is replaced by rests on what is known, not on an assumption. */
static void test_forced_in_vain(void **state)
{
    product_t *t = *state;
    fill(t, 1);
    unit_expect(lac_ctx_set(t->ctx, "backend", "tiles"), LAC_OK, "backend");
    assert_true(serves_dense(run(t)));
    assert_string_equal(t->last.reason, "forced route does not apply");
    assert_true(t->last.density > 0.99); /* as sampled, and not as a forced route would have assumed */
}

/* The host's routes, of which some have no memory, and our own dense one is worth its while. */
enum { ROUTES_MAX = 32 };
static lac_route_t poor[ROUTES_MAX];
static const lac_route_t *poor_row[ROUTES_MAX];

static lac_status_t run_without_memory(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                                       lac_outcome_t *out)
{
    (void)exec, (void)p, (void)out;
    return lac_fail(LAC_ERR_MEMORY, "%s: no workspace", route->name);
}

static double cost_of_own(const lac_route_t *route, const lac_problem_t *p, const lac_machine_t *machine)
{
    (void)route, (void)p, (void)machine;
    return 20.0; /* 4 x 1024 x 1024: less than any BLAS takes, and more than 9 rows of W */
}

/* Where what is chosen lacks memory, our own dense kernel serves; where that lacks it, too, the vendor's. */
static void test_lack_of_memory(void **state)
{
    product_t *t = *state;
    const lac_route_t *const *all = t->ctx->routes;
    bool vendor = false;
    fill(t, 501);
    assert_true(serves_sparse(run(t)));
    assert_in_range(t->ctx->route_count, 1, ROUTES_MAX);
    for (int i = 0; i < t->ctx->route_count; i++) {
        poor[i] = *all[i], poor_row[i] = &poor[i];
        if (poor[i].role == LAC_ROLE_SPARSE) poor[i].run = run_without_memory;
        if (poor[i].role == LAC_ROLE_NATIVE) poor[i].role = LAC_ROLE_FAST, poor[i].cost_us = cost_of_own;
        for (int j = 0; j < t->last.count; j++)
            vendor |= poor[i].role == LAC_ROLE_DENSE && t->last.candidate[j].cost_us >= 0 &&
                      !strcmp(t->last.candidate[j].route, poor[i].name);
    }
    t->ctx->routes = poor_row;
    assert_string_equal(run(t), "native");
    assert_string_equal(t->last.reason, "no memory for the cheapest");
    if (!vendor) skip(); /* then nothing is left */
    for (int i = 0; i < t->ctx->route_count; i++)
        if (poor[i].role == LAC_ROLE_FAST) poor[i].run = run_without_memory;
    assert_string_equal(run(t), "dense");
    assert_string_equal(t->last.reason, "no memory for the cheapest");
}

/* A call with nothing to sum says nothing of those that have. */
static void test_first_call_with_alpha_0(void **state)
{
    product_t *t = *state;
    float zero = 0.0f;
    fill(t, 501);
    unit_expect(lac_gemm(t->ctx, &zero, &t->a, &t->b, NULL, &t->c), LAC_OK, "alpha = 0");
    assert_true(serves_sparse(run(t)));
}

static void test_detect_off(void **state)
{
    product_t *t = *state;
    fill(t, 501);
    unit_expect(lac_ctx_set(t->ctx, "detect", "off"), LAC_OK, "detect");
    for (int i = 0; i < 3; i++) assert_true(serves_dense(run(t)));
    assert_int_equal(only_site(t)->probes, 0);
    unit_expect(lac_ctx_set(t->ctx, "detect", "probe"), LAC_OK, "detect");
    assert_true(serves_sparse(run(t)));
}

/* Options change what pays: a site that had nothing to probe for is probed again. */
static void test_options_make_sites_anew(void **state)
{
    product_t *t = *state;
    fill(t, 501);
    unit_expect(lac_ctx_set(t->ctx, "nan", "strict"), LAC_OK, "nan");
    for (int i = 0; i < 3; i++) assert_true(serves_dense(run(t)));
    unit_expect(lac_ctx_set(t->ctx, "nan", "fast"), LAC_OK, "nan");
    assert_true(serves_sparse(run(t)));
}

/* A scan of an operand that has changed since is a hint, and found to be wrong once. */
static void test_stale_hint(void **state)
{
    product_t *t = *state;
    lac_meta_t *meta;
    int wrong = 0;
    fill(t, 501);
    unit_expect(lac_meta_create(&meta, M, K), LAC_OK, "create");
    t->a.meta = meta;
    unit_expect(lac_meta_scan(t->ctx, &t->a, LAC_META_DENSITY), LAC_OK, "scan");
    assert_true(serves_sparse(run(t)));
    assert_string_equal(t->last.known, "scanned");
    fill(t, 1);
    for (int i = 0; i < 20; i++) {
        assert_true(serves_dense(run(t)));
        wrong += !strcmp(t->last.reason, "denser than expected");
    }
    if (wrong > 1) fail_msg("the hint was believed %d times after it had changed", wrong);
    lac_meta_free(meta);
}

/* Explaining looks, and leaves the history as it was. */
static void test_explain_teaches_nothing(void **state)
{
    product_t *t = *state;
    lac_decision_t decision;
    fill(t, 1);
    for (int i = 0; i < 4; i++) run(t);
    lac_site_t *site = only_site(t), before = *site;
    fill(t, 501);
    unit_expect(lac_explain(t->ctx, NULL, &t->a, &t->b, NULL, &t->c, NULL, &decision), LAC_OK, "explain");
    assert_true(serves_sparse(decision.route));
    assert_string_equal(decision.known, "probed");
    assert_true(site->calls == before.calls && site->wait == before.wait &&
                site->countdown == before.countdown && site->route == before.route);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sparse_is_found_and_remembered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_chosen_is_not_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_side_that_turns_full_does_not_flap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_other_side_is_kept_in_mind, setup, teardown),
        cmocka_unit_test_setup_teardown(test_near_losers_are_tried, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dense_backs_off, setup, teardown),
        cmocka_unit_test_setup_teardown(test_becoming_dense_and_sparse_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forced_does_not_give_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forced_in_vain, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lack_of_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_call_with_alpha_0, setup, teardown),
        cmocka_unit_test_setup_teardown(test_detect_off, setup, teardown),
        cmocka_unit_test_setup_teardown(test_options_make_sites_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stale_hint, setup, teardown),
        cmocka_unit_test_setup_teardown(test_explain_teaches_nothing, setup, teardown)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
