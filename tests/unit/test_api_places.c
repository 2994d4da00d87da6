/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Where every operand, scalar and metadata array lies, before a device that is none; and what a device that
 * lacks something is reported. */
#include "fake_device.h"

#include "lacuna/batch.h"
#include "lacuna/sddmm.h"
#include "lacuna/slice.h"

#include <string.h>

enum { M = 3, K = 4, N = 2, ROWS = 2 };

static float a[M * K], b[K * N], c[2 * M * N], values[M * K], sliced[ROWS * K];

static int setup(void **state)
{
    *state = fake_device_ctx();
    for (int i = 0; i < M * K; i++) a[i] = i % 3 ? 0.0f : (float)(i + 1);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i - 2);
    for (int i = 0; i < 2 * M * N; i++) c[i] = 1.0f;
    memset(values, 0, sizeof values);
    return 0;
}

/* ---- where operands lie ---- */

typedef struct view {
    lac_obj_t a, b, c, pattern;
} view_t;

static const int32_t ptr[] = {0, 2, 3, 4}, idx[] = {0, 3, 2, 1}, picked[ROWS] = {2, 0};
/* The routes behind the made-up device are the host's, which read whole vectors of packed values. */
static const float val[4 + 16] = {1.0f, 2.0f, 3.0f, 4.0f};

static view_t views(lac_ctx_t *ctx)
{
    view_t v = {fake_device_matrix(M, K, a), fake_device_matrix(K, N, b), fake_device_matrix(M, N, c),
                fake_device_matrix(M, K, NULL)};
    unit_expect(lac_meta_create_for(ctx, &v.pattern.meta, M, K), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(v.pattern.meta, LAC_I32, ptr, idx, val), LAC_OK, "attach");
    return v;
}

static void expect_product(float beta)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = beta;
            for (int k = 0; k < K; k++) sum += a[i * K + k] * b[k * N + j];
            assert_true(c[i * N + j] == sum);
            c[i * N + j] = 1.0f;
        }
}

static void elsewhere(lac_status_t status, const char *name)
{
    fake_device_refuses(status, LAC_ERR_SPACE, name);
    fake.elsewhere = NULL;
    for (int i = 0; i < 2 * M * N; i++) assert_true(c[i] == 1.0f);
}

#define ELSEWHERE(memory, call, name)                                                                        \
    do {                                                                                                     \
        fake.elsewhere = memory;                                                                             \
        elsewhere(call, name ": is not here");                                                               \
    } while (0)

static void test_products_lie_here(void **state)
{
    lac_ctx_t *ctx = *state;
    view_t v = views(ctx);
    unit_expect(lac_gemm(ctx, NULL, &v.a, &v.b, NULL, &v.c), LAC_OK, "all lies here");
    expect_product(0.0f);
    ELSEWHERE(a, lac_gemm(ctx, NULL, &v.a, &v.b, NULL, &v.c), "a");
    ELSEWHERE(b, lac_gemm(ctx, NULL, &v.a, &v.b, NULL, &v.c), "b");
    ELSEWHERE(c, lac_gemm(ctx, NULL, &v.a, &v.b, NULL, &v.c), "c");
    lac_obj_t two_a[] = {v.a, v.a}, two_b[] = {v.b, v.b}, two_c[] = {v.c, v.c};
    float other_a[M * K] = {0}, other_b[K * N] = {0};
    two_a[1].buf = other_a, two_b[1].buf = other_b, two_c[1].buf = c + M * N;
    ELSEWHERE(other_a, lac_gemm_batched_array(ctx, 2, NULL, two_a, 1, two_b, 1, NULL, two_c), "a[1]");
    ELSEWHERE(other_b, lac_gemm_batched_array(ctx, 2, NULL, two_a, 1, two_b, 1, NULL, two_c), "b[1]");
    ELSEWHERE(c + M * N, lac_gemm_batched_array(ctx, 2, NULL, two_a, 1, two_b, 1, NULL, two_c), "c[1]");
    unit_expect(lac_meta_create_for(ctx, &v.a.meta, M, K), LAC_OK, "meta");
    ELSEWHERE(a, lac_meta_scan(ctx, &v.a, LAC_META_CSR), "obj");
    unit_expect(lac_meta_scan(ctx, &v.a, LAC_META_CSR), LAC_OK, "scan");
    assert_true(lac_meta_density(v.a.meta) == 4.0 / (M * K));
    lac_meta_free(v.a.meta);
    lac_meta_free(v.pattern.meta);
}

