/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sparse formats: one matrix by hand, and every format put back together into the matrix that it came from.
 */
#include "ref_sparse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ref_generate.h"

/* 0 5 0 -0
 * 0 0 0 0
 * 7 8 0 9 */
static float by_hand[] = {0, 5, 0, -0.0f, 0, 0, 0, 0, 7, 8, 0, 9};
static const ref_matrix_t hand = {LAC_F32, 3, 4, 4, 1, by_hand, by_hand, 0, 12};

#define assert_array(got, type, ...)                                                                         \
    assert_memory_equal(got, ((const type[]){__VA_ARGS__}), sizeof((const type[]){__VA_ARGS__}))

static void test_compressed_by_hand(void **state)
{
    ref_compressed_t csr, csc;
    (void)state;
    assert_true(ref_csr_make(&csr, &hand));
    assert_int_equal(csr.lines, 3);
    assert_int_equal(csr.width, 4);
    assert_int_equal(csr.nnz, 4);
    assert_array(csr.ptr, int64_t, 0, 1, 1, 4);
    assert_array(csr.idx, int32_t, 1, 0, 1, 3);
    assert_array(csr.val, float, 5, 7, 8, 9);
    assert_true(ref_csc_make(&csc, &hand));
    assert_int_equal(csc.lines, 4);
    assert_array(csc.ptr, int64_t, 0, 1, 3, 3, 4);
    assert_array(csc.idx, int32_t, 2, 0, 2, 2);
    assert_array(csc.val, float, 7, 5, 8, 9);
    ref_compressed_free(&csr);
    ref_compressed_free(&csc);
    ref_compressed_free(&csc);
    ref_compressed_free(NULL);
}

static void test_bits_by_hand(void **state)
{
    ref_bits_t bits;
    (void)state;
    assert_true(ref_bits_make(&bits, &hand));
    assert_int_equal(bits.words, 1);
    assert_array(bits.bits, uint64_t, 2, 0, 1 + 2 + 8);
    assert_array(bits.first, int64_t, 0, 1, 1, 4);
    assert_array(bits.val, float, 5, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    ref_bits_free(&bits);
    ref_bits_free(NULL);
}

static void test_active_by_hand(void **state)
{
    ref_active_t active;
    (void)state;
    assert_true(ref_active_make(&active, &hand));
    assert_int_equal(active.active, 3);
    assert_int_equal(active.nnz, 4);
    assert_array(active.k, int32_t, 0, 1, 3);
    assert_array(active.slots, float, 0, 0, 7, 5, 0, 8, 0, 0, 9);
    assert_array(active.first, int64_t, 0, 1, 3, 4);
    assert_array(active.row, int32_t, 2, 0, 2, 2);
    assert_array(active.val, float, 7, 5, 8, 9);
    ref_active_free(&active);
    ref_active_free(NULL);
}

static bool same(float x, float y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* Every entry stands where the matrix has it; as many entries as nonzeros, so none is missing. */
static void assert_compressed(const ref_matrix_t *x)
{
    ref_compressed_t csr;
    assert_true(ref_csr_make(&csr, x));
    assert_int_equal(csr.nnz, ref_matrix_nonzeros(x));
    assert_int_equal(csr.ptr[csr.lines], csr.nnz);
    for (int64_t i = 0; i < csr.lines; i++)
        for (int64_t e = csr.ptr[i]; e < csr.ptr[i + 1]; e++) {
            assert_true(e == csr.ptr[i] || csr.idx[e] > csr.idx[e - 1]);
            assert_true(((const float *)csr.val)[e] != 0.0f &&
                        same(((const float *)csr.val)[e], (float)ref_matrix_at(x, i, csr.idx[e])));
        }
    ref_compressed_free(&csr);
}

static void assert_bits(const ref_matrix_t *x)
{
    ref_bits_t bits;
    int64_t at = 0;
    assert_true(ref_bits_make(&bits, x));
    for (int64_t i = 0; i < bits.rows; i++) {
        assert_int_equal(bits.first[i], at);
        for (int64_t j = 0; j < bits.words * 64; j++) {
            bool set = (bits.bits[i * bits.words + j / 64] >> (j % 64) & 1) != 0;
            assert_true(set == (j < x->n && ref_matrix_at(x, i, j) != 0.0f));
            if (set) assert_true(same(((const float *)bits.val)[at++], (float)ref_matrix_at(x, i, j)));
        }
    }
    assert_int_equal(at, bits.nnz);
    ref_bits_free(&bits);
}

static void assert_active(const ref_matrix_t *x)
{
    ref_active_t active;
    int64_t events = 0;
    assert_true(ref_active_make(&active, x));
    for (int64_t a = 0; a < active.active; a++) {
        assert_true(a == 0 || active.k[a] > active.k[a - 1]);
        assert_true(active.first[a + 1] > active.first[a]);
        for (int64_t i = 0; i < active.rows; i++)
            assert_true(same(((const float *)active.slots)[a * active.rows + i],
                             (float)ref_matrix_at(x, i, active.k[a])));
        for (int64_t e = active.first[a]; e < active.first[a + 1]; e++, events++)
            assert_true(
                same(((const float *)active.val)[e], (float)ref_matrix_at(x, active.row[e], active.k[a])));
    }
    assert_int_equal(events, ref_matrix_nonzeros(x));
    ref_active_free(&active);
}

static void test_formats_hold_the_matrix(void **state)
{
    static const char *const strings[] = {
        "sgemm:NN:30x200x1:A=bern0.02:s1",
        "sgemm:TN:65x129x1:A=col0.3/x:layA=rowx2+1:s2",
        "sgemm:NN:70x64x1:A=dense:s3",
        "sgemm:NN:20x63x1:A=zero:layA=col:s4",
        "sgemm:NN:20x40x1:dtA=u8:A=bern0.3:s5",
        "sgemm:NN:0x40x1:s6",
        "sgemm:NN:40x0x1:s7",
    };
    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        ref_problem_t p;
        ref_case_t operands;
        assert_true(ref_problem_parse(strings[i], &p, NULL, 0));
        assert_true(ref_case_make(&operands, &p, 0));
        ref_matrix_t views[] = {operands.a, ref_matrix_op(&operands.a, LAC_TRANS)};
        for (int v = 0; v < 2; v++) {
            assert_compressed(&views[v]);
            assert_bits(&views[v]);
            assert_active(&views[v]);
        }
        ref_case_free(&operands);
    }
}

/* Extents beyond 32-bit indices are refused before anything is read. */
static void test_wide_matrices_are_refused(void **state)
{
    ref_matrix_t wide = {.dt = LAC_F32, .m = 1, .n = (int64_t)INT32_MAX + 1, .rs = 0, .cs = 1};
    ref_compressed_t compressed;
    ref_bits_t bits;
    ref_active_t active;
    (void)state;
    assert_false(ref_csr_make(&compressed, &wide));
    assert_false(ref_csc_make(&compressed, &wide));
    assert_null(compressed.ptr);
    assert_false(ref_bits_make(&bits, &wide));
    assert_null(bits.bits);
    assert_false(ref_active_make(&active, &wide));
    assert_null(active.k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compressed_by_hand),
        cmocka_unit_test(test_bits_by_hand),
        cmocka_unit_test(test_active_by_hand),
        cmocka_unit_test(test_formats_hold_the_matrix),
        cmocka_unit_test(test_wide_matrices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
