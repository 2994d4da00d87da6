/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the event route of the CUDA backend launches, with which arguments, and how much memory it says that
 * it needs; and products of f16 and bf16. The stand-in checks on its own that operands, outputs and
 * workspaces lie in one allocation each. */
#include "api/interpose.h"
#include "lacuna/layer.h"
#include "launch_checks.h"
#include "cuda_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One launch scans S again where it is small, contiguous and not nearly empty; two where it is not. */
static void test_event_fuses(void **state)
{
    (void)state;
    static const struct {
        lac_dim_t m, k;
        int64_t nnz;
        bool by_columns, fused;
    } cases[] = {
        {16, 4096, 328, false, true},  /* 65536 elements, 0.005005                  */
        {16, 4096, 327, false, false}, /* 0.00499                                   */
        {16, 4097, 400, false, false}, /* one k more                                */
        {16, 4096, 400, true, false},  /* rows that are not contiguous              */
        {1, 100000, 10, false, true},  /* a single row always                       */
        {2, 100000, 2000, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_dim_t m = cases[i].m, k = cases[i].k, n = 300;
        renew();
        lac_obj_t a = cases[i].by_columns ? cuda_host_columns(ctx, m, k) : cuda_host_rows(ctx, m, k),
                  b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
        cuda_host_count(ctx, &a, cases[i].nnz);
        const char *name = cases[i].fused ? "lac_cuda_event_fused" : "lac_cuda_event_slots";
        const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, name);
        EXPECT(l, "p.m p.n p.k p.ldw p.order p.rs p.cs", m, n, k, n, LAC_CUDA_ROWS, n, 1);
        EXPECT(l, "s.dt s.rs s.cs", LAC_F32, a.rs, a.cs);
        expect_pointer(l, "s.data", a.buf);
        expect_pointer(l, "p.w", b.buf);
        expect_pointer(l, "p.out", c.buf);
        expect_pointer(l, "tile", NULL);
        assert_true(fabs(standin_real(l, "s.density") * (double)(m * k) - (double)cases[i].nnz) < 1e-6);
        assert_true(standin_real(l, "p.alpha.value") == 1.5 && standin_real(l, "p.beta.value") == 0.25);
        EXPECT(l, "p.epilogue.any", 0);
        expect_stream(l);
        expect_bytes("event", "left", &a, &b, &c,
                     m == 1 ? 0 : cuda_host_piece(lac_cuda_event_slots_bytes(m, k, LAC_F32)));
    }
}

/* A sparse right side is the transposed product; the output's strides change places. */
static void test_event_right(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_columns(ctx, 300, 5000), b = cuda_host_columns(ctx, 5000, 10),
              c = cuda_host_rows(ctx, 300, 10);
    cuda_host_count(ctx, &b, 500);
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_fused");
    EXPECT(l, "p.m p.n p.k p.ldw p.order p.rs p.cs s.rs s.cs", 10, 300, 5000, 300, LAC_CUDA_ROWS, 1, 10, 5000,
           1);
    expect_pointer(l, "s.data", b.buf);
    expect_pointer(l, "p.w", a.buf);
    a.trans = LAC_TRANS;
    lac_obj_t at = cuda_host_columns(ctx, 5000, 300);
    at.trans = LAC_TRANS;
    l = cuda_host_launch(ctx, "event", &at, &b, &c, "lac_cuda_event_stream");
    EXPECT(l, "p.m p.n p.k p.ldw p.order", 10, 300, 5000, 5000, LAC_CUDA_COLS);
}

/* W by columns: one of three kernels by the density, and room for each of them. */
static void test_event_columns(void **state)
{
    (void)state;
    static const struct {
        int64_t nnz; /* of 10 x 5000 */
        const char *name;
    } cases[] = {{50, "lac_cuda_event_slots"},
                 {100, "lac_cuda_event_active"},
                 {500, "lac_cuda_event_active"},
                 {800, "lac_cuda_event_stream"},
                 {5000, "lac_cuda_event_stream"}};
    int64_t room = lac_cuda_event_stream_bytes(10, 5000), active = lac_cuda_event_active_bytes(10, 5000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        renew();
        lac_obj_t a = cuda_host_rows(ctx, 10, 5000), b = cuda_host_columns(ctx, 5000, 5000),
                  c = cuda_host_rows(ctx, 10, 5000);
        cuda_host_count(ctx, &a, cases[i].nnz);
        const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, cases[i].name);
        EXPECT(l, "p.m p.n p.k p.ldw p.order", 10, 5000, 5000, 5000, LAC_CUDA_COLS);
        expect_bytes("event", "left", &a, &b, &c, cuda_host_piece(room > active ? room : active));
    }
    lac_obj_t one = cuda_host_matrix(ctx, LAC_F32, 5000, 1, 1, 7, 0), out = cuda_host_rows(ctx, 10, 1),
              a = cuda_host_rows(ctx, 10, 5000);
    one.rs = 1, one.cs = 5000;
    cuda_host_count(ctx, &a, 500);
    EXPECT(cuda_host_launch(ctx, "event", &a, &one, &out, "lac_cuda_event_stream"), "p.n p.ldw p.order", 1,
           5000, LAC_CUDA_COLS);
}

/* A frozen W by columns is copied once, by rows of the copy, and freed with its metadata. */
static void test_event_copies(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_rows(ctx, 10, 5000), b = cuda_host_columns(ctx, 5000, 600),
              c = cuda_host_rows(ctx, 10, 600);
    cuda_host_count(ctx, &a, 500);
    cuda_host_freeze(ctx, &b, 3000000);
    int64_t slots = cuda_host_piece(lac_cuda_event_slots_bytes(10, 5000, LAC_F32));
    expect_bytes("event", "left", &a, &b, &c, slots + 4 * 5000 * 600);
    size_t before = lac_meta_bytes(b.meta);
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_fused");
    EXPECT(l, "p.ldw p.order", 600, LAC_CUDA_ROWS);
    const void *copy = standin_pointer(l, "p.w");
    assert_ptr_not_equal(copy, b.buf);
    assert_int_equal(standin_extent(copy), 4 * 5000 * 600);
    assert_int_equal(standin_count("lac_cuda_transpose") + standin_count("lac_cuda_copy"), 1);
    assert_int_equal(lac_meta_bytes(b.meta) - before, 4 * 5000 * 600);
    l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_fused");
    expect_pointer(l, "p.w", copy);
    assert_int_equal(standin_count("lac_cuda_transpose") + standin_count("lac_cuda_copy"), 0);
    unit_expect(lac_ctx_set(ctx, "prepack", "off"), LAC_OK, "prepack");
    lac_obj_t d = cuda_host_columns(ctx, 5000, 600);
    cuda_host_freeze(ctx, &d, 3000000);
    EXPECT(cuda_host_launch(ctx, "event", &a, &d, &c, "lac_cuda_event_stream"), "p.ldw p.order", 5000,
           LAC_CUDA_COLS);
}

