/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A site on a device, where samples answer late: it asks again instead of waiting, is sampled anew now and
 * then while a sparse route serves it, and backs off where it was found dense. */
#include "fake_device.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 4, K = 1024, LONG = 768 };

static int m, n;
static float *a, *b, *c;
static int asked, late; /* samples, and how many of the next find no answer */
static double answer;

static int64_t sample(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                      lac_sample_t *out, uint64_t seed, const void *tag, bool first)
{
    (void)exec, (void)seed, (void)first;
    assert_non_null(tag);
    assert_true(x->buf == a || x->buf == b); /* the whole of it */
    assert_int_equal(rows, x->buf == a ? m : K);
    assert_int_equal(cols, x->buf == a ? K : n);
    asked++;
    if (late && late--) out->looked = 0;
    return (int64_t)(answer * (double)out->looked);
}

static int setup(void **state)
{
    lac_ctx_t *ctx = fake_device_ctx();
    lac_backend_t *backend = fake_device_backend();
    backend->asynchronous = true;
    backend->sample = sample;
    lac_machine_default(&ctx->machine);
    unit_expect(lac_ctx_set(ctx, "threads", "1"), LAC_OK, "threads");
    m = SHORT, n = LONG;
    a = calloc(LONG * K, sizeof *a), b = calloc(K * LONG, sizeof *b), c = calloc(SHORT * LONG, sizeof *c);
    for (int i = 0; i < SHORT * K; i += 509) a[i] = 1.0f;
    asked = late = 0;
    *state = ctx;
    return 0;
}

static int teardown(void **state)
{
    lac_ctx_free(*state);
    free(a), free(b), free(c);
    return 0;
}

/* The host's routes, which count nothing on their way, as those of a device. */
enum { ROUTES_MAX = 32 };
static lac_route_t blind[ROUTES_MAX];
static const lac_route_t *blind_row[ROUTES_MAX], *const *seeing;

static lac_status_t run_blind(const lac_route_t *route, lac_exec_t *exec, const lac_problem_t *p,
                              lac_outcome_t *out)
{
    const lac_route_t *of_host = seeing[route - blind];
    lac_status_t status = of_host->run(of_host, exec, p, out);
    out->density = out->k_active = -1.0;
    return status;
}

static void count_nothing(lac_ctx_t *ctx)
{
    assert_in_range(ctx->route_count, 1, ROUTES_MAX);
    seeing = ctx->routes;
    for (int i = 0; i < ctx->route_count; i++) {
        blind[i] = *seeing[i];
        blind[i].run = run_blind;
        blind_row[i] = &blind[i];
    }
    ctx->routes = blind_row;
}

static lac_decision_t call_for(lac_ctx_t *ctx, const char *route)
{
    lac_obj_t oa = fake_device_matrix(m, K, a), ob = fake_device_matrix(K, n, b),
              oc = fake_device_matrix(m, n, c);
    lac_decision_t decision;
    lac_call_opts_t settings = {.size = sizeof settings, .decision = &decision, .route = route};
    unit_expect(lac_gemm_ex(ctx, NULL, &oa, &ob, NULL, &oc, &settings), LAC_OK, "gemm");
    return decision;
}

static lac_decision_t call(lac_ctx_t *ctx)
{
    return call_for(ctx, NULL);
}

static lac_site_t *only_site(const lac_ctx_t *ctx)
{
    if (ctx->sites.count) return lac_site_at(&ctx->sites, 0);
    fail_msg("no site");
    return NULL;
}

static bool is_sparse(const lac_decision_t *decision)
{
    return *decision->side != '\0';
}

static void test_asks_again(void **state)
{
    late = 1000, answer = 0.002;
    for (int i = 1; i <= 5; i++) {
        lac_decision_t decision = call(*state);
        assert_false(is_sparse(&decision));
        assert_true(asked >= i); /* each call asks what nobody has answered */
        assert_true(only_site(*state)->left.pending || only_site(*state)->right.pending);
        assert_int_equal(only_site(*state)->countdown, 0);
    }
    late = 0;
    lac_decision_t decision = call(*state);
    assert_true(is_sparse(&decision));
    assert_string_equal(decision.known, "probed");
    assert_false(only_site(*state)->left.pending);
}

