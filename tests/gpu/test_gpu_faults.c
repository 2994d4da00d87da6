/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A device that runs out of memory (the host too, streams, events, graphs) at every single point: each call
 * then gives the right answer or LAC_ERR_MEMORY with C untouched, works when there is memory again, and leaks
 * nothing. And a process that forks when the device is in use. */
#include "fault_device.h"
#include "gpu_case.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POINTS_MAX = 500, CALLS = 3 }; /* calls: the first may look, a later one is clocked */

static fault_device_arm_fn *arm;
static fault_device_disarm_fn *disarm;
static fault_device_held_fn *held;

/* Steps: what may be refused. Each leaves the product in C. -------------------------------------------- */

static const char *route; /* of the step; NULL: the dispatcher's */
static bool wrote;        /* a call of the step gave its result  */

static lac_status_t run(void *arg)
{
    lac_status_t status = gpu_case_run(arg, route, NULL);
    wrote = wrote || status == LAC_OK;
    return status;
}

static lac_status_t call(gpu_case_t *x)
{
    lac_status_t status = LAC_OK;
    for (int i = 0; !status && i < (x->problem.beta == 0.0f ? CALLS : 1); i++) status = run(x);
    return status;
}

static lac_status_t plan(gpu_case_t *x)
{
    lac_plan_t *made;
    lac_call_opts_t by = {.size = sizeof by, .route = route};
    lac_status_t status = lac_plan_create(x->ctx, &made, &x->a, &x->b, &x->c, &by);
    if (status) return status;
    status = lac_plan_run(made, &x->problem.alpha, &x->a, &x->b, &x->problem.beta, &x->c);
    lac_plan_free(made);
    return status;
}

static lac_status_t record(gpu_case_t *x)
{
    lac_graph_t *made;
    lac_status_t status = run(x); /* what a recording cannot allocate */
    if (!status) status = lac_graph_capture(x->ctx, run, x, 1, &made);
    if (status) return status;
    status = lac_graph_launch(made, 1, NULL);
    if (!status) status = lac_device_wait(x->ctx);
    lac_graph_free(made);
    return status;
}

static lac_status_t scan(gpu_case_t *x)
{
    unsigned all = LAC_META_DENSITY | LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK | LAC_META_ACTIVE;
    lac_status_t status = lac_meta_scan(x->ctx, &x->a, all);
    return status ? status : run(x);
}

static lac_status_t derive(gpu_case_t *x)
{
    lac_status_t status = lac_meta_convert(x->ctx, &x->a, LAC_META_CSC | LAC_META_BITMASK | LAC_META_ACTIVE);
    return status ? status : run(x);
}

static lac_status_t count(gpu_case_t *x)
{
    void *total;
    lac_status_t status = lac_device_alloc(x->ctx, sizeof(int64_t), &total);
    if (status) return status;
    status = lac_count_nonzeros(x->ctx, &x->a, total);
    lac_status_t freed = lac_device_free(x->ctx, total);
    return status ? status : freed ? freed : run(x);
}

/* Into memory of its own: where formats lack memory, C is written all the same. */
static lac_status_t layer(gpu_case_t *x)
{
    lac_epilogue_t e = {.size = sizeof e, .act = LAC_ACT_RELU, .formats = LAC_META_CSR | LAC_META_BITMASK};
    lac_call_opts_t by = {.size = sizeof by, .route = route};
    void *memory;
    lac_status_t status = lac_device_alloc(x->ctx, sizeof(float) * (size_t)(x->c.m * x->c.n), &memory);
    if (status) return status;
    lac_obj_t c = lac_obj_rowmajor(LAC_F32, x->c.m, x->c.n, memory, x->c.n);
    c.space = LAC_DEVICE;
    status = lac_meta_create_for(x->ctx, &c.meta, c.m, c.n);
    if (!status) status = lac_gemm_epilogue(x->ctx, NULL, &x->a, &x->b, NULL, &c, &e, &by);
    lac_meta_free(c.meta);
    lac_status_t freed = lac_device_free(x->ctx, memory);
    return status ? status : freed ? freed : run(x);
}

static lac_status_t timed(gpu_case_t *x)
{
    double us;
    return lac_device_time(x->ctx, run, x, 2, &us);
}