/* f16 and bf16: W by rows, or its copy of the same type, one launch where S is small; sums to f32 or to the
 * type.
 */
static void test_event_halves(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        lac_dt_t dt = i % 2 ? LAC_F16 : LAC_BF16, out = i % 4 < 2 ? dt : LAC_F32;
        bool fused = i < 4;
        const char *name = fused ? "lac_cuda_event_fused" : "lac_cuda_event_slots";
        renew();
        lac_obj_t a = cuda_host_matrix(ctx, dt, 10, 5000, 5000, 1, 0),
                  b = cuda_host_matrix(ctx, dt, 5000, 600, 600, 1, 0),
                  c = cuda_host_matrix(ctx, out, 10, 600, 600, 1, 0),
                  one = cuda_host_matrix(ctx, LAC_U8, 1, 5000, 5000, 1, 0),
                  row = cuda_host_matrix(ctx, out, 1, 600, 600, 1, 0),
                  columns = cuda_host_matrix(ctx, dt, 5000, 600, 1, 5000, 0);
        cuda_host_count(ctx, &a, fused ? 500 : 100), cuda_host_count(ctx, &one, 50);
        const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, name);
        EXPECT(l, "p.m p.n p.k p.ldw p.order p.w_dt p.out_dt s.dt", 10, 600, 5000, 600, LAC_CUDA_ROWS, dt,
               out, dt);
        l = cuda_host_launch(ctx, "event", &one, &b, &row, "lac_cuda_event_fused");
        EXPECT(l, "p.w_dt p.out_dt s.dt", dt, out, LAC_U8);
        assert_int_equal(cuda_host_bytes(ctx, "event", "left", &a, &columns, &c), -1);
        cuda_host_freeze(ctx, &columns, 3000000);
        l = cuda_host_launch(ctx, "event", &a, &columns, &c, name);
        EXPECT(l, "p.ldw p.order p.w_dt", 600, LAC_CUDA_ROWS, dt);
        assert_int_equal(standin_extent(standin_pointer(l, "p.w")), 2 * 5000 * 600);
    }
}

/* Doubles by the same gathers, of W by columns too; scalars that no float holds. */
static void test_event_doubles(void **state)
{
    (void)state;
    for (int fused = 0; fused < 2; fused++) {
        const char *name = fused ? "lac_cuda_event_fused" : "lac_cuda_event_slots";
        renew();
        lac_obj_t a = cuda_host_matrix(ctx, LAC_F64, 10, 5000, 5000, 1, 0),
                  b = cuda_host_matrix(ctx, LAC_F64, 5000, 600, 600, 1, 0),
                  c = cuda_host_matrix(ctx, LAC_F64, 10, 600, 600, 1, 0),
                  bytes = cuda_host_matrix(ctx, LAC_U8, 10, 5000, 5000, 1, 0),
                  columns = cuda_host_matrix(ctx, LAC_F64, 5000, 600, 1, 5000, 0);
        cuda_host_count(ctx, &a, fused ? 500 : 100), cuda_host_count(ctx, &bytes, fused ? 500 : 100);
        const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, name);
        EXPECT(l, "p.m p.n p.k p.ldw p.order p.w_dt p.out_dt s.dt", 10, 600, 5000, 600, LAC_CUDA_ROWS,
               LAC_F64, LAC_F64, LAC_F64);
        assert_true(standin_real(l, "p.alpha.f64") == 1.5 && standin_real(l, "p.beta.f64") == 0.25);
        expect_bytes("event", "left", &a, &b, &c,
                     cuda_host_piece(lac_cuda_event_slots_bytes(10, 5000, LAC_F64)));
        l = cuda_host_launch(ctx, "event", &bytes, &b, &c, name);
        EXPECT(l, "p.w_dt s.dt", LAC_F64, LAC_U8);
        l = cuda_host_launch(ctx, "event", &a, &columns, &c, "lac_cuda_event_slots");
        EXPECT(l, "p.ldw p.order p.w_dt", 5000, LAC_CUDA_COLS, LAC_F64);
        cuda_host_freeze(ctx, &columns, 3000000);
        l = cuda_host_launch(ctx, "event", &a, &columns, &c, name);
        EXPECT(l, "p.ldw p.order p.w_dt", 600, LAC_CUDA_ROWS, LAC_F64);
        assert_int_equal(standin_extent(standin_pointer(l, "p.w")), 8 * 5000 * 600);
    }
}

/* CSR of doubles: one kernel for a short W, gathers for a long one, which is transposed in its type. */
static void test_csr_doubles(void **state)
{
    (void)state;
    for (int64_t n = 40; n <= 600; n += 560) {
        const char *name = n == 40 ? "lac_cuda_spmm_narrow" : "lac_cuda_event_csr";
        renew();
        lac_obj_t a = cuda_host_matrix(ctx, LAC_F64, 5000, 5000, 5000, 1, 0),
                  b = cuda_host_matrix(ctx, LAC_F64, 5000, n, n, 1, 0),
                  c = cuda_host_matrix(ctx, LAC_F64, 5000, n, n, 1, 0),
                  columns = cuda_host_matrix(ctx, LAC_F64, 5000, n, 1, 5000, 0);
        cuda_host_count(ctx, &a, 50000);
        const standin_launch_t *l = cuda_host_launch(ctx, "csr", &a, &b, &c, name);
        EXPECT(standin_find("lac_cuda_csr_rows", 0), "dt s.dt", LAC_F64, LAC_F64);
        EXPECT(l, "p.w_dt p.out_dt p.order", LAC_F64, LAC_F64, LAC_CUDA_ROWS);
        cuda_host_csr(ctx, &a, 10);
        l = cuda_host_launch(ctx, "csr", &a, &columns, &c, name);
        EXPECT(l, "p.w_dt p.order", LAC_F64, n == 40 ? LAC_CUDA_COLS : LAC_CUDA_ROWS);
        if (n == 40) continue;
        EXPECT(standin_find("lac_cuda_copy", 0), "x.dt dt", LAC_F64, LAC_F64);
    }
}

