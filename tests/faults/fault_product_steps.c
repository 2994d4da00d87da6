/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One product of whole numbers, so that every route has the same bits. */
#include "../route_names.h"
#include "fault_steps.h"
#include "../interpose_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { M = 16, K = 96, N = 32 };

static float a[M * K], at[M * K], b[K * N], bt[K * N], c[2 * M * N], expected[M * N];
static unsigned char events[M * K];
static int32_t ptr32[M + 1], idx32[M * K], active_idx[K];
static int64_t ptr64[M + 1], idx64[M * K];
static float val[M * K], active_val[M * K], bits_val[M * K];
static uint64_t bits[M * ((K + 63) / 64)];
static lac_ctx_t *ctx;        /* of the step that runs */
static const char *complaint; /* of its own */

static route_names_t routes;

static void make_operands(void)
{
    routes = host_route_names(0);
    int nnz = 0, active = 0;
    for (int i = 0; i < M * K; i++) {
        events[i] = i % 11 == 0;
        a[i] = (float)events[i];
        at[i % K * M + i / K] = a[i];
    }
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7 - 3), bt[i % N * K + i / N] = b[i];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++) expected[i * N + j] += a[i * K + k] * b[k * N + j];
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < K; k++)
            if (events[i * K + k]) {
                bits[i * ((K + 63) / 64) + k / 64] |= UINT64_C(1) << k % 64;
                bits_val[nnz] = val[nnz] = 1.0f;
                idx64[nnz] = idx32[nnz] = k;
                nnz++;
            }
        ptr64[i + 1] = ptr32[i + 1] = nnz;
    }
    for (int k = 0; k < K; k++) { /* every k is active here: all of A, by columns */
        active_idx[active] = k;
        for (int i = 0; i < M; i++) active_val[active * M + i] = a[i * K + k];
        active++;
    }
}

enum { LAYOUTS = 4 };

static lac_obj_t obj_a(void)
{
    return lac_obj_rowmajor(LAC_F32, M, K, a, K);
}
static lac_obj_t obj_b(void)
{
    return lac_obj_rowmajor(LAC_F32, K, N, b, N);
}
static lac_obj_t obj_c(void)
{
    return lac_obj_rowmajor(LAC_F32, M, N, c, N);
}

/* A and B by columns, C with gaps between its elements, and bytes for A. */
static lac_status_t product(int layout, const char *route, lac_meta_t *meta)
{
    lac_obj_t oa = obj_a(), ob = obj_b(), oc = obj_c();
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    if (layout == 1) ob = lac_obj_colmajor(LAC_F32, K, N, bt, K), oa = lac_obj_colmajor(LAC_F32, M, K, at, M);
    if (layout == 2) oc.rs = 2 * N, oc.cs = 2;
    if (layout == 3) oa = lac_obj_rowmajor(LAC_U8, M, K, events, K);
    oa.meta = meta;
    return lac_gemm_ex(ctx, NULL, &oa, &ob, NULL, &oc, &call);
}

static lac_status_t any_route(int i)
{
    return product(i / routes.count, routes.name[i % routes.count], NULL);
}

static lac_status_t bare_pointers(int i)
{
    (void)i;
    return lac_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, M, N, K, 1.0f, a, K, 1, b, N, 1, 0.0f, c, N, 1);
}

/* One column of C at a time: y has stride N. */
static lac_status_t vectors(int i)
{
    static float scratch[M * N];
    (void)i;
    for (int j = 0; j < N; j++) {
        lac_status_t status =
            lac_sgemv(ctx, LAC_NO_TRANS, M, K, 1.0f, a, K, 1, b + j, N, 0.0f, scratch + j, N);
        if (status) return status;
    }
    memcpy(c, scratch, sizeof scratch);
    return LAC_OK;
}

static lac_status_t planned(int i)
{
    lac_obj_t oa = obj_a(), ob = obj_b(), oc = obj_c();
    lac_call_opts_t call = {.size = sizeof call, .route = routes.name[i]};
    lac_decision_t decision;
    lac_plan_t *plan;
    lac_status_t status = lac_plan_create(ctx, &plan, &oa, &ob, &oc, &call);
    if (status && plan) complaint = "a plan beside an error";
    if (!status) status = lac_plan_explain(plan, &decision);
    if (!status) status = lac_plan_run(plan, NULL, &oa, &ob, NULL, &oc);
    lac_plan_free(plan);
    return status;
}

