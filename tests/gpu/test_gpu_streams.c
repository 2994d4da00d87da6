/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Contexts on streams of their own, at once and from several threads: the bits that each makes alone. */
#include "gpu_case.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, PROBLEMS = 6 };

/* Everything positive: so the large ones may be compared with the oracle on the device. */
static const struct {
    const char *text, *route;
} problems[PROBLEMS] = {{"sgemm:NN:10x3000x2000:A=bern0.01/p:B=dense/p:s4", "event"},
                        {"sgemm:NT:33x1000x700:A=bern0.05/p:B=dense/p:layA=row+3:s5", "event"},
                        {"sgemm:NN:1x3000x1500:A=bern0.001/p:B=dense/p:s8", "event"},
                        {"sgemm:NN:127x900x300:A=dense/p:B=dense/p:layC=rowx2:s9", "cublas"},
                        {"sgemm:NN:700x1000x9:A=dense/p:B=bern0.02/p:s12", "event"},
                        {"sgemm:NT:9x1000x700:A=dense:B=bern0.4:frozenB=1:metaB=density:s13", "bitmask"}};

/* A context that probes nothing: probes answer sooner or later, and a call is cut by what is known. */
static lac_ctx_t *blind_ctx(void)
{
    lac_ctx_t *ctx = gpu_ctx();
    gpu_expect(lac_ctx_set(ctx, "detect", "off"), LAC_OK, "detect");
    return ctx;
}

/* What each problem gives when nothing else runs, checked against the oracle. */
static bool alone(uint64_t sums[PROBLEMS])
{
    bool good = true;
    for (size_t i = 0; i < PROBLEMS; i++) {
        gpu_case_t x;
        lac_decision_t decision;
        lac_ctx_t *ctx = blind_ctx();
        good &= gpu_case_make(&x, ctx, problems[i].text) &&
                gpu_expect(gpu_case_run(&x, problems[i].route, &decision), LAC_OK, problems[i].text) &&
                gpu_case_check(&x, &decision, false);
        sums[i] = gpu_case_checksum(&x);
        gpu_case_free(&x);
        lac_ctx_free(ctx);
    }
    return good;
}

/* All queued by one thread, round after round, before anything is waited for. */
static void test_streams_at_once(lac_ctx_t *ctx)
{
    uint64_t want[PROBLEMS];
    gpu_case_t x[PROBLEMS];
    lac_ctx_t *each[PROBLEMS];
    (void)ctx;
    if (!alone(want)) return;
    for (size_t i = 0; i < PROBLEMS; i++) {
        each[i] = blind_ctx();
        gpu_case_make(&x[i], each[i], problems[i].text);
        gpu_expect(gpu_case_run(&x[i], problems[i].route, NULL), LAC_OK, problems[i].text);
    }
    for (int round = 0; round < (gpu_quick() ? 2 : 40); round++) {
        for (size_t i = 0; i < PROBLEMS; i++) gpu_case_reset(&x[i]);
        for (int again = 0; again < 5; again++)
            for (size_t i = 0; i < PROBLEMS; i++)
                gpu_expect(gpu_case_run(&x[i], problems[i].route, NULL), LAC_OK, problems[i].text);
        for (size_t i = 0; i < PROBLEMS; i++)
            if (gpu_case_checksum(&x[i]) != want[i])
                gpu_fail("%s: other bits beside others", problems[i].text);
    }
    for (size_t i = 0; i < PROBLEMS; i++) {
        gpu_case_free(&x[i]);
        lac_ctx_free(each[i]);
    }
}

typedef struct worker {
    pthread_t thread;
    int number;
    const uint64_t *want;
} worker_t;

static lac_status_t again(void *arg)
{
    gpu_case_t *x = arg;
    return gpu_case_run(x, "event", NULL);
}

/* Recordings in one thread must not see what others allocate meanwhile, nor disturb them. */
static void record_and_replay(gpu_case_t *x, uint64_t want)
{
    lac_graph_t *recording;
    if (!gpu_expect(lac_graph_capture(x->ctx, again, x, 2, &recording), LAC_OK, x->text)) return;
    gpu_case_reset(x);
    gpu_expect(lac_graph_launch(recording, 2, NULL), LAC_OK, x->text);
    if (gpu_case_checksum(x) != want) gpu_fail("%s: other bits replayed beside other threads", x->text);
    lac_graph_free(recording);
}

static void *work(void *arg)
{
    worker_t *self = arg;
    for (int i = 0; i < (gpu_quick() ? 2 : 30); i++) {
        size_t which = (size_t)(self->number + i) % PROBLEMS;
        gpu_case_t x;
        lac_ctx_t *ctx = blind_ctx();
        if (gpu_case_make(&x, ctx, problems[which].text) &&
            gpu_expect(gpu_case_run(&x, problems[which].route, NULL), LAC_OK, problems[which].text)) {
            if (gpu_case_checksum(&x) != self->want[which])
                gpu_fail("%s: other bits beside other threads", problems[which].text);
            if (which < 3) record_and_replay(&x, self->want[which]);
        }
        gpu_case_free(&x);
        lac_ctx_free(ctx);
    }
    return NULL;
}