static void test_sampled_products_lie_here(void **state)
{
    lac_ctx_t *ctx = *state;
    view_t v = views(ctx);
    lac_obj_t x = fake_device_matrix(M, N, c), y = fake_device_matrix(N, K, b);
    fake.elsewhere = NULL;
    unit_expect(lac_sddmm(ctx, NULL, &x, &y, NULL, &v.pattern, values), LAC_OK, "all lies here");
    for (int e = 0; e < 4; e++) assert_true(values[e] == b[idx[e]] + b[K + idx[e]]);
    ELSEWHERE(c, lac_sddmm(ctx, NULL, &x, &y, NULL, &v.pattern, values), "a");
    ELSEWHERE(b, lac_sddmm(ctx, NULL, &x, &y, NULL, &v.pattern, values), "b");
    ELSEWHERE(values, lac_sddmm(ctx, NULL, &x, &y, NULL, &v.pattern, values), "values");
    ELSEWHERE(values, lac_sddmm(ctx, NULL, &x, &y, NULL, &v.pattern, values), "values");
    lac_obj_t grad = fake_device_matrix(M, K, values), transposed = fake_device_matrix(K, N, b);
    ELSEWHERE(values, lac_gemm_grad_a(ctx, NULL, &x, &transposed, NULL, &grad, NULL), "grad_a");
    unit_expect(lac_gemm_grad_a(ctx, NULL, &x, &transposed, NULL, &grad, NULL), LAC_OK, "gradient");
    for (int i = 0; i < M * K; i++) assert_true(values[i] == b[i % K * N] + b[i % K * N + 1]);
    lac_meta_free(v.pattern.meta);
}

static void test_slices_lie_here(void **state)
{
    lac_ctx_t *ctx = *state;
    view_t v = views(ctx);
    lac_obj_t out = fake_device_matrix(ROWS, K, sliced);
    const lac_slice_opts_t other = {.size = sizeof other, .val = a};
    int32_t at[ROWS + 1] = {0}, columns[K] = {0};
    unit_expect(lac_slice_rows(ctx, &v.pattern, LAC_I32, ROWS, picked, &out, NULL), LAC_OK, "slice");
    assert_true(sliced[1] == 4.0f && sliced[K] == 1.0f && sliced[K + 3] == 2.0f);
    ELSEWHERE(picked, lac_slice_rows(ctx, &v.pattern, LAC_I32, ROWS, picked, &out, NULL), "rows");
    ELSEWHERE(sliced, lac_slice_rows(ctx, &v.pattern, LAC_I32, ROWS, picked, &out, NULL), "out");
    ELSEWHERE(a, lac_slice_rows(ctx, &v.pattern, LAC_I32, ROWS, picked, &out, &other), "options.val");
    ELSEWHERE(values, lac_slice_rows_grad(ctx, &v.pattern, LAC_I32, ROWS, picked, &out, values, NULL),
              "grad_val");
    ELSEWHERE(at, lac_slice_rows_count(ctx, &v.pattern, LAC_I32, ROWS, picked, LAC_I32, at, NULL), "ptr");
    unit_expect(lac_slice_rows_count(ctx, &v.pattern, LAC_I32, ROWS, picked, LAC_I32, at, NULL), LAC_OK,
                "count");
    assert_int_equal(at[ROWS], 3);
    ELSEWHERE(columns,
              lac_slice_rows_csr(ctx, &v.pattern, LAC_I32, ROWS, picked, LAC_I32, at, columns, values, NULL),
              "idx");
    ELSEWHERE(values,
              lac_slice_rows_csr(ctx, &v.pattern, LAC_I32, ROWS, picked, LAC_I32, at, columns, values, NULL),
              "val");
    lac_obj_t dense = fake_device_matrix(M, K, a);
    ELSEWHERE(a, lac_slice_rows(ctx, &dense, LAC_I32, ROWS, picked, &out, NULL), "a");
    lac_meta_free(v.pattern.meta);
}

