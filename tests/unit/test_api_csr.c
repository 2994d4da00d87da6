/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operators on compressed rows that a call brings along, against plain loops: any order, repeated indices,
 * fixed fan-out, permutations, one value for all, both directions; and what is refused. */
#include "unit_support.h"
#include "planner/context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 24, ENTRIES = MOST * 12, COLUMNS = 70, CELLS = MOST * COLUMNS };

/* Random rows: indices in any order and more than once. */
typedef struct rows {
    lac_csr_t csr;
    int32_t ptr32[MOST + 1], idx32[ENTRIES], perm32[ENTRIES];
    int64_t ptr64[MOST + 1], idx64[ENTRIES], perm64[ENTRIES];
    float val[ENTRIES];
} rows_t;

static void make_rows(rows_t *r, int64_t m, int64_t n, uint64_t *random)
{
    bool wide = unit_random(random) & 1, fan = unit_random(random) & 1;
    int64_t fan_out = n ? unit_between(random, 0, 11) : 0, kind = unit_between(random, 0, 3), count = 0;
    r->ptr32[0] = 0, r->ptr64[0] = 0;
    for (int64_t i = 0; i < m; i++) {
        int64_t entries = fan ? fan_out : n ? unit_between(random, 0, 11) : 0;
        for (int64_t e = 0; e < entries; e++, count++)
            r->idx32[count] = (int32_t)unit_between(random, 0, n - 1);
        r->ptr32[i + 1] = (int32_t)count, r->ptr64[i + 1] = count;
    }
    for (int64_t e = 0; e < count; e++) {
        r->idx64[e] = r->idx32[e];
        r->perm32[e] = (int32_t)unit_between(random, 0, count - 1), r->perm64[e] = r->perm32[e];
        r->val[e] = (float)unit_between(random, -9, 9) / 4.0f;
    }
    r->csr = (lac_csr_t){.size = sizeof r->csr, .m = m, .n = n, .nnz = count, .it = wide ? LAC_I64 : LAC_I32};
    if (!fan) r->csr.ptr = wide ? (void *)r->ptr64 : (void *)r->ptr32;
    r->csr.idx = wide ? (void *)r->idx64 : (void *)r->idx32;
    r->csr.val = kind ? r->val : NULL;
    if (kind == 1) r->csr.perm = wide ? (void *)r->perm64 : (void *)r->perm32;
    r->csr.homogeneous = kind == 2 && count;
}

static double value_of(const rows_t *r, int64_t e)
{
    if (!r->csr.val) return 1.0;
    if (r->csr.homogeneous) return (double)r->val[0];
    return (double)r->val[r->csr.perm ? r->perm32[e] : e];
}

static lac_obj_t view(lac_dt_t dt, int64_t m, int64_t n, void *buf, uint64_t *random)
{
    bool by_rows = unit_random(random) & 1, transposed = unit_random(random) & 1;
    lac_obj_t x = by_rows ? lac_obj_rowmajor(dt, m, n, buf, n + 1) : lac_obj_colmajor(dt, m, n, buf, m + 1);
    if (!transposed) return x;
    lac_obj_t y = x;
    y.m = x.n, y.n = x.m, y.rs = x.cs, y.cs = x.rs, y.trans = LAC_TRANS;
    return y;
}

static int64_t place(const lac_obj_t *x, int64_t i, int64_t j)
{
    return x->trans == LAC_TRANS ? j * x->rs + i * x->cs : i * x->rs + j * x->cs;
}

static rows_t rows;
static float dense[2 * CELLS], other[2 * CELLS], got[2 * CELLS], again[2 * CELLS];
static int32_t counts[2 * CELLS];
static uint8_t bytes[2 * CELLS];

static void set_threads(lac_ctx_t *ctx, const char *count)
{
    unit_expect(lac_ctx_set(ctx, "threads", count), LAC_OK, "threads");
}

static void near(const char *what, int round, int64_t at, double have, double want)
{
    if (!(fabs(have - want) <= 1e-5 * (1.0 + fabs(want))))
        fail_msg("%s, round %d: element %ld is %g, expected %g", what, round, (long)at, have, want);
}

