/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Calls recorded once and replayed on other contents: by every route, from a warm call and from a plan; and
 * what is said where a call cannot be recorded. */
#include "gpu_case.h"

#include <stdio.h>
#include <string.h>

typedef struct job {
    gpu_case_t *x;
    const char *route;
    lac_plan_t *plan;
    lac_decision_t decision;
} job_t;

static lac_status_t call(void *arg)
{
    job_t *job = arg;
    return gpu_case_run(job->x, job->route, &job->decision);
}

static lac_status_t run_plan(void *arg)
{
    job_t *job = arg;
    return lac_plan_run(job->plan, &job->x->problem.alpha, &job->x->a, &job->x->b, &job->x->problem.beta,
                        &job->x->c);
}

/* The shape and the metadata that are given; the patterns change. */
static const char *const shapes[][2] = {{"sgemm:NN:1x1000x515", "beta=0:s4"},
                                        {"sgemm:NN:10x1000x515", "beta=-1:s5"},
                                        {"sgemm:NN:7x1000x516", "beta=-1:s7"},
                                        {"sgemm:NT:10x1000x516", "layB=row+4:s8"},
                                        {"sgemm:NT:33x512x300", "frozenB=1:alpha=0.5:s9"},
                                        {"sgemm:TN:515x1000x3", "s12"},
                                        {"sgemm:NN:300x127x257", "layC=col:beta=1:s13"},
                                        {"sgemm:TT:31x1000x33", "layA=rowx2:layB=colx2+1:layC=rowx2:s6"},
                                        {"sgemm:NN:20x1000x128", "dtA=u8:s16"}};
static const char *const fillings[] = {"bern0.01", "zero", "dense", "bern0.3", "bern0.001"};

/* Which side is filled otherwise each time; the other one stays dense. */
static void describe(char text[REF_PROBLEM_TEXT], size_t shape, size_t filling, bool right)
{
    snprintf(text, REF_PROBLEM_TEXT, "%s:%s:%c=%s", shapes[shape][0], shapes[shape][1], right ? 'B' : 'A',
             fillings[filling]);
}

/* Replays on the contents that were recorded, on other contents, and twice in a row: C then adds up. */
static void replay_on_changes(job_t *job, lac_graph_t *recording, size_t shape, bool right)
{
    char text[REF_PROBLEM_TEXT];
    for (size_t f = 0; f < GPU_COUNT(fillings); f++) {
        describe(text, shape, f, right);
        if (!gpu_case_change(job->x, text)) return;
        for (int again = 0; again < 2; again++) {
            if (!gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, text)) return;
            if (!gpu_case_check(job->x, &job->decision, false)) return;
            if (job->x->problem.beta != 0.0f) gpu_case_continue(job->x);
        }
    }
}

static void check_shape(lac_ctx_t *ctx, const char *route, size_t shape, bool right)
{
    char text[REF_PROBLEM_TEXT];
    gpu_case_t x;
    job_t job = {&x, route, NULL, {0}};
    lac_graph_t *recording = NULL;
    describe(text, shape, 0, right);
    /* A frozen operand's contents may not change. */
    bool fits = !strstr(text, right ? "frozenB" : "frozenA") && gpu_case_make(&x, ctx, text);
    if (fits && (!strcmp(route, "auto") || gpu_case_takes(&x, route)) &&
        gpu_expect(call(&job), LAC_OK, text) && gpu_case_check(&x, &job.decision, false) &&
        gpu_expect(lac_graph_capture(ctx, call, &job, 1, &recording), LAC_OK, text))
        replay_on_changes(&job, recording, shape, right);
    lac_graph_free(recording);
    if (fits) gpu_case_free(&x);
}

static void test_changed_contents(lac_ctx_t *ctx)
{
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, routes);
    for (int r = 0; r < count; r++)
        for (size_t s = gpu_quick() ? (size_t)r % 3 : 0; s < GPU_COUNT(shapes); s += gpu_quick() ? 3 : 1)
            for (int right = 0; right < 2; right++) check_shape(ctx, routes[r], s, right);
}

