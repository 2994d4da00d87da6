/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Layers on a device against the host's, bit by bit: values are small whole numbers, so that every order of
 * summation gives the same. Each takes the output of the one before with its metadata. And layers by routes
 * that do bias and activation themselves against the product and a pass behind it, of any values. */
#include "gpu_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEP = 3, FORMATS = LAC_META_CSR | LAC_META_BITMASK };

static uint64_t seed = 37;

static float *numbers(int64_t count, uint64_t one_in)
{
    float *x = malloc(sizeof *x * (size_t)count);
    if (!x) exit(1);
    for (int64_t i = 0; i < count; i++)
        x[i] = gpu_random(&seed) % one_in ? 0.0f : (float)(int)(gpu_random(&seed) % 9) - 4.0f;
    return x;
}

/* A matrix on the host and the same on the device. */
typedef struct pair {
    lac_obj_t host, device;
    size_t bytes;
} pair_t;

static pair_t make(lac_ctx_t *ctx, int64_t m, int64_t n, uint64_t one_in, bool by_columns)
{
    int64_t ld = (by_columns ? m : n) + 4, count = ld * (by_columns ? n : m);
    float *x = numbers(count, one_in);
    pair_t p = {.bytes = sizeof *x * (size_t)count};
    p.host = by_columns ? lac_obj_colmajor(LAC_F32, m, n, x, ld) : lac_obj_rowmajor(LAC_F32, m, n, x, ld);
    p.device = p.host;
    p.device.space = LAC_DEVICE;
    p.device.buf = gpu_upload(ctx, x, p.bytes);
    gpu_expect(lac_meta_create(&p.host.meta, m, n), LAC_OK, "metadata");
    gpu_expect(lac_meta_create_for(ctx, &p.device.meta, m, n), LAC_OK, "metadata");
    return p;
}

static void release(lac_ctx_t *ctx, pair_t *p)
{
    free(p->host.buf);
    lac_device_free(ctx, p->device.buf);
    lac_meta_free(p->host.meta), lac_meta_free(p->device.meta);
}

static void same(lac_ctx_t *ctx, const void *there, const void *here, size_t bytes, const char *what)
{
    void *got = malloc(bytes + 1);
    if (!got) exit(1);
    gpu_expect(lac_device_download(ctx, got, there, bytes), LAC_OK, "download");
    if (memcmp(got, here, bytes)) gpu_fail("%s", what);
    free(got);
}

/* The same of two arrays there. */
static void same_there(lac_ctx_t *ctx, const void *there, const void *other, size_t bytes, const char *what)
{
    void *want = malloc(bytes + 1);
    if (!want) exit(1);
    gpu_expect(lac_device_download(ctx, want, other, bytes), LAC_OK, "download");
    same(ctx, there, want, bytes, what);
    free(want);
}

static void check_formats(lac_ctx_t *ctx, const pair_t *c, const char *what)
{
    lac_format_view_t h, d;
    gpu_expect(lac_meta_view(c->host.meta, LAC_META_CSR, &h), LAC_OK, what);
    if (!gpu_expect(lac_meta_view(c->device.meta, LAC_META_CSR, &d), LAC_OK, what)) return;
    if (h.count != d.count)
        gpu_fail("%s: %lld entries, expected %lld", what, (long long)d.count, (long long)h.count);
    same(ctx, d.idx, h.idx, sizeof *h.idx * (size_t)h.count, what);
    same(ctx, d.val, h.val, sizeof(float) * (size_t)h.count, what);
    gpu_expect(lac_meta_view(c->host.meta, LAC_META_BITMASK, &h), LAC_OK, what);
    gpu_expect(lac_meta_view(c->device.meta, LAC_META_BITMASK, &d), LAC_OK, what);
    same(ctx, d.bits, h.bits, sizeof *h.bits * (size_t)(c->host.m * ((c->host.n + 63) / 64)), what);
}

static void run_layer(lac_ctx_t *ctx, lac_ctx_t *host, const pair_t *a, const pair_t *b, const pair_t *c,
                      lac_epilogue_t e, const char *route)
{
    char what[96];
    int64_t count = e.bias_per_row ? c->host.m : c->host.n;
    float *bias = numbers(count, 1), *there = gpu_upload(ctx, bias, sizeof *bias * (size_t)count);
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    snprintf(what, sizeof what, "%lldx%lldx%lld act %d route %s", (long long)c->host.m, (long long)a->host.n,
             (long long)c->host.n, (int)e.act, route ? route : "auto");
    e.bias = bias;
    gpu_expect(lac_gemm_epilogue(host, NULL, &a->host, &b->host, NULL, &c->host, &e, NULL), LAC_OK, what);
    e.bias = there;
    gpu_expect(lac_gemm_epilogue(ctx, NULL, &a->device, &b->device, NULL, &c->device, &e, &call), LAC_OK,
               what);
    same(ctx, c->device.buf, c->host.buf, c->bytes, what);
    if (e.formats & LAC_META_CSR) check_formats(ctx, c, what);
    lac_device_free(ctx, there);
    free(bias);
}