static void test_products(void **state)
{
    lac_ctx_t *ctx = *state;
    static double want[CELLS];
    uint64_t random = 51;
    for (int round = 0; round < (unit_quick() ? 100 : 3000); round++) {
        int64_t m = unit_between(&random, 0, MOST), n = unit_between(&random, 0, MOST),
                columns = unit_between(&random, 0, 3) ? unit_between(&random, 1, 4)
                                                      : unit_between(&random, 5, COLUMNS);
        bool transposed = unit_random(&random) & 1, events = unit_random(&random) & 1,
             binary = unit_random(&random) & 1;
        make_rows(&rows, m, n, &random);
        rows.csr.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
        int64_t inner = transposed ? m : n, outer = transposed ? n : m;
        lac_obj_t b =
            view(events ? LAC_U8 : LAC_F32, inner, columns, events ? (void *)bytes : (void *)dense, &random);
        for (int i = 0; i < 2 * CELLS; i++) {
            dense[i] = unit_between(&random, 0, 2) ? 0.0f : (float)unit_between(&random, -8, 8) / 2.0f;
            bytes[i] = dense[i] == 0.0f ? 0 : (uint8_t)unit_between(&random, 1, 255);
            got[i] = again[i] = NAN;
        }
        memset(want, 0, sizeof want);
        for (int64_t i = 0; i < m; i++)
            for (int64_t e = rows.ptr64[i]; e < rows.ptr64[i + 1]; e++)
                for (int64_t j = 0; j < columns; j++) {
                    int64_t from = transposed ? i : rows.idx32[e], to = transposed ? rows.idx32[e] : i;
                    int64_t at = place(&b, from, j);
                    double x = events ? (double)(bytes[at] != 0) : (double)dense[at];
                    if (binary && x != 0.0) x = 1.0;
                    want[to * columns + j] += value_of(&rows, e) * x;
                }
        lac_obj_t c = view(LAC_F32, outer, columns, got, &random), d = c;
        d.buf = again;
        set_threads(ctx, "1");
        unit_expect(lac_csr_gemm(ctx, &rows.csr, &b, binary, &c), LAC_OK, "gemm");
        set_threads(ctx, "3");
        unit_expect(lac_csr_gemm(ctx, &rows.csr, &b, binary, &d), LAC_OK, "gemm");
        assert_memory_equal(got, again, sizeof got);
        for (int64_t i = 0; i < outer; i++)
            for (int64_t j = 0; j < columns; j++)
                near("product", round, i * columns + j, (double)got[place(&c, i, j)], want[i * columns + j]);
        if (!transposed) continue;
        memset(want, 0, sizeof want);
        for (int64_t i = 0; i < m; i++)
            for (int64_t e = rows.ptr64[i]; e < rows.ptr64[i + 1]; e++)
                for (int64_t j = 0; j < columns; j++)
                    want[rows.idx32[e] * columns + j] += bytes[place(&b, i, j)] != 0;
        unit_expect(lac_csr_count(ctx, &rows.csr, &b, counts), LAC_OK, "count");
        for (int64_t i = 0; i < n * columns; i++) near("count", round, i, (double)counts[i], want[i]);
    }
    set_threads(ctx, "1");
}

/* An entry that meets a zero never reaches the result, and of rows without an event not even the indices are
 * read. */
