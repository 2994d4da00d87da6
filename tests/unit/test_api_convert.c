/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Every format from every other, seen as dense again; counts; bad input. */
#include "unit_support.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 70, ROOM = MOST * MOST };

static const unsigned bits[] = {LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK, LAC_META_ACTIVE};
enum {
    FORMATS = sizeof bits / sizeof *bits,
    ALL = LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK | LAC_META_ACTIVE
};

static uint64_t seed = 71;

/* Contents, and one format of them, attached. */
typedef struct source {
    int64_t m, n, nnz, active;
    float dense[ROOM], val[ROOM];
    int32_t ptr[MOST + 1], idx[ROOM];
    uint64_t words[MOST * 2];
    lac_obj_t a;
} source_t;

static void attach(source_t *s, unsigned format)
{
    int64_t majors = format == LAC_META_CSC ? s->n : s->m, minors = format == LAC_META_CSC ? s->m : s->n,
            at = 0;
    memset(s->words, 0, sizeof s->words);
    s->active = 0;
    for (int64_t i = 0; i < majors; i++) {
        s->ptr[i] = (int32_t)at;
        for (int64_t j = 0; j < minors; j++) {
            float x = format == LAC_META_CSC ? s->dense[j * s->n + i] : s->dense[i * s->n + j];
            if (x == 0.0f) continue;
            s->idx[at] = (int32_t)j, s->val[at++] = x;
            if (format == LAC_META_BITMASK)
                s->words[i * ((s->n + 63) / 64) + j / 64] |= UINT64_C(1) << (j % 64);
        }
    }
    s->ptr[majors] = (int32_t)at;
    s->nnz = at;
    for (int64_t j = 0; format == LAC_META_ACTIVE && j < s->n; j++) {
        bool any = false;
        for (int64_t i = 0; i < s->m; i++) any |= s->dense[i * s->n + j] != 0.0f;
        for (int64_t i = 0; any && i < s->m; i++) s->val[s->active * s->m + i] = s->dense[i * s->n + j];
        if (any) s->idx[s->active++] = (int32_t)j;
    }
    s->a = lac_obj_rowmajor(LAC_F32, s->m, s->n, NULL, s->n);
    unit_expect(lac_meta_create(&s->a.meta, s->m, s->n), LAC_OK, "meta");
    lac_status_t status =
        format == LAC_META_CSR       ? lac_meta_attach_csr(s->a.meta, LAC_I32, s->ptr, s->idx, s->val)
        : format == LAC_META_CSC     ? lac_meta_attach_csc(s->a.meta, LAC_I32, s->ptr, s->idx, s->val)
        : format == LAC_META_BITMASK ? lac_meta_attach_bitmask(s->a.meta, s->words, s->val)
                                     : lac_meta_attach_active(s->a.meta, s->active, s->idx, s->val);
    unit_expect(status, LAC_OK, "attach");
}

static void make(source_t *s, unsigned format)
{
    s->m = unit_between(&seed, 1, MOST), s->n = unit_between(&seed, 1, MOST);
    for (int64_t p = 0; p < s->m * s->n; p++)
        s->dense[p] = unit_between(&seed, 0, 4) ? 0.0f : (float)unit_between(&seed, 1, 99) / 4.0f;
    attach(s, format);
}

/* A view's element. */
static float element(const lac_format_view_t *v, const source_t *s, unsigned format, int64_t i, int64_t j)
{
    const float *val = v->val;
    int64_t major = format == LAC_META_CSC ? j : i, minor = format == LAC_META_CSC ? i : j;
    if (format == LAC_META_CSR || format == LAC_META_CSC)
        for (int64_t p = v->ptr[major]; p < v->ptr[major + 1]; p++)
            if (v->idx[p] == minor) return val ? val[p] : 1.0f;
    for (int64_t p = 0; format == LAC_META_ACTIVE && p < v->count; p++)
        if (v->idx[p] == j) return val[p * s->m + i];
    if (format != LAC_META_BITMASK) return 0.0f;
    int64_t before = v->ptr[i], words = (s->n + 63) / 64;
    for (int64_t c = 0; c < j; c++) before += (int64_t)(v->bits[i * words + c / 64] >> (c % 64) & 1);
    return v->bits[i * words + j / 64] >> (j % 64) & 1 ? val[before] : 0.0f;
}

