/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a context on a device does not accept: a status, a message that names the argument, C untouched, and
 * the next call works. */
#include "gpu_case.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char plain_problem[] = "sgemm:NN:7x300x41:A=bern0.1:s4";

/* The operands of a call that something is wrong with. */
typedef struct corrupted {
    lac_obj_t a, b, c;
    void *foreign;
} corrupted_t;

static void host_space(corrupted_t *x)
{
    x->a.space = LAC_HOST;
}
static void no_space(corrupted_t *x)
{
    x->b.space = (lac_space_t)7;
}
static void host_a(corrupted_t *x)
{
    x->a.buf = x->foreign;
}
static void host_b(corrupted_t *x)
{
    x->b.buf = x->foreign;
}
static void host_c(corrupted_t *x)
{
    x->c.buf = x->foreign;
}
static void no_a(corrupted_t *x)
{
    x->a.buf = NULL;
}
static void no_c(corrupted_t *x)
{
    x->c.buf = NULL;
}
static void alias_a(corrupted_t *x)
{
    x->c.buf = x->a.buf;
}
static void alias_b(corrupted_t *x)
{
    x->c.buf = (float *)x->b.buf + 5;
}
static void negative(corrupted_t *x)
{
    x->a.m = -1;
}
static void unfitting(corrupted_t *x)
{
    x->b.m -= 1;
}
static void overlapping(corrupted_t *x)
{
    x->b.rs = 3;
}
static void bytes_out(corrupted_t *x)
{
    x->c.dt = LAC_U8;
}
static void unknown_type(corrupted_t *x)
{
    x->b.dt = (lac_dt_t)9;
}
static void unknown_trans(corrupted_t *x)
{
    x->a.trans = (lac_trans_t)2;
}

static const struct {
    const char *what;
    void (*corrupt)(corrupted_t *x);
    lac_status_t status;
    const char *word;
} mistakes[] = {{"an operand of the host's space", host_space, LAC_ERR_SPACE, "a.space"},
                {"no space", no_space, LAC_ERR_SPACE, "b.space"},
                {"a in host memory", host_a, LAC_ERR_SPACE, "a.buf"},
                {"b in host memory", host_b, LAC_ERR_SPACE, "b.buf"},
                {"c in host memory", host_c, LAC_ERR_SPACE, "c.buf"},
                {"no a", no_a, LAC_ERR_EMPTY, "a.buf"},
                {"no c", no_c, LAC_ERR_NULL, "c.buf"},
                {"c is a", alias_a, LAC_ERR_ALIAS, "c: overlaps a"},
                {"c within b", alias_b, LAC_ERR_ALIAS, "c: overlaps b"},
                {"a negative extent", negative, LAC_ERR_EXTENT, "a:"},
                {"an extent that does not fit", unfitting, LAC_ERR_EXTENT, "b:"},
                {"overlapping elements", overlapping, LAC_ERR_STRIDE, "b:"},
                {"c of bytes", bytes_out, LAC_ERR_TYPE, "c.dt"},
                {"an unknown type", unknown_type, LAC_ERR_TYPE, "b.dt"},
                {"an unknown transpose", unknown_trans, LAC_ERR_VALUE, "a.trans"}};

/* C, which held poison, holds it still; and the call without the mistake gives the product. */
static void expect_untouched(gpu_case_t *x, const char *what)
{
    lac_decision_t decision;
    uint64_t before = ref_matrix_checksum(&x->before);
    if (gpu_case_checksum(x) != before) gpu_fail("%s: c was written", what);
    if (gpu_expect(gpu_case_run(x, NULL, &decision), LAC_OK, what)) gpu_case_check(x, &decision, false);
    gpu_case_reset(x);
}

static void check_mistakes(gpu_case_t *x, void *foreign, const char *kind)
{
    for (size_t i = 0; i < GPU_COUNT(mistakes); i++) {
        char what[160];
        corrupted_t corrupted = {x->a, x->b, x->c, foreign};
        lac_plan_t *plan = NULL;
        snprintf(what, sizeof what, "%s (%s)", mistakes[i].what, kind);
        mistakes[i].corrupt(&corrupted);
        lac_status_t status = lac_gemm(x->ctx, NULL, &corrupted.a, &corrupted.b, NULL, &corrupted.c);
        gpu_expect_error(status, mistakes[i].status, mistakes[i].word, what);
        status = lac_plan_create(x->ctx, &plan, &corrupted.a, &corrupted.b, &corrupted.c, NULL);
        gpu_expect_error(status, mistakes[i].status, mistakes[i].word, what);
        if (plan) gpu_fail("%s: a plan was made", what);
        expect_untouched(x, what);
    }
}