static void test_zeros_guard(void **state)
{
    static const int32_t ptr[] = {0, 2, 4, -9}, idx[] = {0, 1, 1 << 30, -5}, good[] = {0, 1, 2, 0};
    float val[] = {1, 2, NAN, INFINITY}, x[] = {3, 0, 0}, y[3];
    lac_csr_t a = {
        .size = sizeof a, .m = 2, .n = 3, .nnz = 4, .ptr = ptr, .idx = idx, .val = val, .trans = LAC_TRANS};
    lac_obj_t b = lac_obj_rowmajor(LAC_F32, 2, 1, x, 1), c = lac_obj_rowmajor(LAC_F32, 3, 1, y, 1);
    unit_expect(lac_csr_gemm(*state, &a, &b, 0, &c), LAC_OK, "a row without an event");
    assert_true(y[0] == 3.0f && y[1] == 6.0f && y[2] == 0.0f);
    x[0] = NAN;
    unit_expect(lac_csr_gemm(*state, &a, &b, 1, &c), LAC_OK, "NaN is an event");
    assert_true(y[0] == 1.0f && y[1] == 2.0f && y[2] == 0.0f);
    unit_expect(lac_csr_gemm(*state, &a, &b, 0, &c), LAC_OK, "and a value");
    assert_true(isnan(y[0]) && isnan(y[1]) && y[2] == 0.0f);
    a.trans = LAC_NO_TRANS, a.idx = good;
    b = lac_obj_rowmajor(LAC_F32, 3, 1, x, 1), c = lac_obj_rowmajor(LAC_F32, 2, 1, y, 1);
    x[0] = 0, x[1] = 5;
    unit_expect(lac_csr_gemm(*state, &a, &b, 0, &c), LAC_OK, "by rows");
    assert_true(y[0] == 10.0f && y[1] == 0.0f);
    float many[6] = {0, 0, 5, 5, 0, 0}, out[4];
    b = lac_obj_rowmajor(LAC_F32, 3, 2, many, 2), c = lac_obj_rowmajor(LAC_F32, 2, 2, out, 2);
    unit_expect(lac_csr_gemm(*state, &a, &b, 0, &c), LAC_OK, "of two columns");
    assert_true(out[0] == 10.0f && out[1] == 10.0f && out[2] == 0.0f && out[3] == 0.0f);
}

static void test_slices(void **state)
{
    lac_ctx_t *ctx = *state;
    static double want[CELLS];
    static int32_t list32[MOST];
    static int64_t list64[MOST];
    uint64_t random = 52;
    for (int round = 0; round < (unit_quick() ? 100 : 2000); round++) {
        int64_t m = unit_between(&random, 0, MOST), n = unit_between(&random, 0, MOST),
                count = unit_between(&random, 0, MOST);
        bool wide = unit_random(&random) & 1;
        const void *list = wide ? (void *)list64 : (void *)list32;
        lac_index_t it = wide ? LAC_I64 : LAC_I32;
        make_rows(&rows, m, n, &random);
        for (int64_t i = 0; i < count; i++)
            list64[i] = unit_between(&random, -1, m), list32[i] = (int32_t)list64[i];
        memset(want, 0, sizeof want);
        for (int64_t i = 0; i < count; i++)
            for (int64_t e = 0, r = list64[i]; r >= 0 && r < m && rows.ptr64[r] + e < rows.ptr64[r + 1]; e++)
                want[i * n + rows.idx32[rows.ptr64[r] + e]] += value_of(&rows, rows.ptr64[r] + e);
        lac_obj_t out = view(LAC_F32, count, n, got, &random), copy = out;
        for (int i = 0; i < 2 * CELLS; i++)
            got[i] = again[i] = NAN, dense[i] = (float)unit_between(&random, -8, 8) / 2.0f;
        copy.buf = again;
        set_threads(ctx, "1");
        unit_expect(lac_csr_slice_rows(ctx, &rows.csr, it, count, list, &out), LAC_OK, "slice");
        set_threads(ctx, "3");
        unit_expect(lac_csr_slice_rows(ctx, &rows.csr, it, count, list, &copy), LAC_OK, "slice");
        assert_memory_equal(got, again, sizeof got);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < n; j++)
                near("slice", round, i * n + j, (double)got[place(&out, i, j)], want[i * n + j]);
        lac_obj_t grad = view(LAC_F32, count, n, dense, &random);
        static float grads[ENTRIES], same[ENTRIES];
        unit_expect(lac_csr_slice_rows_grad(ctx, &rows.csr, it, count, list, &grad, grads), LAC_OK,
                    "gradient");
        set_threads(ctx, "1");
        unit_expect(lac_csr_slice_rows_grad(ctx, &rows.csr, it, count, list, &grad, same), LAC_OK,
                    "gradient");
        assert_memory_equal(grads, same, sizeof grads);
        for (int64_t r = 0; r < m; r++)
            for (int64_t e = rows.ptr64[r]; e < rows.ptr64[r + 1]; e++) {
                double sum = 0.0;
                for (int64_t i = 0; i < count; i++)
                    if (list64[i] == r) sum += (double)dense[place(&grad, i, rows.idx32[e])];
                near("gradient", round, e, (double)grads[e], sum);
            }
    }
    set_threads(ctx, "1");
}

