/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operators on compressed rows that a call brings along, on a device: the host's results, the same bits each
 * time, in graphs too; and wrong indices. */
#include "gpu_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    int64_t m, n, nnz, columns, count;
    bool wide, fan, homogeneous, permuted, events;
} problem_t;

/* The same arrays on the host and on the device. */
typedef struct pair {
    void *here, *there;
} pair_t;

static pair_t make(lac_ctx_t *ctx, size_t bytes)
{
    pair_t p = {calloc(1, bytes + 8), NULL};
    if (!p.here) abort();
    p.there = gpu_upload(ctx, p.here, bytes + 8);
    return p;
}

static void send(lac_ctx_t *ctx, const pair_t *p, size_t bytes)
{
    gpu_expect(lac_device_upload(ctx, p->there, p->here, bytes), LAC_OK, "upload");
}

static void drop(lac_ctx_t *ctx, pair_t *p)
{
    free(p->here);
    gpu_expect(lac_device_free(ctx, p->there), LAC_OK, "free");
}

static void put_index(void *list, bool wide, int64_t i, int64_t x)
{
    if (wide)
        ((int64_t *)list)[i] = x;
    else
        ((int32_t *)list)[i] = (int32_t)x;
}

static float normal(uint64_t *seed)
{
    return ((float)(gpu_random(seed) % 2001) - 1000.0f) * ldexpf(1.0f, (int)(gpu_random(seed) % 24) - 22);
}

/* A on the host or the device; dense operands by rows. */
static lac_obj_t dense(const pair_t *p, lac_dt_t dt, int64_t m, int64_t n, bool there)
{
    lac_obj_t x = lac_obj_rowmajor(dt, m, n, there ? p->there : p->here, n ? n : 1);
    x.space = there ? LAC_DEVICE : LAC_HOST;
    return x;
}

/* What the device wrote against what the host did. */
static void compare(lac_ctx_t *ctx, const pair_t *out, int64_t count, double largest, const char *what)
{
    float *got = malloc((size_t)count * sizeof *got + 1);
    if (!got) abort();
    gpu_expect(lac_device_download(ctx, got, out->there, (size_t)count * sizeof *got), LAC_OK, what);
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)((float *)out->here)[i]) <= 2e-6 * largest)) {
            gpu_fail("%s: element %lld is %g, expected %g", what, (long long)i, (double)got[i],
                     (double)((float *)out->here)[i]);
            break;
        }
    free(got);
}

typedef struct call {
    lac_ctx_t *ctx;
    lac_csr_t a;
    lac_obj_t b, c;
    int binary;
} call_t;

static lac_status_t product(void *arg)
{
    call_t *c = arg;
    return lac_csr_gemm(c->ctx, &c->a, &c->b, c->binary, &c->c);
}

/* The bits of a second run, and of one in a graph with a workspace of the caller's. */
static void repeat(call_t *call, int64_t count)
{
    size_t bytes = (size_t)count * sizeof(float);
    float *first = malloc(bytes + 1), *next = malloc(bytes + 1);
    void *sums;
    lac_graph_t *graph = NULL;
    if (!first || !next) abort();
    gpu_expect(lac_device_download(call->ctx, first, call->c.buf, bytes), LAC_OK, "first");
    gpu_expect(product(call), LAC_OK, "again");
    gpu_expect(lac_device_download(call->ctx, next, call->c.buf, bytes), LAC_OK, "second");
    if (memcmp(first, next, bytes)) gpu_fail("a second product has other bits");
    gpu_expect(lac_device_alloc(call->ctx, 4 * bytes + 2048, &sums), LAC_OK, "workspace");
    gpu_expect(lac_csr_workspace(call->ctx, sums, 4 * bytes + 2048), LAC_OK, "workspace");
    if (gpu_expect(lac_graph_capture(call->ctx, product, call, 1, &graph), LAC_OK, "capture")) {
        memset(next, 0xff, bytes);
        gpu_expect(lac_device_upload(call->ctx, call->c.buf, next, bytes), LAC_OK, "spoilt");
        gpu_expect(lac_graph_launch(graph, 3, NULL), LAC_OK, "launch");
        gpu_expect(lac_device_download(call->ctx, next, call->c.buf, bytes), LAC_OK, "third");
        if (memcmp(first, next, bytes)) gpu_fail("a recorded product has other bits");
    }
    lac_graph_free(graph);
    gpu_expect(lac_csr_workspace(call->ctx, NULL, 0), LAC_OK, "workspace");
    gpu_expect(lac_device_free(call->ctx, sums), LAC_OK, "free");
    free(first), free(next);
}

