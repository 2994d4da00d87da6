/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bad input to row slices: a status, a message that names the argument, and nothing written. */
#include "slice_case.h"
#include "planner/context.h"

#include <stdlib.h>
#include <string.h>

enum { M = 10, N = 15, COUNT = 3 };

static slice_case_t c;
static int64_t rows[COUNT] = {1, 3, 1}, ptr[COUNT + 1], idx[COUNT * N];
static float dense[COUNT * N], grad[M * N], val[COUNT * N];
static lac_ctx_t *ctx;

/* The arguments of every call; a test spoils one. */
static struct {
    lac_ctx_t *ctx;
    const lac_obj_t *a;
    lac_obj_t a_view, dense;
    const lac_obj_t *dense_at;
    lac_index_t it, ptr_it;
    lac_dim_t count;
    const void *rows, *ptr;
    void *ptr_out, *idx;
    float *grad, *val;
    lac_slice_opts_t options;
    const lac_slice_opts_t *options_at;
} arg;

static void reset(void)
{
    uint64_t random = 3;
    slice_case_free(&c);
    slice_case_make(&c, M, N, 0.3, LAC_I64, true, &random);
    rows[0] = 1, rows[1] = 3, rows[2] = 1;
    arg.ctx = ctx;
    arg.a_view = c.a, arg.a = &arg.a_view;
    arg.dense = lac_obj_rowmajor(LAC_F32, COUNT, N, dense, N), arg.dense_at = &arg.dense;
    arg.it = LAC_I64, arg.ptr_it = LAC_I64, arg.count = COUNT, arg.rows = rows;
    arg.ptr_out = ptr, arg.ptr = ptr, arg.idx = idx, arg.val = val, arg.grad = grad;
    arg.options = (lac_slice_opts_t){.size = sizeof arg.options}, arg.options_at = &arg.options;
    unit_expect(lac_slice_rows_count(ctx, &c.a, LAC_I64, COUNT, rows, LAC_I64, ptr, NULL), LAC_OK,
                "pointers");
}

enum { ROWS = 1, GRAD = 2, COUNTS = 4, CSR = 8, ALL = 15 };

static lac_status_t call(int which)
{
    switch (which) {
    case ROWS:
        return lac_slice_rows(arg.ctx, arg.a, arg.it, arg.count, arg.rows, arg.dense_at, arg.options_at);
    case GRAD:
        return lac_slice_rows_grad(arg.ctx, arg.a, arg.it, arg.count, arg.rows, arg.dense_at, arg.grad,
                                   arg.options_at);
    case COUNTS:
        return lac_slice_rows_count(arg.ctx, arg.a, arg.it, arg.count, arg.rows, arg.ptr_it, arg.ptr_out,
                                    arg.options_at);
    default:
        return lac_slice_rows_csr(arg.ctx, arg.a, arg.it, arg.count, arg.rows, arg.ptr_it, arg.ptr, arg.idx,
                                  arg.val, arg.options_at);
    }
}

/* The spoilt call, of each kind in `which`, fails so and leaves every array as it was. */
static void expect_refusal(int which, lac_status_t want, const char *word)
{
    static char before[sizeof dense + sizeof grad + sizeof val + sizeof ptr + sizeof idx], *at;
    for (int kind = ROWS; kind <= CSR; kind *= 2) {
        if (!(which & kind)) continue;
        const struct {
            void *memory;
            size_t bytes;
        } all[] = {{dense, sizeof dense},
                   {grad, sizeof grad},
                   {val, sizeof val},
                   {ptr, sizeof ptr},
                   {idx, sizeof idx}};
        at = before;
        for (int i = 0; i < 5; at += all[i++].bytes) memcpy(at, all[i].memory, all[i].bytes);
        unit_expect(call(kind), want, word);
        unit_expect_text(lac_last_error(), word);
        at = before;
        for (int i = 0; i < 5; at += all[i++].bytes) assert_memory_equal(at, all[i].memory, all[i].bytes);
    }
    reset();
}

static void test_good(void **state)
{
    (void)state;
    for (int kind = ROWS; kind <= CSR; kind *= 2) unit_expect(call(kind), LAC_OK, "as it is");
    arg.options_at = NULL;
    for (int kind = ROWS; kind <= CSR; kind *= 2) unit_expect(call(kind), LAC_OK, "without options");
    assert_string_equal(lac_last_error(), "");
    reset();
}

