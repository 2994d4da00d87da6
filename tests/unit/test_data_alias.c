/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Memory shared between operands and within c, against brute force over every element's address. */
#include "unit_support.h"
#include "operand/check.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS = 4096 };

static float arena[SLOTS];

/* Marks the elements of x in a map of the arena; true where one was marked already. */
static bool mark(const lac_obj_t *x, unsigned char *map, unsigned char value)
{
    bool met = false;
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int64_t at = (float *)x->buf - arena + i * x->rs + j * x->cs;
            assert_in_range(at, 0, SLOTS - 1);
            met |= map[at] != 0;
            map[at] = value;
        }
    return met;
}

static bool truly_overlap(const lac_obj_t *x, const lac_obj_t *c)
{
    unsigned char map[SLOTS] = {0};
    mark(c, map, 1);
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++)
            if (map[(float *)x->buf - arena + i * x->rs + j * x->cs]) return true;
    return false;
}

static bool overlaps_itself(const lac_obj_t *x)
{
    unsigned char map[SLOTS] = {0};
    return mark(x, map, 1);
}

static const char *describe(const lac_obj_t *x, const lac_obj_t *c)
{
    static char text[256];
    snprintf(text, sizeof text, "x %ldx%ld rs %ld cs %ld at %ld, c %ldx%ld rs %ld cs %ld at %ld", (long)x->m,
             (long)x->n, (long)x->rs, (long)x->cs, (long)((float *)x->buf - arena), (long)c->m, (long)c->n,
             (long)c->rs, (long)c->cs, (long)((float *)c->buf - arena));
    return text;
}

/* x as a, with a b that lies elsewhere. */
static lac_status_t check_pair(const lac_obj_t *x, const lac_obj_t *c)
{
    static float other[SLOTS];
    lac_obj_t b = lac_obj_rowmajor(LAC_F32, x->n, c->n, other, c->n);
    return lac_check_product(x, &b, c);
}

static lac_obj_t block(bool rows, int64_t m, int64_t n, int64_t ld, int64_t at)
{
    return rows ? lac_obj_rowmajor(LAC_F32, m, n, arena + at, ld)
                : lac_obj_colmajor(LAC_F32, m, n, arena + at, ld);
}

/* Blocks of one parent, in both layouts and one of each, also ones that run past the end of the parent's
 * lines. */
static void test_blocks_of_one_parent(void **state)
{
    (void)state;
    uint64_t random = 1;
    int rounds = unit_quick() ? 2000 : 60000, accepted_between = 0, refused = 0;
    for (int i = 0; i < rounds; i++) {
        bool x_rows = unit_random(&random) & 1, c_rows = unit_random(&random) & 1;
        int64_t ld = unit_between(&random, 1, 9), m = unit_between(&random, 1, x_rows && c_rows ? 4 : ld);
        int64_t nx = unit_between(&random, 1, x_rows ? ld : 4),
                nc = unit_between(&random, 1, c_rows ? ld : 4);
        lac_obj_t x = block(x_rows, m, nx, ld, unit_between(&random, 100, 140));
        lac_obj_t c = block(c_rows, m, nc, ld, unit_between(&random, 100, 140));
        bool want = truly_overlap(&x, &c);
        lac_status_t got = check_pair(&x, &c);
        if (got != (want ? LAC_ERR_ALIAS : LAC_OK)) fail_msg("status %d: %s", (int)got, describe(&x, &c));
        refused += want;
        accepted_between += !want;
    }
    assert_true(refused > rounds / 10 && accepted_between > rounds / 10); /* both were met */
}

/* Any strides: what is accepted is apart. */
static void test_nothing_shared_is_accepted(void **state)
{
    (void)state;
    uint64_t random = 2;
    int rounds = unit_quick() ? 2000 : 60000, accepted = 0;
    for (int i = 0; i < rounds; i++) {
        lac_obj_t x = lac_obj_rowmajor(LAC_F32, unit_between(&random, 1, 4), unit_between(&random, 1, 5),
                                       arena + unit_between(&random, 300, 340), 0);
        lac_obj_t c = lac_obj_rowmajor(LAC_F32, x.m, unit_between(&random, 1, 5),
                                       arena + unit_between(&random, 300, 340), 0);
        lac_obj_t *both[] = {&x, &c};
        for (int o = 0; o < 2; o++) {
            both[o]->rs = unit_between(&random, -12, 12);
            both[o]->cs = unit_between(&random, -12, 12);
        }
        if (check_pair(&x, &c)) continue;
        accepted++;
        if (truly_overlap(&x, &c)) fail_msg("accepted: %s", describe(&x, &c));
    }
    assert_true(accepted > 0);
}