static void test_samples(void **state)
{
    lac_ctx_t *ctx = *state;
    static float values[ENTRIES];
    uint64_t random = 53;
    for (int round = 0; round < (unit_quick() ? 60 : 1000); round++) {
        int64_t m = unit_between(&random, 0, MOST), n = unit_between(&random, 0, MOST),
                k = unit_between(&random, 0, MOST);
        make_rows(&rows, m, n, &random);
        for (int i = 0; i < 2 * CELLS; i++)
            dense[i] = (float)unit_between(&random, -8, 8) / 2.0f,
            other[i] = (float)unit_between(&random, -8, 8) / 4.0f;
        lac_obj_t x = view(LAC_F32, m, k, dense, &random), y = view(LAC_F32, k, n, other, &random);
        unit_expect(lac_csr_sddmm(ctx, &x, &y, &rows.csr, values), LAC_OK, "sddmm");
        for (int64_t i = 0; i < m; i++)
            for (int64_t e = rows.ptr64[i]; e < rows.ptr64[i + 1]; e++) {
                double sum = 0.0;
                for (int64_t l = 0; l < k; l++)
                    sum += (double)dense[place(&x, i, l)] * (double)other[place(&y, l, rows.idx32[e])];
                near("sample", round, e, (double)values[e], sum);
            }
    }
}

/* Sums of many terms stay right: 2^24 + 1 + 1 + ... in float would not move. */
static void test_long_sums(void **state)
{
    enum { TERMS = 5000 };
    int32_t *idx = calloc(TERMS, sizeof *idx);
    float *val = malloc(TERMS * sizeof *val), *x = malloc(TERMS * sizeof *x), y;
    assert_true(idx && val && x);
    for (int i = 0; i < TERMS; i++) val[i] = i ? 1.0f : 16777216.0f, x[i] = 1.0f;
    lac_csr_t a = {
        .size = sizeof a, .m = TERMS, .n = 1, .nnz = TERMS, .idx = idx, .val = val, .trans = LAC_TRANS};
    lac_obj_t b = lac_obj_rowmajor(LAC_F32, TERMS, 1, x, 1), c = lac_obj_rowmajor(LAC_F32, 1, 1, &y, 1);
    unit_expect(lac_csr_gemm(*state, &a, &b, 0, &c), LAC_OK, "scattered");
    assert_true(y == 16777216.0f + 5000.0f);
    a.m = 1, a.trans = LAC_NO_TRANS, b = lac_obj_rowmajor(LAC_F32, 1, 1, x, 1);
    unit_expect(lac_csr_gemm(*state, &a, &b, 0, &c), LAC_OK, "gathered");
    assert_true(y == 16777216.0f + 5000.0f);
    free(idx), free(val), free(x);
}

/* More events than are added up in float, in so many columns that only touched sums are kept, and in few. */
static void test_many_columns(void **state)
{
    enum { ROWS = 2000, WIDE = 100000, NARROW = 500 };
    int32_t *idx = malloc(ROWS * sizeof *idx);
    uint8_t *x = malloc(ROWS);
    float *y = malloc(WIDE * sizeof *y);
    double *want = malloc(WIDE * sizeof *want);
    uint64_t random = 54;
    assert_true(idx && x && y && want);
    for (int64_t cols = WIDE; cols; cols = cols == WIDE ? NARROW : 0) {
        for (int64_t j = 0; j < cols; j++) want[j] = 0.0, y[j] = NAN;
        for (int i = 0; i < ROWS; i++) {
            idx[i] = (int32_t)unit_between(&random, 0, cols - 1);
            x[i] = unit_between(&random, 0, 9) != 0;
            want[idx[i]] += x[i] ? 0.5 : 0.0;
        }
        float half = 0.5f;
        lac_csr_t a = {.size = sizeof a,
                       .m = ROWS,
                       .n = cols,
                       .nnz = ROWS,
                       .idx = idx,
                       .val = &half,
                       .homogeneous = 1,
                       .trans = LAC_TRANS};
        lac_obj_t b = lac_obj_rowmajor(LAC_U8, ROWS, 1, x, 1), c = lac_obj_rowmajor(LAC_F32, cols, 1, y, 1);
        for (int turn = 0; turn < 2; turn++) {
            unit_expect(lac_csr_gemm(*state, &a, &b, 1, &c), LAC_OK, "scattered");
            for (int64_t j = 0; j < cols; j++) assert_true((double)y[j] == want[j]);
        }
        idx[7] = (int32_t)cols;
        x[7] = 1;
        unit_expect(lac_csr_gemm(*state, &a, &b, 1, &c), LAC_ERR_VALUE, "a wrong index");
    }
    free(idx), free(x), free(y), free(want);
}

