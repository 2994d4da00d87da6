/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Host time of lac_gemm on a device above the launches that it makes: the same kernels are launched once
 * through the library and once bare, a batch at a time, so short that the queue of the device never fills.
 *
 * Build: cmake --build build-cuda --target host_overhead_bench. Prints microseconds of host time per call:
 * through lac_gemm, bare, and the difference, which is the library's own. */
#include "cuda_kernels.h"
#include <lacuna/lacuna.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH   64 /* calls between two waits: the device is done with each in a few microseconds */
#define BATCHES 200

typedef struct work {
    lac_ctx_t *ctx;
    lac_obj_t a, b, c;
    lac_call_t call;
    lac_cuda_product_t product;
    lac_cuda_dense_t dense;
    void *workspace;
    bool fused;
} work_t;

static void must(lac_status_t status, const char *what)
{
    if (!status) return;
    fprintf(stderr, "%s: %s\n", what, lac_last_error());
    exit(2);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void through_library(work_t *w)
{
    float alpha = 1.0f, beta = 0.0f;
    must(lac_gemm_ex(w->ctx, &alpha, &w->a, &w->b, &beta, &w->c, w->call.route ? &w->call : NULL),
         "lac_gemm");
}

static void bare(work_t *w)
{
    lac_status_t status =
        w->fused
            ? lac_cuda_event_fused(&w->product, &w->dense, NULL, lac_device_stream(w->ctx))
            : lac_cuda_event_slots(&w->product, &w->dense, NULL, w->workspace, lac_device_stream(w->ctx));
    must(status, "launcher");
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static double batch_us(work_t *w, void (*call)(work_t *))
{
    double begin = now_us();
    for (int i = 0; i < BATCH; i++) call(w);
    double took = (now_us() - begin) / BATCH;
    must(lac_device_wait(w->ctx), "wait");
    return took;
}

static double median(double *us)
{
    qsort(us, BATCHES, sizeof *us, ascending);
    return us[BATCHES / 2];
}

/* Host time of one call, through the library and bare: medians over batches that take turns, so that what
 * else the host does meets both alike, and the median of their differences. */
typedef struct host_time {
    double through, bare, difference;
} host_time_t;

static host_time_t per_call_us(work_t *w)
{
    static double library[BATCHES], alone[BATCHES], difference[BATCHES];
    for (int b = -5; b < BATCHES; b++) {
        double first = batch_us(w, through_library), second = batch_us(w, bare);
        if (b < 0) continue;
        library[b] = first;
        alone[b] = second;
        difference[b] = first - second;
    }
    return (host_time_t){median(library), median(alone), median(difference)};
}

static void *matrix(lac_ctx_t *ctx, lac_dim_t count, double density)
{
    size_t bytes = (size_t)count * sizeof(float);
    float *host = malloc(bytes);
    void *device;
    if (!host) exit(2);
    for (lac_dim_t t = 0; t < count; t++)
        host[t] = (double)rand() < density * (double)RAND_MAX ? (float)rand() / (float)RAND_MAX + 0.5f : 0.0f;
    must(lac_device_alloc(ctx, bytes, &device), "memory");
    must(lac_device_upload(ctx, device, host, bytes), "upload");
    free(host);
    return device;
}

static void compare(lac_ctx_t *ctx, lac_dim_t m, lac_dim_t k, lac_dim_t n, double density, const char *route)
{
    work_t w = {.ctx = ctx, .call = {.size = sizeof w.call, .route = route}, .fused = m == 1};
    w.a = lac_obj_rowmajor(LAC_F32, m, k, matrix(ctx, m * k, density), k);
    w.b = lac_obj_rowmajor(LAC_F32, k, n, matrix(ctx, k * n, 1.0), n);
    w.c = lac_obj_rowmajor(LAC_F32, m, n, matrix(ctx, m * n, 1.0), n);
    w.a.space = w.b.space = w.c.space = LAC_DEVICE;
    w.product = (lac_cuda_product_t){.m = m,
                                     .n = n,
                                     .k = k,
                                     .alpha = {NULL, 1.0f},
                                     .w = w.b.buf,
                                     .ldw = n,
                                     .order = LAC_CUDA_ROWS,
                                     .beta = {NULL, 0.0f},
                                     .out = w.c.buf,
                                     .rs = n,
                                     .cs = 1};
    w.dense = (lac_cuda_dense_t){LAC_F32, w.a.buf, k, 1, density};
    must(lac_device_alloc(ctx, (size_t)lac_cuda_event_slots_bytes(m, k), &w.workspace), "memory");
    lac_decision_t decided;
    lac_call_t asking = w.call;
    float one = 1.0f, zero = 0.0f;
    for (int i = 0; i < 200; i++) { /* the site settles */
        through_library(&w);
        must(lac_device_wait(ctx), "wait");
    }
    asking.decision = &decided;
    must(lac_gemm_ex(ctx, &one, &w.a, &w.b, &zero, &w.c, &asking), "lac_gemm");
    host_time_t us = per_call_us(&w);
    printf("%4lldx%lldx%lld %g %-6s ran %-6s lac_gemm %.2f us, bare launches %.2f us, difference %.2f us\n",
           (long long)m, (long long)k, (long long)n, density, route ? route : "auto", decided.route,
           us.through, us.bare, us.difference);
    lac_device_free(ctx, w.workspace);
    lac_device_free(ctx, w.a.buf);
    lac_device_free(ctx, w.b.buf);
    lac_device_free(ctx, w.c.buf);
}

int main(void)
{
    lac_ctx_t *ctx;
    if (lac_ctx_create_cuda(&ctx, 0, LAC_STREAM_NEW)) {
        fprintf(stderr, "skipped: %s\n", lac_last_error());
        return 77;
    }
    compare(ctx, 10, 1024, 1024, 0.001, "event");
    compare(ctx, 10, 5000, 5000, 0.001, NULL);
    compare(ctx, 1, 5000, 5000, 0.001, NULL);
    lac_ctx_free(ctx);
    return 0;
}
