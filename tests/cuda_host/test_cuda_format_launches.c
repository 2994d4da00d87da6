/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the routes of the CUDA backend launch that read S in a format, made for the call or kept with its
 * metadata: csr, bitmask and tiles; with which arguments, and how much memory each says that it needs. */
#include "launch_checks.h"
#include "cuda_support.h"

#include <math.h>

/* csr: rows of a frozen operand are kept, of another built for the call; a short W by spmm_narrow. */
static void test_csr_narrow(void **state)
{
    (void)state;
    lac_dim_t m = 3000, k = 2000;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, 64), c = cuda_host_rows(ctx, m, 64);
    cuda_host_count(ctx, &a, 60000);
    int64_t rows = cuda_host_piece(16 * m) + 2 * cuda_host_piece(4 * m * k);
    expect_bytes("csr", "left", &a, &b, &c, rows);
    const standin_launch_t *l = cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_spmm_narrow");
    EXPECT(l, "p.m p.n p.k p.ldw p.order s.nnz s.apart", m, 64, k, 64, LAC_CUDA_ROWS, 60000, 1);
    const standin_launch_t *fill = standin_find("lac_cuda_csr_rows", 0);
    assert_true(fill && fill < l);
    expect_pointer(fill, "ptr", standin_pointer(l, "s.ptr"));
    expect_pointer(fill, "idx", standin_pointer(l, "s.idx"));
    expect_pointer(fill, "val", standin_pointer(l, "s.val"));
    expect_pointer(fill, "s.data", a.buf);
    /* pieces of the workspace do not overlap */
    int64_t at[] = {standin_offset(standin_pointer(fill, "ptr")),
                    standin_offset(standin_pointer(fill, "idx")),
                    standin_offset(standin_pointer(fill, "val"))};
    int64_t long_[] = {cuda_host_piece(16 * m), cuda_host_piece(4 * m * k)};
    for (int i = 0; i < 2; i++) assert_int_equal(at[i] + long_[i], at[i + 1]);
    /* bytes have no values, and room for none */
    lac_obj_t u = cuda_host_matrix(ctx, LAC_U8, m, k, k, 1, 0);
    cuda_host_count(ctx, &u, 60000);
    expect_bytes("csr", "left", &u, &b, &c, rows - cuda_host_piece(4 * m * k));
    l = cuda_host_launch(ctx, "csr", &u, &b, &c, "lac_cuda_spmm_narrow");
    expect_pointer(l, "s.val", NULL);
    /* 65 columns are too many; by columns, 64 are read as they lie */
    lac_obj_t b65 = cuda_host_rows(ctx, k, 65), c65 = cuda_host_rows(ctx, m, 65),
              bc = cuda_host_columns(ctx, k, 64);
    cuda_host_launch(ctx, "csr", &a, &b65, &c65, "lac_cuda_event_csr");
    l = cuda_host_launch(ctx, "csr", &a, &bc, &c, "lac_cuda_spmm_narrow");
    EXPECT(l, "p.ldw p.order", k, LAC_CUDA_COLS);
}

static void test_csr_kept(void **state)
{
    (void)state;
    lac_dim_t m = 3000, k = 2000, n = 64;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
    cuda_host_freeze(ctx, &a, 60000);
    expect_bytes("csr", "left", &a, &b, &c, 8 * 60000 + 8 * (m + 1));
    const standin_launch_t *l = cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_spmm_narrow");
    EXPECT(l, "s.nnz", 60000);
    assert_int_equal(standin_count("lac_cuda_csr_fill"), 1);
    assert_int_equal(meta_bytes(&a), 8 * 60000 + 8 * (m + 1));
    const void *kept = standin_pointer(l, "s.idx");
    l = cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_spmm_narrow");
    expect_pointer(l, "s.idx", kept);
    assert_int_equal(standin_count("lac_cuda_csr_fill"), 0);
    /* the columns of the same matrix are another format, built of its buffer or of the rows */
    a.trans = LAC_TRANS;
    lac_obj_t bt = cuda_host_rows(ctx, m, n), ct = cuda_host_rows(ctx, k, n);
    l = cuda_host_launch(ctx, "csr", &a, &bt, &ct, "lac_cuda_spmm_narrow");
    EXPECT(l, "p.m p.k s.nnz", k, m, 60000);
}

/* Long sides: steps where they are predicted to win; wide slices for many rows of few nonzeros; a gather
 * otherwise, and where the device has no room for steps. */