static void refuse(lac_status_t status, lac_status_t want, const char *word)
{
    unit_expect(status, want, word);
    unit_expect_text(lac_last_error(), word);
}

static void test_wrong_places(void **state)
{
    lac_ctx_t *ctx = *state;
    int32_t ptr[] = {0, 1, 3}, idx[] = {1, 0, 2}, perm[] = {2, 1, 0}, list[] = {1};
    float val[] = {1, 2, 3}, x[] = {1, 1, 1}, y[3], line[3], grad[3];
    lac_csr_t
        a = {.size = sizeof a, .m = 2, .n = 3, .nnz = 3, .ptr = ptr, .idx = idx, .val = val, .perm = perm},
        t = a;
    lac_obj_t b3 = lac_obj_rowmajor(LAC_F32, 3, 1, x, 1), c2 = lac_obj_rowmajor(LAC_F32, 2, 1, y, 1),
              b2 = lac_obj_rowmajor(LAC_F32, 2, 1, x, 1), c3 = lac_obj_rowmajor(LAC_F32, 3, 1, y, 1),
              o = lac_obj_rowmajor(LAC_F32, 1, 3, line, 3), x1 = lac_obj_rowmajor(LAC_F32, 2, 1, x, 1),
              y1 = lac_obj_rowmajor(LAC_F32, 1, 3, x, 3);
    t.trans = LAC_TRANS;
    struct {
        int32_t *at;
        const char *word;
        int32_t wrong;
        bool everywhere;
    } spoilt[] = {{&ptr[2], "ptr[1]", 4, true},    {&ptr[2], "ptr[1]", 0, true},
                  {&ptr[1], "ptr[", -1, true},     {&idx[2], "idx[2]", 3, true},
                  {&idx[1], "idx[1]", -1, true},   {&perm[1], "perm[1]", 3, false},
                  {&perm[1], "perm[1]", -1, false}};
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        int32_t before = *spoilt[i].at;
        *spoilt[i].at = spoilt[i].wrong;
        refuse(lac_csr_gemm(ctx, &a, &b3, 0, &c2), LAC_ERR_VALUE, spoilt[i].word);
        refuse(lac_csr_gemm(ctx, &t, &b2, 0, &c3), LAC_ERR_VALUE, spoilt[i].word);
        refuse(lac_csr_slice_rows(ctx, &a, LAC_I32, 1, list, &o), LAC_ERR_VALUE, spoilt[i].word);
        lac_status_t want = spoilt[i].everywhere ? LAC_ERR_VALUE : LAC_OK;
        unit_expect(lac_csr_slice_rows_grad(ctx, &a, LAC_I32, 1, list, &o, grad), want, "gradient");
        unit_expect(lac_csr_sddmm(ctx, &x1, &y1, &a, grad), want, "sddmm");
        *spoilt[i].at = before;
    }
    unit_expect(lac_csr_slice_rows(ctx, &a, LAC_I32, 1, list, &o), LAC_OK, "afterwards");
    assert_true(line[0] == 2.0f && line[1] == 0.0f && line[2] == 1.0f); /* nothing was left in the scratch */
}

