/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Attached formats that break the rules: the status, the array and the first bad index, and nothing attached.
 */
#include "unit_support.h"
#include "operand/metadata.h"

#include <stdio.h>
#include <string.h>

enum { M = 3, N = 4 };

static lac_meta_t *fresh(int64_t m, int64_t n)
{
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, m, n), LAC_OK, "create");
    return meta;
}

static void expect_nothing(const lac_meta_t *meta, const char *what)
{
    if (lac_meta_trusted(meta) || lac_meta_density(meta) >= 0) fail_msg("%s: something was attached", what);
}

typedef struct compressed {
    const char *what;
    int64_t ptr[M + 2], idx[8];
    lac_status_t want;
    const char *word;
} compressed_t;

/* Rows of a 3 x 4 matrix; the CSC tests use the 4 x 3 one with the same numbers. */
static const compressed_t compressed[] = {
    {"good", {0, 2, 2, 5}, {0, 3, 1, 2, 3}, LAC_OK, ""},
    {"empty", {0, 0, 0, 0}, {0}, LAC_OK, ""},
    {"full", {0, 4, 4, 8}, {0, 1, 2, 3, 0, 1, 2, 3}, LAC_OK, ""},
    {"ptr[0] not 0", {1, 2, 2, 5}, {0, 3, 1, 2, 3}, LAC_ERR_SPARSE, "ptr[0]"},
    {"ptr[0] negative", {-1, 2, 2, 5}, {0, 3, 1, 2, 3}, LAC_ERR_SPARSE, "ptr[0]"},
    {"ptr decreasing", {0, 2, 1, 5}, {0, 3, 1, 2, 3}, LAC_ERR_SPARSE, "ptr[2]"},
    {"ptr negative", {0, 2, -5, 5}, {0, 3, 1, 2, 3}, LAC_ERR_SPARSE, "ptr[2]"},
    {"row longer than the extent", {0, 5, 5, 5}, {0, 1, 2, 3, 3}, LAC_ERR_SPARSE, "ptr[1]"},
    {"unsorted", {0, 2, 2, 5}, {3, 0, 1, 2, 3}, LAC_ERR_SPARSE, "idx[1]"},
    {"duplicate", {0, 2, 2, 5}, {0, 3, 1, 1, 3}, LAC_ERR_SPARSE, "duplicate"},
    {"idx beyond", {0, 2, 2, 5}, {0, 4, 1, 2, 3}, LAC_ERR_SPARSE, "idx[1]"},
    {"idx negative", {0, 2, 2, 5}, {-1, 3, 1, 2, 3}, LAC_ERR_SPARSE, "idx[0]"},
    {"last idx beyond", {0, 2, 2, 5}, {0, 3, 1, 2, 4}, LAC_ERR_SPARSE, "idx[4]"},
};

static lac_status_t attach(lac_meta_t *meta, bool csr, lac_index_t it, const void *ptr, const void *idx,
                           const float *val)
{
    return (csr ? lac_meta_attach_csr : lac_meta_attach_csc)(meta, it, ptr, idx, val);
}

static void test_compressed(void **state)
{
    (void)state;
    static const float val[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t i = 0; i < sizeof compressed / sizeof *compressed; i++)
        for (int variant = 0; variant < 8; variant++) {
            const compressed_t *t = &compressed[i];
            bool csr = variant & 1, wide = variant & 2;
            int32_t ptr[M + 1], idx[8];
            char what[128];
            for (int p = 0; p <= M; p++) ptr[p] = (int32_t)t->ptr[p];
            for (int p = 0; p < 8; p++) idx[p] = (int32_t)t->idx[p];
            lac_meta_t *meta = csr ? fresh(M, N) : fresh(N, M);
            snprintf(what, sizeof what, "%s, %s, %s", t->what, csr ? "csr" : "csc", wide ? "i64" : "i32");
            lac_status_t status =
                attach(meta, csr, wide ? LAC_I64 : LAC_I32, wide ? (const void *)t->ptr : ptr,
                       wide ? (const void *)t->idx : idx, variant & 4 ? val : NULL);
            unit_expect(status, t->want, what);
            unit_expect_text(lac_last_error(), t->word);
            if (status)
                expect_nothing(meta, what);
            else
                assert_int_equal(lac_meta_trusted(meta), 1u << (csr ? LAC_FORMAT_CSR : LAC_FORMAT_CSC));
            lac_meta_free(meta);
        }
}

