/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Registered operands before a fake cuBLAS and a device that is the host: they are computed at places that
 * are known to be dense. What is registered is said to be sparser than it is, so that it has to be believed.
 */
#include "fake_cublas.h"
#include "cublas/shapes.h"

#include "lacuna/lacuna.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SIDE = 104, SETTLES = 12 };

extern sgemm_fn cublasSgemm_v2;
extern sgemv_fn cublasSgemv_v2;
extern sgemm_strided_fn cublasSgemmStridedBatched;
extern gemm_ex_fn cublasGemmEx;
extern gemm_strided_ex_fn cublasGemmStridedBatchedEx;
extern lt_matmul_fn cublasLtMatmul;

static fake_take_fn *take;
static char handle[64];
static const float one = 1.0f, zero = 0.0f;
static float memory[SIDE + SIDE * SIDE], *const w = memory + SIDE; /* something lies before it */
static float x[SIDE * SIDE], bias[SIDE], out[SIDE * SIDE];
static lac_ctx_t *ctx;
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

static lac_obj_t registered(void)
{
    lac_obj_t weight = lac_obj_colmajor(LAC_F32, SIDE, SIDE, w, SIDE);
    weight.space = LAC_DEVICE;
    assert_int_equal(lac_meta_create_for(ctx, &weight.meta, SIDE, SIDE), LAC_OK);
    assert_int_equal(lac_meta_attach_csr(weight.meta, LAC_I32, ptr, idx, NULL), LAC_OK);
    assert_int_equal(lac_register(ctx, &weight), LAC_OK);
    return weight;
}

static void unregistered(const lac_obj_t *weight)
{
    assert_int_equal(lac_unregister(w), LAC_OK);
    lac_meta_free(weight->meta);
}

static void test_at_a_dense_place(void **state)
{
    (void)state;
    int (*const calls[])(void) = {sgemm, lt_matmul};
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        for (int i = 0; i < SETTLES; i++) assert_int_equal(calls_behind(calls[c]), 1);
        lac_obj_t weight = registered();
        for (int i = 0; i < SETTLES; i++) {
            assert_int_equal(calls_behind(calls[c]), 0);
            check_product();
        }
        unregistered(&weight);
        assert_int_equal(calls_behind(calls[c]), 1);
    }
}

static int one_by_one(void)
{
    return cublasSgemm_v2(handle, 0, 0, 1, 1, 1, &one, x, 1, x, 1, &zero, w + SIDE * SIDE - 1, 1);
}

static int nothing_but_beta(void)
{
    return cublasSgemm_v2(handle, 0, 0, 2, 2, 0, &one, x, 2, x, 2, &zero, w, 2);
}

static int vector(void)
{
    return cublasSgemv_v2(handle, 0, 2, 2, &one, x, 2, x, 1, &zero, w + 5, -3);
}

/* Halves into f32: the second of two, the first lies before what is registered. */
static int halves(void)
{
    return cublasGemmStridedBatchedEx(handle, 0, 0, 2, 2, 2, &one, x, 2, 2, 0, x, 2, 2, 0, &zero, memory, 0,
                                      2, SIDE, 2, CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT);
}

static int members(void)
{
    return cublasSgemmStridedBatched(handle, 0, 0, 2, 2, 2, &one, x, 2, 1, x, 2, 1, &zero, memory, 2, SIDE,
                                     2);
}

/* Where anybody writes, nothing is as it was registered. */
static void test_written_over(void **state)
{
    int (*const writes[])(void) = {one_by_one, nothing_but_beta, vector, halves, members};
    (void)state;
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        lac_obj_t weight = registered();
        assert_int_equal(calls_behind(sgemm), 0);
        take();
        writes[i]();
        assert_int_equal(take().calls, 1);
        assert_int_equal(calls_behind(sgemm), 1);
        unregistered(&weight);
    }
}

/* Halves of which twice as many fit before what is registered. */
static void test_written_beside(void **state)
{
    enum { ROWS = SIDE };
    const fake_attributes_t desc = {{CUBLAS_COMPUTE_FP32, 0, 0, 0, 0, 0, LT_FILL_ALL, LT_EPILOGUE_NONE}},
                            of_x = {{2, 0, ROWS, ROWS, ROWS, 1}}, of_d = {{2, 0, ROWS, 2, ROWS, 1}};
    (void)state;
    lac_obj_t weight = registered();
    cublasLtMatmul(handle, &desc, &one, x, &of_x, x, &of_d, &zero, memory, &of_d, memory, &of_d, NULL, NULL,
                   0, NULL);
    cublasGemmEx(handle, 0, 0, ROWS, 2, ROWS, &one, x, 2, ROWS, x, 2, ROWS, &zero, memory, 2, ROWS,
                 CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT);
    assert_int_equal(calls_behind(sgemm), 0);
    unregistered(&weight);
}

/* A product whose extents cannot be read is an error of the call, which writes nothing. */
static void test_nothing_is_written(void **state)
{
    const fake_attributes_t desc = {{CUBLAS_COMPUTE_FP32, 0, 0, 0, 0, 0, LT_FILL_ALL, LT_EPILOGUE_NONE}},
                            of_x = {{0, 0, SIDE, SIDE, SIDE, 1}};
    fake_attributes_t of_d = {{0, 0, SIDE, SIDE, SIDE, 1}};
    (void)state;
    lac_obj_t weight = registered();
    for (int which = 0; which < 2; which++) {
        of_d.value[LT_ROWS] = which == 0 ? FAKE_UNREADABLE : SIDE;
        of_d.value[LT_COLS] = which == 1 ? FAKE_UNREADABLE : SIDE;
        cublasLtMatmul(handle, &desc, &one, x, &of_x, x, &of_x, &zero, w, &of_d, w, &of_d, NULL, NULL, 0,
                       NULL);
        assert_int_equal(calls_behind(sgemm), 0);
    }
    unregistered(&weight);
}

static int ready(void **state)
{
    (void)state;
    take = (fake_take_fn *)fake_symbol("libcublas.so.13", "fake_take");
    for (int i = 0; i < SIDE * SIDE; i++) w[i] = (float)(i % 5 + 1), x[i] = (float)(i % 3 + 1);
    for (int i = 0; i < SIDE; i++) ptr[i + 1] = i + 1, idx[i] = i;
    return take && !lac_ctx_create_cuda(&ctx, -1, NULL) ? 0 : -1;
}

static int finish(void **state)
{
    (void)state;
    lac_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_a_dense_place),
        cmocka_unit_test(test_written_over),
        cmocka_unit_test(test_written_beside),
        cmocka_unit_test(test_nothing_is_written),
    };
    return cmocka_run_group_tests(tests, ready, finish);
}