/* f32 beside f16 or bf16: numbers as events of weights of two bytes, in one launch where S is small, and the
 * other way round in two. No copy is made of either. */
static void test_event_widens(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        lac_dt_t dt = i % 2 ? LAC_F16 : LAC_BF16;
        const char *name = i < 2 ? "lac_cuda_event_fused" : "lac_cuda_event_slots";
        renew();
        lac_obj_t a = cuda_host_matrix(ctx, LAC_F32, 10, 5000, 5000, 1, 0),
                  b = cuda_host_matrix(ctx, dt, 5000, 600, 600, 1, 0),
                  c = cuda_host_matrix(ctx, LAC_F32, 10, 600, 600, 1, 0),
                  half = cuda_host_matrix(ctx, dt, 10, 5000, 5000, 1, 0),
                  floats = cuda_host_matrix(ctx, LAC_F32, 5000, 600, 600, 1, 0),
                  columns = cuda_host_matrix(ctx, LAC_F32, 5000, 600, 1, 5000, 0);
        cuda_host_count(ctx, &a, i < 2 ? 500 : 100), cuda_host_count(ctx, &half, 500);
        EXPECT(cuda_host_launch(ctx, "event", &a, &b, &c, name), "p.w_dt p.out_dt s.dt", dt, LAC_F32,
               LAC_F32);
        EXPECT(cuda_host_launch(ctx, "event", &half, &floats, &c, "lac_cuda_event_slots"),
               "p.w_dt p.out_dt s.dt", LAC_F32, LAC_F32, dt);
        assert_int_equal(cuda_host_bytes(ctx, "event", "left", &half, &columns, &c), -1);
        assert_int_equal(standin_count("lac_cuda_copy") + standin_count("lac_cuda_transpose"), 0);
    }
}

static void expect_type(lac_status_t status, const char *argument)
{
    unit_expect(status, LAC_ERR_TYPE, argument);
    unit_expect_text(lac_last_error(), argument);
}

/* Which types go together, and the calls that take products of f16 and bf16. */
static void test_half_types(void **state)
{
    (void)state;
    lac_obj_t x[5][3];
    for (int dt = LAC_F32; dt <= LAC_BF16; dt++) {
        if (dt == LAC_F64) continue;
        x[dt][0] = cuda_host_matrix(ctx, (lac_dt_t)dt, 4, 64, 64, 1, 0);
        x[dt][1] = cuda_host_matrix(ctx, (lac_dt_t)dt, 64, 32, 32, 1, 0);
        x[dt][2] = cuda_host_matrix(ctx, (lac_dt_t)dt, 4, 32, 32, 1, 0);
    }
    static const struct {
        lac_dt_t a, b, c;
        const char *bad;
    } cases[] = {{LAC_F16, LAC_F16, LAC_F16, NULL},     {LAC_BF16, LAC_BF16, LAC_F32, NULL},
                 {LAC_U8, LAC_F16, LAC_F16, NULL},      {LAC_BF16, LAC_U8, LAC_F32, NULL},
                 {LAC_U8, LAC_U8, LAC_F16, "c.dt:"},    {LAC_F16, LAC_BF16, LAC_F32, "b.dt:"},
                 {LAC_F16, LAC_F16, LAC_BF16, "a.dt:"}, {LAC_F32, LAC_F16, LAC_F32, NULL},
                 {LAC_BF16, LAC_F32, LAC_F32, NULL},    {LAC_F32, LAC_BF16, LAC_BF16, "a.dt:"},
                 {LAC_F16, LAC_F32, LAC_F16, "b.dt:"},  {LAC_F32, LAC_F32, LAC_F16, "a.dt:"},
                 {LAC_F16, LAC_F16, LAC_U8, "c.dt:"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lac_obj_t *a = &x[cases[i].a][0], *b = &x[cases[i].b][1], *c = &x[cases[i].c][2];
        lac_status_t status = cuda_host_gemm(ctx, NULL, 1.0f, a, b, 0.0f, c);
        if (cases[i].bad)
            expect_type(status, cases[i].bad);
        else
            unit_expect(status, LAC_OK, "types that go together");
    }
    const lac_obj_t *a = &x[LAC_F16][0], *b = &x[LAC_F16][1], *c = &x[LAC_F16][2];
    const lac_epilogue_t epilogue = {.size = sizeof epilogue, .act = LAC_ACT_RELU};
    expect_type(lac_gemm_epilogue(ctx, NULL, a, b, NULL, c, &epilogue, NULL), "c.dt:");
    const lac_obj_t *other = &x[LAC_BF16][1], *bytes = &x[LAC_U8][1], *events = &x[LAC_U8][0];
    unit_expect(lac_gemm_batched(ctx, 1, NULL, a, 0, b, 0, NULL, c, 0), LAC_OK, "a batch");
    unit_expect(lac_gemm_batched_array(ctx, 1, NULL, a, 0, b, 0, NULL, c), LAC_OK, "a batch of views");
    expect_type(lac_gemm_batched(ctx, 2, NULL, a, 0, other, 0, NULL, c, 4 * 32), "b.dt:");
    expect_type(lac_gemm_batched(ctx, 2, NULL, events, 0, bytes, 0, NULL, c, 4 * 32), "c.dt:");
    expect_type(lac_gemm_batched_array(ctx, 1, NULL, &x[LAC_F32][0], 0, b, 0, NULL, c), "a.dt:");
    expect_type(lac_to_dense(ctx, a, &x[LAC_F32][0]), "a.dt:");
}

/* What cublasLtMatmul adds to a product of two bytes an element goes to the kernel, which rounds once; a C
 * apart is left to it. */
static void test_half_bias(void **state)
{
    (void)state;
    enum { M = 600, N = 10, K = 5000 };
    unit_expect(lac_ctx_set(ctx, "backend", "event"), LAC_OK, "backend");
    lac_obj_t w = cuda_host_matrix(ctx, LAC_BF16, M, K, 1, M, 0),
              x = cuda_host_matrix(ctx, LAC_BF16, K, N, 1, K, 0),
              c = cuda_host_matrix(ctx, LAC_BF16, M, N, 1, M, 0);
    const void *bias = cuda_host_memory(ctx, 2 * M), *apart = cuda_host_memory(ctx, 4 * M * N);
    lac_gemm_args_t call = {.m = M,
                            .n = N,
                            .k = K,
                            .dt = LAC_BF16,
                            .a = {w.buf, 1, M, NULL, LAC_BF16, false},
                            .b = {x.buf, 1, K, NULL, LAC_BF16, false},
                            .c = c.buf,
                            .crs = 1,
                            .ccs = M,
                            .adds = true,
                            .residual = {NULL, 0, bias},
                            .symbol = "cublasLtMatmul"};
    standin.sampled = 100;
    for (int i = 0; i < 3; i++) standin_forget(), lac_try_gemm(ctx, &call); /* the first may be a probe */
    const standin_launch_t *l = standin_find("lac_cuda_event_slots", 0);
    if (!l) l = standin_find("lac_cuda_event_fused", 0);
    assert_non_null(l);
    EXPECT(l, "p.m p.n p.k p.w_dt p.out_dt p.epilogue.any p.epilogue.of_rows p.epilogue.magnitude", N, M, K,
           LAC_BF16, LAC_BF16, 1, 0, 0);
    expect_pointer(l, "p.epilogue.bias", bias);
    assert_true(isnan(standin_real(l, "p.epilogue.limit")));
    assert_int_equal(standin_count("lac_cuda_copy"), 0);
    call.residual = (lac_residual_t){apart, M, NULL};
    assert_int_equal(lac_try_gemm(ctx, &call), 0);
    call.residual = (lac_residual_t){NULL, 0, bias};
    unit_expect(lac_ctx_set(ctx, "backend", "native"), LAC_OK,
                "backend"); /* which would leave the bias out */
    assert_int_equal(lac_try_gemm(ctx, &call), 0);
}

/* The vendor rounds a vector's sums to two bytes before it adds beta C, which we do to sums of f32 instead:
 * not where C is f32, or where nothing is added. */
static void test_half_vectors(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool row = i % 2;
        lac_dim_t m = row ? 1 : 60, n = row ? 60 : 1;
        lac_dt_t out = i < 2 ? LAC_F16 : LAC_F32;
        renew();
        lac_obj_t a = cuda_host_matrix(ctx, LAC_F16, m, 500, 500, 1, 0),
                  b = cuda_host_matrix(ctx, LAC_F16, 500, n, n, 1, 0),
                  c = cuda_host_matrix(ctx, out, m, n, n, 1, 0);
        const standin_launch_t *l = cuda_host_launch(ctx, "dense", &a, &b, &c, "cublasGemmEx_64");
        EXPECT(l, "c_type", 0);
        assert_int_equal(standin_count("lac_cuda_copy"), out == LAC_F16);
        if (out == LAC_F32) continue;
        const void *sums = standin_pointer(l, "c");
        assert_true(sums != c.buf);
        l = standin_find("lac_cuda_copy", 0);
        EXPECT(l, "x.dt x.rows x.cols dt rs cs", LAC_F32, m, n, LAC_F16, n, 1);
        expect_pointer(l, "x.data", sums);
        expect_pointer(l, "out", c.buf);
        unit_expect(cuda_host_gemm(ctx, "dense", 1.5f, &a, &b, 0.0f, &c), LAC_OK, "nothing is added");
        l = standin_find("cublasGemmEx_64", 0);
        EXPECT(l, "c_type", 2);
        expect_pointer(l, "c", c.buf);
    }
}

