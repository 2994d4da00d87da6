/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the CUDA backend launches beside single products: batches, row slices, sampled products, products with
 * the caller's CSR arrays, conversions, formats that are scanned and kept. */
#include "launch_checks.h"
#include "cuda_support.h"
#include "api/interpose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float one = 1.5f, quarter = 0.25f;

static const standin_launch_t *launched(const char *name)
{
    const standin_launch_t *l = standin_find(name, 0);
    if (!l) fail_msg("%s was not launched", name);
    return l;
}

/* Many small products with few events go into one launch; dense ones to the vendor's strided batch. */
static void test_batch(void **state)
{
    (void)state;
    lac_dim_t count = 512, m = 8, k = 256, n = 64;
    lac_obj_t a = cuda_host_rows(ctx, count * m, k), b = cuda_host_rows(ctx, count * k, n),
              c = cuda_host_rows(ctx, count * m, n), bt = b;
    a.m = c.m = m, b.m = k;
    unit_expect(lac_ctx_set(ctx, "detect", "probe"), LAC_OK, "detect");
    standin.sampled = 0;
    for (int i = 0; i < 3; i++)
        unit_expect(lac_gemm_batched(ctx, count, &one, &a, m * k, &b, k * n, &quarter, &c, m * n), LAC_OK,
                    "probe");
    standin_forget();
    unit_expect(lac_gemm_batched(ctx, count, &one, &a, m * k, &b, k * n, &quarter, &c, m * n), LAC_OK,
                "batch");
    const standin_launch_t *l = launched("lac_cuda_batch_events");
    EXPECT(l, "b.count b.m b.n b.k b.srs b.scs b.wks b.wjs b.rs b.cs b.s_step b.w_step b.out_step", count, m,
           n, k, k, 1, n, 1, n, 1, m * k, k * n, m * n);
    expect_pointer(l, "b.s", a.buf), expect_pointer(l, "b.w", b.buf), expect_pointer(l, "b.out", c.buf);
    expect_pointer(l, "b.s_each", NULL);
    /* the right side has fewer columns to look through: the steps change places */
    lac_obj_t x = cuda_host_rows(ctx, count * m, k), y = cuda_host_rows(ctx, count * k, 4),
              z = cuda_host_rows(ctx, count * m, 4);
    x.m = z.m = m, y.m = k;
    for (int i = 0; i < 3; i++) {
        standin_forget();
        unit_expect(lac_gemm_batched(ctx, count, &one, &x, m * k, &y, k * 4, &quarter, &z, m * 4), LAC_OK,
                    "right");
    }
    l = launched("lac_cuda_batch_events");
    EXPECT(l, "b.m b.n b.srs b.scs b.wks b.wjs b.rs b.cs b.s_step b.w_step", 4, m, 1, 4, 1, k, 1, 4, k * 4,
           m * k);
    expect_pointer(l, "b.s", y.buf);
    /* full operands */
    lac_obj_t full = cuda_host_rows(ctx, count * m, k);
    full.m = m, bt.m = k;
    standin.sampled = 128; /* all of 2048 / 16, and more of the larger ones than pays */
    lac_ctx_t *other;
    unit_expect(lac_ctx_create_cuda(&other, 0, LAC_STREAM_NEW), LAC_OK, "another context");
    for (int i = 0; i < 3; i++) {
        standin_forget();
        unit_expect(lac_gemm_batched(other, count, &one, &full, m * k, &bt, k * n, &quarter, &c, m * n),
                    LAC_OK, "dense");
    }
    l = launched("cublasSgemmStridedBatched");
    EXPECT(l, "ta tb m n k lda ldb ldc a_step b_step c_step count", 0, 0, n, m, k, n, k, n, k * n, m * k,
           m * n, count);
    expect_pointer(l, "a", b.buf);
    lac_ctx_free(other);
}

/* Batches of two bytes an element: few events in one launch, whatever the types beside them; full operands by
 * the vendor's strided batch, with sums of f32 that no part of is rounded, where the types are alike. */
static void test_batch_halves(void **state)
{
    (void)state;
    static const struct {
        lac_dt_t a, b, c;
    } types[] = {{LAC_BF16, LAC_BF16, LAC_BF16},
                 {LAC_F16, LAC_F16, LAC_F32},
                 {LAC_U8, LAC_BF16, LAC_BF16},
                 {LAC_F32, LAC_F16, LAC_F32}};
    lac_dim_t count = 512, m = 8, k = 256, n = 64;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int full = 0; full < 2; full++) {
            lac_ctx_t *other;
            unit_expect(lac_ctx_create_cuda(&other, 0, LAC_STREAM_NEW), LAC_OK, "a context");
            lac_obj_t a = cuda_host_matrix(ctx, types[i].a, count * m, k, k, 1, 0),
                      b = cuda_host_matrix(ctx, types[i].b, count * k, n, n, 1, 0),
                      c = cuda_host_matrix(ctx, types[i].c, count * m, n, n, 1, 0);
            a.m = c.m = m, b.m = k;
            standin.sampled = full ? 128 : 0;
            for (int call = 0; call < 3; call++) {
                standin_forget();
                unit_expect(lac_gemm_batched(other, count, &one, &a, m * k, &b, k * n, &quarter, &c, m * n),
                            LAC_OK, "batch");
            }
            int type = types[i].a == LAC_F16 ? 2 : 14;
            if (full && types[i].a == types[i].b) {
                const standin_launch_t *l = launched("cublasGemmStridedBatchedEx");
                EXPECT(l, "ta tb m n k lda ldb ldc a_step b_step c_step count", 0, 0, n, m, k, n, k, n, k * n,
                       m * k, m * n, count);
                EXPECT(l, "a_type b_type c_type compute algo", type, type, types[i].c == LAC_F32 ? 0 : type,
                       68, -1);
                expect_pointer(l, "a", b.buf), expect_pointer(l, "b", a.buf), expect_pointer(l, "c", c.buf);
                assert_true(standin_real(l, "alpha") == (double)one &&
                            standin_real(l, "beta") == (double)quarter);
            } else if (full) {
                assert_int_equal(standin_count("cublasGemmStridedBatchedEx"), 0);
                assert_int_equal(standin_count("cublasSgemmStridedBatched"), 0);
            } else {
                const standin_launch_t *l = launched("lac_cuda_batch_events");
                EXPECT(l, "b.dt b.w_dt b.out_dt b.count b.m b.n b.k b.s_step b.w_step b.out_step", types[i].a,
                       types[i].b, types[i].c, count, m, n, k, m * k, k * n, m * n);
            }
            lac_ctx_free(other);
        }
}