static void run(lac_ctx_t *ctx, lac_ctx_t *host, const problem_t *p, uint64_t seed)
{
    int64_t inner = p->m > p->n ? p->m : p->n, values = p->homogeneous ? 1 : p->nnz;
    size_t width = p->wide ? sizeof(int64_t) : sizeof(int32_t),
           x_bytes = (size_t)(inner * p->columns) * sizeof(float);
    pair_t ptr = make(ctx, (size_t)(p->m + 1) * width), idx = make(ctx, (size_t)p->nnz * width),
           perm = make(ctx, (size_t)p->nnz * width), val = make(ctx, (size_t)values * sizeof(float)),
           x = make(ctx, x_bytes), out = make(ctx, x_bytes),
           rows = make(ctx, (size_t)p->count * sizeof(int32_t)),
           lines = make(ctx, (size_t)(p->count * p->n) * sizeof(float)),
           each = make(ctx, (size_t)p->nnz * sizeof(float)), y = make(ctx, x_bytes);
    int64_t begin = 0;
    for (int64_t i = 0; i <= p->m; i++) {
        put_index(ptr.here, p->wide, i, i == p->m ? p->nnz : begin);
        int64_t some = (int64_t)(gpu_random(&seed) % (uint64_t)(2 * p->nnz / p->m + 1));
        begin = begin + some > p->nnz ? p->nnz : begin + some;
    }
    for (int64_t e = 0; e < p->nnz; e++) {
        put_index(idx.here, p->wide, e, (int64_t)(gpu_random(&seed) % (uint64_t)p->n));
        put_index(perm.here, p->wide, e, p->nnz - 1 - e);
    }
    for (int64_t e = 0; e < values; e++) ((float *)val.here)[e] = normal(&seed);
    for (int64_t i = 0; i < inner * p->columns; i++) {
        bool there = gpu_random(&seed) % 5 == 0;
        if (p->events)
            ((uint8_t *)x.here)[i] = there;
        else
            ((float *)x.here)[i] = there ? normal(&seed) : 0.0f;
        ((float *)y.here)[i] = normal(&seed);
    }
    for (int64_t i = 0; i < p->count; i++)
        ((int32_t *)rows.here)[i] = (int32_t)(gpu_random(&seed) % (uint64_t)(p->m + 2)) - 1;
    send(ctx, &ptr, (size_t)(p->m + 1) * width), send(ctx, &idx, (size_t)p->nnz * width);
    send(ctx, &perm, (size_t)p->nnz * width), send(ctx, &val, (size_t)values * sizeof(float));
    send(ctx, &x, x_bytes), send(ctx, &y, x_bytes), send(ctx, &rows, (size_t)p->count * sizeof(int32_t));
    lac_dt_t dt = p->events ? LAC_U8 : LAC_F32;
    lac_csr_t a[2];
    for (int q = 0; q < 2; q++)
        a[q] = (lac_csr_t){.size = sizeof a[q],
                           .m = p->m,
                           .n = p->n,
                           .nnz = p->nnz,
                           .it = p->wide ? LAC_I64 : LAC_I32,
                           .ptr = p->fan ? NULL
                                  : q    ? ptr.there
                                         : ptr.here,
                           .idx = q ? idx.there : idx.here,
                           .val = q ? val.there : val.here,
                           .perm = !p->permuted ? NULL
                                   : q          ? perm.there
                                                : perm.here,
                           .homogeneous = p->homogeneous};
    for (int t = 0; t < 2; t++) {
        int64_t from = t ? p->m : p->n, to = t ? p->n : p->m;
        lac_obj_t b = dense(&x, dt, from, p->columns, false), c = dense(&out, LAC_F32, to, p->columns, false);
        call_t call = {ctx, a[1], dense(&x, dt, from, p->columns, true),
                       dense(&out, LAC_F32, to, p->columns, true), (int)(seed % 2)};
        a[0].trans = call.a.trans = t ? LAC_TRANS : LAC_NO_TRANS;
        gpu_expect(lac_csr_gemm(host, &a[0], &b, call.binary, &c), LAC_OK, "host");
        gpu_expect(product(&call), LAC_OK, "device");
        compare(ctx, &out, to * p->columns, 2e7, t ? "scatter" : "gather");
        repeat(&call, to * p->columns);
    }
    a[0].trans = LAC_NO_TRANS;
    lac_obj_t o = dense(&lines, LAC_F32, p->count, p->n, false),
              od = dense(&lines, LAC_F32, p->count, p->n, true);
    gpu_expect(lac_csr_slice_rows(host, &a[0], LAC_I32, p->count, rows.here, &o), LAC_OK, "host");
    gpu_expect(lac_csr_slice_rows(ctx, &a[1], LAC_I32, p->count, rows.there, &od), LAC_OK, "slice");
    compare(ctx, &lines, p->count * p->n, 4e3, "slice");
    send(ctx, &lines, (size_t)(p->count * p->n) * sizeof(float));
    gpu_expect(lac_csr_slice_rows_grad(host, &a[0], LAC_I32, p->count, rows.here, &o, each.here), LAC_OK,
               "host");
    gpu_expect(lac_csr_slice_rows_grad(ctx, &a[1], LAC_I32, p->count, rows.there, &od, each.there), LAC_OK,
               "gradient");
    compare(ctx, &each, p->nnz, 4e3 * (double)p->count, "gradient");
    lac_obj_t l = dense(&y, LAC_F32, p->m, p->columns, false),
              r = dense(&y, LAC_F32, p->columns, p->n, false),
              ld = dense(&y, LAC_F32, p->m, p->columns, true),
              rd = dense(&y, LAC_F32, p->columns, p->n, true);
    gpu_expect(lac_csr_sddmm(host, &l, &r, &a[0], each.here), LAC_OK, "host");
    gpu_expect(lac_csr_sddmm(ctx, &ld, &rd, &a[1], each.there), LAC_OK, "sample");
    compare(ctx, &each, p->nnz, 4e6 * (double)p->columns, "sample");
    pair_t *all[] = {&ptr, &idx, &perm, &val, &x, &out, &rows, &lines, &each, &y};
    for (size_t i = 0; i < GPU_COUNT(all); i++) drop(ctx, all[i]);
}

