/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The CUDA backend where something fails: each call of the runtime, each launch, each call of a vendor's
 * library in turn. The call then succeeds, or gives a status with a message; it works afterwards; nothing is
 * leaked, and no error is left for the caller to find. And devices that cannot serve. */
#include "cuda_host_support.h"
#include "planner/context.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

/* The operands of a step, on a context of its own. */
typedef struct stage {
    lac_ctx_t *ctx;
    lac_obj_t a, b, c;
    const char *route;

} stage_t;

typedef lac_status_t step_fn(stage_t *s);

static lac_status_t product(void *arg)
{
    stage_t *s = arg;
    float alpha = 1.0f, beta = 0.0f;
    lac_call_opts_t call = {.size = sizeof call, .route = s->route};
    return lac_gemm_ex(s->ctx, &alpha, &s->a, &s->b, &beta, &s->c, &call);
}

static lac_status_t gemm(stage_t *s)
{
    lac_status_t status = LAC_OK;
    for (int i = 0; !status && i < 3; i++) status = product(s);
    return status;
}

static lac_status_t plan(stage_t *s)
{
    lac_plan_t *made;
    float alpha = 1.0f, beta = 0.0f;
    lac_call_opts_t call = {.size = sizeof call, .route = s->route};
    lac_status_t status = lac_plan_create(s->ctx, &made, &s->a, &s->b, &s->c, &call);
    if (status) return status;
    status = lac_plan_run(made, &alpha, &s->a, &s->b, &beta, &s->c);
    lac_plan_free(made);
    return status;
}

static lac_status_t record(stage_t *s)
{
    lac_graph_t *made;
    double us = -1.0;
    lac_status_t status = product(s);
    if (!status) status = lac_graph_capture(s->ctx, product, s, 2, &made);
    if (status) return status;
    status = lac_graph_launch(made, 3, &us);
    lac_graph_free(made);
    return status;
}

static lac_status_t time_it(stage_t *s)
{
    double us;
    return lac_device_time(s->ctx, product, s, 2, &us);
}

static lac_status_t scan(stage_t *s)
{
    return lac_meta_scan(s->ctx, &s->a, LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK | LAC_META_ACTIVE);
}

/* Indices of 64 bits: the library's own copy goes to the device. */
static lac_status_t attach(stage_t *s)
{
    const int64_t *ptr = s->b.buf, *idx = ptr + 1024; /* no entries */
    lac_status_t status = lac_meta_attach_csr(s->a.meta, LAC_I64, ptr, idx, s->c.buf);
    return status ? status : product(s);
}

static lac_status_t convert(stage_t *s)
{
    lac_status_t status = lac_meta_convert(s->ctx, &s->a, LAC_META_CSC | LAC_META_BITMASK);
    return status ? status : product(s);
}

static lac_status_t dense_contents(stage_t *s)
{
    lac_obj_t out = s->c;
    out.m = s->a.m, out.n = s->a.n, out.rs = s->a.n;
    return lac_to_dense(s->ctx, &s->a, &out);
}

static lac_status_t epilogue(stage_t *s)
{
    float alpha = 1.0f, beta = 0.0f;
    lac_call_opts_t call = {.size = sizeof call, .route = s->route};
    lac_epilogue_t e = {.size = sizeof e, .act = LAC_ACT_RELU, .formats = LAC_META_CSR | LAC_META_BITMASK};
    return lac_gemm_epilogue(s->ctx, &alpha, &s->a, &s->b, &beta, &s->c, &e, &call);
}

static lac_status_t batch(stage_t *s)
{
    float alpha = 1.0f, beta = 0.0f;
    lac_obj_t a = s->a, b = s->b, c = s->c;
    a.meta = NULL;
    a.m = c.m = 16, b.n = c.n = 16, a.n = b.m = 64;
    a.rs = 64, b.rs = c.rs = 16;
    return lac_gemm_batched(s->ctx, 8, &alpha, &a, 1024, &b, 1024, &beta, &c, 256);
}

