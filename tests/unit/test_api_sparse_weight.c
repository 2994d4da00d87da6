/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A sparse weight times events, C := W S: W given by rows or by columns, events of one column or some, of
 * numbers or bytes; which route finds itself, what it keeps of W, and what it computes. */
#include "unit_support.h"

#include <stdio.h>
#include <string.h>

enum { M = 1500, K = 1200, EACH = 30, N_MAX = 5, CALLS = 40 };

typedef struct weight {
    int64_t ptr[M + 1], idx[M * EACH], column_ptr[K + 1], column_idx[M * EACH];
    float val[M * EACH], column_val[M * EACH];
} weight_t;

typedef struct product {
    float s[K * N_MAX], c[M * N_MAX], want[M * N_MAX];
    uint8_t bytes[K * N_MAX];
    lac_obj_t w, events, out;
} product_t;

static weight_t w;
static product_t x;

static void make_weight(void)
{
    uint64_t random = 3;
    int64_t at[K];
    memset(&w, 0, sizeof w);
    for (int64_t i = 0; i <= M; i++) w.ptr[i] = i * EACH;
    for (int64_t e = 0; e < M * EACH; e++) {
        int64_t begin = e % EACH * K / EACH, end = (e % EACH + 1) * K / EACH;
        w.idx[e] = unit_between(&random, begin, end - 1);
        w.val[e] = (float)unit_between(&random, 1, 9);
        w.column_ptr[w.idx[e] + 1]++;
    }
    for (int64_t k = 0; k < K; k++) w.column_ptr[k + 1] += w.column_ptr[k];
    memcpy(at, w.column_ptr, sizeof at);
    for (int64_t e = 0; e < M * EACH; e++) {
        int64_t to = at[w.idx[e]]++;
        w.column_idx[to] = e / EACH, w.column_val[to] = w.val[e];
    }
}

/* Other events: one in `every` elements. */
static void fill(bool bytes, int64_t n, int every)
{
    memset(x.bytes, 0, sizeof x.bytes), memset(x.s, 0, sizeof x.s), memset(x.want, 0, sizeof x.want);
    for (int64_t e = 0; e < K * n; e++)
        if (e % every == 0) x.bytes[e] = (uint8_t)(1 + e % 200), x.s[e] = bytes ? 1.0f : (float)(1 + e % 3);
    for (int64_t e = 0; e < M * EACH; e++)
        for (int64_t j = 0; j < n; j++) x.want[e / EACH * n + j] += w.val[e] * x.s[w.idx[e] * n + j];
}

static void make(bool by_columns, bool frozen, bool bytes, int64_t n, int every)
{
    memset(&x, 0, sizeof x);
    fill(bytes, n, every);
    x.w = lac_obj_rowmajor(LAC_F32, M, K, NULL, K);
    unit_expect(lac_meta_create(&x.w.meta, M, K), LAC_OK, "meta");
    unit_expect(by_columns ? lac_meta_attach_csc(x.w.meta, LAC_I64, w.column_ptr, w.column_idx, w.column_val)
                           : lac_meta_attach_csr(x.w.meta, LAC_I64, w.ptr, w.idx, w.val),
                LAC_OK, "weight");
    if (frozen) unit_expect(lac_meta_freeze(x.w.meta), LAC_OK, "freeze");
    x.events = bytes ? lac_obj_rowmajor(LAC_U8, K, n, x.bytes, n) : lac_obj_rowmajor(LAC_F32, K, n, x.s, n);
    x.out = lac_obj_rowmajor(LAC_F32, M, n, x.c, n);
}

/* Sums of whole numbers: exact in any order. Returns how the last call was served. */
static lac_decision_t multiply(lac_ctx_t *ctx, const char *what)
{
    lac_decision_t last;
    lac_call_opts_t call = {.size = sizeof call, .decision = &last};
    for (int i = 0; i < CALLS; i++) {
        memset(x.c, 0xff, sizeof x.c);
        unit_expect(lac_gemm_ex(ctx, NULL, &x.w, &x.events, NULL, &x.out, &call), LAC_OK, what);
        if (memcmp(x.c, x.want, (size_t)(M * x.out.n) * sizeof(float)))
            fail_msg("%s: call %d by %s %s is wrong", what, i, last.route, last.side);
    }
    return last;
}

