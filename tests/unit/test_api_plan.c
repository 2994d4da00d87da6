/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Plans, decisions and declining: what is reported, what is kept, and what a plan does not accept. */
#include "unit_support.h"
#include "../route_names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { M = 8, K = 256, N = 128 };

typedef struct product {
    float a[M * K], b[K * N], c[M * N];
    lac_obj_t oa, ob, oc;
} product_t;

static product_t t;

static void make(int every)
{
    for (int i = 0; i < M * K; i++) t.a[i] = i % every ? 0.0f : (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) t.b[i] = (float)(i % 5 - 2);
    for (int i = 0; i < M * N; i++) t.c[i] = 1.0f;
    t.oa = lac_obj_rowmajor(LAC_F32, M, K, t.a, K);
    t.ob = lac_obj_rowmajor(LAC_F32, K, N, t.b, N);
    t.oc = lac_obj_rowmajor(LAC_F32, M, N, t.c, N);
}

static void expect_product(float alpha, float beta)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = beta * 1.0f;
            for (int k = 0; k < K; k++) sum += alpha * t.a[i * K + k] * t.b[k * N + j];
            if (t.c[i * N + j] != sum) fail_msg("wrong at %d, %d", i, j);
            t.c[i * N + j] = 1.0f;
        }
}

static lac_plan_t *plan_for(lac_ctx_t *ctx, const char *route)
{
    lac_plan_t *plan;
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    unit_expect(lac_plan_create(ctx, &plan, &t.oa, &t.ob, &t.oc, &call), LAC_OK, route ? route : "auto");
    return plan;
}

/* The route that was asked for serves, or was refused on every side. */
static void expect_obeyed(const lac_decision_t *decision, const char *route)
{
    bool served = strcmp(decision->route, route) == 0;
    for (int i = 0; i < decision->count; i++) {
        const lac_candidate_t *of = &decision->candidate[i];
        if (!served && !strcmp(of->route, route) && !of->refusal)
            fail_msg("%s was asked for and fits, and %s serves", route, decision->route);
    }
}

static void test_plan_runs(void **state)
{
    const route_names_t routes = host_route_names(0);
    float alpha = 2.0f, beta = -1.0f, zero = 0.0f;
    for (int r = 0; r < routes.count; r++) {
        lac_decision_t decision;
        make(29);
        lac_plan_t *plan = plan_for(*state, routes.name[r]);
        unit_expect(lac_plan_explain(plan, &decision), LAC_OK, "explain");
        if (r > 0) expect_obeyed(&decision, routes.name[r]);
        unit_expect(lac_plan_explain(plan, NULL), LAC_ERR_NULL, "decision");
        for (int i = 0; i < 3; i++) {
            unit_expect(lac_plan_run(plan, &alpha, &t.oa, &t.ob, &beta, &t.oc), LAC_OK, "run");
            expect_product(2.0f, -1.0f);
        }
        make(1); /* dense now: the plan stays, and is right */
        unit_expect(lac_plan_run(plan, &alpha, &t.oa, &t.ob, &beta, &t.oc), LAC_OK, "run on dense data");
        expect_product(2.0f, -1.0f);
        unit_expect(lac_plan_run(plan, &zero, &t.oa, &t.ob, &beta, &t.oc), LAC_OK, "alpha = 0");
        expect_product(0.0f, -1.0f);
        unit_expect(lac_plan_run(plan, NULL, &t.oa, &t.ob, NULL, &t.oc), LAC_OK, "no scalars");
        expect_product(1.0f, 0.0f);
        lac_plan_free(plan);
    }
}

static void test_plan_of_other_shapes(void **state)
{
    make(29);
    lac_plan_t *plan = plan_for(*state, "csr");
    lac_obj_t good[3] = {t.oa, t.ob, t.oc};
    for (int change = 0; change < 6; change++) {
        lac_obj_t x[3];
        memcpy(x, good, sizeof x);
        switch (change) {
        case 0:
            x[0].m--, x[2].m--;
            break;
        case 1:
            x[0].n--, x[1].m--;
            break;
        case 2:
            x[1].n--, x[2].n--;
            break;
        case 3:
            x[0].dt = LAC_U8;
            break;
        case 4:
            x[0].m = K, x[0].n = M, x[0].rs = 1, x[0].cs = K, x[0].trans = LAC_TRANS;
            x[0].rs = 1, x[0].cs = K; /* the same elements, described as transposed */
            break;
        default:
            x[2].m--, x[0].m--, x[2].rs = N + 1;
        }
        unit_expect(lac_plan_run(plan, NULL, &x[0], &x[1], NULL, &x[2]), LAC_ERR_EXTENT, "another shape");
        assert_true(t.c[0] == 1.0f && t.c[M * N - 1] == 1.0f);
    }
    unit_expect(lac_plan_run(plan, NULL, NULL, &t.ob, NULL, &t.oc), LAC_ERR_NULL, "a");
    lac_plan_free(plan);
}