/* Matrices named one by one, where no strides say it: never the strided batch. */
static void test_batch_each(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    lac_obj_t a[COUNT], b[COUNT], c[COUNT], all_a = cuda_host_rows(ctx, 8 * COUNT, 256),
                                            all_b = cuda_host_rows(ctx, 256 * COUNT, 64),
                                            all_c = cuda_host_rows(ctx, 8 * COUNT, 64);
    for (int q = 0; q < COUNT; q++) {
        int other = (q * 37 + q * q) % COUNT; /* no common step */
        a[q] = all_a, b[q] = all_b, c[q] = all_c;
        a[q].m = c[q].m = 8, b[q].m = 256;
        a[q].buf = (float *)all_a.buf + (int64_t)other * 8 * 256;
        b[q].buf = (float *)all_b.buf + (int64_t)other * 256 * 64;
        c[q].buf = (float *)all_c.buf + (int64_t)q * 8 * 64;
    }
    standin_forget();
    unit_expect(lac_gemm_batched_array(ctx, COUNT, &one, a, 1, b, 1, &quarter, c), LAC_OK, "batch");
    assert_int_equal(standin_count("cublasSgemmStridedBatched"), 0);
}

static lac_obj_t sparse(lac_dim_t m, lac_dim_t n, int64_t each)
{
    lac_obj_t x = cuda_host_rows(ctx, m, n);
    cuda_host_csr(ctx, &x, each);
    return x;
}

static void test_slices(void **state)
{
    (void)state;
    enum { M = 40, N = 70, COUNT = 6, EACH = 5 };
    lac_obj_t a = sparse(M, N, EACH), out = cuda_host_matrix(ctx, LAC_F32, COUNT, N, 2 * N, 1, 0);
    int64_t *rows = cuda_host_memory(ctx, COUNT * sizeof *rows);
    float *values = cuda_host_memory(ctx, M * EACH * sizeof *values);
    standin_forget();
    unit_expect(lac_slice_rows(ctx, &a, LAC_I64, COUNT, rows, &out, NULL), LAC_OK, "lac_slice_rows");
    const standin_launch_t *l = launched("lac_cuda_slice_rows");
    EXPECT(l, "s.m s.n s.count s.wide s.nnz rs cs", M, N, COUNT, 1, M * EACH, 2 * N, 1);
    expect_pointer(l, "s.rows", rows), expect_pointer(l, "out", out.buf), expect_pointer(l, "s.weight", NULL);
    assert_non_null(standin_pointer(l, "s.val"));
    assert_non_null(standin_pointer(l, "s.bad"));
    lac_slice_opts_t own = {.size = sizeof own, .val = values, .zero_rows = 1}, same = own;
    standin_forget();
    unit_expect(lac_slice_rows(ctx, &a, LAC_I32, COUNT, rows, &out, &own), LAC_OK, "values of the call");
    l = launched("lac_cuda_slice_rows");
    EXPECT(l, "s.wide", 0);
    expect_pointer(l, "s.val", values), expect_pointer(l, "s.bad", NULL);
    same.homogeneous = 1;
    standin_forget();
    unit_expect(lac_slice_rows(ctx, &a, LAC_I32, COUNT, rows, &out, &same), LAC_OK, "one value");
    l = launched("lac_cuda_slice_rows");
    expect_pointer(l, "s.val", NULL), expect_pointer(l, "s.weight", values);
    /* gradients: to each entry, or their sum, each with a workspace of its own */
    int64_t held = (int64_t)lac_ctx_bytes(ctx);
    standin_forget();
    unit_expect(lac_slice_rows_grad(ctx, &a, LAC_I32, COUNT, rows, &out, values, NULL), LAC_OK, "gradient");
    l = launched("lac_cuda_slice_grad");
    EXPECT(l, "s.count rs cs", COUNT, 2 * N, 1);
    expect_pointer(l, "grad", values);
    assert_int_equal((int64_t)standin_extent(standin_pointer(l, "workspace")),
                     lac_cuda_slice_grad_bytes(M, COUNT));
    assert_int_equal((int64_t)lac_ctx_bytes(ctx) - held, lac_cuda_slice_grad_bytes(M, COUNT));
    same.val = values;
    standin_forget();
    unit_expect(lac_slice_rows_grad(ctx, &a, LAC_I32, COUNT, rows, &out, values + 1, &same), LAC_OK, "sum");
    expect_pointer(launched("lac_cuda_slice_sum"), "sum", values + 1);
    /* as CSR */
    int32_t *ptr = cuda_host_memory(ctx, (COUNT + 1) * sizeof *ptr), *idx = cuda_host_memory(ctx, 4096);
    standin_forget();
    unit_expect(lac_slice_rows_count(ctx, &a, LAC_I32, COUNT, rows, LAC_I32, ptr, NULL), LAC_OK, "count");
    EXPECT(launched("lac_cuda_slice_ptr"), "wide s.count", 0, COUNT);
    float *val = cuda_host_memory(ctx, 4096);
    unit_expect(lac_slice_rows_csr(ctx, &a, LAC_I32, COUNT, rows, LAC_I32, ptr, idx, val, NULL), LAC_OK,
                "csr");
    l = launched("lac_cuda_slice_entries");
    expect_pointer(l, "ptr", ptr), expect_pointer(l, "idx", idx), expect_pointer(l, "val", val);
}