static void test_bad_input(void **state)
{
    lac_ctx_t *ctx = *state;
    int32_t ptr[] = {0, 1, 3}, idx[] = {1, 0, 2}, list[] = {1};
    float val[] = {1, 2, 3}, x[] = {1, 1, 1}, y[8], grad[3];
    const lac_csr_t a = {.size = sizeof a, .m = 2, .n = 3, .nnz = 3, .ptr = ptr, .idx = idx, .val = val};
    lac_csr_t bad;
    lac_obj_t b = lac_obj_rowmajor(LAC_F32, 3, 1, x, 1), c = lac_obj_rowmajor(LAC_F32, 2, 1, y, 1),
              o = lac_obj_rowmajor(LAC_F32, 1, 3, y, 3), wrong;
#define REFUSE(change, status, word)                                                                         \
    (bad = a, (change), refuse(lac_csr_gemm(ctx, &bad, &b, 0, &c), status, word))
    REFUSE(bad.size = 8, LAC_ERR_VALUE, "a.size");
    REFUSE(bad.it = (lac_index_t)7, LAC_ERR_TYPE, "index type");
    REFUSE(bad.trans = (lac_trans_t)7, LAC_ERR_VALUE, "a.trans");
    REFUSE(bad.m = -1, LAC_ERR_EXTENT, "a: ");
    REFUSE(bad.nnz = INT64_MAX, LAC_ERR_EXTENT, "a: ");
    REFUSE(bad.idx = NULL, LAC_ERR_NULL, "a.idx");
    REFUSE((bad.val = NULL, bad.homogeneous = 1), LAC_ERR_NULL, "a.val");
    REFUSE(bad.ptr = NULL, LAC_ERR_EXTENT, "a.nnz");
    REFUSE(bad.m = 3, LAC_ERR_EXTENT, "c: is 2 x 1");
    REFUSE(bad.trans = LAC_TRANS, LAC_ERR_EXTENT, "b: is 3 x 1");
#undef REFUSE
    refuse(lac_csr_gemm(NULL, &a, &b, 0, &c), LAC_ERR_NULL, "ctx");
    refuse(lac_csr_gemm(ctx, NULL, &b, 0, &c), LAC_ERR_NULL, "a: ");
    refuse(lac_csr_gemm(ctx, &a, NULL, 0, &c), LAC_ERR_NULL, "b: ");
    refuse(lac_csr_gemm(ctx, &a, &b, 0, NULL), LAC_ERR_NULL, "c");
    wrong = b, wrong.dt = (lac_dt_t)9;
    refuse(lac_csr_gemm(ctx, &a, &wrong, 0, &c), LAC_ERR_TYPE, "b");
    wrong = c, wrong.dt = LAC_U8;
    refuse(lac_csr_gemm(ctx, &a, &b, 0, &wrong), LAC_ERR_TYPE, "c");
    wrong = c, wrong.buf = x;
    refuse(lac_csr_gemm(ctx, &a, &b, 0, &wrong), LAC_ERR_ALIAS, "overlaps b");
    wrong.buf = val;
    refuse(lac_csr_gemm(ctx, &a, &b, 0, &wrong), LAC_ERR_ALIAS, "overlaps a.val");
    wrong.buf = idx;
    refuse(lac_csr_gemm(ctx, &a, &b, 0, &wrong), LAC_ERR_ALIAS, "overlaps a.idx");
    lac_obj_t events = lac_obj_rowmajor(LAC_F32, 2, 1, x, 1);
    refuse(lac_csr_count(ctx, &a, &b, counts), LAC_ERR_VALUE, "a.trans");
    bad = a, bad.trans = LAC_TRANS;
    refuse(lac_csr_count(ctx, &bad, NULL, counts), LAC_ERR_NULL, "b: ");
    refuse(lac_csr_count(ctx, &bad, &b, counts), LAC_ERR_EXTENT, "b: is 3 x 1");
    refuse(lac_csr_count(ctx, &bad, &events, NULL), LAC_ERR_NULL, "counts");
    refuse(lac_csr_count(ctx, &bad, &events, (int32_t *)(void *)x), LAC_ERR_ALIAS, "counts: overlaps b");
    refuse(lac_csr_count(ctx, &bad, &events, idx), LAC_ERR_ALIAS, "counts: overlaps a.idx");
    idx[1] = 3, x[1] = 1;
    refuse(lac_csr_count(ctx, &bad, &events, counts), LAC_ERR_VALUE, "a.idx[1]");
    idx[1] = 0;
    refuse(lac_csr_slice_rows(ctx, &bad, LAC_I32, 1, list, &o), LAC_ERR_VALUE, "a.trans");
    refuse(lac_csr_slice_rows(ctx, &a, LAC_I32, -1, list, &o), LAC_ERR_EXTENT, "count");
    refuse(lac_csr_slice_rows(ctx, &a, LAC_I32, 1, NULL, &o), LAC_ERR_NULL, "rows");
    refuse(lac_csr_slice_rows(ctx, &a, (lac_index_t)5, 1, list, &o), LAC_ERR_TYPE, "it: ");
    refuse(lac_csr_slice_rows(ctx, &a, LAC_I32, 2, list, &o), LAC_ERR_EXTENT, "out: is 1 x 3");
    refuse(lac_csr_slice_rows_grad(ctx, &a, LAC_I32, 1, list, &o, NULL), LAC_ERR_NULL, "grad_val");
    refuse(lac_csr_slice_rows_grad(ctx, &a, LAC_I32, 1, list, &o, y), LAC_ERR_ALIAS,
           "grad_val: overlaps grad_out");
    lac_obj_t x1 = lac_obj_rowmajor(LAC_F32, 2, 1, y, 1), y1 = lac_obj_rowmajor(LAC_F32, 1, 3, x, 3);
    refuse(lac_csr_sddmm(ctx, &x1, &y1, &a, NULL), LAC_ERR_NULL, "values");
    refuse(lac_csr_sddmm(ctx, &x1, &y1, &a, x), LAC_ERR_ALIAS, "values: overlaps y");
    refuse(lac_csr_sddmm(ctx, &x1, &y1, &a, y), LAC_ERR_ALIAS, "values: overlaps x");
    refuse(lac_csr_sddmm(ctx, &y1, &x1, &a, grad), LAC_ERR_EXTENT, "x: ");
    refuse(lac_csr_sddmm(ctx, &x1, &y1, &bad, grad), LAC_ERR_VALUE, "pattern.trans");
}