static void expect_refused(lac_plan_t *plan, const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c,
                           int i)
{
    char what[16];
    snprintf(what, sizeof what, "difference %d", i);
    unit_expect(lac_plan_run(plan, NULL, a, b, NULL, c), LAC_ERR_EXTENT, what);
    unit_expect_text(lac_last_error(), "differ from the plan's");
}

/* One thing at a time is another than in the plan, of operands that would make a product. */
static void test_every_difference(void **state)
{
    enum { DIFFERENCES = 12 };
    static unsigned char bytes[2 * M * K + 2 * K * N];
    static float room[4 * M * N], wide_a[2 * M * K], wide_b[2 * K * N];
    make(29);
    lac_plan_t *plan = plan_for(*state, NULL);
    for (int i = 0; i < DIFFERENCES; i++) {
        lac_obj_t a = t.oa, b = t.ob, c = t.oc;
        if (i == 0) a.m = c.m = M - 1;
        if (i == 1) b.n = c.n = N - 1;
        if (i == 2) a.n = b.m = K - 1;
        if (i == 3) c.buf = room, c.rs = N + 1;
        if (i == 4) a.buf = wide_a, a.rs = K + 1;
        if (i == 5) b.buf = wide_b, b.rs = N + 1;
        if (i == 6) a.buf = bytes, a.dt = LAC_U8;
        if (i == 7) b.buf = bytes, b.dt = LAC_U8;
        if (i == 8) a.rs = 1, a.cs = M;
        if (i == 9) b.rs = 1, b.cs = K;
        if (i == 10) b.m = a.n = K / 2, b.rs = 2 * N;
        if (i == 11) c.buf = room, c.rs = 1, c.cs = M;
        expect_refused(plan, &a, &b, &c, i);
    }
    unit_expect(lac_plan_run(plan, NULL, &t.oa, &t.ob, NULL, &t.oc), LAC_OK, "the plan's own");
    expect_product(1.0f, 0.0f);
    lac_plan_free(plan);
    t.oa.buf = wide_a, t.ob.buf = wide_b, t.oc.buf = room;
    t.oa.rs = 2 * K, t.ob.rs = t.oc.rs = 2 * N; /* so that a step of 2 fits, too */
    plan = plan_for(*state, NULL);
    for (int i = 0; i < 3; i++) {
        lac_obj_t x[] = {t.oa, t.ob, t.oc};
        x[i].cs = 2;
        expect_refused(plan, &x[0], &x[1], &x[2], DIFFERENCES + i);
    }
    for (int i = 0; i < 4 * M * N; i++) assert_true(room[i] == 0.0f);
    lac_plan_free(plan);
}

