/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A product in somebody else's recording, one way that counts on the device, or both ways of it and a probe:
 * right whatever the sparse operand turns into between two replays, and its owner notified once when the
 * graph is gone. */
#include "gpu_support.h"
#include "../interpose_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const float two = 2.0f;

enum { SHORT = 10, LONG = 5000, DEEP = 5000, CHECKED = 300 };

typedef struct product {
    lac_ctx_t *ours; /* whose workspace is in the recording */
    void *stream;    /* that is captured                    */
    lac_gemm_args_t call;
    lac_estimate_t estimate;
    bool guaranteed; /* zeros of the sparse operand are not multiplied         */
    bool unknown;    /* the recording is made without the estimate */
    bool odd;        /* W is not aligned, so that it cannot be streamed */
    int gone, recorded;
    float *a, *b, *from, *bias; /* on the host */
} product_t;

static void count_released(void *owner)
{
    ++*(int *)owner;
}

static float *random_matrix(int64_t count, double density, uint64_t seed)
{
    float *x = malloc((size_t)count * sizeof *x);
    if (!x) abort();
    for (int64_t i = 0; i < count; i++) {
        double chance = (double)(gpu_random(&seed) >> 11) / 9007199254740992.0;
        x[i] = chance < density ? (float)(gpu_random(&seed) >> 40) / 16777216.0f - 0.5f : 0.0f;
    }
    return x;
}

/* On the device, one element behind an alignment of 16 bytes where `odd`. */
static float *upload(lac_ctx_t *ctx, const float *x, int64_t count, bool odd)
{
    float *there = gpu_upload(ctx, x, (size_t)(count + odd) * sizeof *x);
    if (!odd) return there;
    gpu_expect(lac_device_upload(ctx, there + 1, x, (size_t)count * sizeof *x), LAC_OK, "upload");
    return there + 1;
}

static lac_status_t record(void *arg)
{
    product_t *p = arg;
    p->recorded = lac_capture_gemm(p->ours, p->stream, &p->call, p->unknown ? NULL : &p->estimate,
                                   count_released, &p->gone);
    return LAC_OK;
}

/* The sparse operand is B where the result is long and narrow, else A. */
static void make(product_t *p, lac_ctx_t *ctx, bool right, bool added, bool odd)
{
    lac_dim_t m = right ? LONG : SHORT, n = right ? SHORT : LONG;
    *p = (product_t){
        .ours = gpu_ctx(), .stream = lac_device_stream(ctx), .estimate = {right, 0.001, 0.1, 5.0, 60.0}};
    p->odd = odd;
    p->a = random_matrix(m * DEEP + 1, right ? 1.0 : 0.001, 1);
    p->b = random_matrix(n * DEEP + 1, right ? 0.001 : 1.0, 2);
    p->call = colmajor_args(0, 0, m, n, DEEP, upload(ctx, p->a, m * DEEP, odd && right), m,
                            upload(ctx, p->b, n * DEEP, odd && !right), DEEP,
                            gpu_upload(ctx, p->a, (size_t)(m * n) * sizeof(float)), m);
    p->call.alpha = &two;
    p->call.adds = added;
    if (!added) return;
    p->from = random_matrix(m * n, 1.0, 3);
    p->bias = random_matrix(m, 1.0, 4);
    p->call.residual.d = gpu_upload(ctx, p->from, (size_t)(m * n) * sizeof(float));
    p->call.residual.ldd = m;
    p->call.residual.bias = gpu_upload(ctx, p->bias, (size_t)m * sizeof(float));
}

static void unmake(product_t *p, lac_ctx_t *ctx)
{
    bool right = p->estimate.right;
    lac_device_free(ctx, (void *)((uintptr_t)p->call.a.buf - (p->odd && right) * sizeof(float)));
    lac_device_free(ctx, (void *)((uintptr_t)p->call.b.buf - (p->odd && !right) * sizeof(float)));
    lac_device_free(ctx, p->call.c);
    lac_device_free(ctx, (void *)(uintptr_t)p->call.residual.d);
    lac_device_free(ctx, (void *)(uintptr_t)p->call.residual.bias);
    lac_ctx_free(p->ours);
    free(p->a), free(p->b), free(p->from), free(p->bias);
}

/* Elements here and there, against sums in double. */
static void check(const product_t *p, lac_ctx_t *ctx, double density)
{
    const lac_gemm_args_t *x = &p->call;
    float *c = malloc((size_t)(x->m * x->n) * sizeof *c);
    uint64_t seed = 5;
    if (!c) abort();
    gpu_expect(lac_device_download(ctx, c, x->c, (size_t)(x->m * x->n) * sizeof *c), LAC_OK, "download");
    for (int i = 0; i < CHECKED; i++) {
        lac_dim_t row = (lac_dim_t)(gpu_random(&seed) % (uint64_t)x->m),
                  col = (lac_dim_t)(gpu_random(&seed) % (uint64_t)x->n);
        double sum = 0.0, size = 0.0;
        for (lac_dim_t k = 0; k < x->k; k++) {
            double left = (double)p->a[row + k * x->a.cs], right = (double)p->b[k + col * x->b.cs], term;
            if (p->guaranteed && (p->estimate.right ? right : left) == 0.0) continue;
            term = left * right;
            sum += term, size += fabs(term);
        }
        sum *= 2.0, size *= 2.0;
        if (p->from) sum += (double)p->from[row + col * x->m] + (double)p->bias[row], size += 1.0;
        double wrong = fabs((double)c[row + col * x->ccs] - sum);
        if (!(wrong <= 2e-5 * size + 1e-12)) { /* a NaN fails */
            gpu_fail("density %g: (%lld, %lld) is off by %g of %g", density, (long long)row, (long long)col,
                     wrong, size);
            break;
        }
    }
    free(c);
}