/* Values that only 64 bits can hold, and whose differences even those cannot. */
static void test_compressed_64(void **state)
{
    (void)state;
    static const struct {
        int64_t ptr[4], idx[2];
        const char *word;
    } cases[] = {
        {{0, INT64_MAX, INT64_MAX, INT64_MAX}, {0, 1}, "ptr[1]"},
        {{0, 2, INT64_MIN, 2}, {0, 1}, "ptr[2]"},
        {{INT64_MIN, 2, 2, 2}, {0, 1}, "ptr[0]"},
        {{0, 2, 2, 2}, {0, (INT64_C(1) << 32) + 1}, "idx[1]"},
        {{0, 2, 2, 2}, {INT64_MIN, 1}, "idx[0]"},
        {{0, INT64_C(1) << 32, INT64_C(1) << 32, INT64_C(1) << 32}, {0, 1}, "ptr[1]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_meta_t *meta = fresh(M, N);
        unit_expect(lac_meta_attach_csr(meta, LAC_I64, cases[i].ptr, cases[i].idx, NULL), LAC_ERR_SPARSE,
                    cases[i].word);
        unit_expect_text(lac_last_error(), cases[i].word);
        expect_nothing(meta, cases[i].word);
        lac_meta_free(meta);
    }
}

static void test_compressed_arguments(void **state)
{
    (void)state;
    static const int32_t ptr[M + 1] = {0, 1, 1, 1}, none[M + 1] = {0}, idx[1] = {2};
    lac_meta_t *meta = fresh(M, N), *big = fresh(INT64_C(1) << 31, 4), *wide = fresh(4, INT64_C(1) << 31);
    for (int csr = 0; csr < 2; csr++) {
        lac_meta_t *x = csr ? meta : fresh(N, M);
        unit_expect(attach(NULL, csr, LAC_I32, ptr, idx, NULL), LAC_ERR_NULL, "meta");
        unit_expect(attach(x, csr, LAC_I32, NULL, idx, NULL), LAC_ERR_NULL, "ptr");
        unit_expect_text(lac_last_error(), "ptr:");
        unit_expect(attach(x, csr, LAC_I32, ptr, NULL, NULL), LAC_ERR_NULL, "idx");
        unit_expect_text(lac_last_error(), "idx:");
        unit_expect(attach(x, csr, (lac_index_t)5, ptr, idx, NULL), LAC_ERR_TYPE, "it");
        unit_expect_text(lac_last_error(), "it:");
        expect_nothing(x, "arguments");
        unit_expect(attach(x, csr, LAC_I32, none, NULL, NULL), LAC_OK, "no entries need no idx");
        unit_expect(attach(big, csr, LAC_I32, ptr, idx, NULL), LAC_ERR_EXTENT, "m");
        unit_expect(attach(wide, csr, LAC_I32, ptr, idx, NULL), LAC_ERR_EXTENT, "n");
        if (!csr) lac_meta_free(x);
    }
    lac_meta_free(meta);
    lac_meta_free(big);
    lac_meta_free(wide);
}

/* Rows of one length: bad widths and indices are named; good ones stand for CSR, too. */
static void test_ell(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int64_t width, idx[8];
        lac_status_t want;
        const char *word;
    } cases[] = {
        {"good", 2, {0, 3, 1, 2, 2, 3}, LAC_OK, ""},
        {"empty", 0, {0}, LAC_OK, ""},
        {"negative", -1, {0}, LAC_ERR_EXTENT, "width: -1"},
        {"too wide", 5, {0}, LAC_ERR_EXTENT, "width"},
        {"far too wide", INT64_MAX, {0}, LAC_ERR_EXTENT, "width"},
        {"unsorted", 2, {0, 3, 2, 1, 2, 3}, LAC_ERR_SPARSE, "idx[3]"},
        {"duplicate", 2, {0, 3, 1, 1, 2, 3}, LAC_ERR_SPARSE, "duplicate"},
        {"beyond", 2, {0, 3, 1, 2, 2, 4}, LAC_ERR_SPARSE, "idx[5]"},
        {"below", 2, {0, 3, -1, 2, 2, 3}, LAC_ERR_SPARSE, "idx[2]"},
    };
    static const float val[8] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int variant = 0; variant < 4; variant++) {
            int32_t idx[8];
            bool wide = variant & 1;
            lac_meta_t *meta = fresh(M, N);
            lac_format_view_t view;
            for (int p = 0; p < 8; p++) idx[p] = (int32_t)cases[i].idx[p];
            lac_status_t status =
                lac_meta_attach_ell(meta, wide ? LAC_I64 : LAC_I32, cases[i].width,
                                    wide ? (const void *)cases[i].idx : idx, variant & 2 ? val : NULL);
            unit_expect(status, cases[i].want, cases[i].what);
            unit_expect_text(lac_last_error(), cases[i].word);
            if (status) {
                expect_nothing(meta, cases[i].what);
                unit_expect(lac_meta_view(meta, LAC_META_ELL, &view), LAC_ERR_EMPTY, cases[i].what);
            } else {
                int64_t width = cases[i].width;
                unit_expect(lac_meta_view(meta, LAC_META_ELL, &view), LAC_OK, cases[i].what);
                assert_true(view.count == M * width && !view.ptr && view.val == (variant & 2 ? val : NULL));
                for (int p = 0; p < view.count; p++) assert_int_equal(view.idx[p], idx[p]);
                unit_expect(lac_meta_view(meta, LAC_META_CSR, &view), LAC_OK, cases[i].what);
                for (int r = 0; r <= M; r++) assert_int_equal(view.ptr[r], r * width);
                assert_true(lac_meta_density(meta) == (double)width / N);
            }
            lac_meta_free(meta);
        }
    lac_meta_t *meta = fresh(M, N);
    unit_expect(lac_meta_attach_ell(NULL, LAC_I32, 1, NULL, NULL), LAC_ERR_NULL, "meta");
    unit_expect(lac_meta_attach_ell(meta, LAC_I32, 1, NULL, NULL), LAC_ERR_NULL, "idx");
    unit_expect_text(lac_last_error(), "idx");
    unit_expect(lac_meta_attach_ell(meta, (lac_index_t)7, 0, NULL, NULL), LAC_ERR_TYPE, "it");
    expect_nothing(meta, "arguments");
    lac_meta_free(meta);
}