static void test_chains(lac_ctx_t *ctx)
{
    static const int64_t widths[][DEEP + 2] = {
        {1, 300, 200, 100, 50}, {33, 70, 65, 31, 9}, {140, 260, 300, 129, 128}};
    const gpu_routes_t routes = gpu_routes_of(ctx, "sparse dense");
    lac_ctx_t *host;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    for (size_t w = 0; w < GPU_COUNT(widths); w++)
        for (size_t r = 0; r < routes.count; r += gpu_quick() ? 4 : 1) {
            pair_t x[DEEP + 1], v[DEEP];
            x[0] = make(ctx, widths[w][0], widths[w][1], 12, false);
            for (int l = 0; l < DEEP; l++) {
                lac_epilogue_t e = {
                    .size = sizeof e, .act = (lac_act_t)(1 + l), .threshold = 1.0f, .formats = FORMATS};
                e.bias_per_row = l == 1;
                v[l] = make(ctx, widths[w][l + 1], widths[w][l + 2], 8, l == 1);
                x[l + 1] = make(ctx, widths[w][0], widths[w][l + 2], 1, l == 1);
                run_layer(ctx, host, &x[l], &v[l], &x[l + 1], e, routes.name[r]);
            }
            for (int l = 0; l <= DEEP; l++) release(ctx, &x[l]);
            for (int l = 0; l < DEEP; l++) release(ctx, &v[l]);
        }
    lac_ctx_free(host);
}

/* The formats of one output again and again, with more and fewer nonzeros: those of what was written last, in
 * the memory of the ones before where that is large enough. */
static void test_formats_again(lac_ctx_t *ctx)
{
    static const uint64_t one_in[] = {3, 50, 9, 2, 1000000, 4};
    lac_ctx_t *host;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    pair_t a = make(ctx, 60, 150, 3, false), b = make(ctx, 150, 130, 20, false),
           c = make(ctx, 60, 130, 1, false);
    int64_t before = 0, most = 0;
    for (size_t r = 0; r < GPU_COUNT(one_in); r++) {
        lac_epilogue_t e = {
            .size = sizeof e, .act = LAC_ACT_MAGNITUDE, .threshold = 4.5f, .formats = FORMATS};
        lac_format_view_t v;
        float *x = numbers((int64_t)(a.bytes / sizeof *x), one_in[r]);
        memcpy(a.host.buf, x, a.bytes);
        gpu_expect(lac_device_upload(ctx, a.device.buf, x, a.bytes), LAC_OK, "upload");
        free(x);
        run_layer(ctx, host, &a, &b, &c, e, NULL);
        gpu_expect(lac_meta_view(c.device.meta, LAC_META_CSR, &v), LAC_OK, "view");
        int64_t bytes = (int64_t)lac_meta_bytes(c.device.meta);
        if (v.count <= most && bytes != before) gpu_fail("round %zu: memory of its own", r);
        if (v.count > most) most = v.count;
        before = bytes;
    }
    release(ctx, &a), release(ctx, &b), release(ctx, &c);
    lac_ctx_free(host);
}

/* Operands and outputs of a layer whose values are any; C: by rows, by columns, or a transposed view. */
typedef struct any {
    int64_t m, n, k, count; /* floats of C */
    bool right;             /* B has zeros */
    lac_obj_t a, b, c, other;
    float *before, *bias;
} any_t;

static float *any_numbers(int64_t count, uint64_t one_in)
{
    float *x = malloc(sizeof *x * (size_t)count);
    if (!x) exit(1);
    for (int64_t i = 0; i < count; i++)
        x[i] = gpu_random(&seed) % one_in ? 0.0f : (float)(int32_t)gpu_random(&seed) * 0x1p-28f;
    return x;
}

static lac_obj_t any_matrix(lac_ctx_t *ctx, int64_t m, int64_t n, uint64_t one_in, float special)
{
    float *x = any_numbers(m * n, one_in);
    if (special != 0.0f) x[m * n / 2] = special;
    lac_obj_t obj = lac_obj_rowmajor(LAC_F32, m, n, gpu_upload(ctx, x, sizeof *x * (size_t)(m * n)), n);
    obj.space = LAC_DEVICE;
    free(x);
    gpu_expect(lac_meta_create_for(ctx, &obj.meta, m, n), LAC_OK, "metadata");
    return obj;
}