static void test_every_format_from_every_other(void **state)
{
    static source_t s;
    for (int round = 0; round < (unit_quick() ? 1 : 12); round++)
        for (int from = 0; from < FORMATS; from++) {
            make(&s, bits[from]);
            double density = lac_meta_density(s.a.meta);
            unit_expect(lac_meta_convert(*state, &s.a, ALL), LAC_OK, "derive");
            assert_true(lac_meta_density(s.a.meta) == density || density < 0);
            for (int to = 0; to < FORMATS; to++) {
                lac_format_view_t v;
                unit_expect(lac_meta_view(s.a.meta, bits[to], &v), LAC_OK, "view");
                assert_int_equal(v.count, bits[to] == LAC_META_ACTIVE ? v.count : s.nnz);
                for (int64_t p = 0; p < s.m * s.n; p++)
                    if (element(&v, &s, bits[to], p / s.n, p % s.n) != s.dense[p])
                        fail_msg("format %d from format %d: element %ld of %ld x %ld", to, from, (long)p,
                                 (long)s.m, (long)s.n);
            }
            unit_expect(lac_meta_touch(s.a.meta), LAC_OK, "touch");
            lac_format_view_t v;
            unit_expect(lac_meta_view(s.a.meta, LAC_META_CSR, &v), LAC_ERR_EMPTY, "touched");
            unit_expect(lac_meta_convert(*state, &s.a, ALL), LAC_ERR_STALE, "touched");
            lac_meta_free(s.a.meta);
        }
}

/* A fixed fan-out from every other format; rows of other lengths are named, and their CSR stands. */
static void test_ell(void **state)
{
    static source_t s;
    for (int from = 0; from < FORMATS; from++)
        for (int even = 0; even < 2; even++) {
            lac_format_view_t v, csr;
            s.m = 9, s.n = 23;
            for (int i = 0; i < 9 * 23;
                 i++) /* four in each row, at 0 .. 2 and every fifth column from there */
                s.dense[i] = i % 23 < 20 && i % 23 % 5 == i / 23 % 3 ? (float)(i + 1) : 0.0f;
            if (!even) s.dense[3 * 23 + 22] = 7.0f;
            attach(&s, bits[from]);
            lac_status_t status = lac_meta_convert(*state, &s.a, LAC_META_ELL);
            unit_expect(status, even ? LAC_OK : LAC_ERR_SPARSE, "convert");
            if (!even) unit_expect_text(lac_last_error(), "row 3 has 5 entries");
            unit_expect(lac_meta_view(s.a.meta, LAC_META_CSR, &csr), LAC_OK, "CSR");
            unit_expect(lac_meta_view(s.a.meta, LAC_META_ELL, &v), even ? LAC_OK : LAC_ERR_EMPTY, "ELL");
            if (even) assert_true(v.count == 9 * 4 && !v.ptr && v.idx == csr.idx && v.val == csr.val);
            lac_meta_free(s.a.meta);
        }
}