/* The route is kept only where it is legal: a sparse-only W, a touched format. */
static void test_plan_falls_back(void **state)
{
    static const int32_t active[] = {1, 3, 200};
    static float val[3 * M];
    lac_meta_t *meta;
    for (int i = 0; i < 3 * M; i++) val[i] = (float)(i % 4);
    make(29);
    unit_expect(lac_meta_create(&meta, M, K), LAC_OK, "create");
    unit_expect(lac_meta_attach_active(meta, 3, active, val), LAC_OK, "active");
    t.oa.meta = meta;
    t.oa.buf = NULL;
    lac_plan_t *plan = plan_for(*state, "event");
    memset(t.a, 0, sizeof t.a);
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < M; i++) t.a[i * K + active[p]] = val[p * M + i];
    unit_expect(lac_plan_run(plan, NULL, &t.oa, &t.ob, NULL, &t.oc), LAC_OK, "run");
    expect_product(1.0f, 0.0f);
    unit_expect(lac_ctx_set(*state, "nan", "strict"), LAC_OK, "strict"); /* event is not legal any more */
    unit_expect(lac_plan_run(plan, NULL, &t.oa, &t.ob, NULL, &t.oc), LAC_OK, "run strict");
    expect_product(1.0f, 0.0f);
    unit_expect(lac_ctx_set(*state, "nan", "fast"), LAC_OK, "fast");
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    unit_expect(lac_plan_run(plan, NULL, &t.oa, &t.ob, NULL, &t.oc), LAC_ERR_STALE, "touched");
    assert_true(t.c[0] == 1.0f);
    t.oa.buf = t.a; /* a buffer again: the route serves without its format */
    unit_expect(lac_plan_run(plan, NULL, &t.oa, &t.ob, NULL, &t.oc), LAC_OK, "a buffer again");
    expect_product(1.0f, 0.0f);
    lac_plan_free(plan);
    lac_meta_free(meta);
}

static void test_explain_writes_nothing(void **state)
{
    lac_decision_t decision;
    make(29);
    unit_expect(lac_explain(*state, NULL, &t.oa, &t.ob, NULL, &t.oc, NULL, &decision), LAC_OK, "explain");
    for (int i = 0; i < M * N; i++) assert_true(t.c[i] == 1.0f);
    assert_true(decision.count >= 8);
    bool chosen = false;
    for (int i = 0; i < decision.count; i++) { /* each candidate has a cost or a reason */
        const lac_candidate_t *x = &decision.candidate[i];
        assert_true((x->refusal != NULL) == (x->cost_us < 0));
        chosen |= !strcmp(x->route, decision.route) && !strcmp(x->side, decision.side) && !x->refusal;
    }
    assert_true(chosen && decision.reason[0] && decision.known[0]);
}

static void test_decline(void **state)
{
    make(1);
    lac_call_opts_t call = {.size = sizeof call, .may_decline = 1, .route = "blas"};
    unit_expect(lac_gemm_ex(*state, NULL, &t.oa, &t.ob, NULL, &t.oc, &call), LAC_OK, "dense");
    assert_int_equal(call.declined, 1);
    assert_true(t.c[0] == 1.0f); /* untouched */
    call.route = "csr";
    unit_expect(lac_gemm_ex(*state, NULL, &t.oa, &t.ob, NULL, &t.oc, &call), LAC_OK, "csr");
    assert_int_equal(call.declined, 0);
    expect_product(1.0f, 0.0f);
    call.may_decline = 0;
    call.route = "blas";
    call.declined = 7;
    unit_expect(lac_gemm_ex(*state, NULL, &t.oa, &t.ob, NULL, &t.oc, &call), LAC_OK, "not asked");
    assert_int_equal(call.declined, 0);
    expect_product(1.0f, 0.0f);
}

/* Scalars on a device belong to a context there; a caller of an older, shorter structure is still answered.
 */
static void test_scalars_elsewhere(void **state)
{
    const float one = 1.0f;
    make(1);
    lac_plan_t *plan;
    lac_call_opts_t call = {.size = sizeof call, .scalars = LAC_DEVICE};
    unit_expect(lac_gemm_ex(*state, &one, &t.oa, &t.ob, &one, &t.oc, &call), LAC_ERR_SPACE, "host context");
    unit_expect_text(lac_last_error(), "call.scalars");
    unit_expect(lac_plan_create(*state, &plan, &t.oa, &t.ob, &t.oc, &call), LAC_ERR_SPACE, "host plan");
    unit_expect_text(lac_last_error(), "call.scalars");
    call.scalars = (lac_space_t)-1;
    unit_expect(lac_gemm_ex(*state, &one, &t.oa, &t.ob, &one, &t.oc, &call), LAC_ERR_VALUE, "no space");
    unit_expect_text(lac_last_error(), "call.scalars");
    unit_expect(lac_plan_create(*state, &plan, &t.oa, &t.ob, &t.oc, &call), LAC_ERR_VALUE, "no space");
    unit_expect_text(lac_last_error(), "call.scalars");
    assert_null(plan);
    assert_true(t.c[0] == 1.0f); /* untouched */
    lac_call_opts_t shorter = {.size = offsetof(lac_call_opts_t, scalars), .may_decline = 1, .route = "blas"};
    unit_expect(lac_gemm_ex(*state, NULL, &t.oa, &t.ob, NULL, &t.oc, &shorter), LAC_OK, "shorter");
    assert_int_equal(shorter.declined, 1);
}

