/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Few elements, very far apart, and vectors longer than 32 bits count: right, or refused with a reason. A
 * device with too little memory skips. */
#include "gpu_support.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FAR (INT64_C(1) << 31)

/* Zeros, written by a product of nothing; or NULL where there is too little memory. */
static float *zeros(lac_ctx_t *ctx, int64_t count)
{
    void *memory;
    float nothing = 0.0f;
    if (lac_device_alloc(ctx, (size_t)count * sizeof(float), &memory) != LAC_OK) {
        printf("     left out: no %" PRId64 " floats of device memory\n", count);
        return NULL;
    }
    lac_obj_t c = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, count, 1, 1, 1, memory, NULL}, a = c, b = c;
    a.n = 0;
    b.m = 0;
    gpu_expect(lac_gemm(ctx, &nothing, &a, &b, &nothing, &c), LAC_OK, "zeros");
    return memory;
}

static void put(lac_ctx_t *ctx, float *memory, int64_t at, float value)
{
    gpu_expect(lac_device_upload(ctx, memory + at, &value, sizeof value), LAC_OK, "put");
}

static float get(lac_ctx_t *ctx, const float *memory, int64_t at)
{
    float value = -1.0f;
    gpu_expect(lac_device_download(ctx, &value, memory + at, sizeof value), LAC_OK, "get");
    return value;
}

enum { M = 2, K = 2, N = 3, W = 100 };

static float s_at(int64_t i, int64_t k)
{
    return (i + k) % 2 ? 0.0f : (float)(i + k + 1);
}
static float w_at(int64_t k, int64_t j)
{
    return (float)(k * N + j + 1);
}

static lac_obj_t far_matrix(bool by_rows, int64_t m, int64_t n, float *memory)
{
    lac_obj_t x = by_rows ? lac_obj_rowmajor(LAC_F32, m, n, memory, FAR + 5)
                          : lac_obj_colmajor(LAC_F32, m, n, memory, FAR + 5);
    x.space = LAC_DEVICE;
    return x;
}

static void fill(lac_ctx_t *ctx, const lac_obj_t *x, float (*value)(int64_t, int64_t))
{
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) put(ctx, x->buf, i * x->rs + j * x->cs, value(i, j));
}

/* Compares C, and overwrites it for the next call. */
static void expect_product(lac_ctx_t *ctx, const lac_obj_t *c, const char *route, int layouts)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int64_t at = i * c->rs + j * c->cs;
            float want = 0.0f, got = get(ctx, c->buf, at);
            for (int k = 0; k < K; k++) want += s_at(i, k) * w_at(k, j);
            if (got != want)
                gpu_fail("%s, layouts %d: %g at %d, %d, expected %g", route, layouts, got, i, j, want);
            put(ctx, c->buf, at, 77.0f);
        }
}

/* Every offset of A, B and C needs 64 bits, by rows and by columns. A and B lie between each other's lines.
 */
static void test_far_strides(lac_ctx_t *ctx)
{
    float *in = zeros(ctx, (FAR + 5) * 2 + 2 * W), *out = in ? zeros(ctx, (FAR + 5) * 2 + W) : NULL;
    for (int turn = 0; out && turn < 8; turn++) {
        lac_obj_t a = far_matrix(turn & 1, M, K, in), b = far_matrix(turn & 2, K, N, in + W),
                  c = far_matrix(turn & 4, M, N, out);
        fill(ctx, &a, s_at);
        fill(ctx, &b, w_at);
        const gpu_routes_t routes = gpu_routes_of(ctx, "sparse dense native oracle");
        for (size_t r = 0; r < routes.count; r++) {
            lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r]};
            if (gpu_expect(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_OK, routes.name[r]))
                expect_product(ctx, &c, routes.name[r], turn);
        }
    }
    lac_device_free(ctx, in);
    lac_device_free(ctx, out);
}

static const int64_t places[] = {0, 7, FAR - 1, FAR, FAR + 9};

