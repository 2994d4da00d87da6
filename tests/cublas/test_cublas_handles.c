/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a handle, the types, a batch's strides and the driver say of a call, one at a time: whether it is
 * computed, before a fake cuBLAS and a device that is the host, or left to cuBLAS with D as it was. */
#include "fake_cublas.h"
#include "cublas/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { M = 4, N = 3, K = 5, LDC = M + 3, COUNT = 2, MOST = 16 * COUNT * M * K };

extern sgemm_fn cublasSgemm_v2;
extern sgemv_fn cublasSgemv_v2;
extern gemm_ex_fn cublasGemmEx;
extern sgemm_strided_fn cublasSgemmStridedBatched;
extern gemm_strided_ex_fn cublasGemmStridedBatchedEx;
extern int fake_capturing, fake_contextless, fake_resets;

static fake_take_fn *take;
static fake_handle_t *handle;
static char any_handle[64], streams[100];
static const float one = 1.0f, zero = 0.0f;
static float a[MOST], b[MOST], c[MOST];

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++) a[i] = (float)(i % 5 - 2), b[i] = (float)(i % 7 - 3), c[i] = -77.0f;
    *handle = (fake_handle_t){.stream = streams};
    take();
    return 0;
}

/* The call was left to cuBLAS, which computes nothing. */
static void left(int status)
{
    assert_int_equal(status, FAKE_STATUS);
    assert_int_equal(take().calls, 1);
    for (int i = 0; i < MOST; i++) assert_true(c[i] == -77.0f);
}

/* The call was computed: `count` products, each so far behind the one before. */
static void computed(int status, int tb, int lda, int ldb, int ldc, const int64_t stride[3], int count)
{
    assert_int_equal(status, CUBLAS_SUCCESS);
    assert_int_equal(take().calls, 0);
    for (int q = 0; q < count; q++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                float sum = 0.0f;
                const float *x = a + q * stride[0], *y = b + q * stride[1];
                for (int k = 0; k < K; k++) sum += x[i + k * lda] * y[tb ? j + k * ldb : k + j * ldb];
                assert_true(c[q * stride[2] + i + j * ldc] == sum);
            }
    for (int i = 0; i < MOST; i++) c[i] = -77.0f;
}

static const int64_t alone[3];

static int sgemm(void *with)
{
    return cublasSgemm_v2(with, 0, 0, M, N, K, &one, a, M, b, K, &zero, c, M);
}

static void test_what_a_handle_says(void **state)
{
    static const int maths[] = {CUBLAS_MATH_DEFAULT, CUBLAS_MATH_PEDANTIC, CUBLAS_MATH_TF32,
                                CUBLAS_MATH_NO_REDUCTION, CUBLAS_MATH_TF32 | CUBLAS_MATH_NO_REDUCTION};
    (void)state;
    for (size_t i = 0; i < sizeof maths / sizeof *maths; i++) {
        handle->math = maths[i];
        computed(sgemm(any_handle), 0, M, K, M, alone, 1);
    }
    handle->stream = NULL; /* the legacy default stream */
    computed(sgemm(any_handle), 0, M, K, M, alone, 1);
    /* A device that is reset: its context has the address of before, and what was made in it is gone. */
    for (fake_resets = 1; fake_resets < 80; fake_resets++) computed(sgemm(any_handle), 0, M, K, M, alone, 1);
    fake_resets = 0;
    handle->math = 1; /* tensor operations on half of the bits */
    left(sgemm(any_handle));
    handle->math = 0, handle->scalars = 1; /* on the device */
    left(sgemm(any_handle));
    handle->scalars = 0;
    for (int getter = 1; getter <= FAKE_MATH_MODE; getter *= 2) {
        handle->fails = getter;
        left(sgemm(any_handle));
    }
    handle->fails = 0;
    left(sgemm(NULL));
    handle->stream = (void *)2; /* one for each thread */
    left(sgemm(any_handle));
}