/* Host memory, pinned memory: both are named. */
static void test_mistakes(lac_ctx_t *ctx)
{
    gpu_case_t x;
    const size_t bytes = 300 * 50 * sizeof(float);
    void *host = calloc(1, bytes), *pinned = NULL;
    if (host && gpu_case_make(&x, ctx, plain_problem)) {
        check_mistakes(&x, host, "pageable");
        if (cudaHostAlloc(&pinned, bytes, cudaHostAllocDefault) == cudaSuccess) {
            lac_obj_t a = x.a;
            memset(pinned, 0, bytes);
            check_mistakes(&x, pinned, "pinned");
            a.buf = pinned;
            gpu_expect_error(lac_gemm(ctx, NULL, &a, &x.b, NULL, &x.c), LAC_ERR_SPACE, "pinned", "pinned a");
            for (size_t i = 0; i < bytes; i++)
                if (((char *)pinned)[i]) {
                    gpu_fail("pinned memory was written");
                    break;
                }
            cudaFreeHost(pinned);
        } else
            gpu_fail("no pinned memory");
    }
    gpu_case_free(&x);
    free(host);
}

/* Managed memory belongs to both sides and is taken. */
static void test_managed_memory(lac_ctx_t *ctx)
{
    float *memory;
    if (cudaMallocManaged((void **)&memory, 4096 * sizeof *memory, cudaMemAttachGlobal) != cudaSuccess) {
        cudaGetLastError();
        return;
    }
    for (int i = 0; i < 4096; i++) memory[i] = (float)(i % 3 - 1);
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 1, 64, memory, 64),
              b = lac_obj_rowmajor(LAC_F32, 64, 16, memory + 64, 16),
              c = lac_obj_rowmajor(LAC_F32, 1, 16, memory + 3000, 16);
    a.space = b.space = c.space = LAC_DEVICE;
    if (gpu_expect(lac_gemm(ctx, NULL, &a, &b, NULL, &c), LAC_OK, "managed memory") &&
        gpu_expect(lac_device_wait(ctx), LAC_OK, "wait"))
        for (int j = 0; j < 16; j++) {
            float want = 0.0f;
            for (int k = 0; k < 64; k++) want += memory[k] * memory[64 + k * 16 + j];
            if (memory[3000 + j] != want) gpu_fail("managed memory: %g, expected %g", memory[3000 + j], want);
        }
    cudaFree(memory);
}

/* Memory of another device, where there is one, and a device that there is not. */
static void test_other_devices(lac_ctx_t *ctx)
{
    gpu_case_t x, there;
    lac_ctx_t *other, *none;
    int devices = 0;
    cudaGetDeviceCount(&devices);
    gpu_expect_error(lac_ctx_create_cuda(&none, devices, LAC_STREAM_NEW), LAC_ERR_UNAVAILABLE, "device",
                     "none");
    if (none) gpu_fail("a context on device %d of %d", devices, devices);
    if (devices < 2) return;
    if (!gpu_expect(lac_ctx_create_cuda(&other, 1, LAC_STREAM_NEW), LAC_OK, "device 1")) return;
    if (gpu_case_make(&x, ctx, plain_problem) && gpu_case_make(&there, other, plain_problem)) {
        lac_decision_t decision;
        gpu_expect_error(lac_gemm(ctx, NULL, &x.a, &there.b, NULL, &x.c), LAC_ERR_SPACE, "b.buf", "device 1");
        expect_untouched(&x, "memory of device 1");
        if (gpu_expect(gpu_case_run(&there, NULL, &decision), LAC_OK, "device 1"))
            gpu_case_check(&there, &decision, false);
        gpu_case_free(&there);
    }
    gpu_case_free(&x);
    lac_ctx_free(other);
}

/* A host context has no device, and a device context takes no host calls. */
static void test_host_context(lac_ctx_t *ctx)
{
    lac_ctx_t *host;
    gpu_case_t x;
    void *memory;
    if (!gpu_expect(lac_ctx_create(&host), LAC_OK, "host context")) return;
    gpu_expect_error(lac_device_alloc(host, 8, &memory), LAC_ERR_UNAVAILABLE, "ctx", "alloc");
    gpu_expect_error(lac_device_wait(host), LAC_ERR_UNAVAILABLE, "ctx", "wait");
    if (gpu_case_make(&x, ctx, plain_problem)) {
        gpu_expect_error(lac_gemm(host, NULL, &x.a, &x.b, NULL, &x.c), LAC_ERR_SPACE, "a.space",
                         "host context");
        expect_untouched(&x, "a host context");
    }
    gpu_case_free(&x);
    lac_ctx_free(host);
}