static any_t make_any(lac_ctx_t *ctx, const int64_t *extents, int layout, bool right, float special)
{
    any_t x = {.m = extents[0], .k = extents[1], .n = extents[2], .right = right};
    int64_t ld = (layout ? x.m : x.n) + 3;
    x.count = ld * (layout ? x.n : x.m);
    x.a = any_matrix(ctx, x.m, x.k, right ? 1 : 9, special);
    x.b = any_matrix(ctx, x.k, x.n, right ? 9 : 1, 0.0f);
    gpu_expect(lac_meta_scan(ctx, right ? &x.b : &x.a, LAC_META_CSR | LAC_META_BITMASK), LAC_OK, "scan");
    x.before = any_numbers(x.count, 1);
    float *bias = any_numbers(x.m + x.n, 1);
    x.bias = gpu_upload(ctx, bias, sizeof *bias * (size_t)(x.m + x.n));
    free(bias);
    x.c = layout ? lac_obj_colmajor(LAC_F32, x.m, x.n, NULL, ld)
                 : lac_obj_rowmajor(LAC_F32, x.m, x.n, NULL, ld);
    if (layout == 2) x.c = lac_obj_rowmajor(LAC_F32, x.n, x.m, NULL, ld), x.c.trans = LAC_TRANS;
    x.c.space = LAC_DEVICE;
    x.other = x.c;
    gpu_expect(lac_meta_create_for(ctx, &x.c.meta, x.c.m, x.c.n), LAC_OK, "metadata");
    x.c.buf = gpu_upload(ctx, x.before, sizeof(float) * (size_t)x.count);
    x.other.buf = gpu_upload(ctx, x.before, sizeof(float) * (size_t)x.count);
    return x;
}

static void release_any(lac_ctx_t *ctx, any_t *x)
{
    void *buffers[] = {x->a.buf, x->b.buf, x->c.buf, x->other.buf, x->bias};
    for (size_t i = 0; i < GPU_COUNT(buffers); i++) lac_device_free(ctx, buffers[i]);
    lac_meta_free(x->a.meta), lac_meta_free(x->b.meta);
    lac_meta_free(x->c.meta);
    free(x->before);
}

/* The formats that came with C, and those of a scan of the same contents elsewhere: the same. */
static void compare_formats(lac_ctx_t *ctx, const any_t *x, unsigned formats, const char *what)
{
    lac_obj_t seen = x->other;
    static const unsigned kinds[] = {LAC_META_CSR, LAC_META_BITMASK};
    gpu_expect(lac_meta_create_for(ctx, &seen.meta, seen.m, seen.n), LAC_OK, "metadata");
    gpu_expect(lac_meta_scan(ctx, &seen, formats), LAC_OK, what);
    gpu_expect(lac_meta_freeze(seen.meta), LAC_OK, what); /* only then formats may be seen */
    double got = lac_meta_density(x->c.meta), want = lac_meta_density(seen.meta);
    if (got != want) gpu_fail("%s: density %g, expected %g", what, got, want);
    for (int i = 0; i < 2; i++) {
        lac_format_view_t v, w;
        if (!(formats & kinds[i])) continue;
        if (!gpu_expect(lac_meta_view(x->c.meta, kinds[i], &v), LAC_OK, what)) continue;
        if (!gpu_expect(lac_meta_view(seen.meta, kinds[i], &w), LAC_OK, what)) continue;
        if (v.count != w.count)
            gpu_fail("%s: %lld entries, expected %lld", what, (long long)v.count, (long long)w.count);
        same_there(ctx, v.ptr, w.ptr, sizeof *v.ptr * (size_t)(x->c.m + (i == 0)), what);
        same_there(ctx, v.val, w.val, sizeof(float) * (size_t)w.count, what);
        if (i == 0) same_there(ctx, v.idx, w.idx, sizeof *v.idx * (size_t)w.count, what);
        if (i == 1)
            same_there(ctx, v.bits, w.bits, sizeof *v.bits * (size_t)(x->c.m * ((x->c.n + 63) / 64)), what);
    }
    lac_meta_free(seen.meta);
}

/* The layer, and the product with a layer of no product behind it: the same bits, also between the rows, by
 * the same side: each of the two is a site of its own, with its own memory. False where the route does not
 * serve. */