/* The arithmetic that the product's route is asked for is the handle's, or the call's where it names one. */
static void test_arithmetic_is_passed_on(void **state)
{
    enum { FP32, PEDANTIC, TF32 }; /* as lac_math_t has them */
    static const struct {
        int of_handle, of_call, want;
    } rows[] = {{CUBLAS_MATH_DEFAULT, CUBLAS_COMPUTE_FP32, FP32},
                {CUBLAS_MATH_PEDANTIC, 0, PEDANTIC},
                {CUBLAS_MATH_TF32, 0, TF32},
                {CUBLAS_MATH_DEFAULT, 0, FP32},
                {CUBLAS_MATH_DEFAULT, CUBLAS_COMPUTE_FP32_PEDANTIC, PEDANTIC},
                {CUBLAS_MATH_DEFAULT, CUBLAS_COMPUTE_TF32, TF32}};
    (void)state;
    int *math = fake_symbol("liblacuna_cuda.so", "stub_math");
    assert_non_null(math);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        handle->math = rows[i].of_handle, *math = -1;
        if (rows[i].of_call)
            assert_int_equal(cublasGemmEx(any_handle, 0, 0, M, N, K, &one, a, CUDA_TYPE_F32, M, b,
                                          CUDA_TYPE_F32, K, &zero, c, CUDA_TYPE_F32, M, rows[i].of_call,
                                          CUBLAS_ALGO_DEFAULT),
                             0);
        else
            assert_int_equal(sgemm(any_handle), 0);
        assert_int_equal(take().calls, 0);
        assert_int_equal(*math, rows[i].want);
    }
}

static void test_what_the_driver_says(void **state)
{
    (void)state;
    fake_contextless = 1;
    left(sgemm(any_handle));
    fake_contextless = 0, fake_capturing = 1;
    left(sgemm(any_handle));
    fake_capturing = 0;
    computed(sgemm(any_handle), 0, M, K, M, alone, 1);
}

static int gemm_ex(const int type[3], int compute, int algo)
{
    return cublasGemmEx(any_handle, 0, 0, M, N, K, &one, a, type[0], M, b, type[1], K, &zero, c, type[2], M,
                        compute, algo);
}

static void test_types_and_arithmetic(void **state)
{
    static const int computes[] = {CUBLAS_COMPUTE_FP32, CUBLAS_COMPUTE_FP32_PEDANTIC, CUBLAS_COMPUTE_TF32};
    const int f32[3] = {CUDA_TYPE_F32, CUDA_TYPE_F32, CUDA_TYPE_F32};
    (void)state;
    for (int i = 0; i < 3; i++) {
        int f16_once[3] = {f32[0], f32[1], f32[2]};
        computed(gemm_ex(f32, computes[i], CUBLAS_ALGO_DEFAULT), 0, M, K, M, alone, 1);
        f16_once[i] = 2;
        assert_int_equal(gemm_ex(f16_once, CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT), FAKE_STATUS);
        assert_string_equal(take().first, "cublasGemmEx");
    }
    computed(gemm_ex(f32, CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT_TENSOR), 0, M, K, M, alone, 1);
    assert_int_equal(gemm_ex(f32, 64, CUBLAS_ALGO_DEFAULT), FAKE_STATUS); /* in halves */
    assert_string_equal(take().first, "cublasGemmEx");
    assert_int_equal(gemm_ex(f32, CUBLAS_COMPUTE_FP32, 3), FAKE_STATUS); /* an algorithm by name */
    assert_string_equal(take().first, "cublasGemmEx");
}

/* A batch, by one entry point or the other. */
typedef struct batch {
    int tb, lda, ldb, ldc;
    int64_t stride[3], count;
} batch_t;

static int strided(const batch_t *s)
{
    return cublasSgemmStridedBatched(any_handle, 0, s->tb, M, N, K, &one, a, s->lda, s->stride[0], b, s->ldb,
                                     s->stride[1], &zero, c, s->ldc, s->stride[2], s->count);
}