static lac_status_t slice(stage_t *s)
{
    static const int32_t rows[4] = {3, 1, 2, 0};
    void *list = s->b.buf;
    lac_obj_t out = s->c;
    out.m = 4, out.n = s->a.n, out.rs = s->a.n;
    lac_status_t status = lac_device_upload(s->ctx, list, rows, sizeof rows);
    return status ? status : lac_slice_rows(s->ctx, &s->a, LAC_I32, 4, list, &out, NULL);
}

static lac_status_t sampled(stage_t *s)
{
    float alpha = 1.0f, beta = 0.0f;
    lac_obj_t x = s->c, y = s->b;
    x.m = s->a.m, x.n = 33, x.rs = 33;
    y.m = 33, y.n = s->a.n, y.rs = s->a.n;
    return lac_sddmm(s->ctx, &alpha, &x, &y, &beta, &s->a, (float *)s->b.buf + 200000);
}

static lac_status_t tune(stage_t *s)
{
    standin.launch_us = 3.0;
    return lac_tune(s->ctx, unit_path("device.tune"), NULL, NULL);
}

enum { PLAIN, FROZEN, GIVEN };

static const struct {
    const char *name;
    step_fn *step;
    const char *route;
    int kind;        /* of A */
    bool by_columns; /* B */
} steps[] = {
    {"event", gemm, "event", PLAIN, false},
    {"event by columns", gemm, "event", PLAIN, true},
    {"event given", gemm, "event", GIVEN, false},
    {"csr", gemm, "csr", PLAIN, true},
    {"csr frozen", gemm, "csr", FROZEN, false},
    {"bitmask", gemm, "bitmask", FROZEN, false},
    {"tiles", gemm, "tiles", PLAIN, true},
    {"tiles frozen", gemm, "tiles", FROZEN, false},
    {"dense", gemm, "dense", PLAIN, false},
    {"dense given", gemm, "dense", GIVEN, false},
    {"cusparse", gemm, "cusparse", PLAIN, true},
    {"cusparse frozen", gemm, "cusparse", FROZEN, false},
    {"reference", gemm, "reference", GIVEN, false},
    {"auto", gemm, NULL, PLAIN, false},
    {"plan", plan, "csr", FROZEN, false},
    {"plan dense", plan, "dense", PLAIN, true},
    {"record", record, "event", PLAIN, false},
    {"time", time_it, "dense", PLAIN, false},
    {"scan", scan, NULL, PLAIN, false},
    {"attach", attach, "csr", PLAIN, false},
    {"convert", convert, "csr", GIVEN, false},
    {"to dense", dense_contents, NULL, GIVEN, false},
    {"epilogue", epilogue, "tiles", PLAIN, false},
    {"epilogue dense", epilogue, "dense", PLAIN, false},
    {"batch", batch, NULL, PLAIN, false},
    {"slice", slice, NULL, GIVEN, false},
    {"sampled", sampled, NULL, GIVEN, false},
};

static stage_t open_stage(size_t i)
{
    lac_dim_t m = 256, k = 512, n = 64;
    stage_t s = {.ctx = cuda_host_ctx(), .route = steps[i].route};
    s.a = cuda_host_rows(s.ctx, m, k);
    s.b = steps[i].by_columns ? cuda_host_columns(s.ctx, k, n) : cuda_host_rows(s.ctx, k, n);
    s.c = cuda_host_rows(s.ctx, m, k); /* room for what is as large as A */
    s.b.buf = cuda_host_memory(s.ctx, 4 * 512 * 1024);
    s.c.n = n, s.c.rs = n;
    standin.active = 10, standin.room = 3;
    if (steps[i].kind == GIVEN)
        cuda_host_csr(s.ctx, &s.a, 5);
    else if (steps[i].kind == FROZEN)
        cuda_host_freeze(s.ctx, &s.a, 1280);
    else
        cuda_host_count(s.ctx, &s.a, 1280);
    if (steps[i].step == epilogue) cuda_host_count(s.ctx, &s.c, 0);
    standin_forget();
    return s;
}

