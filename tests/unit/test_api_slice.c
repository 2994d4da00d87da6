/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lac_slice_rows: rows, duplicates, types, layouts, homogeneous values, columns, batches and CSR, exact to
 * the bit, with 1, 2 and 3 threads. */
#include "slice_case.h"

#include <stdlib.h>
#include <string.h>

enum { M = 10, N = 15 };

static uint64_t seed = 5;

static slice_case_t small_case(bool values)
{
    slice_case_t c;
    slice_case_make(&c, M, N, 0.3, LAC_I32, values, &seed);
    return c;
}

static void expect_list(const int64_t *rows, int64_t count, const char *what)
{
    slice_case_t c = small_case(true);
    slice_expect_rows(&c, rows, count, what);
    slice_case_free(&c);
}

static void test_single_row(void **state)
{
    (void)state;
    static const int64_t rows[] = {0, 3, M - 1};
    for (int i = 0; i < 3; i++) expect_list(rows + i, 1, "single row");
}

static void test_multi_row(void **state)
{
    (void)state;
    expect_list((const int64_t[]){0, 3, 7}, 3, "three rows");
    expect_list((const int64_t[]){7, 0, 3}, 3, "rows in any order");
}

static void test_array_index(void **state)
{
    (void)state;
    expect_list((const int64_t[]){0, 2, 4, 6, 8}, 5, "every other row");
}

static void test_duplicate_rows(void **state)
{
    (void)state;
    expect_list((const int64_t[]){2, 2, 5, 5, 2}, 5, "duplicates");
}

static void test_all_rows(void **state)
{
    (void)state;
    int64_t rows[M];
    for (int i = 0; i < M; i++) rows[i] = i;
    expect_list(rows, M, "all rows");
}

static void test_no_rows_no_columns(void **state)
{
    (void)state;
    slice_case_t c;
    expect_list(NULL, 0, "no rows");
    slice_case_make(&c, M, 0, 0.3, LAC_I64, true, &seed);
    slice_expect_rows(&c, (const int64_t[]){1, 2}, 2, "no columns");
    slice_case_free(&c);
    slice_case_make(&c, 0, N, 0.3, LAC_I32, true, &seed);
    slice_expect_rows(&c, NULL, 0, "no rows of none");
    slice_case_free(&c);
}

static void test_oob_row(void **state)
{
    (void)state;
    static const int64_t rows[] = {4, 999, -1, M, 2, INT64_MIN, INT64_MAX};
    slice_case_t c = small_case(true);
    float *out = slice_poison(7 * N), *before = slice_poison(7 * N);
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, 7, N, out, N);
    unit_expect(lac_slice_rows(slice_ctx(1), &c.a, LAC_I64, 7, rows, &o, NULL), LAC_ERR_VALUE, "outside");
    unit_expect_text(lac_last_error(), "rows[1]: is 999, outside [0, 10)");
    assert_memory_equal(out, before, 7 * N * sizeof *out);
    lac_slice_opts_t zeros = {.size = sizeof zeros, .zero_rows = 1};
    unit_expect(lac_slice_rows(slice_ctx(1), &c.a, LAC_I64, 7, rows, &o, &zeros), LAC_OK, "zero rows");
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < N; j++)
            assert_true(out[i * N + j] == (i == 0 || i == 4 ? c.dense[rows[i] * N + j] : 0.0f));
    free(out), free(before);
    slice_case_free(&c);
}

/* Homogeneous: given, or 1, in place of values that are there, or where none are. */
static void check_homo(const int64_t *rows, int64_t count, const float *weight)
{
    for (int values = 0; values < 2; values++) {
        slice_case_t c = small_case(values);
        float *out = slice_poison(count * N);
        lac_obj_t o = lac_obj_rowmajor(LAC_F32, count, N, out, N);
        lac_slice_opts_t options = {.size = sizeof options, .val = weight, .homogeneous = 1};
        unit_expect(lac_slice_rows(slice_ctx(values), &c.a, LAC_I64, count, rows, &o, &options), LAC_OK,
                    "homogeneous");
        for (int64_t i = 0; i < count; i++)
            for (int j = 0; j < N; j++) {
                float want = c.dense[rows[i] * N + j] != 0.0f ? weight ? *weight : 1.0f : 0.0f;
                assert_true(out[i * N + j] == want);
            }
        free(out);
        slice_case_free(&c);
    }
}

static void test_homo_single_row(void **state)
{
    (void)state;
    const float weight = 1.5f;
    for (int64_t row = 0; row < M; row += 3) check_homo(&row, 1, &weight);
}

