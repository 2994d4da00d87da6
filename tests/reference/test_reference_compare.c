/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The comparison accepts what float arithmetic may do and nothing else: each way of being wrong fails. */
#include "ref_gemm.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PROBLEM "sgemm:NT:17x40x23:A=bern0.3:B=dense/e8:C=dense:alpha=1.5:beta=0.5:layC=rowx2+1:s3"

struct fixture {
    ref_problem_t problem;
    ref_case_t operands;
    ref_matrix_t c; /* a right result */
    ref_result_t want;
    ref_report_t report;
};

static void put(ref_matrix_t *x, int64_t i, int64_t j, float value)
{
    ((float *)x->data)[i * x->rs + j * x->cs] = value;
}

/* The plain float product, one rounding per multiplication and per addition. */
static void multiply(struct fixture *f)
{
    const ref_problem_t *p = &f->problem;
    ref_matrix_t a = ref_matrix_op(&f->operands.a, p->trans_a), b = ref_matrix_op(&f->operands.b, p->trans_b);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float sum = 0.0f;
            for (int64_t k = 0; k < p->k; k++)
                sum += (float)ref_matrix_at(&a, i, k) * (float)ref_matrix_at(&b, k, j);
            float c = p->beta != 0.0f ? p->beta * (float)ref_matrix_at(&f->c, i, j) : 0.0f;
            put(&f->c, i, j, p->alpha * sum + c);
        }
}

static void make(struct fixture *f, const char *text)
{
    assert_true(ref_problem_parse(text, &f->problem, NULL, 0));
    assert_true(ref_case_make(&f->operands, &f->problem, 16));
    assert_true(ref_gemm_case(&f->problem, &f->operands, REF_STRICT, &f->want));
    assert_true(ref_matrix_copy(&f->c, &f->operands.c));
}

static void drop(struct fixture *f)
{
    ref_case_free(&f->operands);
    ref_matrix_free(&f->c);
    ref_result_free(&f->want);
}

static bool compare(struct fixture *f)
{
    return ref_compare(&f->c, &f->want, ref_bound(f->problem.k), &f->report);
}

static int set_up(void **state)
{
    static struct fixture f;
    make(&f, PROBLEM);
    multiply(&f);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    drop(*state);
    return 0;
}

static void test_accepts_a_float_product(void **state)
{
    struct fixture *f = *state;
    assert_true(compare(f));
    assert_true(f->report.ok);
    assert_int_equal(f->report.elements, 17 * 23);
    assert_int_equal(f->report.wrong, 0);
    assert_true(f->report.max_error > 0.0 && f->report.max_error < 42.0);
    assert_true(f->report.mean_error > 0.0 && f->report.mean_error < f->report.max_error);
    assert_string_equal(f->report.reason, "");
    assert_true(f->report.row >= 0 && f->report.col >= 0);
}

/* Every kind of values, dense and sparse, long and short k. */
static void test_accepts_every_kind_of_values(void **unused)
{
    static const char *const strings[] = {
        "sgemm:NN:9x1000x8:A=dense/u:B=dense/u:s1",    "sgemm:NN:9x1000x8:A=dense/p:B=dense/p:s2",
        "sgemm:NN:9x1000x8:A=dense/e8:B=dense/e8:s3",  "sgemm:NN:9x1000x8:A=dense/e30:B=dense/e30:s4",
        "sgemm:NN:9x1000x8:A=bern0.01/x:B=dense/x:s5", "sgemm:NN:9x1x8:A=bern0.5/e30:B=dense/e30:s6",
        "sgemm:NN:9x0x8:C=dense:beta=0.3:s7",          "sgemm:NN:0x5x8:s8",
    };
    (void)unused;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        struct fixture f;
        make(&f, strings[i]);
        multiply(&f);
        if (!compare(&f)) fail_msg("%s: %s", strings[i], f.report.reason);
        drop(&f);
    }
}

/* Sums of small integers are exact: no error at all. */
static void test_exact_sums_have_no_error(void **unused)
{
    struct fixture f;
    (void)unused;
    make(&f, "sgemm:NN:20x500x20:A=bern0.5/i:B=dense/i:s1");
    multiply(&f);
    assert_true(ref_compare(&f.c, &f.want, 0.0, &f.report));
    assert_true(f.report.max_error == 0.0);
    put(&f.c, 3, 4, nextafterf((float)ref_matrix_at(&f.c, 3, 4), INFINITY));
    assert_false(ref_compare(&f.c, &f.want, 0.0, &f.report));
    drop(&f);
}