static void test_active(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int64_t count;
        int32_t idx[5];
        lac_status_t want;
        const char *word;
    } cases[] = {{"good", 2, {1, 3}, LAC_OK, ""},
                 {"none", 0, {0}, LAC_OK, ""},
                 {"all", 4, {0, 1, 2, 3}, LAC_OK, ""},
                 {"unsorted", 2, {3, 1}, LAC_ERR_SPARSE, "idx[1]"},
                 {"duplicate", 2, {1, 1}, LAC_ERR_SPARSE, "idx[1]"},
                 {"beyond", 2, {1, 4}, LAC_ERR_SPARSE, "idx[1]"},
                 {"negative", 2, {-1, 1}, LAC_ERR_SPARSE, "idx[0]"},
                 {"too many", 5, {0, 1, 2, 3, 4}, LAC_ERR_EXTENT, "count"},
                 {"count negative", -1, {0}, LAC_ERR_EXTENT, "count"}};
    static const float val[5 * M] = {1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_meta_t *meta = fresh(M, N);
        unit_expect(lac_meta_attach_active(meta, cases[i].count, cases[i].idx, val), cases[i].want,
                    cases[i].what);
        unit_expect_text(lac_last_error(), cases[i].word);
        if (cases[i].want) expect_nothing(meta, cases[i].what);
        lac_meta_free(meta);
    }
    lac_meta_t *meta = fresh(M, N), *tall = fresh(INT64_C(1) << 31, 4);
    unit_expect(lac_meta_attach_active(NULL, 0, NULL, NULL), LAC_ERR_NULL, "meta");
    unit_expect(lac_meta_attach_active(meta, 1, NULL, val), LAC_ERR_NULL, "idx");
    unit_expect(lac_meta_attach_active(meta, 1, cases[0].idx, NULL), LAC_ERR_NULL, "val");
    unit_expect(lac_meta_attach_active(meta, 0, NULL, NULL), LAC_OK, "none");
    unit_expect(lac_meta_attach_active(tall, 1, cases[0].idx, val), LAC_ERR_EXTENT, "m");
    lac_meta_free(meta);
    lac_meta_free(tall);
}