static void test_csr_long(void **state)
{
    (void)state;
    static const struct {
        lac_dim_t m, k, n;
        int64_t nnz;
        const char *name;
    } cases[] = {
        {4096, 4096, 4096, 838861, "lac_cuda_csr_long"},  /* 5 %                          */
        {4096, 4096, 4096, 16777, "lac_cuda_spmm_wide"},  /* 0.1 %                        */
        {127, 4096, 4096, 26000, "lac_cuda_event_csr"},   /* one row fewer than a tile    */
        {4096, 4096, 252, 838861, "lac_cuda_event_csr"},  /* fewer columns than one       */
        {4096, 4096, 4094, 838861, "lac_cuda_event_csr"}, /* rows of W not on 16 bytes    */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_dim_t m = cases[i].m, k = cases[i].k, n = cases[i].n;
        lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
        cuda_host_freeze(ctx, &a, cases[i].nnz);
        const standin_launch_t *l = cuda_host_launch(ctx, "csr", &a, &b, &c, cases[i].name);
        EXPECT(l, "p.m p.n p.k p.ldw p.order", m, n, k, n, LAC_CUDA_ROWS);
        if (i > 0) continue;
        const standin_launch_t *made = standin_find("lac_cuda_schedule", 0);
        assert_non_null(made);
        EXPECT(made, "m k s.nnz", m, k, cases[i].nnz);
        expect_pointer(l, "steps", standin_pointer(made, "steps"));
        assert_int_equal(standin_extent(standin_pointer(l, "steps")),
                         lac_cuda_schedule_bytes(m, k, cases[i].nnz));
        cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_csr_long");
        assert_int_equal(standin_count("lac_cuda_schedule"), 0);
        int64_t rows = 8 * cases[i].nnz + 8 * (m + 1), steps = lac_cuda_schedule_bytes(m, k, cases[i].nnz);
        expect_bytes("csr", "left", &a, &b, &c,
                     rows + steps + cuda_host_piece(lac_cuda_csr_long_bytes(m, n, k)));
        assert_int_equal(meta_bytes(&a), rows + steps);
    }
}

/* Steps of an operand that may change are made for the call, behind W and before the rows. */
static void test_csr_once(void **state)
{
    (void)state;
    lac_dim_t m = 2048, k = 2048, n = 2048;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_columns(ctx, k, n), c = cuda_host_rows(ctx, m, n);
    cuda_host_count(ctx, &a, m * k / 20);
    const standin_launch_t *l = cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_csr_long");
    const standin_launch_t *copied = standin_find("lac_cuda_copy", 0),
                           *made = standin_find("lac_cuda_schedule", 0),
                           *filled = standin_find("lac_cuda_csr_rows", 0);
    assert_true(copied && made && filled);
    int64_t w = cuda_host_piece(4 * k * n), steps = cuda_host_piece(lac_cuda_schedule_bytes(m, k, m * k)),
            scratch = cuda_host_piece(lac_cuda_schedule_scratch(m)),
            partial = cuda_host_piece(lac_cuda_csr_long_bytes(m, n, k));
    expect_pointer(l, "p.w", standin_pointer(copied, "out"));
    EXPECT(copied, "x.rows x.cols x.rs x.cs rs cs", k, n, 1, k, n, 1);
    EXPECT(l, "p.ldw p.order", n, LAC_CUDA_ROWS);
    expect_pointer(l, "steps", standin_pointer(made, "steps"));
    assert_int_equal(standin_offset(standin_pointer(l, "p.w")), 0);
    assert_int_equal(standin_offset(standin_pointer(l, "steps")), w);
    assert_int_equal(standin_offset(standin_pointer(made, "workspace")), w + steps);
    assert_int_equal(standin_offset(standin_pointer(l, "workspace")), w + steps + scratch);
    assert_int_equal(standin_offset(standin_pointer(filled, "ptr")), w + steps + scratch + partial);
    int64_t rows = cuda_host_piece(16 * m) + 2 * cuda_host_piece(4 * m * k);
    expect_bytes("csr", "left", &a, &b, &c, w + steps + scratch + partial + rows);
}

/* Parts of k have their sums behind the steps; the rows come behind those. Steps that were made of other rows
 * are not used. */
