/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * cusparseSpMM before a fake cuSPARSE, a fake driver and a device that is the host: what is computed where it
 * is asked for, and all that is left alone. */
#include "fake_cusparse.h"
#include "cublas/shapes.h"

#include "api/interpose.h"
#include "lacuna/lacuna.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { M = 4, K = 6, N = 3, LD = 8, MOST = LD * LD };

extern spmm_fn cusparseSpMM;
extern int fake_capturing;

static fake_take_fn *take;
static char stream_memory[64], buffer[64];
static int algo;
static fake_sparse_handle_t handle;
static fake_sparse_matrix_t a;
static fake_dense_matrix_t b, c;
static const float alpha = 2.0f, beta = -0.5f;
static float in[MOST], before_out[LD + MOST], *const out = before_out + LD, was[MOST];
static const int32_t nothing[M + 1];

/* Neither in order, nor each only once. */
static const int32_t ptr32[M + 1] = {0, 3, 3, 5, 8}, idx32[] = {4, 0, 2, 5, 5, 3, 1, 0};
static int64_t ptr64[M + 1], idx64[8];
static const float val[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < M + 1; i++) ptr64[i] = ptr32[i];
    for (int i = 0; i < 8; i++) idx64[i] = idx32[i];
    for (int i = 0; i < MOST; i++) in[i] = (float)(i % 7 - 3), out[i] = was[i] = (float)(i % 5);
    handle = (fake_sparse_handle_t){.stream = stream_memory};
    a = (fake_sparse_matrix_t){.format = SPARSE_CSR,
                               .rows = M,
                               .cols = K,
                               .nnz = 8,
                               .ptr = ptr32,
                               .idx = idx32,
                               .val = val,
                               .ptr_type = SPARSE_INDEX_32,
                               .idx_type = SPARSE_INDEX_32};
    b = (fake_dense_matrix_t){.rows = K, .cols = N, .ld = LD, .values = in, .order = SPARSE_ORDER_ROWS};
    c = (fake_dense_matrix_t){.rows = M, .cols = N, .ld = LD, .values = out, .order = SPARSE_ORDER_ROWS};
    fake_capturing = 0;
    algo = SPARSE_ALGO_CSR_1;
    take();
    return 0;
}

/* One call site, wherever it is called from. */
__attribute__((noinline)) static int call_with(int op_a, int op_b, int type, const void *by)
{
    return cusparseSpMM(&handle, op_a, op_b, by, &a, &b, &beta, &c, type, algo, buffer);
}

static int call(void)
{
    return call_with(0, 0, CUDA_TYPE_F32, &alpha);
}

/* Passed on as it came, with the status that it returned. */
static void left(int status)
{
    assert_int_equal(status, FAKE_STATUS);
    fake_record_t record = take();
    assert_int_equal(record.calls, 1);
    assert_true(record.through_plugin);
    assert_int_equal(record.slot[0], (int64_t)(uintptr_t)&handle);
    assert_int_equal(record.slot[4], (int64_t)(uintptr_t)&a);
    assert_int_equal(record.slot[5], (int64_t)(uintptr_t)&b);
    assert_int_equal(record.slot[6], (int64_t)(uintptr_t)&beta);
    assert_int_equal(record.slot[7], (int64_t)(uintptr_t)&c);
    assert_int_equal(record.slot[9], algo);
    assert_int_equal(record.slot[10], (int64_t)(uintptr_t)buffer);
    assert_memory_equal(out, was, sizeof was);
}

static void computed(int status, bool b_transposed)
{
    bool b_rows = (b.order == SPARSE_ORDER_ROWS) != b_transposed, c_rows = c.order == SPARSE_ORDER_ROWS;
    assert_int_equal(status, 0);
    assert_int_equal(take().calls, 0);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int at = c_rows ? i * LD + j : i + j * LD;
            float sum = 0.0f;
            for (int e = ptr32[i]; e < ptr32[i + 1]; e++)
                sum += val[e] * in[b_rows ? idx32[e] * LD + j : idx32[e] + j * LD];
            assert_true(out[at] == alpha * sum + beta * was[at]);
        }
    for (int i = 0; i < MOST; i++)
        if (i % LD >= (c_rows ? N : M)) assert_true(out[i] == was[i]);
}

static void test_computed(void **state)
{
    for (int way = 0; way < 16; way++) {
        begin(state);
        bool transposed = way & 4;
        b.order = way & 1 ? SPARSE_ORDER_COLUMNS : SPARSE_ORDER_ROWS;
        c.order = way & 2 ? SPARSE_ORDER_COLUMNS : SPARSE_ORDER_ROWS;
        if (transposed) b.rows = N, b.cols = K;
        if (way & 8) {
            a.ptr = ptr64, a.idx = idx64;
            a.ptr_type = a.idx_type = SPARSE_INDEX_64;
        }
        computed(call_with(0, transposed ? way & 8 ? 2 : 1 : 0, CUDA_TYPE_F32, &alpha), transposed);
    }
    begin(state);
    a.batch = b.batch = c.batch = 1;
    handle.scalars = 1; /* on the device, which here is the host */
    computed(call(), false);
}

/* One that promises bits, those of other formats, and none. */
static void test_algorithms(void **state)
{
    static const int ours[] = {SPARSE_ALGO_DEFAULT, SPARSE_ALGO_CSR_1, SPARSE_ALGO_CSR_2},
                     others[] = {12, 1, 2, 3, 5, 13, 14, 99, -1};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        begin(state);
        algo = ours[i];
        computed(call(), false);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        begin(state);
        algo = others[i];
        left(call());
    }
}

