/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The entry points before a fake cuBLAS, a fake driver, and a device that is the host: what they compute, and
 * what they leave to cuBLAS. LACUNA_BACKEND=event has every call computed that can be. */
#include "fake_cublas.h"
#include "cublas/shapes.h"
#include "ref_half.h"

#include <execinfo.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { M = 5, N = 4, K = 7, LD = 9, MOST = LD * LD };

extern sgemm_fn cublasSgemm_v2;
extern sgemm_strided_fn cublasSgemmStridedBatched;
extern sgemm_batched_fn cublasSgemmBatched;
extern hgemm_fn cublasHgemm;
extern dgemm_fn cublasDgemm_v2;
extern gemm_ex_fn cublasGemmEx;
extern gemm_strided_ex_fn cublasGemmStridedBatchedEx;
extern gemm_batched_ex_fn cublasGemmBatchedEx;
extern lt_matmul_fn cublasLtMatmul;
extern int fake_capturing;
extern fake_handle_t fake_handle;

static fake_take_fn *take;
static char handle_memory[64], stream_memory[64];
static float a[MOST], b[MOST], c[MOST], d[MOST], was[MOST], bias[M];

static void fill(float *x, int count, int zeros_in_ten)
{
    for (int i = 0; i < count; i++)
        x[i] = rand() % 10 < zeros_in_ten ? 0.0f : (float)rand() / (float)RAND_MAX - 0.5f;
}

static void begin(void)
{
    fill(a, MOST, 8);
    fill(b, MOST, 0);
    fill(c, MOST, 0);
    fill(d, MOST, 0);
    fill(bias, M, 0);
    memcpy(was, d, sizeof d);
    take();
}

/* What D must be: alpha op(A) op(B) + beta from + bias, and as it was beyond its rows. */
static void check(int ta, int tb, float alpha, float beta, const float *from, const float *added)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < LD; i++) {
            double sum = 0.0;
            for (int k = 0; k < K; k++)
                sum += (double)a[ta ? k + i * LD : i + k * LD] * (double)b[tb ? j + k * LD : k + j * LD];
            sum = (double)alpha * sum + (beta != 0.0f ? (double)(beta * from[i + j * LD]) : 0.0);
            if (added && i < M) sum += (double)added[i];
            if (i >= M) sum = (double)was[i + j * LD];
            assert_float_equal(d[i + j * LD], sum, 1e-5);
        }
}

static const struct trans {
    int a, b;
} transposes[] = {{0, 0}, {1, 0}, {0, 1}, {2, 2}};

static void test_sgemm(void **state)
{
    (void)state;
    const float alpha = 2.0f, beta = -0.5f;
    for (size_t t = 0; t < sizeof transposes / sizeof *transposes; t++) {
        int ta = transposes[t].a, tb = transposes[t].b;
        begin();
        assert_int_equal(cublasSgemm_v2(handle_memory, ta, tb, M, N, K, &alpha, a, LD, b, LD, &beta, d, LD),
                         0);
        assert_int_equal(take().calls, 0);
        check(ta, tb, alpha, beta, was, NULL);
    }
}

/* From the intercepted symbol to the launch there are at most 9 stack frames: these, and in the CUDA backend
 * the route's choice of a launcher and the launcher. */
static void test_few_frames(void **state)
{
    (void)state;
    const float one = 1.0f, zero = 0.0f;
    void *frame[64];
    begin();
    int here = backtrace(frame, 64);
    assert_int_equal(cublasSgemm_v2(handle_memory, 0, 0, M, N, K, &one, a, LD, b, LD, &zero, d, LD), 0);
    assert_int_equal(take().calls, 0);
    const int *frames = fake_symbol("liblacuna_cuda.so", "stub_frames");
    assert_non_null(frames);
    assert_in_range(*frames - here, 2, 9 - 2);
}