/* The vendor's product of either type, with sums of f32 that no part of is rounded; what it does not take as
 * it lies is ours. */
static void test_dense_halves(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        lac_dt_t dt = i % 2 ? LAC_F16 : LAC_BF16, out = i < 2 ? dt : LAC_F32;
        int type = dt == LAC_F16 ? 2 : 14;
        renew();
        lac_obj_t a = cuda_host_matrix(ctx, dt, 1000, 500, 500, 1, 0),
                  b = cuda_host_matrix(ctx, dt, 500, 600, 1, 500, 0),
                  c = cuda_host_matrix(ctx, out, 1000, 600, 600, 1, 0),
                  columns = cuda_host_matrix(ctx, out, 1000, 600, 1, 1000, 0),
                  apart = cuda_host_matrix(ctx, out, 1000, 600, 1200, 2, 0),
                  bytes = cuda_host_matrix(ctx, LAC_U8, 1000, 500, 500, 1, 0);
        const standin_launch_t *l = cuda_host_launch(ctx, "dense", &a, &b, &c, "cublasGemmEx_64");
        EXPECT(l, "ta tb m n k lda ldb ldc a_type b_type c_type compute algo", 1, 0, 600, 1000, 500, 500, 500,
               600, type, type, out == LAC_F32 ? 0 : type, 68, -1);
        expect_pointer(l, "a", b.buf);
        expect_pointer(l, "b", a.buf);
        EXPECT(standin_find("cublasSetMathMode", 0), "mode", 16);
        l = cuda_host_launch(ctx, "dense", &a, &b, &columns, "cublasGemmEx_64");
        EXPECT(l, "ta tb m n k lda ldb ldc", 1, 0, 1000, 600, 500, 500, 500, 1000);
        assert_int_equal(cuda_host_bytes(ctx, "dense", "", &a, &b, &apart), -1);
        /* events become numbers of the other's type in front of it, on either side and of any strides */
        l = cuda_host_launch(ctx, "dense", &bytes, &b, &c, "lac_cuda_copy");
        EXPECT(l, "x.dt x.rows x.cols x.rs x.cs dt rs cs", LAC_U8, 1000, 500, 500, 1, dt, 500, 1);
        expect_pointer(l, "x.data", bytes.buf);
        const void *numbers = standin_pointer(l, "out");
        l = cuda_host_launch(ctx, "dense", &bytes, &b, &c, "cublasGemmEx_64");
        EXPECT(l, "ta tb m n k lda ldb ldc a_type b_type c_type", 1, 0, 600, 1000, 500, 500, 500, 600, type,
               type, out == LAC_F32 ? 0 : type);
        expect_pointer(l, "a", b.buf), expect_pointer(l, "b", numbers);
        expect_bytes("dense", "", &bytes, &b, &c, (64 << 20) + cuda_host_piece(2 * 1000 * 500));
        lac_obj_t spread = cuda_host_matrix(ctx, LAC_U8, 500, 600, 1200, 2, 0);
        l = cuda_host_launch(ctx, "dense", &a, &spread, &c, "lac_cuda_copy");
        EXPECT(l, "x.dt x.rows x.cols x.rs x.cs dt rs cs", LAC_U8, 500, 600, 1200, 2, dt, 600, 1);
        lac_obj_t floats = cuda_host_rows(ctx, 1000, 500), wide = cuda_host_rows(ctx, 1000, 600);
        assert_int_equal(cuda_host_bytes(ctx, "dense", "", &floats, &b, &wide), -1);
        l = cuda_host_launch(ctx, "native", &a, &b, &apart, "lac_cuda_gemm_f64");
        EXPECT(l, "a.dt b.dt dt", dt, dt, out);
        assert_int_equal(cuda_host_bytes(ctx, "stream", "", &a, &b, &c), -1);
        cuda_host_count(ctx, &a, 500);
        assert_int_equal(cuda_host_bytes(ctx, "csr", "left", &a, &b, &c), -1);
        /* a C of two bytes is small: sums of fp32, rounded once with what is added to them */
        lac_obj_t short_a = cuda_host_matrix(ctx, dt, 400, 500, 500, 1, 0),
                  short_c = cuda_host_matrix(ctx, out, 400, 600, 600, 1, 0);
        bool adds = out != LAC_F32;
        l = cuda_host_launch(ctx, "dense", &short_a, &b, &short_c, "cublasGemmEx_64");
        EXPECT(l, "m n k c_type", 600, 400, 500, 0);
        assert_true(standin_real(l, "beta") == (adds ? 0.0 : 0.25) && standin_real(l, "alpha") == 1.5);
        assert_int_equal(standin_count("lac_cuda_copy"), adds);
        if (adds) EXPECT(standin_find("lac_cuda_copy", 0), "x.dt dt rs cs", LAC_F32, out, 600, 1);
        expect_bytes("dense", "", &short_a, &b, &short_c, 64 << 20);
        lac_obj_t odd = cuda_host_matrix(ctx, dt, 500, 60, 1, 500, 0),
                  odd_c = cuda_host_matrix(ctx, out, 1000, 60, 60, 1, 0);
        assert_int_equal(cuda_host_bytes(ctx, "tiles", "left", &a, &odd, &odd_c), -1);
    }
    lac_obj_t a = cuda_host_rows(ctx, 10, 500), b = cuda_host_rows(ctx, 500, 60),
              c = cuda_host_rows(ctx, 10, 60);
    cuda_host_launch(ctx, "dense", &a, &b, &c, "cublasSgemm_64"); /* whose mode is set back */
    EXPECT(standin_find("cublasSetMathMode", 0), "mode", 0);
}