static void test_homo_multi_row(void **state)
{
    (void)state;
    const float weight = -2.25f;
    check_homo((const int64_t[]){0, 3, 7, 3}, 4, &weight);
    check_homo((const int64_t[]){0, 3, 7, 3}, 4, NULL);
}

static void test_homo_all_rows(void **state)
{
    (void)state;
    const float weight = 1.5f;
    int64_t rows[M];
    for (int i = 0; i < M; i++) rows[i] = i;
    check_homo(rows, M, &weight);
    slice_case_t c = small_case(false);
    slice_expect_rows(&c, rows, M, "CSR without values");
    slice_case_free(&c);
}

/* Columns of the stored matrix, by trans and its CSC; the output lies as the columns do. */
static void check_columns(const int64_t *columns, int64_t count)
{
    slice_case_t c = small_case(true); /* its CSR is the CSC of the transpose, which is N x M */
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, N, M, NULL, M);
    unit_expect(lac_meta_create(&a.meta, N, M), LAC_OK, "create");
    unit_expect(lac_meta_attach_csc(a.meta, c.it, c.ptr, c.idx, c.val), LAC_OK, "attach");
    a.trans = LAC_TRANS;
    float *out = slice_poison(N * count);
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, N, count, out, count);
    o.trans = LAC_TRANS;
    unit_expect(lac_slice_rows(slice_ctx(0), &a, LAC_I64, count, columns, &o, NULL), LAC_OK, "columns");
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < count; j++) assert_true(out[i * count + j] == c.dense[columns[j] * N + i]);
    a.trans = LAC_NO_TRANS;
    unit_expect(lac_slice_rows(slice_ctx(0), &a, LAC_I64, count, columns, &o, NULL), LAC_ERR_EXTENT,
                "rows of the same");
    lac_meta_free(a.meta);
    free(out);
    slice_case_free(&c);
}

static void test_single_col(void **state)
{
    (void)state;
    check_columns((const int64_t[]){3}, 1);
}

static void test_multi_col(void **state)
{
    (void)state;
    check_columns((const int64_t[]){0, 3, 7}, 3);
}

static void test_array_col(void **state)
{
    (void)state;
    check_columns((const int64_t[]){1, 5, 9, 5}, 4);
}

static const int64_t one_set[] = {1, 3, 5};

/* Other values over one pattern: the operand is attached once. */
static void test_vmap_over_data(void **state)
{
    (void)state;
    slice_case_t c = small_case(true);
    float *batch = slice_random(3 * c.nnz, &seed), *out = slice_poison(3 * 3 * N);
    for (int b = 0; b < 3; b++) {
        lac_slice_opts_t options = {.size = sizeof options, .val = batch + b * c.nnz};
        lac_obj_t o = lac_obj_rowmajor(LAC_F32, 3, N, out + b * 3 * N, N);
        unit_expect(lac_slice_rows(slice_ctx(2), &c.a, LAC_I64, 3, one_set, &o, &options), LAC_OK, "batch");
        for (int i = 0; i < 3; i++)
            for (int64_t e = c.first[one_set[i]]; e < c.first[one_set[i] + 1]; e++)
                assert_true(out[(b * 3 + i) * N + c.column[e]] == batch[b * c.nnz + e]);
    }
    free(batch), free(out);
    slice_case_free(&c);
}

/* Sets of rows over one operand: a list of lists is one longer list. */
static void test_vmap_over_row_indices(void **state)
{
    (void)state;
    static const int64_t sets[3][2] = {{0, 1}, {2, 3}, {4, 5}};
    slice_case_t c = small_case(true);
    slice_expect_rows(&c, &sets[0][0], 6, "all sets at once");
    for (int b = 0; b < 3; b++) slice_expect_rows(&c, sets[b], 2, "one set");
    slice_case_free(&c);
}

static void test_scanned_and_frozen(void **state)
{
    (void)state;
    for (int transposed = 0; transposed < 2; transposed++) {
        slice_case_t c = small_case(true);
        lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, N, c.dense, N);
        if (transposed) a = (lac_obj_t){LAC_F32, LAC_HOST, LAC_TRANS, N, M, 1, N, c.dense, NULL};
        unit_expect(lac_meta_create(&a.meta, a.m, a.n), LAC_OK, "create");
        lac_meta_t *given = c.a.meta;
        c.a = a;
        unit_expect(lac_meta_scan(slice_ctx(0), &a, LAC_META_CSR | LAC_META_CSC), LAC_OK, "scan");
        float out[N];
        lac_obj_t o = lac_obj_rowmajor(LAC_F32, 1, N, out, N);
        unit_expect(lac_slice_rows(slice_ctx(0), &a, LAC_I64, 1, one_set, &o, NULL), LAC_ERR_EMPTY,
                    "scanned, not frozen");
        unit_expect(lac_meta_freeze(a.meta), LAC_OK, "freeze");
        slice_expect_rows(&c, one_set, 3, "scanned and frozen");
        unit_expect(lac_meta_touch(a.meta), LAC_OK, "touch");
        unit_expect(lac_slice_rows(slice_ctx(0), &a, LAC_I64, 1, one_set, &o, NULL), LAC_ERR_STALE,
                    "touched");
        unit_expect(lac_meta_freeze(a.meta), LAC_OK, "freeze");
        slice_expect_rows(&c, one_set, 3, "frozen, scanned by the call");
        lac_meta_free(a.meta);
        c.a.meta = given;
        slice_case_free(&c);
    }
}