/* What a factor of 0 stands before is not read: not a NaN of it shows. */
static void test_factors_of_zero(void **state)
{
    const float half = 0.5f, zero = 0.0f;
    (void)state;
    begin();
    for (int i = 0; i < MOST; i++) d[i] = NAN;
    memcpy(was, d, sizeof d);
    assert_int_equal(cublasSgemm_v2(handle_memory, 0, 0, M, N, K, &half, a, LD, b, LD, &zero, d, LD), 0);
    assert_int_equal(take().calls, 0);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) assert_true(d[i + j * LD] == d[i + j * LD]);
    begin();
    for (int i = 0; i < MOST; i++) a[i] = i % 2 ? NAN : INFINITY;
    assert_int_equal(cublasSgemm_v2(handle_memory, 0, 0, M, N, K, &zero, a, LD, b, LD, &half, d, LD), 0);
    assert_int_equal(take().calls, 0);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) assert_true(d[i + j * LD] == half * was[i + j * LD]);
}

/* Matrices with gaps between them, A one for all or one each. */
static void test_strided(void **state)
{
    (void)state;
    enum { COUNT = 3, SHIFT = 2 };
    static float many_b[MOST + COUNT * SHIFT], many_d[COUNT * MOST], kept_a[MOST + COUNT];
    const float alpha = 2.0f, beta = -0.5f;
    for (int step_a = 0; step_a < 2; step_a++) {
        begin();
        fill(many_b, MOST + COUNT * SHIFT, 0);
        fill(many_d, COUNT * MOST, 0);
        fill(kept_a, MOST + COUNT, 8);
        float before[COUNT * MOST];
        memcpy(before, many_d, sizeof before);
        assert_int_equal(cublasSgemmStridedBatched(handle_memory, 0, 1, M, N, K, &alpha, kept_a, LD, step_a,
                                                   many_b, LD, SHIFT, &beta, many_d, LD, MOST, COUNT),
                         0);
        assert_int_equal(take().calls, 0);
        for (int q = 0; q < COUNT; q++) {
            memcpy(a, kept_a + q * step_a, sizeof a);
            memcpy(b, many_b + q * SHIFT, sizeof b);
            memcpy(d, many_d + q * MOST, sizeof d);
            memcpy(was, before + q * MOST, sizeof was);
            check(0, 1, alpha, beta, was, NULL);
        }
    }
}

/* The same product of two bytes an element; as floats, what is rounded on the way is too. */
static uint16_t half_a[MOST], half_b[MOST], half_d[MOST];

static void begin_halves(lac_dt_t dt)
{
    begin();
    for (int i = 0; i < MOST; i++) {
        half_a[i] = ref_half_nearest(dt, (double)a[i]), a[i] = (float)ref_half_value(dt, half_a[i]);
        half_b[i] = ref_half_nearest(dt, (double)b[i]), b[i] = (float)ref_half_value(dt, half_b[i]);
        half_d[i] = ref_half_nearest(dt, (double)d[i]), was[i] = (float)ref_half_value(dt, half_d[i]);
    }
}

static void check_halves(lac_dt_t dt, float alpha, float beta)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < LD; i++) {
            double sum = 0.0, got = ref_half_value(dt, half_d[i + j * LD]);
            for (int k = 0; k < K; k++) sum += (double)a[i + k * LD] * (double)b[k + j * LD];
            sum = i < M ? (double)alpha * sum + (double)(beta * was[i + j * LD]) : (double)was[i + j * LD];
            assert_true(fabs(got - sum) <= ldexp(0.5001, ref_half_unit(dt, sum)));
        }
}

static void test_gemm_ex_halves(void **state)
{
    (void)state;
    const float alpha = 2.0f, beta = -0.5f;
    for (int t = 0; t < 2; t++) {
        lac_dt_t dt = t ? LAC_F16 : LAC_BF16;
        int type = t ? CUDA_TYPE_F16 : CUDA_TYPE_BF16;
        for (int strided = 0; strided < 2; strided++) {
            begin_halves(dt);
            int status =
                strided ? cublasGemmStridedBatchedEx(handle_memory, 0, 0, M, N, K, &alpha, half_a, type, LD,
                                                     0, half_b, type, LD, 0, &beta, half_d, type, LD, 0, 1,
                                                     CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT)
                        : cublasGemmEx(handle_memory, 0, 0, M, N, K, &alpha, half_a, type, LD, half_b, type,
                                       LD, &beta, half_d, type, LD, CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT);
            assert_int_equal(status, 0);
            assert_int_equal(take().calls, 0);
            check_halves(dt, alpha, beta);
        }
        begin_halves(dt); /* sums as they are */
        memcpy(d, was, sizeof d);
        assert_int_equal(cublasGemmEx(handle_memory, 0, 0, M, N, K, &alpha, half_a, type, LD, half_b, type,
                                      LD, &beta, d, CUDA_TYPE_F32, LD, CUBLAS_COMPUTE_FP32,
                                      CUBLAS_ALGO_DEFAULT),
                         0);
        assert_int_equal(take().calls, 0);
        check(0, 0, alpha, beta, was, NULL);
    }
}

