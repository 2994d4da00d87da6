/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Who serves a batch: the device as a whole, where it takes it and all matrices lie alike; else one product
 * after the other, with the same result. */
#include "fake_device.h"

#include "lacuna/batch.h"

#include <stdio.h>
#include <string.h>

enum { M = 3, K = 5, N = 4, COUNT = 3 };

static float a[COUNT * M * K], b[COUNT * K * N], c[COUNT * M * N];
static lac_obj_t va[COUNT], vb[COUNT], vc[COUNT];

static int setup(void **state)
{
    *state = fake_device_ctx();
    for (int i = 0; i < COUNT * M * K; i++) a[i] = i % 4 ? 0.0f : (float)(i % 7 - 2);
    for (int i = 0; i < COUNT * K * N; i++) b[i] = (float)(i % 5 - 1);
    memset(c, 0, sizeof c);
    for (int q = 0; q < COUNT; q++) {
        va[q] = fake_device_matrix(M, K, a + q * M * K);
        vb[q] = fake_device_matrix(K, N, b + q * K * N);
        vc[q] = fake_device_matrix(M, N, c + q * M * N);
    }
    fake.takes = (lac_batch_outcome_t){true, LAC_ROLE_SPARSE, LAC_SIDE_LEFT};
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(fake.inside, 0);
    lac_ctx_free(*state);
    return 0;
}

static lac_status_t strided(lac_ctx_t *ctx, const float *alpha, const float *beta)
{
    return lac_gemm_batched(ctx, COUNT, alpha, va, M * K, vb, K * N, beta, vc, M * N);
}

static lac_status_t array(lac_ctx_t *ctx, const float *alpha, const float *beta)
{
    return lac_gemm_batched_array(ctx, COUNT, alpha, va, 1, vb, 1, beta, vc);
}

/* What the device writes is all 7. */
static void expect_served(int times)
{
    assert_int_equal(fake.batches, times);
    for (int i = 0; i < COUNT * M * N; i++) assert_true(c[i] == 7.0f);
    memset(c, 0, sizeof c);
}

static void expect_computed(float alpha)
{
    for (int q = 0; q < COUNT; q++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                const float *x = va[q].buf, *y = vb[q].buf, *z = vc[q].buf;
                float sum = 0.0f;
                for (int k = 0; k < K; k++)
                    sum += x[i * va[q].rs + k * va[q].cs] * y[k * vb[q].rs + j * vb[q].cs];
                assert_true(z[i * vc[q].rs + j * vc[q].cs] == alpha * sum);
            }
    memset(c, 0, sizeof c);
}

static void test_served_as_a_whole(void **state)
{
    static const lac_batch_outcome_t takes[] = {{true, LAC_ROLE_SPARSE, LAC_SIDE_LEFT},
                                                {true, LAC_ROLE_SPARSE, LAC_SIDE_RIGHT},
                                                {true, LAC_ROLE_DENSE, LAC_SIDE_NONE}};
    static const char *const words[] = {"event", "event", "dense"};
    const float two = 2.0f, half = 0.5f;
    lac_ctx_set(*state, "verbose", "exec");
    for (int i = 0; i < 3; i++) {
        char line[128];
        fake.batches = 0;
        fake.takes = takes[i];
        (void)unit_log();
        unit_expect(strided(*state, NULL, NULL), LAC_OK, "strided");
        expect_served(1);
        assert_int_equal(fake.batch.count, COUNT);
        assert_int_equal(fake.batch.a_step, M * K);
        assert_null(fake.batch.a_each);
        snprintf(line, sizeof line, "lacuna,1,batch,lac_gemm_batched,%d,%dx%dx%d,%s\n", COUNT, M, K, N,
                 words[i]);
        unit_expect_text(unit_log(), line);
        unit_expect(array(*state, &two, &half), LAC_OK, "array");
        expect_served(2);
        assert_non_null(fake.batch.a_each);
    }
    (void)unit_log();
    lac_ctx_set(*state, "verbose", "off");
    unit_expect(array(*state, NULL, NULL), LAC_OK, "array");
    expect_served(3);
    assert_string_equal(unit_log(), "");
}

