/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Descriptions and layouts as the vendor's cuBLASLt makes them, which takes no device, read by the drop-in
 * library before a fake driver and a device that is the host: what it takes is computed. What it leaves comes
 * back from cuBLASLt as an error, since the handle is none. */
#include <cublasLt.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { M = 5, N = 4, K = 7, LD = 9, MOST = LD * LD };

static float a[MOST], b[MOST], d[MOST], bias[M];
static cublasLtMatmulDesc_t desc;
static cublasLtMatrixLayout_t of_a, of_b, of_d;

static void done(cublasStatus_t status)
{
    assert_int_equal(status, CUBLAS_STATUS_SUCCESS);
}

static void set(int attribute, const void *value, size_t bytes)
{
    done(cublasLtMatmulDescSetAttribute(desc, (cublasLtMatmulDescAttributes_t)attribute, value, bytes));
}

static int begin(void **state)
{
    const cublasOperation_t transposed = CUBLAS_OP_T;
    (void)state;
    for (int i = 0; i < MOST; i++) a[i] = (float)(i % 5 - 2), b[i] = (float)(i % 7 - 3), d[i] = -77.0f;
    for (int i = 0; i < M; i++) bias[i] = (float)i;
    done(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    done(cublasLtMatrixLayoutCreate(&of_a, CUDA_R_32F, K, M, LD));
    done(cublasLtMatrixLayoutCreate(&of_b, CUDA_R_32F, K, N, LD));
    done(cublasLtMatrixLayoutCreate(&of_d, CUDA_R_32F, M, N, LD));
    return 0;
}

static int end(void **state)
{
    (void)state;
    cublasLtMatmulDescDestroy(desc);
    cublasLtMatrixLayoutDestroy(of_a);
    cublasLtMatrixLayoutDestroy(of_b);
    cublasLtMatrixLayoutDestroy(of_d);
    return 0;
}

static cublasStatus_t multiply(void)
{
    static char no_handle[65536];
    const float one = 1.0f, zero = 0.0f;
    return cublasLtMatmul((cublasLtHandle_t)(void *)no_handle, desc, &one, a, of_a, b, of_b, &zero, d, of_d,
                          d, of_d, NULL, NULL, 0, NULL);
}

static void computed(cublasStatus_t status, int biased)
{
    done(status);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            float sum = biased ? bias[i] : 0.0f;
            for (int k = 0; k < K; k++) sum += a[k + i * LD] * b[k + j * LD];
            assert_true(d[i + j * LD] == sum);
        }
}

static void left(cublasStatus_t status)
{
    assert_int_not_equal(status, CUBLAS_STATUS_SUCCESS);
    for (int i = 0; i < MOST; i++) assert_true(d[i] == -77.0f);
}

static void test_as_they_are_made(void **state)
{
    (void)state;
    computed(multiply(), 0);
}

static void test_bias(void **state)
{
    const uint32_t with_bias = CUBLASLT_EPILOGUE_BIAS;
    const int32_t halves = CUDA_R_16F;
    const void *at = bias;
    (void)state;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, &with_bias, sizeof with_bias);
    left(multiply()); /* it lies nowhere */
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at, sizeof at);
    computed(multiply(), 1);
    for (int i = 0; i < MOST; i++) d[i] = -77.0f;
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &halves, sizeof halves);
    left(multiply());
}

static void test_what_is_asked_beside(void **state)
{
    static const int pointers[] = {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                   CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
                                   CUBLASLT_MATMUL_DESC_AMAX_D_POINTER};
    const void *at = bias, *nowhere = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        set(pointers[i], &at, sizeof at);
        left(multiply());
        set(pointers[i], &nowhere, sizeof nowhere);
    }
    computed(multiply(), 0);
}

static void test_layouts(void **state)
{
    const int32_t two = 2, by_rows = CUBLASLT_ORDER_ROW;
    (void)state;
    done(cublasLtMatrixLayoutSetAttribute(of_b, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &two, sizeof two));
    left(multiply());
    end(state);
    begin(state);
    done(cublasLtMatrixLayoutSetAttribute(of_a, CUBLASLT_MATRIX_LAYOUT_ORDER, &by_rows, sizeof by_rows));
    left(multiply());
}

int main(void)
{
    setenv("LACUNA_BACKEND", "event", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_as_they_are_made, begin, end),
        cmocka_unit_test_setup_teardown(test_bias, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_asked_beside, begin, end),
        cmocka_unit_test_setup_teardown(test_layouts, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