/* Matrices with gaps between them, one by one: each of its own type's size apart. */
static void test_strided_halves(void **state)
{
    (void)state;
    enum { COUNT = 3, SHIFT = 2 };
    static uint16_t many_a[MOST + COUNT], many_b[MOST + COUNT * SHIFT], many_d[COUNT * MOST];
    static float sums[COUNT * MOST];
    float numbers[COUNT * MOST];
    const float alpha = 2.0f, beta = -0.5f;
    for (int t = 0; t < 4; t++) {
        lac_dt_t dt = t % 2 ? LAC_F16 : LAC_BF16;
        int type = t % 2 ? CUDA_TYPE_F16 : CUDA_TYPE_BF16;
        bool f32 = t >= 2;
        begin();
        fill(numbers, MOST + COUNT, 8);
        for (int i = 0; i < MOST + COUNT; i++) many_a[i] = ref_half_nearest(dt, (double)numbers[i]);
        fill(numbers, MOST + COUNT * SHIFT, 0);
        for (int i = 0; i < MOST + COUNT * SHIFT; i++) many_b[i] = ref_half_nearest(dt, (double)numbers[i]);
        fill(numbers, COUNT * MOST, 0);
        for (int i = 0; i < COUNT * MOST; i++) {
            many_d[i] = ref_half_nearest(dt, (double)numbers[i]);
            sums[i] = numbers[i] = (float)ref_half_value(dt, many_d[i]);
        }
        assert_int_equal(cublasGemmStridedBatchedEx(
                             handle_memory, 0, 0, M, N, K, &alpha, many_a, type, LD, 1, many_b, type, LD,
                             SHIFT, &beta, f32 ? (void *)sums : (void *)many_d, f32 ? CUDA_TYPE_F32 : type,
                             LD, MOST, COUNT, CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT),
                         0);
        assert_int_equal(take().calls, 0);
        for (int q = 0; q < COUNT; q++) {
            for (int i = 0; i < MOST; i++) {
                a[i] = (float)ref_half_value(dt, many_a[q + i]);
                b[i] = (float)ref_half_value(dt, many_b[q * SHIFT + i]);
            }
            memcpy(half_d, many_d + q * MOST, sizeof half_d);
            memcpy(d, sums + q * MOST, sizeof d);
            memcpy(was, numbers + q * MOST, sizeof was);
            if (f32)
                check(0, 0, alpha, beta, was, NULL);
            else
                check_halves(dt, alpha, beta);
        }
    }
}

/* Its scalars are halves too. */
static void test_hgemm(void **state)
{
    (void)state;
    static const uint16_t scalars[][2] = {{0x4000, 0xb800}, {0x3c00, 0}, {0x0001, 0x3c00}};
    for (int i = 0; i < 3; i++) {
        begin_halves(LAC_F16);
        assert_int_equal(cublasHgemm(handle_memory, 0, 0, M, N, K, &scalars[i][0], half_a, LD, half_b, LD,
                                     &scalars[i][1], half_d, LD),
                         0);
        assert_int_equal(take().calls, 0);
        check_halves(LAC_F16, (float)ref_half_value(LAC_F16, scalars[i][0]),
                     (float)ref_half_value(LAC_F16, scalars[i][1]));
    }
}

/* Its scalars are doubles, and what no float holds shows. */
static void test_dgemm(void **state)
{
    (void)state;
    static const double scalars[][2] = {{2.0, -0.5}, {1.0 + 0x1p-40, 0.0}, {0.0, 3.0}};
    double x[MOST], y[MOST], z[MOST], old[MOST];
    for (int i = 0; i < 3; i++) {
        begin_halves(LAC_F16);
        for (int e = 0; e < MOST; e++) {
            x[e] = (e % 3 ? 1.0 : 0.0) * (e % 7 - 3 + 0x1p-30 * e);
            y[e] = e % 5 - 2 + 0x1p-31 * e;
            z[e] = old[e] = e % 9;
        }
        assert_int_equal(
            cublasDgemm_v2(handle_memory, 0, 0, M, N, K, &scalars[i][0], x, LD, y, LD, &scalars[i][1], z, LD),
            0);
        assert_int_equal(take().calls, 0);
        for (int r = 0; r < M; r++)
            for (int col = 0; col < N; col++) {
                double sum = 0.0;
                for (int k = 0; k < K; k++) sum += x[r + k * LD] * y[k + col * LD];
                double want = scalars[i][0] * sum + scalars[i][1] * old[r + col * LD];
                assert_true(fabs(z[r + col * LD] - want) < 1e-12);
            }
    }
}