/* Scanned, frozen, multiplied: builds formats, copies and packed values. */
static lac_status_t frozen(int i)
{
    static const unsigned what[] = {LAC_META_DENSITY, LAC_META_BITMASK, LAC_META_CSR, LAC_META_CSC,
                                    LAC_META_ACTIVE};
    static const char *const by[] = {"event", "bitmask", "csr", "event", "csr"};
    lac_obj_t oa = obj_a();
    lac_meta_t *meta;
    lac_status_t status = lac_meta_create_for(ctx, &meta, M, K);
    oa.meta = meta;
    if (!status) status = lac_meta_scan(ctx, &oa, what[i]);
    if (!status) status = lac_meta_freeze(meta);
    if (!status) status = product(0, by[i], meta);
    lac_meta_free(meta);
    return status;
}

/* W frozen and by columns: the event route turns it once, into a copy of its own. */
static lac_status_t transposed(int i)
{
    lac_obj_t oa = obj_a(), ob = lac_obj_colmajor(LAC_F32, K, N, bt, K), oc = obj_c();
    lac_call_opts_t call = {.size = sizeof call, .route = i ? "csr" : "event"};
    lac_meta_t *meta;
    lac_status_t status = lac_meta_create(&meta, K, N);
    ob.meta = meta;
    if (!status) status = lac_meta_freeze(meta);
    if (!status) status = lac_gemm_ex(ctx, NULL, &oa, &ob, NULL, &oc, &call);
    lac_meta_free(meta);
    return status;
}

/* By the metadata alone, unless it could not be had. */
static lac_status_t multiply_attached(lac_status_t status, lac_obj_t oa, lac_meta_t *meta)
{
    lac_obj_t ob = obj_b(), oc = obj_c();
    oa.buf = NULL;
    oa.meta = meta;
    if (!status) status = lac_gemm(ctx, NULL, &oa, &ob, NULL, &oc);
    lac_meta_free(meta);
    return status;
}

static lac_status_t attached(int i)
{
    lac_meta_t *meta;
    lac_status_t status = lac_meta_create(&meta, M, K);
    if (!status && i == 0) status = lac_meta_attach_csr(meta, LAC_I32, ptr32, idx32, val);
    if (!status && i == 1) status = lac_meta_attach_csr(meta, LAC_I64, ptr64, idx64, NULL);
    if (!status && i == 2) status = lac_meta_attach_active(meta, K, active_idx, active_val);
    if (!status && i == 3) status = lac_meta_attach_bitmask(meta, bits, bits_val);
    return multiply_attached(status, obj_a(), meta);
}

/* The same A as the compressed columns of its transpose. */
static lac_status_t attached_columns(int i)
{
    lac_meta_t *meta;
    lac_status_t status = lac_meta_create(&meta, K, M);
    if (!status)
        status = lac_meta_attach_csc(meta, i ? LAC_I64 : LAC_I32, i ? (void *)ptr64 : (void *)ptr32,
                                     i ? (void *)idx64 : (void *)idx32, val);
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, K, M, NULL, M);
    oa.trans = LAC_TRANS;
    return multiply_attached(status, oa, meta);
}

/* A second opinion that has no memory is none; the call itself stands. */
static lac_status_t compared(int i)
{
    lac_status_t status = lac_ctx_set(ctx, "compare", "reference");
    return status ? status : product(i, NULL, NULL);
}

static void ignore(void *arg, const char *key, const char *value)
{
    (void)arg, (void)key, (void)value;
}

static lac_status_t reported(int i)
{
    (void)i;
    lac_obj_t oa = obj_a(), ob = obj_b(), oc = obj_c();
    lac_decision_t decision;
    lac_status_t status = lac_ctx_info(ctx, ignore, NULL);
    if (!status) status = lac_ctx_set(ctx, "stats", "1");
    if (!status) status = lac_explain(ctx, NULL, &oa, &ob, NULL, &oc, NULL, &decision);
    return status ? status : product(0, NULL, NULL);
}