static void assert_fails_at(struct fixture *f, int64_t row, int64_t col, const char *reason)
{
    assert_false(compare(f));
    assert_false(f->report.ok);
    assert_int_equal(f->report.row, row);
    assert_int_equal(f->report.col, col);
    assert_string_equal(f->report.reason, reason);
    assert_true(f->report.wrong >= 1);
}

/* Any one element, of a value that is off by more than rounding explains. */
static void test_fails_on_one_wrong_element(void **state)
{
    struct fixture *f = *state;
    for (int64_t i = 0; i < f->c.m; i++)
        for (int64_t j = 0; j < f->c.n; j++) {
            float right = (float)ref_matrix_at(&f->c, i, j);
            double magnitude = f->want.magnitude[i * f->c.n + j];
            put(&f->c, i, j, right + (float)(magnitude * 0x1p-17));
            assert_fails_at(f, i, j, "error above the bound");
            assert_int_equal(f->report.wrong, 1);
            assert_true(f->report.max_error > 42.0 && isfinite(f->report.max_error));
            assert_true(f->report.got == (double)(right + (float)(magnitude * 0x1p-17)));
            put(&f->c, i, j, right);
        }
    assert_true(compare(f));
}

static void test_fails_on_nan_and_infinity(void **state)
{
    struct fixture *f = *state;
    float right = (float)ref_matrix_at(&f->c, 16, 22);
    put(&f->c, 16, 22, NAN);
    assert_fails_at(f, 16, 22, "must be finite");
    assert_true(isinf(f->report.max_error));
    assert_true(isfinite(f->report.mean_error));
    put(&f->c, 16, 22, -INFINITY);
    assert_fails_at(f, 16, 22, "must be finite");
    /* even with a bound that would let everything else pass */
    assert_false(ref_compare(&f->c, &f->want, INFINITY, &f->report));
    put(&f->c, 16, 22, right);
    assert_true(compare(f));
}

static void test_fails_where_nan_or_infinity_is_missing(void **state)
{
    struct fixture *f = *state;
    f->want.value[0] = (double)NAN;
    assert_fails_at(f, 0, 0, "must be NaN");
    put(&f->c, 0, 0, INFINITY);
    assert_fails_at(f, 0, 0, "must be NaN");
    put(&f->c, 0, 0, NAN);
    assert_true(compare(f));
    assert_int_equal(f->report.nonfinite, 1);
    f->want.value[0] = HUGE_VAL;
    assert_fails_at(f, 0, 0, "must be this infinity");
    put(&f->c, 0, 0, -INFINITY);
    assert_fails_at(f, 0, 0, "must be this infinity");
    put(&f->c, 0, 0, INFINITY);
    assert_true(compare(f));
}

/* With beta 0 C begins as poison; an element nobody wrote is found, also where NaN is right. */
static void test_fails_on_a_missing_write(void **unused)
{
    struct fixture f;
    (void)unused;
    make(&f, "sgemm:NN:9x30x7:A=bern0.5:s1");
    assert_false(compare(&f));
    assert_int_equal(f.report.wrong, 9 * 7);
    multiply(&f);
    assert_true(compare(&f));
    memcpy((float *)f.c.data + 5 * f.c.rs + 6, f.operands.c.data, sizeof(float));
    assert_fails_at(&f, 5, 6, "not written, or poison was read");
    f.want.value[5 * 7 + 6] = (double)NAN;
    assert_fails_at(&f, 5, 6, "not written, or poison was read");
    drop(&f);
}

/* With beta not 0 an element that was not updated still holds the old value. */
static void test_fails_on_a_missing_update(void **state)
{
    struct fixture *f = *state;
    put(&f->c, 2, 3, (float)ref_matrix_at(&f->operands.c, 2, 3));
    assert_fails_at(f, 2, 3, "error above the bound");
}

static void test_fails_where_no_term_is_nonzero(void **unused)
{
    struct fixture f;
    (void)unused;
    make(&f, "sgemm:NN:4x30x5:A=zero:s1");
    multiply(&f);
    assert_true(compare(&f));
    put(&f.c, 1, 2, -0.0f);
    assert_true(compare(&f));
    put(&f.c, 1, 2, 0x1p-149f);
    assert_fails_at(&f, 1, 2, "must be 0: no term is nonzero");
    drop(&f);
}