/* Types that do not go together, sums of two bytes, and batches whose Cs overlap are cuBLAS's. */
static void test_halves_are_left(void **state)
{
    (void)state;
    static const int changes[][4] = {{CUDA_TYPE_F16, CUDA_TYPE_BF16, CUDA_TYPE_F32, CUBLAS_COMPUTE_FP32},
                                     {CUDA_TYPE_F16, CUDA_TYPE_F16, CUDA_TYPE_BF16, CUBLAS_COMPUTE_FP32},
                                     {CUDA_TYPE_F32, CUDA_TYPE_F32, CUDA_TYPE_F16, CUBLAS_COMPUTE_FP32},
                                     {CUDA_TYPE_F16, CUDA_TYPE_F16, CUDA_TYPE_F16, 64 /* binary16 */},
                                     {CUDA_TYPE_F16, CUDA_TYPE_F16, CUDA_TYPE_F16, CUBLAS_COMPUTE_TF32},
                                     {3 /* int8 */, 3, CUDA_TYPE_F32, CUBLAS_COMPUTE_FP32}};
    const float alpha = 2.0f, beta = -0.5f;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const int *x = changes[i];
        begin_halves(LAC_F16);
        fake_handle.math = 1; /* so that the fake's own call, which is of floats, is left too */
        cublasGemmEx(handle_memory, 0, 0, M, N, K, &alpha, half_a, x[0], LD, half_b, x[1], LD, &beta, half_d,
                     x[2], LD, x[3], CUBLAS_ALGO_DEFAULT);
        fake_handle.math = 0;
        assert_true(take().calls > 0);
    }
    begin_halves(LAC_F16);
    assert_int_equal(cublasGemmStridedBatchedEx(handle_memory, 0, 0, M, 1, K, &alpha, half_a, CUDA_TYPE_F16,
                                                LD, 3, half_b, CUDA_TYPE_F16, LD, LD, &beta, half_d,
                                                CUDA_TYPE_F16, LD, M - 1, 3, CUBLAS_COMPUTE_FP32,
                                                CUBLAS_ALGO_DEFAULT),
                     FAKE_STATUS);
    assert_int_equal(take().calls, 1);
}

/* A description as cuBLASLt has it when it is fresh, and the layouts of four matrices. */
typedef struct lt_call {
    fake_attributes_t desc, a, b, c, d;
    float alpha, beta;
    const float *from; /* NULL: D itself */
} lt_call_t;

static lt_call_t lt_call(int ta, int tb)
{
    lt_call_t call = {.desc = {{CUBLAS_COMPUTE_FP32, CUDA_TYPE_F32, 0, ta, tb, 0, 2, LT_EPILOGUE_NONE}},
                      .a = {{CUDA_TYPE_F32, LT_ORDER_COLUMNS, ta ? K : M, ta ? M : K, LD, 1}},
                      .b = {{CUDA_TYPE_F32, LT_ORDER_COLUMNS, tb ? N : K, tb ? K : N, LD, 1}},
                      .d = {{CUDA_TYPE_F32, LT_ORDER_COLUMNS, M, N, LD, 1}},
                      .alpha = 2.0f};
    call.c = call.d;
    return call;
}

static void add_bias(lt_call_t *call)
{
    call->desc.value[LT_EPILOGUE] = LT_EPILOGUE_BIAS;
    call->desc.value[LT_BIAS] = (int64_t)(intptr_t)bias;
}

/* The calls that reached cuBLAS. */
static int run(const lt_call_t *call)
{
    int status =
        cublasLtMatmul(handle_memory, &call->desc, &call->alpha, a, &call->a, b, &call->b, &call->beta,
                       call->from ? call->from : d, &call->c, d, &call->d, NULL, NULL, 0, stream_memory);
    int calls = take().calls;
    assert_int_equal(status, calls ? FAKE_STATUS : CUBLAS_SUCCESS);
    return calls;
}