/* Any layout of out, gaps untouched. */
static void check_layout(const slice_case_t *c, int layout, const int64_t *rows, int64_t count)
{
    int64_t n = c->n, size = 3 * count * (n + 5) + 3 * n + 64;
    lac_obj_t o = {LAC_F32, LAC_HOST, LAC_NO_TRANS, count, n, n + 3, 1, NULL, NULL};
    if (layout == 1) o.rs = 1, o.cs = count + 2;
    if (layout == 2) o.rs = 2 * n + 3, o.cs = 2;
    if (layout == 3) o.rs = 2, o.cs = 2 * count + 1;
    if (layout == 4) o.rs = -(n + 1), o.cs = 1;
    if (layout == 5) o.rs = n + 1, o.cs = -1;
    for (int t = 0; t < SLICE_CONTEXTS; t++) {
        float *memory = slice_poison(size), *poison = slice_poison(1);
        float *out = memory + (layout == 4 ? (count - 1) * (n + 1) : layout == 5 ? n - 1 : 0) + 1;
        o.buf = out;
        unit_expect(lac_slice_rows(slice_ctx(t), &c->a, LAC_I64, count, rows, &o, NULL), LAC_OK, "layout");
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < n; j++) {
                float *at = out + i * o.rs + j * o.cs;
                if (*at != c->dense[rows[i] * n + j])
                    fail_msg("layout %d: %ld x %ld slice of %ld rows, element %ld, %ld", layout, (long)count,
                             (long)n, (long)c->m, (long)i, (long)j);
                memcpy(at, poison, sizeof *at);
            }
        for (int64_t p = 0; p < size; p++)
            if (memcmp(memory + p, poison, sizeof *poison))
                fail_msg("layout %d: wrote at %ld", layout, (long)p);
        free(memory), free(poison);
    }
}

static void test_layouts_tiny_to_large(void **state)
{
    (void)state;
    static const struct {
        int64_t m, n, count;
        double density;
    } shapes[] = {{1, 1, 1, 1.0},      {3, 1, 70, 0.5},    {5, 64, 65, 0.2},     {40, 63, 129, 0.1},
                  {17, 4097, 9, 0.05}, {3, 9000, 5, 0.01}, {300, 250, 400, 0.1}, {2, 70000, 3, 0.001}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        slice_case_t c;
        int64_t count = shapes[s].count, *rows = malloc((size_t)count * sizeof *rows);
        if (unit_quick() && count * shapes[s].n > 50000) count = 50000 / shapes[s].n + 1;
        assert_non_null(rows);
        slice_case_make(&c, shapes[s].m, shapes[s].n, shapes[s].density, s % 2 ? LAC_I64 : LAC_I32, s % 3,
                        &seed);
        for (int64_t i = 0; i < count; i++) rows[i] = unit_between(&seed, 0, c.m - 1);
        for (int layout = 0; layout < 6; layout++) check_layout(&c, layout, rows, count);
        free(rows);
        slice_case_free(&c);
    }
}

