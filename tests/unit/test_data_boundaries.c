/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operands and the log at boundaries that single faults fell through: the longest row, neighbours in the
 * registry, memory that formats leave to the next ones, a line that is too long. */
#include "unit_support.h"
#include "base/log.h"
#include "operand/metadata.h"
#include "operand/problem.h"
#include "operand/registry.h"

#include <string.h>

static void test_longest_row(void **state)
{
    (void)state;
    static const int32_t ptr[] = {0, 1, 4, 6}, idx[] = {2, 0, 1, 3, 0, 4};
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, 3, 5), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), LAC_OK, "attach");
    assert_int_equal(lac_meta_format(meta, LAC_FORMAT_CSR)->longest, 3);
    lac_meta_free(meta);
}

/* What was attached is a hint once the contents are touched, and no more. */
static void test_touched_is_a_hint(void **state)
{
    (void)state;
    static const int32_t ptr[] = {0, 1, 2}, idx[] = {0, 1};
    static float buf[4];
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, 2, 2, buf, 2);
    unit_expect(lac_meta_create(&x.meta, 2, 2), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(x.meta, LAC_I32, ptr, idx, NULL), LAC_OK, "attach");
    assert_int_equal(lac_operand_describe(&x).known, LAC_KNOWN_ATTACHED);
    unit_expect(lac_meta_touch(x.meta), LAC_OK, "touch");
    assert_int_equal(lac_operand_describe(&x).known, LAC_KNOWN_SCANNED);
    assert_true(lac_operand_describe(&x).density == 0.5);
    lac_meta_free(x.meta);
}

static int freed;

static void count_free(void *memory)
{
    (void)memory;
    freed++;
}

/* A format that is renewed leaves its memory, all pieces of it, and what they hold counts. */
static void test_kept_memory(void **state)
{
    (void)state;
    static char piece[3];
    lac_meta_t *meta;
    unit_expect(lac_meta_create(&meta, 2, 2), LAC_OK, "create");
    lac_format_data_t data = {.origin = LAC_ORIGIN_SCANNED,
                              .owned = {&piece[0], &piece[1], &piece[2]},
                              .room = {100, 0, 30},
                              .owned_bytes = 150,
                              .release = count_free};
    freed = 0;
    lac_meta_lock(meta);
    lac_meta_install(meta, LAC_FORMAT_CSR, &data);
    lac_meta_unlock(meta);
    lac_meta_renew(meta, 1u << LAC_FORMAT_CSR);
    const lac_format_data_t *kept = &meta->format[LAC_FORMAT_CSR];
    assert_int_equal(freed, 1); /* the piece whose size nobody knows */
    assert_int_equal(kept->owned_bytes, 130);
    assert_true(kept->owned[0] == &piece[0] && !kept->owned[1] && kept->owned[2] == &piece[2]);
    assert_null(lac_meta_format(meta, LAC_FORMAT_CSR));
    lac_meta_free(meta);
    assert_int_equal(freed, 3);
}

/* Matrices that lie end to end do not overlap; each is found at its own address. */
static void test_neighbours(void **state)
{
    (void)state;
    static float both[40];
    const lac_memory_id_t host = {.device = -1};
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, 4, 5, both, 5), y = x, z = x;
    y.buf = both + 20, z.buf = both + 19;
    unit_expect(lac_registry_add(&x, host, false), LAC_OK, "the first");
    unit_expect(lac_registry_add(&z, host, false), LAC_ERR_ALIAS, "one that begins in its last element");
    unit_expect(lac_registry_add(&y, host, false), LAC_OK, "the one behind it");
    lac_obj_t found = y;
    lac_registered_t *entry = lac_registry_borrow(&found, -1);
    assert_non_null(entry);
    assert_ptr_equal(found.buf, y.buf);
    lac_registry_give_back(entry);
    assert_true(lac_registry_remove(x.buf));
    assert_true(lac_registry_remove(y.buf));
    assert_false(lac_registry_remove(y.buf));
}

/* The step along an extent of one is whatever the caller says. */
static void test_single_row(void **state)
{
    (void)state;
    static float row[8];
    const lac_memory_id_t host = {.device = -1};
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, 1, 8, row, 8), y = x;
    unit_expect(lac_registry_add(&x, host, false), LAC_OK, "one row");
    y.rs = 100;
    lac_registered_t *entry = lac_registry_borrow(&y, -1);
    assert_non_null(entry);
    lac_registry_give_back(entry);
    lac_obj_t z = x;
    z.cs = 2;
    assert_null(lac_registry_borrow(&z, -1));
    assert_true(lac_registry_remove(x.buf));
}

/* A line of the log is cut where its room ends, and ends as a line. */
static void test_long_line(void **state)
{
    (void)state;
    static char word[4096];
    memset(word, 'x', sizeof word - 1);
    (void)unit_log();
    lac_log("%s", word);
    const char *text = unit_log();
    assert_int_equal(strlen(text), 2047);
    assert_int_equal(unit_lines(text), 1);
    assert_int_equal(text[2046], '\n');
    lac_log("%.2000s", word);
    assert_int_equal(strlen(unit_log()), 2001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_row), cmocka_unit_test(test_touched_is_a_hint),
        cmocka_unit_test(test_kept_memory), cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_single_row),  cmocka_unit_test(test_long_line)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
