/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Attached formats: whatever the arrays hold, they are refused with a reason, or make one product by every
 * route.
 *
 * First bytes: format and index type, extents; the rest fills the arrays. Each array has exactly the length
 * that the rules of its format give it, so that the address sanitizer sees a read beyond. */
#include "fuzz_target.h"

#include "../route_names.h"
#include "lacuna/lacuna.h"

#include <stdbool.h>
#include <string.h>

enum { SIDE = 20, N = 3 };

typedef struct input {
    const uint8_t *data;
    size_t size;
} input_t;

static int take(input_t *in)
{
    if (!in->size) return 0;
    in->size--;
    return *in->data++;
}

/* `count` entries of `width` bytes from single bytes; 0xff and 0xfe stand for numbers that fit nowhere. */
static void *entries(input_t *in, size_t count, size_t width)
{
    char *array = malloc(count * width + (count == 0));
    for (size_t i = 0; i < count; i++) {
        int byte = take(in);
        int64_t wide = byte == 0xff ? -1 : byte == 0xfe ? INT64_MAX : byte == 0xfd ? (int64_t)1 << 32 : byte;
        int32_t narrow = byte == 0xff ? -1 : byte == 0xfe ? INT32_MAX : byte == 0xfd ? INT32_MIN : byte;
        if (width == sizeof wide)
            memcpy(array + i * width, &wide, width);
        else
            memcpy(array + i * width, &narrow, width);
    }
    return array;
}

static float *values(size_t count)
{
    float *val = malloc(count * sizeof *val + (count == 0));
    for (size_t p = 0; p < count; p++) val[p] = (float)(p % 5) - 2.0f;
    return val;
}

static void expect_one_product(lac_ctx_t *ctx, lac_meta_t *meta, int m, int n, bool transposed)
{
    const route_names_t routes = host_route_names(0);
    static float b[SIDE * N], c[LAC_CANDIDATES_MAX + 1][SIDE * N];
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, m, n, NULL, n > 0 ? n : 1);
    oa.meta = meta;
    oa.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    int rows = transposed ? n : m, inner = transposed ? m : n;
    for (int i = 0; i < SIDE * N; i++) b[i] = (float)(i % 3 - 1);
    lac_obj_t ob = lac_obj_rowmajor(LAC_F32, inner, N, b, N);
    memset(c, 0, sizeof c);
    for (int r = 0; r < routes.count; r++) {
        lac_obj_t oc = lac_obj_rowmajor(LAC_F32, rows, N, c[r], N);
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r]};
        fuzz_promise(!lac_gemm_ex(ctx, NULL, &oa, &ob, NULL, &oc, &call),
                     "an accepted format makes a product");
        for (int i = 0; i < rows * N; i++) fuzz_promise(c[r][i] == c[0][i], routes.name[r]);
    }
}

static lac_status_t compressed(input_t *in, lac_meta_t *meta, int m, int n, lac_index_t it, bool columns)
{
    size_t width = it == LAC_I64 ? 8 : 4, majors = (size_t)(columns ? n : m);
    void *ptr = entries(in, majors + 1, width);
    int64_t last = it == LAC_I64 ? ((int64_t *)ptr)[majors] : ((int32_t *)ptr)[majors];
    size_t count = last > 0 && last <= (int64_t)m * n ? (size_t)last : 0;
    void *idx = entries(in, count, width);
    float *val = values(count);
    bool ones = take(in) & 1;
    lac_status_t status =
        (columns ? lac_meta_attach_csc : lac_meta_attach_csr)(meta, it, ptr, idx, ones ? NULL : val);
    if (!status) {
        lac_ctx_t *ctx;
        fuzz_promise(!lac_ctx_create(&ctx), "a context");
        expect_one_product(ctx, meta, m, n, false);
        expect_one_product(ctx, meta, m, n, true);
        lac_ctx_free(ctx);
        lac_meta_touch(meta);
    }
    free(ptr), free(idx), free(val);
    return status;
}

static lac_status_t ell(input_t *in, lac_meta_t *meta, int m, int n, lac_index_t it)
{
    int byte = take(in);
    int64_t width = byte == 0xff ? -1 : byte == 0xfe ? INT64_MAX : byte % (SIDE + 2);
    size_t count = width > 0 && width <= n ? (size_t)(width * m) : 0;
    void *idx = entries(in, count, it == LAC_I64 ? 8 : 4);
    float *val = values(count);
    bool ones = take(in) & 1;
    lac_status_t status = lac_meta_attach_ell(meta, it, width, idx, ones ? NULL : val);
    if (!status) {
        lac_ctx_t *ctx;
        lac_format_view_t view;
        fuzz_promise(!lac_meta_view(meta, LAC_META_ELL, &view) && view.count == (int64_t)count, "a view");
        fuzz_promise(!lac_ctx_create(&ctx), "a context");
        expect_one_product(ctx, meta, m, n, false);
        expect_one_product(ctx, meta, m, n, true);
        lac_ctx_free(ctx);
        lac_meta_touch(meta);
    }
    free(idx), free(val);
    return status;
}

static lac_status_t active(input_t *in, lac_meta_t *meta, int m, int n)
{
    int count = take(in) % (SIDE + 2);
    int32_t *idx = entries(in, (size_t)count, sizeof *idx);
    float *val = values((size_t)(count * m));
    lac_status_t status = lac_meta_attach_active(meta, count, idx, val);
    if (!status) {
        lac_ctx_t *ctx;
        fuzz_promise(!lac_ctx_create(&ctx), "a context");
        expect_one_product(ctx, meta, m, n, false);
        lac_ctx_free(ctx);
        lac_meta_touch(meta);
    }
    free(idx), free(val);
    return status;
}

static lac_status_t bitmask(input_t *in, lac_meta_t *meta, int m, int n)
{
    size_t words = (size_t)m * (size_t)((n + 63) / 64), count = 0;
    uint64_t *bits = malloc(words * sizeof *bits + (words == 0));
    for (size_t w = 0; w < words; w++) {
        bits[w] = 0;
        for (int byte = 0; byte < 3; byte++) bits[w] |= (uint64_t)take(in) << 8 * byte;
        count += (size_t)__builtin_popcountll(bits[w]);
    }
    float *val = values(count);
    lac_status_t status = lac_meta_attach_bitmask(meta, bits, val);
    if (!status) {
        lac_ctx_t *ctx;
        fuzz_promise(!lac_ctx_create(&ctx), "a context");
        expect_one_product(ctx, meta, m, n, false);
        expect_one_product(ctx, meta, m, n, true);
        lac_ctx_free(ctx);
        lac_meta_touch(meta);
    }
    free(bits), free(val);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size};
    lac_meta_t *meta;
    fuzz_quiet();
    int format = take(&in), m = take(&in) % (SIDE + 1), n = take(&in) % (SIDE + 1);
    fuzz_promise(!lac_meta_create(&meta, m, n), "metadata");
    lac_index_t it = format & 4 ? LAC_I64 : LAC_I32;
    lac_status_t status = format & 8        ? ell(&in, meta, m, n, it)
                          : format % 4 == 0 ? compressed(&in, meta, m, n, it, false)
                          : format % 4 == 1 ? compressed(&in, meta, m, n, it, true)
                          : format % 4 == 2 ? active(&in, meta, m, n)
                                            : bitmask(&in, meta, m, n);
    fuzz_promise(!status || *lac_last_error(), "a refusal has a reason");
    lac_meta_free(meta);
    return 0;
}
