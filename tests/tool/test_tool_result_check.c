/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The verdict on timed results, on results made by hand: how far an element may be off, which of the two is
 * wrong where the baseline differs, NaN, and what was written outside C. */
#include "result_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static lac_ctx_t *ctx;
static operand_set_t set;
static result_check_t check;
static char why[200];

static float *c_at(int64_t i, int64_t j)
{
    return (float *)set.data.c.data + i * set.data.c.rs + j * set.data.c.cs;
}

/* C := the product, in double and rounded once. */
static void multiply(void)
{
    const ref_problem_t *p = &set.problem;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0.0;
            for (int64_t k = 0; k < p->k; k++)
                sum += (double)ref_matrix_at(&set.data.a, i, k) * (double)ref_matrix_at(&set.data.b, k, j);
            *c_at(i, j) = (float)((double)p->alpha * sum +
                                  (double)p->beta * (double)ref_matrix_at(&set.c_before, i, j));
        }
}

/* C is the product, and taken as the baseline's. */
static int begin(void **state)
{
    (void)state;
    ref_problem_t problem;
    char error[REF_ERROR_TEXT];
    assert_true(ref_problem_parse("sgemm:NN:120x30x110:C=dense:alpha=-2:beta=0.5:layC=row+3:s5", &problem,
                                  error, sizeof error));
    assert_int_equal(lac_ctx_create(&ctx), LAC_OK);
    assert_true(operand_set_make(&set, &problem, ctx, error, sizeof error));
    assert_true(result_check_make(&check, &set));
    multiply();
    assert_true(result_check_baseline(&check, why, sizeof why));
    assert_true(result_check_agrees(&check, why, sizeof why));
    assert_int_equal(check.samples, RESULT_SAMPLES);
    return 0;
}

static int end(void **state)
{
    (void)state;
    result_check_free(&check);
    operand_set_free(&set);
    lac_ctx_free(ctx);
    return 0;
}

/* The element of the baseline's that no sample takes, and what the header promises of its tolerance. */
static double unsampled(int64_t *i, int64_t *j)
{
    for (*i = 5, *j = 0;; ++*j) {
        bool taken = false;
        for (int s = 0; s < check.samples; s++) taken |= check.sample[s].i == *i && check.sample[s].j == *j;
        if (!taken) break;
    }
    const ref_problem_t *p = &set.problem;
    double a = 0.0, b = 0.0;
    for (int64_t k = 0; k < p->k; k++) {
        a += pow((double)ref_matrix_at(&set.data.a, *i, k), 2.0);
        b += pow((double)ref_matrix_at(&set.data.b, k, *j), 2.0);
    }
    return 2.0 * ((double)p->k + 2.0) * 0x1p-24 *
           (fabs((double)p->alpha) * sqrt(a * b) +
            fabs((double)p->beta * (double)ref_matrix_at(&set.c_before, *i, *j)));
}

static void expect_baseline(bool fits, float value)
{
    const result_sample_t *at = &check.sample[17];
    *c_at(at->i, at->j) = value;
    assert_int_equal(result_check_baseline(&check, why, sizeof why), fits);
    if (!fits) assert_non_null(strstr(why, ", in double it is "));
}

/* A baseline is judged by its samples. */
static void test_samples(void **state)
{
    (void)state;
    const result_sample_t at = check.sample[17];
    expect_baseline(true, (float)(at.want + 0.8 * at.tolerance));
    expect_baseline(true, (float)(at.want - 0.8 * at.tolerance));
    expect_baseline(false, (float)(at.want + 1.5 * at.tolerance));
    expect_baseline(false, (float)(at.want - 1.5 * at.tolerance));
    expect_baseline(false, NAN);
    expect_baseline(false, INFINITY);
}

/* A sample counts in a result too, where the baseline has the same mistake. */
static void test_mistake_of_both(void **state)
{
    (void)state;
    const result_sample_t *at = &check.sample[17];
    float *c = c_at(at->i, at->j);
    *c = (float)(at->want + 3.0 * at->tolerance);
    check.want[at->i * set.problem.n + at->j] = *c;
    assert_false(result_check_agrees(&check, why, sizeof why));
    assert_non_null(strstr(why, ", in double it is "));
}

static void expect_agrees(bool fits, int64_t i, int64_t j, float value)
{
    *c_at(i, j) = value;
    assert_int_equal(result_check_agrees(&check, why, sizeof why), fits);
    if (!fits) assert_non_null(strstr(why, ", the baseline's is "));
    assert_int_equal(check.corrected, 0);
}

/* Every element is compared with the baseline's, those that no sample takes too. */
static void test_elements(void **state)
{
    (void)state;
    int64_t i, j;
    double tolerance = unsampled(&i, &j), want = (double)*c_at(i, j);
    expect_agrees(true, i, j, (float)(want + 0.8 * tolerance));
    expect_agrees(true, i, j, (float)(want - 0.8 * tolerance));
    expect_agrees(false, i, j, (float)(want + 1.5 * tolerance));
    expect_agrees(false, i, j, (float)(want - 1.5 * tolerance));
    expect_agrees(false, i, j, NAN);
    expect_agrees(false, i, j, INFINITY);
}

/* Where the two differ and the product in double sides with the result, the baseline is put right. */
static void test_baseline_is_wrong(void **state)
{
    (void)state;
    int64_t i, j;
    (void)unsampled(&i, &j);
    double *want = &check.want[i * set.problem.n + j];
    for (int wrong = 0; wrong < 2; wrong++) {
        *want = wrong ? (double)NAN : (double)*c_at(i, j) + 1.0;
        check.corrected = 0;
        assert_true(result_check_agrees(&check, why, sizeof why));
        assert_int_equal(check.corrected, 1);
        assert_non_null(strstr(check.baseline_why, ", in double it is "));
        assert_true((float)*want == *c_at(i, j));
    }
}

static void test_outside_c(void **state)
{
    (void)state;
    *c_at(3, set.problem.n) = 0.0f; /* between two rows */
    assert_false(result_check_agrees(&check, why, sizeof why));
    assert_non_null(strstr(why, "wrote outside C"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_samples, begin, end),
        cmocka_unit_test_setup_teardown(test_mistake_of_both, begin, end),
        cmocka_unit_test_setup_teardown(test_elements, begin, end),
        cmocka_unit_test_setup_teardown(test_baseline_is_wrong, begin, end),
        cmocka_unit_test_setup_teardown(test_outside_c, begin, end),
    };
    return cmocka_run_group_tests_name("tool: verdicts on results", tests, NULL, NULL);
}