/* Lets call after call fail until the step no longer gets that far. */
static int fail_each(int *counter, const char *what)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (int at = 1;; at++) {
            stage_t s = open_stage(i);
            *counter = at;
            lac_status_t status = steps[i].step(&s);
            bool reached = *counter == 0;
            *counter = 0;
            if (status != LAC_OK && status != LAC_ERR_MEMORY && status != LAC_ERR_VENDOR &&
                status != LAC_ERR_UNAVAILABLE && !(status == LAC_ERR_SPACE && reached))
                fail_msg("%s, %s %d: status %d (%s)", steps[i].name, what, at, (int)status, lac_last_error());
            if (status && (!reached || strlen(lac_last_error()) < 5))
                fail_msg("%s, %s %d: '%s'", steps[i].name, what, at, lac_last_error());
            failed += status != LAC_OK;
            if (standin_last_error()) fail_msg("%s, %s %d: an error is left behind", steps[i].name, what, at);
            status = steps[i].step(&s);
            if (status) fail_msg("%s, after %s %d: %s", steps[i].name, what, at, lac_last_error());
            cuda_host_close(s.ctx);
            if (!reached) break;
        }
    return failed;
}

static void test_each_call_fails(void **state)
{
    (void)state;
    assert_true(fail_each(&standin.fails, "call") > 100);
}

static void test_each_launch_fails(void **state)
{
    (void)state;
    assert_true(fail_each(&standin.launch_fails, "launch") > 40);
}

static void test_each_vendor_call_fails(void **state)
{
    (void)state;
    assert_true(fail_each(&standin.vendor_fails, "vendor's call") > 20);
}

/* The status and the words of each kind of failure. */
static void test_messages(void **state)
{
    (void)state;
    stage_t s = open_stage(0);
    unit_expect(lac_ctx_set(s.ctx, "learn", "off"), LAC_OK, "learn");
    standin.launch_fails = 1;
    s.route = "reference";
    unit_expect(product(&s), LAC_ERR_VENDOR, "launch");
    unit_expect_text(lac_last_error(), "reference: unspecified launch failure");
    standin.largest = 1000;
    s.route = "csr";
    unit_expect(product(&s), LAC_ERR_MEMORY, "memory");
    unit_expect_text(lac_last_error(), "workspace: out of memory");
    standin.largest = 0;
    s.route = "dense";
    standin.vendor_fails = 1;
    unit_expect(product(&s), LAC_ERR_VENDOR, "cuBLAS");
    unit_expect_text(lac_last_error(), "create: cuBLAS status 1");
    float host[4];
    lac_obj_t elsewhere = s.c;
    elsewhere.buf = host;
    s.c = elsewhere;
    unit_expect(product(&s), LAC_ERR_SPACE, "host memory");
    unit_expect_text(lac_last_error(), "c.buf: points to host memory");
    cuda_host_close(s.ctx);
}

/* A workspace grows twofold where there is room, or by what is needed; the ones before it stay until the end.
 */
