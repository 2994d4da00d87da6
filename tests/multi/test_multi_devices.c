/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Several contexts on several devices of one process: the bits that one device makes, from one thread in
 * turns and from a thread each; what lies on the other device is refused. Skipped where there are fewer than
 * two. */
#include "gpu_case.h"

#include <pthread.h>
#include <stdio.h>

enum { DEVICES = 2, PROBLEMS = 5, SKIP = 77 };

static const struct {
    const char *text, *route;
} problems[PROBLEMS] = {{"sgemm:NN:10x3000x2000:A=bern0.01/p:B=dense/p:s4", "event"},
                        {"sgemm:NT:33x1000x700:A=bern0.05/p:B=dense/p:layA=row+3:s5", "event"},
                        {"sgemm:NN:127x900x300:A=dense/p:B=dense/p:layC=rowx2:s9", "cublas"},
                        {"sgemm:NT:9x1000x700:A=dense:B=bern0.4:frozenB=1:metaB=density:s13", "bitmask"},
                        {"sgemm:NN:300x2000x200:A=bern0.01/p:B=dense/p:metaA=csr:onlyA=1:s14", "csr"}};

static lac_ctx_t *ctx_on(int device)
{
    lac_ctx_t *ctx;
    if (!gpu_expect(lac_ctx_create_cuda(&ctx, device, LAC_STREAM_NEW), LAC_OK, "a context")) return NULL;
    gpu_expect(lac_ctx_set(ctx, "detect", "off"), LAC_OK, "detect");
    return ctx;
}

/* Checked against the oracle, on a device; the bits. */
static uint64_t bits_of(lac_ctx_t *ctx, size_t i)
{
    gpu_case_t x;
    lac_decision_t decision;
    uint64_t sum = 0;
    if (gpu_case_make(&x, ctx, problems[i].text) &&
        gpu_expect(gpu_case_run(&x, problems[i].route, &decision), LAC_OK, problems[i].text) &&
        gpu_case_check(&x, &decision, false))
        sum = gpu_case_checksum(&x);
    gpu_case_free(&x);
    return sum;
}

static void test_turns(lac_ctx_t *unused)
{
    lac_ctx_t *ctx[DEVICES] = {ctx_on(0), ctx_on(1)};
    (void)unused;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < PROBLEMS; i++) {
            uint64_t first = bits_of(ctx[0], i), second = bits_of(ctx[1], i);
            if (!first || first != second) gpu_fail("%s: other bits on the other device", problems[i].text);
        }
    for (int d = 0; d < DEVICES; d++) lac_ctx_free(ctx[d]);
}

typedef struct worker {
    pthread_t thread;
    int device;
    uint64_t sum[PROBLEMS];
} worker_t;

static void *work(void *arg)
{
    worker_t *self = arg;
    for (int round = 0; round < 10; round++) {
        lac_ctx_t *ctx = ctx_on(self->device);
        for (size_t i = 0; ctx && i < PROBLEMS; i++) self->sum[i] = bits_of(ctx, i);
        lac_ctx_free(ctx);
    }
    return NULL;
}

static void test_threads(lac_ctx_t *unused)
{
    worker_t workers[2 * DEVICES];
    (void)unused;
    for (int t = 0; t < 2 * DEVICES; t++) {
        workers[t].device = t % DEVICES;
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t])) gpu_fail("no thread %d", t);
    }
    for (int t = 0; t < 2 * DEVICES; t++) pthread_join(workers[t].thread, NULL);
    for (int t = 1; t < 2 * DEVICES; t++)
        for (size_t i = 0; i < PROBLEMS; i++)
            if (workers[t].sum[i] != workers[0].sum[i])
                gpu_fail("%s: other bits in thread %d", problems[i].text, t);
}

static void test_other_device(lac_ctx_t *unused)
{
    lac_ctx_t *ctx[DEVICES] = {ctx_on(0), ctx_on(1)};
    gpu_case_t x[DEVICES];
    (void)unused;
    for (int d = 0; d < DEVICES; d++) gpu_case_make(&x[d], ctx[d], problems[4].text);
    gpu_expect(gpu_case_run(&x[0], "csr", NULL), LAC_OK, "on its own device");
    lac_obj_t a = x[1].a;
    a.meta = x[0].a.meta;
    gpu_expect_error(lac_gemm(ctx[1], NULL, &a, &x[1].b, NULL, &x[1].c), LAC_ERR_SPACE, "device 0",
                     "one metadata on two devices");
    gpu_expect_error(lac_gemm(ctx[1], NULL, &x[1].a, &x[0].b, NULL, &x[1].c), LAC_ERR_SPACE, "another device",
                     "a buffer of another device");
    gpu_expect(gpu_case_run(&x[1], "csr", NULL), LAC_OK, "afterwards");
    for (int d = 0; d < DEVICES; d++) gpu_case_free(&x[d]);
    for (int d = 0; d < DEVICES; d++) lac_ctx_free(ctx[d]);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_turns), GPU_TEST(test_threads),
                                       GPU_TEST(test_other_device)};
    lac_ctx_t *second;
    if (lac_ctx_create_cuda(&second, 1, LAC_STREAM_NEW)) {
        printf("skipped: two devices are needed: %s\n", lac_last_error());
        return SKIP;
    }
    lac_ctx_free(second);
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