static void test_null(void **state)
{
    (void)state;
    arg.ctx = NULL, expect_refusal(ALL, LAC_ERR_NULL, "ctx: is NULL");
    arg.a = NULL, expect_refusal(ALL, LAC_ERR_NULL, "a: is NULL");
    arg.rows = NULL, expect_refusal(ALL, LAC_ERR_NULL, "rows: is NULL");
    arg.dense_at = NULL, expect_refusal(ROWS, LAC_ERR_NULL, "out: is NULL");
    arg.dense_at = NULL, expect_refusal(GRAD, LAC_ERR_NULL, "grad_out: is NULL");
    arg.dense.buf = NULL, expect_refusal(ROWS, LAC_ERR_NULL, "out.buf: is NULL");
    arg.dense.buf = NULL, expect_refusal(GRAD, LAC_ERR_EMPTY, "grad_out.buf: is NULL");
    arg.grad = NULL, expect_refusal(GRAD, LAC_ERR_NULL, "grad_val: is NULL");
    arg.ptr = arg.ptr_out = NULL, expect_refusal(COUNTS | CSR, LAC_ERR_NULL, "ptr: is NULL");
    arg.idx = NULL, expect_refusal(CSR, LAC_ERR_NULL, "idx: is NULL");
}

static void test_shapes(void **state)
{
    (void)state;
    arg.count = -1, expect_refusal(ALL, LAC_ERR_EXTENT, "count: -1 is negative");
    arg.count = INT64_MAX, expect_refusal(ALL, LAC_ERR_EXTENT, "count:");
    arg.a_view.m = -1, expect_refusal(ALL, LAC_ERR_EXTENT, "a: -1 x 15");
    arg.a_view.n = N + 1, expect_refusal(ALL, LAC_ERR_EXTENT, "a.meta: describes");
    arg.dense.m = COUNT - 1,
    expect_refusal(ROWS, LAC_ERR_EXTENT, "out: is 2 x 15, and 3 rows of a are 3 x 15");
    arg.dense.n = N - 1, expect_refusal(GRAD, LAC_ERR_EXTENT, "grad_out: is 3 x 14");
    arg.dense.trans = LAC_TRANS, expect_refusal(ROWS, LAC_ERR_EXTENT, "out: is 15 x 3");
    arg.dense.rs = N - 1, expect_refusal(ROWS, LAC_ERR_STRIDE, "out: strides 14, 1");
    arg.dense.rs = N - 1, expect_refusal(GRAD, LAC_ERR_STRIDE, "grad_out: strides 14, 1");
    arg.dense.rs = INT64_MAX, expect_refusal(ROWS | GRAD, LAC_ERR_EXTENT, "overflows the address space");
}

static void test_types(void **state)
{
    (void)state;
    arg.it = (lac_index_t)7, expect_refusal(ALL, LAC_ERR_TYPE, "it: 7 is no index type");
    arg.ptr_it = (lac_index_t)2, expect_refusal(COUNTS | CSR, LAC_ERR_TYPE, "ptr_it: 2 is no index type");
    arg.dense.dt = LAC_U8, expect_refusal(ROWS, LAC_ERR_TYPE, "out.dt");
    arg.dense.dt = LAC_U8, expect_refusal(GRAD, LAC_ERR_TYPE, "grad_out.dt");
    arg.a_view.dt = (lac_dt_t)9, expect_refusal(ALL, LAC_ERR_TYPE, "a.dt");
    arg.a_view.space = LAC_DEVICE, expect_refusal(ALL, LAC_ERR_SPACE, "a.space");
    arg.dense.space = LAC_DEVICE, expect_refusal(ROWS, LAC_ERR_SPACE, "out.space");
    arg.options.size = 8, expect_refusal(ALL, LAC_ERR_VALUE, "options.size: is 8");
}

static void test_rows_outside(void **state)
{
    (void)state;
    rows[1] = M, rows[2] = -1, expect_refusal(ALL, LAC_ERR_VALUE, "rows[1]: is 10, outside [0, 10)");
    rows[2] = -1, expect_refusal(ALL, LAC_ERR_VALUE, "rows[2]: is -1, outside [0, 10)");
}

static void test_metadata(void **state)
{
    (void)state;
    unit_expect(lac_meta_touch(c.a.meta), LAC_OK, "touch");
    expect_refusal(ALL, LAC_ERR_STALE, "a.meta: was touched");
    lac_meta_t *bare;
    float contents[M * N] = {0};
    unit_expect(lac_meta_create(&bare, M, N), LAC_OK, "create");
    arg.a_view.meta = bare, expect_refusal(ALL, LAC_ERR_EMPTY, "a.meta holds no sparse format");
    arg.a_view.meta = NULL, expect_refusal(ALL, LAC_ERR_EMPTY, "a.meta is too");
    arg.a_view.meta = NULL, arg.a_view.buf = contents;
    expect_refusal(ALL, LAC_ERR_EMPTY, "a.meta: is NULL");
    arg.a_view.meta = bare, arg.a_view.buf = contents;
    expect_refusal(ALL, LAC_ERR_EMPTY, "a.meta: holds no format that stands for it; attach CSR");
    arg.a_view.trans = LAC_TRANS, arg.dense = lac_obj_rowmajor(LAC_F32, COUNT, M, dense, M);
    arg.a_view.meta = bare, arg.a_view.buf = contents;
    expect_refusal(ALL, LAC_ERR_EMPTY, "attach CSC");
    lac_meta_free(bare);
}