/* Events given as CSR are read as they are, with their number; for W by columns the buffer may be better. */
static void test_event_given(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_rows(ctx, 10, 5000), b = cuda_host_rows(ctx, 5000, 300),
              c = cuda_host_rows(ctx, 10, 300);
    void *buf = a.buf;
    cuda_host_csr(ctx, &a, 50);
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_csr");
    EXPECT(l, "s.nnz p.m p.n p.k p.ldw", 500, 10, 300, 5000, 300);
    assert_non_null(standin_pointer(l, "s.val"));
    expect_bytes("event", "left", &a, &b, &c, 4 * 500); /* the indices in 32 bits */
    lac_obj_t columns = cuda_host_columns(ctx, 5000, 300);
    l = cuda_host_launch(ctx, "event", &a, &columns, &c, "lac_cuda_event_csr");
    EXPECT(l, "p.order p.ldw", LAC_CUDA_COLS, 5000);
    a.buf = buf; /* 2.7 MB of sectors: as they are given */
    cuda_host_launch(ctx, "event", &a, &columns, &c, "lac_cuda_event_csr");
    lac_obj_t many = cuda_host_columns(ctx, 5000, 5000), out = cuda_host_rows(ctx, 10, 5000);
    l = cuda_host_launch(ctx, "event", &a, &many, &out, "lac_cuda_event_active");
    expect_pointer(l, "s.data", buf);
    assert_int_equal(standin_count("lac_cuda_event_csr"), 0);
}

/* Bytes are events of value 1. */
static void test_event_bytes(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_matrix(ctx, LAC_U8, 10, 5000, 5000, 1, 0), b = cuda_host_rows(ctx, 5000, 300),
              c = cuda_host_rows(ctx, 10, 300);
    cuda_host_count(ctx, &a, 500);
    EXPECT(cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_fused"), "s.dt s.rs", LAC_U8, 5000);
}

/* A sparse W is read by segments: the pointers are made once of a pattern, and again of another. */
static void test_event_segments(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_rows(ctx, 10, 5000), b = cuda_host_rows(ctx, 5000, 4000),
              c = cuda_host_rows(ctx, 10, 4000);
    cuda_host_count(ctx, &a, 500);
    cuda_host_csr(ctx, &b, 40);
    int64_t width = lac_cuda_segments_width(5000, 4000, 200000);
    int64_t pointers = lac_cuda_segments_bytes(5000, 4000, width);
    assert_true(width > 0);
    int64_t room = cuda_host_piece(lac_cuda_event_segments_bytes(10, 5000));
    expect_bytes("event", "left", &a, &b, &c, room + 4 * 200000 + pointers);
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_segments");
    EXPECT(l, "w.nnz s.dense.rs p.m p.n p.k segments.k segments.width cut.late", 200000, 5000, 10, 4000, 5000,
           5000, width, 0);
    expect_pointer(l, "s.rows", NULL);
    expect_pointer(l, "s.list", NULL);
    expect_pointer(standin_find("lac_cuda_segment_pointers", 0), "first",
                   standin_pointer(l, "segments.first"));
    assert_int_equal(meta_bytes(&b), 4 * 200000 + pointers);
    cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_segments");
    assert_int_equal(standin_count("lac_cuda_segment_pointers"), 0);
    cuda_host_csr(ctx, &b, 60);
    l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_segments");
    EXPECT(l, "w.nnz", 300000);
    assert_int_equal(standin_count("lac_cuda_segment_pointers"), 1);
    cuda_host_csr(ctx, &a, 50);
    l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_segments");
    EXPECT(l, "w.nnz s.rows.nnz", 300000, 500);
    expect_pointer(l, "s.dense", NULL);
}

/* Fixed sums: split by constants, whatever W's columns, the density and what else would choose. */
static void test_event_fixed_sums(void **state)
{
    (void)state;
    static const struct {
        lac_dim_t m, k, n;
        int64_t nnz;
    } cases[] = {{4, 5000, 300, 2000}, {4, 5000, 20000, 20}, {16, 4096, 300, 6000}};
    for (int half = 0; half < 2; half++) /* a row in one launch; of halves it would be cut by W's columns */
        for (lac_dim_t n = 256; n <= 65536; n *= 256) {
            lac_dt_t dt = half ? LAC_BF16 : LAC_F32;
            renew();
            unit_expect(lac_ctx_set(ctx, "sums", "fixed"), LAC_OK, "sums");
            lac_obj_t a = cuda_host_matrix(ctx, dt, 1, 5000, 5000, 1, 0),
                      b = cuda_host_matrix(ctx, dt, 5000, n, n, 1, 0), c = cuda_host_rows(ctx, 1, n);
            cuda_host_count(ctx, &a, 50);
            EXPECT(cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_fused"),
                   "p.n tile.vec tile.row_warps tile.k_warps tile.cluster", n, 1, 1, 4, 4);
        }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_dim_t m = cases[i].m, k = cases[i].k, n = cases[i].n;
        renew();
        unit_expect(lac_ctx_set(ctx, "sums", "fixed"), LAC_OK, "sums");
        lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
        cuda_host_count(ctx, &a, cases[i].nnz);
        EXPECT(cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_slots"),
               "p.n tile.row_warps tile.k_warps tile.cluster tile.slice", n, m < 5 ? m : 5, 4, 1, 0);
        lac_obj_t t = cuda_host_columns(ctx, k, n);
        EXPECT(cuda_host_launch(ctx, "event", &a, &t, &c, "lac_cuda_event_slots"),
               "p.order tile.row_warps tile.k_warps tile.cluster", LAC_CUDA_COLS, m < 5 ? m : 5, 4, 1);
        cuda_host_csr(ctx, &a, 50);
        EXPECT(cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_csr"),
               "tile.row_warps tile.k_warps tile.cluster", m < 5 ? m : 5, 4, 1);
        cuda_host_csr(ctx, &b, 40);
        EXPECT(cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_segments"),
               "cut.warps cut.lanes cut.copies cut.cluster cut.bits", 16, 32, -1, 1, 1);
    }
    renew();
}