/* Slices, products at the entries and gradients are those of the same matrix in CSR, to the bit. */
static void test_ell_operators(void **state)
{
    enum { ROWS = 40, COLS = 50, WIDTH = 6, K = 7, PICKED = 11 };
    static int32_t idx[ROWS * WIDTH], ptr[ROWS + 1];
    static float val[ROWS * WIDTH], x[ROWS * K], y[K * COLS], out[2][PICKED * COLS], at[2][ROWS * WIDTH];
    static float gradient[2][ROWS * WIDTH], product[2][K * COLS];
    int32_t picked[PICKED];
    lac_obj_t a[2];
    for (int i = 0; i <= ROWS; i++) ptr[i] = i * WIDTH;
    for (int e = 0; e < ROWS * WIDTH; e++) {
        idx[e] = e % WIDTH * (COLS / WIDTH) + e / WIDTH % 7;
        val[e] = (float)unit_between(&seed, 1, 999) / 37.0f;
    }
    for (int i = 0; i < ROWS * K; i++) x[i] = (float)unit_between(&seed, -999, 999) / 41.0f;
    for (int i = 0; i < COLS * K; i++) y[i] = (float)unit_between(&seed, -999, 999) / 43.0f;
    for (int i = 0; i < PICKED; i++) picked[i] = (int32_t)unit_between(&seed, 0, ROWS - 1);
    lac_obj_t left = lac_obj_rowmajor(LAC_F32, ROWS, K, x, K),
              right = lac_obj_rowmajor(LAC_F32, K, COLS, y, COLS);
    lac_obj_t events = lac_obj_rowmajor(LAC_F32, K, ROWS, x, ROWS);
    for (int ell = 0; ell < 2; ell++) {
        a[ell] = lac_obj_rowmajor(LAC_F32, ROWS, COLS, NULL, COLS);
        unit_expect(lac_meta_create(&a[ell].meta, ROWS, COLS), LAC_OK, "meta");
        unit_expect(ell ? lac_meta_attach_ell(a[ell].meta, LAC_I32, WIDTH, idx, val)
                        : lac_meta_attach_csr(a[ell].meta, LAC_I32, ptr, idx, val),
                    LAC_OK, "attach");
        lac_obj_t slices = lac_obj_rowmajor(LAC_F32, PICKED, COLS, out[ell], COLS),
                  c = lac_obj_rowmajor(LAC_F32, K, COLS, product[ell], COLS);
        unit_expect(lac_slice_rows(*state, &a[ell], LAC_I32, PICKED, picked, &slices, NULL), LAC_OK, "slice");
        unit_expect(lac_sddmm(*state, NULL, &left, &right, NULL, &a[ell], at[ell]), LAC_OK, "sddmm");
        unit_expect(lac_gemm_grad_b(*state, NULL, &events, &right, NULL, &a[ell], gradient[ell]), LAC_OK,
                    "gradient");
        unit_expect(lac_gemm(*state, NULL, &events, &a[ell], NULL, &c), LAC_OK, "product");
        lac_meta_free(a[ell].meta);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    assert_memory_equal(at[0], at[1], sizeof at[0]);
    assert_memory_equal(gradient[0], gradient[1], sizeof gradient[0]);
    assert_memory_equal(product[0], product[1], sizeof product[0]);
    double sum = 0.0; /* and they are what they should be, here and there */
    for (int k = 0; k < K; k++) sum += (double)x[3 * K + k] * (double)y[k * COLS + idx[3 * WIDTH + 2]];
    assert_true(sum - (double)at[1][3 * WIDTH + 2] < 1e-2 && (double)at[1][3 * WIDTH + 2] - sum < 1e-2);
    assert_true(out[1][idx[picked[4] * WIDTH + 1] + 4 * COLS] == val[picked[4] * WIDTH + 1]);
}

/* Dense again, transposed, with any strides, and the count. */
static void test_dense_and_count(void **state)
{
    static source_t s;
    static float out[2 * ROOM + 2 * MOST];
    for (int from = 0; from < FORMATS; from++)
        for (int layout = 0; layout < 4; layout++) {
            int64_t count = -1;
            make(&s, bits[from]);
            bool transposed = layout & 1;
            if (transposed) s.a.trans = LAC_TRANS;
            int64_t m = transposed ? s.n : s.m, n = transposed ? s.m : s.n;
            lac_obj_t o = lac_obj_rowmajor(LAC_F32, m, n, out, n + 1);
            if (layout > 1) o.rs = 2, o.cs = 2 * m + 1;
            unit_expect(lac_to_dense(*state, &s.a, &o), LAC_OK, "dense");
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++)
                    assert_true(out[i * o.rs + j * o.cs] == s.dense[transposed ? j * s.n + i : i * s.n + j]);
            unit_expect(lac_count_nonzeros(*state, &s.a, &count), LAC_OK, "count");
            assert_int_equal(count, s.nnz);
            lac_meta_free(s.a.meta);
        }
    uint8_t events[6] = {0, 7, 0, 1, 255, 0};
    int64_t count;
    lac_obj_t e = lac_obj_rowmajor(LAC_U8, 2, 3, events, 3), o = lac_obj_rowmajor(LAC_F32, 2, 3, out, 3);
    unit_expect(lac_to_dense(*state, &e, &o), LAC_OK, "events");
    assert_true(out[0] == 0.0f && out[1] == 1.0f && out[3] == 1.0f && out[4] == 1.0f);
    unit_expect(lac_count_nonzeros(*state, &e, &count), LAC_OK, "events");
    assert_int_equal(count, 3);
}

/* CSR with entries of value 0 and rows from empty to full, transposed in several tiles by 1 and 3 threads:
 * each entry stays one, and rows ascend in each column. */
