/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A host that is slow on purpose between the launches of a run: what the planner learns of the device is what
 * the same calls take in a recording, within 1.3 times, or nothing. */
#include "fault_device.h"
#include "gpu_case.h"

#include <dlfcn.h>
#include <string.h>

enum { LEARNING_CALLS = 64, REPLAYED_CALLS = 32, REPLAYS = 5 };
#define WITHIN 1.3
#define KNOWN  1e-6 /* a corrected prediction differs from the bare one by more than this share */

static fault_device_slow_fn *slow;

typedef struct job {
    gpu_case_t x;
    const char *route;
} job_t;

static lac_status_t call(void *arg)
{
    job_t *job = arg;
    return gpu_case_run(&job->x, job->route, NULL);
}

static double least_replayed_us(job_t *job)
{
    double least = -1.0, us;
    lac_graph_t *recording;
    if (!gpu_expect(lac_graph_capture(job->x.ctx, call, job, REPLAYED_CALLS, &recording), LAC_OK,
                    job->x.text))
        return -1.0;
    for (int i = 0; i < REPLAYS; i++)
        if (gpu_expect(lac_graph_launch(recording, 1, &us), LAC_OK, "replay") && (least < 0.0 || us < least))
            least = us;
    lac_graph_free(recording);
    return least;
}

/* What the model alone says of the route that served. */
static double bare_prediction_us(const lac_decision_t *d)
{
    for (int i = 0; i < d->count; i++)
        if (!strcmp(d->candidate[i].route, d->route) && !strcmp(d->candidate[i].side, d->side))
            return d->candidate[i].cost_us;
    return -1.0;
}

/* `fast`: the host is not so slow that times have to be refused. */
static void learn(const char *text, const char *route, double slow_us, bool fast)
{
    job_t job = {.route = route};
    lac_decision_t decision;
    lac_ctx_t *ctx = gpu_ctx();
    gpu_expect(lac_ctx_set(ctx, "learn", "on"), LAC_OK, "learn");
    if (gpu_case_make(&job.x, ctx, text)) {
        slow(slow_us);
        for (int i = 0; i < LEARNING_CALLS; i++) {
            gpu_expect(gpu_case_run(&job.x, route, &decision), LAC_OK, text);
            gpu_expect(lac_device_wait(ctx), LAC_OK, text); /* the device waits for the host at every call */
        }
        slow(0.0);
        double replayed = least_replayed_us(&job), bare = bare_prediction_us(&decision);
        bool learned = bare > 0.0 && (decision.cost_us > bare ? decision.cost_us - bare
                                                              : bare - decision.cost_us) > KNOWN * bare;
        if (strcmp(decision.route, route)) gpu_fail("%s: %s ran, not %s", text, decision.route, route);
        if (fast && !learned)
            gpu_fail("%s by %s, %g us slower for each launch: nothing was learned in %d calls", text, route,
                     slow_us, LEARNING_CALLS);
        if (learned && (decision.cost_us > WITHIN * replayed || decision.cost_us < replayed / WITHIN))
            gpu_fail("%s by %s, %g us slower for each launch: learned %.2f us, replayed %.2f", text, route,
                     slow_us, decision.cost_us, replayed);
    }
    gpu_case_free(&job.x);
    lac_ctx_free(ctx);
}

/* Of some tens of microseconds on a device: gaps of the host would double them. */
static const struct {
    const char *route, *problem;
} runs[] = {
    {"event", "sgemm:NN:64x16384x8192:A=bern0.02:s4"},
    {"csr", "sgemm:NN:4096x4096x128:A=bern0.01:metaA=csr:s4"},
    {"tiles", "sgemm:NN:2048x2048x2048:A=bern0.3:s4"},
    {"dense", "sgemm:NN:512x4096x4096:A=dense:s4"},
};

static bool look_up(void)
{
    void *library = dlopen("liblacuna_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&slow = library ? dlsym(library, "fault_device_slow") : NULL;
    if (slow) return true;
    gpu_fail("this liblacuna_cuda.so cannot be slowed down: the test's own has to come first");
    return false;
}

static void test_gaps_are_not_learned(lac_ctx_t *ctx)
{
    static const double within_the_gate[] = {0.0, 2.0, 5.0};
    (void)ctx;
    if (!look_up()) return;
    for (size_t i = 0; i < GPU_COUNT(runs); i++)
        for (size_t s = 0; s < GPU_COUNT(within_the_gate); s++)
            learn(runs[i].problem, runs[i].route, within_the_gate[s], true);
}

static void test_too_slow_a_host(lac_ctx_t *ctx)
{
    static const double beyond_the_gate[] = {50.0, 200.0, 1000.0};
    (void)ctx;
    if (!look_up()) return;
    for (size_t i = 0; i < GPU_COUNT(runs); i++)
        for (size_t s = 0; s < GPU_COUNT(beyond_the_gate); s++)
            learn(runs[i].problem, runs[i].route, beyond_the_gate[s], false);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_gaps_are_not_learned), GPU_TEST(test_too_slow_a_host)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