static void test_csr_parts(void **state)
{
    (void)state;
    lac_dim_t m = 512, k = 4096, n = 4096;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
    int64_t partial = cuda_host_piece(lac_cuda_csr_long_bytes(m, n, k));
    assert_true(partial > 0);
    cuda_host_count(ctx, &a, m * k / 5);
    const standin_launch_t *l = cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_csr_long");
    assert_int_equal(standin_offset(standin_pointer(standin_find("lac_cuda_csr_rows", 0), "ptr")) -
                         standin_offset(standin_pointer(l, "workspace")),
                     partial);
    unit_expect(lac_meta_freeze(a.meta), LAC_OK, "freeze");
    cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_schedule");
    cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_csr_long");
    assert_int_equal(standin_count("lac_cuda_schedule"), 0);
    void *buf = a.buf;
    cuda_host_csr(ctx, &a, k / 20);
    a.buf = buf;
    cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_csr_long");
    assert_int_equal(standin_count("lac_cuda_schedule"), 1);
    EXPECT(standin_find("lac_cuda_schedule", 0), "s.nnz", m * (k / 20));
}

/* An operand that may change has lists, made in the call, where these are predicted to win; they lie behind a
 * W that is transposed. Rows are built where W's do not begin on 16 bytes, where there are few, and where
 * they have many nonzeros; frozen ones are kept. */
static void test_csr_lists(void **state)
{
    (void)state;
    lac_dim_t m = 90, k = 5000, n = 6000;
    lac_obj_t a = cuda_host_rows(ctx, m, k), u = cuda_host_matrix(ctx, LAC_U8, m, k, k, 1, 0),
              b = cuda_host_rows(ctx, k, n), bt = cuda_host_columns(ctx, k, n), c = cuda_host_rows(ctx, m, n);
    int64_t lists = cuda_host_piece(lac_cuda_spmm_staged_bytes(m, k));
    cuda_host_count(ctx, &a, 13500), cuda_host_count(ctx, &u, 13500);
    const standin_launch_t *l = cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_spmm_staged");
    EXPECT(l, "p.m p.n p.k p.ldw p.order s.rs s.cs s.dt", m, n, k, n, LAC_CUDA_ROWS, k, 1, LAC_F32);
    assert_int_equal(standin_count("lac_cuda_csr_rows"), 0);
    expect_bytes("csr", "left", &a, &b, &c, lists);
    EXPECT(cuda_host_launch(ctx, "csr", &u, &b, &c, "lac_cuda_spmm_staged"), "s.dt", LAC_U8);
    l = cuda_host_launch(ctx, "csr", &a, &bt, &c, "lac_cuda_spmm_staged");
    expect_pointer(l, "p.w", standin_pointer(standin_find("lac_cuda_copy", 0), "out"));
    assert_int_equal(standin_offset(standin_pointer(l, "workspace")), cuda_host_piece(4 * k * n));
    lac_obj_t few = cuda_host_rows(ctx, 29, k), cf = cuda_host_rows(ctx, 29, n),
              odd = cuda_host_rows(ctx, k, n - 1), co = cuda_host_rows(ctx, m, n - 1);
    cuda_host_count(ctx, &few, 4350);
    cuda_host_launch(ctx, "csr", &few, &b, &cf, "lac_cuda_event_csr");
    cuda_host_launch(ctx, "csr", &a, &odd, &co, "lac_cuda_event_csr");
    lac_obj_t denser = cuda_host_rows(ctx, 100, k), cd = cuda_host_rows(ctx, 100, n);
    cuda_host_count(ctx, &denser, 10 * k);
    cuda_host_launch(ctx, "csr", &denser, &b, &cd, "lac_cuda_event_csr");
    cuda_host_freeze(ctx, &a, 13500);
    cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_event_csr");
}

/* A device with less shared memory has no steps, and no lists. */
static void test_csr_without_room(void **state)
{
    (void)state;
    cuda_host_close(ctx);
    standin_reset();
    standin.shared = 100 * 1024;
    unit_expect(lac_ctx_create_cuda(&ctx, 0, LAC_STREAM_NEW), LAC_OK, "lac_ctx_create_cuda");
    lac_obj_t a = cuda_host_rows(ctx, 4096, 4096), b = cuda_host_rows(ctx, 4096, 4096),
              c = cuda_host_rows(ctx, 4096, 4096);
    cuda_host_freeze(ctx, &a, 838861);
    cuda_host_launch(ctx, "csr", &a, &b, &c, "lac_cuda_event_csr");
    assert_int_equal(standin_count("lac_cuda_schedule"), 0);
    lac_obj_t listed = cuda_host_rows(ctx, 90, 4096), cl = cuda_host_rows(ctx, 90, 4096);
    cuda_host_count(ctx, &listed, 11000);
    cuda_host_launch(ctx, "csr", &listed, &b, &cl, "lac_cuda_event_csr");
    assert_int_equal(standin_count("lac_cuda_spmm_staged"), 0);
}