static void test_operators(lac_ctx_t *ctx)
{
    static const problem_t problems[] = {{4000, 4000, 320000, 1, 50, false, true, true, false, true},
                                         {4000, 4000, 320000, 1, 50, false, true, false, false, true},
                                         {3000, 5000, 200001, 1, 900, true, false, false, true, false},
                                         {700, 900, 5000, 3, 20, false, false, true, false, false},
                                         {500, 6000, 90000, 40, 30, false, false, false, false, true},
                                         {9, 5, 4000, 130, 3, true, false, false, false, false}};
    lac_ctx_t *host;
    if (!gpu_expect(lac_ctx_create(&host), LAC_OK, "host")) return;
    for (size_t i = 0; i < GPU_COUNT(problems); i++)
        if (i < 4 || !gpu_quick()) run(ctx, host, &problems[i], 31 + i);
    lac_ctx_free(host);
}

/* The next call says it, once. */
static void test_wrong_index(lac_ctx_t *ctx)
{
    static const int32_t idx[] = {0, 7, 2, 3};
    static const float x[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    void *there = gpu_upload(ctx, idx, sizeof idx), *b = gpu_upload(ctx, x, sizeof x),
         *c = gpu_upload(ctx, x, sizeof x);
    lac_csr_t a = {.size = sizeof a, .m = 2, .n = 4, .nnz = 4, .idx = there};
    lac_obj_t in = lac_obj_rowmajor(LAC_F32, 4, 1, b, 1), out = lac_obj_rowmajor(LAC_F32, 2, 1, c, 1);
    float got[2] = {0.0f, 0.0f};
    in.space = out.space = LAC_DEVICE;
    gpu_expect(lac_csr_gemm(ctx, &a, &in, 0, &out), LAC_OK, "queued");
    gpu_expect_error(lac_device_wait(ctx), LAC_ERR_VALUE, "a.idx[1]", "waiting");
    gpu_expect(lac_device_download(ctx, got, c, sizeof got), LAC_OK, "download");
    if (got[0] != 1.0f || got[1] != 2.0f)
        gpu_fail("%g and %g, expected 1 and 2", (double)got[0], (double)got[1]);
    gpu_expect(lac_device_free(ctx, there), LAC_OK, "free");
    gpu_expect(lac_device_free(ctx, b), LAC_OK, "free"), gpu_expect(lac_device_free(ctx, c), LAC_OK, "free");
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_operators), GPU_TEST(test_wrong_index)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