static void test_workspace(void **state)
{
    (void)state;
    lac_ctx_t *ctx = cuda_host_ctx();
    lac_obj_t a = cuda_host_rows(ctx, 1000, 1000), b = cuda_host_rows(ctx, 1000, 10),
              c = cuda_host_rows(ctx, 1000, 10), a2 = cuda_host_rows(ctx, 1000, 1100),
              b2 = cuda_host_rows(ctx, 1100, 10);
    cuda_host_count(ctx, &a, 5000);
    cuda_host_count(ctx, &a2, 5000);
    int64_t base = (int64_t)lac_ctx_bytes(ctx), before = (int64_t)standin_held().bytes;
    int64_t first = cuda_host_bytes(ctx, "csr", "left", &a, &b, &c),
            second = cuda_host_bytes(ctx, "csr", "left", &a2, &b2, &c);
    unit_expect(cuda_host_gemm(ctx, "csr", 1.0f, &a, &b, 0.0f, &c), LAC_OK, "csr");
    int64_t held = (int64_t)standin_held().bytes - before;
    assert_int_equal(held, first);
    standin.largest = (size_t)second; /* not twice the first */
    unit_expect(cuda_host_gemm(ctx, "csr", 1.0f, &a2, &b2, 0.0f, &c), LAC_OK, "csr");
    assert_int_equal((int64_t)standin_held().bytes - before, first + second);
    int mallocs = standin.mallocs;
    unit_expect(cuda_host_gemm(ctx, "csr", 1.0f, &a, &b, 0.0f, &c), LAC_OK, "csr");
    assert_true(mallocs > 0);
    assert_int_equal(standin.mallocs, 0);
    standin.largest = 0;
    lac_obj_t a3 = cuda_host_rows(ctx, 1000, 1200), b3 = cuda_host_rows(ctx, 1200, 10);
    cuda_host_count(ctx, &a3, 5000);
    before = (int64_t)standin_held().bytes;
    unit_expect(cuda_host_gemm(ctx, "csr", 1.0f, &a3, &b3, 0.0f, &c), LAC_OK, "csr");
    assert_int_equal((int64_t)standin_held().bytes - before, 2 * second);
    assert_true((int64_t)lac_ctx_bytes(ctx) - base >= first + 3 * second - first - second);
    cuda_host_close(ctx);
}

/* While the stream is captured nothing is allocated or waited for; with room made before, the launches are
 * captured. */
static void test_capture(void **state)
{
    (void)state;
    stage_t all = open_stage(5); /* frozen */
    lac_decision_t known;
    float alpha = 1.0f, beta = 0.0f;
    unit_expect(lac_explain(all.ctx, &alpha, &all.a, &all.b, &beta, &all.c, NULL, &known), LAC_OK,
                "lac_explain");
    cuda_host_close(all.ctx);
    assert_true(known.count > 7);
    for (int i = 0; i < known.count; i++)
        for (int warm = 0; warm < 2; warm++) {
            stage_t s = open_stage(5);
            s.route = known.candidate[i].route;
            if (!strcmp(s.route, "trivial")) s.route = NULL; /* no name to force */
            const char *name = s.route ? s.route : "auto";
            if (warm) unit_expect(product(&s), LAC_OK, name);
            standin_forget();
            standin_capture(lac_device_stream(s.ctx), true);
            lac_status_t status = product(&s);
            assert_int_equal(standin.breaches, 0);
            assert_int_equal(standin.mallocs, 0);
            if (warm && status) fail_msg("%s: %s", name, lac_last_error());
            if (status) unit_expect(status, LAC_ERR_MEMORY, name);
            if (status) unit_expect_text(lac_last_error(), "captured");
            for (int l = 0; l < standin.launches; l++)
                if (!standin.launch[l].captured && standin.launch[l].stream)
                    fail_msg("%s is not captured", standin.launch[l].name);
            standin_capture(lac_device_stream(s.ctx), false);
            unit_expect(product(&s), LAC_OK, name);
            cuda_host_close(s.ctx);
        }
}

/* Formats that cannot be made while the stream is captured are done without: the dense route serves, W is
 * transposed in the call. */
static void test_capture_without_formats(void **state)
{
    (void)state;
    static const char *const routes[] = {"csr", "cusparse"};
    for (size_t i = 0; i < 2; i++) {
        stage_t s = open_stage(5);
        s.route = "dense";
        unit_expect(product(&s), LAC_OK, s.route);
        s.route = routes[i];
        standin_forget();
        standin_capture(lac_device_stream(s.ctx), true);
        unit_expect(product(&s), LAC_OK, s.route);
        assert_int_equal(standin_count("cublasSgemm_64"), 1);
        standin_capture(lac_device_stream(s.ctx), false);
        cuda_host_close(s.ctx);
    }
    stage_t s = open_stage(6); /* tiles with W by columns */
    unit_expect(product(&s), LAC_OK, "room for the transposed W");
    cuda_host_freeze(s.ctx, &s.b, 512 * 64); /* full: A is the sparse one */
    standin_forget();
    standin_capture(lac_device_stream(s.ctx), true);
    unit_expect(product(&s), LAC_OK, "tiles");
    const standin_launch_t *l = standin_find("lac_cuda_tiles_run", 0),
                           *copied = standin_find("lac_cuda_copy", 0);
    assert_true(l && copied && standin_pointer(l, "p.b") == standin_pointer(copied, "out"));
    assert_ptr_equal(standin_pointer(copied, "x.data"), s.b.buf);
    standin_capture(lac_device_stream(s.ctx), false);
    cuda_host_close(s.ctx);
}