/* On the right side, those of the columns. */
static void test_event_segments_across(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_rows(ctx, 4000, 5000), b = cuda_host_rows(ctx, 5000, 3),
              c = cuda_host_rows(ctx, 4000, 3);
    cuda_host_count(ctx, &b, 150);
    cuda_host_csr(ctx, &a, 50);
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_segments");
    EXPECT(l, "w.nnz p.m p.n p.k segments.k s.dense.rs s.dense.cs", 200000, 3, 4000, 5000, 5000, 1, 3);
    expect_pointer(standin_find("lac_cuda_segment_pointers", 0), "w.ptr", standin_pointer(l, "w.ptr"));
}

/* Without pointers, entries are read: where copies are not allowed, or would have to be made while the stream
 * is captured. */
static void test_event_pair(void **state)
{
    (void)state;
    lac_obj_t a = cuda_host_rows(ctx, 10, 5000), b = cuda_host_rows(ctx, 5000, 4000),
              c = cuda_host_rows(ctx, 10, 4000);
    cuda_host_count(ctx, &a, 500);
    cuda_host_csr(ctx, &b, 40);
    unit_expect(lac_ctx_set(ctx, "prepack", "off"), LAC_OK, "prepack");
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_pair");
    EXPECT(l, "w.nnz s.rs p.m p.n p.k", 200000, 5000, 10, 4000, 5000);
    expect_pointer(l, "rows", NULL);
    int64_t room = cuda_host_piece(lac_cuda_event_pair_bytes(10, 4000, 5000));
    assert_true(room > 0);
    expect_bytes("event", "left", &a, &b, &c, room + 4 * 200000);
    unit_expect(lac_ctx_set(ctx, "prepack", "on"), LAC_OK, "prepack");
    standin_capture(lac_device_stream(ctx), true);
    l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_pair");
    assert_true(l->captured);
    standin_capture(lac_device_stream(ctx), false);
    assert_int_equal(standin_count("lac_cuda_segment_pointers"), 0);
    cuda_host_csr(ctx, &a, 50);
    unit_expect(lac_ctx_set(ctx, "prepack", "off"), LAC_OK, "prepack");
    l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_pair");
    EXPECT(l, "w.nnz rows.nnz", 200000, 500);
    expect_pointer(l, "s", NULL);
}

/* An active list names the rows of a sparse W, however many rows S has. */
static void test_event_segments_list(void **state)
{
    (void)state;
    enum { K = 5000, ACTIVE = 40 };
    int32_t list[ACTIVE];
    for (int i = 0; i < ACTIVE; i++) list[i] = 100 * i + 3;
    int32_t *idx = cuda_host_memory(ctx, sizeof list);
    unit_expect(lac_device_upload(ctx, idx, list, sizeof list), LAC_OK, "upload");
    lac_obj_t b = cuda_host_rows(ctx, K, 4000);
    cuda_host_csr(ctx, &b, 40);
    for (int m = 1; m <= 10; m += 9) {
        lac_obj_t a = cuda_host_rows(ctx, m, K), c = cuda_host_rows(ctx, m, 4000);
        float *val = cuda_host_memory(ctx, (size_t)(ACTIVE * m) * sizeof *val);
        cuda_host_count(ctx, &a, 40);
        unit_expect(lac_meta_attach_active(a.meta, ACTIVE, idx, val), LAC_OK, "attach");
        a.buf = NULL;
        const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_segments");
        EXPECT(l, "p.m p.k s.dense.rs s.dense.cs s.dense.dt segments.k", m, ACTIVE, 1, m, LAC_F32, K);
        expect_pointer(l, "s.list", idx);
        expect_pointer(l, "s.dense.data", val);
        assert_int_equal(standin_count("lac_cuda_densify_active"), 0);
    }
}

/* Bits of events and a W of ones: events are counted, as they lie, whatever the order of sums; sums that
 * something else is made of, and those of values, are by segments, and those without bits too. */
