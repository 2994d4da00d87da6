/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * skip = guaranteed: NaN in a row of W that no event names does not show, whoever calls and however. */
#include "unit_support.h"
#include "../interpose_calls.h"
#include "../route_names.h"

#include <math.h>
#include <string.h>

enum { M = 3, K = 40, N = 9 };

static float s[M * K], w[K * N], c[M * N];

/* Events at every fifth k; NaN or Inf in the other rows of W. */
static int setup(void **state)
{
    for (int i = 0; i < M * K; i++) s[i] = i % K % 5 ? 0.0f : (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) w[i] = i / N % 5 == 0 ? (float)(i % 5 - 2) : i % 2 ? NAN : INFINITY;
    *state = unit_ctx();
    return 0;
}

static int teardown(void **state)
{
    lac_ctx_free(*state);
    return 0;
}

static float expected(int i, int j)
{
    float sum = 0.0f;
    for (int k = 0; k < K; k += 5) sum += s[i * K + k] * w[k * N + j];
    return sum;
}

static void expect_product(const char *how)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            if (c[i * N + j] != expected(i, j))
                fail_msg("%s: c(%d, %d) is %g, not %g", how, i, j, (double)c[i * N + j],
                         (double)expected(i, j));
    memset(c, 0xff, sizeof c);
}

static lac_obj_t rows(lac_dim_t m, lac_dim_t n, float *buf)
{
    return lac_obj_rowmajor(LAC_F32, m, n, buf, n);
}

static lac_status_t multiply(lac_ctx_t *ctx, lac_call_opts_t *call)
{
    lac_obj_t a = rows(M, K, s), b = rows(K, N, w), out = rows(M, N, c);
    return lac_gemm_ex(ctx, NULL, &a, &b, NULL, &out, call);
}

static const lac_candidate_t *candidate(const lac_decision_t *decision, const char *route)
{
    for (int i = 0; i < decision->count; i++)
        if (!strcmp(decision->candidate[i].route, route)) return &decision->candidate[i];
    fail_msg("%s is no candidate", route);
    return NULL;
}

/* The dense route says why it does not serve, also where it was asked for; something else does. */
static void test_refusal(void **state)
{
    lac_decision_t decision;
    lac_call_opts_t call = {.size = sizeof call, .decision = &decision, .skip = LAC_SKIP_GUARANTEED};
    route_names_t routes = host_route_names(0);
    for (int i = 0; i < routes.count; i++) {
        call.route = routes.name[i];
        unit_expect(multiply(*state, &call), LAC_OK, "product");
        expect_product(decision.route);
        bool unfit = !strcmp(decision.reason, "forced route does not apply");
        assert_string_not_equal(decision.route, "dense");
        if (!strcmp(call.route, "dense")) assert_true(unfit);
        if (i && !unfit) assert_string_equal(decision.route, call.route);
        unit_expect_text(candidate(&decision, "dense")->refusal, "guaranteed");
    }
}

/* Without the guarantee the dense product shows the NaN: the test sees what it is about. */
static void test_without(void **state)
{
    lac_call_opts_t call = {.size = sizeof call, .route = "native"};
    unit_expect(multiply(*state, &call), LAC_OK, "product");
    for (int i = 0; i < M * N; i++) assert_true(isnan(c[i]));
    unit_expect(lac_ctx_set(*state, "skip", "guaranteed"), LAC_OK, "skip");
    call.skip = LAC_SKIP_FAST; /* a call's word counts */
    unit_expect(multiply(*state, &call), LAC_OK, "product");
    for (int i = 0; i < M * N; i++) assert_true(isnan(c[i]));
    unit_expect(lac_ctx_set(*state, "skip", "fast"), LAC_OK, "skip");
}

/* An operand that is all events takes the dense route nowhere, and calls before and after it are free. */
static void test_full(void **state)
{
    static float full[64 * 64], out[64 * 64];
    lac_decision_t decision;
    for (int i = 0; i < 64 * 64; i++) full[i] = 1.0f;
    lac_obj_t a = rows(64, 64, full), d = rows(64, 64, out);
    for (int i = 0; i < 12; i++) {
        lac_call_opts_t call = {.size = sizeof call,
                                .decision = &decision,
                                .may_decline = 1,
                                .density_limit = 0.01,
                                .skip = i % 2 ? LAC_SKIP_GUARANTEED_B : LAC_SKIP_FAST};
        unit_expect(lac_gemm_ex(*state, NULL, &a, &a, NULL, &d, &call), LAC_OK, "full");
        assert_int_equal(call.declined, i % 2 == 0);
        if (i % 2 == 0) continue;
        assert_string_not_equal(decision.route, "dense");
        assert_true(out[5] == 64.0f);
    }
}