/* bitmask: a frozen S, its bits and packed values. */
static void test_bitmask(void **state)
{
    (void)state;
    lac_dim_t m = 700, k = 500;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, 8), c = cuda_host_rows(ctx, m, 8);
    cuda_host_freeze(ctx, &a, 175000);
    expect_bytes("bitmask", "left", &a, &b, &c, 4 * 175000 + 8 * m * (1 + 8));
    const standin_launch_t *l = cuda_host_launch(ctx, "bitmask", &a, &b, &c, "lac_cuda_bitmask");
    EXPECT(l, "p.m p.n p.k p.ldw p.order s.words", m, 8, k, 8, LAC_CUDA_ROWS, 8);
    lac_obj_t bc = cuda_host_columns(ctx, k, 8), b1 = cuda_host_columns(ctx, k, 1),
              c1 = cuda_host_rows(ctx, m, 1);
    EXPECT(cuda_host_launch(ctx, "bitmask", &a, &bc, &c, "lac_cuda_bitmask"), "p.ldw p.order", k,
           LAC_CUDA_COLS);
    EXPECT(cuda_host_launch(ctx, "bitmask", &a, &b1, &c1, "lac_cuda_bitmask"), "p.ldw p.order", k,
           LAC_CUDA_COLS);
    assert_int_equal(standin_count("lac_cuda_fill_bits"), 0);
    lac_obj_t loose = cuda_host_matrix(ctx, LAC_F32, k, 1, 1, 1, 0); /* a column has no next one */
    EXPECT(cuda_host_launch(ctx, "bitmask", &a, &loose, &c1, "lac_cuda_bitmask"), "p.ldw p.order", k,
           LAC_CUDA_COLS);
    lac_obj_t b64 = cuda_host_rows(ctx, k, 64), c64 = cuda_host_rows(ctx, m, 64),
              b65 = cuda_host_rows(ctx, k, 65), c65 = cuda_host_rows(ctx, m, 65);
    assert_true(cuda_host_bytes(ctx, "bitmask", "left", &a, &b64, &c64) >= 0);
    assert_int_equal(cuda_host_bytes(ctx, "bitmask", "left", &a, &b65, &c65), -1);
    /* sixteen columns are two passes, nine one and a narrow one */
    lac_obj_t b16 = cuda_host_rows(ctx, k, 16), c16 = cuda_host_rows(ctx, m, 16),
              b9 = cuda_host_rows(ctx, k, 9), c9 = cuda_host_rows(ctx, m, 9);
    double eight = cuda_host_cost(ctx, "bitmask", "left", &a, &b, &c),
           sixteen = cuda_host_cost(ctx, "bitmask", "left", &a, &b16, &c16),
           one = cuda_host_cost(ctx, "bitmask", "left", &a, &b1, &c1),
           nine = cuda_host_cost(ctx, "bitmask", "left", &a, &b9, &c9);
    assert_true(fabs(sixteen - 2.0 - 2.0 * (eight - 2.0)) < 1e-9);
    assert_true(fabs(nine - 2.0 - (eight - 2.0) - (one - 2.0)) < 1e-9);
}

