/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Generated operands: the structure, density and values that the pattern promises, the same in any layout. */
#include "ref_generate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ref_random.h"

static const ref_layout_t row_major = {false, 1, 0};

static ref_matrix_t filled(lac_dt_t dt, int64_t m, int64_t n, const ref_layout_t *layout,
                           ref_pattern_t pattern, uint64_t seed)
{
    ref_matrix_t x;
    assert_true(ref_matrix_alloc(&x, dt, m, n, layout, 16));
    assert_true(ref_fill(&x, &pattern, seed));
    assert_true(ref_matrix_padding_intact(&x, NULL));
    return x;
}

static bool occupied(const ref_matrix_t *x, int64_t i, int64_t j)
{
    return ref_matrix_at(x, i, j) != 0.0f;
}

/* The published sequence of SplitMix64 from seed 1234567. */
static void test_generator_is_splitmix64(void **state)
{
    static const uint64_t published[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                         UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
                                         UINT64_C(16408922859458223821)};
    (void)state;
    for (uint64_t i = 0; i < 5; i++) assert_true(ref_random(1234567, i) == published[i]);
}

/* Draws out of `draws` independent ones, within five standard deviations of their expectation. */
static void assert_binomial(int64_t count, int64_t draws, double p)
{
    double mean = (double)draws * p, deviation = sqrt((double)draws * p * (1.0 - p));
    if (fabs((double)count - mean) > 5.0 * deviation)
        fail_msg("%lld of %lld where %g was expected", (long long)count, (long long)draws, mean);
}

static void test_bernoulli_density(void **state)
{
    static const double densities[] = {0.0, 0.0005, 0.01, 0.3, 0.97, 1.0};
    (void)state;
    for (size_t d = 0; d < sizeof densities / sizeof *densities; d++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            ref_matrix_t x = filled(LAC_F32, 300, 500, &row_major,
                                    (ref_pattern_t){REF_BERNOULLI, REF_UNIFORM, densities[d], 0, 0}, seed);
            assert_binomial(ref_matrix_nonzeros(&x), 300 * 500, densities[d]);
            /* and in no corner more than in another */
            ref_matrix_t quarter = x;
            quarter.m = 150;
            quarter.n = 250;
            assert_binomial(ref_matrix_nonzeros(&quarter), 150 * 250, densities[d]);
            ref_matrix_free(&x);
        }
}

static void test_dense_and_zero(void **state)
{
    (void)state;
    for (int values = REF_UNIFORM; values <= REF_SPECIAL; values++) {
        ref_matrix_t x = filled(LAC_F32, 100, 101, &row_major,
                                (ref_pattern_t){REF_DENSE, (ref_values_t)values, 1.0, 0, 0}, 5);
        assert_int_equal(ref_matrix_nonzeros(&x), 100 * 101);
        ref_matrix_free(&x);
        x = filled(LAC_F32, 100, 101, &row_major, (ref_pattern_t){REF_ZERO, (ref_values_t)values, 0.0, 0, 0},
                   5);
        assert_int_equal(ref_matrix_nonzeros(&x), 0);
        ref_matrix_free(&x);
    }
}

/* A block is full or empty, also the cut ones at the far edges. */
static void test_blocks_are_whole(void **state)
{
    const int64_t m = 330, n = 205, h = 32, w = 8, down = (m + h - 1) / h, across = (n + w - 1) / w;
    ref_matrix_t x =
        filled(LAC_F32, m, n, &row_major, (ref_pattern_t){REF_BLOCK, REF_UNIFORM, 0.25, h, w}, 3);
    int64_t full = 0;
    (void)state;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) assert_true(occupied(&x, i, j) == occupied(&x, i / h * h, j / w * w));
    for (int64_t i = 0; i < down; i++)
        for (int64_t j = 0; j < across; j++) full += occupied(&x, i * h, j * w);
    assert_binomial(full, down * across, 0.25);
    ref_matrix_free(&x);
}

