/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * count_rows, fill_rows, collect_rows, fill_bits and probe against plain loops, for every layout and element
 * type. */
#include "kernel_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One S at one layout, in both element types, with what the scans must find in rows [i0, i1). */
typedef struct scan_case {
    const lac_host_kernels_t *k;
    const kernel_case_t *c;
    const real_t *s;
    const uint8_t *bytes;
    int64_t rs, cs, i0, i1;
} scan_case_t;

static void fail_scan(const scan_case_t *t, const char *what, bool bytes)
{
    fail_msg("%s: %s %s %lldx%lld rows %lld to %lld strides %lld %lld density %g seed %llu", what, t->k->isa,
             bytes ? "u8" : "f32", (long long)t->c->m, (long long)t->c->kk, (long long)t->i0,
             (long long)t->i1, (long long)t->rs, (long long)t->cs, t->c->density,
             (unsigned long long)t->c->seed);
}

static void check_count(const scan_case_t *t, const lac_rows_t *want, bool bytes)
{
    int64_t rows = t->i1 - t->i0;
    int64_t *count = malloc((size_t)rows * sizeof *count + 1);
    assert_non_null(count);
    if (bytes)
        t->k->scan_u8.count_rows(t->bytes, t->i0, t->i1, t->c->kk, t->rs, t->cs, count);
    else
        t->k->scan.count_rows(t->s, t->i0, t->i1, t->c->kk, t->rs, t->cs, count);
    for (int64_t r = 0; r < rows; r++)
        if (count[r] != want->ptr[t->i0 + r + 1] - want->ptr[t->i0 + r]) fail_scan(t, "count_rows", bytes);
    free(count);
}

/* Entries of the rows, with room for `more` in each than there are: what is too much is zeros of column 0,
 * and what is too little are the first ones. */
static void check_fill(const scan_case_t *t, const lac_rows_t *want, bool bytes, bool with_idx, bool with_val,
                       int64_t more)
{
    int64_t rows = t->i1 - t->i0, total = want->ptr[t->i1] - want->ptr[t->i0] + rows + 1;
    int64_t *start = malloc((size_t)(rows + 1) * sizeof *start);
    int32_t *idx = malloc((size_t)total * sizeof *idx + 1);
    real_t *val = malloc((size_t)total * sizeof *val + 1);
    assert_true(start && idx && val);
    for (int64_t e = 0; e < total; e++) {
        idx[e] = -1;
        val[e] = -99;
    }
    start[0] = 0;
    for (int64_t r = 0; r < rows; r++) {
        int64_t room = want->ptr[t->i0 + r + 1] - want->ptr[t->i0 + r] + more;
        start[r + 1] = start[r] + (room > 0 ? room : 0);
    }
    int32_t *to_idx = with_idx ? idx : NULL;
    real_t *to_val = with_val ? val : NULL;
    if (bytes)
        t->k->scan_u8.fill_rows(t->bytes, t->i0, t->i1, t->c->kk, t->rs, t->cs, start, to_idx, to_val);
    else
        t->k->scan.fill_rows(t->s, t->i0, t->i1, t->c->kk, t->rs, t->cs, start, to_idx, to_val);
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = want->ptr[t->i0 + r];
        int64_t nnz = want->ptr[t->i0 + r + 1] - from;
        for (int64_t e = 0; e < start[r + 1] - start[r]; e++) {
            real_t value = e >= nnz ? 0.0F
                           : bytes  ? 1.0F
                                    : ((const real_t *)want->val)[from + e],
                   got = val[start[r] + e];
            bool idx_ok = idx[start[r] + e] == (!with_idx ? -1 : e < nnz ? want->idx[from + e] : 0);
            bool val_ok = with_val ? memcmp(&got, &value, sizeof got) == 0 : got == -99;
            if (!idx_ok || !val_ok) fail_scan(t, "fill_rows", bytes);
        }
    }
    for (int64_t e = start[rows]; e < total; e++)
        if (idx[e] != -1 || val[e] != -99) fail_scan(t, "fill_rows: past the end", bytes);
    free(start);
    free(idx);
    free(val);
}

static void check_bits(const scan_case_t *t, const lac_bits_t *want, bool bytes)
{
    size_t length = (size_t)((t->i1 - t->i0) * want->words) * sizeof(uint64_t);
    uint64_t *bits = malloc(length + 1);
    assert_non_null(bits);
    memset(bits, 0xAA, length);
    if (bytes)
        t->k->scan_u8.fill_bits(t->bytes, t->i0, t->i1, t->c->kk, t->rs, t->cs, bits);
    else
        t->k->scan.fill_bits(t->s, t->i0, t->i1, t->c->kk, t->rs, t->cs, bits);
    if (memcmp(bits, want->bits + t->i0 * want->words, length) != 0) fail_scan(t, "fill_bits", bytes);
    free(bits);
}

