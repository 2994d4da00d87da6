/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Strided matrices: geometry, poison in every gap, and helpers that see one spoiled slot. */
#include "ref_matrix.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const ref_layout_t layouts[] = {
    {false, 1, 0}, {false, 1, 3}, {false, 2, 0}, {false, 3, 2},
    {true, 1, 0},  {true, 1, 3},  {true, 2, 0},  {true, 3, 2},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static void test_geometry_by_hand(void **state)
{
    ref_matrix_t x;
    (void)state;
    assert_true(ref_matrix_alloc(&x, LAC_F32, 3, 5, &(ref_layout_t){false, 1, 0}, 0));
    assert_int_equal(x.rs, 5);
    assert_int_equal(x.cs, 1);
    assert_int_equal(x.slots, 15);
    ref_matrix_free(&x);
    assert_true(ref_matrix_alloc(&x, LAC_F32, 3, 5, &(ref_layout_t){true, 2, 4}, 0));
    assert_int_equal(x.rs, 2);
    assert_int_equal(x.cs, 10);
    assert_int_equal(x.slots, 4 * 10 + 2 * 2 + 1);
    assert_int_equal((uintptr_t)x.data % 64, 0);
    ref_matrix_t t = ref_matrix_op(&x, LAC_TRANS);
    assert_int_equal(t.m, 5);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.rs, 10);
    assert_int_equal(t.cs, 2);
    assert_ptr_equal(t.data, x.data);
    lac_obj_t o = ref_matrix_obj(&x, LAC_TRANS);
    assert_int_equal(o.trans, LAC_TRANS);
    assert_int_equal(o.m, 3);
    assert_int_equal(o.cs, 10);
    assert_null(o.meta);
    ref_matrix_free(&x);
    assert_null(x.data);
    ref_matrix_free(&x);
    ref_matrix_free(NULL);
}

static void test_empty_and_impossible(void **state)
{
    ref_matrix_t x;
    (void)state;
    assert_true(ref_matrix_alloc(&x, LAC_F32, 0, 5, &layouts[1], 0));
    assert_int_equal(x.slots, 0);
    assert_non_null(x.data);
    assert_true(ref_matrix_padding_intact(&x, NULL));
    ref_matrix_free(&x);
    assert_false(ref_matrix_alloc(&x, LAC_F32, INT64_MAX, INT64_MAX, &layouts[3], 0));
    assert_null(x.base);
}

static void set_all(ref_matrix_t *x)
{
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int64_t at = i * x->rs + j * x->cs;
            if (x->dt == LAC_U8)
                ((uint8_t *)x->data)[at] = (uint8_t)(i == j);
            else
                ((float *)x->data)[at] = i == j ? 1.0f : -0.0f;
        }
}

static void corrupt(ref_matrix_t *x, int64_t at)
{
    if (x->dt == LAC_U8)
        ((uint8_t *)x->data)[at] ^= 1;
    else
        ((uint32_t *)x->data)[at] ^= 1;
}

/* Each slot in turn: an element may change, padding and guards may not. */
static void check_every_slot(ref_matrix_t *x)
{
    int64_t corrupted = 0, where = 0;

    set_all(x);
    assert_true(ref_matrix_padding_intact(x, &where));
    assert_int_equal(ref_matrix_nonzeros(x), x->m < x->n ? x->m : x->n);
    for (int64_t at = -x->guard; at < x->slots + x->guard; at++) {
        uint64_t before = ref_matrix_checksum(x);
        corrupt(x, at);
        bool intact = ref_matrix_padding_intact(x, &where);
        assert_true(intact == (ref_matrix_checksum(x) != before));
        if (!intact) {
            assert_int_equal(where, at);
            corrupted++;
        }
        corrupt(x, at);
    }
    assert_int_equal(corrupted, x->slots - x->m * x->n + 2 * x->guard);
}

static void test_every_slot_of_padding_is_watched(void **state)
{
    (void)state;
    for (int l = 0; l < LAYOUTS; l++)
        for (int dt = LAC_F32; dt <= LAC_U8; dt++)
            for (int64_t guard = 0; guard <= 64; guard += 64) {
                ref_matrix_t x;
                assert_true(ref_matrix_alloc(&x, (lac_dt_t)dt, 4, 7, &layouts[l], guard));
                check_every_slot(&x);
                ref_matrix_free(&x);
            }
}

