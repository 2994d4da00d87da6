/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Conversions that are refused, before a device that is none: memory that lies elsewhere, contents for which
 * nothing stands, what a device lacks, and each of its own calls failing. */
#include "fake_device.h"

#include "lacuna/convert.h"

#include <string.h>

enum { M = 4, N = 5, NNZ = 3, FORMATS = LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK | LAC_META_ACTIVE };

static const int32_t ptr[] = {0, 1, 1, 3, 3}, idx[] = {2, 0, 4};
static const float val[] = {5.0f, 6.0f, 7.0f};
static float dense[M * N], out[M * N];

static lac_obj_t sparse(lac_ctx_t *ctx)
{
    lac_obj_t x = fake_device_matrix(M, N, NULL);
    unit_expect(lac_meta_create_for(ctx, &x.meta, M, N), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(x.meta, LAC_I32, ptr, idx, val), LAC_OK, "attach");
    return x;
}

static int setup(void **state)
{
    *state = fake_device_ctx();
    memset(dense, 0, sizeof dense);
    dense[2] = 5.0f, dense[2 * N] = 6.0f, dense[2 * N + 4] = 7.0f;
    for (int i = 0; i < M * N; i++) out[i] = -77.0f;
    return 0;
}

static void refused(lac_status_t got, lac_status_t want, const char *words)
{
    fake_device_refuses(got, want, words);
    fake.elsewhere = NULL;
    for (int i = 0; i < M * N; i++) assert_true(out[i] == -77.0f);
}

static void test_places(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_obj_t x = sparse(ctx), full = fake_device_matrix(M, N, dense), to = fake_device_matrix(M, N, out);
    int64_t count = -1;
    fake.elsewhere = out;
    refused(lac_to_dense(ctx, &x, &to), LAC_ERR_SPACE, "out: is not here");
    fake.elsewhere = dense;
    refused(lac_to_dense(ctx, &full, &to), LAC_ERR_SPACE, "a: is not here");
    fake.elsewhere = &count;
    refused(lac_count_nonzeros(ctx, &x, &count), LAC_ERR_SPACE, "count: is not here");
    full.meta = x.meta;
    fake.elsewhere = dense;
    refused(lac_meta_convert(ctx, &full, LAC_META_CSC), LAC_ERR_SPACE, "obj: is not here");
    assert_int_equal(count, -1);
    unit_expect(lac_count_nonzeros(ctx, &x, &count), LAC_OK, "count");
    assert_int_equal(count, NNZ);
    unit_expect(lac_to_dense(ctx, &x, &to), LAC_OK, "to dense");
    assert_memory_equal(out, dense, sizeof dense);
    lac_meta_free(x.meta);
}

/* Into a transposed view the same elements go. */
static void test_transposed(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_obj_t x = sparse(ctx), to = fake_device_matrix(N, M, out), none = fake_device_matrix(0, N, NULL),
              nowhere = fake_device_matrix(0, N, out);
    to.trans = LAC_TRANS;
    unit_expect(lac_to_dense(ctx, &x, &to), LAC_OK, "to dense");
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) assert_true(out[j * M + i] == dense[i * N + j]);
    unit_expect(lac_to_dense(ctx, &none, &nowhere), LAC_OK, "no rows");
    lac_meta_free(x.meta);
}

static void test_bad_input(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_obj_t x = sparse(ctx), to = fake_device_matrix(M, N, out), bad = to;
    int64_t count;
    refused(lac_to_dense(NULL, &x, &to), LAC_ERR_NULL, "ctx: is NULL");
    refused(lac_to_dense(ctx, NULL, &to), LAC_ERR_NULL, "a: is NULL");
    bad.m = M - 1;
    refused(lac_to_dense(ctx, &x, &bad), LAC_ERR_EXTENT, "out: is 3 x 5, a is 4 x 5");
    bad = to, bad.n = N - 1;
    refused(lac_to_dense(ctx, &x, &bad), LAC_ERR_EXTENT, "out: is 4 x 4, a is 4 x 5");
    refused(lac_to_dense(ctx, &to, &to), LAC_ERR_ALIAS, "out: overlaps a");
    refused(lac_count_nonzeros(ctx, &x, NULL), LAC_ERR_NULL, "count: is NULL");
    refused(lac_meta_convert(ctx, &to, LAC_META_CSR), LAC_ERR_NULL, "obj.meta: is NULL");
    refused(lac_meta_convert(ctx, &x, 0), LAC_ERR_VALUE, "what: 0x0");
    refused(lac_meta_convert(ctx, &x, LAC_META_DENSITY), LAC_ERR_VALUE, "is not made of bits of formats");
    fake_device_backend()->densify = NULL;
    refused(lac_to_dense(ctx, &x, &to), LAC_ERR_UNAVAILABLE, "converts nothing");
    fake_device_backend()->count = NULL;
    refused(lac_count_nonzeros(ctx, &x, &count), LAC_ERR_UNAVAILABLE, "converts nothing");
    lac_meta_free(x.meta);
}