/* What the device does not take, or is not asked about, is computed one by one. */
static void test_one_by_one(void **state)
{
    lac_ctx_t *ctx = *state;
    const float two = 2.0f;
    fake.takes.served = false;
    unit_expect(strided(ctx, NULL, NULL), LAC_OK, "left");
    expect_computed(1.0f);
    assert_int_equal(fake.batches, 1);
    unit_expect(array(ctx, &two, NULL), LAC_OK, "left");
    expect_computed(2.0f);
    assert_int_equal(fake.batches, 2);
    fake.takes.served = true;
    lac_ctx_set(ctx, "backend", "event");
    unit_expect(strided(ctx, NULL, NULL), LAC_OK, "a backend is asked for");
    expect_computed(1.0f);
    lac_ctx_set(ctx, "backend", "auto");
    lac_ctx_set(ctx, "compare", "reference");
    unit_expect(strided(ctx, NULL, NULL), LAC_OK, "to be compared");
    expect_computed(1.0f);
    lac_ctx_set(ctx, "compare", "off");
    fake_device_backend()->batched = NULL;
    unit_expect(strided(ctx, NULL, NULL), LAC_OK, "a device that takes none");
    expect_computed(1.0f);
    assert_int_equal(fake.batches, 2);
}

static void expect_unlike(lac_ctx_t *ctx, const char *what)
{
    unit_expect(array(ctx, NULL, NULL), LAC_OK, what);
    assert_int_equal(fake.batches, 0);
    expect_computed(1.0f);
}

/* One view that lies otherwise: by columns, transposed, or known by metadata. */
static void test_views_that_are_not_alike(void **state)
{
    lac_obj_t before = va[1];
    va[1] = lac_obj_colmajor(LAC_F32, M, K, before.buf, M);
    va[1].space = LAC_DEVICE;
    expect_unlike(*state, "rs and cs");
    va[1] = before, va[1].rs = 2 * K, va[1].buf = a;
    expect_unlike(*state, "rs");
    va[1] = before;
    before = vb[2];
    vb[2].rs = 1, vb[2].cs = K;
    expect_unlike(*state, "b");
    vb[2] = before;
    before = vc[1];
    vc[1].rs = 1, vc[1].cs = M;
    expect_unlike(*state, "c");
    vc[1] = before;
    unit_expect(lac_meta_create_for(*state, &va[2].meta, M, K), LAC_OK, "meta");
    expect_unlike(*state, "metadata");
    lac_meta_free(va[2].meta);
    va[2].meta = NULL;
    unit_expect(array(*state, NULL, NULL), LAC_OK, "alike");
    expect_served(1);
}

static void test_transposed_view(void **state)
{
    lac_obj_t transposed = fake_device_matrix(K, M, va[1].buf);
    transposed.trans = LAC_TRANS;
    va[1] = transposed;
    unit_expect(array(*state, NULL, NULL), LAC_OK, "trans");
    assert_int_equal(fake.batches, 0);
    va[1] = lac_obj_rowmajor(LAC_F32, M, K, transposed.buf, 1);
    va[1].space = LAC_DEVICE, va[1].cs = M;
    expect_computed(1.0f);
}

static void test_failures_are_reported(void **state)
{
    fake.fails = fake.calls + 1;
    unit_expect(strided(*state, NULL, NULL), LAC_ERR_VENDOR, "strided");
    fake.fails = fake.calls + 1;
    unit_expect(array(*state, NULL, NULL), LAC_ERR_VENDOR, "array");
    unit_expect_text(lac_last_error(), "as the test wants it");
}

static void test_nothing_to_do(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_obj_t x = fake_device_matrix(0, K, a), y = fake_device_matrix(K, 0, b),
              z = fake_device_matrix(0, N, c), w = fake_device_matrix(M, 0, c);
    unit_expect(lac_gemm_batched(ctx, COUNT, NULL, &x, 0, vb, K * N, NULL, &z, M * N), LAC_OK, "no rows");
    unit_expect(lac_gemm_batched(ctx, COUNT, NULL, va, M * K, &y, 0, NULL, &w, M * N), LAC_OK, "no columns");
    lac_obj_t none[COUNT] = {x, x, x}, to[COUNT] = {z, z, z};
    unit_expect(lac_gemm_batched_array(ctx, COUNT, NULL, none, 1, vb, 1, NULL, to), LAC_OK, "no rows");
    lac_obj_t narrow[COUNT] = {y, y, y}, into[COUNT] = {w, w, w};
    unit_expect(lac_gemm_batched_array(ctx, COUNT, NULL, va, 1, narrow, 1, NULL, into), LAC_OK, "no columns");
    assert_int_equal(fake.batches, 0);
    for (int i = 0; i < COUNT * M * N; i++) assert_true(c[i] == 0.0f);
}

#define BATCH_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BATCH_TEST(test_served_as_a_whole),        BATCH_TEST(test_one_by_one),
        BATCH_TEST(test_views_that_are_not_alike), BATCH_TEST(test_transposed_view),
        BATCH_TEST(test_failures_are_reported),    BATCH_TEST(test_nothing_to_do),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