static void test_lt_matmul(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof transposes / sizeof *transposes; t++) {
        int ta = transposes[t].a, tb = transposes[t].b;
        lt_call_t call = lt_call(ta, tb);
        begin();
        assert_int_equal(run(&call), 0);
        check(ta, tb, 2.0f, 0.0f, NULL, NULL);
        begin();
        call.beta = 0.25f; /* in place */
        assert_int_equal(run(&call), 0);
        check(ta, tb, 2.0f, 0.25f, was, NULL);
        begin();
        call.beta = 1.0f;
        call.from = c;
        assert_int_equal(run(&call), 0);
        check(ta, tb, 2.0f, 1.0f, c, NULL);
        begin();
        add_bias(&call);
        assert_int_equal(run(&call), 0);
        check(ta, tb, 2.0f, 1.0f, c, bias);
        begin();
        call.beta = 0.0f;
        assert_int_equal(run(&call), 0);
        check(ta, tb, 2.0f, 0.0f, NULL, bias);
    }
}

static void test_lt_matmul_halves(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        lac_dt_t dt = t ? LAC_F16 : LAC_BF16;
        int type = t ? CUDA_TYPE_F16 : CUDA_TYPE_BF16;
        lt_call_t call = lt_call(0, 0);
        call.a.value[LT_TYPE] = call.b.value[LT_TYPE] = call.c.value[LT_TYPE] = call.d.value[LT_TYPE] = type;
        for (int i = 0; i < 3; i++) { /* the last with C apart, which would be rounded twice: cuBLAS's */
            call.beta = i == 0 ? 0.0f : 1.0f;
            begin_halves(dt);
            int status = cublasLtMatmul(handle_memory, &call.desc, &call.alpha, half_a, &call.a, half_b,
                                        &call.b, &call.beta, i == 2 ? half_b : half_d, &call.c, half_d,
                                        &call.d, NULL, NULL, 0, stream_memory);
            assert_int_equal(status, i < 2 ? 0 : FAKE_STATUS);
            assert_int_equal(take().calls, i < 2 ? 0 : 1);
            if (i < 2) check_halves(dt, 2.0f, call.beta);
        }
        begin_halves(
            dt); /* the stub device adds no bias, and its sums without one are not taken for the result */
        call.beta = 0.0f;
        add_bias(&call);
        assert_int_equal(cublasLtMatmul(handle_memory, &call.desc, &call.alpha, half_a, &call.a, half_b,
                                        &call.b, &call.beta, half_d, &call.c, half_d, &call.d, NULL, NULL, 0,
                                        stream_memory),
                         FAKE_STATUS);
        assert_int_equal(take().calls, 1);
    }
}

/* One attribute at a time that is none of ours: cuBLAS gets the call, and D is as it was. */
static void test_lt_matmul_is_left(void **state)
{
    (void)state;
    static const struct change {
        int which, attribute, value; /* which: description, A, B, C, D */
    } changes[] = {{0, LT_COMPUTE, 64},     {0, LT_SCALE_TYPE, 1},
                   {0, LT_POINTER_MODE, 1}, {0, LT_TRANS_A, 3},
                   {0, LT_TRANS_C, 1},      {0, LT_EPILOGUE, 2},
                   {0, LT_EPILOGUE, 6},     {0, LT_EPILOGUE, LT_EPILOGUE_BIAS}, /* a bias that is nowhere */
                   {1, LT_TYPE, 2},         {2, LT_ORDER, 1},
                   {3, LT_TYPE, 14},        {4, LT_BATCH, 2},
                   {1, LT_BATCH_MODE, 1},   {1, LT_LD, M - 1},
                   {2, LT_ROWS, K + 1},     {3, LT_COLS, N - 1},
                   {4, LT_ROWS, M - 1},     {0, LT_FILL, 1},
                   {0, LT_SCALE_A, 64},     {0, LT_SCALE_B, 64},
                   {0, LT_SCALE_C, 64},     {0, LT_SCALE_D, 64},
                   {0, LT_LARGEST_D, 64},   {0, LT_SCALE_OUT, 64},
                   {0, LT_EMULATION, 64}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        lt_call_t call = lt_call(0, 0);
        fake_attributes_t *of[] = {&call.desc, &call.a, &call.b, &call.c, &call.d};
        call.beta = 1.0f;
        of[changes[i].which]->value[changes[i].attribute] = changes[i].value;
        begin();
        assert_int_equal(run(&call), 1);
        assert_memory_equal(d, was, sizeof d);
    }
    lt_call_t call = lt_call(0, 0);
    begin();
    call.c.value[LT_ROWS] = M + 1; /* an error, though beta is 0 */
    assert_int_equal(run(&call), 1);
    call = lt_call(0, 0);
    add_bias(&call);
    call.desc.value[LT_BIAS_TYPE] = 14; /* bf16 */
    assert_int_equal(run(&call), 1);
    call = lt_call(0, 0);
    call.beta = 0.5f;
    call.from = c; /* would have to be scaled */
    assert_int_equal(run(&call), 1);
    call.from = NULL;
    add_bias(&call); /* could not be taken back */
    assert_int_equal(run(&call), 1);
    assert_memory_equal(d, was, sizeof d);
}