/* Somebody else's capture on another stream of this thread: what is unsafe for it is not its business. */
static void test_others_capture(void **state)
{
    (void)state;
    static const size_t which[] = {0, 4, 5, 8, 11}; /* steps of `steps` */
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        stage_t s = open_stage(which[i]);
        cudaStream_t theirs;
        assert_int_equal(cudaStreamCreateWithFlags(&theirs, cudaStreamNonBlocking), cudaSuccess);
        standin_capture(theirs, true);
        for (int call = 0; call < 4; call++) unit_expect(product(&s), LAC_OK, steps[which[i]].name);
        assert_int_equal(standin.breaches, 0);
        standin_capture(theirs, false);
        cudaStreamDestroy(theirs);
        cuda_host_close(s.ctx);
    }
}

/* The clock of runs: no more under way than there are places, each read once, without what an empty pair
 * takes. */
static void test_timer(void **state)
{
    (void)state;
    lac_ctx_t *ctx = cuda_host_ctx();
    const lac_event_timer_t *timer = ctx->backend->clock;
    lac_timing_tag_t tag = {0, 0, 0.0, false};
    double us = -1.0;
    standin.launch_us = 0.0;
    for (int i = 0; i < 4; i++) assert_false(timer->begin(ctx->exec)); /* empty pairs first */
    assert_false(timer->done(ctx->exec, &tag, &us));
    int open = 0;
    standin.busy = true;
    while (open < 100 && timer->begin(ctx->exec)) {
        standin.clock_us += 10.0 + open;
        timer->end(ctx->exec, &(lac_timing_tag_t){1 + (uint64_t)open, open, 0.0, false});
        open++;
    }
    assert_int_equal(open, 16);
    assert_false(timer->done(ctx->exec, &tag, &us));
    standin.busy = false;
    for (int i = 0; i < open; i++) {
        assert_true(timer->done(ctx->exec, &tag, &us));
        assert_int_equal(tag.site, 1 + i);
        assert_int_equal(tag.row, i);
        if (!(us > 9.99 + i && us < 10.01 + i)) fail_msg("span %d: %g us", i, us);
    }
    assert_false(timer->done(ctx->exec, &tag, &us));
    cuda_host_close(ctx);
    /* a clock that itself takes 3 us */
    ctx = cuda_host_ctx();
    timer = ctx->backend->clock;
    for (int i = 0; i < 4; i++) {
        standin.tick_us = 3.0;
        assert_false(timer->begin(ctx->exec));
    }
    assert_false(timer->done(ctx->exec, &tag, &us));
    assert_true(timer->begin(ctx->exec));
    standin.clock_us += 10.0;
    timer->end(ctx->exec, &(lac_timing_tag_t){5, 0, 0.0, false});
    assert_true(timer->done(ctx->exec, &tag, &us));
    if (!(us > 9.99 && us < 10.01)) fail_msg("%g us", us);
    cuda_host_close(ctx);
}