/* tiles: S is packed in the call or kept, W is read by aligned rows or transposed. */
static void test_tiles(void **state)
{
    (void)state;
    lac_dim_t m = 1024, k = 768, n = 512;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n),
              bc = cuda_host_columns(ctx, k, n);
    cuda_host_count(ctx, &a, m * k / 2);
    int64_t own = cuda_host_piece(lac_cuda_tiles_bytes(LAC_F32, m, n, k, false));
    expect_bytes("tiles", "left", &a, &b, &c, own);
    const standin_launch_t *l = cuda_host_launch(ctx, "tiles", &a, &b, &c, "lac_cuda_tiles_run");
    EXPECT(l, "p.m p.n p.k p.ars p.acs p.ldb p.crs p.ccs p.portable", m, n, k, k, 1, n, n, 1, 0);
    expect_pointer(l, "p.a", a.buf);
    expect_pointer(l, "p.b", b.buf);
    expect_pointer(l, "p.c", c.buf);
    expect_pointer(l, "p.packed", NULL);
    expect_pointer(l, "p.bits", NULL);
    assert_int_equal(standin_offset(standin_pointer(l, "workspace")), 0);
    expect_bytes("tiles", "left", &a, &bc, &c, own + cuda_host_piece(4 * k * n));
    l = cuda_host_launch(ctx, "tiles", &a, &bc, &c, "lac_cuda_tiles_run");
    const standin_launch_t *copied = standin_find("lac_cuda_copy", 0);
    assert_non_null(copied);
    expect_pointer(l, "p.b", standin_pointer(copied, "out"));
    assert_int_equal(standin_offset(standin_pointer(copied, "out")), own);
    /* rows that do not begin on 16 bytes: 511 columns, or a buffer that is off by one */
    lac_obj_t odd = cuda_host_rows(ctx, k, n - 1), co = cuda_host_rows(ctx, m, n - 1),
              off = cuda_host_matrix(ctx, LAC_F32, k, n, n, 1, 1);
    l = cuda_host_launch(ctx, "tiles", &a, &odd, &co, "lac_cuda_tiles_run");
    EXPECT(l, "p.ldb", n);
    EXPECT(standin_find("lac_cuda_copy", 0), "x.rows x.cols rs cs", k, n - 1, n, 1);
    cuda_host_launch(ctx, "tiles", &a, &off, &c, "lac_cuda_tiles_run");
    assert_int_equal(standin_count("lac_cuda_copy"), 1);
    /* a sparse right side */
    lac_obj_t d = cuda_host_rows(ctx, n, m), f = cuda_host_rows(ctx, m, k);
    cuda_host_count(ctx, &f, m * k / 2);
    lac_obj_t g = cuda_host_columns(ctx, n, k);
    l = cuda_host_launch(ctx, "tiles", &d, &f, &g, "lac_cuda_tiles_run");
    EXPECT(l, "p.m p.n p.k p.ars p.acs p.crs p.ccs", k, n, m, 1, k, n, 1);
}

/* f16 and bf16: two operands of one type as they lie, W transposed in that type, lists kept of a frozen S; no
 * rows that are no whole pieces, no bytes. */
static void test_tiles_halves(void **state)
{
    (void)state;
    lac_dim_t m = 1024, k = 768, n = 512;
    for (int i = 0; i < 4; i++) {
        lac_dt_t dt = i % 2 ? LAC_F16 : LAC_BF16, out = i < 2 ? dt : LAC_F32;
        lac_obj_t a = cuda_host_matrix(ctx, dt, m, k, k, 1, 0), b = cuda_host_matrix(ctx, dt, k, n, n, 1, 0),
                  bc = cuda_host_matrix(ctx, dt, k, n, 1, k, 0),
                  off = cuda_host_matrix(ctx, dt, k, n, 1, k + 1, 0),
                  c = cuda_host_matrix(ctx, out, m, n, n, 1, 0),
                  odd = cuda_host_matrix(ctx, dt, k, n - 4, n - 4, 1, 0),
                  narrow = cuda_host_matrix(ctx, out, m, n - 4, n - 4, 1, 0),
                  bytes = cuda_host_matrix(ctx, LAC_U8, m, k, k, 1, 0);
        cuda_host_count(ctx, &a, m * k / 2), cuda_host_count(ctx, &bytes, m * k / 2);
        int64_t own = cuda_host_piece(lac_cuda_tiles_bytes(dt, m, n, k, false));
        expect_bytes("tiles", "left", &a, &b, &c, own);
        const standin_launch_t *l = cuda_host_launch(ctx, "tiles", &a, &b, &c, "lac_cuda_tiles_run");
        EXPECT(l, "p.dt p.out_dt p.m p.n p.k p.ars p.acs p.ldb p.crs p.ccs", dt, out, m, n, k, k, 1, n, n, 1);
        expect_pointer(l, "p.a", a.buf);
        expect_pointer(l, "p.b", b.buf);
        expect_pointer(l, "p.c", c.buf);
        expect_bytes("tiles", "left", &a, &bc, &c, own + cuda_host_piece(2 * k * n));
        l = cuda_host_launch(ctx, "tiles", &a, &bc, &c, "lac_cuda_tiles_run"); /* the kernels transpose it */
        assert_int_equal(standin_count("lac_cuda_copy"), 0);
        EXPECT(l, "p.ldb p.ld_columns", n, k);
        expect_pointer(l, "p.b_columns", bc.buf);
        l = cuda_host_launch(ctx, "tiles", &a, &off, &c, "lac_cuda_tiles_run"); /* columns off 16 bytes */
        EXPECT(standin_find("lac_cuda_copy", 0), "x.dt dt rs cs", dt, dt, n, 1);
        expect_pointer(l, "p.b", standin_pointer(standin_find("lac_cuda_copy", 0), "out"));
        expect_pointer(l, "p.b_columns", NULL);
        assert_int_equal(cuda_host_bytes(ctx, "tiles", "left", &a, &odd, &narrow), -1);
        assert_int_equal(cuda_host_bytes(ctx, "tiles", "left", &bytes, &b, &c), -1);
        lac_obj_t kept = cuda_host_matrix(ctx, dt, m, k, k, 1, 0);
        cuda_host_freeze(ctx, &kept, m * k / 2);
        standin.room = 17;
        l = cuda_host_launch(ctx, "tiles", &kept, &b, &c, "lac_cuda_tiles_run");
        EXPECT(l, "p.room", 17);
        assert_int_equal(meta_bytes(&kept), lac_cuda_tiles_packed_bytes(dt, m, k, 17));
    }
}