/* What a kernel found too late is reported by the next call that looks, once. */
static void test_bad_rows(void **state)
{
    (void)state;
    lac_obj_t a = sparse(40, 70, 5), out = cuda_host_rows(ctx, 2, 70);
    int32_t *rows = cuda_host_memory(ctx, 2 * sizeof *rows);
    standin_forget();
    unit_expect(lac_slice_rows(ctx, &a, LAC_I32, 2, rows, &out, NULL), LAC_OK, "slice");
    uint64_t *bad = (uint64_t *)(uintptr_t)standin_pointer(launched("lac_cuda_slice_rows"), "s.bad");
    *bad = UINT64_C(1) << 32 | (uint32_t)-3;
    unit_expect(lac_slice_rows(ctx, &a, LAC_I32, 2, rows, &out, NULL), LAC_ERR_VALUE, "the next");
    unit_expect_text(lac_last_error(), "rows[1]: was -3");
    unit_expect(lac_slice_rows(ctx, &a, LAC_I32, 2, rows, &out, NULL), LAC_OK, "the one behind it");
    *bad = 7;
    unit_expect(lac_device_wait(ctx), LAC_ERR_VALUE, "waiting");
    unit_expect_text(lac_last_error(), "rows[0]: was 7");
    bad[1] = UINT64_C(2) << 32 | 9;
    unit_expect(lac_device_wait(ctx), LAC_ERR_SPARSE, "pointers");
    unit_expect_text(lac_last_error(), "ptr[2]: was 9");
    unit_expect(lac_device_wait(ctx), LAC_OK, "nothing more");
}

/* Lines along k: read where they lie, or copied one behind the other. */
static void test_sampled(void **state)
{
    (void)state;
    enum { M = 40, N = 70, K = 33 };
    lac_obj_t pattern = sparse(M, N, 5), a = cuda_host_rows(ctx, M, K), b = cuda_host_columns(ctx, K, N),
              ac = cuda_host_columns(ctx, M, K), br = cuda_host_rows(ctx, K, N);
    float *values = cuda_host_memory(ctx, M * 5 * sizeof *values);
    standin_forget();
    unit_expect(lac_sddmm(ctx, &one, &a, &b, &quarter, &pattern, values), LAC_OK, "lac_sddmm");
    const standin_launch_t *l = launched("lac_cuda_sddmm");
    EXPECT(l, "p.m p.n p.k p.lda p.ldb p.longest pattern.nnz", M, N, K, K, K, 5, M * 5);
    expect_pointer(l, "p.a", a.buf), expect_pointer(l, "p.b", b.buf), expect_pointer(l, "p.values", values);
    expect_pointer(l, "pattern.val", NULL);
    assert_int_equal(standin_count("lac_cuda_copy"), 0);
    standin_forget();
    unit_expect(lac_sddmm(ctx, &one, &ac, &br, &quarter, &pattern, values), LAC_OK, "copied");
    l = launched("lac_cuda_sddmm");
    const standin_launch_t *first = standin_find("lac_cuda_copy", 0),
                           *second = standin_find("lac_cuda_copy", 1);
    assert_true(first && second);
    EXPECT(l, "p.lda p.ldb", 36, 36);
    EXPECT(first, "x.rows x.cols x.rs x.cs rs cs", M, K, 1, M, 36, 1);
    EXPECT(second, "x.rows x.cols x.rs x.cs rs cs", N, K, 1, N, 36, 1);
    expect_pointer(l, "p.a", standin_pointer(first, "out"));
    expect_pointer(l, "p.b", standin_pointer(second, "out"));
    assert_int_equal(standin_offset(standin_pointer(l, "p.b")), cuda_host_piece(4 * M * 36));
    /* nothing to sum: values are scaled */
    float zero = 0.0f;
    standin_forget();
    unit_expect(lac_sddmm(ctx, &zero, &ac, &br, &quarter, &pattern, values), LAC_OK, "alpha = 0");
    EXPECT(launched("lac_cuda_sddmm"), "p.k", 0);
}

/* The caller's arrays: 32-bit pointers are widened, 64-bit indices narrowed, columns made rows; a long B by
 * columns is transposed. */
