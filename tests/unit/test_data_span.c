/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Strides whose span no address space holds, each sum and product on the way overflowing once; and memory
 * that is shared by arrays of such views. */
#include "unit_support.h"
#include "operand/check.h"

#include <limits.h>

static float memory[64];

static void test_spans(void **state)
{
    static const struct {
        const char *name;
        lac_dim_t m, n;
        lac_inc_t rs, cs;
        bool fits;
    } cases[] = {{"rows times stride", 3, 1, INT64_MAX, 1, false},
                 {"columns times stride", 1, 3, 1, INT64_MAX, false},
                 {"least stride", 2, 2, 1, INT64_MIN, false},
                 {"sum upwards", 2, 2, INT64_MAX, INT64_MAX, false},
                 {"sum downwards", 2, 2, -INT64_MAX, -INT64_MAX, false},
                 {"one past the last", 2, 1, INT64_MAX, 1, false},
                 {"bytes upwards", 2, 1, INT64_MAX / 2, 1, false},
                 {"bytes downwards", 2, 1, -(INT64_MAX / 2), 1, false},
                 {"more than is believed", 2, 1, INT64_C(1) << 58, 1, false},
                 {"more than is believed, downwards", 2, 1, -(INT64_C(1) << 58) - 1, 1, false},
                 {"as much as is believed", 2, 1, (INT64_C(1) << 58) - 1, 1, true},
                 {"and downwards", 2, 1, -(INT64_C(1) << 58), 1, true},
                 {"both ways", 2, 2, 1000000, -1000, true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_obj_t x = {.m = cases[i].m, .n = cases[i].n, .rs = cases[i].rs, .cs = cases[i].cs, .buf = memory};
        unit_expect(lac_check_operand("x", &x, false, LAC_LOCATION_HOST),
                    cases[i].fits ? LAC_OK : LAC_ERR_EXTENT, cases[i].name);
        if (!cases[i].fits) unit_expect_text(lac_last_error(), "x: ");
        lac_obj_t inside = lac_obj_rowmajor(LAC_F32, 1, 1, memory, 1);
        assert_int_equal(lac_share_memory(&x, &inside), cases[i].fits); /* both begin at one address */
        assert_int_equal(lac_share_memory(&inside, &x), cases[i].fits);
    }
}

/* A C of one parent with X, further down or up by lines: the lines meet where both have them. */
static void test_blocks(void **state)
{
    enum { LD = 8 };
    (void)state;
    for (int from = 0; from < 2 * LD; from++)
        for (int to = 0; to < 4 * LD; to++)
            for (int transposed = 0; transposed < 2; transposed++) {
                lac_obj_t x = lac_obj_rowmajor(LAC_F32, 2, 3, memory + from, LD),
                          c = lac_obj_rowmajor(LAC_F32, 3, 6, memory + to, LD);
                bool meet = false;
                for (int i = 0; i < 6; i++)
                    for (int j = 0; j < 18; j++) meet |= from + i / 3 * LD + i % 3 == to + j / 6 * LD + j % 6;
                if (transposed) {
                    x = lac_obj_colmajor(LAC_F32, 3, 2, memory + from, LD);
                    c = lac_obj_colmajor(LAC_F32, 6, 3, memory + to, LD);
                }
                assert_int_equal(lac_share_memory(&x, &c), meet);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spans), cmocka_unit_test(test_blocks)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