static void test_rows_and_columns_are_whole(void **state)
{
    ref_matrix_t x =
        filled(LAC_F32, 400, 300, &row_major, (ref_pattern_t){REF_ROW, REF_UNIFORM, 0.1, 0, 0}, 4);
    ref_matrix_t y =
        filled(LAC_F32, 400, 300, &row_major, (ref_pattern_t){REF_COLUMN, REF_UNIFORM, 0.1, 0, 0}, 4);
    int64_t rows = 0, columns = 0;
    (void)state;
    for (int64_t i = 0; i < 400; i++)
        for (int64_t j = 0; j < 300; j++) {
            assert_true(occupied(&x, i, j) == occupied(&x, i, 0));
            assert_true(occupied(&y, i, j) == occupied(&y, 0, j));
        }
    for (int64_t i = 0; i < 400; i++) rows += occupied(&x, i, 0);
    for (int64_t j = 0; j < 300; j++) columns += occupied(&y, 0, j);
    assert_binomial(rows, 400, 0.1);
    assert_binomial(columns, 300, 0.1);
    ref_matrix_free(&x);
    ref_matrix_free(&y);
}

/* Each row has one run of round(d n); it holds or touches the diagonal, and never moves back. */
static void test_band_follows_the_diagonal(void **state)
{
    static const int64_t extents[][2] = {{200, 200}, {50, 400}, {400, 50}, {1, 30}};
    (void)state;
    for (size_t e = 0; e < 4; e++) {
        const int64_t m = extents[e][0], n = extents[e][1], width = (int64_t)(0.1 * (double)n + 0.5);
        ref_matrix_t x =
            filled(LAC_F32, m, n, &row_major, (ref_pattern_t){REF_BAND, REF_UNIFORM, 0.1, 0, 0}, 4);
        int64_t previous = 0;
        for (int64_t i = 0; i < m; i++) {
            int64_t start = 0, end, diagonal = i * n / m;
            while (start < n && !occupied(&x, i, start)) start++;
            for (end = start; end < n && occupied(&x, i, end);) end++;
            for (int64_t j = end; j < n; j++) assert_false(occupied(&x, i, j));
            assert_int_equal(end - start, width);
            assert_true(start <= diagonal && diagonal <= end);
            assert_true(start >= previous);
            previous = start;
        }
        ref_matrix_free(&x);
    }
}

static int64_t row_count(const ref_matrix_t *x, int64_t i)
{
    int64_t count = 0;
    for (int64_t j = 0; j < x->n; j++) count += occupied(x, i, j);
    return count;
}

/* Each stored row has round(d n), spread over the whole of it, and its own. */
static void test_fan_is_even(void **state)
{
    static const double densities[] = {0.0, 0.004, 0.03, 0.5, 0.97, 1.0};
    const int64_t m = 60, n = 151;
    (void)state;
    for (size_t d = 0; d < 6; d++) {
        ref_matrix_t x =
            filled(LAC_F32, m, n, &row_major, (ref_pattern_t){REF_FAN, REF_UNIFORM, densities[d], 0, 0}, 4);
        int64_t width = (int64_t)(densities[d] * (double)n + 0.5), right = 0, alike = 0;
        for (int64_t i = 0; i < m; i++) {
            assert_int_equal(row_count(&x, i), width);
            for (int64_t j = n / 2; j < n; j++) right += occupied(&x, i, j);
            for (int64_t j = 0; i && j < n; j++) alike += occupied(&x, i, j) && occupied(&x, i - 1, j);
        }
        if (densities[d] > 0.01)
            assert_true(2 * right > m * width * 9 / 10 && 2 * right < m * width * 12 / 10);
        if (densities[d] > 0.01 && densities[d] < 0.1) assert_true(5 * alike < m * width);
        ref_matrix_free(&x);
    }
    ref_problem_t p;
    ref_case_t operands; /* of a transposed operand the stored rows, too */
    assert_true(ref_problem_parse("sgemm:TN:40x50x6:A=fan0.1:metaA=ell:s3", &p, NULL, 0));
    assert_true(ref_case_make(&operands, &p, 0));
    for (int64_t i = 0; i < 50; i++) assert_int_equal(row_count(&operands.a, i), 4);
    ref_case_free(&operands);
}