static void test_tiles_kept(void **state)
{
    (void)state;
    lac_dim_t m = 1024, k = 768, n = 512;
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, n), c = cuda_host_rows(ctx, m, n);
    cuda_host_freeze(ctx, &a, m * k / 2);
    standin.room = 17;
    int64_t most = lac_cuda_tiles_packed_bytes(LAC_F32, m, k, lac_cuda_tiles_room(k));
    expect_bytes("tiles", "left", &a, &b, &c,
                 most + cuda_host_piece(lac_cuda_tiles_bytes(LAC_F32, m, n, k, true)));
    const standin_launch_t *l = cuda_host_launch(ctx, "tiles", &a, &b, &c, "lac_cuda_tiles_run");
    assert_int_equal(standin_count("lac_cuda_tiles_pack"), 2);
    EXPECT(standin_find("lac_cuda_tiles_pack", 0), "room", lac_cuda_tiles_room(k));
    EXPECT(standin_find("lac_cuda_tiles_pack", 1), "room", 17);
    EXPECT(l, "p.room", 17);
    expect_pointer(l, "p.packed", standin_pointer(standin_find("lac_cuda_tiles_pack", 1), "memory"));
    assert_int_equal(meta_bytes(&a), lac_cuda_tiles_packed_bytes(LAC_F32, m, k, 17));
    expect_bytes("tiles", "left", &a, &b, &c,
                 lac_cuda_tiles_packed_bytes(LAC_F32, m, k, 17) +
                     cuda_host_piece(lac_cuda_tiles_bytes(LAC_F32, m, n, k, true)));
    cuda_host_launch(ctx, "tiles", &a, &b, &c, "lac_cuda_tiles_run");
    assert_int_equal(standin_count("lac_cuda_tiles_pack"), 0);
    /* an S that is nearly empty: its active steps, and four */
    lac_obj_t d = cuda_host_rows(ctx, m, 4096), e = cuda_host_rows(ctx, 4096, n);
    cuda_host_freeze(ctx, &d, 1024); /* 1 in 4096: a fraction of 0.0078 of k in 32 rows is one step */
    expect_bytes("tiles", "left", &d, &e, &c,
                 lac_cuda_tiles_packed_bytes(LAC_F32, m, 4096, 1 + 4) +
                     cuda_host_piece(lac_cuda_tiles_bytes(LAC_F32, m, n, 4096, true)));
}

/* Refusals of the tiles at their bounds. */
static void test_tiles_bounds(void **state)
{
    (void)state;
    static const struct {
        lac_dim_t k;
        bool fits;
    } cases[] = {{15, false}, {16, true}, {1 << 18, true}, {(1 << 18) + 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_dim_t k = cases[i].k;
        lac_obj_t a = cuda_host_rows(ctx, 8, k), b = cuda_host_rows(ctx, k, 8), c = cuda_host_rows(ctx, 8, 8);
        cuda_host_count(ctx, &a, k);
        assert_int_equal(cuda_host_bytes(ctx, "tiles", "left", &a, &b, &c) >= 0, cases[i].fits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(csr_narrow),       TEST(csr_kept),   TEST(csr_long),
                                       TEST(csr_lists),        TEST(csr_once),   TEST(csr_parts),
                                       TEST(csr_without_room), TEST(bitmask),    TEST(tiles),
                                       TEST(tiles_halves),     TEST(tiles_kept), TEST(tiles_bounds)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