/* An inner extent past 2^31, of bytes. Our own dense kernels sum along k with one thread, for minutes. */
static void test_long_sum(lac_ctx_t *ctx)
{
    const int64_t length = FAR + 10;
    float *bytes = zeros(ctx, length / 4 + 1), *x = bytes ? zeros(ctx, length) : NULL, sum = 0.0f;
    const uint8_t event = 9;
    void *out = gpu_upload(ctx, &sum, sizeof sum);
    lac_obj_t a = {LAC_U8, LAC_DEVICE, LAC_NO_TRANS, 1, length, length, 1, bytes, NULL};
    lac_obj_t b = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, length, 1, 1, 1, x, NULL};
    lac_obj_t c = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, 1, 1, 1, 1, out, NULL};
    for (size_t i = 0; x && i < GPU_COUNT(places); i++) {
        put(ctx, x, places[i], (float)(i + 1));
        sum += (float)(i + 1);
        lac_device_upload(ctx, (uint8_t *)bytes + places[i], &event, 1);
    }
    const gpu_routes_t routes = gpu_routes_of(ctx, "sparse dense native oracle");
    for (size_t r = 0; x && r < routes.count; r++) {
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r]};
        if (!strcmp(routes.name[r], "native") || !strcmp(routes.name[r], "reference")) continue;
        put(ctx, out, 0, 77.0f);
        gpu_expect(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_OK, routes.name[r]);
        float got = get(ctx, out, 0);
        if (got != sum) gpu_fail("%s: %g, expected %g", routes.name[r], got, sum);
    }
    lac_device_free(ctx, bytes);
    lac_device_free(ctx, x);
    lac_device_free(ctx, out);
}

/* An output past 2^31. */
static void test_long_output(lac_ctx_t *ctx)
{
    const int64_t length = FAR + 10;
    float *x = zeros(ctx, length), *out = x ? zeros(ctx, length) : NULL, two = 2.0f;
    void *factor = gpu_upload(ctx, &two, sizeof two);
    lac_obj_t a = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, length, 1, 1, 1, x, NULL};
    lac_obj_t b = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, 1, 1, 1, 1, factor, NULL};
    lac_obj_t c = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, length, 1, 1, 1, out, NULL};
    for (size_t i = 0; out && i < GPU_COUNT(places); i++) put(ctx, x, places[i], (float)(i + 1));
    const gpu_routes_t routes = gpu_routes_of(ctx, "sparse dense native oracle");
    for (size_t r = 0; out && r < routes.count; r++) {
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r]};
        gpu_expect(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_OK, routes.name[r]);
        for (size_t i = 0; i < GPU_COUNT(places); i++) {
            float got = get(ctx, out, places[i]);
            if (got != 2.0f * (float)(i + 1))
                gpu_fail("%s: output %" PRId64 " is %g", routes.name[r], places[i], got);
            put(ctx, out, places[i], 77.0f);
        }
    }
    lac_device_free(ctx, x);
    lac_device_free(ctx, out);
    lac_device_free(ctx, factor);
}

/* A route whose indices are too narrow does not apply. */
static void test_refusal(lac_ctx_t *ctx)
{
    const int64_t length = FAR + 10;
    float *x = zeros(ctx, length), one = 1.0f;
    void *out = gpu_upload(ctx, &one, sizeof one);
    lac_obj_t a = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, 1, length, length, 1, x, NULL};
    lac_obj_t b = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, length, 1, 1, 1, x, NULL};
    lac_obj_t c = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, 1, 1, 1, 1, out, NULL};
    lac_decision_t decision = {0};
    lac_call_opts_t call = {.size = sizeof call, .route = "event"};
    if (x) gpu_expect(lac_explain(ctx, NULL, &a, &b, NULL, &c, &call, &decision), LAC_OK, "explain");
    for (int i = 0; i < decision.count; i++) {
        const lac_candidate_t *line = &decision.candidate[i];
        if (!strcmp(line->route, "event") && !line->refusal) gpu_fail("event %s fits", line->side);
    }
    lac_device_free(ctx, x);
    lac_device_free(ctx, out);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_far_strides), GPU_TEST(test_long_sum),
                                       GPU_TEST(test_long_output), GPU_TEST(test_refusal)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