/* Metadata is at home where it was first used. */
static void test_metadata_of_the_other_side(void **state)
{
    lac_ctx_t *ctx = *state, *host = unit_ctx();
    view_t v = views(ctx);
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, M, K, NULL, K), ob = lac_obj_rowmajor(LAC_F32, K, N, b, N),
              oc = lac_obj_rowmajor(LAC_F32, M, N, c, N);
    oa.meta = v.pattern.meta;
    fake_device_refuses(lac_gemm(host, NULL, &oa, &ob, NULL, &oc), LAC_ERR_SPACE,
                        "a.meta: its arrays lie on a device, the operand on the host");
    unit_expect(lac_meta_create_for(host, &oa.meta, M, K), LAC_OK, "meta");
    v.a.meta = oa.meta;
    fake_device_refuses(lac_gemm(ctx, NULL, &v.a, &v.b, NULL, &v.c), LAC_ERR_SPACE,
                        "a.meta: its arrays lie on the host, the operand on a device");
    fake_device_refuses(lac_meta_create_for(NULL, &oa.meta, M, K), LAC_ERR_NULL, "ctx: is NULL");
    lac_meta_free(v.a.meta);
    lac_meta_free(v.pattern.meta);
    lac_ctx_free(host);
}

static lac_status_t attach(lac_meta_t *meta, int format)
{
    static const int64_t ptr64[] = {0, 2, 3, 4}, idx64[] = {0, 3, 2, 1}, col_ptr[] = {0, 1, 2, 3, 4},
                         col_idx[] = {0, 2, 1, 0};
    static const int32_t columns[] = {1, 3};
    static const uint64_t bits[] = {9, 4, 2};
    static const float active[2 * M] = {1, 2, 3, 4, 5, 6};
    return format == 0   ? lac_meta_attach_csr(meta, LAC_I32, ptr, idx, val)
           : format == 1 ? lac_meta_attach_csr(meta, LAC_I64, ptr64, idx64, val)
           : format == 2 ? lac_meta_attach_csc(meta, LAC_I64, col_ptr, col_idx, val)
           : format == 3 ? lac_meta_attach_active(meta, 2, columns, active)
                         : lac_meta_attach_bitmask(meta, bits, val);
}

/* Arrays are fetched to be checked, and what is made of them is placed: either may fail, and then nothing is
 * attached. */
static void test_attaching_that_fails(void **state)
{
    lac_ctx_t *ctx = *state;
    for (int format = 0; format < 5; format++) {
        lac_status_t status = LAC_ERR_VENDOR;
        int n = 0;
        while (status) {
            view_t v = {.b = fake_device_matrix(K, N, b), .c = fake_device_matrix(M, N, c)};
            lac_obj_t oa = fake_device_matrix(M, K, NULL);
            unit_expect(lac_meta_create_for(ctx, &oa.meta, M, K), LAC_OK, "meta");
            fake.calls = 0, fake.fails = ++n;
            status = attach(oa.meta, format);
            fake.fails = 0;
            if (status) unit_expect(status, LAC_ERR_VENDOR, "attach");
            lac_status_t used = lac_gemm(ctx, NULL, &oa, &v.b, NULL, &v.c);
            unit_expect(used, status ? LAC_ERR_EMPTY : LAC_OK, "product");
            lac_meta_free(oa.meta);
        }
        assert_true(n > 1);
    }
}

/* Metadata made without a context, which a device has used: host arrays come too late. */
static void test_attaching_to_the_other_side(void **state)
{
    view_t v = views(*state);
    unit_expect(lac_meta_create(&v.a.meta, M, K), LAC_OK, "meta");
    unit_expect(lac_gemm(*state, NULL, &v.a, &v.b, NULL, &v.c), LAC_OK, "used on the device");
    for (int format = 0; format < 5; format++)
        fake_device_refuses(attach(v.a.meta, format), LAC_ERR_SPACE, "meta: serves an operand on a device");
    lac_meta_free(v.a.meta);
    lac_meta_free(v.pattern.meta);
}