static void test_spmm_arrays(void **state)
{
    (void)state;
    enum { M = 300, K = 200, NNZ = 600 };
    void *ptr = cuda_host_memory(ctx, (M + 1) * 8), *idx = cuda_host_memory(ctx, NNZ * 8);
    float *val = cuda_host_memory(ctx, NNZ * 4), *b = cuda_host_memory(ctx, 4 * M * 1024),
          *c = cuda_host_memory(ctx, 4 * M * 1024);
    unit_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    lac_spmm_t x = {.m = M,
                    .n = 64,
                    .k = K,
                    .nnz = NNZ,
                    .ptr_type = LAC_I64,
                    .idx_type = LAC_I32,
                    .ptr = ptr,
                    .idx = idx,
                    .val = val,
                    .b = b,
                    .rsb = 64,
                    .csb = 1,
                    .c = c,
                    .rsc = 64,
                    .csc = 1,
                    .alpha = &one,
                    .beta = &quarter};
    standin_forget();
    assert_int_equal(lac_try_spmm(ctx, &x, "spmm", NULL), 1);
    const standin_launch_t *l = launched("lac_cuda_spmm_narrow");
    EXPECT(l, "p.m p.n p.k p.ldw p.order p.rs p.cs s.nnz", M, 64, K, 64, LAC_CUDA_ROWS, 64, 1, NNZ);
    expect_pointer(l, "s.ptr", ptr), expect_pointer(l, "s.idx", idx), expect_pointer(l, "s.val", val);
    assert_true(standin_real(l, "p.alpha.value") == 1.5 && standin_real(l, "p.beta.value") == 0.25);
    x.ptr_type = LAC_I32, x.idx_type = LAC_I64;
    standin_forget();
    assert_int_equal(lac_try_spmm(ctx, &x, "spmm", NULL), 1);
    l = launched("lac_cuda_spmm_narrow");
    const standin_launch_t *wide = launched("lac_cuda_widen"), *narrow = launched("lac_cuda_narrow");
    EXPECT(wide, "count", M + 1);
    EXPECT(narrow, "count", NNZ);
    expect_pointer(l, "s.ptr", standin_pointer(wide, "to")),
        expect_pointer(l, "s.idx", standin_pointer(narrow, "to"));
    assert_int_equal(standin_offset(standin_pointer(l, "s.idx")), cuda_host_piece(8 * (M + 1)));
    /* 65 columns of B, by columns */
    x.n = 65, x.rsb = 1, x.csb = K, x.rsc = 65;
    standin_forget();
    assert_int_equal(lac_try_spmm(ctx, &x, "spmm", NULL), 1);
    l = launched("lac_cuda_event_csr");
    EXPECT(l, "p.ldw p.order", 68, LAC_CUDA_ROWS);
    EXPECT(launched("lac_cuda_copy"), "x.rows x.cols x.rs x.cs rs cs", K, 65, 1, K, 68, 1);
    expect_pointer(l, "p.w", standin_pointer(launched("lac_cuda_copy"), "out"));
    assert_int_equal(standin_offset(standin_pointer(l, "p.w")),
                     cuda_host_piece(8 * (M + 1)) + cuda_host_piece(4 * NNZ));
    x.n = 64;
    standin_forget();
    assert_int_equal(lac_try_spmm(ctx, &x, "spmm", NULL), 1);
    EXPECT(launched("lac_cuda_spmm_narrow"), "p.ldw p.order", K, LAC_CUDA_COLS);
    /* the arrays of the transpose */
    x.trans = LAC_TRANS, x.ptr_type = LAC_I64, x.idx_type = LAC_I32, x.rsb = 64, x.csb = 1, x.rsc = 64;
    standin_forget();
    assert_int_equal(lac_try_spmm(ctx, &x, "spmm", NULL), 1);
    const standin_launch_t *rows = launched("lac_cuda_csr_to_csc");
    EXPECT(rows, "majors minors from.nnz", K, M, NNZ);
    l = launched("lac_cuda_spmm_narrow");
    expect_pointer(l, "s.idx", standin_pointer(rows, "idx"));
    /* many rows of few nonzeros and a long, aligned B: wide slices */
    lac_spmm_t long_ = x;
    long_.trans = LAC_NO_TRANS, long_.n = 1024, long_.rsb = 1024, long_.rsc = 1024;
    standin_forget();
    assert_int_equal(lac_try_spmm(ctx, &long_, "spmm", NULL), 1);
    launched("lac_cuda_spmm_wide");
    long_.b = b + 1, long_.k = K - 1;
    standin_forget();
    assert_int_equal(lac_try_spmm(ctx, &long_, "spmm", NULL), 1);
    launched("lac_cuda_event_csr");
    /* scalars on the device */
    long_.scalars = LAC_DEVICE, long_.alpha = val, long_.beta = val + 1;
    standin_forget();
    assert_int_equal(lac_try_spmm(ctx, &long_, "spmm", NULL), 1);
    expect_pointer(launched("lac_cuda_event_csr"), "p.alpha.device", val);
    expect_pointer(launched("lac_cuda_event_csr"), "p.beta.device", val + 1);
}