static const struct step {
    const char *name, *route, *problem;
    lac_status_t (*run)(gpu_case_t *x);
} steps[] = {
    {"auto", NULL, "sgemm:NN:10x900x300:A=bern0.02:s4", call},
    {"auto, both sides long", NULL, "sgemm:NN:256x512x256:A=bern0.3:s4", call},
    {"auto, frozen", NULL, "sgemm:NT:10x900x300:A=bern0.02:B=bern0.3:frozenB=1:metaB=density:s8", call},
    {"event", "event", "sgemm:NN:33x700x300:A=bern0.05:beta=1:s9", call},
    {"event, right", "event", "sgemm:TN:300x700x10:B=bern0.02:layC=col+1:s9", call},
    {"event, attached", "event", "sgemm:NN:9x700x300:A=bern0.02:metaA=csr:s12", call},
    {"event, sparse only", "event", "sgemm:NN:9x700x300:A=bern0.02:metaA=active:onlyA=1:s12", call},
    {"csr", "csr", "sgemm:NN:200x300x40:A=bern0.1:metaA=csr:frozenA=1:s13", call},
    {"csr, scanned", "csr", "sgemm:NN:200x300x40:A=bern0.1:metaA=density:frozenA=1:s13", call},
    {"bitmask", "bitmask", "sgemm:NN:300x700x9:A=bern0.4:frozenA=1:metaA=density:s13", call},
    {"cublas", "cublas", "sgemm:NN:60x70x80:A=dense:s5", call},
    {"cublas, strides", "cublas", "sgemm:NN:60x70x80:A=bern0.3:layA=rowx2:layC=rowx3:s16", call},
    {"cublas, sparse only", "cublas", "sgemm:NN:60x70x80:A=bern0.3:metaA=csr:onlyA=1:s16", call},
    {"cusparse", "cusparse", "sgemm:NN:200x300x40:A=bern0.1:metaA=csr:s13", call},
    {"tiles", "tiles", "sgemm:NN:256x512x256:A=bern0.3:s16", call},
    {"reference", "reference", "sgemm:NT:20x30x40:A=bern0.3:s17", call},
    {"plan", NULL, "sgemm:NN:10x900x300:A=bern0.02:beta=1:s4", plan},
    {"recording", "event", "sgemm:NN:10x900x300:A=bern0.02:s4", record},
    {"scan", "event", "sgemm:NN:40x130x60:A=bern0.1:frozenA=1:s4", scan},
    {"derive", "event", "sgemm:NN:40x130x60:A=bern0.1:metaA=csr:s5", derive},
    {"count", "event", "sgemm:NN:40x130x60:A=bern0.1:s5", count},
    {"layer", "tiles", "sgemm:NN:256x512x256:A=bern0.3:s16", layer},
    {"timed", "event", "sgemm:NN:40x130x60:A=bern0.1:s5", timed},
};

/* Points ------------------------------------------------------------------------------------------------ */

static void judge(gpu_case_t *x, lac_status_t status, const char *name, long n, bool for_good)
{
    if (status == LAC_OK)
        gpu_case_check(x, NULL, false);
    else if (status != LAC_ERR_MEMORY)
        gpu_fail("%s, request %ld%s: status %d, '%s'", name, n, for_good ? " for good" : "", (int)status,
                 lac_last_error());
    else if (!wrote && gpu_case_checksum(x) != ref_matrix_checksum(&x->before))
        gpu_fail("%s, request %ld%s: an error, and C was written", name, n, for_good ? " for good" : "");
}

/* One context, in which the n-th request of the step is refused. Returns how many there were. */
static long one_point(const struct step *step, long n, bool for_good)
{
    gpu_case_t x;
    long before = held(), requests = 0;
    lac_ctx_t *ctx = gpu_ctx();
    gpu_expect(lac_ctx_set(ctx, "learn", "on"), LAC_OK, "learn");
    route = step->route;
    wrote = false;
    if (gpu_case_make(&x, ctx, step->problem)) {
        arm(n, for_good);
        lac_status_t status = step->run(&x);
        requests = disarm();
        judge(&x, status, step->name, n, for_good);
        gpu_case_reset(&x);
        if (gpu_expect(step->run(&x), LAC_OK, step->name)) gpu_case_check(&x, NULL, false);
    }
    gpu_case_free(&x);
    lac_ctx_free(ctx);
    if (held() != before)
        gpu_fail("%s, request %ld%s: %ld things leaked", step->name, n, for_good ? " for good" : "",
                 held() - before);
    return requests;
}