/* cuSPARSE wants the number of nonzeros on the host, for which a recording cannot wait: without metadata the
 * dense route is recorded, for which such a plan prepares nothing. */
static bool plans_alone(const char *route)
{
    return strcmp(route, "cusparse") != 0;
}

/* A plan is all the preparation that a recording needs: no call was ever run. */
static void test_recorded_plans(lac_ctx_t *ctx)
{
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, routes);
    for (int r = 1; r < count; r++)
        for (size_t s = 0; s < GPU_COUNT(shapes); s += gpu_quick() ? 4 : 1) {
            char text[REF_PROBLEM_TEXT];
            gpu_case_t x;
            lac_ctx_t *fresh = gpu_ctx();
            job_t job = {&x, routes[r], NULL, {0}};
            lac_call_opts_t settings = {.size = sizeof settings, .route = routes[r]};
            lac_graph_t *recording = NULL;
            describe(text, s, 0, false);
            if (gpu_case_make(&x, fresh, text) && plans_alone(routes[r]) && gpu_case_takes(&x, routes[r]) &&
                gpu_expect(lac_plan_create(fresh, &job.plan, &x.a, &x.b, &x.c, &settings), LAC_OK, text) &&
                gpu_expect(lac_plan_explain(job.plan, &job.decision), LAC_OK, text) &&
                gpu_expect(lac_graph_capture(fresh, run_plan, &job, 1, &recording), LAC_OK, text))
                replay_on_changes(&job, recording, s, false);
            lac_graph_free(recording);
            lac_plan_free(job.plan);
            gpu_case_free(&x);
            lac_ctx_free(fresh);
        }
}

/* Attached lists are read when they are replayed, not when they are recorded: the values may change in place.
 */
static void test_metadata_given(lac_ctx_t *ctx)
{
    static const char *const reported[] = {"csr", "csc", "bits", "active"};
    const char *routes[GPU_ROUTES_MAX];
    int count = gpu_routes(ctx, routes);
    for (size_t t = 0; t < GPU_COUNT(reported); t++)
        for (int r = 0; r < count; r++) {
            char text[REF_PROBLEM_TEXT];
            gpu_case_t x;
            job_t job = {&x, routes[r], NULL, {0}};
            lac_graph_t *recording = NULL;
            snprintf(text, sizeof text, "sgemm:NN:9x400x200:A=bern0.02:metaA=%s:onlyA=%d:s%d", reported[t],
                     r % 2, 4 + r % 2);
            if (gpu_case_make(&x, ctx, text) && (!r || gpu_case_takes(&x, routes[r])) &&
                gpu_expect(call(&job), LAC_OK, text) &&
                gpu_expect(lac_graph_capture(ctx, call, &job, 2, &recording), LAC_OK, text)) {
                gpu_case_reset(&x);
                gpu_expect(lac_graph_launch(recording, 3, NULL), LAC_OK, text);
                gpu_case_check(&x, &job.decision, false);
            }
            lac_graph_free(recording);
            gpu_case_free(&x);
        }
}

/* Device memory full of one byte, in small blocks: what is freed meanwhile comes back as one of them. */
enum { BLOCKS = 128, BLOCK = 16384, FILL = 0x5a };

static void take_what_is_free(lac_ctx_t *ctx, void *block[BLOCKS])
{
    static unsigned char fill[BLOCK];
    memset(fill, FILL, sizeof fill);
    for (int i = 0; i < BLOCKS; i++) block[i] = gpu_upload(ctx, fill, BLOCK);
}

static void give_back(lac_ctx_t *ctx, void *block[BLOCKS])
{
    static unsigned char found[BLOCK];
    bool corrupted = false;
    for (int i = 0; i < BLOCKS; i++) {
        gpu_expect(lac_device_download(ctx, found, block[i], BLOCK), LAC_OK, "download");
        for (int j = 0; j < BLOCK; j++) corrupted |= found[j] != FILL;
        lac_device_free(ctx, block[i]);
    }
    if (corrupted) gpu_fail("a replay wrote into memory that is not the context's any more");
}

