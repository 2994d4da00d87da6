/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The entries for drop-in libraries: what is added to a product on a device, and every way to decline. */
#include "fake_device.h"

#include "../interpose_calls.h"

#include <string.h>

enum { M = 6, K = 8, N = 5, LDF = M + 2 };

static float a[M * K], b[K * N], c[M * N], from[LDF * N], bias[M];

static int setup(void **state)
{
    lac_ctx_t *ctx = fake_device_ctx();
    unit_expect(lac_ctx_set(ctx, "backend", "event"), LAC_OK, "backend"); /* small ones too */
    for (int i = 0; i < M * K; i++) a[i] = i % 3 ? 0.0f : (float)(i % 5 - 2);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7 - 3);
    for (int i = 0; i < LDF * N; i++) from[i] = (float)i;
    for (int i = 0; i < M; i++) bias[i] = (float)(100 * i);
    for (int i = 0; i < M * N; i++) c[i] = 1.0f;
    *state = ctx;
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(fake.inside, 0);
    lac_ctx_free(*state);
    return 0;
}

static int added(lac_ctx_t *ctx, float beta, const lac_residual_t *residual)
{
    lac_gemm_args_t call = colmajor_args(0, 0, M, N, K, a, M, b, K, c, M);
    call.beta = &beta;
    call.adds = residual->d || residual->bias;
    call.residual = *residual;
    return try_gemm(ctx, &call);
}

/* By columns. */
static void expect(float beta, bool with_from, bool with_bias)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            float sum = beta + (with_from ? from[i + j * LDF] : 0.0f) + (with_bias ? bias[i] : 0.0f);
            for (int k = 0; k < K; k++) sum += a[i + k * M] * b[k + j * K];
            assert_true(c[i + j * M] == sum);
            c[i + j * M] = 1.0f;
        }
}

static void test_addends(void **state)
{
    for (int i = 0; i < 4; i++) {
        lac_residual_t residual = {.d = i & 1 ? from : NULL, .ldd = LDF, .bias = i & 2 ? bias : NULL};
        float beta = i ? 0.0f : 2.0f;
        assert_true(added(*state, beta, &residual));
        expect(beta, i & 1, i & 2);
    }
}

static void test_addends_that_fail(void **state)
{
    const lac_residual_t both = {.d = from, .ldd = LDF, .bias = bias};
    for (int n = 1; n <= 2; n++) {
        fake.fails = fake.calls + n;
        assert_false(added(*state, 0.0f, &both)); /* cuBLAS then does all of it again */
        fake.fails = fake.calls + n;
        assert_true(added(*state, 2.0f, &both)); /* which it could not: C is no longer what it was */
    }
    assert_true(added(*state, 0.0f, &both));
}

static void test_declined(void **state)
{
    lac_ctx_t *ctx = *state, *host = unit_ctx();
    const lac_residual_t both = {.d = from, .ldd = LDF, .bias = bias}, none = {.d = NULL};
    assert_int_equal(added(NULL, 0.0f, &both), 0);
    assert_int_equal(added(host, 0.0f, &both), 0); /* nothing is added on the host */
    assert_int_equal(added(host, 0.0f, &none), 0); /* small */
    assert_int_equal(
        try_sgemm(NULL, LAC_NO_TRANS, LAC_NO_TRANS, M, N, K, 1.0f, a, M, b, K, 0.0f, c, M, "sgemm_", NULL),
        0);
    assert_int_equal(try_sgemv(NULL, LAC_NO_TRANS, M, K, 1.0f, a, M, b, 1, 0.0f, c, 1), 0);
    assert_int_equal(try_sgemv(host, LAC_NO_TRANS, M, K, 1.0f, a, M, b, 1, 0.0f, c, 1), 0);
    assert_int_equal(
        try_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, M, N, K, 1.0f, a, M, b, K, 0.0f, a, M, "sgemm_", NULL),
        0); /* aliased: what the BLAS makes of it is its own affair */
    lac_gemm_args_t call = colmajor_args(0, 0, M, N, K, a, M, b, K, c, M);
    assert_int_equal(lac_interpose_dense_streak(NULL, &call, 1, 0), 0);
    assert_int_equal(lac_interpose_dense_streak(host, &call, 7, 0), 7); /* small */
    call = colmajor_args(1, 1, M, N, K, a, K, b, N, c, M);
    call.adds = true;
    assert_int_equal(lac_interpose_dense_streak(ctx, &call, 1, 0), 0);
    call.adds = false;
    call.batch = (lac_strides_t){M * K, K * N, M * N, 2};
    assert_int_equal(lac_try_gemm(host, &call), 0); /* a batch takes a device */
    assert_false(lac_interpose_timing_pending(NULL));
    lac_interpose_timing_end(ctx); /* nothing was being timed */
    for (int i = 0; i < M * N; i++) assert_true(c[i] == 1.0f);
    lac_ctx_free(host);
}

/* Vectors from either end. */
static void test_vectors(void **state)
{
    for (int transposed = 0; transposed < 2; transposed++)
        for (int inc = -2; inc <= 2; inc++) {
            if (!inc) continue;
            const int rows = transposed ? N : M, cols = transposed ? M : N;
            float y[2 * M] = {0};
            assert_true(try_sgemv(*state, transposed ? LAC_TRANS : LAC_NO_TRANS, M, N, 1.0f, a, M, b, inc,
                                  0.0f, y, -inc));
            for (int i = 0; i < rows; i++) {
                float sum = 0.0f;
                for (int k = 0; k < cols; k++)
                    sum +=
                        a[transposed ? k + i * M : i + k * M] * b[inc > 0 ? k * inc : (k - cols + 1) * inc];
                assert_true(y[inc < 0 ? -i * inc : (rows - 1 - i) * inc] == sum);
            }
        }
}

#define DROPIN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DROPIN_TEST(test_addends),
        DROPIN_TEST(test_addends_that_fail),
        DROPIN_TEST(test_declined),
        DROPIN_TEST(test_vectors),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
