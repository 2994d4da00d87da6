/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * csr_pair: right where W is sparse too, summed in double, and the same however the work is cut. */
#include "kernel_case.h"

#include <math.h>
#include <stdlib.h>

/* W as CSR: every element, or those that are not 0. */
static lac_rows_t entries_of_w(const kernel_case_t *c, bool all)
{
    int64_t *ptr = malloc((size_t)(c->kk + 1) * sizeof *ptr);
    int32_t *idx = malloc((size_t)(c->kk * c->n) * sizeof *idx + 1);
    real_t *val = malloc((size_t)(c->kk * c->n) * sizeof *val + 1);
    int64_t count = 0;
    assert_true(ptr && idx && val);
    for (int64_t k = 0; k < c->kk; k++) {
        ptr[k] = count;
        for (int64_t j = 0; j < c->n; j++)
            if (all || c->w[k * c->n + j] != 0) {
                idx[count] = (int32_t)j;
                val[count++] = c->w[k * c->n + j];
            }
    }
    ptr[c->kk] = count;
    return (lac_rows_t){c->kk, c->n, ptr, idx, val};
}

static void multiply(const lac_host_kernels_t *k, const kernel_case_t *c, const lac_rows_t *s,
                     const lac_rows_t *w, int64_t i0, int64_t i1, int64_t j0, int64_t j1, real_t *out)
{
    void *acc = malloc((size_t)lac_pair_scratch(j1 - j0, sizeof(real_t)) + 1); /* no more: sanitizers see */
    assert_non_null(acc);
    k->csr_pair(s, w, i0, i1, j0, j1, CASE_OUTPUT(c, out), acc);
    free(acc);
}

static void pair_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    lac_rows_t s = case_rows(c), w = entries_of_w(c, true);
    real_t *whole = case_out(c), *cut = case_out(c);
    int64_t a = c->m / 3, b = c->n / 2;
    multiply(k, c, &s, &w, 0, c->m, 0, c->n, whole);
    case_check(c, whole, 0, c->m, 0, c->n);
    multiply(k, c, &s, &w, a, c->m, b, c->n, cut);
    case_check(c, cut, a, c->m, b, c->n);
    multiply(k, c, &s, &w, 0, a, b, c->n, cut);
    multiply(k, c, &s, &w, 0, c->m, 0, b, cut);
    case_same(c, whole, cut, "depends on the cut");
    free(whole);
    free(cut);
    rows_free(&s);
    rows_free(&w);
}

/* Two of three elements of W are gone: what is left gives the bits that it gives beside zeros, and without
 * alpha and beta those of a sum in double, rounded once. */
static void sparse_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    uint64_t random = c->seed;
    if (c->specials) return;
    for (int64_t p = 0; p < c->kk * c->n; p++)
        if (next_random(&random) % 3) c->w[p] = 0;
    lac_rows_t s = case_rows(c), all = entries_of_w(c, true), w = entries_of_w(c, false);
    real_t *beside = case_out(c), *alone = case_out(c);
    multiply(k, c, &s, &all, 0, c->m, 0, c->n, beside);
    multiply(k, c, &s, &w, 0, c->m, 0, c->n, alone);
    case_same(c, beside, alone, "depends on what is not there");
    for (int64_t i = 0; sizeof(real_t) == 4 && c->alpha == 1 && c->beta == 0 && i < c->m; i++)
        for (int64_t j = 0; j < c->n; j++) {
            double sum = 0; /* fewer events than a run has */
            for (int64_t l = 0; l < c->kk; l++)
                if (c->s[i * c->kk + l] != 0) sum += (double)c->s[i * c->kk + l] * (double)c->w[l * c->n + j];
            if (alone[i * c->rs + j * c->cs] != (real_t)sum) fail_msg("%s: not a sum in double", c->isa);
        }
    free(beside);
    free(alone);
    rows_free(&s);
    rows_free(&all);
    rows_free(&w);
}

/* Values that are not given are ones, of W and of S. */
static void ones_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    uint64_t random = c->seed;
    for (int64_t p = 0; p < c->m * c->kk; p++) c->s[p] = c->s[p] != 0 ? 1 : 0;
    for (int64_t p = 0; p < c->kk * c->n; p++) c->w[p] = next_random(&random) % 3 ? 0 : 1;
    lac_rows_t s = case_rows(c), w = entries_of_w(c, false), s_ones = s, w_ones = w;
    s_ones.val = w_ones.val = NULL;
    real_t *given = case_out(c), *ones = case_out(c);
    multiply(k, c, &s, &w, 0, c->m, 0, c->n, given);
    multiply(k, c, &s_ones, &w_ones, 0, c->m, 0, c->n, ones);
    case_check(c, ones, 0, c->m, 0, c->n);
    case_same(c, given, ones, "ones are not ones");
    free(given);
    free(ones);
    rows_free(&s);
    rows_free(&w);
}

static void test_pair(void **state)
{
    (void)state;
    for_each_case(pair_case);
}

static void test_sparse(void **state)
{
    (void)state;
    for_each_case(sparse_case);
}

static void test_ones(void **state)
{
    (void)state;
    for_each_case(ones_case);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pair), cmocka_unit_test(test_sparse),
                                       cmocka_unit_test(test_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