/* Dense contents of each format, of the operand and of its transpose. */
static void test_contents(void **state)
{
    (void)state;
    enum { M = 40, N = 70 };
    lac_obj_t a = sparse(M, N, 5), out = cuda_host_rows(ctx, M, N), across = cuda_host_rows(ctx, N, M);
    standin_forget();
    unit_expect(lac_to_dense(ctx, &a, &out), LAC_OK, "lac_to_dense");
    EXPECT(launched("lac_cuda_slice_rows"), "s.m s.n s.count rs cs", M, N, M, N, 1);
    a.trans = LAC_TRANS;
    standin_forget();
    unit_expect(lac_to_dense(ctx, &a, &across), LAC_OK, "transposed");
    EXPECT(launched("lac_cuda_slice_rows"), "s.m s.n rs cs", M, N, 1, M);
    /* through the workspace, in a product by the reference */
    lac_obj_t b = cuda_host_rows(ctx, M, 8), c = cuda_host_rows(ctx, N, 8);
    unit_expect(cuda_host_gemm(ctx, "reference", 1.0f, &a, &b, 0.0f, &c), LAC_OK, "reference");
    EXPECT(launched("lac_cuda_densify_compressed"), "majors major_stride minor_stride", M, 1, M);
    EXPECT(launched("lac_cuda_gemm_f64"), "a.rows a.cols a.rs a.cs", N, M, M, 1);
    /* both operands expanded: one behind the other */
    lac_obj_t d = sparse(M, N, 3), e = cuda_host_rows(ctx, N, N);
    unit_expect(cuda_host_gemm(ctx, "reference", 1.0f, &a, &d, 0.0f, &e), LAC_OK, "both");
    const standin_launch_t *l = launched("lac_cuda_gemm_f64");
    assert_int_equal(standin_offset(standin_pointer(l, "b.data")) -
                         standin_offset(standin_pointer(l, "a.data")),
                     cuda_host_piece(4 * M * N));
    /* the number of nonzeros: that of the format, or counted */
    int64_t *count = cuda_host_memory(ctx, sizeof *count), host = 0;
    standin_forget();
    unit_expect(lac_count_nonzeros(ctx, &a, count), LAC_OK, "count");
    unit_expect(lac_device_download(ctx, &host, count, sizeof host), LAC_OK, "download");
    assert_int_equal(host, M * 5);
    lac_obj_t plain = cuda_host_rows(ctx, M, N);
    standin.nnz = 123;
    standin_forget();
    unit_expect(lac_count_nonzeros(ctx, &plain, count), LAC_OK, "count");
    EXPECT(launched("lac_cuda_csr_ptr"), "m k s.rs", M, N, N);
    unit_expect(lac_device_download(ctx, &host, count, sizeof host), LAC_OK, "download");
    assert_int_equal(host, 123);
    uint64_t *bits = cuda_host_memory(ctx, 1024);
    standin_forget();
    unit_expect(lac_tile_occupancy(ctx, &plain, 16, 8, bits, count), LAC_OK, "tiles");
    EXPECT(launched("lac_cuda_tile_bits"), "x.rows x.cols t.rows t.cols t.words", M, N, 16, 8, 1);
}

/* Formats that are scanned: what is launched, and what is held for them. */
static void test_scans(void **state)
{
    (void)state;
    enum { M = 640, N = 200, NNZ = 3000, ACTIVE = 17 };
    lac_obj_t a = cuda_host_rows(ctx, M, N);
    cuda_host_count(ctx, &a, NNZ);
    size_t empty = lac_meta_bytes(a.meta);
    standin.active = ACTIVE;
    standin_forget();
    unit_expect(lac_meta_scan(ctx, &a, LAC_META_CSR | LAC_META_BITMASK | LAC_META_ACTIVE), LAC_OK, "scan");
    size_t csr = 8 * (M + 1) + 4 * NNZ + 4 * NNZ, bits = 8 * (M + 1) + 4 * NNZ + 8 * M * 4,
           active = 4 * ACTIVE + 4 * M * ACTIVE;
    EXPECT(launched("lac_cuda_csr_fill"), "m k", M, N);
    EXPECT(launched("lac_cuda_fill_bits"), "m k", M, N);
    EXPECT(launched("lac_cuda_active_values"), "x.rows x.cols count", M, N, ACTIVE);
    assert_int_equal(lac_meta_bytes(a.meta) - empty - csr - bits, active);
    /* the same again in the same memory, and with more in it */
    int mallocs = standin.mallocs;
    assert_true(mallocs > 0);
    standin_held_t held = standin_held();
    unit_expect(lac_meta_scan(ctx, &a, LAC_META_CSR | LAC_META_CSC), LAC_OK, "columns too");
    assert_int_equal(standin_count("lac_cuda_csr_fill"), 3);
    assert_true(standin_held().memory > held.memory);
    /* a frozen operand's columns: of the buffer */
    unit_expect(lac_meta_freeze(a.meta), LAC_OK, "freeze");
    assert_true(lac_meta_density(a.meta) > 0.0234 && lac_meta_density(a.meta) < 0.0235);
}

/* An output's formats reuse the memory of the ones before, and grow with some to spare. */
static void test_layers(void **state)
{
    (void)state;
    enum { M = 64, K = 256, N = 512 };
    lac_obj_t a = cuda_host_rows(ctx, M, K), b = cuda_host_rows(ctx, K, N), c = cuda_host_rows(ctx, M, N);
    cuda_host_count(ctx, &a, 1000);
    cuda_host_count(ctx, &c, 0);
    lac_epilogue_t e = {.size = sizeof e, .act = LAC_ACT_RELU, .formats = LAC_META_CSR};
    static const int64_t found[] = {1000, 900, 1000, 1040, 1100};
    static const int mallocs[] = {3, 0, 0, 2, 0}; /* 1040 does not fit; with an eighth to spare, 1100 does */
    for (int i = 0; i < 5; i++) {
        lac_call_opts_t call = {.size = sizeof call, .route = "event"};
        standin.nnz = found[i];
        if (i == 0) unit_expect(cuda_host_gemm(ctx, "event", 1.0f, &a, &b, 0.0f, &c), LAC_OK, "workspace");
        lac_obj_t warm = cuda_host_rows(ctx, 4096, 8);
        if (i == 0) cuda_host_count(ctx, &warm, 1); /* a workspace for counting */
        standin.nnz = found[i];
        standin_forget();
        unit_expect(lac_gemm_epilogue(ctx, &one, &a, &b, &quarter, &c, &e, &call), LAC_OK, "layer");
        if (standin.mallocs != mallocs[i])
            fail_msg("%lld nonzeros: %d allocations, expected %d", (long long)found[i], standin.mallocs,
                     mallocs[i]);
    }
}