static void test_alias(void **state)
{
    (void)state;
    arg.dense.buf = c.val, expect_refusal(ROWS, LAC_ERR_ALIAS, "out: overlaps the values of a");
    arg.dense.buf = c.ptr, expect_refusal(ROWS, LAC_ERR_ALIAS, "out: overlaps the row pointers of a");
    arg.rows = dense, arg.options.zero_rows = 1, expect_refusal(ROWS, LAC_ERR_ALIAS, "out: overlaps rows");
    arg.options.val = dense, expect_refusal(ROWS, LAC_ERR_ALIAS, "out: overlaps options.val");
    arg.grad = dense, expect_refusal(GRAD, LAC_ERR_ALIAS, "grad_val: overlaps grad_out");
    arg.grad = c.val, expect_refusal(GRAD, LAC_ERR_ALIAS, "grad_val: overlaps the values of a");
    arg.ptr_out = rows, expect_refusal(COUNTS, LAC_ERR_ALIAS, "ptr: overlaps rows");
    arg.idx = ptr, expect_refusal(CSR, LAC_ERR_ALIAS, "idx: overlaps ptr");
    arg.val = (float *)(void *)idx, expect_refusal(CSR, LAC_ERR_ALIAS, "val: overlaps idx");
    arg.idx = rows, expect_refusal(CSR, LAC_ERR_ALIAS, "idx: overlaps rows");
    arg.val = c.val, expect_refusal(CSR, LAC_ERR_ALIAS, "val: overlaps the values of a");
}

static void test_pointers_of_another(void **state)
{
    (void)state;
    ptr[0] = 1, expect_refusal(CSR, LAC_ERR_SPARSE, "ptr[0]: is 1");
    ptr[2]++, expect_refusal(CSR, LAC_ERR_SPARSE, "ptr[2]:");
    ptr[COUNT] = INT64_MAX, expect_refusal(CSR, LAC_ERR_SPARSE, "ptr[3]:");
}

/* More entries than an int32_t counts: many picks of one full row. */
static void test_count_overflow(void **state)
{
    (void)state;
    enum { WIDE = 1 << 20, PICKS = (1 << 11) + 1 };
    int64_t *first = calloc(2, sizeof *first), *columns = malloc(WIDE * sizeof *columns);
    int32_t *picks = calloc(PICKS, sizeof *picks), *narrow = calloc(PICKS + 1, sizeof *narrow);
    int64_t *wide = calloc(PICKS + 1, sizeof *wide);
    assert_true(first && columns && picks && narrow && wide);
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 1, WIDE, NULL, WIDE);
    for (int64_t j = 0; j < WIDE; j++) columns[j] = j;
    first[1] = WIDE;
    unit_expect(lac_meta_create(&a.meta, 1, WIDE), LAC_OK, "create");
    unit_expect(lac_meta_attach_csr(a.meta, LAC_I64, first, columns, NULL), LAC_OK, "attach");
    unit_expect(lac_slice_rows_count(ctx, &a, LAC_I32, PICKS, picks, LAC_I32, narrow, NULL), LAC_ERR_EXTENT,
                "overflow");
    unit_expect_text(lac_last_error(), "overflow int32_t");
    for (int i = 0; i <= PICKS; i++) assert_int_equal(narrow[i], 0);
    unit_expect(lac_slice_rows_count(ctx, &a, LAC_I32, PICKS, picks, LAC_I64, wide, NULL), LAC_OK, "wide");
    assert_true(wide[PICKS] == (int64_t)PICKS * WIDE);
    lac_meta_free(a.meta);
    free(first), free(columns), free(picks), free(narrow), free(wide);
}

/* A backend without the hook says so. */
static void test_backend_without(void **state)
{
    (void)state;
    lac_backend_t without = *ctx->backend;
    const lac_backend_t *kept = ctx->backend;
    without.slicer = NULL, without.name = "other";
    ctx->backend = &without;
    for (int kind = ROWS; kind <= CSR; kind *= 2) {
        unit_expect(call(kind), LAC_ERR_UNAVAILABLE, "without");
        unit_expect_text(lac_last_error(), "ctx: the other backend slices no rows");
    }
    ctx->backend = kept;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),           cmocka_unit_test(test_null),
        cmocka_unit_test(test_shapes),         cmocka_unit_test(test_types),
        cmocka_unit_test(test_rows_outside),   cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_alias),          cmocka_unit_test(test_pointers_of_another),
        cmocka_unit_test(test_count_overflow), cmocka_unit_test(test_backend_without),
    };
    unit_begin();
    ctx = unit_ctx();
    reset();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    slice_case_free(&c);
    lac_ctx_free(ctx);
    return failed;
}
