/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Layers: bias and activations on any layout, the formats of what was written, layers that take each other's
 * outputs, bad input. Values are small whole numbers, so that every order of summation gives the same. */
#include "unit_support.h"
#include "../route_names.h"

#include <math.h>
#include <string.h>

enum {
    MOST = 40,
    ROOM = 2 * MOST * (MOST + 2),
    ALL = LAC_META_DENSITY | LAC_META_CSR | LAC_META_CSC | LAC_META_BITMASK | LAC_META_ACTIVE
};

static uint64_t seed = 91;

static void fill(float *x, int64_t count, int64_t one_in)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = unit_between(&seed, 1, one_in) == 1 ? (float)unit_between(&seed, -4, 4) : 0.0f;
}

static float activated(float x, lac_act_t act, float threshold)
{
    return act == LAC_ACT_RELU        ? (x > 0 ? x : 0)
           : act == LAC_ACT_THRESHOLD ? (x > threshold ? x : 0)
           : act == LAC_ACT_MAGNITUDE ? (fabsf(x) > threshold ? x : 0)
                                      : x;
}

typedef struct layer {
    int64_t m, n, k;
    float a[ROOM], b[ROOM], c[ROOM], want[ROOM], bias[MOST];
    lac_obj_t A, B, C;
    lac_epilogue_t e;
} layer_t;

static void make(layer_t *x, int layout)
{
    memset(x, 0, sizeof *x);
    x->m = unit_between(&seed, 1, MOST), x->n = unit_between(&seed, 1, MOST),
    x->k = unit_between(&seed, 1, MOST);
    fill(x->a, x->m * x->k, 4), fill(x->b, x->k * x->n, 1), fill(x->bias, MOST, 1), fill(x->c, ROOM, 1);
    x->A = lac_obj_rowmajor(LAC_F32, x->m, x->k, x->a, x->k);
    x->B = lac_obj_rowmajor(LAC_F32, x->k, x->n, x->b, x->n);
    x->C = lac_obj_rowmajor(LAC_F32, x->m, x->n, x->c, x->n + 1);
    if (layout == 1) x->C = lac_obj_colmajor(LAC_F32, x->m, x->n, x->c, x->m + 2);
    if (layout == 2) x->C.rs = 2, x->C.cs = 2 * x->m + 1;
    if (layout == 3) { /* what is stored is the transpose */
        x->C = lac_obj_rowmajor(LAC_F32, x->n, x->m, x->c, x->m);
        x->C.trans = LAC_TRANS;
    }
    x->e.size = sizeof x->e;
}

static int64_t place(const layer_t *x, int64_t i, int64_t j)
{
    bool transposed = x->C.trans == LAC_TRANS;
    return i * (transposed ? x->C.cs : x->C.rs) + j * (transposed ? x->C.rs : x->C.cs);
}

static void expected(layer_t *x, float alpha, float beta)
{
    memcpy(x->want, x->c, sizeof x->want);
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            float sum = 0, *at = x->want + place(x, i, j);
            for (int64_t k = 0; k < x->k; k++) sum += x->a[i * x->k + k] * x->b[k * x->n + j];
            sum = alpha * sum + beta * *at + (x->e.bias ? x->bias[x->e.bias_per_row ? i : j] : 0.0f);
            *at = activated(sum, x->e.act, (float)x->e.threshold);
        }
}

static void test_activations(void **state)
{
    static layer_t x;
    for (int round = 0; round < (unit_quick() ? 24 : 240); round++) {
        const float alpha = (float)unit_between(&seed, -2, 2), beta = (float)unit_between(&seed, 0, 1);
        make(&x, round % 4);
        x.e.act = (lac_act_t)(round / 4 % 4);
        x.e.threshold = (float)unit_between(&seed, x.e.act == LAC_ACT_MAGNITUDE ? 0 : -3, 5);
        x.e.bias = unit_between(&seed, 0, 2) ? x.bias : NULL;
        x.e.bias_per_row = (int)unit_between(&seed, 0, 1);
        expected(&x, alpha, beta);
        unit_expect(lac_gemm_epilogue(*state, &alpha, &x.A, &x.B, &beta, &x.C, &x.e, NULL), LAC_OK, "layer");
        for (int i = 0; i < ROOM; i++) /* elements, and what lies between them */
            if (x.c[i] != x.want[i])
                fail_msg("round %d: element %d: %g, not %g", round, i, x.c[i], x.want[i]);
    }
}