/* Rows by rows in one reading: entries without gaps, counts, and bits where they are wanted. */
static void check_collect(const scan_case_t *t, const lac_rows_t *want, const lac_bits_t *bits, bool bytes,
                          bool with_idx, bool with_bits)
{
    int64_t rows = t->i1 - t->i0, from = want->ptr[t->i0], total = want->ptr[t->i1] - from;
    size_t room = (size_t)(rows * t->c->kk), length = (size_t)(rows * bits->words) * sizeof(uint64_t);
    int32_t *idx = malloc(room * sizeof *idx + 1);
    real_t *val = malloc(room * sizeof *val + 1);
    uint64_t *words = malloc(length + 1);
    int64_t *count = malloc((size_t)rows * sizeof *count + 1);
    assert_true(idx && val && words && count);
    int32_t *to_idx = with_idx ? idx : NULL;
    uint64_t *to_bits = with_bits ? words : NULL;
    if (bytes)
        t->k->scan_u8.collect_rows(t->bytes, t->i0, t->i1, t->c->kk, t->rs, to_idx, val, to_bits, count);
    else
        t->k->scan.collect_rows(t->s, t->i0, t->i1, t->c->kk, t->rs, to_idx, val, to_bits, count);
    bool right = !with_bits || !memcmp(words, bits->bits + t->i0 * bits->words, length);
    for (int64_t r = 0; r < rows; r++) right &= count[r] == want->ptr[t->i0 + r + 1] - want->ptr[t->i0 + r];
    for (int64_t e = 0; e < total; e++) {
        real_t value = bytes ? 1.0F : ((const real_t *)want->val)[from + e];
        right &= (!with_idx || idx[e] == want->idx[from + e]) && !memcmp(val + e, &value, sizeof value);
    }
    if (!right) fail_scan(t, "collect_rows", bytes);
    free(idx), free(val), free(words), free(count);
}

static void check_range(const scan_case_t *t, const lac_rows_t *rows, const lac_bits_t *bits)
{
    for (int bytes = 0; bytes < 2; bytes++) {
        check_count(t, rows, bytes);
        for (int64_t more = -1; more <= 1; more++) check_fill(t, rows, bytes, true, true, more);
        check_fill(t, rows, bytes, true, false, 1);
        check_fill(t, rows, bytes, false, true, 1);
        check_bits(t, bits, bytes);
        for (int what = 0; t->cs == 1 && what < 4; what++)
            check_collect(t, rows, bits, bytes, what & 1, what & 2);
    }
}

static void scan_rows_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    const int64_t strides[][2] = {{c->kk, 1}, {c->kk + 5, 1}, {1, c->m}, {1, c->m + 3}, {2 * c->kk + 1, 2}};
    lac_rows_t rows = case_rows(c);
    lac_bits_t bits = case_bits(c);
    for (int l = 0; l < 5; l++) {
        int64_t rs = strides[l][0];
        int64_t cs = strides[l][1];
        int64_t extent = c->m && c->kk ? (c->m - 1) * rs + (c->kk - 1) * cs + 1 : 0;
        real_t *s = strided_copy(c->s, c->m, c->kk, rs, cs);
        uint8_t *b = malloc((size_t)extent + 1);
        assert_non_null(b);
        for (int64_t p = 0; p < extent; p++) b[p] = s[p] != 0 ? (uint8_t)(1 + p % 255) : 0;
        scan_case_t t = {k, c, s, b, rs, cs, 0, c->m};
        check_range(&t, &rows, &bits);
        t.i0 = c->m / 3;
        t.i1 = c->m - c->m / 4;
        check_range(&t, &rows, &bits);
        free(s);
        free(b);
    }
    rows_free(&rows);
    bits_free(&bits);
}

static void test_scan_rows(void **state)
{
    (void)state;
    for_each_case(scan_rows_case);
}

/* All positions lie inside, repeat for a seed, and see a density within five standard deviations. */
static void test_probe(void **state)
{
    enum { M = 37, K = 4001, SAMPLES = 4096 };
    const lac_host_kernels_t *k;
    (void)state;
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++)
        for (int l = 0; l < 2; l++) {
            kernel_case_t c = {k->isa, M, K, 1, 0.2, 1, 0, 0, false, 11, 0, 0, 0, 0, 0, 0};
            case_build(&c);
            int64_t rs = l ? 1 : K;
            int64_t cs = l ? M : 1;
            real_t *s = strided_copy(c.s, M, K, rs, cs);
            int64_t nnz = 0;
            for (int64_t p = 0; p < M * K; p++) nnz += s[p] != 0;
            double density = (double)nnz / (M * K);
            int64_t seen = k->scan.probe(s, M, K, rs, cs, SAMPLES, 1);
            double sigma = sqrt(SAMPLES * density * (1 - density));
            assert_true(fabs((double)seen - SAMPLES * density) < 5 * sigma);
            assert_int_equal(seen, k->scan.probe(s, M, K, rs, cs, SAMPLES, 1));
            assert_int_equal(k->scan.probe(s, M, K, rs, cs, 0, 1), 0);
            assert_int_equal(k->scan.probe(s, 0, K, rs, cs, 8, 1), 0);
            free(s);
            case_free(&c);
        }
}

/* A single nonzero row or column is met by samples: the positions spread both ways. */
static void test_probe_spread(void **state)
{
    enum { M = 16, K = 16 };
    uint8_t s[M * K];
    const lac_host_kernels_t *k;
    (void)state;
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++)
        for (int line = 0; line < M; line++)
            for (uint64_t seed = 0; seed < 8; seed++) {
                memset(s, 0, sizeof s);
                memset(s + line * K, 7, K);
                int64_t by_row = k->scan_u8.probe(s, M, K, K, 1, 64, seed);
                int64_t by_column = k->scan_u8.probe(s, M, K, 1, K, 64, seed);
                assert_in_range(by_row, 1, 8);
                assert_in_range(by_column, 1, 8);
            }
}

static void test_names(void **state)
{
    (void)state;
    assert_null(lac_host_kernels_named("mmx", REAL_TYPE));
    assert_null(lac_host_kernels_named(NULL, REAL_TYPE));
    assert_non_null(lac_host_kernels_named("portable", REAL_TYPE));
    assert_ptr_equal(lac_host_kernels(REAL_TYPE), kernel_isa(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_rows),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_probe_spread),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("kernels: scan_rows", tests, NULL, NULL);
}
