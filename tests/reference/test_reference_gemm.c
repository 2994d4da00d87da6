/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The oracle against products done by hand, against three plain loops, and in what it reads and drops. */
#include "ref_gemm.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static ref_matrix_t by_rows(float *data, int64_t m, int64_t n)
{
    return (ref_matrix_t){
        .dt = LAC_F32, .m = m, .n = n, .rs = n, .cs = 1, .data = data, .base = data, .slots = m * n};
}

static void assert_values(const ref_result_t *r, const double *value, const double *magnitude)
{
    for (int64_t i = 0; i < r->m * r->n; i++) {
        assert_true(r->value[i] == value[i]);
        assert_true(r->magnitude[i] == magnitude[i]);
    }
}

/* [1 2; 3 -4] [5 6; -7 8] = [-9 22; 43 -14]; with alpha = 2, beta = -3 and C = [1 -1; 0 10]. */
static void test_two_by_two_by_hand(void **state)
{
    float a[] = {1, 2, 3, -4}, b[] = {5, 6, -7, 8}, c[] = {1, -1, 0, 10};
    ref_matrix_t x = by_rows(a, 2, 2), y = by_rows(b, 2, 2), z = by_rows(c, 2, 2);
    ref_result_t r;
    (void)state;
    assert_true(ref_gemm(&x, &y, NULL, 1.0f, 0.0f, REF_STRICT, &r));
    assert_values(&r, (double[]){-9, 22, 43, -14}, (double[]){19, 22, 43, 50});
    ref_result_free(&r);
    assert_true(ref_gemm(&x, &y, &z, 2.0f, -3.0f, REF_STRICT, &r));
    assert_values(&r, (double[]){-21, 47, 86, -58}, (double[]){41, 47, 86, 130});
    ref_result_free(&r);
    assert_null(r.value);
    ref_result_free(NULL);
}

/* 3x3 with zeros: [0 1 0; 2 0 -3; 0 0 0] times [1 2 3; 4 5 6; 7 8 9], and the transposed left side. */
static void test_three_by_three_by_hand(void **state)
{
    float a[] = {0, 1, 0, 2, 0, -3, 0, 0, 0}, b[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    ref_matrix_t x = by_rows(a, 3, 3), y = by_rows(b, 3, 3), t = ref_matrix_op(&x, LAC_TRANS);
    ref_result_t r;
    (void)state;
    assert_true(ref_gemm(&x, &y, NULL, 1.0f, 0.0f, REF_STRICT, &r));
    assert_values(&r, (double[]){4, 5, 6, -19, -20, -21, 0, 0, 0}, (double[]){4, 5, 6, 23, 28, 33, 0, 0, 0});
    ref_result_free(&r);
    assert_true(ref_gemm(&t, &y, NULL, 1.0f, 0.0f, REF_STRICT, &r));
    assert_values(&r, (double[]){8, 10, 12, 1, 2, 3, -12, -15, -18},
                  (double[]){8, 10, 12, 1, 2, 3, 12, 15, 18});
    ref_result_free(&r);
}

static void test_not_a_square(void **state)
{
    float a[] = {1, 2, 3}, b[] = {4, 5, 6};
    ref_matrix_t row = by_rows(a, 1, 3), column = by_rows(b, 3, 1);
    ref_result_t r;
    (void)state;
    assert_true(ref_gemm(&row, &column, NULL, 1.0f, 0.0f, REF_STRICT, &r));
    assert_int_equal(r.m * r.n, 1);
    assert_int_equal(r.k, 3);
    assert_true(r.value[0] == 32.0);
    ref_result_free(&r);
    assert_true(ref_gemm(&column, &row, NULL, 1.0f, 0.0f, REF_STRICT, &r));
    assert_values(&r, (double[]){4, 8, 12, 5, 10, 15, 6, 12, 18}, (double[]){4, 8, 12, 5, 10, 15, 6, 12, 18});
    ref_result_free(&r);
    assert_false(ref_gemm(&row, &row, NULL, 1.0f, 0.0f, REF_STRICT, &r));
    assert_null(r.value);
}

/* The definition, in integers that double holds exactly, whatever the order. */
static void assert_is_product(const ref_problem_t *p, const ref_case_t *operands, const ref_result_t *r)
{
    ref_matrix_t a = ref_matrix_op(&operands->a, p->trans_a), b = ref_matrix_op(&operands->b, p->trans_b);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0.0, size = 0.0, c = 0.0;
            for (int64_t k = 0; k < p->k; k++) {
                double term = (double)ref_matrix_at(&a, i, k) * (double)ref_matrix_at(&b, k, j);
                sum += term;
                size += fabs(term);
            }
            if (p->beta != 0.0f) c = (double)p->beta * (double)ref_matrix_at(&operands->c, i, j);
            assert_true(r->value[i * p->n + j] == c + (double)p->alpha * sum);
            assert_true(r->magnitude[i * p->n + j] == fabs(c) + fabs((double)p->alpha) * size);
        }
}