static void test_event_counts(void **state)
{
    (void)state;
    enum { K = 3000, N = 70000, EACH = 30, FIRST = 500, WORDS = 60 };
    lac_obj_t a = cuda_host_matrix(ctx, LAC_U8, 1, K, K, 1, 0), b = cuda_host_rows(ctx, K, N),
              c = cuda_host_rows(ctx, 1, N);
    int32_t *columns = malloc(K * EACH * sizeof *columns), *idx = cuda_host_memory(ctx, K * EACH * 4);
    for (int e = 0; e < K * EACH; e++) columns[e] = e % EACH * 50;
    unit_expect(lac_device_upload(ctx, idx, columns, K * EACH * 4), LAC_OK, "upload");
    free(columns);
    uint64_t *bits = cuda_host_memory(ctx, WORDS * 8);
    float *val = cuda_host_memory(ctx, K * EACH * 4), one = 1.0f, two = 2.0f, none = 0.0f;
    b.buf = NULL;
    unit_expect(lac_meta_create_for(ctx, &b.meta, K, N), LAC_OK, "meta");
    unit_expect(lac_meta_attach_ell(b.meta, LAC_I32, EACH, idx, NULL), LAC_OK, "ones");
    unit_expect(lac_meta_create_for(ctx, &a.meta, 1, K), LAC_OK, "meta");
    unit_expect(lac_meta_attach_event_bits(a.meta, WORDS, bits, FIRST), LAC_OK, "bits");
    unit_expect(cuda_host_gemm(ctx, "event", one, &a, &b, none, &c), LAC_OK, "counts");
    const standin_launch_t *l = standin_find("lac_cuda_event_counts", 0);
    assert_non_null(l);
    EXPECT(l, "p.m p.n p.k bits.ld bits.first each late w.nnz", 1, N, K, 2 * WORDS, FIRST, EACH, 0, K * EACH);
    expect_pointer(l, "bits.words", bits);
    expect_pointer(l, "w.idx", idx), expect_pointer(l, "p.out", c.buf);
    for (int other = 0; other < 5; other++) {
        lac_obj_t events = a;
        if (other == 2) unit_expect(lac_meta_attach_ell(b.meta, LAC_I32, EACH, idx, val), LAC_OK, "values");
        if (other == 3) unit_expect(lac_meta_attach_ell(b.meta, LAC_I32, EACH, idx, NULL), LAC_OK, "ones");
        if (other == 3) unit_expect(lac_ctx_set(ctx, "sums", "fixed"), LAC_OK, "fixed");
        if (other == 4) events.meta = NULL;
        unit_expect(
            cuda_host_gemm(ctx, "event", other == 0 ? two : one, &events, &b, other == 1 ? one : none, &c),
            LAC_OK, "segments");
        assert_int_equal(standin_count("lac_cuda_event_counts"), other == 3);
        assert_int_equal(standin_count("lac_cuda_event_segments"), other != 3);
        if (other != 3)
            assert_int_equal(standin_pointer(standin_find("lac_cuda_event_segments", 0), "s.bits") != NULL,
                             other != 4);
        unit_expect(lac_ctx_set(ctx, "sums", "fast"), LAC_OK, "fast");
    }
    lac_meta_free(a.meta), lac_meta_free(b.meta);
}

/* The same where the density of the events is known: many are sooner added by segments. In a recording that
 * finds no pointers of them, events are counted. */
static void test_event_counts_of_many(void **state)
{
    (void)state;
    enum { K = 40000, N = 40000, EACH = 100, WORDS = K / 64 };
    static const struct {
        int events;
        bool counted;
    } densities[] = {{40, true}, {400, true}, {30000, false}};
    uint8_t *spikes = cuda_host_memory(ctx, K);
    int32_t *columns = malloc(K * EACH * sizeof *columns), *idx = cuda_host_memory(ctx, K * EACH * 4);
    uint64_t *bits = cuda_host_memory(ctx, WORDS * 8);
    for (int e = 0; e < K * EACH; e++) columns[e] = e % EACH * 400;
    unit_expect(lac_device_upload(ctx, idx, columns, K * EACH * 4), LAC_OK, "upload");
    free(columns);
    for (int captured = 1; captured >= 0; captured--)
        for (int i = 0; i < 3; i++) {
            int64_t k = K - 64 * (i + 3 * captured); /* sites of their own, which remember nothing */
            lac_obj_t a = lac_obj_rowmajor(LAC_U8, 1, k, spikes, k),
                      b = lac_obj_rowmajor(LAC_F32, k, N, NULL, N), c = cuda_host_rows(ctx, 1, N);
            a.space = b.space = LAC_DEVICE;
            unit_expect(lac_meta_create_for(ctx, &b.meta, k, N), LAC_OK, "meta");
            unit_expect(lac_meta_attach_ell(b.meta, LAC_I32, EACH, idx, NULL), LAC_OK, "ones");
            cuda_host_count(ctx, &a, densities[i].events);
            unit_expect(lac_meta_attach_event_bits(a.meta, WORDS, bits, 0), LAC_OK, "bits");
            standin_forget();
            if (captured) standin_capture(lac_device_stream(ctx), true);
            unit_expect(cuda_host_gemm(ctx, "event", 1.0f, &a, &b, 0.0f, &c), LAC_OK, "product");
            if (captured) standin_capture(lac_device_stream(ctx), false);
            bool counted = captured || densities[i].counted;
            assert_int_equal(standin_count("lac_cuda_event_counts"), counted);
            assert_int_equal(standin_count("lac_cuda_event_segments"), !counted);
            lac_meta_free(b.meta);
        }
}

/* An active list stands for S: its columns are packed, and it says which k they are. */
static void test_event_list(void **state)
{
    (void)state;
    enum { M = 12, K = 5000, ACTIVE = 40 };
    int32_t list[ACTIVE];
    for (int i = 0; i < ACTIVE; i++) list[i] = 100 * i + 3;
    lac_obj_t a = cuda_host_rows(ctx, M, K), b = cuda_host_rows(ctx, K, 300), c = cuda_host_rows(ctx, M, 300);
    int32_t *idx = cuda_host_memory(ctx, sizeof list);
    float *val = cuda_host_memory(ctx, ACTIVE * M * sizeof *val);
    unit_expect(lac_device_upload(ctx, idx, list, sizeof list), LAC_OK, "upload");
    cuda_host_count(ctx, &a, 200);
    standin.nnz = 200;
    unit_expect(lac_meta_attach_active(a.meta, ACTIVE, idx, val), LAC_OK, "attach");
    a.buf = NULL;
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_listed");
    EXPECT(l, "p.m p.n p.k s.rs s.cs s.dt p.ldw", M, 300, ACTIVE, 1, M, LAC_F32, 300);
    expect_pointer(l, "list", idx);
    expect_pointer(l, "s.data", val);
    expect_bytes("event", "left", &a, &b, &c, cuda_host_piece(lac_cuda_event_slots_bytes(M, K, LAC_F32)));
    /* W by columns, all of it: the list is expanded */
    lac_obj_t columns = cuda_host_columns(ctx, K, 300);
    l = cuda_host_launch(ctx, "event", &a, &columns, &c, "lac_cuda_event_listed");
    EXPECT(l, "p.order", LAC_CUDA_COLS);
    /* beside a buffer, the buffer is packed sooner */
    lac_obj_t both = cuda_host_rows(ctx, M, K);
    cuda_host_count(ctx, &both, 200);
    unit_expect(lac_meta_attach_active(both.meta, ACTIVE, idx, val), LAC_OK, "attach");
    l = cuda_host_launch(ctx, "event", &both, &b, &c, "lac_cuda_event_slots");
    expect_pointer(l, "s.data", both.buf);
    /* a single row is expanded: it is as soon scanned */
    lac_obj_t row = cuda_host_rows(ctx, 1, K), out = cuda_host_rows(ctx, 1, 300);
    cuda_host_count(ctx, &row, ACTIVE);
    standin.nnz = ACTIVE;
    unit_expect(lac_meta_attach_active(row.meta, ACTIVE, idx, val), LAC_OK, "attach");
    row.buf = NULL;
    l = cuda_host_launch(ctx, "event", &row, &b, &out, "lac_cuda_event_fused");
    EXPECT(l, "p.m p.n p.k", 1, 300, K);
}

