/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * csr_rows and csr_cols: right, in the stated order, and the same however the work is cut or packed. */
#include "kernel_case.h"

#include <stdlib.h>

static void rows_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    int64_t ldw = c->n + (int64_t)(c->seed % 3);
    real_t *w = strided_copy(c->w, c->kk, c->n, ldw, 1);
    real_t *scratch = malloc((size_t)lac_csr_scratch(c->kk, sizeof(real_t)) * sizeof *scratch + 1);
    lac_rows_t s = case_rows(c);
    real_t *whole = case_out(c);
    real_t *cut = case_out(c);
    real_t *exact = case_exact(c, ORDER_RUNS);
    int64_t a = c->m / 3;
    int64_t b = c->n / 2;
    assert_non_null(scratch);

    k->csr_rows(&s, 0, c->m, w, ldw, 0, c->n, CASE_OUTPUT(c, whole), scratch);
    case_check(c, whole, 0, c->m, 0, c->n);
    case_same(c, whole, exact, "not in runs of ascending k");
    k->csr_rows(&s, a, c->m, w, ldw, b, c->n, CASE_OUTPUT(c, cut), NULL);
    case_check(c, cut, a, c->m, b, c->n);
    k->csr_rows(&s, 0, a, w, ldw, b, c->n, CASE_OUTPUT(c, cut), scratch);
    k->csr_rows(&s, 0, c->m, w, ldw, 0, b, CASE_OUTPUT(c, cut), NULL);
    case_same(c, whole, cut, "depends on the cut");

    free(w);
    free(scratch);
    free(whole);
    free(cut);
    free(exact);
    rows_free(&s);
}

static void cols_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    int64_t ldw = c->kk + (int64_t)(c->seed % 3);
    real_t *w = strided_copy(c->w, c->kk, c->n, 1, ldw);
    lac_rows_t s = case_rows(c);
    real_t *whole = case_out(c);
    real_t *cut = case_out(c);
    real_t *exact = case_exact(c, ORDER_LANE_OF_ENTRY);
    int64_t a = c->m / 3;
    int64_t b = c->n / 2;

    k->csr_cols(&s, 0, c->m, w, ldw, 0, c->n, CASE_OUTPUT(c, whole));
    case_check(c, whole, 0, c->m, 0, c->n);
    case_same(c, whole, exact, "not in the stated lanes");
    k->csr_cols(&s, a, c->m, w, ldw, b, c->n, CASE_OUTPUT(c, cut));
    case_check(c, cut, a, c->m, b, c->n);
    k->csr_cols(&s, 0, a, w, ldw, b, c->n, CASE_OUTPUT(c, cut));
    k->csr_cols(&s, 0, c->m, w, ldw, 0, b, CASE_OUTPUT(c, cut));
    case_same(c, whole, cut, "depends on the cut");

    free(w);
    free(whole);
    free(cut);
    free(exact);
    rows_free(&s);
}

/* val == NULL means that every entry is 1: the same as values of 1. */
static void ones_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    for (int64_t p = 0; p < c->m * c->kk; p++) c->s[p] = c->s[p] != 0 ? 1.0F : 0.0F;
    real_t *w = strided_copy(c->w, c->kk, c->n, 1, c->kk);
    lac_rows_t s = case_rows(c);
    lac_rows_t ones = s;
    ones.val = NULL;
    real_t *rows = case_out(c);
    real_t *cols = case_out(c);
    k->csr_rows(&ones, 0, c->m, c->w, c->n, 0, c->n, CASE_OUTPUT(c, rows), NULL);
    k->csr_cols(&ones, 0, c->m, w, c->kk, 0, c->n, CASE_OUTPUT(c, cols));
    case_check(c, rows, 0, c->m, 0, c->n);
    case_check(c, cols, 0, c->m, 0, c->n);
    free(w);
    free(rows);
    free(cols);
    rows_free(&s);
}

static void test_csr_rows(void **state)
{
    (void)state;
    for_each_case(rows_case);
}

static void test_csr_cols(void **state)
{
    (void)state;
    for_each_case(cols_case);
}

static void test_ones(void **state)
{
    (void)state;
    for_each_case(ones_case);
}

/* An output larger than caches, most rows of which are empty: what lies between its rows stays. */
static void test_large_output(void **state)
{
    enum { M = 4300, N = 1003, LD = 1005 };
    static int64_t ptr[M + 1];
    static int32_t idx[M];
    static real_t w[2 * N];
    real_t *out = malloc(sizeof(real_t) * M * LD), alpha = -0.5F;
    const lac_host_kernels_t *k;
    (void)state;
    assert_non_null(out);
    for (int i = 0; i < M; i++) idx[ptr[i]] = i % 2, ptr[i + 1] = ptr[i] + (i % 3 == 0);
    for (int x = 0; x < 2 * N; x++) w[x] = (real_t)x;
    lac_rows_t s = {M, 2, ptr, idx, NULL};
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++) {
        for (int64_t p = 0; p < M * LD; p++) out[p] = 7;
        k->csr_rows(&s, 0, M, w, N, 0, N,
                    &(lac_host_output_t){CASE_SCALAR(alpha), CASE_SCALAR(0), out, LD, 1}, NULL);
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < LD; j++) {
                real_t want = j >= N ? 7 : i % 3 ? alpha * 0 : alpha * w[i % 2 * N + j];
                if (out[i * LD + j] != want) fail_msg("%s: element %ld, %ld", k->isa, (long)i, (long)j);
            }
    }
    free(out);
}

/* Depths at which the packed panel narrows, and past which nothing is packed. */
static void test_deep(void **state)
{
    const lac_host_kernels_t *k;
    (void)state;
    assert_int_equal(lac_csr_scratch(20000, sizeof(real_t)), 0);
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++)
        for (int64_t kk = 2048; kk <= 20000; kk += getenv("LACUNA_TEST_QUICK") ? 17952 : 5984) {
            kernel_case_t c = {k->isa, 9, kk, 150, 0.6, 1, 1, 0, false, (uint64_t)kk, 0, 0, 0, 0, 0, 0};
            case_build(&c);
            rows_case(k, &c);
            case_free(&c);
        }
}

/* Rows long and short of many columns: the long ones go run by run through spans of columns. */
static void test_long_rows(void **state)
{
    static const int64_t depths[] = {256, 257, 272, 273, 700};
    const lac_host_kernels_t *k;
    (void)state;
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
            kernel_case_t c = {
                k->isa, 2, depths[d], 4500, d == 4 ? 0.6 : 1.0, -2, 0.5, (int)d % 3, false, d, 0, 0,
                0,      0, 0,         0};
            case_build(&c);
            rows_case(k, &c);
            case_free(&c);
        }
}

/* Four entries for each row of W, and one for each of S's, and a panel that stays in the cache. */
static void test_packs(void **state)
{
    (void)state;
    assert_true(lac_csr_packs(10, 1000, 4000, sizeof(real_t)));
    assert_false(lac_csr_packs(10, 1000, 3999, sizeof(real_t)));
    assert_true(lac_csr_packs(4000, 1000, 4000, sizeof(real_t)));
    assert_false(lac_csr_packs(4001, 1000, 4000, sizeof(real_t)));
    assert_false(lac_csr_packs(10, 20000, 200000, sizeof(real_t)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csr_rows),     cmocka_unit_test(test_csr_cols), cmocka_unit_test(test_ones),
        cmocka_unit_test(test_large_output), cmocka_unit_test(test_deep),     cmocka_unit_test(test_packs),
        cmocka_unit_test(test_long_rows),
    };
    return cmocka_run_group_tests_name("kernels: csr products", tests, NULL, NULL);
}