/* No epilogue is a product; NaN passes every activation; infinities are numbers. */
static void test_specials(void **state)
{
    static const float values[] = {NAN, INFINITY, -INFINITY, 0.0f, 2.0f};
    enum { COUNT = sizeof values / sizeof *values };
    float one = 1.0f, c[COUNT], input[COUNT];
    lac_obj_t A = lac_obj_rowmajor(LAC_F32, 1, 1, &one, 1),
              B = lac_obj_rowmajor(LAC_F32, 1, COUNT, input, COUNT),
              C = lac_obj_rowmajor(LAC_F32, 1, COUNT, c, COUNT);
    memcpy(input, values, sizeof input);
    for (int act = LAC_ACT_NONE; act <= LAC_ACT_MAGNITUDE; act++) {
        lac_epilogue_t e = {.size = sizeof e, .act = (lac_act_t)act, .threshold = 2.0f};
        unit_expect(lac_gemm_epilogue(*state, NULL, &A, &B, NULL, &C, act ? &e : NULL, NULL), LAC_OK,
                    "layer");
        assert_true(isnan(c[0]));
        for (int i = 1; i < COUNT; i++) assert_true(c[i] == activated(values[i], e.act, 2.0f));
    }
}

/* The formats are those of what was written: measured again of a copy, they are the same. */
static void test_formats(void **state)
{
    static const unsigned bits[] = {LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK, LAC_META_ACTIVE};
    static layer_t x;
    for (int round = 0; round < 12; round++) {
        make(&x, round % 4);
        lac_obj_t copy = x.C;
        x.e.act = LAC_ACT_RELU, x.e.formats = round < 4 ? LAC_META_DENSITY : ALL;
        unit_expect(lac_meta_create(&x.C.meta, x.C.m, x.C.n), LAC_OK, "meta");
        unit_expect(lac_meta_create(&copy.meta, x.C.m, x.C.n), LAC_OK, "meta");
        for (int again = 0; again < 2; again++) { /* the second layer's formats replace the first one's */
            fill(x.a, x.m * x.k, 2 + 6 * again);
            unit_expect(lac_gemm_epilogue(*state, NULL, &x.A, &x.B, NULL, &x.C, &x.e, NULL), LAC_OK, "layer");
        }
        unit_expect(lac_meta_scan(*state, &copy, ALL), LAC_OK, "scan");
        unit_expect(lac_meta_freeze(copy.meta), LAC_OK, "freeze");
        assert_true(lac_meta_density(x.C.meta) == lac_meta_density(copy.meta));
        for (int f = 0; f < 4; f++) {
            lac_format_view_t got, want;
            lac_status_t status = lac_meta_view(x.C.meta, bits[f], &got);
            unit_expect(status, round < 4 ? LAC_ERR_EMPTY : LAC_OK, "view");
            unit_expect(lac_meta_view(copy.meta, bits[f], &want), LAC_OK, "view");
            if (status) continue;
            int64_t values = bits[f] == LAC_META_ACTIVE ? want.count * x.C.m : want.count;
            assert_int_equal(got.count, want.count);
            assert_memory_equal(got.val, want.val, (size_t)values * sizeof(float));
            if (want.idx) assert_memory_equal(got.idx, want.idx, (size_t)want.count * sizeof(int32_t));
        }
        unit_expect(lac_meta_touch(x.C.meta), LAC_OK, "touch");
        assert_int_equal(lac_meta_view(x.C.meta, LAC_META_CSR, &(lac_format_view_t){0}), LAC_ERR_EMPTY);
        lac_meta_free(x.C.meta), lac_meta_free(copy.meta);
    }
}

/* Three layers, each the sparse operand of the next, by every route that takes it: what products and
 * activations alone give. */
