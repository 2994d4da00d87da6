/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Registered operands before a fake cuBLAS and a device that is the host: they are computed at places that
 * are known to be dense. What is registered is said to be sparser than it is, so that it has to be believed.
 */
#include "fake_cublas.h"
#include "../../plugin/cublas/cublas_shapes.h"

#include "lacuna/lacuna.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SIDE = 104, SETTLES = 12 };

extern sgemm_fn cublasSgemm_v2;
extern lt_matmul_fn cublasLtMatmul;

static fake_take_fn *take;
static char handle[64];
static const float one = 1.0f, zero = 0.0f;
static float w[SIDE * SIDE], x[SIDE * SIDE], bias[SIDE], out[SIDE * SIDE];
static int32_t ptr[SIDE + 1], idx[SIDE];

static int sgemm(void)
{
    return cublasSgemm_v2(handle, 0, 0, SIDE, SIDE, SIDE, &one, w, SIDE, x, SIDE, &zero, out, SIDE);
}

static int lt_matmul(void)
{
    fake_attributes_t desc = {{CUBLAS_COMPUTE_FP32, 0, 0, 0, 0, 0, LT_FILL_ALL, LT_EPILOGUE_BIAS}},
                      layout = {{0, 0, SIDE, SIDE, SIDE, 1}};
    desc.value[LT_BIAS] = (int64_t)bias;
    return cublasLtMatmul(handle, &desc, &one, w, &layout, x, &layout, &zero, out, &layout, out, &layout,
                          NULL, NULL, 0, NULL);
}

static int calls_behind(int (*call)(void))
{
    take();
    memset(out, 0, sizeof out);
    call();
    return take().calls;
}

static void check_product(void)
{
    for (int j = 0; j < SIDE; j += 17)
        for (int i = 0; i < SIDE; i += 13) {
            float sum = 0.0f;
            for (int k = 0; k < SIDE; k++) sum += w[i + k * SIDE] * x[k + j * SIDE];
            assert_true(out[i + j * SIDE] == sum);
        }
}

static void test_at_a_dense_place(void **state)
{
    (void)state;
    int (*const calls[])(void) = {sgemm, lt_matmul};
    lac_ctx_t *ctx;
    assert_int_equal(lac_ctx_create_cuda(&ctx, -1, NULL), LAC_OK);
    lac_obj_t weight = lac_obj_colmajor(LAC_F32, SIDE, SIDE, w, SIDE);
    weight.space = LAC_DEVICE;
    assert_int_equal(lac_meta_create_for(ctx, &weight.meta, SIDE, SIDE), LAC_OK);
    assert_int_equal(lac_meta_attach_csr(weight.meta, LAC_I32, ptr, idx, NULL), LAC_OK);
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        for (int i = 0; i < SETTLES; i++) assert_int_equal(calls_behind(calls[c]), 1);
        assert_int_equal(lac_register(ctx, &weight), LAC_OK);
        for (int i = 0; i < SETTLES; i++) {
            assert_int_equal(calls_behind(calls[c]), 0);
            check_product();
        }
        assert_int_equal(lac_unregister(w), LAC_OK);
        assert_int_equal(calls_behind(calls[c]), 1);
    }
    lac_meta_free(weight.meta);
    lac_ctx_free(ctx);
}

/* Where cuBLAS writes, nothing is as it was registered. */
static void test_written_over(void **state)
{
    (void)state;
    lac_ctx_t *ctx;
    assert_int_equal(lac_ctx_create_cuda(&ctx, -1, NULL), LAC_OK);
    lac_obj_t weight = lac_obj_colmajor(LAC_F32, SIDE, SIDE, w, SIDE);
    weight.space = LAC_DEVICE;
    assert_int_equal(lac_meta_create_for(ctx, &weight.meta, SIDE, SIDE), LAC_OK);
    assert_int_equal(lac_meta_attach_csr(weight.meta, LAC_I32, ptr, idx, NULL), LAC_OK);
    assert_int_equal(lac_register(ctx, &weight), LAC_OK);
    assert_int_equal(calls_behind(sgemm), 0);
    take();
    cublasSgemm_v2(handle, 0, 0, 1, 1, 1, &one, x, 1, x, 1, &zero, w + SIDE * SIDE - 1, 1);
    assert_int_equal(take().calls, 1);
    assert_int_equal(calls_behind(sgemm), 1);
    assert_int_equal(lac_unregister(w), LAC_OK);
    lac_meta_free(weight.meta);
    lac_ctx_free(ctx);
}

static int ready(void **state)
{
    (void)state;
    take = (fake_take_fn *)fake_symbol("libcublas.so.13", "fake_take");
    for (int i = 0; i < SIDE * SIDE; i++) w[i] = (float)(i % 5 + 1), x[i] = (float)(i % 3 + 1);
    for (int i = 0; i < SIDE; i++) ptr[i + 1] = i + 1, idx[i] = i;
    return take ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_a_dense_place),
        cmocka_unit_test(test_written_over),
    };
    return cmocka_run_group_tests(tests, ready, NULL);
}
