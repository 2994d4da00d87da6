/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Products of doubles: scalars at full precision, types that do not go together, values in metadata, sites.
 */
#include "unit_support.h"
#include "../route_names.h"
#include "operand/registry.h"
#include "planner/context.h"

#include <math.h>
#include <string.h>

enum { M = 9, N = 70, K = 130 };

typedef struct fixture {
    double a[M * K], b[K * N], c[M * N];
    float fa[M * K], fb[K * N], fc[M * N];
    uint8_t events[M * K];
} fixture_t;

static fixture_t x;

static int setup(void **state)
{
    uint64_t seed = 3;
    for (int p = 0; p < M * K; p++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x.events[p] = seed >> 60 == 0;
        x.a[p] = x.events[p] ? 1.0 / (double)(p + 3) : 0.0;
        x.fa[p] = (float)x.a[p];
    }
    for (int p = 0; p < K * N; p++) x.b[p] = 1.0 / (double)(p % 97 + 1), x.fb[p] = (float)x.b[p];
    for (int p = 0; p < M * N; p++) x.c[p] = (double)p / 7.0;
    *state = unit_ctx();
    return 0;
}

static int teardown(void **state)
{
    lac_ctx_free(*state);
    return 0;
}

static lac_obj_t matrix(lac_dt_t dt, lac_dim_t m, lac_dim_t n, void *buf)
{
    return lac_obj_rowmajor(dt, m, n, buf, n);
}

/* alpha a b + beta c, as it was, against what is in c now. */
static void expect_product(const char *what, const double *before, double alpha, double beta, bool binary)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            long double sum = 0.0L, size = fabsl((long double)beta * (long double)before[i * N + j]);
            for (int k = 0; k < K; k++) {
                long double s = binary ? (x.events[i * K + k] ? 1.0L : 0.0L) : (long double)x.a[i * K + k];
                sum += s * (long double)x.b[k * N + j];
                size += fabsl(s * (long double)x.b[k * N + j]);
            }
            long double want = (long double)alpha * sum + (long double)beta * (long double)before[i * N + j];
            if (!(fabsl((long double)x.c[i * N + j] - want) <= 40 * 0x1p-53L * size))
                fail_msg("%s: (%d, %d) is %.17g, not %.17Lg", what, i, j, x.c[i * N + j], want);
        }
}

/* Scalars that no float holds, by every route. */
static void test_scalars_are_doubles(void **state)
{
    const route_names_t routes = host_route_names(0);
    const double alpha = 1.0 / 3.0, beta = 0.1;
    lac_obj_t a = matrix(LAC_F64, M, K, x.a), b = matrix(LAC_F64, K, N, x.b), c = matrix(LAC_F64, M, N, x.c);
    double before[M * N];
    for (int r = 0; r < routes.count; r++) {
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r]};
        memcpy(before, x.c, sizeof before);
        unit_expect(lac_gemm_ex(*state, &alpha, &a, &b, &beta, &c, &call), LAC_OK, routes.name[r]);
        expect_product(routes.name[r], before, alpha, beta, false);
    }
    memcpy(before, x.c, sizeof before);
    unit_expect(
        lac_dgemm(*state, LAC_NO_TRANS, LAC_NO_TRANS, M, N, K, alpha, x.a, K, 1, x.b, N, 1, beta, x.c, N, 1),
        LAC_OK, "dgemm");
    expect_product("lac_dgemm", before, alpha, beta, false);
}

static void test_vectors(void **state)
{
    double y[2 * M], before[2 * M], v[3 * K];
    for (int i = 0; i < 3 * K; i++) v[i] = (double)(i % 11) / 3.0;
    for (int i = 0; i < 2 * M; i++) y[i] = before[i] = (double)i / 9.0;
    unit_expect(lac_dgemv(*state, LAC_NO_TRANS, M, K, 0.3, x.a, K, 1, v, -3, 0.7, y, -2), LAC_OK, "dgemv");
    for (int i = 0; i < M; i++) {
        long double sum = 0.0L;
        for (int k = 0; k < K; k++) sum += (long double)x.a[i * K + k] * (long double)v[(K - 1 - k) * 3];
        double want = (double)(0.3L * sum + 0.7L * (long double)before[(M - 1 - i) * 2]);
        assert_true(fabs(y[(M - 1 - i) * 2] - want) < 1e-12);
        assert_true(y[i * 2 + 1] == before[i * 2 + 1]);
    }
}

static void refused(lac_ctx_t *ctx, const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c,
                    const char *word)
{
    double before[M * N];
    memcpy(before, x.c, sizeof before);
    unit_expect(lac_gemm(ctx, NULL, a, b, NULL, c), LAC_ERR_TYPE, word);
    unit_expect_text(lac_last_error(), word);
    assert_memory_equal(before, x.c, sizeof before);
}