/* Which operand it is, where nobody says: the bytes, else the shorter side. */
static void test_which(void **state)
{
    static uint8_t bytes[K * N];
    static float dense[M * K], zeros[N * K], b[K * N];
    lac_call_opts_t call = {.size = sizeof call, .route = "native", .skip = LAC_SKIP_GUARANTEED};
    for (int i = 0; i < M * K; i++) dense[i] = i % K % 5 ? NAN : 1.0f;
    for (int i = 0; i < K * N; i++) bytes[i] = i / N % 5 == 0;
    lac_obj_t a = rows(M, K, dense), out = rows(M, N, c), events = lac_obj_rowmajor(LAC_U8, K, N, bytes, N);
    unit_expect(lac_gemm_ex(*state, NULL, &a, &events, NULL, &out, &call), LAC_OK, "bytes");
    for (int i = 0; i < M * N; i++) assert_true(c[i] == 8.0f);
    /* N rows and M columns: B is the shorter */
    for (int i = 0; i < N * K; i++) zeros[i] = i % K % 5 ? NAN : 2.0f;
    for (int i = 0; i < K * M; i++) b[i] = i / M % 5 ? 0.0f : 1.0f;
    lac_obj_t tall = rows(N, K, zeros), thin = rows(K, M, b), tall_out = rows(N, M, c);
    unit_expect(lac_gemm_ex(*state, NULL, &tall, &thin, NULL, &tall_out, &call), LAC_OK, "shape");
    for (int i = 0; i < M * N; i++) assert_true(c[i] == 16.0f);
}

/* A plan keeps the guarantee that it was made with. */
static void test_plan(void **state)
{
    lac_plan_t *plan;
    lac_obj_t a = rows(M, K, s), b = rows(K, N, w), out = rows(M, N, c);
    lac_call_opts_t call = {.size = sizeof call, .skip = LAC_SKIP_GUARANTEED_A, .route = "dense"};
    unit_expect(lac_plan_create(*state, &plan, &a, &b, &out, &call), LAC_OK, "plan");
    for (int i = 0; i < 3; i++) {
        unit_expect(lac_plan_run(plan, NULL, &a, &b, NULL, &out), LAC_OK, "run");
        expect_product("plan");
    }
    unit_expect(lac_ctx_set(*state, "nan", "strict"), LAC_OK, "strict");
    unit_expect(lac_plan_run(plan, NULL, &a, &b, NULL, &out), LAC_ERR_VALUE, "strict");
    unit_expect_text(lac_last_error(), "strict");
    unit_expect(lac_ctx_set(*state, "nan", "fast"), LAC_OK, "fast");
    lac_plan_free(plan);
}

/* A context's setting holds for calls that have none of their own: vectors, batches. */
static void test_context(void **state)
{
    unit_expect(lac_ctx_set(*state, "skip", "a"), LAC_OK, "skip");
    for (int i = 0; i < 10; i++) {
        unit_expect(multiply(*state, NULL), LAC_OK, "product");
        expect_product("context");
    }
    lac_obj_t a = rows(1, K, s), b = rows(K, N, w), out = rows(1, N, c);
    unit_expect(lac_gemm_batched(*state, M, NULL, &a, K, &b, 0, NULL, &out, N), LAC_OK, "batch");
    expect_product("batch");
    const lac_obj_t each_a[] = {rows(1, K, s), rows(1, K, s + K), rows(1, K, s + 2 * K)},
                    each_c[] = {rows(1, N, c), rows(1, N, c + N), rows(1, N, c + 2 * N)};
    unit_expect(lac_gemm_batched_array(*state, M, NULL, each_a, 1, &b, 0, NULL, each_c), LAC_OK, "array");
    expect_product("array");
    unit_expect(lac_ctx_set(*state, "skip", "b"), LAC_OK, "skip");
    unit_expect(lac_sgemv(*state, LAC_TRANS, K, N, 1.0f, w, N, 1, s, 1, 0.0f, c, 1), LAC_OK, "vector");
    for (int j = 0; j < N; j++) assert_true(c[j] == expected(0, j));
    unit_expect(lac_ctx_set(*state, "skip", "fast"), LAC_OK, "skip");
}

/* A drop-in library passes no call on, small ones and first ones included. */
static void test_drop_in(void **state)
{
    lac_gemm_args_t call = colmajor_args(0, 0, N, M, K, w, N, s, K, c, N); /* C' = W' S' */
    float zero = 0.0f;
    call.beta = &zero;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(try_gemm(*state, &call), 0); /* too small, and free */
        unit_expect(lac_ctx_set(*state, "skip", "guaranteed"), LAC_OK, "skip");
        assert_int_equal(lac_interpose_dense_streak(*state, &call, 100, 0), 0);
        assert_int_equal(try_gemm(*state, &call), 1);
        expect_product("drop-in");
        unit_expect(lac_ctx_set(*state, "skip", "fast"), LAC_OK, "skip");
    }
}

