/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A sampled product that would write over what it reads: every array of every format that an operand may be
 * read from, and of the pattern. */
#include "unit_support.h"

#include "lacuna/sddmm.h"

#include <string.h>

enum { M = 4, NNZ = 4 };

/* The identity in every format; each array so large that values may be written over it. */
static int64_t ptr64[M + 1] = {0, 1, 2, 3, 4};
static int32_t idx32[NNZ] = {0, 1, 2, 3};
static float val[NNZ] = {1, 1, 1, 1}, columns[M * M] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
static uint64_t bits[M] = {1, 2, 4, 8};

enum { CSR_32, CSR_64, CSC_64, ACTIVE, BITS, FORMATS };

static lac_obj_t sparse(int format)
{
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, M, M, NULL, M);
    lac_status_t status = lac_meta_create(&x.meta, M, M);
    static const int32_t ptr32[M + 1] = {0, 1, 2, 3, 4};
    if (format == CSR_32) status |= lac_meta_attach_csr(x.meta, LAC_I32, ptr32, idx32, val);
    if (format == CSR_64) status |= lac_meta_attach_csr(x.meta, LAC_I64, ptr64, ptr64, val);
    if (format == CSC_64) status |= lac_meta_attach_csc(x.meta, LAC_I64, ptr64, ptr64, val);
    if (format == ACTIVE) status |= lac_meta_attach_active(x.meta, M, idx32, columns);
    if (format == BITS) status |= lac_meta_attach_bitmask(x.meta, bits, val);
    unit_expect(status, LAC_OK, "attach");
    return x;
}

static void test_operands(void **state)
{
    static const struct {
        int format;
        void *over;
        bool read;
    } cases[] = {{CSR_32, idx32, true},   {CSR_32, val, true},          {CSR_64, ptr64, true},
                 {CSC_64, ptr64, true},   {CSC_64, val, true},          {ACTIVE, idx32, true},
                 {ACTIVE, columns, true}, {ACTIVE, columns + 12, true}, {BITS, bits, true},
                 {BITS, val, false} /* copied as it was attached */};
    float dense[M * M] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int side = 0; side < 2; side++) {
            static const int32_t at[M + 1] = {0, 1, 2, 3, 4}, of[NNZ] = {3, 2, 1, 0};
            lac_obj_t x = sparse(cases[i].format), y = lac_obj_rowmajor(LAC_F32, M, M, dense, M), p = y;
            unsigned char before[NNZ * sizeof(float)], *over = cases[i].over;
            memcpy(before, over, sizeof before);
            unit_expect(lac_meta_create(&p.meta, M, M), LAC_OK, "meta");
            unit_expect(lac_meta_attach_csr(p.meta, LAC_I32, at, of, NULL), LAC_OK, "pattern");
            lac_status_t status =
                lac_sddmm(*state, NULL, side ? &y : &x, side ? &x : &y, NULL, &p, (float *)over);
            unit_expect(status, cases[i].read ? LAC_ERR_ALIAS : LAC_OK, side ? "b" : "a");
            if (status) unit_expect_text(lac_last_error(), side ? "overlaps b" : "overlaps a");
            if (status) assert_memory_equal(over, before, sizeof before);
            memcpy(over, before, sizeof before);
            lac_meta_free(x.meta);
            lac_meta_free(p.meta);
        }
}

/* Its values may be written over: that is how a CSR operand is trained. */
static void test_pattern(void **state)
{
    float x[M * M], y[M * M];
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, M, M, x, M), b = lac_obj_rowmajor(LAC_F32, M, M, y, M);
    for (int i = 0; i < M * M; i++) x[i] = (float)i, y[i] = 1.0f;
    for (int format = CSR_32; format <= CSR_64; format++) {
        lac_obj_t p = sparse(format);
        void *index = format == CSR_32 ? (void *)idx32 : (void *)ptr64;
        unit_expect(lac_sddmm(*state, NULL, &a, &b, NULL, &p, index), LAC_ERR_ALIAS, "indices");
        unit_expect_text(lac_last_error(), "the indices of pattern");
        unit_expect(lac_sddmm(*state, NULL, &a, &b, NULL, &p, val), LAC_OK, "values");
        for (int i = 0; i < M; i++) {
            assert_true(val[i] == x[i * M] + x[i * M + 1] + x[i * M + 2] + x[i * M + 3]);
            val[i] = 1.0f;
        }
        lac_meta_free(p.meta);
    }
}

static void test_pattern_without_rows(void **state)
{
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, M, M, columns, M), p = sparse(CSC_64);
    float out[NNZ] = {7, 7, 7, 7};
    unit_expect(lac_sddmm(*state, NULL, &x, &x, NULL, &p, out), LAC_ERR_EMPTY, "columns are no rows");
    unit_expect_text(lac_last_error(), "pattern.meta: holds no CSR format");
    assert_true(out[0] == 7);
    lac_meta_free(p.meta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operands), cmocka_unit_test(test_pattern),
                                       cmocka_unit_test(test_pattern_without_rows)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