static void test_types_that_do_not_go_together(void **state)
{
    lac_obj_t a = matrix(LAC_F64, M, K, x.a), b = matrix(LAC_F64, K, N, x.b), c = matrix(LAC_F64, M, N, x.c);
    lac_obj_t fa = matrix(LAC_F32, M, K, x.fa), fb = matrix(LAC_F32, K, N, x.fb),
              fc = matrix(LAC_F32, M, N, x.fc);
    refused(*state, &fa, &b, &c, "a.dt");
    refused(*state, &a, &fb, &c, "b.dt");
    refused(*state, &a, &b, &fc, "a.dt");
    lac_obj_t sparse = fa;
    unit_expect(lac_meta_create(&sparse.meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_scan(*state, &sparse, LAC_META_CSR), LAC_OK, "scan");
    lac_obj_t wrong = a;
    wrong.meta = sparse.meta;
    refused(*state, &wrong, &b, &c, "a.meta");
    unit_expect(lac_meta_set_type(sparse.meta, LAC_F64), LAC_ERR_TYPE, "settled");
    unit_expect(lac_meta_set_type(sparse.meta, LAC_F32), LAC_OK, "the same");
    unit_expect(lac_meta_set_type(sparse.meta, LAC_U8), LAC_ERR_TYPE, "no such values");
    unit_expect(lac_meta_set_type(NULL, LAC_F64), LAC_ERR_NULL, "meta");
    lac_meta_free(sparse.meta);

    lac_obj_t out = matrix(LAC_F32, M, K, x.fa);
    unit_expect(lac_to_dense(*state, &a, &out), LAC_ERR_TYPE, "to_dense");
    unit_expect_text(lac_last_error(), "out.dt");
    const double alpha = 1.0;
    unit_expect(lac_gemm_grad_a(*state, &alpha, &fc, &b, NULL, &a, NULL), LAC_ERR_TYPE, "gradient");
    unit_expect_text(lac_last_error(), "grad_c.dt");
    unit_expect(lac_gemm_batched(*state, 2, &alpha, &fa, 0, &b, 0, NULL, &c, 0), LAC_ERR_TYPE, "batch");
}

/* What a batch reads ends where its last double does: C may begin there, and no earlier. */
static void test_batch_beside_its_output(void **state)
{
    enum { COUNT = 2, STEP = M * K + 1, A = STEP + M * K, C = COUNT * M * N }; /* a gap: no single product */
    double memory[A + C];
    const double alpha = 1.0;
    for (int i = 0; i < A + C; i++) memory[i] = i;
    lac_obj_t a = matrix(LAC_F64, M, K, memory), b = matrix(LAC_F64, K, N, x.b),
              c = matrix(LAC_F64, M, N, memory + A - 1);
    unit_expect(lac_gemm_batched(*state, COUNT, &alpha, &a, STEP, &b, 0, NULL, &c, M * N), LAC_ERR_ALIAS,
                "the last of a");
    unit_expect_text(lac_last_error(), "overlaps a");
    assert_true(memory[A - 1] == A - 1);
    c.buf = memory + A;
    unit_expect(lac_gemm_batched(*state, COUNT, &alpha, &a, STEP, &b, 0, NULL, &c, M * N), LAC_OK, "apart");
}

/* Binary events serve products of both types; the values of their formats are of the first. */
static void test_events(void **state)
{
    lac_obj_t a = matrix(LAC_U8, M, K, x.events), b = matrix(LAC_F64, K, N, x.b),
              c = matrix(LAC_F64, M, N, x.c), fb = matrix(LAC_F32, K, N, x.fb),
              fc = matrix(LAC_F32, M, N, x.fc);
    const double alpha = 1.0 / 3.0;
    static const double none[M * N];
    unit_expect(lac_meta_create(&a.meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_freeze(a.meta), LAC_OK, "freeze");
    unit_expect(lac_gemm(*state, &alpha, &a, &b, NULL, &c), LAC_OK, "doubles first");
    expect_product("frozen events", none, alpha, 0.0, true);
    unit_expect(lac_meta_convert(*state, &a, LAC_META_CSR | LAC_META_BITMASK), LAC_OK, "formats of doubles");
    unit_expect(lac_gemm(*state, &alpha, &a, &b, NULL, &c), LAC_OK, "by its formats");
    expect_product("events by their formats", none, alpha, 0.0, true);
    unit_expect(lac_gemm(*state, NULL, &a, &fb, NULL, &fc), LAC_OK, "floats after that, from the buffer");
    for (int j = 0; j < N; j++) {
        double sum = 0.0;
        for (int k = 0; k < K; k++) sum += x.events[k] ? (double)x.fb[k * N + j] : 0.0;
        assert_true(fabs((double)x.fc[j] - sum) <= 1e-5 * (sum + 1.0));
    }
    lac_obj_t only = a;
    only.buf = NULL;
    unit_expect(lac_gemm(*state, &alpha, &only, &b, NULL, &c), LAC_OK, "sparse only");
    expect_product("events by their formats alone", none, alpha, 0.0, true);
    unit_expect(lac_gemm(*state, NULL, &only, &fb, NULL, &fc), LAC_ERR_TYPE, "no floats there");
    unit_expect_text(lac_last_error(), "a.meta");
    lac_meta_free(a.meta);
}

/* Of the same shape, from the same place. */
static void test_sites_keep_types_apart(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_obj_t a = matrix(LAC_F64, M, K, x.a), b = matrix(LAC_F64, K, N, x.b), c = matrix(LAC_F64, M, N, x.c);
    lac_obj_t fa = matrix(LAC_F32, M, K, x.fa), fb = matrix(LAC_F32, K, N, x.fb),
              fc = matrix(LAC_F32, M, N, x.fc);
    unit_expect(lac_gemm(ctx, NULL, &a, &b, NULL, &c), LAC_OK, "doubles");
    uint32_t one = ctx->sites.count;
    unit_expect(lac_gemm(ctx, NULL, &fa, &fb, NULL, &fc), LAC_OK, "floats");
    assert_int_equal(one, 1);
    assert_int_equal(ctx->sites.count, 2);
    lac_plan_t *plan;
    unit_expect(lac_plan_create(ctx, &plan, &a, &b, &c, NULL), LAC_OK, "plan");
    unit_expect(lac_plan_run(plan, NULL, &a, &b, NULL, &c), LAC_OK, "run");
    unit_expect(lac_plan_run(plan, NULL, &fa, &fb, NULL, &fc), LAC_ERR_EXTENT, "a plan of doubles");
    lac_plan_free(plan);
}

#define DENSE  "dense"
#define NATIVE "native"

/* Arithmetic of half the rate, twice the bytes. */
static void test_costs(void **state)
{
    lac_ctx_t *ctx = *state;
    double us[2][2];
    for (int f64 = 0; f64 < 2; f64++) {
        static double large[3][200 * 200];
        lac_dt_t dt = f64 ? LAC_F64 : LAC_F32;
        lac_obj_t a = matrix(dt, 200, 200, large[0]), b = matrix(dt, 200, 200, large[1]),
                  c = matrix(dt, 200, 200, large[2]);
        for (int forced = 0; forced < 2; forced++) {
            lac_decision_t decision;
            lac_call_opts_t call = {.size = sizeof call, .route = forced ? NATIVE : DENSE};
            unit_expect(lac_explain(ctx, NULL, &a, &b, NULL, &c, &call, &decision), LAC_OK, "explain");
            us[f64][forced] = decision.cost_us;
        }
    }
    assert_true(us[1][1] > 1.5 * us[0][1]); /* native */
    if (us[0][0] > 0.0) assert_true(us[1][0] > 1.5 * us[0][0] && us[1][0] < 2.5 * us[0][0]);
}

/* A registered matrix of doubles is known by its address, and its change is noticed. */
static void test_registered(void **state)
{
    lac_obj_t b = matrix(LAC_F64, K, N, x.b);
    unit_expect(lac_meta_create(&b.meta, K, N), LAC_OK, "create");
    unit_expect(lac_meta_freeze(b.meta), LAC_OK, "freeze");
    unit_expect(lac_register(*state, &b), LAC_OK, "register");
    lac_obj_t found = matrix(LAC_F64, K, N, x.b), other = matrix(LAC_F32, K, N, x.b);
    lac_registered_t *entry = lac_registry_borrow(&found, -1);
    assert_non_null(entry);
    lac_registry_give_back(entry);
    assert_null(lac_registry_borrow(&other, -1)); /* floats at that address are something else */
    double kept = x.b[0];
    x.b[0] = nextafter(kept, 2.0); /* the low half alone */
    found = matrix(LAC_F64, K, N, x.b);
    assert_null(lac_registry_borrow(&found, -1));
    x.b[0] = kept;
    unit_expect(lac_unregister(x.b), LAC_OK, "unregister");
    lac_meta_free(b.meta);
}

int main(void)
{
    unit_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scalars_are_doubles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_vectors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_types_that_do_not_go_together, setup, teardown),
        cmocka_unit_test_setup_teardown(test_batch_beside_its_output, setup, teardown),
        cmocka_unit_test_setup_teardown(test_events, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sites_keep_types_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_costs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_registered, setup, teardown),
    };
    return cmocka_run_group_tests_name("api: doubles", tests, NULL, NULL);
}