/* What cannot be read at all, whichever it is; but for an attribute that older versions have no word for. */
static void test_lt_matmul_cannot_be_read(void **state)
{
    static const int of_product[] = {LT_COMPUTE, LT_SCALE_TYPE, LT_POINTER_MODE, LT_TRANS_A,
                                     LT_TRANS_B, LT_TRANS_C,    LT_FILL,         LT_EPILOGUE},
                     of_layout[] = {LT_TYPE, LT_ORDER, LT_ROWS, LT_COLS, LT_LD, LT_BATCH};
    (void)state;
    for (int which = 0; which < 5; which++) {
        const int *attributes = which ? of_layout : of_product;
        size_t count = which ? sizeof of_layout / sizeof *of_layout : sizeof of_product / sizeof *of_product;
        for (size_t i = 0; i < count; i++) {
            lt_call_t call = lt_call(0, 0);
            fake_attributes_t *of[] = {&call.desc, &call.a, &call.b, &call.c, &call.d};
            call.beta = 1.0f;
            of[which]->value[attributes[i]] = FAKE_UNREADABLE;
            begin();
            assert_int_equal(run(&call), 1);
            assert_memory_equal(d, was, sizeof d);
        }
    }
    lt_call_t call = lt_call(0, 0);
    begin();
    call.a.value[LT_BATCH_MODE] = FAKE_UNREADABLE;
    call.desc.value[LT_LARGEST_D] = call.desc.value[LT_BIAS_TYPE] = FAKE_UNREADABLE;
    assert_int_equal(run(&call), 0);
    check(0, 0, 2.0f, 0.0f, NULL, NULL);
    add_bias(&call);
    call.desc.value[LT_BIAS] = FAKE_UNREADABLE;
    begin();
    assert_int_equal(run(&call), 1);
}

static void test_lt_matmul_null_arguments(void **state)
{
    (void)state;
    for (int which = 0; which < 9; which++) {
        lt_call_t call = lt_call(0, 0);
        const void *p[] = {&call.desc, &call.alpha, &call.a, &call.b,      &call.beta,
                           &call.c,    &call.d,     c,       handle_memory};
        call.beta = 1.0f;
        p[which] = NULL;
        begin();
        assert_int_equal(cublasLtMatmul((void *)p[8], p[0], p[1], a, p[2], b, p[3], p[4], p[7], p[5], d, p[6],
                                        NULL, NULL, 0, stream_memory),
                         FAKE_STATUS);
        assert_int_equal(take().calls, 1);
        assert_memory_equal(d, was, sizeof d);
    }
}

static void test_lt_matmul_arithmetic(void **state)
{
    static const int computes[] = {CUBLAS_COMPUTE_FP32, CUBLAS_COMPUTE_FP32_PEDANTIC, CUBLAS_COMPUTE_TF32};
    (void)state;
    for (int i = 0; i < 3; i++) {
        lt_call_t call = lt_call(0, 0);
        call.desc.value[LT_COMPUTE] = computes[i];
        begin();
        assert_int_equal(run(&call), 0);
        check(0, 0, 2.0f, 0.0f, NULL, NULL);
    }
}