/* The functions, where the library that has them is the one that was found. */
static bool look_up(void)
{
    void *library = dlopen("liblacuna_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&arm = library ? dlsym(library, "fault_device_arm") : NULL;
    *(void **)&disarm = library ? dlsym(library, "fault_device_disarm") : NULL;
    *(void **)&held = library ? dlsym(library, "fault_device_held") : NULL;
    if (arm && disarm && held) return true;
    gpu_fail("this liblacuna_cuda.so cannot be refused anything: the test's own has to come first");
    return false;
}

static void every_point(bool for_good)
{
    long points = 0;
    if (!look_up()) return;
    for (size_t s = 0; s < GPU_COUNT(steps); s++)
        for (long n = 1; n < POINTS_MAX && one_point(&steps[s], n, for_good) >= n; n++) points++;
    printf("%ld points\n", points);
    if (points < (long)GPU_COUNT(steps)) gpu_fail("%ld points only", points);
}

static void test_one_failure_at_every_point(lac_ctx_t *ctx)
{
    (void)ctx;
    every_point(false);
}

static void test_no_memory_from_every_point_on(lac_ctx_t *ctx)
{
    (void)ctx;
    every_point(true);
}

static void test_contexts(lac_ctx_t *ctx)
{
    (void)ctx;
    if (!look_up()) return;
    long before = held(), requests = 1;
    for (long n = 1; requests >= n - 1 && n < POINTS_MAX; n++) {
        lac_ctx_t *made;
        arm(n, false);
        lac_status_t status = lac_ctx_create_cuda(&made, 0, LAC_STREAM_NEW);
        requests = disarm();
        if (status ? status != LAC_ERR_MEMORY || made : !made)
            gpu_fail("request %ld: status %d, '%s'", n, (int)status, lac_last_error());
        lac_ctx_free(made);
        if (held() != before) gpu_fail("request %ld: %ld things leaked", n, held() - before);
    }
    if (requests < 3) gpu_fail("a context makes %ld requests only", requests);
}

/* CUDA does not follow into the child of a fork: there the device ends in an error, and the host goes on. */
static int child(gpu_case_t *x)
{
    static const float a[4] = {1, 0, 0, 2}, b[4] = {1, 2, 3, 4}, want[4] = {1, 2, 6, 8};
    float c[4] = {0};
    lac_ctx_t *host, *device;
    alarm(60);
    if (lac_ctx_create(&host)) return 2;
    if (lac_sgemm(host, LAC_NO_TRANS, LAC_NO_TRANS, 2, 2, 2, 1.0f, a, 2, 1, b, 2, 1, 0.0f, c, 2, 1)) return 3;
    if (memcmp(c, want, sizeof c)) return 4;
    if (gpu_case_run(x, "event", NULL) == LAC_OK && lac_device_wait(x->ctx) == LAC_OK) return 5;
    if (lac_ctx_create_cuda(&device, 0, LAC_STREAM_NEW) == LAC_OK || device) return 6;
    lac_ctx_free(host);
    return 0;
}

static void test_fork_after_init(lac_ctx_t *ctx)
{
    gpu_case_t x;
    int status = -1;
    if (gpu_case_make(&x, ctx, steps[0].problem) &&
        gpu_expect(gpu_case_run(&x, "event", NULL), LAC_OK, "before")) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) _exit(child(&x));
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            gpu_fail("the child ended with 0x%x", (unsigned)status);
        gpu_case_reset(&x);
        if (gpu_expect(gpu_case_run(&x, "event", NULL), LAC_OK, "after")) gpu_case_check(&x, NULL, false);
    }
    gpu_case_free(&x);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_contexts), GPU_TEST(test_fork_after_init),
                                       GPU_TEST(test_one_failure_at_every_point),
                                       GPU_TEST(test_no_memory_from_every_point_on)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