/* Tiles report the bits of what they write, by rows of the output as it is stored. */
static void test_bits(void **state)
{
    (void)state;
    enum { M = 256, K = 512, N = 640 };
    lac_obj_t a = cuda_host_rows(ctx, M, K), b = cuda_host_rows(ctx, K, N), c = cuda_host_rows(ctx, M, N),
              at = cuda_host_rows(ctx, M + 64, K), bs = cuda_host_rows(ctx, K, N),
              d = cuda_host_rows(ctx, M + 64, N);
    cuda_host_count(ctx, &a, 60000);
    cuda_host_count(ctx, &bs, 60000);
    cuda_host_count(ctx, &c, 0);
    cuda_host_count(ctx, &d, 0);
    lac_epilogue_t e = {.size = sizeof e, .act = LAC_ACT_RELU, .formats = LAC_META_CSR | LAC_META_BITMASK};
    lac_call_opts_t call = {.size = sizeof call, .route = "tiles"};
    standin.nnz = 4000;
    standin_forget();
    unit_expect(lac_gemm_epilogue(ctx, &one, &a, &b, &quarter, &c, &e, &call), LAC_OK, "left");
    const standin_launch_t *l = launched("lac_cuda_tiles_run");
    EXPECT(l, "p.bits_words p.bits_transposed p.epilogue.any", (N + 63) / 64, 0, 1);
    assert_int_equal((int64_t)standin_extent(standin_pointer(l, "p.bits")), 8 * M * (N / 64));
    expect_pointer(launched("lac_cuda_csr_ptr_of_bits"), "bits", standin_pointer(l, "p.bits"));
    standin_forget();
    unit_expect(lac_gemm_epilogue(ctx, &one, &at, &bs, &quarter, &d, &e, &call), LAC_OK, "right");
    l = launched("lac_cuda_tiles_run");
    EXPECT(l, "p.m p.n p.bits_words p.bits_transposed", N, M + 64, N / 64, 1);
}

/* Compressed rows that a call brings: straight from its arrays, with sums of its own or the caller's only
 * where terms are scattered that are not alike. */