static void test_captured_is_left(void **state)
{
    (void)state;
    lt_call_t call = lt_call(0, 0);
    fake_capturing = 1;
    begin();
    assert_int_equal(run(&call), 1);
    fake_capturing = 0;
    assert_int_equal(run(&call), 0);
}

/* A product large enough that a probe in the graph pays, its alpha 1 and its beta 0. */
enum { WIDE = 64, DEEP = 300 };

static void check_wide(const float *x, const float *w, const float *out)
{
    for (int j = 0; j < WIDE; j++)
        for (int i = 0; i < WIDE; i++) {
            double sum = 0.0;
            for (int k = 0; k < DEEP; k++) sum += (double)x[i + k * WIDE] * (double)w[k + j * DEEP];
            assert_float_equal(out[i + j * WIDE], sum, 1e-4);
        }
}

/* Recorded where eager calls showed it sparse, and then right whatever the data turn into; forwarded where
 * they did not. */
static void test_captured(void **state)
{
    (void)state;
    static float x[WIDE * DEEP], w[DEEP * WIDE], out[WIDE * WIDE];
    const float one = 1.0f, zero = 0.0f;
    const struct turn {
        int capturing, zeros_in_ten, forwarded;
    } turns[] = {{1, 9, 1}, {0, 9, 0}, {0, 9, 0}, {1, 9, 0}, {1, 0, 0}, {1, 10, 0}, {1, 9, 0}};
    fill(w, DEEP * WIDE, 0);
    take();
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        fill(x, WIDE * DEEP, turns[i].zeros_in_ten);
        memset(out, 0xff, sizeof out);
        fake_capturing = turns[i].capturing;
        fake_handle.stream = stream_memory;
        cublasSgemm_v2(handle_memory, 0, 0, WIDE, WIDE, DEEP, &one, x, WIDE, w, DEEP, &zero, out, WIDE);
        fake_handle.stream = NULL;
        fake_capturing = 0;
        assert_int_equal(take().calls, turns[i].forwarded);
        if (!turns[i].forwarded) check_wide(x, w, out);
    }
}

/* Addresses that lie on a device are not read. */
static void test_batched_is_left(void **state)
{
    (void)state;
    const float alpha = 2.0f, beta = -0.5f;
    begin();
    assert_int_equal(
        cublasSgemmBatched(handle_memory, 0, 0, M, N, K, &alpha, NULL, LD, NULL, LD, &beta, NULL, LD, 3),
        FAKE_STATUS);
    fake_record_t record = take();
    assert_int_equal(record.calls, 1);
    assert_int_equal(record.getters, 0);
    assert_int_equal(cublasGemmBatchedEx(handle_memory, 0, 0, M, N, K, &alpha, NULL, CUDA_TYPE_BF16, LD, NULL,
                                         CUDA_TYPE_BF16, LD, &beta, NULL, CUDA_TYPE_BF16, LD, 3,
                                         CUBLAS_COMPUTE_FP32, CUBLAS_ALGO_DEFAULT),
                     FAKE_STATUS);
    record = take();
    assert_int_equal(record.calls, 1);
    assert_int_equal(record.getters, 0);
}

static int ready(void **state)
{
    (void)state;
    take = (fake_take_fn *)fake_symbol("libcublas.so.13", "fake_take");
    return take ? 0 : -1;
}

int main(void)
{
    setenv("LACUNA_BACKEND", "event", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgemm),
        cmocka_unit_test(test_few_frames),
        cmocka_unit_test(test_factors_of_zero),
        cmocka_unit_test(test_strided),
        cmocka_unit_test(test_gemm_ex_halves),
        cmocka_unit_test(test_strided_halves),
        cmocka_unit_test(test_hgemm),
        cmocka_unit_test(test_dgemm),
        cmocka_unit_test(test_halves_are_left),
        cmocka_unit_test(test_batched_is_left),
        cmocka_unit_test(test_lt_matmul),
        cmocka_unit_test(test_lt_matmul_halves),
        cmocka_unit_test(test_lt_matmul_is_left),
        cmocka_unit_test(test_lt_matmul_cannot_be_read),
        cmocka_unit_test(test_lt_matmul_null_arguments),
        cmocka_unit_test(test_lt_matmul_arithmetic),
        cmocka_unit_test(test_captured_is_left),
        cmocka_unit_test(test_captured),
    };
    return cmocka_run_group_tests(tests, ready, NULL);
}