/* The workspace grows after a recording was made: the recording keeps the one that it knows. */
static void test_growth_behind_a_recording(lac_ctx_t *ctx)
{
    gpu_case_t small = {0}, large = {0};
    job_t job = {&small, "event", NULL, {0}};
    lac_graph_t *recording = NULL;
    lac_decision_t decision;
    void *block[BLOCKS];
    if (gpu_quick()) return; /* there the workspace does not grow */
    if (gpu_case_make(&small, ctx, "sgemm:NN:29x700x300:A=bern0.05:s4") &&
        gpu_case_make(&large, ctx, "sgemm:NN:200x7000x30:A=bern0.05/p:B=dense/p:s4") &&
        gpu_expect(call(&job), LAC_OK, "small") &&
        gpu_expect(lac_graph_capture(ctx, call, &job, 1, &recording), LAC_OK, "record")) {
        size_t bytes = lac_ctx_bytes(ctx);
        if (gpu_expect(gpu_case_run(&large, "event", &decision), LAC_OK, "large"))
            gpu_case_check(&large, &decision, false);
        if (lac_ctx_bytes(ctx) <= bytes) gpu_fail("the workspace did not grow: nothing was tested");
        take_what_is_free(ctx, block);
        gpu_case_change(&small, "sgemm:NN:29x700x300:A=bern0.1:s5");
        gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, "replay");
        gpu_expect(gpu_case_run(&large, "event", &decision), LAC_OK, "large");
        gpu_case_check(&small, &job.decision, false);
        gpu_case_check(&large, &decision, false);
        give_back(ctx, block);
    }
    lac_graph_free(recording);
    gpu_case_free(&small);
    gpu_case_free(&large);
}

/* Without a call or a plan before, what must be allocated cannot be: that is said, and the stream still
 * works. */
static void test_nothing_prepared(lac_ctx_t *ctx)
{
    static const char *const routes[] = {"event", "cublas"};
    (void)ctx;
    for (size_t r = 0; r < GPU_COUNT(routes); r++) {
        gpu_case_t x;
        lac_ctx_t *fresh = gpu_ctx();
        job_t job = {&x, routes[r], NULL, {0}};
        lac_graph_t *recording;
        if (gpu_case_make(&x, fresh, "sgemm:NN:29x700x300:A=bern0.05:layC=rowx2:s4")) {
            lac_status_t status = lac_graph_capture(fresh, call, &job, 1, &recording);
            gpu_expect_error(status, LAC_ERR_MEMORY, "make the call once before", routes[r]);
            if (recording) gpu_fail("%s: a recording was made", routes[r]);
            gpu_expect(lac_device_wait(fresh), LAC_OK, "wait");
            if (gpu_expect(call(&job), LAC_OK, "the call itself")) gpu_case_check(&x, &job.decision, false);
            if (gpu_expect(lac_graph_capture(fresh, call, &job, 1, &recording), LAC_OK,
                           "then the recording")) {
                gpu_case_reset(&x);
                gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, "replay");
                gpu_case_check(&x, &job.decision, false);
            }
            lac_graph_free(recording);
        }
        gpu_case_free(&x);
        lac_ctx_free(fresh);
    }
}

/* Where the choice is free, a route for which nothing is prepared steps back, and the dense one is recorded.
 */