/* The same of doubles: a sparse weight with more events than are added straight up, and the native route with
 * NaN opposite zeros. */
static void test_doubles(void **state)
{
    enum { LONG = 1500, COLUMNS = 40, EACH = 4 };
    static double x[LONG], val[LONG * EACH], out[COLUMNS], full[LONG * COLUMNS];
    static int32_t idx[LONG * EACH];
    static const char *const routes[] = {"event", "native"};
    lac_obj_t sparse = lac_obj_rowmajor(LAC_F64, LONG, COLUMNS, NULL, COLUMNS);
    for (int k = 0; k < LONG; k++) {
        x[k] = k % 7 ? 1.0 / (k + 3) : 0.0;
        for (int j = 0; j < COLUMNS; j++) full[k * COLUMNS + j] = k % 7 ? 0.0 : NAN;
        for (int e = 0; e < EACH; e++) {
            idx[k * EACH + e] = e * 10 + k % 10;
            val[k * EACH + e] = 1.0 / (k + e + 1);
            if (k % 7) full[k * COLUMNS + e * 10 + k % 10] = val[k * EACH + e];
        }
    }
    unit_expect(lac_meta_create(&sparse.meta, LONG, COLUMNS), LAC_OK, "meta");
    unit_expect(lac_meta_set_type(sparse.meta, LAC_F64), LAC_OK, "type");
    unit_expect(lac_meta_attach_ell(sparse.meta, LAC_I32, EACH, idx, val), LAC_OK, "fan-out");
    for (int way = 0; way < 4; way++) {
        lac_call_opts_t call = {.size = sizeof call, .route = routes[way % 2], .skip = LAC_SKIP_GUARANTEED_A};
        lac_obj_t a = lac_obj_rowmajor(LAC_F64, 1, LONG, x, LONG),
                  b = way < 2 ? sparse : lac_obj_rowmajor(LAC_F64, LONG, COLUMNS, full, COLUMNS),
                  to = lac_obj_rowmajor(LAC_F64, 1, COLUMNS, out, COLUMNS);
        unit_expect(lac_gemm_ex(*state, NULL, &a, &b, NULL, &to, &call), LAC_OK, "doubles");
        for (int j = 0; j < COLUMNS; j++) {
            long double sum = 0.0L;
            for (int k = 0; k < LONG; k++)
                if (k % 10 == j % 10) sum += (long double)x[k] * (long double)val[k * EACH + j / 10];
            if (!(fabsl((long double)out[j] - sum) <= 1e-13L * sum))
                fail_msg("way %d: column %d is %.17g, not %.17Lg", way, j, out[j], sum);
        }
    }
    lac_meta_free(sparse.meta);
}

/* Both promises at once cannot be kept. */
static void test_excludes_strict(void **state)
{
    lac_call_opts_t call = {.size = sizeof call, .skip = LAC_SKIP_GUARANTEED_A};
    unit_expect(lac_ctx_set(*state, "nan", "strict"), LAC_OK, "strict");
    unit_expect(lac_ctx_set(*state, "skip", "guaranteed"), LAC_ERR_VALUE, "skip");
    unit_expect_text(lac_last_error(), "nan is strict");
    unit_expect(multiply(*state, &call), LAC_ERR_VALUE, "call");
    unit_expect_text(lac_last_error(), "call.skip");
    unit_expect(lac_ctx_set(*state, "nan", "fast"), LAC_OK, "fast");
    unit_expect(lac_ctx_set(*state, "skip", "b"), LAC_OK, "skip");
    unit_expect(lac_ctx_set(*state, "nan", "strict"), LAC_ERR_VALUE, "strict");
    unit_expect_text(lac_last_error(), "skip is not");
    unit_expect(lac_ctx_set(*state, "skip", "fast"), LAC_OK, "skip");
    for (int bad = -1; bad < 7; bad += 6) {
        call.skip = bad;
        unit_expect(multiply(*state, &call), LAC_ERR_VALUE, "no such guarantee");
        unit_expect_text(lac_last_error(), "call.skip");
    }
}

int main(void)
{
    unit_begin();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusal),        cmocka_unit_test(test_without),
                                       cmocka_unit_test(test_full),           cmocka_unit_test(test_which),
                                       cmocka_unit_test(test_plan),           cmocka_unit_test(test_context),
                                       cmocka_unit_test(test_drop_in),        cmocka_unit_test(test_doubles),
                                       cmocka_unit_test(test_excludes_strict)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