/* Parted by delay: the entries of a row of the result are those of its delay, in their order. */
static void test_by_delay(void **state)
{
    enum { DELAYS_MAX = 6, PAD = 5, ROWS = (DELAYS_MAX - 1) * (MOST + PAD) + MOST };
    static rows_t r;
    static int64_t ptr[ROWS + 1], idx[ENTRIES], order[ENTRIES]; /* or half as long */
    static int32_t delay[ENTRIES];
    static float val[ENTRIES];
    uint64_t random = 77;
    for (int round = 0; round < 300; round++) {
        int64_t m = unit_between(&random, 0, MOST), delays = unit_between(&random, 1, DELAYS_MAX),
                pitch = m + unit_between(&random, 0, PAD), most = (delays - 1) * pitch + m, at = 0;
        make_rows(&r, m, unit_between(&random, 1, COLUMNS), &random);
        for (int64_t e = 0; e < r.csr.nnz; e++) delay[e] = (int32_t)unit_between(&random, 1, delays);
        bool wide = r.csr.it == LAC_I64, fewer = round % 4 == 0;
        memset(ptr, 0xee, sizeof ptr);
        unit_expect(lac_csr_by_delay(*state, &r.csr, delay, delays, pitch, ptr, fewer ? NULL : idx,
                                     fewer ? NULL : val, round % 3 ? order : NULL),
                    LAC_OK, "by delay");
        for (int64_t row = 0; row < most; row++) {
            int64_t d = pitch ? row / pitch + 1 : 1, i = pitch ? row % pitch : row;
            assert_int_equal(wide ? ptr[row] : ((int32_t *)ptr)[row], at);
            for (int64_t e = i < m ? r.ptr32[i] : 0; e < (i < m ? r.ptr32[i + 1] : 0); e++) {
                if (delay[e] != d) continue;
                if (round % 3) assert_int_equal(wide ? order[at] : ((int32_t *)order)[at], e);
                if (!fewer) {
                    assert_int_equal(wide ? idx[at] : ((int32_t *)idx)[at], r.idx32[e]);
                    assert_true(val[at] == (float)value_of(&r, e));
                }
                at++;
            }
        }
        assert_int_equal(wide ? ptr[most] : ((int32_t *)ptr)[most], at);
        assert_int_equal(at, r.csr.nnz);
    }
}

