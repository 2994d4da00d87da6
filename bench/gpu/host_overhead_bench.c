/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Host time of lac_gemm on a device above the launches that it makes: the same kernels are launched once
 * through the library and once bare, a batch at a time, so short that the queue of the device never fills.
 *
 * Build: cmake --build build-cuda --target host_overhead_bench. Prints microseconds of host time per call:
 * through lac_gemm, bare, and the difference, which is the library's own, with its quartiles over the
 * batches. Each case has a context of its own, so that none meets another one's site. All are warm before any
 * is timed, and take turns batch by batch, as do library and bare
 * launches, each as often the first: what else the machine does meets all alike. That both launch as much is
 * looked up in a graph of either. */
#include "cuda_kernels.h"
#include <lacuna/lacuna.h>

#include <cuda_runtime_api.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH   64 /* calls between two waits: the device is done with each in a few microseconds */
#define BATCHES 400
#define WARM    100 /* batches before those that count */

typedef struct work {
    lac_ctx_t *ctx;
    lac_dim_t m, k, n;
    double density;
    const char *route; /* NULL: decided by the library */
    lac_obj_t a, b, c;
    lac_cuda_product_t product;
    lac_cuda_dense_t dense;
    void *workspace;
    bool fused;
    lac_decision_t decided;
    double through[BATCHES], bare[BATCHES], difference[BATCHES];
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
    lac_call_opts_t call = {.size = sizeof call, .route = w->route};
    must(lac_gemm_ex(w->ctx, &alpha, &w->a, &w->b, &beta, &w->c, w->route ? &call : NULL), "lac_gemm");
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

/* Of so many batches the p-th part; sorts them. */
static double quantile(double *us, double p)
{
    qsort(us, BATCHES, sizeof *us, ascending);
    return us[(int)(p * (BATCHES - 1) + 0.5)];
}

/* One batch through the library and one bare, whose turn it is first. */
static void take_turns(work_t *w, int batch)
{
    bool library_first = batch % 2 == 0;
    double first = batch_us(w, library_first ? through_library : bare),
           second = batch_us(w, library_first ? bare : through_library);
    if (batch < 0) return;
    w->through[batch] = library_first ? first : second;
    w->bare[batch] = library_first ? second : first;
    w->difference[batch] = w->through[batch] - w->bare[batch];
}

/* Launches of one call, as a recording of the stream has them; 0 where it cannot be recorded. */
static size_t launches(work_t *w, void (*call)(work_t *))
{
    cudaStream_t stream = lac_device_stream(w->ctx);
    cudaGraph_t graph = NULL;
    size_t count = 0;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return 0;
    call(w);
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess || !graph) return 0;
    if (cudaGraphGetNodes(graph, NULL, &count) != cudaSuccess) count = 0;
    cudaGraphDestroy(graph);
    return count;
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

static void describe(work_t *w)
{
    lac_dim_t m = w->m, k = w->k, n = w->n;
    w->fused = m == 1;
    w->a = lac_obj_rowmajor(LAC_F32, m, k, matrix(w->ctx, m * k, w->density), k);
    w->b = lac_obj_rowmajor(LAC_F32, k, n, matrix(w->ctx, k * n, 1.0), n);
    w->c = lac_obj_rowmajor(LAC_F32, m, n, matrix(w->ctx, m * n, 1.0), n);
    w->a.space = w->b.space = w->c.space = LAC_DEVICE;
    w->product = (lac_cuda_product_t){.m = m,
                                      .n = n,
                                      .k = k,
                                      .alpha = {NULL, 1.0f},
                                      .w = w->b.buf,
                                      .ldw = n,
                                      .order = LAC_CUDA_ROWS,
                                      .beta = {NULL, 0.0f},
                                      .out = w->c.buf,
                                      .rs = n,
                                      .cs = 1};
    w->dense = (lac_cuda_dense_t){LAC_F32, w->a.buf, k, 1, w->density};
    must(lac_device_alloc(w->ctx, (size_t)lac_cuda_event_slots_bytes(m, k, LAC_F32), &w->workspace),
         "memory");
}

/* The site settles: its density is known, its routes have been measured. */
static void settle(work_t *w)
{
    float one = 1.0f, zero = 0.0f;
    lac_call_opts_t asking = {.size = sizeof asking, .route = w->route, .decision = &w->decided};
    for (int i = 0; i < 200; i++) {
        through_library(w);
        must(lac_device_wait(w->ctx), "wait");
    }
    must(lac_gemm_ex(w->ctx, &one, &w->a, &w->b, &zero, &w->c, &asking), "lac_gemm");
    must(lac_device_wait(w->ctx), "wait");
}

static void print_times(work_t *w)
{
    size_t mine = launches(w, through_library), bares = launches(w, bare);
    printf("%4lldx%lldx%lld %g %-5s ran %-6s lac_gemm %.2f us, bare %.2f us, difference %.2f us (%.2f to "
           "%.2f)%s\n",
           (long long)w->m, (long long)w->k, (long long)w->n, w->density, w->route ? w->route : "auto",
           w->decided.route, quantile(w->through, 0.5), quantile(w->bare, 0.5), quantile(w->difference, 0.5),
           quantile(w->difference, 0.25), quantile(w->difference, 0.75),
           mine == bares ? "" : ": NOT the same launches");
    if (mine != bares) printf("     lac_gemm makes %zu launches, bare are %zu\n", mine, bares);
}

static void release(work_t *w)
{
    lac_device_free(w->ctx, w->workspace);
    lac_device_free(w->ctx, w->a.buf);
    lac_device_free(w->ctx, w->b.buf);
    lac_device_free(w->ctx, w->c.buf);
    lac_ctx_free(w->ctx);
}

int main(void)
{
    static work_t work[] = {{.m = 10, .k = 1024, .n = 1024, .density = 0.001, .route = "event"},
                            {.m = 10, .k = 1024, .n = 1024, .density = 0.001},
                            {.m = 10, .k = 5000, .n = 5000, .density = 0.001, .route = "event"},
                            {.m = 10, .k = 5000, .n = 5000, .density = 0.001},
                            {.m = 1, .k = 5000, .n = 5000, .density = 0.001}};
    const int cases = (int)(sizeof work / sizeof *work);
    for (int i = 0; i < cases; i++) {
        if (lac_ctx_create_cuda(&work[i].ctx, 0, LAC_STREAM_NEW)) {
            fprintf(stderr, "skipped: %s\n", lac_last_error());
            return 77;
        }
        describe(&work[i]);
        settle(&work[i]);
    }
    for (int b = -WARM; b < BATCHES; b++)
        for (int i = 0; i < cases; i++) take_turns(&work[i], b);
    for (int i = 0; i < cases; i++) {
        print_times(&work[i]);
        release(&work[i]);
    }
    return 0;
}