static int strided_of_types(const batch_t *s, const int type[3], int compute, int algo)
{
    return cublasGemmStridedBatchedEx(any_handle, 0, s->tb, M, N, K, &one, a, type[0], s->lda, s->stride[0],
                                      b, type[1], s->ldb, s->stride[1], &zero, c, type[2], s->ldc,
                                      s->stride[2], s->count, compute, algo);
}

static int strided_ex(const batch_t *s)
{
    const int f32[3] = {CUDA_TYPE_F32, CUDA_TYPE_F32, CUDA_TYPE_F32};
    return strided_of_types(s, f32, CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT);
}

static void test_batches(void **state)
{
    static const batch_t ones[] = {
        {0, M, K, M, {99, 98, 97}, 1},                  /* one member: its strides do not matter      */
        {0, M, K, M, {0, K * N, M * N}, COUNT},         /* one A; B and C side by side                */
        {1, M, N * COUNT, M, {0, N, M * N}, COUNT},     /* the same, B transposed                     */
        {0, M * COUNT, K, M * COUNT, {M, 0, M}, COUNT}, /* one B; A and C one below the other         */
        {0, M, K, M, {M * K, K * N, M * N}, COUNT},     /* separate products                          */
        {0, M, K, LDC, {M * K, K * N, LDC * (N - 1) + M}, COUNT}, /* C ends where the next one begins     */
        {0, M, K, M, {0, K * N + 1, M * N}, COUNT}, /* B leaves a gap                             */
        {0, M, K, M, {0, K * N, M * N + 1}, COUNT}, /* C does                                     */
        {1, M, N, M, {0, N, M * N}, COUNT},         /* the transposed Bs overlap                  */
    };
    static const batch_t others[] = {
        {0, M, K, LDC, {M * K, K * N, LDC * (N - 1) + M - 1}, COUNT}, /* it ends one element further      */
        {0, M, K, M * COUNT, {M, 0, M}, COUNT}, /* the As overlap, the Cs lie in each other   */
        {0, M * COUNT, K, M * COUNT, {M, 0, M + 1}, COUNT},
        {0, M, K, M, {-M, 0, M * N}, COUNT},    /* backwards: an error for cuBLAS to report   */
        {0, M * COUNT, K, M, {M, 0, M}, COUNT}, /* the Cs overlap                             */
        {0, M, K, M, {0, 0, M * N}, 0},         /* nothing at all: cuBLAS knows what that is  */
    };
    (void)state;
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
        const batch_t *s = &ones[i];
        computed(strided(s), s->tb, s->lda, s->ldb, s->ldc, s->stride, (int)s->count);
        computed(strided_ex(s), s->tb, s->lda, s->ldb, s->ldc, s->stride, (int)s->count);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        left(strided(&others[i]));
        left(strided_ex(&others[i]));
    }
}

/* Products that could be computed one by one, of types, arithmetic or an algorithm that cannot. */
static void test_types_of_a_batch(void **state)
{
    static const batch_t apart = {0, M, K, M, {M * K, K * N, M * N}, COUNT};
    const int f32[3] = {CUDA_TYPE_F32, CUDA_TYPE_F32, CUDA_TYPE_F32};
    (void)state;
    for (int i = 0; i < 3; i++) {
        int f16_once[3] = {f32[0], f32[1], f32[2]};
        f16_once[i] = 2;
        left(strided_of_types(&apart, f16_once, CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT));
    }
    left(strided_of_types(&apart, f32, 64, CUBLAS_ALGO_DEFAULT)); /* in halves */
    left(strided_of_types(&apart, f32, CUBLAS_COMPUTE_FP32, 3));
}

