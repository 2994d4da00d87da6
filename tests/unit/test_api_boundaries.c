/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Public calls at boundaries that single faults fell through: an activation behind the last, a pattern of one
 * entry, batches of binary events, a scan that fills its memory to the last entry. */
#include "unit_support.h"
#include "operand/metadata.h"

#include <stdlib.h>

static void test_activations(void **state)
{
    static float a[4] = {1, 0, 0, 1}, b[4] = {1, 2, 3, 4}, c[4];
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, 2, 2, a, 2), ob = lac_obj_rowmajor(LAC_F32, 2, 2, b, 2),
              oc = lac_obj_rowmajor(LAC_F32, 2, 2, c, 2);
    lac_epilogue_t e = {.size = sizeof e, .act = (lac_act_t)(LAC_ACT_MAGNITUDE + 1)};
    unit_expect(lac_gemm_epilogue(*state, NULL, &oa, &ob, NULL, &oc, &e, NULL), LAC_ERR_VALUE,
                "behind the last");
    unit_expect_text(lac_last_error(), "epilogue.act");
    e.act = LAC_ACT_MAGNITUDE;
    unit_expect(lac_gemm_epilogue(*state, NULL, &oa, &ob, NULL, &oc, &e, NULL), LAC_OK, "the last");
}

static void test_one_entry(void **state)
{
    static const int32_t ptr[] = {0, 0, 1}, idx[] = {1};
    static float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8}, value = 0.0f;
    lac_obj_t ox = lac_obj_rowmajor(LAC_F32, 2, 2, x, 2), oy = lac_obj_rowmajor(LAC_F32, 2, 2, y, 2),
              pattern = ox;
    pattern.buf = NULL;
    unit_expect(lac_meta_create(&pattern.meta, 2, 2), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(pattern.meta, LAC_I32, ptr, idx, NULL), LAC_OK, "attach");
    unit_expect(lac_sddmm(*state, NULL, &ox, &oy, NULL, &pattern, NULL), LAC_ERR_NULL, "no values");
    unit_expect(lac_sddmm(*state, NULL, &ox, &oy, NULL, &pattern, &value), LAC_OK, "one value");
    assert_true(value == 3.0f * 6.0f + 4.0f * 8.0f);
    lac_meta_free(pattern.meta);
}

/* Steps are in elements, which are bytes here. */
static void test_batch_of_events(void **state)
{
    enum { COUNT = 40, K = 512, N = 64 };
    static uint8_t a[COUNT * K];
    static float b[COUNT * K * N], c[COUNT * N];
    lac_ctx_t *ctx = *state;
    for (int q = 0; q < COUNT; q++) a[q * K + q] = 1, a[q * K + K - 1] = 200;
    for (int i = 0; i < COUNT * K * N; i++) b[i] = (float)(i % 97);
    lac_obj_t oa = lac_obj_rowmajor(LAC_U8, 1, K, a, K), ob = lac_obj_rowmajor(LAC_F32, K, N, b, N),
              oc = lac_obj_rowmajor(LAC_F32, 1, N, c, N);
    for (int call = 0; call < 4; call++) {
        for (int i = 0; i < COUNT * N; i++) c[i] = -1.0f;
        unit_expect(lac_gemm_batched(ctx, COUNT, NULL, &oa, K, &ob, K * N, NULL, &oc, N), LAC_OK, "batch");
        for (int q = 0; q < COUNT; q++)
            for (int j = 0; j < N; j++)
                assert_true(c[q * N + j] == b[q * K * N + q * N + j] + b[q * K * N + (K - 1) * N + j]);
    }
}

/* A column without a zero: its entries fill every chunk of a scan to the last one. */
static void test_full_column(void **state)
{
    enum { M = 1100000 };
    lac_ctx_t *ctx = *state;
    float *x = malloc(M * sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < M; i++) x[i] = (float)(i + 1);
    lac_obj_t column = lac_obj_rowmajor(LAC_F32, M, 1, x, 1);
    unit_expect(lac_ctx_set(ctx, "threads", "1"), LAC_OK, "threads");
    unit_expect(lac_meta_create(&column.meta, M, 1), LAC_OK, "create");
    unit_expect(lac_meta_scan(ctx, &column, LAC_META_CSR), LAC_OK, "scan");
    const lac_format_data_t *csr = lac_meta_format(column.meta, LAC_FORMAT_CSR);
    assert_non_null(csr);
    assert_int_equal(csr->count, M);
    for (int i = 0; i < M; i++)
        if (csr->ptr[i] != i || csr->idx[i] != 0 || ((const float *)csr->val)[i] != x[i])
            fail_msg("entry %d", i);
    lac_meta_free(column.meta);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_activations), cmocka_unit_test(test_one_entry),
                                       cmocka_unit_test(test_batch_of_events),
                                       cmocka_unit_test(test_full_column)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
