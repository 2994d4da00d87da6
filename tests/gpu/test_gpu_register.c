/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operands known by their address on a device. What is registered is ten times what the memory holds, so that
 * a result shows which of the two was multiplied. */
#include "gpu_support.h"
#include "../interpose_calls.h"

#include <stdlib.h>
#include <string.h>

enum { M = 300, K = 200, N = 7 };

static float w[M * K], b[K * N], out[M * N];
static float val[M * K];
static int32_t ptr[M + 1], idx[M * K];
static float *on_w, *on_b, *on_c;

static void fill(lac_ctx_t *ctx)
{
    int nnz = 0;
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < K; k++) {
            w[i * K + k] = (i + 3 * k) % 17 ? 0.0f : (float)(1 + (i + k) % 5);
            if (w[i * K + k] == 0.0f) continue;
            val[nnz] = 10.0f * w[i * K + k];
            idx[nnz++] = k;
        }
        ptr[i + 1] = nnz;
    }
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7 - 3);
    on_w = gpu_upload(ctx, w, sizeof w);
    on_b = gpu_upload(ctx, b, sizeof b);
    on_c = gpu_upload(ctx, out, sizeof out);
}

static void release(lac_ctx_t *ctx)
{
    lac_device_free(ctx, on_w);
    lac_device_free(ctx, on_b);
    lac_device_free(ctx, on_c);
}

/* How many times W the product was, by whole numbers; 0 where it was declined, -1 where it is neither. */
static int times(lac_ctx_t *ctx)
{
    bool once = true, lie = true;
    if (!try_sgemm(ctx, LAC_TRANS, LAC_NO_TRANS, M, N, K, 1.0f, on_w, K, on_b, K, 0.0f, on_c, M,
                   "cublasSgemm_v2", NULL))
        return 0;
    gpu_expect(lac_device_download(ctx, out, on_c, sizeof out), LAC_OK, "download");
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            float sum = 0.0f;
            for (int k = 0; k < K; k++) sum += w[i * K + k] * b[k + j * K];
            once &= out[i + j * M] == sum;
            lie &= out[i + j * M] == 10.0f * sum;
        }
    return once ? 1 : lie ? 10 : -1;
}

static void expect_times(lac_ctx_t *ctx, int want, const char *what)
{
    int got = times(ctx);
    if (got != want) gpu_fail("%s: %d times the weight, not %d", what, got, want);
}

static lac_obj_t weight(lac_meta_t *meta)
{
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, M, K, on_w, K);
    x.space = LAC_DEVICE;
    x.meta = meta;
    return x;
}

typedef struct lie {
    lac_meta_t *meta;
    void *ptr, *idx, *val;
} lie_t;

static lie_t lie_make(lac_ctx_t *ctx)
{
    lie_t lie = {NULL, gpu_upload(ctx, ptr, sizeof ptr), gpu_upload(ctx, idx, sizeof idx),
                 gpu_upload(ctx, val, sizeof val)};
    gpu_expect(lac_meta_create_for(ctx, &lie.meta, M, K), LAC_OK, "create");
    gpu_expect(lac_meta_attach_csr(lie.meta, LAC_I32, lie.ptr, lie.idx, lie.val), LAC_OK, "attach");
    return lie;
}

static void lie_free(lac_ctx_t *ctx, lie_t *lie)
{
    lac_meta_free(lie->meta);
    lac_device_free(ctx, lie->ptr);
    lac_device_free(ctx, lie->idx);
    lac_device_free(ctx, lie->val);
}

static void test_known_by_address(lac_ctx_t *ctx)
{
    fill(ctx);
    lie_t lie = lie_make(ctx);
    lac_obj_t x = weight(lie.meta);
    gpu_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    gpu_expect(lac_register(ctx, &x), LAC_OK, "register");
    for (int i = 0; i < 3; i++) expect_times(ctx, 10, "registered");
    gpu_expect(lac_unregister(on_w), LAC_OK, "unregister");
    expect_times(ctx, 1, "unregistered");
    lie_free(ctx, &lie);
    release(ctx);
}

/* The driver numbers allocations: other memory at the same address is not what was registered. */
static void test_freed_and_reused(lac_ctx_t *ctx)
{
    int reused = 0;
    gpu_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    for (int i = 0; i < 5; i++) {
        fill(ctx);
        lie_t lie = lie_make(ctx);
        lac_obj_t x = weight(lie.meta);
        gpu_expect(lac_register(ctx, &x), LAC_OK, "register");
        expect_times(ctx, 10, "registered");
        lac_device_free(ctx, on_w);
        on_w = gpu_upload(ctx, w, sizeof w);
        if (on_w == (float *)x.buf) {
            reused++;
            expect_times(ctx, 1, "freed, and there again");
        }
        gpu_expect(lac_unregister(x.buf), LAC_OK, "unregister");
        lie_free(ctx, &lie);
        release(ctx);
    }
    if (!reused) gpu_fail("no address came back: nothing was tested");
}

/* Written by somebody else while it is registered: found out within 64 calls and the time of an answer. */
static void test_changed(lac_ctx_t *ctx)
{
    int calls = 0;
    fill(ctx);
    lie_t lie = lie_make(ctx);
    lac_obj_t x = weight(lie.meta);
    gpu_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    gpu_expect(lac_register(ctx, &x), LAC_OK, "register");
    for (int i = 0; i < 200; i++) expect_times(ctx, 10, "unchanged");
    for (int i = 0; i < M * K; i++) w[i] *= 2.0f;
    gpu_expect(lac_device_upload(ctx, on_w, w, sizeof w), LAC_OK, "upload");
    while (times(ctx) != 1 && calls < 100) calls++;
    if (calls < 1 || calls > 66) gpu_fail("a change was noticed after %d calls", calls);
    gpu_expect(lac_unregister(on_w), LAC_OK, "unregister");
    lie_free(ctx, &lie);
    release(ctx);
}

/* Frozen by its shape: what routes make of it is kept, and right; in other memory it is met anew. */
static void test_frozen_by_shape(lac_ctx_t *ctx)
{
    const gpu_routes_t routes = gpu_routes_of(ctx, "sparse");
    gpu_expect(lac_ctx_set(ctx, "frozen", "200x300"), LAC_OK, "frozen");
    for (size_t r = 0; r < routes.count; r++) {
        fill(ctx);
        gpu_expect(lac_ctx_set(ctx, "backend", routes.name[r]), LAC_OK, routes.name[r]);
        for (int i = 0; i < 3; i++) {
            int got = times(ctx);
            if (got != 1 && (r || got)) gpu_fail("%s: %d times the weight", routes.name[r], got);
        }
        lac_unregister(on_w);
        release(ctx);
    }
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_known_by_address), GPU_TEST(test_freed_and_reused),
                                       GPU_TEST(test_changed), GPU_TEST(test_frozen_by_shape)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