/* What is wrong is named, and nothing is written. */
static void test_wrong_delays(void **state)
{
    lac_ctx_t *ctx = *state;
    int32_t ptr[] = {0, 1, 3}, idx[] = {1, 0, 2}, perm[] = {2, 1, 0}, delay[] = {1, 3, 2}, out[8], to[3],
            order[3];
    float val[] = {1, 2, 3}, values[3];
    const lac_csr_t a = {
        .size = sizeof a, .m = 2, .n = 3, .nnz = 3, .ptr = ptr, .idx = idx, .val = val, .perm = perm};
    lac_csr_t bad = a;
    memset(out, 7, sizeof out), memset(to, 7, sizeof to);
#define SPLIT(a, delay, delays, pitch, out)                                                                  \
    lac_csr_by_delay(ctx, a, delay, delays, pitch, out, to, values, order)
    refuse(lac_csr_by_delay(NULL, &a, delay, 3, 2, out, to, values, order), LAC_ERR_NULL, "ctx");
    refuse(SPLIT(NULL, delay, 3, 2, out), LAC_ERR_NULL, "a: ");
    refuse(SPLIT(&a, NULL, 3, 2, out), LAC_ERR_NULL, "delay");
    refuse(SPLIT(&a, delay, 3, 2, NULL), LAC_ERR_NULL, "ptr: ");
    refuse(SPLIT(&a, delay, 0, 2, out), LAC_ERR_EXTENT, "delays");
    refuse(SPLIT(&a, delay, 3, 1, out), LAC_ERR_EXTENT, "pitch");
    refuse(SPLIT(&a, delay, 3, INT64_MAX / 2, out), LAC_ERR_EXTENT, "pitch");
    refuse(SPLIT(&a, delay, 2, 2, out), LAC_ERR_VALUE, "delay[1]: 3 is outside [1, 2]");
    refuse(SPLIT(&a, delay, 3, 2, idx), LAC_ERR_ALIAS, "ptr: overlaps ");
    refuse(SPLIT(&a, delay, 3, 2, delay), LAC_ERR_ALIAS, "ptr: overlaps ");
    refuse(lac_csr_by_delay(ctx, &a, delay, 3, 2, out, out + 2, values, order), LAC_ERR_ALIAS,
           "idx: overlaps ptr");
    bad.trans = LAC_TRANS;
    refuse(SPLIT(&bad, delay, 3, 2, out), LAC_ERR_VALUE, "a.trans");
    delay[0] = 0;
    refuse(SPLIT(&a, delay, 3, 2, out), LAC_ERR_VALUE, "delay[0]: 0 is outside [1, 3]");
    delay[0] = 1, idx[2] = 3;
    refuse(SPLIT(&a, delay, 3, 2, out), LAC_ERR_VALUE, "a.idx[2]: 3");
    idx[2] = 2, perm[1] = -1;
    refuse(SPLIT(&a, delay, 3, 2, out), LAC_ERR_VALUE, "a.perm[1]: -1");
    perm[1] = 1;
    static const int32_t wrong[][3] = {{1, 1, 3}, {0, 4, 3}, {0, -1, 3}, {0, 1, 2}};
    for (int i = 0; i < 4; i++) {
        memcpy(ptr, wrong[i], sizeof ptr);
        refuse(SPLIT(&a, delay, 3, 2, out), LAC_ERR_VALUE, "a.ptr[");
    }
#undef SPLIT
    for (int i = 0; i < 7; i++) assert_int_equal(out[i], 0x07070707);
    for (int i = 0; i < 3; i++) assert_int_equal(to[i], 0x07070707);
}

static void test_unavailable(void **state)
{
    lac_ctx_t *ctx = *state;
    const lac_backend_t *own = ctx->backend;
    lac_backend_t without = *own;
    lac_csr_t a = {.size = sizeof a};
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, 0, 0, NULL, 1);
    without.csr = NULL;
    ctx->backend = &without;
    refuse(lac_csr_gemm(ctx, &a, &o, 0, &o), LAC_ERR_UNAVAILABLE, "no such operator");
    ctx->backend = own;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),     cmocka_unit_test(test_zeros_guard),
        cmocka_unit_test(test_slices),       cmocka_unit_test(test_samples),
        cmocka_unit_test(test_long_sums),    cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_wrong_places), cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_by_delay),     cmocka_unit_test(test_wrong_delays),
        cmocka_unit_test(test_unavailable)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