static void test_bad_tiles(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_obj_t x = sparse(ctx), full = fake_device_matrix(M, N, dense), bad = full,
              long_one = fake_device_matrix(INT64_C(1) << 60, 1, dense);
    uint64_t found[M] = {5, 5, 5, 5};
    int64_t count = -1;
    long_one.dt = LAC_U8;
    refused(lac_tile_occupancy(NULL, &x, 1, 1, found, &count), LAC_ERR_NULL, "ctx: is NULL");
    refused(lac_tile_occupancy(ctx, NULL, 1, 1, found, &count), LAC_ERR_NULL, "a: is NULL");
    refused(lac_tile_occupancy(ctx, &x, 0, 1, found, &count), LAC_ERR_VALUE, "tile_rows: 0 is below 1");
    refused(lac_tile_occupancy(ctx, &x, 1, -3, found, &count), LAC_ERR_VALUE, "tile_cols: -3 is below 1");
    refused(lac_tile_occupancy(ctx, &x, 1, 1, NULL, &count), LAC_ERR_NULL, "bits: is NULL");
    refused(lac_tile_occupancy(ctx, &x, 1, 1, found, (int64_t *)found), LAC_ERR_ALIAS,
            "count: overlaps bits");
    refused(lac_tile_occupancy(ctx, &full, 1, 1, (uint64_t *)dense, NULL), LAC_ERR_ALIAS, "bits: overlaps a");
    refused(lac_tile_occupancy(ctx, &long_one, 1, 1, found, NULL), LAC_ERR_EXTENT, "words overflow memory");
    bad.rs = 1;
    refused(lac_tile_occupancy(ctx, &bad, 1, 1, found, &count), LAC_ERR_STRIDE, "a: strides");
    fake.elsewhere = found;
    refused(lac_tile_occupancy(ctx, &x, 1, 1, found, &count), LAC_ERR_SPACE, "bits: is not here");
    fake.elsewhere = &count;
    refused(lac_tile_occupancy(ctx, &x, 1, 1, found, &count), LAC_ERR_SPACE, "count: is not here");
    fake_device_backend()->occupancy = NULL;
    refused(lac_tile_occupancy(ctx, &x, 1, 1, found, &count), LAC_ERR_UNAVAILABLE, "converts nothing");
    for (int i = 0; i < M; i++) assert_int_equal(found[i], 5);
    assert_int_equal(count, -1);
    lac_meta_free(x.meta);
}

static void test_nothing_stands_for_the_contents(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_obj_t full = fake_device_matrix(M, N, dense);
    lac_format_view_t view;
    unit_expect(lac_meta_create_for(ctx, &full.meta, M, N), LAC_OK, "meta");
    refused(lac_meta_convert(ctx, &full, LAC_META_CSR), LAC_ERR_EMPTY, "nothing stands for the contents");
    unit_expect(lac_meta_touch(full.meta), LAC_OK, "touch");
    refused(lac_meta_convert(ctx, &full, LAC_META_CSR), LAC_ERR_STALE, "nothing stands for the contents");
    refused(lac_meta_view(full.meta, LAC_META_CSR, &view), LAC_ERR_EMPTY, "the format is not there");
    refused(lac_meta_view(full.meta, FORMATS, &view), LAC_ERR_VALUE, "not the bit of one format");
    refused(lac_meta_view(NULL, LAC_META_CSR, &view), LAC_ERR_NULL, "meta: is NULL");
    refused(lac_meta_view(full.meta, LAC_META_CSR, NULL), LAC_ERR_NULL, "view: is NULL");
    unit_expect(lac_meta_freeze(full.meta), LAC_OK, "freeze");
    unit_expect(lac_meta_convert(ctx, &full, FORMATS), LAC_OK, "a frozen buffer is scanned");
    unit_expect(lac_meta_view(full.meta, LAC_META_CSC, &view), LAC_OK, "view");
    assert_true(view.count == NNZ && view.idx[0] == 2 && *(const float *)view.val == 6.0f);
    lac_meta_free(full.meta);
}

/* A format that has to be laid out first: room for it comes from the device, and goes back. */
static void test_failures(void **state)
{
    lac_ctx_t *ctx = *state;
    lac_status_t status = LAC_ERR_VENDOR;
    int n = 0;
    while (status) {
        lac_obj_t x = sparse(ctx);
        lac_format_view_t view;
        fake.calls = 0, fake.fails = ++n;
        status = lac_meta_convert(ctx, &x, LAC_META_BITMASK);
        bool met = fake.calls >= n;
        fake.fails = 0;
        assert_int_equal(fake.allocated, 0);
        if (status) unit_expect(status, LAC_ERR_VENDOR, "derive");
        unit_expect(lac_meta_view(x.meta, LAC_META_BITMASK, &view), status ? LAC_ERR_EMPTY : LAC_OK, "view");
        lac_meta_free(x.meta);
        if (!status && met) status = LAC_ERR_VENDOR; /* only giving back failed: the next one */
    }
    assert_true(n > 1);
}

#define CONVERT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fake_device_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONVERT_TEST(test_places),    CONVERT_TEST(test_transposed),
        CONVERT_TEST(test_bad_input), CONVERT_TEST(test_nothing_stands_for_the_contents),
        CONVERT_TEST(test_bad_tiles), CONVERT_TEST(test_failures),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