/* Few events: W's columns that they name, where these are given, or where W is frozen, from a copy; else W is
 * read by its rows, and nothing of it is kept. */
static void test_routes(void **state)
{
    (void)state;
    for (int way = 0; way < 16; way++) {
        bool by_columns = way & 1, frozen = way & 2, bytes = way & 4;
        lac_ctx_t *ctx = unit_ctx();
        char what[64];
        snprintf(what, sizeof what, "%s, %s, %s, %d columns", by_columns ? "CSC" : "CSR",
                 frozen ? "frozen" : "free", bytes ? "u8" : "f32", way & 8 ? N_MAX : 1);
        unit_expect(lac_ctx_set(ctx, "learn", "off"), LAC_OK, "learn"); /* the clock decides nothing here */
        make(by_columns, frozen, bytes, way & 8 ? N_MAX : 1, 97);
        size_t before = lac_meta_bytes(x.w.meta);
        lac_decision_t served = multiply(ctx, what);
        bool by_events = by_columns || frozen;
        if (strcmp(served.route, by_events ? "event" : "csr") ||
            strcmp(served.side, by_events ? "right" : "left"))
            fail_msg("%s: served by %s %s", what, served.route, served.side);
        size_t kept = lac_meta_bytes(x.w.meta) - before;
        if ((kept > 0) != (frozen && !by_columns)) fail_msg("%s: %zu bytes are kept", what, kept);
        lac_meta_free(x.w.meta);
        lac_ctx_free(ctx);
    }
}

/* Many events: W's rows, whichever way it is given; once there are few, its columns, and the other way
 * round. */
static void test_changes(void **state)
{
    (void)state;
    lac_ctx_t *ctx = unit_ctx();
    unit_expect(lac_ctx_set(ctx, "learn", "off"), LAC_OK, "learn");
    for (int every = 1; every <= 97; every += 96) {
        make(false, true, false, 1, every);
        lac_decision_t served = multiply(ctx, "a plain run");
        assert_string_equal(served.route, every == 1 ? "csr" : "event");
        lac_meta_free(x.w.meta);
        lac_ctx_free(ctx);
        ctx = unit_ctx();
        unit_expect(lac_ctx_set(ctx, "learn", "off"), LAC_OK, "learn");
    }
    make(false, true, false, 1, 1); /* and at one site, where events are looked for again now and then */
    assert_string_equal(multiply(ctx, "many").route, "csr");
    fill(false, 1, 97);
    for (int calls = 0; strcmp(multiply(ctx, "few").route, "event"); calls += CALLS)
        if (calls > 300) fail_msg("few events, and not found in %d calls", calls);
    fill(false, 1, 1);
    assert_string_equal(multiply(ctx, "many again").route, "csr");
    lac_meta_free(x.w.meta);
    lac_ctx_free(ctx);
}

/* What a forced route computes, with strides of any kind. */
static void test_strides(void **state)
{
    lac_decision_t last;
    lac_call_opts_t call = {.size = sizeof call, .decision = &last, .route = "csr"};
    static uint8_t apart[2 * K * (N_MAX + 2)];
    make(false, false, true, N_MAX, 7);
    for (int64_t k = 0; k < K; k++)
        for (int64_t j = 0; j < N_MAX; j++) apart[2 * (j * K + k)] = x.bytes[k * N_MAX + j];
    x.events.buf = apart, x.events.rs = 2, x.events.cs = 2 * K;
    unit_expect(lac_gemm_ex(*state, NULL, &x.w, &x.events, NULL, &x.out, &call), LAC_OK, "strides");
    assert_string_equal(last.route, "csr");
    assert_memory_equal(x.c, x.want, sizeof x.want);
    lac_meta_free(x.w.meta);
}

static int setup(void **state)
{
    make_weight();
    return unit_setup(state);
}

int main(void)
{
    unit_begin();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_routes), cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_strides)};
    return cmocka_run_group_tests(tests, setup, unit_teardown);
}