/* Extents on both sides of the blocks, all transposes, strides, types; every mode, for all is finite. */
static void test_against_three_loops(void **state)
{
    static const char *const strings[] = {
        "sgemm:NN:7x300x5:A=bern0.5/i:B=dense/i:s1",
        "sgemm:TN:5x257x259:A=bern0.1/i:B=bern0.3/i:C=dense/i:alpha=-2:beta=3:layC=rowx2+1:s2",
        "sgemm:NT:3x255x513:A=dense/i:B=row0.3/i:C=dense/i:beta=1:lay=col+2:s3",
        "sgemm:TT:4x6x9:A=dense/i:B=dense/i:layA=colx2+3:layB=rowx3:alpha=0.5:s4",
        "sgemm:NN:9x70x11:dtA=u8:A=bern0.2:B=dense/i:s5",
        "sgemm:NT:9x70x11:dtB=u8:A=dense/i:B=bern0.2:layB=colx2:s6",
        "sgemv:T:300x260:A=dense/i:B=bern0.1/i:layB=row+1:s7",
        "sgemm:NN:3x0x4:C=dense/i:beta=2:s8",
        "sgemm:NN:0x3x4:s9",
        "sgemm:NN:4x3x0:s10",
    };
    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        for (unsigned nan = REF_STRICT; nan <= (REF_SKIP_A | REF_SKIP_B); nan++) {
            ref_problem_t p;
            ref_case_t operands;
            ref_result_t r;
            assert_true(ref_problem_parse(strings[i], &p, NULL, 0));
            assert_true(ref_case_make(&operands, &p, 0));
            assert_true(ref_gemm_case(&p, &operands, nan, &r));
            assert_is_product(&p, &operands, &r);
            ref_result_free(&r);
            ref_case_free(&operands);
        }
}