/* The mean holds; the fullest row is far above it and the rows are not sorted. */
static void test_power_law_rows(void **state)
{
    static const double densities[] = {0.001, 0.01, 0.2, 0.9};
    const int64_t m = 500, n = 2000;
    (void)state;
    for (size_t d = 0; d < 4; d++) {
        ref_matrix_t x =
            filled(LAC_F32, m, n, &row_major, (ref_pattern_t){REF_POWER, REF_UNIFORM, densities[d], 0, 0}, 4);
        int64_t fullest = 0, place = 0;
        for (int64_t i = 0; i < m; i++) {
            int64_t count = row_count(&x, i);
            if (count <= fullest) continue;
            fullest = count;
            place = i;
        }
        /* A sum of binomials varies less than one binomial of the same mean. */
        assert_binomial(ref_matrix_nonzeros(&x), m * n, densities[d]);
        double mean = densities[d] * (double)n;
        assert_true((double)fullest > (mean * 20 < (double)n ? mean * 20 : (double)n * 0.99));
        assert_true(place != 0);
        ref_matrix_free(&x);
    }
}

static void assert_value(ref_values_t values, float x)
{
    double size = fabs((double)x);
    int exponent;
    if (values == REF_UNIFORM) assert_true(size < 1.0 && size > 0.0);
    if (values == REF_POSITIVE) assert_true(x > 0.0f && x <= 1.0f);
    if (values == REF_SPREAD_8) assert_true(size < 0x1p8 && size >= 0x1p-32);
    if (values == REF_SPREAD_30) assert_true(size < 0x1p30 && size >= 0x1p-54);
    if (values == REF_OUTLIERS) assert_true(size < 0x1p12 && size > 0.0);
    if (values == REF_ONES) assert_true(x == 1.0f);
    if (values == REF_INTEGER) assert_true(size == 1.0 || size == 2.0 || size == 3.0 || size == 4.0);
    (void)frexp(size, &exponent);
    if (values == REF_SPREAD_30 && exponent > 0) assert_true(exponent <= 30);
}

static void test_values_keep_their_range(void **state)
{
    (void)state;
    for (int values = REF_UNIFORM; values <= REF_OUTLIERS; values++) {
        if (values == REF_SPECIAL) continue;
        ref_matrix_t x = filled(LAC_F32, 100, 200, &row_major,
                                (ref_pattern_t){REF_DENSE, (ref_values_t)values, 1.0, 0, 0}, 6);
        double sum = 0.0, large = 0.0;
        for (int64_t i = 0; i < x.m; i++)
            for (int64_t j = 0; j < x.n; j++) {
                float value = (float)ref_matrix_at(&x, i, j);
                assert_value((ref_values_t)values, value);
                sum += (double)value;
                if (fabs((double)value) > large) large = fabs((double)value);
            }
        double mean = sum / (100.0 * 200.0);
        if (values == REF_UNIFORM) assert_true(fabs(mean) < 0.02 && large > 0.99);
        if (values == REF_POSITIVE) assert_true(fabs(mean - 0.5) < 0.02);
        if (values == REF_SPREAD_8) assert_true(large > 0x1p7);
        if (values == REF_SPREAD_30) assert_true(large > 0x1p29);
        if (values == REF_OUTLIERS) assert_true(large > 0x1p11);
        if (values == REF_INTEGER) assert_true(fabs(mean) < 0.1);
        ref_matrix_free(&x);
    }
}

/* Doubles use bits that floats have not; with the same seed they have the same zeros. */
static void test_doubles(void **state)
{
    ref_pattern_t pattern = {REF_BERNOULLI, REF_UNIFORM, 0.5, 0, 0};
    ref_matrix_t x = filled(LAC_F64, 100, 200, &row_major, pattern, 6),
                 y = filled(LAC_F32, 100, 200, &row_major, pattern, 6);
    int64_t finer = 0;
    (void)state;
    for (int64_t i = 0; i < x.m; i++)
        for (int64_t j = 0; j < x.n; j++) {
            double value = ref_matrix_at(&x, i, j);
            assert_true(fabs(value) < 1.0 && (value != 0.0) == (ref_matrix_at(&y, i, j) != 0.0));
            finer += value != (double)(float)value;
        }
    assert_true(finer > 9000);
    ref_matrix_free(&x);
    ref_matrix_free(&y);
}