/* Memory of another device is refused, and named. */
static void test_another_device(void **state)
{
    (void)state;
    lac_ctx_t *first, *second;
    standin_reset();
    standin.devices = 2;
    unit_expect(lac_ctx_create_cuda(&first, 0, LAC_STREAM_NEW), LAC_OK, "first");
    unit_expect(lac_ctx_create_cuda(&second, 1, LAC_STREAM_NEW), LAC_OK, "second");
    void *there;
    unit_expect(lac_device_alloc(second, 4096, &there), LAC_OK, "alloc");
    lac_obj_t x = lac_obj_rowmajor(LAC_F32, 4, 4, there, 4);
    x.space = LAC_DEVICE;
    lac_obj_t y = x, z = x;
    y.buf = (float *)there + 64, z.buf = (float *)there + 128;
    unit_expect(cuda_host_gemm(second, "reference", 1.0f, &x, &y, 0.0f, &z), LAC_OK, "where it lies");
    assert_int_equal(standin.current, 0);
    unit_expect(cuda_host_gemm(first, "reference", 1.0f, &x, &y, 0.0f, &z), LAC_ERR_SPACE, "elsewhere");
    unit_expect_text(lac_last_error(), "another device's memory");
    unit_expect(lac_device_free(second, there), LAC_OK, "free");
    lac_ctx_free(first);
    lac_ctx_free(second);
    assert_int_equal(standin.breaches, 0);
}

static lac_status_t create(lac_ctx_t **ctx, int device)
{
    return lac_ctx_create_cuda(ctx, device, LAC_STREAM_NEW);
}

/* Devices that cannot serve, and why. */
static void test_devices(void **state)
{
    (void)state;
    lac_ctx_t *ctx;
    standin_reset();
    standin.devices = 0;
    unit_expect(create(&ctx, 0), LAC_ERR_UNAVAILABLE, "no device");
    unit_expect_text(lac_last_error(), "no CUDA-capable device");
    standin.driver = 0;
    unit_expect(create(&ctx, 0), LAC_ERR_UNAVAILABLE, "no driver");
    unit_expect_text(lac_last_error(), "no CUDA driver");
    standin_reset();
    standin.devices = 2;
    unit_expect(create(&ctx, 2), LAC_ERR_UNAVAILABLE, "device 2");
    unit_expect_text(lac_last_error(), "device: 2, and there are 2");
    standin.major = 7, standin.minor = 5;
    unit_expect(create(&ctx, 1), LAC_ERR_UNAVAILABLE, "an old one");
    unit_expect_text(lac_last_error(), "7.5");
    standin.major = 8, standin.minor = 0;
    standin.current = 1;
    unit_expect(create(&ctx, 0), LAC_OK, "8.0");
    assert_int_equal(standin.current, 1); /* as it was */
    lac_ctx_free(ctx);
    assert_int_equal(standin.current, 1);
    for (int at = 1; at < 8; at++) { /* whatever fails, nothing is left */
        standin.fails = at;
        if (create(&ctx, 0) == LAC_OK) lac_ctx_free(ctx);
        standin.fails = 0;
        assert_int_equal(standin_held_count(), 0);
        assert_int_equal(standin_last_error(), 0);
        assert_int_equal(standin.current, 1);
    }
    assert_int_equal(standin.breaches, 0);
}

static char facts[4096];

static void note(void *arg, const char *key, const char *value)
{
    (void)arg;
    size_t used = strlen(facts);
    snprintf(facts + used, sizeof facts - used, "%s = %s\n", key, value);
}

static void test_info(void **state)
{
    (void)state;
    lac_ctx_t *ctx = cuda_host_ctx();
    facts[0] = '\0';
    unit_expect(lac_ctx_info(ctx, note, NULL), LAC_OK, "lac_ctx_info");
    unit_expect_text(facts, "NVIDIA H200 (a stand-in)");
    unit_expect_text(facts, "0 of compute capability 9.0");
    unit_expect_text(facts, "driver 13.0, runtime 13.0");
    unit_expect_text(facts, "cublas = 13.1.0");
    unit_expect_text(facts, "cusparse = 12.6.0");
    unit_expect_text(facts, "measured on an H200");
    cuda_host_close(ctx);
}