/* A result of two bytes is the nearest number, or as near as an error of the sums puts it. */
static void test_halves_are_rounded_once(void **unused)
{
    static const lac_dt_t types[] = {LAC_F16, LAC_BF16};
    (void)unused;
    for (int t = 0; t < 2; t++) {
        ref_matrix_t x;
        ref_report_t report;
        double value = 1.0 + 0.4 * ldexp(1.0, ref_half_unit(types[t], 1.0)), magnitude = 3.0;
        ref_result_t want = {.m = 1, .n = 1, .k = 4, .value = &value, .magnitude = &magnitude};
        assert_true(ref_matrix_alloc(&x, types[t], 1, 1, &(ref_layout_t){false, 1, 0}, 0));
        assert_false(ref_compare(&x, &want, ref_bound(4), &report)); /* not written */
        ref_matrix_put(&x, 0, 0, value);
        assert_true(ref_compare(&x, &want, ref_bound(4), &report));
        assert_true(report.max_error == 0.0);
        *(uint16_t *)x.data += 1; /* the next number: 0.6 of an ulp away */
        assert_false(ref_compare(&x, &want, ref_bound(4), &report));
        ref_matrix_free(&x);
    }
}

static void test_fails_on_other_extents(void **state)
{
    struct fixture *f = *state;
    ref_matrix_t fewer = f->c;
    fewer.m--;
    assert_false(ref_compare(&fewer, &f->want, INFINITY, &f->report));
    assert_string_equal(f->report.reason, "type or extents differ");
    fewer = f->c;
    fewer.dt = LAC_U8;
    assert_false(ref_compare(&fewer, &f->want, INFINITY, &f->report));
}

/* Partial sums beyond the largest float may overflow in one order and not in another. */
static void test_overflow_is_judged_by_magnitude(void **unused)
{
    float c = INFINITY;
    double value = 1.0, magnitude = 2.0 * (double)FLT_MAX;
    ref_matrix_t got = {.dt = LAC_F32, .m = 1, .n = 1, .rs = 1, .cs = 1, .data = &c, .base = &c, .slots = 1};
    ref_result_t want = {1, 1, 2, &value, &magnitude};
    ref_report_t report;
    (void)unused;
    assert_true(ref_compare(&got, &want, 4.0, &report));
    magnitude = (double)FLT_MAX / 2;
    assert_false(ref_compare(&got, &want, 4.0, &report));
}

static void test_the_bound(void **unused)
{
    (void)unused;
    assert_true(ref_bound(0) >= 2.0 && ref_bound(0) < 2.000001);
    assert_true(ref_bound(10000) > 10002.0 && ref_bound(10000) < 10010.0);
    assert_true(isinf(ref_bound((int64_t)1 << 24)));
}

/* A bound that came out as NaN must not wave everything through. */
static void test_no_result_is_within_a_bound_of_nan(void **state)
{
    struct fixture *f = *state;
    assert_false(ref_compare(&f->c, &f->want, (double)NAN, &f->report));
    assert_int_equal(f->report.wrong, f->report.elements);
}

static void test_report_is_one_line(void **state)
{
    struct fixture *f = *state;
    char text[512], small[8];
    put(&f->c, 2, 3, NAN);
    assert_false(compare(f));
    size_t length = ref_report_print(&f->report, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_non_null(strstr(text, "WRONG: 1 of 391 wrong"));
    assert_non_null(strstr(text, "worst (2,3) got nan"));
    assert_non_null(strstr(text, "must be finite"));
    assert_null(strchr(text, '\n'));
    assert_int_equal(ref_report_print(&f->report, small, sizeof small), length);
    assert_string_equal(small, "WRONG: ");
}

int main(void)
{
#define WITH_PRODUCT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_PRODUCT(test_accepts_a_float_product),
        cmocka_unit_test(test_accepts_every_kind_of_values),
        cmocka_unit_test(test_exact_sums_have_no_error),
        WITH_PRODUCT(test_fails_on_one_wrong_element),
        WITH_PRODUCT(test_fails_on_nan_and_infinity),
        WITH_PRODUCT(test_fails_where_nan_or_infinity_is_missing),
        cmocka_unit_test(test_fails_on_a_missing_write),
        WITH_PRODUCT(test_fails_on_a_missing_update),
        cmocka_unit_test(test_fails_where_no_term_is_nonzero),
        cmocka_unit_test(test_halves_are_rounded_once),
        WITH_PRODUCT(test_fails_on_other_extents),
        cmocka_unit_test(test_overflow_is_judged_by_magnitude),
        cmocka_unit_test(test_the_bound),
        WITH_PRODUCT(test_no_result_is_within_a_bound_of_nan),
        WITH_PRODUCT(test_report_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