static void test_device_calls(lac_ctx_t *ctx)
{
    void *memory;
    int32_t word = 5;
    gpu_expect_error(lac_device_alloc(NULL, 8, &memory), LAC_ERR_NULL, "ctx", "alloc");
    gpu_expect_error(lac_device_alloc(ctx, 8, NULL), LAC_ERR_NULL, "memory", "alloc");
    gpu_expect_error(lac_device_upload(ctx, NULL, &word, 4), LAC_ERR_NULL, "to", "upload");
    gpu_expect_error(lac_device_download(ctx, &word, NULL, 4), LAC_ERR_NULL, "from", "download");
    gpu_expect(lac_device_upload(ctx, NULL, NULL, 0), LAC_OK, "nothing to upload");
    gpu_expect(lac_device_free(ctx, NULL), LAC_OK, "free");
    if (!gpu_expect(lac_device_alloc(ctx, 0, &memory), LAC_OK, "no bytes")) return;
    gpu_expect(lac_device_free(ctx, memory), LAC_OK, "free");
}

/* Out of memory ----------------------------------------------------------------------------------------- */

static void test_no_memory_to_allocate(lac_ctx_t *ctx)
{
    void *memory = ctx;
    gpu_case_t x;
    gpu_expect_error(lac_device_alloc(ctx, (size_t)1 << 50, &memory), LAC_ERR_MEMORY, "memory", "a petabyte");
    if (memory) gpu_fail("a failed allocation gave an address");
    if (gpu_case_make(&x, ctx, plain_problem)) expect_untouched(&x, "after a failed allocation");
    gpu_case_free(&x);
}

/* A dense product of a sparse-only operand whose dense format no device holds: 2^19 x 2^21 floats are 4 TB.
 */
static void test_no_memory_to_work_in(lac_ctx_t *ctx)
{
    enum { M = 1 << 19, K = 1 << 21 };
    static const char *const routes[] = {"cublas", "native"};
    int32_t *ptr = calloc(M + 1, sizeof *ptr), idx = 7;
    float *ones = malloc(K * sizeof *ones), one = 1.0f, first;
    for (int i = 0; i < K; i++) ones[i] = (float)(i % 5);
    for (int i = 1; i <= M; i++) ptr[i] = 1;
    void *on_ptr = gpu_upload(ctx, ptr, (M + 1) * sizeof *ptr), *on_idx = gpu_upload(ctx, &idx, sizeof idx),
         *on_val = gpu_upload(ctx, &one, sizeof one), *on_b = gpu_upload(ctx, ones, K * sizeof *ones),
         *on_c = gpu_upload(ctx, ones, M * sizeof *ones);
    lac_meta_t *meta;
    gpu_expect(lac_meta_create_for(ctx, &meta, M, K), LAC_OK, "create");
    gpu_expect(lac_meta_attach_csr(meta, LAC_I32, on_ptr, on_idx, on_val), LAC_OK, "attach");
    lac_obj_t a = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, M, K, K, 1, NULL, meta};
    lac_obj_t b = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, K, 1, 1, 1, on_b, NULL};
    lac_obj_t c = {LAC_F32, LAC_DEVICE, LAC_NO_TRANS, M, 1, 1, 1, on_c, NULL};
    for (size_t r = 0; r < GPU_COUNT(routes); r++) {
        gpu_case_t x;
        lac_call_opts_t call = {.size = sizeof call, .route = routes[r]};
        gpu_expect_error(lac_gemm_ex(ctx, NULL, &a, &b, NULL, &c, &call), LAC_ERR_MEMORY, "workspace",
                         routes[r]);
        gpu_expect(lac_device_download(ctx, &first, (float *)on_c + 3, sizeof first), LAC_OK, "c");
        if (first != 3.0f) gpu_fail("%s: c was written", routes[r]);
        if (gpu_case_make(&x, ctx, plain_problem)) expect_untouched(&x, "after a failed workspace");
        gpu_case_free(&x);
    }
    lac_meta_free(meta);
    void *const memory[] = {on_ptr, on_idx, on_val, on_b, on_c};
    for (size_t i = 0; i < GPU_COUNT(memory); i++) lac_device_free(ctx, memory[i]);
    free(ptr);
    free(ones);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_mistakes),
                                       GPU_TEST(test_managed_memory),
                                       GPU_TEST(test_other_devices),
                                       GPU_TEST(test_host_context),
                                       GPU_TEST(test_device_calls),
                                       GPU_TEST(test_no_memory_to_allocate),
                                       GPU_TEST(test_no_memory_to_work_in)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