static void test_event_lists(void **state)
{
    (void)state;
    static const int32_t idx[M * N], count[M];
    lac_meta_t *meta = fresh(M, N), *tall = fresh(INT64_C(1) << 31, 4), *none = fresh(0, 4);
    unit_expect(lac_meta_attach_event_lists(NULL, N, idx, count, 0), LAC_ERR_NULL, "meta");
    unit_expect(lac_meta_attach_event_lists(meta, N, NULL, count, 0), LAC_ERR_NULL, "idx");
    unit_expect(lac_meta_attach_event_lists(meta, N, idx, NULL, 0), LAC_ERR_NULL, "count");
    unit_expect(lac_meta_attach_event_lists(meta, -1, idx, count, 0), LAC_ERR_EXTENT, "ld");
    unit_expect(lac_meta_attach_event_lists(meta, INT64_C(1) << 31, idx, count, 0), LAC_ERR_EXTENT, "ld");
    unit_expect(lac_meta_attach_event_lists(meta, N, idx, count, -1), LAC_ERR_VALUE, "first");
    unit_expect(lac_meta_attach_event_lists(meta, N, idx, count, INT64_C(1) << 31), LAC_ERR_VALUE, "first");
    unit_expect(lac_meta_attach_event_lists(tall, 4, idx, count, 0), LAC_ERR_EXTENT, "m");
    expect_nothing(meta, "event lists");
    unit_expect(lac_meta_attach_event_lists(none, 4, NULL, NULL, 0), LAC_OK, "no rows");
    unit_expect(lac_meta_attach_event_lists(meta, 0, NULL, count, 0), LAC_OK, "no room");
    unit_expect(lac_meta_attach_event_lists(meta, N, idx, count, INT32_MAX), LAC_OK, "event lists");
    assert_true(lac_meta_trusted(meta) & 1u << LAC_FORMAT_EVENT_LISTS);
    assert_true(lac_meta_density(meta) < 0.0);
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    expect_nothing(meta, "event lists");
    lac_meta_free(meta), lac_meta_free(tall), lac_meta_free(none);
}

static void test_event_bits(void **state)
{
    (void)state;
    static const uint64_t bits[2 * M];
    lac_meta_t *meta = fresh(M, N), *tall = fresh(INT64_C(1) << 31, 4), *none = fresh(0, 4);
    unit_expect(lac_meta_attach_event_bits(NULL, 2, bits, 0), LAC_ERR_NULL, "meta");
    unit_expect(lac_meta_attach_event_bits(meta, 2, NULL, 0), LAC_ERR_NULL, "bits");
    unit_expect(lac_meta_attach_event_bits(meta, -1, bits, 0), LAC_ERR_EXTENT, "ld");
    unit_expect(lac_meta_attach_event_bits(meta, INT64_C(1) << 25, bits, 0), LAC_ERR_EXTENT, "ld");
    unit_expect(lac_meta_attach_event_bits(meta, 0, bits, 0), LAC_ERR_EXTENT, "ld");
    unit_expect(lac_meta_attach_event_bits(meta, 2, bits, 128 - N + 1), LAC_ERR_EXTENT, "ld");
    unit_expect(lac_meta_attach_event_bits(meta, 2, bits, -1), LAC_ERR_VALUE, "first");
    unit_expect(lac_meta_attach_event_bits(meta, 2, bits, INT64_C(1) << 31), LAC_ERR_VALUE, "first");
    unit_expect(lac_meta_attach_event_bits(tall, 2, bits, 0), LAC_ERR_EXTENT, "m");
    expect_nothing(meta, "event bits");
    unit_expect(lac_meta_attach_event_bits(none, 1, NULL, 0), LAC_OK, "no rows");
    unit_expect(lac_meta_attach_event_bits(meta, 2, bits, 128 - N), LAC_OK, "event bits");
    assert_true(lac_meta_trusted(meta) & 1u << LAC_FORMAT_EVENT_BITS);
    assert_true(lac_meta_density(meta) < 0.0);
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    expect_nothing(meta, "event bits");
    lac_meta_free(meta), lac_meta_free(tall), lac_meta_free(none);
}