static void test_scalars_lie_there(void **state)
{
    lac_ctx_t *ctx = *state, *host = unit_ctx();
    view_t v = views(ctx);
    lac_call_opts_t call = {.size = sizeof call, .scalars = LAC_DEVICE};
    const float one = 1.0f, same = 1.0f;
    unit_expect(lac_gemm_ex(ctx, &one, &v.a, &v.b, &same, &v.c, &call), LAC_OK, "scalars on the device");
    expect_product(1.0f);
    fake_device_refuses(lac_gemm_ex(ctx, NULL, &v.a, &v.b, &same, &v.c, &call), LAC_ERR_NULL,
                        "alpha: is NULL; on the");
    fake_device_refuses(lac_gemm_ex(ctx, &one, &v.a, &v.b, NULL, &v.c, &call), LAC_ERR_NULL,
                        "beta: is NULL; on the");
    fake.elsewhere = &one;
    elsewhere(lac_gemm_ex(ctx, &one, &v.a, &v.b, &same, &v.c, &call), "alpha: does not lie");
    fake.elsewhere = &same;
    elsewhere(lac_gemm_ex(ctx, &one, &v.a, &v.b, &same, &v.c, &call), "beta: does not lie");
    fake_device_refuses(lac_gemm_ex(host, &one, &v.a, &v.b, &same, &v.c, &call), LAC_ERR_SPACE,
                        "computes on the host");
    call.scalars = (lac_space_t)7;
    fake_device_refuses(lac_gemm_ex(ctx, &one, &v.a, &v.b, &same, &v.c, &call), LAC_ERR_VALUE,
                        "scalars: 7 is no space");
    lac_meta_free(v.pattern.meta);
    lac_ctx_free(host);
}

/* ---- what a device may lack, and plans ---- */

static void test_what_a_device_lacks(void **state)
{
    lac_ctx_t *ctx = *state;
    view_t v = views(ctx);
    lac_obj_t out = fake_device_matrix(ROWS, K, sliced), x = fake_device_matrix(M, N, c),
              y = fake_device_matrix(N, K, b);
    lac_backend_t *without = fake_device_backend();
    without->slicer = NULL;
    without->sddmm = NULL;
    fake_device_refuses(lac_slice_rows(ctx, &v.pattern, LAC_I32, ROWS, picked, &out, NULL),
                        LAC_ERR_UNAVAILABLE, "slices no rows");
    fake_device_refuses(lac_sddmm(ctx, NULL, &x, &y, NULL, &v.pattern, values), LAC_ERR_UNAVAILABLE, "ctx: ");
    without->densify = NULL;
    fake_device_refuses(lac_meta_convert(ctx, &v.pattern, LAC_META_BITMASK), LAC_ERR_UNAVAILABLE,
                        "converts nothing");
    without->check = NULL;
    without->prepare = NULL;
    unit_expect(lac_gemm(ctx, NULL, &v.a, &v.b, NULL, &v.c), LAC_OK, "no checks");
    expect_product(0.0f);
    lac_meta_free(v.pattern.meta);
}

static void test_plans_are_prepared(void **state)
{
    lac_ctx_t *ctx = *state;
    view_t v = views(ctx);
    lac_plan_t *plan;
    lac_call_opts_t call = {.size = sizeof call, .scalars = LAC_DEVICE};
    const float one = 1.0f;
    fake.fails = fake.calls + 1;
    fake_device_refuses(lac_plan_create(ctx, &plan, &v.a, &v.b, &v.c, NULL), LAC_ERR_VENDOR,
                        "as the test wants it");
    assert_null(plan);
    unit_expect(lac_plan_create(ctx, &plan, &v.a, &v.b, &v.c, &call), LAC_OK, "plan");
    assert_int_equal(fake.prepared, 2);
    unit_expect(lac_plan_run(plan, &one, &v.a, &v.b, &one, &v.c), LAC_OK, "run");
    expect_product(1.0f);
    fake_device_refuses(lac_plan_run(plan, NULL, &v.a, &v.b, &one, &v.c), LAC_ERR_NULL, "alpha: is NULL");
    lac_plan_free(plan);
    lac_meta_free(v.pattern.meta);
}

#define PLACES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_device_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACES_TEST(test_products_lie_here),    PLACES_TEST(test_sampled_products_lie_here),
        PLACES_TEST(test_slices_lie_here),      PLACES_TEST(test_metadata_of_the_other_side),
        PLACES_TEST(test_attaching_that_fails), PLACES_TEST(test_attaching_to_the_other_side),
        PLACES_TEST(test_scalars_lie_there),    PLACES_TEST(test_what_a_device_lacks),
        PLACES_TEST(test_plans_are_prepared),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