static void test_transposed(void **state)
{
    enum { M = 60, N = 5000 };
    static int32_t ptr[M + 1], idx[M * N];
    static int64_t last[N];
    static float val[M * N];
    int32_t nnz = 0;
    (void)state;
    for (int32_t i = 0; i < M; ptr[++i] = nnz)
        for (int32_t j = 0; j < N; j++)
            if (i % 7 && (i % 7 == 1 || !unit_between(&seed, 0, 9)))
                idx[nnz] = j, val[nnz++] = (float)unit_between(&seed, 0, 3);
    for (int threads = 1; threads <= 3; threads += 2)
        for (int ones = 0; ones < 2; ones++) {
            lac_ctx_t *ctx = unit_ctx();
            lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, N, NULL, N);
            lac_format_view_t csc;
            unit_expect(lac_ctx_set(ctx, "threads", threads == 1 ? "1" : "3"), LAC_OK, "threads");
            unit_expect(lac_meta_create(&a.meta, M, N), LAC_OK, "create");
            unit_expect(lac_meta_attach_csr(a.meta, LAC_I32, ptr, idx, ones ? NULL : val), LAC_OK, "attach");
            unit_expect(lac_meta_convert(ctx, &a, LAC_META_CSC), LAC_OK, "derive");
            unit_expect(lac_meta_view(a.meta, LAC_META_CSC, &csc), LAC_OK, "view");
            assert_int_equal(csc.count, nnz);
            assert_true(!csc.val == !!ones);
            for (int64_t j = 0; j < N; j++) last[j] = csc.ptr[j];
            for (int32_t i = 0; i < M; i++)
                for (int32_t e = ptr[i]; e < ptr[i + 1]; e++) {
                    int64_t at = last[idx[e]]++;
                    assert_true(at < csc.ptr[idx[e] + 1] && csc.idx[at] == i &&
                                (ones || ((const float *)csc.val)[at] == val[e]));
                }
            lac_meta_free(a.meta);
            lac_ctx_free(ctx);
        }
}

/* A buffer of more than caches hold, f32 or u8, few nonzeros or many, by rows or by columns. */
static void check_large(lac_ctx_t *ctx, bool bytes, bool by_columns, int one_in)
{
    int64_t m = bytes ? 2100 : 1100, n = bytes ? 2050 : 1003, nnz = 0, at = 0, words = (n + 63) / 64;
    size_t element = bytes ? 1 : sizeof(float);
    char *buf = calloc((size_t)(m * n), element);
    assert_non_null(buf);
    lac_obj_t a = lac_obj_rowmajor(bytes ? LAC_U8 : LAC_F32, m, n, buf, n);
    if (by_columns) a.rs = 1, a.cs = m;
    for (int64_t p = 0; p < m * n; p++) {
        if (unit_between(&seed, 1, one_in) > 1) continue;
        if (bytes) buf[p] = (char)unit_between(&seed, 1, 9);
        if (!bytes) ((float *)(void *)buf)[p] = (float)unit_between(&seed, 1, 9);
        nnz++;
    }
    lac_format_view_t csr, csc, bitmask;
    unit_expect(lac_meta_create(&a.meta, m, n), LAC_OK, "create");
    unit_expect(lac_meta_scan(ctx, &a, LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK), LAC_OK, "scan");
    unit_expect(lac_meta_freeze(a.meta), LAC_OK, "freeze");
    unit_expect(lac_meta_view(a.meta, LAC_META_CSR, &csr), LAC_OK, "CSR");
    unit_expect(lac_meta_view(a.meta, LAC_META_CSC, &csc), LAC_OK, "CSC");
    unit_expect(lac_meta_view(a.meta, LAC_META_BITMASK, &bitmask), LAC_OK, "bitmask");
    assert_true(csr.count == nnz && csc.count == nnz && bitmask.count == nnz && csr.ptr[m] == nnz);
    int64_t *last = malloc((size_t)n * sizeof *last);
    assert_non_null(last);
    memcpy(last, csc.ptr, (size_t)n * sizeof *last);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            int64_t p = i * a.rs + j * a.cs;
            float x = bytes ? (float)(buf[p] != 0) : ((float *)(void *)buf)[p];
            assert_true((bitmask.bits[i * words + j / 64] >> (j % 64) & 1) == (x != 0.0f));
            if (x == 0.0f) continue;
            int64_t c = last[j]++;
            assert_true(csr.idx[at] == j && ((const float *)csr.val)[at] == x &&
                        ((const float *)bitmask.val)[at] == x);
            assert_true(csc.idx[c] == i && ((const float *)csc.val)[c] == x && c < csc.ptr[j + 1]);
            at++;
        }
    lac_meta_free(a.meta);
    free(last), free(buf);
}