/* A format that was derived from a buffer stands for it later, each of them. */
static void test_sparse_only_by_derived_formats(void **state)
{
    float w[4 * 70], x[70], y[4], want[4];
    for (int i = 0; i < 4 * 70; i++) w[i] = i % 3 ? 0.0f : (float)(i % 11);
    for (int transposed = 0; transposed < 2; transposed++) {
        lac_meta_t *meta;
        lac_obj_t a =
            transposed ? lac_obj_colmajor(LAC_F32, 70, 4, w, 70) : lac_obj_rowmajor(LAC_F32, 4, 70, w, 70);
        lac_obj_t b = lac_obj_rowmajor(LAC_F32, 70, 1, x, 1), c = lac_obj_rowmajor(LAC_F32, 4, 1, y, 1);
        lac_decision_t decision;
        lac_call_opts_t call = {.size = sizeof call, .route = "bitmask", .decision = &decision};
        if (transposed) a.trans = LAC_TRANS;
        for (int i = 0; i < 70; i++) x[i] = (float)(i % 3);
        unit_expect(lac_meta_create(&meta, a.m, a.n), LAC_OK, "create");
        a.meta = meta;
        unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze");
        unit_expect(lac_meta_scan(*state, &a, LAC_META_DENSITY), LAC_OK, "scan");
        unit_expect(lac_gemm_ex(*state, NULL, &a, &b, NULL, &c, &call), LAC_OK, "bitmask");
        assert_string_equal(decision.route, "bitmask");
        memcpy(want, y, sizeof want);
        a.buf = NULL;
        call.route = "native";
        unit_expect(lac_gemm_ex(*state, NULL, &a, &b, NULL, &c, &call), LAC_OK, "without the buffer");
        for (int i = 0; i < 4; i++) assert_true(y[i] == want[i]);
        lac_meta_free(meta);
    }
}

/* A dense product of sparse-only operands whose dense formats no memory holds: a status, not a crash. */
static void test_no_memory(void **state)
{
    static const int64_t extents[][2] = {
        {INT32_MAX, INT32_MAX}, {1920767766, 1920767766}, {1 << 30, INT64_C(1) << 33}};
    static const int32_t idx[1] = {5};
    float out = 1.0f;
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        size_t bytes = sizeof(float) * (size_t)extents[i][0];
        void *row =
            mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); /* untouched */
        assert_true(row != MAP_FAILED);
        lac_meta_t *tall;
        unit_expect(lac_meta_create(&tall, extents[i][0], extents[i][1]), LAC_OK, "tall");
        unit_expect(lac_meta_attach_active(tall, 0, idx, NULL), LAC_OK, "active");
        lac_obj_t a = {LAC_F32, LAC_HOST, LAC_NO_TRANS, 1, extents[i][0], extents[i][0], 1, row, NULL};
        lac_obj_t b = {LAC_F32, LAC_HOST, LAC_NO_TRANS, extents[i][0], extents[i][1], 1, 1, NULL, tall};
        lac_obj_t c = {LAC_F32, LAC_HOST, LAC_NO_TRANS, 1, extents[i][1], extents[i][1], 1, &out, NULL};
        lac_call_opts_t call = {.size = sizeof call, .route = "native"};
        unit_expect(lac_gemm_ex(*state, NULL, &a, &b, NULL, &c, &call), LAC_ERR_MEMORY, "no memory");
        assert_true(lac_last_error()[0] && out == 1.0f);
        lac_meta_free(tall);
        munmap(row, bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plan_runs),
                                       cmocka_unit_test(test_plan_of_other_shapes),
                                       cmocka_unit_test(test_every_difference),
                                       cmocka_unit_test(test_plan_falls_back),
                                       cmocka_unit_test(test_explain_writes_nothing),
                                       cmocka_unit_test(test_decline),
                                       cmocka_unit_test(test_scalars_elsewhere),
                                       cmocka_unit_test(test_sparse_only_by_derived_formats),
                                       cmocka_unit_test(test_no_memory)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