static void test_null_arguments(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++) {
        const float *p[] = {&one, a, b, &zero, c};
        p[which] = NULL;
        left(cublasSgemm_v2(any_handle, 0, 0, M, N, K, p[0], p[1], M, p[2], K, p[3], p[4] ? c : NULL, M));
        left(cublasSgemv_v2(any_handle, 0, M, N, p[0], p[1], M, p[2], 1, p[3], p[4] ? c : NULL, 1));
    }
    left(cublasSgemm_v2(any_handle, 5, 0, M, N, K, &one, a, M, b, K, &zero, c, M));
    left(cublasSgemv_v2(any_handle, 5, M, N, &one, a, M, b, 1, &zero, c, 1));
}

/* y from one end or the other. */
static void expect_vector(int status, int transposed, int incx, int incy)
{
    int rows = transposed ? N : M, cols = transposed ? M : N;
    assert_int_equal(status, CUBLAS_SUCCESS);
    assert_int_equal(take().calls, 0);
    for (int i = 0; i < rows; i++) {
        float sum = 0.0f;
        for (int k = 0; k < cols; k++)
            sum += a[transposed ? k + i * M : i + k * M] * b[incx > 0 ? k * incx : (k - cols + 1) * incx];
        assert_true(c[incy > 0 ? i * incy : (i - rows + 1) * incy] == sum);
    }
    for (int i = 0; i < MOST; i++) c[i] = -77.0f;
}

static void test_vectors(void **state)
{
    static const int incs[] = {1, 2, -1, -3};
    (void)state;
    for (int transposed = 0; transposed < 2; transposed++)
        for (int i = 0; i < 4; i++)
            expect_vector(
                cublasSgemv_v2(any_handle, transposed, M, N, &one, a, M, b, incs[i], &zero, c, incs[3 - i]),
                transposed, incs[i], incs[3 - i]);
    left(cublasSgemv_v2(any_handle, 0, M, N, &one, a, M, b, 0, &zero, c, 1));
    handle->scalars = 1;
    left(cublasSgemv_v2(any_handle, 0, M, N, &one, a, M, b, 1, &zero, c, 1));
    handle->scalars = 0, fake_capturing = 1;
    left(cublasSgemv_v2(any_handle, 0, M, N, &one, a, M, b, 1, &zero, c, 1));
    fake_capturing = 0;
}

/* The last: a context that a stream was given is kept for good, and their number is bounded. */
static void test_more_streams_than_contexts(void **state)
{
    int status = CUBLAS_SUCCESS, taken = 0;
    (void)state;
    for (int i = 1; i < (int)sizeof streams && status == CUBLAS_SUCCESS; i++) {
        handle->stream = streams + i;
        status = sgemm(any_handle);
        taken += status == CUBLAS_SUCCESS;
        if (status == CUBLAS_SUCCESS) computed(status, 0, M, K, M, alone, 1);
    }
    left(status);
    assert_in_range(taken, 40, 64);
    handle->stream = streams + 1;
    computed(sgemm(any_handle), 0, M, K, M, alone, 1);
}

static int ready(void **state)
{
    (void)state;
    take = (fake_take_fn *)fake_symbol("libcublas.so.13", "fake_take");
    handle = fake_symbol("libcublas.so.13", "fake_handle");
    return take && handle && !setenv("LACUNA_BACKEND", "event", 1) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_a_handle_says, begin),
        cmocka_unit_test_setup(test_arithmetic_is_passed_on, begin),
        cmocka_unit_test_setup(test_what_the_driver_says, begin),
        cmocka_unit_test_setup(test_types_and_arithmetic, begin),
        cmocka_unit_test_setup(test_types_of_a_batch, begin),
        cmocka_unit_test_setup(test_batches, begin),
        cmocka_unit_test_setup(test_null_arguments, begin),
        cmocka_unit_test_setup(test_vectors, begin),
        cmocka_unit_test_setup(test_more_streams_than_contexts, begin),
    };
    return cmocka_run_group_tests(tests, ready, NULL);
}