/* Whether C is still registered, after a call that is made by us, by cuSPARSE, or of two matrices. */
static void test_written(void **state)
{
    lac_ctx_t *ctx;
    assert_int_equal(lac_ctx_create_cuda(&ctx, -1, NULL), LAC_OK);
    for (int way = 0; way < 4; way++) {
        begin(state);
        const lac_gemm_args_t of_out = {.m = M, .n = N, .k = N, .a.buf = out};
        lac_obj_t held = lac_obj_rowmajor(LAC_F32, M, N, out, LD);
        held.space = LAC_DEVICE;
        assert_int_equal(lac_meta_create_for(ctx, &held.meta, M, N), LAC_OK);
        assert_int_equal(lac_meta_attach_csr(held.meta, LAC_I32, nothing, nothing, NULL), LAC_OK);
        assert_int_equal(lac_register(ctx, &held), LAC_OK);
        if (way == 1) a.format = 3;
        if (way == 2) c.values = before_out, c.batch = 2, c.stride = LD;
        if (way == 3) c.type = 2; /* halves: none of ours */
        call();
        take();
        assert_int_equal(lac_interpose_is_registered(&of_out) != 0, way == 3);
        assert_int_equal(lac_unregister(out), LAC_OK);
        lac_meta_free(held.meta);
    }
    lac_ctx_free(ctx);
}

/* C[K, N] := .. A^T B[M, N], either way to say so. */
static void test_transposed(void **state)
{
    for (int op = 1; op < 3; op++) {
        begin(state);
        b.rows = M, c.rows = K;
        assert_int_equal(call_with(op, 0, CUDA_TYPE_F32, &alpha), 0);
        assert_int_equal(take().calls, 0);
        float want[K * LD];
        memcpy(want, was, sizeof want);
        for (int i = 0; i < K; i++)
            for (int j = 0; j < N; j++) want[i * LD + j] *= beta;
        for (int r = 0; r < M; r++)
            for (int e = ptr32[r]; e < ptr32[r + 1]; e++)
                for (int j = 0; j < N; j++) want[idx32[e] * LD + j] += alpha * val[e] * in[r * LD + j];
        assert_memory_equal(out, want, sizeof want);
    }
}

/* One thing at a time that is not understood, or not there. */
static void test_left(void **state)
{
    static struct {
        int *what, value;
    } changed[] = {{&a.format, 3},   {&a.batch, 2},    {&b.batch, 2}, {&c.batch, 2},
                   {&a.type, 1},     {&b.type, 1},     {&c.type, 1},  {&a.base, 1},
                   {&a.ptr_type, 1}, {&a.idx_type, 1}, {&b.order, 3}, {&c.order, 0}};
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        begin(state);
        *changed[i].what = changed[i].value;
        left(call());
    }
    bool *const fails[] = {&handle.fails, &a.fails, &b.fails, &c.fails};
    for (size_t i = 0; i < sizeof fails / sizeof *fails; i++) {
        begin(state);
        *fails[i] = true;
        left(call());
    }
    int64_t *const extents[] = {&a.rows, &a.cols, &b.rows, &b.cols, &c.rows, &c.cols};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        begin(state);
        *extents[i] -= 1;
        left(call());
    }
    begin(state);
    left(call_with(1, 0, CUDA_TYPE_F32, &alpha)); /* the extents are of the other */
    left(call_with(3, 0, CUDA_TYPE_F32, &alpha));
    left(call_with(0, 3, CUDA_TYPE_F32, &alpha));
    left(call_with(0, 0, 1, &alpha));
    left(call_with(0, 0, CUDA_TYPE_F32, NULL));
    a.nnz = 0;
    left(call());
    begin(state);
    b.ld = 1;
    left(call());
    begin(state);
    c.values = NULL;
    left(call());
    begin(state);
    fake_capturing = 1;
    left(call());
}

/* Where nobody asks for it, and no clock says who is faster, cuSPARSE is left alone; small calls are anyway.
 */
static void test_unasked(void **state)
{
    begin(state);
    for (int i = 0; i < 3; i++) left(call());
}

static void test_verbatim_without_descriptions(void **state)
{
    begin(state);
    assert_int_equal(cusparseSpMM(NULL, 1, 2, NULL, NULL, NULL, NULL, NULL, 5, 6, NULL), FAKE_STATUS);
    fake_record_t record = take();
    static const int64_t want[FAKE_SLOTS] = {0, 1, 2, 0, 0, 0, 0, 0, 5, 6, 0};
    assert_int_equal(record.calls, 1);
    assert_memory_equal(record.slot, want, sizeof want);
}

static int ready(void **state)
{
    (void)state;
    void *fake = dlopen("libcusparse.so.12", RTLD_NOW | RTLD_NOLOAD);
    take = fake ? (fake_take_fn *)dlsym(fake, "fake_take") : NULL;
    return take ? 0 : -1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest passed_on[] = {cmocka_unit_test(test_unasked),
                                           cmocka_unit_test(test_verbatim_without_descriptions)};
    if (argc > 1 && !strcmp(argv[1], "passed_on")) return cmocka_run_group_tests(passed_on, ready, NULL);
    setenv("LACUNA_BACKEND", "csr", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_computed),   cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_algorithms), cmocka_unit_test(test_written),
        cmocka_unit_test(test_left),       cmocka_unit_test(test_verbatim_without_descriptions)};
    return cmocka_run_group_tests(tests, ready, NULL);
}