static void test_chain(void **state)
{
    enum { N = 32, DEEP = 3 };
    const route_names_t routes = host_route_names(0);
    static float x[DEEP + 1][N * N], w[DEEP][N * N], want[N * N];
    for (int r = 0; r < routes.count; r++) {
        lac_obj_t o[DEEP + 1], v[DEEP];
        lac_decision_t decision;
        lac_call_opts_t call = {.size = sizeof call, .route = routes.name[r], .decision = &decision};
        lac_epilogue_t e = {
            .size = sizeof e, .act = LAC_ACT_RELU, .formats = LAC_META_CSR | LAC_META_BITMASK};
        fill(x[0], N * N, 9);
        for (int l = 0; l <= DEEP; l++) {
            o[l] = lac_obj_rowmajor(LAC_F32, N, N, x[l], N);
            unit_expect(lac_meta_create(&o[l].meta, N, N), LAC_OK, "meta");
        }
        for (int l = 0; l < DEEP; l++) {
            fill(w[l], N * N, 6);
            v[l] = lac_obj_rowmajor(LAC_F32, N, N, w[l], N);
            unit_expect(lac_gemm_epilogue(*state, NULL, &o[l], &v[l], NULL, &o[l + 1], &e, &call), LAC_OK,
                        "layer");
            if (l && decision.side[0] == 'l') assert_string_equal(decision.known, "attached");
            for (int i = 0; i < N * N; i++) {
                want[i] = 0;
                for (int k = 0; k < N; k++) want[i] += x[l][i / N * N + k] * w[l][k * N + i % N];
                assert_true(x[l + 1][i] == (want[i] > 0 ? want[i] : 0));
            }
        }
        for (int l = 0; l <= DEEP; l++) lac_meta_free(o[l].meta);
    }
}

static lac_status_t refused(void *ctx, const layer_t *x, const lac_epilogue_t *e)
{
    return lac_gemm_epilogue(ctx, NULL, &x->A, &x->B, NULL, &x->C, e, NULL);
}

static void test_bad_input(void **state)
{
    static layer_t x, before;
    make(&x, 0);
    x.e.act = LAC_ACT_RELU;
    unit_expect(lac_meta_create(&x.C.meta, x.m, x.n), LAC_OK, "meta");
    unit_expect(lac_meta_create(&x.A.meta, x.m, x.k), LAC_OK, "meta");
    before = x;
    const uint64_t generation = lac_meta_generation(x.C.meta);
    lac_epilogue_t e = x.e;
    e.size = 8;
    unit_expect(refused(*state, &x, &e), LAC_ERR_VALUE, "size");
    e = x.e, e.act = (lac_act_t)9;
    unit_expect(refused(*state, &x, &e), LAC_ERR_VALUE, "act");
    e = x.e, e.act = LAC_ACT_THRESHOLD, e.threshold = NAN;
    unit_expect(refused(*state, &x, &e), LAC_ERR_VALUE, "threshold");
    e.act = LAC_ACT_MAGNITUDE, e.threshold = -1.0f;
    unit_expect(refused(*state, &x, &e), LAC_ERR_VALUE, "magnitude");
    e = x.e, e.formats = 0x100;
    unit_expect(refused(*state, &x, &e), LAC_ERR_VALUE, "formats");
    e = x.e, e.bias = x.c;
    unit_expect(refused(*state, &x, &e), LAC_ERR_ALIAS, "bias");
    unit_expect(refused(NULL, &x, &x.e), LAC_ERR_NULL, "ctx");
    e = x.e, e.formats = LAC_META_CSR;
    lac_meta_t *meta = x.C.meta;
    x.C.meta = NULL;
    unit_expect(refused(*state, &x, &e), LAC_ERR_NULL, "no metadata");
    x.C.meta = meta;
    lac_obj_t square = lac_obj_rowmajor(LAC_F32, 1, 1, x.a, 1), out = lac_obj_rowmajor(LAC_F32, 1, 1, x.c, 1);
    unit_expect(lac_meta_create(&square.meta, 1, 1), LAC_OK, "meta");
    out.meta = square.meta;
    unit_expect(lac_gemm_epilogue(*state, NULL, &square, &square, NULL, &out, NULL, NULL), LAC_ERR_ALIAS,
                "shared");
    assert_memory_equal(x.c, before.c, sizeof x.c);
    assert_true(lac_meta_generation(meta) == generation);
    lac_meta_free(meta), lac_meta_free(before.A.meta), lac_meta_free(square.meta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_activations), cmocka_unit_test(test_specials),
                                       cmocka_unit_test(test_formats), cmocka_unit_test(test_chain),
                                       cmocka_unit_test(test_bad_input)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