static bool compare_any(lac_ctx_t *ctx, any_t *x, lac_epilogue_t e, const char *route, float beta,
                        const char *what)
{
    const float alpha = -1.5f, one = 1.0f, none = 0.0f;
    size_t bytes = sizeof(float) * (size_t)x->count;
    lac_decision_t decision;
    lac_call_opts_t call = {.size = sizeof call, .route = route, .decision = &decision};
    if (strcmp(route, "tiles") != 0) /* which can promise neither */
        call.skip = x->right ? LAC_SKIP_GUARANTEED_B : LAC_SKIP_GUARANTEED_A;
    gpu_expect(lac_device_upload(ctx, x->c.buf, x->before, bytes), LAC_OK, "upload");
    gpu_expect(lac_gemm_epilogue(ctx, &alpha, &x->a, &x->b, &beta, &x->c, &e, &call), LAC_OK, what);
    if (strcmp(decision.route, route)) return false;
    const char *side = decision.side;
    float *want = malloc(bytes);
    if (!want) exit(1);
    gpu_expect(lac_device_upload(ctx, x->other.buf, x->before, bytes), LAC_OK, "upload");
    gpu_expect(lac_gemm_ex(ctx, &alpha, &x->a, &x->b, &beta, &x->other, &call), LAC_OK, what);
    if (strcmp(decision.side, side)) gpu_fail("%s: %s, and the product %s", what, side, decision.side);
    lac_epilogue_t bare = e;
    bare.formats = 0;
    gpu_expect(lac_gemm_epilogue(ctx, &none, &x->a, &x->b, &one, &x->other, &bare, NULL), LAC_OK, what);
    gpu_expect(lac_device_download(ctx, want, x->other.buf, bytes), LAC_OK, "download");
    same(ctx, x->c.buf, want, bytes, what);
    free(want);
    if (e.formats) compare_formats(ctx, x, e.formats, what);
    return true;
}

static void test_fusing_routes(lac_ctx_t *ctx)
{
    static const int64_t extents[][3] = {
        {200, 300, 260}, {300, 64, 260}, {130, 20, 1}, {65, 2000, 129}, {12, 500, 700}};
    const gpu_routes_t routes = gpu_routes_of(ctx, "sparse");
    int compared[GPU_COUNT(routes.name)] = {0};
    gpu_expect(lac_ctx_set(ctx, "detect", "off"), LAC_OK,
               "detect"); /* samples would move how kernels are cut */
    static const float specials[] = {0.0f, 1.0f / 0.0f};
    static const unsigned formats[] = {FORMATS, LAC_META_DENSITY, LAC_META_BITMASK, LAC_META_CSR, 0};
    for (int shape = 0; shape < (gpu_quick() ? 1 : 5); shape++)
        for (int way = 0; way < 24; way += gpu_quick() ? 7 : 1) { /* layout, side, special, frozen */
            const int layout = way % 3, right = way / 3 % 2, frozen = way / 6 % 2;
            any_t x = make_any(ctx, extents[shape], layout, right, specials[way / 12]);
            if (frozen) gpu_expect(lac_meta_freeze(right ? x.b.meta : x.a.meta), LAC_OK, "freeze");
            for (int each = 0; each < 24; each += gpu_quick() ? 7 : 1) {
                char what[128];
                lac_epilogue_t e = {.size = sizeof e, .act = (lac_act_t)(each % 4), .threshold = 0.25f};
                e.bias = each / 4 % 3 ? x.bias : NULL, e.bias_per_row = each / 4 % 3 == 2;
                e.formats = formats[(each + way) % 5];
                for (size_t r = 1; r < routes.count; r++) {
                    if (!strcmp(routes.name[r], "cusparse")) continue; /* its bits vary */
                    snprintf(what, sizeof what,
                             "shape %d layout %d %s frozen %d special %d act %d bias %d %s", shape, layout,
                             right ? "right" : "left", frozen, way / 12, each % 4, each / 4 % 3,
                             routes.name[r]);
                    compared[r] += compare_any(ctx, &x, e, routes.name[r], each < 12 ? 0.0f : 0.5f, what);
                }
            }
            release_any(ctx, &x);
        }
    for (size_t r = 1; r < routes.count; r++) {
        printf("  %s: %d layers\n", routes.name[r], compared[r]);
        bool any_device = !strcmp(routes.name[r], "event") || !strcmp(routes.name[r], "csr");
        if (any_device && !compared[r]) gpu_fail("%s served none", routes.name[r]);
    }
}

/* Bias that lies on the host is refused, and nothing is written. */
static void test_places(lac_ctx_t *ctx)
{
    pair_t a = make(ctx, 8, 8, 2, false), b = make(ctx, 8, 8, 2, false), c = make(ctx, 8, 8, 1, false);
    float bias[8] = {0};
    lac_epilogue_t e = {.size = sizeof e, .bias = bias, .act = LAC_ACT_RELU, .formats = FORMATS};
    gpu_expect_error(lac_gemm_epilogue(ctx, NULL, &a.device, &b.device, NULL, &c.device, &e, NULL),
                     LAC_ERR_SPACE, "epilogue.bias", "bias on the host");
    same(ctx, c.device.buf, c.host.buf, c.bytes, "what was refused");
    release(ctx, &a), release(ctx, &b), release(ctx, &c);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_chains), GPU_TEST(test_formats_again),
                                       GPU_TEST(test_fusing_routes), GPU_TEST(test_places)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
