/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * bitmask_cols: right, in the stated order, the same however the rows are cut, with and without values. */
#include "kernel_case.h"

#include <stdlib.h>

static void cols_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    int64_t ldw = c->kk + (int64_t)(c->seed % 3);
    real_t *w = strided_copy(c->w, c->kk, c->n, 1, ldw);
    lac_bits_t s = case_bits(c);
    real_t *whole = case_out(c);
    real_t *cut = case_out(c);
    real_t *exact = case_exact(c, ORDER_LANE_OF_K);
    int64_t a = c->m / 3;

    k->bitmask_cols(&s, 0, c->m, w, ldw, c->n, CASE_OUTPUT(c, whole));
    case_check(c, whole, 0, c->m, 0, c->n);
    case_same(c, whole, exact, "not in the stated lanes");
    k->bitmask_cols(&s, a, c->m, w, ldw, c->n, CASE_OUTPUT(c, cut));
    case_check(c, cut, a, c->m, 0, c->n);
    k->bitmask_cols(&s, 0, a, w, ldw, c->n, CASE_OUTPUT(c, cut));
    case_same(c, whole, cut, "depends on the cut");

    free(w);
    free(whole);
    free(cut);
    free(exact);
    bits_free(&s);
}

static void ones_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    for (int64_t p = 0; p < c->m * c->kk; p++) c->s[p] = c->s[p] != 0 ? 1.0F : 0.0F;
    real_t *w = strided_copy(c->w, c->kk, c->n, 1, c->kk);
    lac_bits_t s = case_bits(c);
    lac_bits_t ones = s;
    ones.val = NULL;
    real_t *out = case_out(c);
    k->bitmask_cols(&ones, 0, c->m, w, c->kk, c->n, CASE_OUTPUT(c, out));
    case_check(c, out, 0, c->m, 0, c->n);
    free(w);
    free(out);
    bits_free(&s);
}

static void test_bitmask_cols(void **state)
{
    (void)state;
    for_each_case(cols_case);
}

static void test_ones(void **state)
{
    (void)state;
    for_each_case(ones_case);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bitmask_cols),
        cmocka_unit_test(test_ones),
    };
    return cmocka_run_group_tests_name("kernels: bitmask products", tests, NULL, NULL);
}