static void test_large_buffer(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        lac_ctx_t *ctx = unit_ctx();
        unit_expect(lac_ctx_set(ctx, "threads", threads == 1 ? "1" : "3"), LAC_OK, "threads");
        for (int round = 0; round < (unit_quick() ? 2 : 8); round++)
            check_large(ctx, round & 1, round & 4, round & 2 ? 3 : 100);
        lac_ctx_free(ctx);
    }
}

/* One tile after the other, by its elements. */
static void expect_tiles(const uint64_t *got, int64_t count, const float *x, int64_t m, int64_t n, int64_t rs,
                         int64_t cs, int64_t rows, int64_t cols)
{
    int64_t across = (n + cols - 1) / cols, words = (across + 63) / 64, set = 0;
    for (int64_t i = 0; i * rows < m; i++)
        for (int64_t t = 0; t < 64 * words; t++) {
            bool any = false;
            for (int64_t r = i * rows; r < m && r < (i + 1) * rows; r++)
                for (int64_t c = t * cols; t < across && c < n && c < (t + 1) * cols; c++)
                    any |= x[r * rs + c * cs] != 0.0f;
            assert_int_equal(got[i * words + t / 64] >> t % 64 & 1, any);
            set += any;
        }
    assert_int_equal(count, set);
}

static void test_tile_occupancy(void **state)
{
    static const int64_t tiles[][2] = {{1, 1}, {3, 2}, {64, 1}, {1, 64}, {8, 32}, {INT64_MAX, INT64_MAX}};
    static source_t s;
    static uint64_t found[2 * ROOM];
    for (int from = 0; from <= FORMATS; from++)
        for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
            int64_t count = -1, rows = tiles[t][0], cols = tiles[t][1];
            make(&s, bits[from % FORMATS]);
            bool transposed = t & 1;
            lac_obj_t dense = lac_obj_rowmajor(LAC_F32, s.m, s.n, s.dense, s.n),
                      *a = from < FORMATS ? &s.a : &dense;
            if (transposed) a->trans = LAC_TRANS;
            int64_t m = transposed ? s.n : s.m, n = transposed ? s.m : s.n;
            memset(found, 0xff, sizeof found);
            unit_expect(lac_tile_occupancy(*state, a, rows, cols, found, &count), LAC_OK, "tiles");
            rows = rows < m ? rows : m, cols = cols < n ? cols : n;
            expect_tiles(found, count, s.dense, m, n, transposed ? 1 : s.n, transposed ? s.n : 1, rows, cols);
            unit_expect(lac_tile_occupancy(*state, a, rows, cols, found, NULL), LAC_OK, "no count");
            lac_meta_free(s.a.meta);
        }
    uint8_t events[6] = {0, 7, 0, 0, 255, 0};
    float kept[] = {0.0f, 2.0f};
    int32_t ptr[] = {0, 1, 2}, idx[] = {0, 1};
    lac_obj_t e = lac_obj_rowmajor(LAC_U8, 2, 3, events, 3), z = lac_obj_rowmajor(LAC_F32, 2, 3, NULL, 3);
    unit_expect(lac_tile_occupancy(*state, &e, 2, 2, found, NULL), LAC_OK, "events");
    assert_int_equal(found[0], 1);
    unit_expect(lac_meta_create(&z.meta, 2, 3), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(z.meta, LAC_I32, ptr, idx, kept), LAC_OK, "attach");
    unit_expect(lac_tile_occupancy(*state, &z, 1, 3, found, NULL), LAC_OK, "a kept zero");
    assert_true(found[0] == 0 && found[1] == 1);
    lac_meta_free(z.meta);
}