static void test_bitmask(void **state)
{
    (void)state;
    static const float val[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const uint64_t good[M] = {0x9, 0, 0xe}, beyond[M] = {0x9, 0, 0x1e}, far[M] = {UINT64_C(1) << 63, 0, 0};
    lac_meta_t *meta = fresh(M, N), *empty = fresh(0, 0), *flat = fresh(M, 0);
    unit_expect(lac_meta_attach_bitmask(NULL, good, val), LAC_ERR_NULL, "meta");
    unit_expect(lac_meta_attach_bitmask(meta, NULL, val), LAC_ERR_NULL, "bits");
    unit_expect(lac_meta_attach_bitmask(meta, good, NULL), LAC_ERR_NULL, "val");
    unit_expect_text(lac_last_error(), "val:");
    unit_expect(lac_meta_attach_bitmask(meta, beyond, val), LAC_ERR_SPARSE, "a bit beyond the last column");
    unit_expect_text(lac_last_error(), "row 2");
    unit_expect(lac_meta_attach_bitmask(meta, far, val), LAC_ERR_SPARSE, "the last bit of a word");
    unit_expect_text(lac_last_error(), "row 0");
    expect_nothing(meta, "bitmask");
    unit_expect(lac_meta_attach_bitmask(meta, good, val), LAC_OK, "good");
    assert_true(lac_meta_density(meta) == 5.0 / 12.0);
    unit_expect(lac_meta_attach_bitmask(empty, NULL, NULL), LAC_OK, "0 x 0");
    unit_expect(lac_meta_attach_bitmask(flat, NULL, NULL), LAC_OK, "no columns");
    lac_meta_free(meta);
    lac_meta_free(empty);
    lac_meta_free(flat);
}

/* A mask without words asks for one offset per row: their number must not wrap around. */
static void test_bitmask_extents(void **state)
{
    (void)state;
    static const int64_t rows[] = {INT64_C(1) << 31, INT64_C(1) << 61, INT64_MAX};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lac_meta_t *meta = fresh(rows[i], 0);
        unit_expect(lac_meta_attach_bitmask(meta, NULL, NULL), LAC_ERR_EXTENT, "rows");
        lac_meta_free(meta);
    }
}

/* 64 columns: every bit of the last word may be set. */
static void test_bitmask_whole_words(void **state)
{
    (void)state;
    static float val[128];
    const uint64_t bits[2] = {~UINT64_C(0), ~UINT64_C(0)};
    lac_meta_t *meta = fresh(2, 64), *wide = fresh(1, 128), *odd = fresh(1, 127);
    unit_expect(lac_meta_attach_bitmask(meta, bits, val), LAC_OK, "2 x 64");
    assert_true(lac_meta_density(meta) == 1.0);
    unit_expect(lac_meta_attach_bitmask(wide, bits, val), LAC_OK, "1 x 128");
    unit_expect(lac_meta_attach_bitmask(odd, bits, val), LAC_ERR_SPARSE, "1 x 127");
    lac_meta_free(meta);
    lac_meta_free(wide);
    lac_meta_free(odd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_compressed),
                                       cmocka_unit_test(test_compressed_64),
                                       cmocka_unit_test(test_compressed_arguments),
                                       cmocka_unit_test(test_ell),
                                       cmocka_unit_test(test_active),
                                       cmocka_unit_test(test_event_lists),
                                       cmocka_unit_test(test_event_bits),
                                       cmocka_unit_test(test_bitmask),
                                       cmocka_unit_test(test_bitmask_extents),
                                       cmocka_unit_test(test_bitmask_whole_words)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
