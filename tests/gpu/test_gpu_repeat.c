/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The same inputs on the same device by the same route give the same bits: fifty times, with other calls in
 * between, from a recording, and in a context that knows nothing. */
#include "gpu_case.h"

#include <string.h>

static const char *const problems[] = {"sgemm:NN:1x5000x3000:A=bern0.01:s4",
                                       "sgemm:NN:10x5000x3000:A=bern0.01:s5",
                                       "sgemm:NT:10x5000x3000:A=bern0.1:beta=1:C=dense:s8",
                                       "sgemm:NN:127x2000x500:A=bern0.3:layC=col:s9",
                                       "sgemm:NN:500x2000x33:B=bern0.05:layA=rowx2:s12",
                                       "sgemm:TT:33x3000x500:A=bern0.01:metaA=csr:s13",
                                       "sgemm:NN:33x3000x500:A=bern0.01:metaA=csc:onlyA=1:s16",
                                       "sgemm:NT:5x3000x1000:B=bern0.4:frozenB=1:metaB=density:s17",
                                       "sgemm:NN:33x3000x500:A=bern0.05/1:dtA=u8:B=bern0.02:metaB=csr:s20",
                                       "sgemm:NN:300x300x300:A=block8x8-0.3:s21"};

static const char between[] = "sgemm:NT:77x4000x300:A=bern0.2:B=bern0.2:s3";

typedef struct job {
    gpu_case_t *x;
    const char *route;
} job_t;

static lac_status_t call(void *arg)
{
    job_t *job = arg;
    return gpu_case_run(job->x, job->route, NULL);
}

/* cuSPARSE sums as it likes: 10 x 5000 x 3000 with a tenth of A differed from run to run, though by its
 * algorithm that is said to be reproducible (12.6, H200, 2026-11-21). */
static bool is_ours_to_repeat(const char *route)
{
    return strcmp(route, "cusparse") != 0;
}

/* A call is cut by the density that the site knows, and looks answer when they can: without them, the same
 * inputs are cut the same way. */
static void probe_nothing(lac_ctx_t *ctx)
{
    gpu_expect(lac_ctx_set(ctx, "detect", "off"), LAC_OK, "detect");
}

/* Runs and compares. Nothing but the product itself may differ from one call to the next. */
static void repeat(gpu_case_t *x, gpu_case_t *other, const char *route, int times)
{
    lac_decision_t first, now;
    gpu_case_reset(x);
    if (!gpu_expect(gpu_case_run(x, route, &first), LAC_OK, x->text)) return;
    uint64_t want = gpu_case_checksum(x);
    for (int i = 1; i < times; i++) {
        if (i % 7 == 0) gpu_expect(gpu_case_run(other, i % 2 ? "event" : "cublas", NULL), LAC_OK, between);
        gpu_case_reset(x);
        if (!gpu_expect(gpu_case_run(x, route, &now), LAC_OK, x->text)) return;
        if (strcmp(now.route, first.route) || strcmp(now.side, first.side)) {
            gpu_fail("%s: %s %s, then %s %s", x->text, first.route, first.side, now.route, now.side);
            return;
        }
        if (gpu_case_checksum(x) != want) {
            gpu_fail("%s by %s %s: other bits in run %d", x->text, now.route, now.side, i + 1);
            return;
        }
    }
}

/* A fresh context has another workspace, with other contents, other streams, and no history. */
static uint64_t in_a_fresh_context(const char *text, const char *route, int times)
{
    gpu_case_t x, other;
    lac_ctx_t *ctx = gpu_ctx();
    uint64_t sum = 0;
    probe_nothing(ctx);
    if (gpu_case_make(&other, ctx, between) && gpu_case_make(&x, ctx, text)) {
        repeat(&x, &other, route, times);
        sum = gpu_case_checksum(&x);
        gpu_case_free(&x);
    }
    gpu_case_free(&other);
    lac_ctx_free(ctx);
    return sum;
}

static void test_fifty_runs(lac_ctx_t *ctx)
{
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, routes);
    for (size_t i = 0; i < GPU_COUNT(problems); i++)
        for (int r = 1; r < count; r++) {
            gpu_case_t x;
            bool takes = gpu_case_make(&x, ctx, problems[i]) && is_ours_to_repeat(routes[r]) &&
                         gpu_case_takes(&x, routes[r]);
            gpu_case_free(&x);
            if (takes && in_a_fresh_context(problems[i], routes[r], gpu_quick() ? 3 : 50) !=
                             in_a_fresh_context(problems[i], routes[r], 1))
                gpu_fail("%s by %s: other bits in a fresh context", problems[i], routes[r]);
        }
}

/* The bits of a recording are those of the call. */
static void check_recording(gpu_case_t *x, const char *route)
{
    job_t job = {x, route};
    lac_graph_t *recording;
    gpu_case_reset(x);
    if (!gpu_expect(call(&job), LAC_OK, x->text)) return;
    uint64_t want = gpu_case_checksum(x);
    if (!gpu_expect(lac_graph_capture(x->ctx, call, &job, 1, &recording), LAC_OK, x->text)) return;
    for (int again = 0; again < (gpu_quick() ? 2 : 50); again++) {
        gpu_case_reset(x);
        gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, x->text);
        if (gpu_case_checksum(x) == want) continue;
        gpu_fail("%s by %s: other bits in replay %d", x->text, route, again + 1);
        break;
    }
    lac_graph_free(recording);
}

static void test_recordings(lac_ctx_t *ctx)
{
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, routes);
    probe_nothing(ctx);
    for (size_t i = 0; i < GPU_COUNT(problems); i++)
        for (int r = 1; r < count; r++) {
            gpu_case_t x;
            if (gpu_case_make(&x, ctx, problems[i]) && is_ours_to_repeat(routes[r]) &&
                gpu_case_takes(&x, routes[r]))
                check_recording(&x, routes[r]);
            gpu_case_free(&x);
        }
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_fifty_runs), GPU_TEST(test_recordings)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