static void change(product_t *p, lac_ctx_t *ctx, double density)
{
    bool right = p->estimate.right;
    int64_t count = (int64_t)SHORT * DEEP;
    float **host = right ? &p->b : &p->a;
    free(*host);
    *host = random_matrix(count, density, 7);
    void *there = (void *)(uintptr_t)(right ? p->call.b.buf : p->call.a.buf);
    gpu_expect(lac_device_upload(ctx, there, *host, (size_t)count * sizeof(float)), LAC_OK, "upload");
}

static void test_changing_density(lac_ctx_t *ctx)
{
    static const double densities[] = {0.001, 0.8, 0.0, 0.1, 1.0, 0.01, 0.3, 0.001};
    for (int way = 0; way < 12; way++) {
        product_t p;
        lac_graph_t *recording;
        make(&p, ctx, way & 1, way & 2, way & 8);
        p.unknown = way & 4;
        if (!gpu_expect(lac_graph_capture(ctx, record, &p, 1, &recording), LAC_OK, "record")) return;
        if (p.recorded != 1) {
            printf("not recorded (%d): %s\n", p.recorded, lac_last_error());
            if (p.recorded < 0) gpu_fail("the capture was spoilt");
        }
        for (size_t i = 0; p.recorded == 1 && i < GPU_COUNT(densities); i++) {
            change(&p, ctx, densities[i]);
            gpu_expect(lac_graph_launch(recording, 2, NULL), LAC_OK, "replay");
            check(&p, ctx, densities[i]);
        }
        if (p.recorded == 1 && p.gone) gpu_fail("its owner was told too soon");
        lac_graph_free(recording);
        gpu_expect(lac_device_wait(ctx), LAC_OK, "wait");
        for (int wait = 0; !p.gone && wait < 5000; wait++) usleep(1000); /* notified on another thread */
        if (p.gone != 1) gpu_fail("its owner was told %d times", p.gone);
        unmake(&p, ctx);
    }
}

/* NaN at each odd k of W, where S has no events. */
static void put_nans(product_t *p, lac_ctx_t *ctx)
{
    bool right = p->estimate.right;
    float *w = right ? p->a : p->b;
    for (int64_t i = 0; i < (int64_t)LONG * DEEP; i++)
        if ((right ? i / LONG : i % DEEP) % 2) w[i] = NAN;
    void *there = (void *)(uintptr_t)(right ? p->call.a.buf : p->call.b.buf);
    gpu_expect(lac_device_upload(ctx, there, w, (size_t)LONG * DEEP * sizeof *w), LAC_OK, "W");
}

static void leave_even(product_t *p, lac_ctx_t *ctx)
{
    bool right = p->estimate.right;
    float *s = right ? p->b : p->a;
    for (int64_t i = 0; i < (int64_t)SHORT * DEEP; i++)
        if ((right ? i % DEEP : i / SHORT) % 2) s[i] = 0.0f;
    void *there = (void *)(uintptr_t)(right ? p->call.b.buf : p->call.a.buf);
    gpu_expect(lac_device_upload(ctx, there, s, (size_t)SHORT * DEEP * sizeof *s), LAC_OK, "S");
}

/* Where zeros are not multiplied, NaN opposite them does not show, however many there are. */
static void test_guaranteed(lac_ctx_t *ctx)
{
    static const double densities[] = {0.001, 0.3, 0.0};
    for (int way = 0; way < 4; way++) {
        product_t p;
        lac_graph_t *recording;
        make(&p, ctx, way & 1, way & 2, false);
        p.guaranteed = p.unknown = true;
        gpu_expect(lac_ctx_set(p.ours, "skip", way & 1 ? "b" : "a"), LAC_OK, "skip");
        put_nans(&p, ctx);
        if (!gpu_expect(lac_graph_capture(ctx, record, &p, 1, &recording), LAC_OK, "record")) return;
        if (p.recorded != 1) gpu_fail("not recorded (%d): %s", p.recorded, lac_last_error());
        for (size_t i = 0; p.recorded == 1 && i < GPU_COUNT(densities); i++) {
            change(&p, ctx, densities[i]);
            leave_even(&p, ctx);
            gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, "replay");
            check(&p, ctx, densities[i]);
        }
        lac_graph_free(recording);
        gpu_expect(lac_device_wait(ctx), LAC_OK, "wait");
        unmake(&p, ctx);
    }
}

/* What each way takes, for people. */
static void test_time(lac_ctx_t *ctx)
{
    static const double densities[] = {0.001, 0.1, 0.8, 1.0, 0.001};
    for (int way = 0; way < 6; way++) {
        product_t p;
        lac_graph_t *recording;
        bool odd = way >= 4;
        make(&p, ctx, way & 1, false, odd);
        p.unknown = way & 2;
        if (gpu_expect(lac_graph_capture(ctx, record, &p, 1, &recording), LAC_OK, "record"))
            for (size_t i = 0; p.recorded == 1 && i < GPU_COUNT(densities); i++) {
                double us = 0.0;
                change(&p, ctx, densities[i]);
                gpu_expect(lac_graph_launch(recording, 20, NULL), LAC_OK, "replay");
                gpu_expect(lac_graph_launch(recording, 100, &us), LAC_OK, "replay");
                printf("%s, density %g%s%s: %.2f us a replay\n", way & 1 ? "right" : "left", densities[i],
                       p.unknown ? ", not known" : "", odd ? ", not aligned" : "", us);
            }
        lac_graph_free(recording);
        unmake(&p, ctx);
    }
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_changing_density), GPU_TEST(test_guaranteed),
                                       GPU_TEST(test_time)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