static void test_backs_off(void **state)
{
    answer = 0.9;
    lac_decision_t decision = call(*state);
    assert_false(is_sparse(&decision));
    int before = asked;
    assert_true(only_site(*state)->countdown > 0);
    decision = call(*state);
    assert_false(is_sparse(&decision));
    assert_int_equal(asked, before);
}

static void sampled_anew(lac_ctx_t *ctx, const char *side)
{
    answer = 0.002;
    lac_decision_t decision = call(ctx);
    assert_string_equal(decision.side, side);
    const lac_site_t *site = only_site(ctx);
    const lac_seen_t *seen = !strcmp(side, "left") ? &site->left : &site->right;
    int before = asked, waited = 1;
    late = 2;
    while (call(ctx), asked == before) waited++; /* remembered */
    assert_in_range(waited, 4, 63);              /* the gain pays for more than one in 64 */
    assert_true(seen->pending);
    assert_int_equal(asked, before + 1); /* nothing of the operand in which no route skips */
    call(ctx);
    assert_int_equal(asked, before + 2); /* asks until it is answered */
    late = 0, answer = 0.004;
    call(ctx);
    assert_false(seen->pending);
    before = asked;
    call(ctx);
    assert_int_equal(asked, before);
}

static void test_is_sampled_anew(void **state)
{
    sampled_anew(*state, "left");
}

static void test_is_sampled_anew_on_the_right(void **state)
{
    m = LONG, n = SHORT;
    sampled_anew(*state, "right");
}

/* What a sparse route was chosen for is what it goes on with, though it counts nothing. */
static void test_what_nobody_counts_is_remembered(void **state)
{
    count_nothing(*state);
    sampled_anew(*state, "left");
    assert_true(only_site(*state)->left.density > 0.003); /* of the 0.004 that were answered last */
}

/* A route that is forced assumes a density where none is known. Nobody else believes it. */
static void test_what_is_assumed_is_not_remembered(void **state)
{
    lac_ctx_t *ctx = *state;
    count_nothing(ctx);
    unit_expect(lac_ctx_set(ctx, "detect", "off"), LAC_OK, "detect");
    for (int i = 0; i < 3; i++) {
        lac_decision_t decision = call_for(ctx, "event");
        assert_string_equal(decision.route, "event");
        assert_string_equal(decision.known, "none");
        assert_true(only_site(ctx)->left.density < 0);
    }
    lac_decision_t decision = call(ctx);
    assert_false(is_sparse(&decision));
    assert_true(decision.density < 0);
    assert_int_equal(asked, 0);
}

/* Where samples may be taken, the next call takes one, so that the forced route is cut for what there is. */
static void test_what_is_assumed_is_sampled(void **state)
{
    lac_ctx_t *ctx = *state;
    count_nothing(ctx);
    answer = 0.9;
    call(ctx);
    assert_true(only_site(ctx)->countdown > 0); /* dense, and not to be sampled again for now */
    int before = asked;
    assert_string_equal(call_for(ctx, "event").known, "none");
    assert_int_equal(asked, before);
    answer = 0.25, late = 1;
    assert_string_equal(call_for(ctx, "event").known, "none");
    for (int i = 0; i < 3; i++) {
        lac_decision_t decision = call_for(ctx, "event");
        assert_string_equal(decision.known, "remembered");
        assert_true(decision.density == 0.25);
        assert_int_equal(asked, before + 2);
    }
}

static void test_nothing_is_sampled_unless_asked_for(void **state)
{
    lac_ctx_t *ctx = *state;
    unit_expect(lac_ctx_set(ctx, "detect", "registered"), LAC_OK, "detect");
    for (int i = 0; i < 3; i++) {
        lac_decision_t decision = call(ctx);
        assert_false(is_sparse(&decision));
    }
    assert_int_equal(asked, 0);
}

#define PENDING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PENDING_TEST(test_asks_again),
        PENDING_TEST(test_backs_off),
        PENDING_TEST(test_is_sampled_anew),
        PENDING_TEST(test_is_sampled_anew_on_the_right),
        PENDING_TEST(test_what_nobody_counts_is_remembered),
        PENDING_TEST(test_what_is_assumed_is_not_remembered),
        PENDING_TEST(test_what_is_assumed_is_sampled),
        PENDING_TEST(test_nothing_is_sampled_unless_asked_for),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
