/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products and the gradients of a product on a device, against the host's: every extent along k,
 * layout, type and alignment. */
#include "csr_pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 23;

/* A dense operand on both sides. */
typedef struct both {
    lac_obj_t here, there;
    size_t bytes;
} both_t;

/* op(X) is rows x cols; layout 0 .. 3: by rows, by columns, padded and off alignment, spread out. */
static both_t make_dense(lac_ctx_t *ctx, int64_t rows, int64_t cols, int layout, bool transposed, bool events)
{
    int64_t m = transposed ? cols : rows, n = transposed ? rows : cols, size = 2 * (m + 2) * (n + 3) + 2;
    int64_t rs = layout == 0   ? n
                 : layout == 1 ? 1
                 : layout == 2 ? n + 3
                               : 2 * n + 1,
            cs = layout == 1   ? m + 1
                 : layout == 3 ? 2
                               : 1;
    both_t x = {.bytes = (size_t)size * (events ? 1 : 4)};
    void *here = csr_pair_poison(x.bytes);
    for (int64_t p = 0; p < size; p++)
        if (events)
            ((uint8_t *)here)[p] = gpu_random(&seed) % 3 ? 0 : (uint8_t)(1 + gpu_random(&seed) % 255);
        else
            ((float *)here)[p] = gpu_random(&seed) % 4 ? csr_pair_value(&seed) : 0.0f;
    void *there = gpu_upload(ctx, here, x.bytes);
    size_t off = layout == 2 ? (events ? 1 : 4) : 0;
    x.here =
        (lac_obj_t){events ? LAC_U8 : LAC_F32, LAC_HOST, transposed ? LAC_TRANS : LAC_NO_TRANS, m, n, rs, cs,
                    (char *)here + off,        NULL};
    x.there = x.here;
    x.there.space = LAC_DEVICE;
    x.there.buf = (char *)there + off;
    return x;
}

static void free_dense(lac_ctx_t *ctx, both_t *x)
{
    size_t off = (size_t)(x->here.cs == 1 && x->here.rs == x->here.n + 3) * (x->here.dt == LAC_U8 ? 1 : 4);
    lac_device_free(ctx, (char *)x->there.buf - off);
    free((char *)x->here.buf - off);
}

static void near(const float *got, const float *want, int64_t count, int64_t k, const char *what)
{
    for (int64_t e = 0; e < count; e++)
        if (!(fabs((double)got[e] - (double)want[e]) <= 1e-5 * (double)(k + 8))) {
            gpu_fail("%s, k = %lld: %g at %lld, expected %g", what, (long long)k, (double)got[e],
                     (long long)e, (double)want[e]);
            return;
        }
}

typedef struct shape {
    int64_t m, n, k;
    double density;
} shape_t;

static void check_sampled(lac_ctx_t *ctx, lac_ctx_t *host, const shape_t *s, int round)
{
    csr_pair_t x;
    bool transposed = round % 5 == 4; /* the pattern */
    csr_pair_make(&x, ctx, host, transposed ? s->n : s->m, transposed ? s->m : s->n, s->density, true, &seed);
    if (transposed) x.on_host.trans = x.on_device.trans = LAC_TRANS;
    both_t a = make_dense(ctx, s->m, s->k, round % 4, round % 2, round % 7 == 3),
           b = make_dense(ctx, s->k, s->n, round / 4 % 4, round / 2 % 2, round % 7 == 5);
    size_t bytes = (size_t)x.nnz * 4;
    float alpha = 0.75f, beta = round % 3 ? -1.5f : 0.0f;
    float *want = csr_pair_poison(bytes), *got = csr_pair_poison(bytes);
    for (int64_t e = 0; beta != 0.0f && e < x.nnz; e++) want[e] = got[e] = csr_pair_value(&seed);
    float *there = gpu_upload(ctx, got, bytes);
    gpu_expect(lac_sddmm(host, &alpha, &a.here, &b.here, &beta, &x.on_host, want), LAC_OK, "host");
    gpu_expect(lac_sddmm(ctx, &alpha, &a.there, &b.there, &beta, &x.on_device, there), LAC_OK, "device");
    gpu_expect(lac_device_download(ctx, got, there, bytes), LAC_OK, "download");
    near(got, want, x.nnz, s->k, "sampled");
    float *again = csr_pair_poison(bytes), *second = gpu_upload(ctx, again, bytes);
    if (beta == 0.0f) {
        gpu_expect(lac_sddmm(ctx, &alpha, &a.there, &b.there, NULL, &x.on_device, second), LAC_OK, "again");
        gpu_expect(lac_device_download(ctx, again, second, bytes), LAC_OK, "download");
        if (memcmp(got, again, bytes))
            gpu_fail("%lld x %lld x %lld: other bits the second time", (long long)s->m, (long long)s->n,
                     (long long)s->k);
    }
    lac_device_free(ctx, there), lac_device_free(ctx, second);
    free(want), free(got), free(again);
    free_dense(ctx, &a), free_dense(ctx, &b);
    csr_pair_free(&x);
}