/* Few rows of floats are listed by the launch that multiplies, unless they lie across; more than four of few
 * events are packed. */
static void test_event_few(void **state)
{
    (void)state;
    enum { K = 5000, N = 300 };
    lac_obj_t b = cuda_host_rows(ctx, K, N), ten = cuda_host_rows(ctx, 10, K),
              ten_out = cuda_host_rows(ctx, 10, N), across = cuda_host_columns(ctx, 10, K),
              four = cuda_host_rows(ctx, 4, K), four_out = cuda_host_rows(ctx, 4, N),
              nine = cuda_host_rows(ctx, 9, K), nine_out = cuda_host_rows(ctx, 9, N);
    cuda_host_count(ctx, &ten, 2500), cuda_host_count(ctx, &across, 2500);
    cuda_host_count(ctx, &four, 20);
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &ten, &b, &ten_out, "lac_cuda_event_fused");
    EXPECT(l, "p.m p.n p.k", 10, N, K);
    cuda_host_launch(ctx, "event", &four, &b, &four_out, "lac_cuda_event_fused");
    expect_bytes("event", "left", &four, &b, &four_out, 0);
    cuda_host_launch(ctx, "event", &across, &b, &ten_out, "lac_cuda_event_slots");
    lac_obj_t odd = cuda_host_rows(ctx, K, N + 1), odd_out = cuda_host_rows(ctx, 10, N + 1);
    cuda_host_launch(ctx, "event", &ten, &odd, &odd_out, "lac_cuda_event_fused"); /* by its other kernel */
    cuda_host_count(ctx, &nine, 20);
    cuda_host_launch(ctx, "event", &nine, &b, &nine_out, "lac_cuda_event_slots");
}

/* The list of a stored matrix whose transpose is S names rows of S: it is expanded, and read across. */
static void test_event_list_across(void **state)
{
    (void)state;
    enum { M = 300, K = 40, ACTIVE = 3 };
    static const int32_t list[ACTIVE] = {7, 100, 299};
    lac_obj_t a = cuda_host_rows(ctx, K, M), b = cuda_host_rows(ctx, K, 200), c = cuda_host_rows(ctx, M, 200);
    int32_t *idx = cuda_host_memory(ctx, sizeof list);
    float *val = cuda_host_memory(ctx, ACTIVE * K * sizeof *val);
    unit_expect(lac_device_upload(ctx, idx, list, sizeof list), LAC_OK, "upload");
    cuda_host_count(ctx, &a, 100);
    unit_expect(lac_meta_attach_active(a.meta, ACTIVE, idx, val), LAC_OK, "attach");
    a.buf = NULL, a.trans = LAC_TRANS;
    const standin_launch_t *l = cuda_host_launch(ctx, "event", &a, &b, &c, "lac_cuda_event_slots");
    const standin_launch_t *expanded = standin_find("lac_cuda_densify_active", 0);
    assert_non_null(expanded);
    EXPECT(expanded, "m count rs cs", K, ACTIVE, 1, K);
    EXPECT(l, "p.m p.n p.k s.rs s.cs s.dt", M, 200, K, K, 1, LAC_F32);
    expect_pointer(l, "s.data", standin_pointer(expanded, "out"));
    expect_bytes("event", "left", &a, &b, &c,
                 cuda_host_piece(lac_cuda_event_slots_bytes(M, K, LAC_F32)) + cuda_host_piece(4 * M * K));
    /* on the right side, it is the matrix as it is stored that is read across */
    lac_obj_t w = cuda_host_rows(ctx, 200, K), d = cuda_host_rows(ctx, 200, M);
    a.trans = LAC_NO_TRANS;
    l = cuda_host_launch(ctx, "event", &w, &a, &d, "lac_cuda_event_stream");
    expanded = standin_find("lac_cuda_densify_active", 0);
    assert_non_null(expanded);
    EXPECT(expanded, "m count rs cs", K, ACTIVE, 1, K);
    EXPECT(l, "p.m p.n p.k s.rs s.cs", M, 200, K, K, 1);
}

/* The event route's limits: rows of S, and what has no unit stride. */
static void test_event_bounds(void **state)
{
    (void)state;
    lac_obj_t b = cuda_host_rows(ctx, 100, 40), a = cuda_host_rows(ctx, 4096, 100),
              c = cuda_host_rows(ctx, 4096, 40), a1 = cuda_host_rows(ctx, 4097, 100),
              c1 = cuda_host_rows(ctx, 4097, 40), x = cuda_host_matrix(ctx, LAC_F32, 100, 40, 80, 2, 0);
    cuda_host_count(ctx, &a, 4096);
    cuda_host_count(ctx, &a1, 4096);
    assert_true(cuda_host_bytes(ctx, "event", "left", &a, &b, &c) >= 0);
    assert_int_equal(cuda_host_bytes(ctx, "event", "left", &a1, &b, &c1), -1);
    assert_int_equal(cuda_host_bytes(ctx, "event", "left", &a, &x, &c), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(event_fuses),         TEST(event_right),
                                       TEST(event_columns),       TEST(event_copies),
                                       TEST(event_halves),        TEST(event_doubles),
                                       TEST(csr_doubles),         TEST(event_widens),
                                       TEST(dense_halves),        TEST(half_types),
                                       TEST(half_vectors),        TEST(half_bias),
                                       TEST(event_given),         TEST(event_bytes),
                                       TEST(event_segments),      TEST(event_segments_across),
                                       TEST(event_fixed_sums),    TEST(event_segments_list),
                                       TEST(event_pair),          TEST(event_list),
                                       TEST(event_few),           TEST(event_bounds),
                                       TEST(event_list_across),   TEST(event_counts),
                                       TEST(event_counts_of_many)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