/* A device that nobody measured: rates follow its memory and its multiprocessors. */
static void test_estimate(void **state)
{
    (void)state;
    double us[2];
    for (int i = 0; i < 2; i++) {
        standin_reset();
        lac_ctx_t *ctx;
        if (i) standin.name = "A device", standin.memory_khz /= 4;
        unit_expect(create(&ctx, 0), LAC_OK, "context");
        unit_expect(lac_ctx_set(ctx, "detect", "off"), LAC_OK, "detect");
        lac_obj_t a = cuda_host_rows(ctx, 10, 5000), b = cuda_host_rows(ctx, 5000, 5000),
                  c = cuda_host_rows(ctx, 10, 5000);
        us[i] = cuda_host_cost(ctx, "dense", "", &a, &b, &c);
        facts[0] = '\0';
        unit_expect(lac_ctx_info(ctx, note, NULL), LAC_OK, "lac_ctx_info");
        unit_expect_text(facts, i ? "estimated from an H200's" : "measured on an H200");
        cuda_host_close(ctx);
    }
    /* 4916.7 GB/s of an H200 by these clocks; a quarter of it takes four times as long for what memory does
     */
    double moved = 4.0 * (50000.0 + 25e6 + 50000.0) / 2.2e6, worked = 0.5 * 2.0 * 10 * 25e6 / 51e6;
    double slow = us[1] - us[0], want = 3.0 * moved;
    if (slow < 0.97 * want || slow > 1.03 * want)
        fail_msg("%g us after %g us (%g, %g)", us[1], us[0], moved, worked);
}

/* The decision on the last of so many products of m rows with a 5000-column matrix of k rows. */
static lac_decision_t decided_of(lac_ctx_t *ctx, lac_dt_t dt, lac_dim_t m, lac_dim_t k, int calls)
{
    lac_obj_t a = cuda_host_rows(ctx, m, k), b = cuda_host_rows(ctx, k, 5000),
              c = cuda_host_rows(ctx, m, 5000);
    a.dt = b.dt = c.dt = dt;
    float alpha = 1.0f, beta = 0.0f;
    lac_decision_t decision;
    lac_call_opts_t call = {.size = sizeof call, .decision = &decision};
    for (int i = 0; i < calls; i++)
        unit_expect(lac_gemm_ex(ctx, &alpha, &a, &b, &beta, &c, &call), LAC_OK, "product");
    return decision;
}

static lac_decision_t decided(lac_ctx_t *ctx, lac_dim_t m, lac_dim_t k, int calls)
{
    return decided_of(ctx, LAC_F32, m, k, calls);
}

/* Samples: asked for in one call, found by a later one. */
static void test_sample(void **state)
{
    (void)state;
    lac_ctx_t *ctx = cuda_host_ctx();
    unit_expect(lac_ctx_set(ctx, "detect", "probe"), LAC_OK, "detect");
    standin.sampled = 31; /* of 50000 / 16 each: 496 of 50000 */
    lac_decision_t decision = decided(ctx, 10, 5000, 3);
    assert_true(standin_count("lac_cuda_probe_marked") >= 1);
    const standin_launch_t *l = standin_find("lac_cuda_probe_marked", 0);
    assert_int_equal(standin_integer(l, "x.rows") * standin_integer(l, "x.cols"), 50000);
    assert_string_equal(decision.route, "event");
    assert_true(decision.density > 0.0098 && decision.density < 0.0100);
    /* another operand, whose sample does not come: the answer to the one before is not taken for it */
    standin.sampled = -1;
    assert_string_not_equal(decided(ctx, 10, 4000, 4).route, "event");
    cuda_host_close(ctx);
}