static void test_special_values(void **state)
{
    ref_matrix_t x =
        filled(LAC_F32, 200, 200, &row_major, (ref_pattern_t){REF_BERNOULLI, REF_SPECIAL, 0.5, 0, 0}, 6);
    int64_t nans = 0, plus = 0, minus = 0, negative_zeros = 0, zeros = 0, n = ref_matrix_nonzeros(&x);
    (void)state;
    for (int64_t i = 0; i < x.m; i++)
        for (int64_t j = 0; j < x.n; j++) {
            float value = (float)ref_matrix_at(&x, i, j);
            nans += isnan(value) != 0;
            plus += value == INFINITY;
            minus += value == -INFINITY;
            zeros += value == 0.0f;
            negative_zeros += value == 0.0f && signbit(value);
        }
    assert_binomial(nans, n, 1.0 / 192);
    assert_binomial(plus, n, 1.0 / 192);
    assert_binomial(minus, n, 1.0 / 192);
    assert_binomial(negative_zeros, zeros, 0.5);
    assert_true(nans > 0 && plus > 0 && minus > 0);
    ref_matrix_free(&x);
}

static void test_bytes(void **state)
{
    ref_matrix_t x =
        filled(LAC_U8, 100, 100, &row_major, (ref_pattern_t){REF_BERNOULLI, REF_UNIFORM, 0.5, 0, 0}, 6);
    ref_matrix_t y =
        filled(LAC_U8, 100, 100, &row_major, (ref_pattern_t){REF_BERNOULLI, REF_ONES, 0.5, 0, 0}, 6);
    bool seen[256] = {false};
    int kinds = 0;
    (void)state;
    assert_binomial(ref_matrix_nonzeros(&x), 100 * 100, 0.5);
    for (int64_t i = 0; i < 100 * 100; i++) {
        seen[((uint8_t *)x.data)[i]] = true;
        assert_true(((uint8_t *)y.data)[i] == (((uint8_t *)x.data)[i] != 0));
    }
    for (int i = 0; i < 256; i++) kinds += seen[i];
    assert_true(kinds > 250);
    ref_matrix_free(&x);
    ref_matrix_free(&y);
}

/* Strides change nothing; another seed changes all. */
static void test_elements_do_not_depend_on_layout(void **state)
{
    static const ref_layout_t others[] = {{true, 1, 0}, {false, 2, 3}, {true, 3, 1}};
    (void)state;
    for (int s = REF_DENSE; s <= REF_FAN; s++) {
        ref_pattern_t pattern = {(ref_structure_t)s, REF_SPREAD_8, 0.3, 5, 3};
        ref_matrix_t x = filled(LAC_F32, 61, 47, &row_major, pattern, 8);
        for (size_t l = 0; l < sizeof others / sizeof *others; l++) {
            ref_matrix_t y = filled(LAC_F32, 61, 47, &others[l], pattern, 8);
            assert_true(ref_matrix_checksum(&x) == ref_matrix_checksum(&y));
            ref_matrix_free(&y);
        }
        ref_matrix_t z = filled(LAC_F32, 61, 47, &row_major, pattern, 9);
        assert_true(s == REF_ZERO || ref_matrix_checksum(&x) != ref_matrix_checksum(&z));
        ref_matrix_free(&z);
        ref_matrix_free(&x);
    }
}

/* What a seed means is fixed: a string in an old report must still make the same operands. */
static void test_operands_of_a_seed_are_pinned(void **state)
{
    static const struct {
        const char *text;
        uint64_t a, b, c;
    } rows[] = {
        {"sgemm:NT:40x50x60:A=bern0.1:B=block8x4-0.5/e8:C=dense/i:beta=1:s7", UINT64_C(0x0b9b4b13a2138c67),
         UINT64_C(0xf347d1b6337b0a1f), UINT64_C(0x0153d4c82ae5b8ce)},
        {"sgemm:TN:40x50x60:A=power0.1/e30:B=band0.2/p:C=row0.5:beta=1:s8", UINT64_C(0x755f3afd6553d38d),
         UINT64_C(0x493c989044b4cd86), UINT64_C(0xd6a8f6b10bfa95c5)},
        {"sgemm:NN:40x50x60:A=col0.5/x:dtB=u8:B=bern0.3:beta=1:s9", UINT64_C(0xbcc11c56436a63b7),
         UINT64_C(0x4a623c9aa3cac870), UINT64_C(0xae2d792f1db878d4)},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ref_problem_t p;
        ref_case_t operands;
        assert_true(ref_problem_parse(rows[i].text, &p, NULL, 0));
        assert_true(ref_case_make(&operands, &p, 0));
        uint64_t a = ref_matrix_checksum(&operands.a), b = ref_matrix_checksum(&operands.b);
        uint64_t c = ref_matrix_checksum(&operands.c);
        if (a != rows[i].a || b != rows[i].b || c != rows[i].c)
            fail_msg("%s: now 0x%016llx 0x%016llx 0x%016llx", rows[i].text, (unsigned long long)a,
                     (unsigned long long)b, (unsigned long long)c);
        ref_case_free(&operands);
    }
}