static void test_unprepared_choice(lac_ctx_t *ctx)
{
    gpu_case_t x;
    job_t job = {&x, "cublas", NULL, {0}};
    lac_graph_t *recording = NULL;
    if (gpu_case_make(&x, ctx, "sgemm:NN:50x3000x2000:A=bern0.001/p:metaA=density:B=dense/p:s4") &&
        gpu_expect(call(&job), LAC_OK, "cublas")) {
        job.route = NULL;
        if (gpu_expect(lac_graph_capture(ctx, call, &job, 1, &recording), LAC_OK, x.text)) {
            gpu_case_reset(&x);
            gpu_expect(lac_graph_launch(recording, 1, NULL), LAC_OK, x.text);
            gpu_case_check(&x, &job.decision, false);
            if (strcmp(job.decision.route, "dense"))
                gpu_fail("%s served without workspace", job.decision.route);
        }
        gpu_case_reset(&x);
        if (gpu_expect(call(&job), LAC_OK, "outside")) gpu_case_check(&x, &job.decision, false);
    }
    lac_graph_free(recording);
    gpu_case_free(&x);
}

static lac_status_t gives_up(void *arg)
{
    (void)call(arg);
    return LAC_ERR_IO;
}

static void test_what_is_refused(lac_ctx_t *ctx)
{
    gpu_case_t x;
    lac_ctx_t *plain;
    job_t job = {&x, NULL, NULL, {0}};
    lac_graph_t *recording;
    double us;
    if (!gpu_case_make(&x, ctx, "sgemm:NN:3x70x30:A=bern0.05:s4")) return;
    gpu_expect(call(&job), LAC_OK, "call");
    gpu_expect(lac_graph_capture(ctx, gives_up, &job, 1, &recording), LAC_ERR_IO, "work that gives up");
    gpu_expect(lac_device_time(ctx, gives_up, &job, 1, &us), LAC_ERR_IO, "timed work that gives up");
    gpu_expect_error(lac_graph_capture(ctx, NULL, &job, 1, &recording), LAC_ERR_NULL, "work", "no work");
    gpu_expect_error(lac_graph_capture(ctx, call, &job, 0, &recording), LAC_ERR_VALUE, "calls", "no calls");
    gpu_expect_error(lac_graph_capture(ctx, call, &job, 1, NULL), LAC_ERR_NULL, "recording", "nowhere");
    gpu_expect_error(lac_graph_launch(NULL, 1, NULL), LAC_ERR_NULL, "recording", "nothing");
    lac_graph_free(NULL);
    gpu_expect(call(&job), LAC_OK, "call afterwards");
    gpu_case_check(&x, &job.decision, false);
    if (gpu_expect(lac_ctx_create_cuda(&plain, 0, NULL), LAC_OK, "the default stream")) {
        gpu_expect_error(lac_graph_capture(plain, call, &job, 1, &recording), LAC_ERR_UNAVAILABLE, "stream",
                         "default");
        lac_ctx_free(plain);
    }
    gpu_case_free(&x);
}

/* Times of calls and of replays: numbers that can be, and results that are still right. */
static void test_times(lac_ctx_t *ctx)
{
    gpu_case_t x;
    job_t job = {&x, NULL, NULL, {0}};
    lac_graph_t *recording;
    double queued = -1.0, replayed = -1.0;
    if (!gpu_case_make(&x, ctx, "sgemm:NN:10x2000x2000:A=bern0.01/p:B=dense/p:s4")) return;
    gpu_expect(call(&job), LAC_OK, "call");
    gpu_expect(lac_device_time(ctx, call, &job, 10, &queued), LAC_OK, "time");
    if (gpu_expect(lac_graph_capture(ctx, call, &job, 10, &recording), LAC_OK, "record"))
        gpu_expect(lac_graph_launch(recording, 3, &replayed), LAC_OK, "replay");
    if (!(queued > 0.0 && queued < 1e6 && replayed > 0.0 && replayed < 1e6))
        gpu_fail("%g us queued, %g us replayed", queued, replayed);
    gpu_case_check(&x, &job.decision, false);
    lac_graph_free(recording);
    gpu_case_free(&x);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {
        GPU_TEST(test_changed_contents), GPU_TEST(test_recorded_plans),
        GPU_TEST(test_metadata_given),   GPU_TEST(test_growth_behind_a_recording),
        GPU_TEST(test_nothing_prepared), GPU_TEST(test_unprepared_choice),
        GPU_TEST(test_what_is_refused),  GPU_TEST(test_times)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