static void test_checksum_ignores_strides(void **state)
{
    uint64_t first = 0;
    (void)state;
    for (int l = 0; l < LAYOUTS; l++) {
        ref_matrix_t x;
        assert_true(ref_matrix_alloc(&x, LAC_F32, 4, 7, &layouts[l], 0));
        set_all(&x);
        if (l == 0) first = ref_matrix_checksum(&x);
        assert_true(ref_matrix_checksum(&x) == first);
        ref_matrix_t t = ref_matrix_op(&x, LAC_TRANS);
        assert_true(ref_matrix_checksum(&t) != first);
        ref_matrix_free(&x);
    }
}

static void test_copy_and_restore(void **state)
{
    ref_matrix_t x, y;
    (void)state;
    assert_true(ref_matrix_alloc(&x, LAC_F32, 4, 7, &layouts[3], 8));
    set_all(&x);
    assert_true(ref_matrix_copy(&y, &x));
    assert_ptr_not_equal(x.data, y.data);
    assert_true(ref_matrix_checksum(&y) == ref_matrix_checksum(&x));
    corrupt(&y, 0);
    corrupt(&y, -1);
    assert_true(ref_matrix_checksum(&y) != ref_matrix_checksum(&x));
    assert_false(ref_matrix_padding_intact(&y, NULL));
    ref_matrix_restore(&y, &x);
    assert_true(ref_matrix_checksum(&y) == ref_matrix_checksum(&x));
    assert_true(ref_matrix_padding_intact(&y, NULL));
    ref_matrix_free(&x);
    ref_matrix_free(&y);
}

/* Of NaN: the bits are one thing, what a product may be held to another. */
static void test_checksum_of_a_result(void **state)
{
    static const uint32_t nan[] = {0x7fc00000, 0xffc00000, 0x7fc01234};
    ref_matrix_t x;
    uint64_t bits[3], result[3];
    (void)state;
    assert_true(ref_matrix_alloc(&x, LAC_F32, 4, 7, &layouts[3], 0));
    set_all(&x);
    assert_true(ref_matrix_result_checksum(&x) == ref_matrix_checksum(&x));
    for (int i = 0; i < 3; i++) {
        memcpy(x.data, &nan[i], sizeof nan[i]);
        bits[i] = ref_matrix_checksum(&x);
        result[i] = ref_matrix_result_checksum(&x);
    }
    assert_true(bits[0] != bits[1] && bits[1] != bits[2]);
    assert_true(result[0] == result[1] && result[1] == result[2]);
    *(float *)x.data = 1.0f;
    assert_true(ref_matrix_result_checksum(&x) != result[0]);
    ref_matrix_free(&x);
}

/* Every number of two bytes is itself; between two, the nearer one, and of two as near the even one. */
static void test_halves(void **state)
{
    static const lac_dt_t types[] = {LAC_F16, LAC_BF16};
    (void)state;
    for (int t = 0; t < 2; t++) {
        lac_dt_t dt = types[t];
        const uint16_t infinite = dt == LAC_F16 ? 0x7c00 : 0x7f80;
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            double x = ref_half_value(dt, (uint16_t)bits);
            if ((bits & 0x7fff) > infinite) {
                assert_true(isnan(x));
                assert_true(isnan(ref_half_value(dt, ref_half_nearest(dt, x))));
                continue;
            }
            assert_int_equal(ref_half_nearest(dt, x), bits);
            if (bits >= infinite - 1u) continue;
            double next = ref_half_value(dt, (uint16_t)(bits + 1)), middle = (x + next) / 2.0;
            assert_true(next > x && next - x == ldexp(1.0, ref_half_unit(dt, x)));
            assert_int_equal(ref_half_nearest(dt, middle), bits + (bits & 1));
            assert_int_equal(ref_half_nearest(dt, nextafter(middle, x)), bits);
            assert_int_equal(ref_half_nearest(dt, nextafter(middle, next)), bits + 1);
        }
    }
    assert_true(ref_half_value(LAC_F16, 0x3c00) == 1.0 && ref_half_value(LAC_BF16, 0x3f80) == 1.0);
    assert_true(ref_half_value(LAC_F16, 0x7bff) == 65504.0);
    assert_int_equal(ref_half_nearest(LAC_F16, 65519.9), 0x7bff);
    assert_int_equal(ref_half_nearest(LAC_F16, -65520.0), 0xfc00);
    assert_int_equal(ref_half_nearest(LAC_BF16, -1e39), 0xff80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geometry_by_hand),
        cmocka_unit_test(test_empty_and_impossible),
        cmocka_unit_test(test_every_slot_of_padding_is_watched),
        cmocka_unit_test(test_checksum_ignores_strides),
        cmocka_unit_test(test_checksum_of_a_result),
        cmocka_unit_test(test_copy_and_restore),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