/* What one term does: factor of A, factor of B, and the sum with a plain 1 in the four modes. */
static void test_zero_times_infinity(void **state)
{
    static const struct {
        float a, b;
        double strict, skip_a, skip_b, skip_both;
    } rows[] = {
        {0.0f, INFINITY, (double)NAN, 1.0, (double)NAN, 1.0},
        {-0.0f, NAN, (double)NAN, 1.0, (double)NAN, 1.0},
        {INFINITY, 0.0f, (double)NAN, (double)NAN, 1.0, 1.0},
        {NAN, -0.0f, (double)NAN, (double)NAN, 1.0, 1.0},
        {2.0f, INFINITY, HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL},
        {0.0f, 5.0f, 1.0, 1.0, 1.0, 1.0},
        {NAN, 1.0f, (double)NAN, (double)NAN, (double)NAN, (double)NAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double want[] = {rows[i].strict, rows[i].skip_a, rows[i].skip_b, rows[i].skip_both};
        float a[] = {rows[i].a, 1.0f}, b[] = {rows[i].b, 1.0f};
        ref_matrix_t x = by_rows(a, 1, 2), y = by_rows(b, 2, 1);
        for (unsigned nan = REF_STRICT; nan <= (REF_SKIP_A | REF_SKIP_B); nan++) {
            ref_result_t r;
            assert_true(ref_gemm(&x, &y, NULL, 1.0f, 0.0f, nan, &r));
            assert_true(isnan(want[nan]) ? isnan(r.value[0]) : r.value[0] == want[nan]);
            ref_result_free(&r);
        }
    }
}

static void test_scalars_of_zero_read_nothing(void **state)
{
    float a[] = {NAN, 1}, b[] = {1, NAN}, c[] = {NAN, 4};
    ref_matrix_t x = by_rows(a, 2, 1), y = by_rows(b, 1, 1), z = by_rows(c, 2, 1);
    ref_result_t r;
    (void)state;
    c[0] = 3;
    assert_true(ref_gemm(&x, &y, &z, 0.0f, 2.0f, REF_STRICT, &r));
    assert_values(&r, (double[]){6, 8}, (double[]){6, 8});
    ref_result_free(&r);
    a[0] = 7;
    c[0] = NAN;
    assert_true(ref_gemm(&x, &y, &z, 1.0f, 0.0f, REF_STRICT, &r));
    assert_values(&r, (double[]){7, 1}, (double[]){7, 1});
    ref_result_free(&r);
    assert_false(ref_gemm(&x, &y, NULL, 1.0f, 1.0f, REF_STRICT, &r));
}

/* Sums that a double could not hold on the way: 2^60 + 1 - 2^60, and many small ones beside a large one. */
static void test_doubles(void **state)
{
    enum { TERMS = 5001 };
    static double a[TERMS], b[TERMS];
    ref_matrix_t x = {.dt = LAC_F64, .m = 1, .n = 3, .rs = TERMS, .cs = 1, .data = a, .slots = TERMS},
                 y = {.dt = LAC_F64, .m = 3, .n = 1, .rs = 1, .cs = 1, .data = b, .slots = TERMS};
    ref_result_t r;
    (void)state;
    for (int i = 0; i < TERMS; i++) a[i] = 0x1p-30, b[i] = 1.0;
    a[0] = 0x1p60, a[2] = -0x1p60;
    assert_true(ref_gemm(&x, &y, NULL, 3.0f, 0.0f, REF_STRICT, &r));
    assert_values(&r, (double[]){3 * 0x1p-30}, (double[]){3 * 0x1p61});
    ref_result_free(&r);
    x.n = y.m = TERMS;
    a[1] = -0x1p60, a[2] = 0x1p-30;
    assert_true(ref_gemm(&x, &y, NULL, 1.0f, 0.0f, REF_STRICT, &r));
    assert_true(r.value[0] == (TERMS - 2) * 0x1p-30);
    ref_result_free(&r);
    a[5] = INFINITY;
    assert_true(ref_gemm(&x, &y, NULL, 1.0f, 0.0f, REF_STRICT, &r));
    assert_true(r.value[0] == (double)INFINITY);
    ref_result_free(&r);
    b[5] = 0.0;
    assert_true(ref_gemm(&x, &y, NULL, 1.0f, 0.0f, REF_STRICT, &r));
    assert_true(isnan(r.value[0]));
    ref_result_free(&r);
    assert_true(ref_gemm(&x, &y, NULL, 1.0f, 0.0f, REF_SKIP_B, &r));
    assert_true(isfinite(r.value[0]));
    ref_result_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_by_two_by_hand),
        cmocka_unit_test(test_three_by_three_by_hand),
        cmocka_unit_test(test_not_a_square),
        cmocka_unit_test(test_against_three_loops),
        cmocka_unit_test(test_zero_times_infinity),
        cmocka_unit_test(test_scalars_of_zero_read_nothing),
        cmocka_unit_test(test_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