static void test_sampled(lac_ctx_t *ctx)
{
    static const int64_t along[] = {0,  1,   3,   4,   16,  20,  31,  32,  33,  60,
                                    64, 100, 128, 132, 256, 300, 511, 512, 516, 1000};
    lac_ctx_t *host;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    for (int round = 0; round < (gpu_quick() ? 12 : 160); round++) {
        int64_t most = gpu_quick() ? 40 : 200;
        shape_t s = {1 + (int64_t)(gpu_random(&seed) % (uint64_t)most),
                     1 + (int64_t)(gpu_random(&seed) % (uint64_t)most),
                     along[round * 7 % (int)GPU_COUNT(along)], round % 3 ? 0.05 : 0.5};
        check_sampled(ctx, host, &s, round);
    }
    shape_t uneven[] = {
        {2000, 3000, 64, 0.001}, {900, 3000, 300, 0.002}, {900, 2500, 33, 0.002}}; /* one row is full */
    for (int i = 0; i < 3 && !gpu_quick(); i++) check_sampled(ctx, host, &uneven[i], 0);
    shape_t long_row = {2, 30000, 64, 0.5}, empty_rows = {40000, 3, 32, 0.0};
    if (!gpu_quick()) check_sampled(ctx, host, &long_row, 0), check_sampled(ctx, host, &empty_rows, 0);
    lac_ctx_free(host);
}

/* The gradients to both operands, dense and at the entries, one of the operands sparse only. */
static void check_gradients(lac_ctx_t *ctx, lac_ctx_t *host, int64_t m, int64_t n, int64_t k)
{
    csr_pair_t a, b;
    csr_pair_make(&a, ctx, host, m, k, 0.2, true, &seed);
    csr_pair_make(&b, ctx, host, k, n, 0.2, true, &seed);
    both_t g = make_dense(ctx, m, n, 0, false, false);
    for (int to_a = 0; to_a < 2; to_a++) {
        const csr_pair_t *to = to_a ? &a : &b;
        for (int dense = 0; dense < 2; dense++) {
            int64_t count = dense ? to->m * to->n : to->nnz;
            size_t bytes = (size_t)count * 4;
            float *want = csr_pair_poison(bytes), *got = csr_pair_poison(bytes),
                  *there = gpu_upload(ctx, got, bytes), alpha = 1.25f;
            lac_obj_t here = dense ? lac_obj_rowmajor(LAC_F32, to->m, to->n, want, to->n) : to->on_host,
                      far = dense ? here : to->on_device;
            if (dense) far.space = LAC_DEVICE, far.buf = there;
            float *values = dense ? NULL : want, *values_there = dense ? NULL : there;
            gpu_expect(to_a ? lac_gemm_grad_a(host, &alpha, &g.here, &b.on_host, NULL, &here, values)
                            : lac_gemm_grad_b(host, &alpha, &a.on_host, &g.here, NULL, &here, values),
                       LAC_OK, "host");
            gpu_expect(to_a ? lac_gemm_grad_a(ctx, &alpha, &g.there, &b.on_device, NULL, &far, values_there)
                            : lac_gemm_grad_b(ctx, &alpha, &a.on_device, &g.there, NULL, &far, values_there),
                       LAC_OK, "device");
            csr_pair_fetch(ctx, there, got, bytes);
            near(got, want, count, m + n + k, to_a ? "gradient to a" : "gradient to b");
            free(want), free(got);
        }
    }
    free_dense(ctx, &g);
    csr_pair_free(&a), csr_pair_free(&b);
}

static void test_gradients(lac_ctx_t *ctx)
{
    static const int64_t shapes[][3] = {{1, 1, 1}, {7, 30, 64}, {33, 65, 20}, {64, 64, 128}, {100, 31, 257}};
    lac_ctx_t *host;
    gpu_expect(lac_ctx_create(&host), LAC_OK, "host");
    for (size_t i = 0; i < GPU_COUNT(shapes); i++)
        check_gradients(ctx, host, shapes[i][0], shapes[i][1], shapes[i][2]);
    lac_ctx_free(host);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_sampled), GPU_TEST(test_gradients)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