/* The slice as CSR, attached again, is the slice. */
static void check_csr(const slice_case_t *c, lac_index_t ptr_it, const int64_t *rows, int64_t count,
                      bool values)
{
    int64_t entries = 0;
    for (int64_t i = 0; i < count; i++) entries += c->first[rows[i] + 1] - c->first[rows[i]];
    int64_t *ptr = malloc((size_t)(count + 1) * sizeof *ptr),
            *idx = malloc((size_t)entries * sizeof *idx + 1);
    float *val = slice_poison(entries);
    assert_true(ptr && idx);
    for (int t = 0; t < SLICE_CONTEXTS; t++) {
        slice_case_t again = {.m = count, .n = c->n, .dense = c->dense};
        memset(idx, 0x7f, (size_t)entries * sizeof *idx);
        unit_expect(lac_slice_rows_count(slice_ctx(t), &c->a, LAC_I64, count, rows, ptr_it, ptr, NULL),
                    LAC_OK, "count");
        assert_int_equal(ptr_it == LAC_I64 ? ptr[count] : ((int32_t *)(void *)ptr)[count], entries);
        unit_expect(lac_slice_rows_csr(slice_ctx(t), &c->a, LAC_I64, count, rows, ptr_it, ptr, idx,
                                       values ? val : NULL, NULL),
                    LAC_OK, "csr");
        again.a = lac_obj_rowmajor(LAC_F32, count, c->n, NULL, c->n);
        unit_expect(lac_meta_create(&again.a.meta, count, c->n), LAC_OK, "create");
        unit_expect(lac_meta_attach_csr(again.a.meta, ptr_it, ptr, idx, values ? val : NULL), LAC_OK,
                    "attach");
        float *out = slice_poison(count * c->n);
        int64_t *all = malloc((size_t)count * sizeof *all + 1);
        lac_obj_t o = lac_obj_rowmajor(LAC_F32, count, c->n, out, c->n);
        for (int64_t i = 0; i < count; i++) all[i] = i;
        unit_expect(lac_slice_rows(slice_ctx(t), &again.a, LAC_I64, count, all, &o, NULL), LAC_OK, "again");
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < c->n; j++) {
                float want = c->dense[rows[i] * c->n + j];
                if (!values) want = want != 0.0f;
                assert_true(out[i * c->n + j] == want);
            }
        lac_meta_free(again.a.meta);
        free(out), free(all);
    }
    free(ptr), free(idx), free(val);
}

static void test_csr(void **state)
{
    (void)state;
    int64_t rows[300];
    slice_case_t c;
    slice_case_make(&c, 60, 500, 0.2, LAC_I64, true, &seed);
    for (int i = 0; i < 300; i++) rows[i] = unit_between(&seed, 0, 59);
    for (int count = 0; count <= 300; count += 150) {
        check_csr(&c, LAC_I32, rows, count, true);
        check_csr(&c, LAC_I64, rows, count, true);
        check_csr(&c, LAC_I64, rows, count, false);
    }
    slice_case_free(&c);
}

static void test_csr_zero_rows_and_one_value(void **state)
{
    (void)state;
    static const int64_t rows[] = {-3, 2, M, 2};
    slice_case_t c = small_case(true);
    int64_t length = c.first[3] - c.first[2];
    int32_t ptr[5], idx[2 * N];
    float val[2 * N];
    const float weight = 0.75f;
    lac_slice_opts_t options = {.size = sizeof options, .val = &weight, .homogeneous = 1, .zero_rows = 1};
    unit_expect(lac_slice_rows_count(slice_ctx(0), &c.a, LAC_I64, 4, rows, LAC_I32, ptr, &options), LAC_OK,
                "count");
    assert_int_equal(ptr[1], 0);
    assert_int_equal(ptr[2], length);
    assert_int_equal(ptr[3], length);
    assert_int_equal(ptr[4], 2 * length);
    unit_expect(lac_slice_rows_csr(slice_ctx(0), &c.a, LAC_I64, 4, rows, LAC_I32, ptr, idx, val, &options),
                LAC_OK, "csr");
    for (int64_t e = 0; e < 2 * length; e++) {
        assert_true(val[e] == weight);
        assert_int_equal(idx[e], c.column[c.first[2] + e % length]);
    }
    slice_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_single_row),
                                       cmocka_unit_test(test_multi_row),
                                       cmocka_unit_test(test_array_index),
                                       cmocka_unit_test(test_duplicate_rows),
                                       cmocka_unit_test(test_all_rows),
                                       cmocka_unit_test(test_no_rows_no_columns),
                                       cmocka_unit_test(test_oob_row),
                                       cmocka_unit_test(test_homo_single_row),
                                       cmocka_unit_test(test_homo_multi_row),
                                       cmocka_unit_test(test_homo_all_rows),
                                       cmocka_unit_test(test_single_col),
                                       cmocka_unit_test(test_multi_col),
                                       cmocka_unit_test(test_array_col),
                                       cmocka_unit_test(test_vmap_over_data),
                                       cmocka_unit_test(test_vmap_over_row_indices),
                                       cmocka_unit_test(test_scanned_and_frozen),
                                       cmocka_unit_test(test_layouts_tiny_to_large),
                                       cmocka_unit_test(test_csr),
                                       cmocka_unit_test(test_csr_zero_rows_and_one_value)};
    unit_begin();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    slice_ctx_free();
    return failed;
}
