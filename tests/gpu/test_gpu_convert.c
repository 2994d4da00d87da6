/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Formats derived from each other on a device, the dense contents and the count, against the host's. */
#include "csr_pair.h"

#include <stdlib.h>
#include <string.h>

static uint64_t seed = 53;

enum { ALL = LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK | LAC_META_ACTIVE };

static void same(lac_ctx_t *ctx, const void *there, const void *here, int64_t bytes, const char *what,
                 const csr_pair_t *x)
{
    void *got = csr_pair_poison((size_t)bytes);
    gpu_expect(lac_device_download(ctx, got, there, (size_t)bytes), LAC_OK, "download");
    if (memcmp(got, here, (size_t)bytes))
        gpu_fail("%s of %lld x %lld", what, (long long)x->m, (long long)x->n);
    free(got);
}

static void check_formats(lac_ctx_t *ctx, const csr_pair_t *x)
{
    lac_format_view_t h, d;
    gpu_expect(lac_meta_convert(x->host, &x->on_host, ALL), LAC_OK, "host");
    gpu_expect(lac_meta_convert(ctx, &x->on_device, ALL), LAC_OK, "device");
    gpu_expect(lac_meta_view(x->on_host.meta, LAC_META_CSC, &h), LAC_OK, "host");
    gpu_expect(lac_meta_view(x->on_device.meta, LAC_META_CSC, &d), LAC_OK, "device");
    same(ctx, d.ptr, h.ptr, (x->n + 1) * 8, "CSC pointers", x);
    same(ctx, d.idx, h.idx, h.count * 4, "CSC indices", x);
    if (d.val) same(ctx, d.val, h.val, h.count * 4, "CSC values", x);
    gpu_expect(lac_meta_view(x->on_host.meta, LAC_META_BITMASK, &h), LAC_OK, "host");
    gpu_expect(lac_meta_view(x->on_device.meta, LAC_META_BITMASK, &d), LAC_OK, "device");
    same(ctx, d.bits, h.bits, x->m * ((x->n + 63) / 64) * 8, "bits", x);
    same(ctx, d.val, h.val, h.count * 4, "packed values", x);
    gpu_expect(lac_meta_view(x->on_host.meta, LAC_META_ACTIVE, &h), LAC_OK, "host");
    gpu_expect(lac_meta_view(x->on_device.meta, LAC_META_ACTIVE, &d), LAC_OK, "device");
    if (d.count != h.count)
        gpu_fail("%lld active columns, expected %lld", (long long)d.count, (long long)h.count);
    same(ctx, d.idx, h.idx, h.count * 4, "active columns", x);
    same(ctx, d.val, h.val, h.count * x->m * 4, "active values", x);
}

static void check_dense(lac_ctx_t *ctx, csr_pair_t *x, bool transposed)
{
    int64_t m = transposed ? x->n : x->m, n = transposed ? x->m : x->n, count = 0,
            *count_there = gpu_upload(ctx, &count, sizeof count);
    size_t bytes = (size_t)(m * (n + 2)) * 4;
    x->on_host.trans = x->on_device.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    float *want = csr_pair_poison(bytes), *there = gpu_upload(ctx, want, bytes);
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, m, n, want, n + 2);
    gpu_expect(lac_to_dense(x->host, &x->on_host, &o), LAC_OK, "host");
    o.space = LAC_DEVICE, o.buf = there;
    gpu_expect(lac_to_dense(ctx, &x->on_device, &o), LAC_OK, "device");
    same(ctx, there, want, (int64_t)bytes, "dense contents", x);
    gpu_expect(lac_count_nonzeros(ctx, &x->on_device, count_there), LAC_OK, "count");
    same(ctx, count_there, &x->nnz, sizeof x->nnz, "the count", x);
    lac_obj_t dense = o;
    gpu_expect(lac_count_nonzeros(ctx, &dense, count_there), LAC_OK, "count of the dense contents");
    same(ctx, count_there, &x->nnz, sizeof x->nnz, "the dense count", x);
    lac_device_free(ctx, there), lac_device_free(ctx, count_there);
    free(want);
}

/* Tiles of the sparse operand and of its dense contents by rows and by columns, against the host's. */
static void check_tiles(lac_ctx_t *ctx, csr_pair_t *x, int64_t rows, int64_t cols)
{
    int64_t words = ((x->n + cols - 1) / cols + 63) / 64, bytes = (x->m + rows - 1) / rows * words * 8, count;
    uint64_t *want = csr_pair_poison((size_t)bytes);
    void *there = gpu_upload(ctx, want, (size_t)bytes), *count_there = gpu_upload(ctx, &count, sizeof count);
    size_t elements = (size_t)(x->m * x->n) * sizeof(float);
    float *poison = csr_pair_poison(elements);
    lac_obj_t dense = lac_obj_rowmajor(LAC_F32, x->m, x->n, gpu_upload(ctx, poison, elements), x->n);
    dense.space = LAC_DEVICE;
    gpu_expect(lac_tile_occupancy(x->host, &x->on_host, rows, cols, want, &count), LAC_OK, "host");
    for (int format = 0; format < 3; format++) {
        if (format == 2) dense.rs = 1, dense.cs = x->m;
        if (format > 0) gpu_expect(lac_to_dense(ctx, &x->on_device, &dense), LAC_OK, "dense");
        const lac_obj_t *a = format > 0 ? &dense : &x->on_device;
        gpu_expect(lac_tile_occupancy(ctx, a, rows, cols, there, count_there), LAC_OK, "device");
        same(ctx, there, want, bytes, "tiles", x);
        same(ctx, count_there, &count, sizeof count, "the tiles' count", x);
    }
    lac_device_free(ctx, dense.buf), lac_device_free(ctx, there), lac_device_free(ctx, count_there);
    free(poison), free(want);
}

static void test_conversions(lac_ctx_t *ctx)
{
    static const int64_t shapes[][2] = {{1, 1}, {5, 70}, {64, 64}, {130, 33}, {200, 300}};
    lac_ctx_t *host;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    for (size_t i = 0; i < GPU_COUNT(shapes); i++)
        for (int values = 0; values < 2; values++) {
            csr_pair_t x;
            csr_pair_make(&x, ctx, host, shapes[i][0], shapes[i][1], 0.2, values, &seed);
            check_formats(ctx, &x);
            check_dense(ctx, &x, false);
            check_dense(ctx, &x, true);
            x.on_host.trans = x.on_device.trans = LAC_NO_TRANS;
            for (int t = 0; t < 4; t++) check_tiles(ctx, &x, t & 1 ? 64 : 3, t & 2 ? 1 : 8);
            check_tiles(ctx, &x, 1000, 1000);
            csr_pair_free(&x);
        }
    lac_ctx_free(host);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_conversions)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