static void test_csr_arrays(void **state)
{
    (void)state;
    enum { M = 40, N = 70, EACH = 5, NNZ = M * EACH, COLUMNS = 3, SUMS = 16 * N * COLUMNS + 2048 };
    int64_t *idx = cuda_host_memory(ctx, NNZ * sizeof *idx),
            *perm = cuda_host_memory(ctx, NNZ * sizeof *perm),
            *ptr = cuda_host_memory(ctx, (M + 1) * sizeof *ptr);
    float *val = cuda_host_memory(ctx, NNZ * sizeof *val), *values = cuda_host_memory(ctx, NNZ * sizeof *val);
    int32_t *rows = cuda_host_memory(ctx, 6 * sizeof *rows);
    lac_obj_t x = cuda_host_rows(ctx, N, COLUMNS), y = cuda_host_rows(ctx, M, COLUMNS),
              bytes = cuda_host_matrix(ctx, LAC_U8, M, 1, 1, 1, 0), z = cuda_host_rows(ctx, N, 1),
              out = cuda_host_columns(ctx, 6, N), right = cuda_host_rows(ctx, COLUMNS, N);
    lac_csr_t a = {.size = sizeof a,
                   .m = M,
                   .n = N,
                   .nnz = NNZ,
                   .it = LAC_I64,
                   .ptr = ptr,
                   .idx = idx,
                   .val = val,
                   .perm = perm};
    size_t held = lac_ctx_bytes(ctx);
    standin_forget();
    unit_expect(lac_csr_gemm(ctx, &a, &x, 1, &y), LAC_OK, "gather");
    const standin_launch_t *l = launched("lac_cuda_loose_gather");
    EXPECT(l, "a.m a.n a.nnz a.wide a.homogeneous x.bytes x.binary x.rs x.cs columns rs cs", M, N, NNZ, 1, 0,
           0, 1, COLUMNS, 1, COLUMNS, COLUMNS, 1);
    expect_pointer(l, "a.ptr", ptr), expect_pointer(l, "a.idx", idx), expect_pointer(l, "a.perm", perm);
    expect_pointer(l, "a.val", val), expect_pointer(l, "x.data", x.buf), expect_pointer(l, "out", y.buf);
    assert_int_equal(lac_ctx_bytes(ctx), held);
    /* scattered: sums in a workspace */
    a.trans = LAC_TRANS, a.ptr = NULL;
    standin_forget();
    unit_expect(lac_csr_gemm(ctx, &a, &y, 0, &x), LAC_OK, "scatter");
    l = launched("lac_cuda_loose_scatter");
    EXPECT(l, "a.fan_out x.binary columns rs cs", EACH, 0, COLUMNS, COLUMNS, 1);
    expect_pointer(l, "a.ptr", NULL);
    assert_int_equal((int64_t)standin_extent(standin_pointer(l, "workspace")), SUMS);
    assert_int_equal(lac_ctx_bytes(ctx) - held, SUMS);
    standin_forget(); /* events alone are not alike, nor is one value alone */
    unit_expect(lac_csr_gemm(ctx, &a, &y, 1, &x), LAC_OK, "binary");
    assert_non_null(standin_pointer(launched("lac_cuda_loose_scatter"), "workspace"));
    a.homogeneous = 1;
    standin_forget();
    unit_expect(lac_csr_gemm(ctx, &a, &y, 0, &x), LAC_OK, "one value");
    assert_non_null(standin_pointer(launched("lac_cuda_loose_scatter"), "workspace"));
    a.homogeneous = 0;
    /* the caller's, which must do */
    uint64_t *mine = cuda_host_memory(ctx, SUMS);
    unit_expect(lac_csr_workspace(ctx, mine, SUMS - 1), LAC_OK, "too small");
    unit_expect(lac_csr_gemm(ctx, &a, &y, 0, &x), LAC_ERR_MEMORY, "too small");
    unit_expect_text(lac_last_error(), "needs 5408 bytes and was given 5407");
    unit_expect(lac_csr_workspace(ctx, mine, SUMS), LAC_OK, "workspace");
    standin_forget();
    unit_expect(lac_csr_gemm(ctx, &a, &y, 0, &x), LAC_OK, "the caller's");
    expect_pointer(launched("lac_cuda_loose_scatter"), "workspace", mine);
    unit_expect(lac_csr_workspace(ctx, NULL, 0), LAC_OK, "back");
    unit_expect(lac_csr_workspace(ctx, (char *)mine + 4, 8), LAC_ERR_VALUE, "alignment");
    unit_expect(lac_csr_workspace(ctx, &held, 8), LAC_ERR_SPACE, "on the host");
    /* counted: none */
    a.homogeneous = 1;
    standin_forget();
    unit_expect(lac_csr_gemm(ctx, &a, &bytes, 0, &z), LAC_OK, "events");
    l = launched("lac_cuda_loose_scatter");
    EXPECT(l, "a.homogeneous x.bytes columns a.m a.n", 1, 1, 1, M, N);
    expect_pointer(l, "workspace", NULL), expect_pointer(l, "a.perm", NULL);
    a.val = NULL, a.homogeneous = 0;
    standin_forget();
    unit_expect(lac_csr_gemm(ctx, &a, &y, 1, &x), LAC_OK, "ones");
    expect_pointer(launched("lac_cuda_loose_scatter"), "workspace", NULL);
    int32_t *counts = cuda_host_memory(ctx, N * COLUMNS * sizeof *counts);
    unit_expect(lac_csr_count(ctx, &a, &y, counts), LAC_OK, "counts");
    l = launched("lac_cuda_loose_count");
    EXPECT(l, "x.binary columns rs cs a.m a.n", 1, COLUMNS, COLUMNS, 1, M, N);
    expect_pointer(l, "out", counts), expect_pointer(l, "x.data", y.buf), expect_pointer(l, "a.val", NULL);
    unit_expect(lac_csr_count(ctx, &a, &y, (int32_t *)&held), LAC_ERR_SPACE, "on the host");
    /* slices and samples */
    a.trans = LAC_NO_TRANS, a.val = val;
    standin_forget();
    unit_expect(lac_csr_slice_rows(ctx, &a, LAC_I32, 6, rows, &out), LAC_OK, "slice");
    l = launched("lac_cuda_loose_slice");
    EXPECT(l, "rows.count rows.wide rs cs", 6, 0, 1, 6);
    expect_pointer(l, "rows.rows", rows), expect_pointer(l, "out", out.buf);
    unit_expect(lac_csr_slice_rows_grad(ctx, &a, LAC_I32, 6, rows, &out, values), LAC_OK, "gradient");
    l = launched("lac_cuda_loose_grad");
    EXPECT(l, "rs cs a.homogeneous rows.count a.nnz", 1, 6, 1, 6, NNZ);
    expect_pointer(l, "g", out.buf), expect_pointer(l, "grad", values), expect_pointer(l, "a.val", NULL);
    unit_expect(lac_csr_sddmm(ctx, &y, &right, &a, values), LAC_OK, "sample");
    l = launched("lac_cuda_loose_sddmm");
    EXPECT(l, "depth x.rs x.cs y.rs y.cs", COLUMNS, COLUMNS, 1, N, 1);
    expect_pointer(l, "values", values);
    assert_int_equal(lac_ctx_bytes(ctx) - held, SUMS);
}

/* Connections parted by delay pass through the host: arrays of the device come and go, and nothing is
 * launched. */