static void run_threads(void *(*function)(void *), const uint64_t *want)
{
    worker_t workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t].number = t;
        workers[t].want = want;
        if (pthread_create(&workers[t].thread, NULL, function, &workers[t])) gpu_fail("no thread %d", t);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(workers[t].thread, NULL);
}

/* Threads make contexts, metadata and recordings, and free them, all the time. */
static void test_threads(lac_ctx_t *ctx)
{
    uint64_t want[PROBLEMS];
    (void)ctx;
    if (alone(want)) run_threads(work, want);
}

static void *come_and_go(void *arg)
{
    (void)arg;
    for (int i = 0; i < (gpu_quick() ? 3 : 50); i++) {
        lac_ctx_t *ctx = gpu_ctx(), *second = gpu_ctx();
        void *memory;
        if (gpu_expect(lac_device_alloc(ctx, 1000, &memory), LAC_OK, "alloc"))
            lac_device_free(second, memory);
        lac_ctx_free(ctx);
        lac_ctx_free(second);
    }
    return NULL;
}

static void test_contexts_come_and_go(lac_ctx_t *ctx)
{
    (void)ctx;
    run_threads(come_and_go, NULL);
}

/* Frozen metadata that all share: what is derived from it is built once, by whoever comes first. */
static gpu_case_t shared;

static void *share(void *arg)
{
    worker_t *self = arg;
    static const char *const by[] = {"event", "bitmask", "event", "cublas"};
    lac_ctx_t *ctx = gpu_ctx();
    gpu_case_t own = shared; /* the same A and B, another stream and C */
    size_t bytes = sizeof(float) * (size_t)(shared.host.c.slots + 2 * shared.host.c.guard + shared.shift);
    own.ctx = ctx;
    own.know_c.memory = gpu_upload(ctx, shared.before.base, bytes - sizeof(float) * (size_t)shared.shift);
    own.c.buf = (char *)own.know_c.memory + sizeof(float) * (size_t)(shared.host.c.guard);
    own.shift = 0;
    if (!ref_matrix_copy(&own.host.c, &shared.before)) gpu_fail("no memory");
    for (int i = 0; i < 5; i++) {
        const char *route = by[(self->number + i) % 4];
        lac_decision_t decision;
        if (gpu_expect(gpu_case_run(&own, route, &decision), LAC_OK, shared.text))
            gpu_case_check(&own, &decision, false);
    }
    ref_matrix_free(&own.host.c);
    lac_device_free(ctx, own.know_c.memory);
    lac_ctx_free(ctx);
    return NULL;
}

static void test_shared_metadata(lac_ctx_t *ctx)
{
    for (int round = 0; round < (gpu_quick() ? 1 : 10); round++) {
        if (gpu_case_make(&shared, ctx,
                          "sgemm:NT:9x1000x700:A=bern0.02:B=bern0.4:frozenB=1:metaB=density:s16"))
            run_threads(share, NULL);
        gpu_case_free(&shared);
    }
}

/* On the default stream, and on the stream of another context, calls follow each other. */
static void test_given_streams(lac_ctx_t *ctx)
{
    void *const given[] = {NULL, lac_device_stream(ctx)};
    for (size_t i = 0; i < GPU_COUNT(given); i++) {
        lac_ctx_t *second;
        gpu_case_t x;
        lac_decision_t decision;
        if (!gpu_expect(lac_ctx_create_cuda(&second, -1, given[i]), LAC_OK, "a given stream")) continue;
        if (lac_device_stream(second) != given[i]) gpu_fail("the context is on another stream");
        if (gpu_case_make(&x, second, problems[0].text) &&
            gpu_expect(gpu_case_run(&x, "event", &decision), LAC_OK, problems[0].text))
            gpu_case_check(&x, &decision, false);
        gpu_case_free(&x);
        lac_ctx_free(second);
    }
}

/* Somebody records on a stream of his own, in the mode in which nobody may allocate or wait: calls that have
 * to make all they need, formats, workspace and handles, neither fail nor end his recording. */
static void test_beside_a_recording(lac_ctx_t *unused)
{
    (void)unused;
    for (size_t i = 0; i < PROBLEMS; i++) {
        gpu_case_t x;
        lac_decision_t decision;
        cudaStream_t stream;
        cudaGraph_t graph = NULL;
        lac_ctx_t *ctx = gpu_ctx();
        if (gpu_case_make(&x, ctx, problems[i].text) &&
            cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess) {
            cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
            lac_status_t status = gpu_case_run(&x, problems[i].route, &decision);
            cudaError_t ended = cudaStreamEndCapture(stream, &graph);
            if (ended != cudaSuccess)
                gpu_fail("%s: the recording: %s", problems[i].text, cudaGetErrorString(ended));
            if (gpu_expect(status, LAC_OK, problems[i].text)) gpu_case_check(&x, &decision, false);
            if (graph) cudaGraphDestroy(graph);
            cudaStreamDestroy(stream);
        }
        gpu_case_free(&x);
        lac_ctx_free(ctx);
    }
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {
        GPU_TEST(test_streams_at_once), GPU_TEST(test_threads),       GPU_TEST(test_contexts_come_and_go),
        GPU_TEST(test_shared_metadata), GPU_TEST(test_given_streams), GPU_TEST(test_beside_a_recording)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