/* Declining is always allowed: then the caller's BLAS serves, here a plain loop. */
static lac_status_t dropped_in(int i)
{
    (void)i;
    lac_ctx_t *mine = lac_thread_ctx();
    if (!try_sgemm(mine, LAC_NO_TRANS, LAC_NO_TRANS, N, M, K, 1.0f, b, N, a, K, 0.0f, c, N, "sgemm_",
                   (void *)&ctx)) {
        memcpy(c, expected, sizeof expected);
        if (mine) lac_interpose_timing_end(mine);
    }
    return LAC_OK;
}

/* The same with the weight registered, by address or by its shape. Where it could not be, there is no harm.
 */
static lac_status_t registered(int i)
{
    lac_obj_t oa = obj_a();
    lac_meta_t *meta = NULL;
    lac_status_t status = i ? lac_ctx_set(ctx, "frozen", "96x16") : lac_meta_create(&oa.meta, M, K);
    if (!i && !status) {
        meta = oa.meta;
        status = lac_meta_freeze(meta);
        if (!status) status = lac_register(ctx, &oa);
    }
    lac_status_t there = status;
    if (!status && !try_sgemm(ctx, LAC_NO_TRANS, LAC_NO_TRANS, N, M, K, 1.0f, b, N, a, K, 0.0f, c, N,
                              "sgemm_", (void *)&ctx))
        memcpy(c, expected, sizeof expected);
    if (!there) lac_unregister(a);
    lac_interpose_timing_end(ctx);
    lac_meta_free(meta);
    return status;
}

/* Without a device, but with memory or not: a status, and never a context or a recording. */
static lac_status_t no_device(int i)
{
    void *memory;
    lac_ctx_t *device;
    (void)i;
    lac_status_t status = lac_ctx_create_cuda(&device, 0, NULL);
    if (!status) {
        lac_ctx_free(device);
        status = LAC_ERR_UNAVAILABLE;
    } else if (device) {
        complaint = "a context beside an error";
    }
    if (status == LAC_ERR_UNAVAILABLE) status = lac_device_alloc(ctx, 64, &memory);
    if (status == LAC_ERR_UNAVAILABLE) memcpy(c, expected, sizeof expected), status = LAC_OK;
    return status;
}

enum { OF_ROUTES = -1 }; /* so many times as there are routes */

static const struct {
    lac_status_t (*run)(int i);
    int count;
} steps[] = {{any_route, OF_ROUTES *LAYOUTS},
             {bare_pointers, 1},
             {vectors, 1},
             {planned, OF_ROUTES},
             {frozen, 5},
             {transposed, 2},
             {attached, 4},
             {attached_columns, 2},
             {compared, 3},
             {reported, 1},
             {dropped_in, 3},
             {registered, 2},
             {no_device, 1}};
enum { KINDS = sizeof steps / sizeof *steps };

static int count_of(int kind)
{
    return steps[kind].count < 0 ? steps[kind].count / OF_ROUTES * routes.count : steps[kind].count;
}

static int count_steps(void)
{
    int count = 0;
    for (int kind = 0; kind < KINDS; kind++) count += count_of(kind);
    return count;
}

static const char *wrong_product(bool gaps)
{
    for (int i = 0; i < M * N; i++)
        if (c[gaps ? 2 * i : i] != expected[i]) return "a wrong product";
    return NULL;
}

static const char *touched(void)
{
    for (int i = 0; i < 2 * M * N; i++)
        if (c[i] != -77.0f) return "an error, and C was written";
    return NULL;
}

static lac_status_t run_step(lac_ctx_t *of, int i, const char **wrong)
{
    int kind = 0;
    for (; i >= count_of(kind); kind++) i -= count_of(kind);
    for (int e = 0; e < 2 * M * N; e++) c[e] = -77.0f;
    ctx = of;
    complaint = NULL;
    lac_ctx_set(ctx, "compare", "off");
    lac_ctx_set(ctx, "stats", "0");
    lac_status_t status = steps[kind].run(i);
    bool gaps =
        (steps[kind].run == any_route && i / routes.count == 2) || (steps[kind].run == compared && i == 2);
    *wrong = complaint ? complaint : status ? touched() : wrong_product(gaps);
    return status;
}

const fault_steps_t fault_product_steps = {make_operands, count_steps, run_step};