static void test_csr_by_delay(void **state)
{
    (void)state;
    static const int32_t rows[] = {0, 2, 3}, columns[] = {4, 1, 0}, delays[] = {2, 1, 2},
                         want_ptr[] = {0, 1, 1, 1, 2, 3}, want_idx[] = {1, 4, 0}, want_order[] = {1, 0, 2};
    static const float values[] = {5, 6, 7}, want_val[] = {6, 5, 7};
    int32_t *ptr = cuda_host_memory(ctx, sizeof rows), *idx = cuda_host_memory(ctx, sizeof columns),
            *delay = cuda_host_memory(ctx, sizeof delays), *out = cuda_host_memory(ctx, sizeof want_ptr),
            *to = cuda_host_memory(ctx, sizeof want_idx), *order = cuda_host_memory(ctx, sizeof want_order),
            here[6];
    float *val = cuda_host_memory(ctx, sizeof values), *moved = cuda_host_memory(ctx, sizeof values), back[3];
    lac_csr_t a = {.size = sizeof a, .m = 2, .n = 5, .nnz = 3, .ptr = ptr, .idx = idx, .val = val};
    unit_expect(lac_device_upload(ctx, ptr, rows, sizeof rows), LAC_OK, "ptr");
    unit_expect(lac_device_upload(ctx, idx, columns, sizeof columns), LAC_OK, "idx");
    unit_expect(lac_device_upload(ctx, val, values, sizeof values), LAC_OK, "val");
    unit_expect(lac_device_upload(ctx, delay, delays, sizeof delays), LAC_OK, "delay");
    unit_expect(lac_csr_by_delay(ctx, &a, delays, 2, 3, out, to, moved, order), LAC_ERR_SPACE, "on the host");
    unit_expect_text(lac_last_error(), "delay");
    unit_expect(lac_csr_by_delay(ctx, &a, delay, 1, 3, out, to, moved, order), LAC_ERR_VALUE, "range");
    standin_forget();
    unit_expect(lac_csr_by_delay(ctx, &a, delay, 2, 3, out, to, moved, order), LAC_OK, "by delay");
    unit_expect(lac_device_download(ctx, here, out, sizeof want_ptr), LAC_OK, "ptr");
    assert_memory_equal(here, want_ptr, sizeof want_ptr);
    unit_expect(lac_device_download(ctx, here, to, sizeof want_idx), LAC_OK, "idx");
    assert_memory_equal(here, want_idx, sizeof want_idx);
    unit_expect(lac_device_download(ctx, here, order, sizeof want_order), LAC_OK, "order");
    assert_memory_equal(here, want_order, sizeof want_order);
    unit_expect(lac_device_download(ctx, back, moved, sizeof want_val), LAC_OK, "val");
    assert_memory_equal(back, want_val, sizeof want_val);
}

/* While a stream is recorded nothing grows; what needs no workspace, or has the caller's, is recorded. */
static void test_csr_recorded(void **state)
{
    (void)state;
    enum { M = 40, N = 70, NNZ = 200 };
    int32_t *idx = cuda_host_memory(ctx, NNZ * sizeof *idx);
    float *val = cuda_host_memory(ctx, NNZ * sizeof *val);
    lac_obj_t x = cuda_host_rows(ctx, M, 1), z = cuda_host_rows(ctx, N, 1);
    lac_csr_t a = {.size = sizeof a, .m = M, .n = N, .nnz = NNZ, .idx = idx, .val = val, .trans = LAC_TRANS},
              same = a;
    uint64_t *mine = cuda_host_memory(ctx, 16 * N + 2048);
    same.homogeneous = 1;
    standin_capture(lac_device_stream(ctx), true);
    unit_expect(lac_csr_gemm(ctx, &a, &x, 0, &z), LAC_ERR_MEMORY, "no workspace");
    unit_expect_text(lac_last_error(), "captured");
    standin_forget();
    unit_expect(lac_csr_gemm(ctx, &same, &x, 1, &z), LAC_OK, "counted");
    assert_true(launched("lac_cuda_loose_scatter")->captured);
    unit_expect(lac_csr_workspace(ctx, mine, 16 * N + 2048), LAC_OK, "workspace");
    unit_expect(lac_csr_gemm(ctx, &a, &x, 0, &z), LAC_OK, "the caller's");
    assert_int_equal(standin_count("lac_cuda_loose_scatter"), 2);
    standin_capture(lac_device_stream(ctx), false);
    assert_int_equal(standin.mallocs, 0);
}

static void test_csr_errors(void **state)
{
    (void)state;
    int32_t here[6] = {0}, *idx = cuda_host_memory(ctx, sizeof here);
    lac_obj_t x = cuda_host_rows(ctx, 9, 1), z = cuda_host_rows(ctx, 2, 1);
    lac_csr_t a = {.size = sizeof a, .m = 2, .n = 9, .nnz = 6, .idx = here};
    unit_expect(lac_csr_gemm(ctx, &a, &x, 0, &z), LAC_ERR_SPACE, "indices of the host");
    unit_expect_text(lac_last_error(), "a.idx");
    a.idx = idx;
    standin_forget();
    unit_expect(lac_csr_gemm(ctx, &a, &x, 0, &z), LAC_OK, "product");
    uint64_t *bad = (uint64_t *)(uintptr_t)standin_pointer(launched("lac_cuda_loose_gather"), "a.bad");
    *bad = 4 * 5 + LAC_CUDA_LOOSE_IDX;
    unit_expect(lac_csr_gemm(ctx, &a, &x, 0, &z), LAC_ERR_VALUE, "the next");
    unit_expect_text(lac_last_error(), "a.idx[5]: was out of range");
    unit_expect(lac_csr_gemm(ctx, &a, &x, 0, &z), LAC_OK, "the one behind it");
    *bad = 4 * 1 + LAC_CUDA_LOOSE_PERM;
    unit_expect(lac_device_wait(ctx), LAC_ERR_VALUE, "waiting");
    unit_expect_text(lac_last_error(), "a.perm[1]");
    standin.launch_fails = 1;
    unit_expect(lac_csr_gemm(ctx, &a, &x, 0, &z), LAC_ERR_VENDOR, "a failed launch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(batch),   TEST(batch_halves), TEST(batch_each),   TEST(slices),       TEST(bad_rows),
        TEST(sampled), TEST(spmm_arrays),  TEST(contents),     TEST(scans),        TEST(layers),
        TEST(bits),    TEST(csr_arrays),   TEST(csr_by_delay), TEST(csr_recorded), TEST(csr_errors)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