static void test_frozen_buffer(void **state)
{
    float x[6] = {0, 2, 0, 1, 0, 3};
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 2, 3, x, 3);
    lac_format_view_t v;
    unit_expect(lac_meta_create(&a.meta, 2, 3), LAC_OK, "meta");
    unit_expect(lac_meta_convert(*state, &a, LAC_META_CSR), LAC_ERR_EMPTY, "not frozen");
    unit_expect(lac_meta_freeze(a.meta), LAC_OK, "freeze");
    unit_expect(lac_meta_convert(*state, &a, ALL), LAC_OK, "frozen");
    for (int i = 0; i < FORMATS; i++) unit_expect(lac_meta_view(a.meta, bits[i], &v), LAC_OK, "view");
    assert_int_equal(v.count, 3);
    lac_meta_free(a.meta);
}

static void test_bad_input(void **state)
{
    static source_t s;
    float out[4] = {0};
    int64_t count;
    lac_format_view_t v;
    make(&s, LAC_META_CSR);
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, 1, 1, out, 1), bare = lac_obj_rowmajor(LAC_F32, 2, 2, out, 2);
    unit_expect(lac_meta_convert(NULL, &s.a, ALL), LAC_ERR_NULL, "ctx");
    unit_expect(lac_meta_convert(*state, NULL, ALL), LAC_ERR_NULL, "obj");
    unit_expect(lac_meta_convert(*state, &bare, ALL), LAC_ERR_NULL, "meta");
    unit_expect(lac_meta_convert(*state, &s.a, LAC_META_DENSITY), LAC_ERR_VALUE, "what");
    unit_expect(lac_meta_convert(*state, &s.a, 0), LAC_ERR_VALUE, "what");
    unit_expect(lac_meta_view(NULL, LAC_META_CSR, &v), LAC_ERR_NULL, "meta");
    unit_expect(lac_meta_view(s.a.meta, LAC_META_CSR, NULL), LAC_ERR_NULL, "view");
    unit_expect(lac_meta_view(s.a.meta, ALL, &v), LAC_ERR_VALUE, "two bits");
    unit_expect(lac_meta_view(s.a.meta, LAC_META_CSC, &v), LAC_ERR_EMPTY, "not there");
    unit_expect(lac_to_dense(*state, NULL, &o), LAC_ERR_NULL, "a");
    unit_expect(lac_to_dense(*state, &s.a, NULL), LAC_ERR_NULL, "out");
    unit_expect(lac_to_dense(*state, &bare, &o), LAC_ERR_EXTENT, "extents");
    unit_expect(lac_to_dense(*state, &bare, &bare), LAC_ERR_ALIAS, "alias");
    o = lac_obj_rowmajor(LAC_F32, s.m, s.n, s.val, s.n);
    unit_expect(lac_to_dense(*state, &s.a, &o), LAC_ERR_ALIAS, "the format's values");
    unit_expect(lac_count_nonzeros(*state, &s.a, NULL), LAC_ERR_NULL, "count");
    unit_expect(lac_count_nonzeros(NULL, &s.a, &count), LAC_ERR_NULL, "ctx");
    lac_meta_free(s.a.meta);
}

/* There is no memory for what these need: nothing is written. */
static void test_too_large(void **state)
{
    int64_t count = -77;
    uint64_t tile = 77;
    static char last; /* of events that are not reached */
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, 1, INT64_C(1) << 62, NULL, 0);
    unit_expect(lac_meta_create(&x.meta, x.m, x.n), LAC_OK, "create");
    unit_expect(lac_meta_attach_active(x.meta, 0, NULL, NULL), LAC_OK, "attach");
    unit_expect(lac_tile_occupancy(*state, &x, 1, x.n, &tile, &count), LAC_ERR_MEMORY, "tiles");
    lac_meta_free(x.meta);
    x = lac_obj_colmajor(LAC_U8, INT64_C(1) << 60, 1, &last, INT64_C(1) << 60);
    x.rs = -1;
    unit_expect(lac_count_nonzeros(*state, &x, &count), LAC_ERR_MEMORY, "count");
    assert_true(count == -77 && tile == 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_format_from_every_other),
                                       cmocka_unit_test(test_ell),
                                       cmocka_unit_test(test_ell_operators),
                                       cmocka_unit_test(test_dense_and_count),
                                       cmocka_unit_test(test_transposed),
                                       cmocka_unit_test(test_large_buffer),
                                       cmocka_unit_test(test_tile_occupancy),
                                       cmocka_unit_test(test_too_large),
                                       cmocka_unit_test(test_frozen_buffer),
                                       cmocka_unit_test(test_bad_input)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
