/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * event_rows and event_cols: right, in the stated order, and the same however the work is cut. */
#include "kernel_case.h"

#include <stdlib.h>

typedef void event_kernel(const lac_events_t *, int64_t, int64_t, const void *, int64_t, int64_t, int64_t,
                          const lac_host_output_t *, void *);

static void check_kernel(event_kernel *run, kernel_case_t *c, const real_t *w, int64_t ldw)
{
    real_t *acc = malloc((size_t)lac_event_scratch(c->m, sizeof(real_t)) * sizeof *acc);
    lac_events_t *one = case_events(c, 1);
    lac_events_t *three = case_events(c, 3);
    real_t *whole = case_out(c);
    real_t *cut = case_out(c);
    real_t *exact = case_exact(c, ORDER_RUNS);
    assert_non_null(acc);

    run(one, 1, c->m, w, ldw, 0, c->n, CASE_OUTPUT(c, whole), acc);
    case_check(c, whole, 0, c->m, 0, c->n);
    case_same(c, whole, exact, "not in runs of ascending k");

    int64_t a = c->n / 3;
    int64_t b = c->n - c->n / 4;
    run(three, 3, c->m, w, ldw, a, b, CASE_OUTPUT(c, cut), acc);
    case_check(c, cut, 0, c->m, a, b);
    run(three, 3, c->m, w, ldw, 0, a, CASE_OUTPUT(c, cut), acc);
    run(three, 3, c->m, w, ldw, b, c->n, CASE_OUTPUT(c, cut), acc);
    case_same(c, whole, cut, "depends on the cut");

    free(acc);
    free(whole);
    free(cut);
    free(exact);
    events_free(one, 1);
    events_free(three, 3);
}

static void rows_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    int64_t ldw = c->n + (int64_t)(c->seed % 3);
    real_t *w = strided_copy(c->w, c->kk, c->n, ldw, 1);
    check_kernel(k->event_rows, c, w, ldw);
    free(w);
}

static void cols_case(const lac_host_kernels_t *k, kernel_case_t *c)
{
    int64_t ldw = c->kk + (int64_t)(c->seed % 3);
    real_t *w = strided_copy(c->w, c->kk, c->n, 1, ldw);
    check_kernel(k->event_cols, c, w, ldw);
    free(w);
}

static void test_event_rows(void **state)
{
    (void)state;
    for_each_case(rows_case);
}

static void test_event_cols(void **state)
{
    (void)state;
    for_each_case(cols_case);
}

/* More rows than a panel holds at its usual width, and more columns than one panel. */
static void test_many(void **state)
{
    const lac_host_kernels_t *k;
    (void)state;
    for (int isa = 0; (k = kernel_isa(isa)) != NULL; isa++)
        for (int layout = 0; layout < 3; layout++) {
            kernel_case_t tall = {k->isa, 2100, 40, 130, 0.05, 1.5F, 0.5F, layout,
                                  false,  5,    0,  0,   0,    0,    0,    0};
            kernel_case_t wide = {k->isa, 3, 50, 5003, 0.2, 1, 0, layout, true, 6, 0, 0, 0, 0, 0, 0};
            case_build(&tall);
            case_build(&wide);
            rows_case(k, &tall);
            rows_case(k, &wide);
            cols_case(k, &tall);
            cols_case(k, &wide);
            case_free(&tall);
            case_free(&wide);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_rows),
        cmocka_unit_test(test_event_cols),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests_name("kernels: event products", tests, NULL, NULL);
}