/* A single line may carry any leading dimension, which then says nothing of a parent. */
static void test_single_lines(void **state)
{
    (void)state;
    for (int64_t ld = 1; ld < 8; ld++)
        for (int64_t at = 0; at < 12; at++) {
            lac_obj_t x = block(true, 1, 6, ld, 100), c = block(true, 1, 4, ld, 100 + at);
            lac_status_t got = check_pair(&x, &c);
            if (truly_overlap(&x, &c) && got != LAC_ERR_ALIAS) fail_msg("accepted: %s", describe(&x, &c));
        }
}

static void test_apart_and_the_same(void **state)
{
    (void)state;
    lac_obj_t x = block(true, 4, 4, 8, 0), beside = block(true, 4, 4, 8, 4), same = block(true, 4, 4, 8, 0);
    assert_int_equal(check_pair(&x, &beside), LAC_OK);
    assert_int_equal(check_pair(&x, &same), LAC_ERR_ALIAS);
    unit_expect_text(lac_last_error(), "c: overlaps a");
    lac_obj_t transposed = block(false, 4, 4, 8, 4), another_ld = block(true, 4, 4, 9, 4);
    assert_int_equal(check_pair(&x, &transposed), LAC_OK);
    assert_int_equal(check_pair(&x, &another_ld), LAC_ERR_ALIAS); /* cannot be shown apart: refused */
    lac_obj_t bytes = {LAC_U8, LAC_HOST, LAC_NO_TRANS, 4, 4, 8, 1, arena, NULL};
    lac_obj_t behind = block(true, 4, 4, 8, 7), into = block(true, 4, 4, 8, 6);
    assert_int_equal(check_pair(&bytes, &behind), LAC_OK); /* bytes 0 .. 27 */
    assert_int_equal(check_pair(&bytes, &into), LAC_ERR_ALIAS);
}

static void test_b_is_checked_too(void **state)
{
    (void)state;
    static float other[64];
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 4, 4, other, 4), b = block(true, 4, 4, 8, 0),
              c = block(true, 4, 4, 8, 3);
    assert_int_equal(lac_check_product(&a, &b, &c), LAC_ERR_ALIAS);
    unit_expect_text(lac_last_error(), "c: overlaps b");
}

/* Within one operand: accepted exactly where lines along the shorter stride end before the next begins. */
static void test_elements_of_one_operand(void **state)
{
    (void)state;
    for (int64_t m = 1; m <= 5; m++)
        for (int64_t n = 1; n <= 5; n++)
            for (int64_t rs = -13; rs <= 13; rs++)
                for (int64_t cs = -13; cs <= 13; cs++) {
                    lac_obj_t x = {LAC_F32, LAC_HOST, LAC_NO_TRANS, m, n, rs, cs, arena + 500, NULL};
                    int64_t r = rs < 0 ? -rs : rs, c = cs < 0 ? -cs : cs;
                    bool lines = m == 1 || n == 1 || (r < c ? (m - 1) * r < c : (n - 1) * c < r);
                    lac_status_t got = lac_check_operand("x", &x, false, LAC_LOCATION_HOST);
                    bool self = overlaps_itself(&x);
                    if (self && got != LAC_ERR_STRIDE) fail_msg("accepted: %s", describe(&x, &x));
                    if (!self && lines && got) fail_msg("refused: %s", describe(&x, &x));
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_of_one_parent), cmocka_unit_test(test_nothing_shared_is_accepted),
        cmocka_unit_test(test_single_lines),         cmocka_unit_test(test_apart_and_the_same),
        cmocka_unit_test(test_b_is_checked_too),     cmocka_unit_test(test_elements_of_one_operand)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