/* Structure lies along op(A): the stored matrix of a transposed operand has it the other way round. */
static void test_case_lays_structure_along_op(void **state)
{
    ref_problem_t p;
    ref_case_t n, t;
    (void)state;
    assert_true(ref_problem_parse("sgemm:NN:30x40x50:A=row0.5:B=col0.5:layB=col+1", &p, NULL, 0));
    assert_true(ref_case_make(&n, &p, 64));
    assert_true(ref_problem_parse("sgemm:TT:30x40x50:A=row0.5:B=col0.5:layA=rowx2", &p, NULL, 0));
    assert_true(ref_case_make(&t, &p, 0));
    assert_int_equal(n.a.m, 30);
    assert_int_equal(t.a.m, 40);
    ref_matrix_t a = ref_matrix_op(&t.a, LAC_TRANS), b = ref_matrix_op(&t.b, LAC_TRANS);
    assert_true(ref_matrix_checksum(&a) == ref_matrix_checksum(&n.a));
    assert_true(ref_matrix_checksum(&b) == ref_matrix_checksum(&n.b));
    for (int64_t i = 0; i < 30; i++) assert_true(row_count(&n.a, i) == 0 || row_count(&n.a, i) == 40);
    /* beta is 0: C is poison all over. */
    for (int64_t i = 0; i < 30; i++)
        for (int64_t j = 0; j < 50; j++) assert_true(isnan(ref_matrix_at(&n.c, i, j)));
    ref_case_free(&n);
    ref_case_free(&t);
    ref_case_free(&t);
    ref_case_free(NULL);
}

/* Numbers of two bytes are nonzero wherever the pattern is, and what they were drawn as. */
static void test_halves_are_exact(void **state)
{
    static const lac_dt_t types[] = {LAC_F16, LAC_BF16};
    (void)state;
    for (int t = 0; t < 2; t++)
        for (int values = REF_UNIFORM; values <= REF_OUTLIERS; values++) {
            ref_matrix_t x;
            ref_pattern_t dense = {.structure = REF_DENSE, .density = 1.0, .values = (ref_values_t)values};
            assert_true(ref_matrix_alloc(&x, types[t], 50, 200, &(ref_layout_t){false, 1, 0}, 0));
            assert_true(ref_fill(&x, &dense, 3));
            assert_int_equal(ref_matrix_nonzeros(&x), 50 * 200);
            for (int64_t e = 0; e < 50 * 200 && values != REF_SPECIAL; e++)
                assert_true(isfinite(ref_matrix_at(&x, 0, e)));
            ref_matrix_free(&x);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generator_is_splitmix64),
        cmocka_unit_test(test_bernoulli_density),
        cmocka_unit_test(test_dense_and_zero),
        cmocka_unit_test(test_blocks_are_whole),
        cmocka_unit_test(test_rows_and_columns_are_whole),
        cmocka_unit_test(test_band_follows_the_diagonal),
        cmocka_unit_test(test_fan_is_even),
        cmocka_unit_test(test_power_law_rows),
        cmocka_unit_test(test_values_keep_their_range),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_elements_do_not_depend_on_layout),
        cmocka_unit_test(test_operands_of_a_seed_are_pinned),
        cmocka_unit_test(test_case_lays_structure_along_op),
        cmocka_unit_test(test_halves_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