/* One in ten of A is nonzero: in a few of its k, which tiles walk through alone, or in all. */
static void test_sampled_lines(void **state)
{
    (void)state;
    static const struct {
        int lines;
        const char *route;
    } of[] = {{2, "tiles"}, {16, "csr"}, {15, "csr"}, {0, "csr"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        lac_ctx_t *ctx = cuda_host_ctx();
        unit_expect(lac_ctx_set(ctx, "detect", "probe"), LAC_OK, "detect");
        standin.sampled = 409; /* of 65536 / 16 each */
        standin.sampled_lines = of[i].lines;
        assert_string_equal(decided(ctx, 512, 5000, 1).route, of[i].route);
        assert_string_equal(decided(ctx, 512, 5000, 2).route, of[i].route);
        const standin_launch_t *l = standin_find("lac_cuda_probe_marked", 0);
        assert_int_equal(standin_integer(l, "k_by_rows"), standin_integer(l, "x.rows") == 5000);
        cuda_host_close(ctx);
    }
}

/* Half of A is nonzero, of two bytes: in half of its blocks, of which tiles leave out the others, or in all.
 */
static void test_sampled_blocks(void **state)
{
    (void)state;
    static const struct {
        int pieces;
        const char *route;
    } of[] = {{8, "tiles"}, {4, "tiles"}, {16, "dense"}, {15, "dense"}, {0, "dense"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        lac_ctx_t *ctx = cuda_host_ctx();
        unit_expect(lac_ctx_set(ctx, "detect", "probe"), LAC_OK, "detect");
        standin.sampled = of[i].pieces == 4 ? 1024 : 2048; /* of 65536 / 16 each */
        standin.sampled_lines = 16, standin.sampled_pieces = of[i].pieces;
        assert_string_equal(decided_of(ctx, LAC_BF16, 4096, 4096, 1).route, of[i].route);
        assert_string_equal(decided_of(ctx, LAC_BF16, 4096, 4096, 2).route, of[i].route);
        cuda_host_close(ctx);
    }
}

/* The device's clock: times are those of the stamps, without what an empty pair takes. */
static void test_clock(void **state)
{
    (void)state;
    stage_t s = open_stage(0);
    double us = -1.0;
    s.route = "reference";
    unit_expect(product(&s), LAC_OK, "reference");
    standin.launch_us = 7.0;
    unit_expect(lac_device_time(s.ctx, product, &s, 4, &us), LAC_OK, "time");
    assert_true(us > 6.99 && us < 14.01);
    lac_graph_t *made;
    unit_expect(lac_graph_capture(s.ctx, product, &s, 5, &made), LAC_OK, "capture");
    unit_expect(lac_graph_launch(made, 3, &us), LAC_OK, "launch");
    lac_graph_free(made);
    if (!(us > 1.399 && us < 1.401))
        fail_msg("%g us", us); /* 7 for each of 5 calls: the graph is one launch */
    cuda_host_close(s.ctx);
}

/* Tuning measures on the stand-in's clock, gives its memory back, and passes a failure on. */
static void test_tune(void **state)
{
    (void)state;
    stage_t s = open_stage(0);
    standin.largest = 0;
    unit_expect(tune(&s), LAC_OK, "lac_tune");
    size_t held = standin_held().bytes;
    unit_expect(tune(&s), LAC_OK, "again");
    assert_int_equal(standin_held().bytes, held);
    standin.fails = 30;
    assert_int_not_equal(tune(&s), LAC_OK);
    assert_int_equal(standin_held().bytes, held);
    cuda_host_close(s.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_call_fails),
                                       cmocka_unit_test(test_each_launch_fails),
                                       cmocka_unit_test(test_each_vendor_call_fails),
                                       cmocka_unit_test(test_messages),
                                       cmocka_unit_test(test_workspace),
                                       cmocka_unit_test(test_capture),
                                       cmocka_unit_test(test_devices),
                                       cmocka_unit_test(test_info),
                                       cmocka_unit_test(test_estimate),
                                       cmocka_unit_test(test_sample),
                                       cmocka_unit_test(test_sampled_lines),
                                       cmocka_unit_test(test_sampled_blocks),
                                       cmocka_unit_test(test_clock),
                                       cmocka_unit_test(test_tune),
                                       cmocka_unit_test(test_capture_without_formats),
                                       cmocka_unit_test(test_others_capture),
                                       cmocka_unit_test(test_timer),
                                       cmocka_unit_test(test_another_device)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
