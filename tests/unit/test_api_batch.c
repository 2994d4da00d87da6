/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Batched products against plain loops in double: strides, shared operands, what is laid together, views of
 * their own, metadata, bad input. */
#include "unit_support.h"

#include "lacuna/batch.h"

#include <math.h>
#include <string.h>

enum { MOST = 7, COUNT = 6, ROOM = 4 * COUNT * (MOST + 2) * (MOST + 2) };

static uint64_t seed = 31;

/* A batch of op(X), rows x cols each. */
typedef struct side {
    lac_obj_t first;
    lac_inc_t stride;
    float f32[ROOM];
    uint8_t u8[ROOM];
} side_t;

static float value(void)
{
    return unit_between(&seed, 0, 2) ? (float)unit_between(&seed, -16, 16) / 8.0f : 0.0f;
}

/* layout 0: one after the other; 1: by columns; 2: padded; 3: trials side by side, row by row. */
static void make(side_t *x, int64_t rows, int64_t cols, int64_t count, int layout, bool transposed,
                 bool shared, bool events)
{
    int64_t m = transposed ? cols : rows, n = transposed ? rows : cols;
    lac_obj_t *o = &x->first;
    *o = lac_obj_rowmajor(events ? LAC_U8 : LAC_F32, m, n, events ? (void *)x->u8 : (void *)x->f32, n);
    o->trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    x->stride = m * n;
    if (layout == 1) o->rs = 1, o->cs = m;
    if (layout == 2) o->rs = n + 1, x->stride = m * (n + 1) + 3;
    if (layout == 3) o->rs = n * count, x->stride = n;
    if (shared) x->stride = 0;
    for (int p = 0; p < ROOM; p++) {
        x->f32[p] = value();
        x->u8[p] = x->f32[p] != 0.0f ? (uint8_t)(1 + p % 200) : 0;
    }
}

static double at(const side_t *x, int64_t q, int64_t r, int64_t c)
{
    const lac_obj_t *o = &x->first;
    int64_t p = q * x->stride + (o->trans == LAC_TRANS ? c * o->rs + r * o->cs : r * o->rs + c * o->cs);
    return o->dt == LAC_U8 ? (x->u8[p] ? 1.0 : 0.0) : (double)x->f32[p];
}

static side_t a, b, c, before;

static void check(int64_t count, int64_t m, int64_t n, int64_t k, float alpha, float beta, const char *what)
{
    for (int64_t q = 0; q < count; q++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0.0;
                for (int64_t l = 0; l < k; l++) sum += at(&a, q, i, l) * at(&b, q, l, j);
                double want =
                    (double)alpha * sum + (beta == 0.0f ? 0.0 : (double)beta * at(&before, q, i, j));
                double got = at(&c, q, i, j);
                if (!(fabs(got - want) <= 1e-5 * (1.0 + fabs(want))))
                    fail_msg("%s: %ld of %ld, %ld x %ld x %ld, element %ld, %ld: %g, expected %g", what,
                             (long)q, (long)count, (long)m, (long)n, (long)k, (long)i, (long)j, got, want);
            }
}

static void test_random(void **state)
{
    for (int round = 0; round < (unit_quick() ? 100 : 2000); round++) {
        int64_t count = unit_between(&seed, 1, COUNT), m = unit_between(&seed, 1, MOST),
                n = unit_between(&seed, 1, MOST), k = unit_between(&seed, 0, MOST);
        float alpha = unit_between(&seed, 0, 3) ? 1.5f : 0.0f,
              beta = unit_between(&seed, 0, 1) ? -0.5f : 0.0f;
        make(&a, m, k, count, (int)unit_between(&seed, 0, 3), unit_random(&seed) & 1,
             unit_between(&seed, 0, 2) == 0, unit_between(&seed, 0, 3) == 0);
        make(&b, k, n, count, (int)unit_between(&seed, 0, 3), unit_random(&seed) & 1,
             unit_between(&seed, 0, 2) == 0, unit_between(&seed, 0, 3) == 0);
        make(&c, m, n, count, (int)unit_between(&seed, 0, 3), unit_random(&seed) & 1, false, false);
        before = c;
        unit_expect(lac_gemm_batched(*state, count, &alpha, &a.first, a.stride, &b.first, b.stride, &beta,
                                     &c.first, c.stride),
                    LAC_OK, "batched");
        check(count, m, n, k, alpha, beta, "strided");
        lac_obj_t va[COUNT], vb[COUNT], vc[COUNT];
        memcpy(c.f32, before.f32, sizeof c.f32);
        for (int64_t q = 0; q < count; q++) {
            va[q] = a.first, vb[q] = b.first, vc[q] = c.first;
            va[q].buf = (char *)va[q].buf + q * a.stride * (va[q].dt == LAC_U8 ? 1 : 4);
            vb[q].buf = (char *)vb[q].buf + q * b.stride * (vb[q].dt == LAC_U8 ? 1 : 4);
            vc[q].buf = c.f32 + q * c.stride;
        }
        unit_expect(
            lac_gemm_batched_array(*state, count, &alpha, va, a.stride != 0, vb, b.stride != 0, &beta, vc),
            LAC_OK, "array");
        check(count, m, n, k, alpha, beta, "array");
    }
}

/* One sparse-only operand for all, on either side; and one each, with metadata of its own. */
static void test_metadata(void **state)
{
    static const int32_t ptr[] = {0, 2, 2, 3}, idx[] = {0, 3, 1};
    static const float val[] = {2.0f, -1.0f, 0.5f};
    lac_obj_t sparse = lac_obj_rowmajor(LAC_F32, 3, 4, NULL, 4);
    unit_expect(lac_meta_create(&sparse.meta, 3, 4), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(sparse.meta, LAC_I32, ptr, idx, val), LAC_OK, "attach");
    make(&a, 3, 4, 1, 0, false, true, false);
    memset(a.f32, 0, sizeof a.f32);
    a.f32[0] = 2.0f, a.f32[3] = -1.0f, a.f32[9] = 0.5f;
    for (int layout = 0; layout < 4; layout++) {
        make(&b, 4, 5, COUNT, layout, false, false, false);
        make(&c, 3, 5, COUNT, layout, false, false, false);
        unit_expect(
            lac_gemm_batched(*state, COUNT, NULL, &sparse, 0, &b.first, b.stride, NULL, &c.first, c.stride),
            LAC_OK, "sparse a for all");
        check(COUNT, 3, 5, 4, 1.0f, 0.0f, "sparse a for all");
    }
    lac_obj_t views[COUNT], outs[COUNT], rights[COUNT];
    for (int q = 0; q < COUNT; q++) {
        views[q] = sparse, rights[q] = b.first, outs[q] = c.first;
        rights[q].buf = b.f32 + q * b.stride, outs[q].buf = c.f32 + q * c.stride;
    }
    unit_expect(lac_gemm_batched_array(*state, COUNT, NULL, views, 1, rights, 1, NULL, outs), LAC_OK,
                "each its own");
    check(COUNT, 3, 5, 4, 1.0f, 0.0f, "each its own");
    lac_obj_t without = sparse;
    unit_expect(lac_gemm_batched(*state, 2, NULL, &without, 12, &b.first, b.stride, NULL, &c.first, c.stride),
                LAC_ERR_EMPTY, "sparse only, and a stride");
    unit_expect_text(lac_last_error(), "a.buf");
    lac_meta_free(sparse.meta);
}

static void refuse(lac_status_t got, lac_status_t want, const char *word)
{
    unit_expect(got, want, word);
    unit_expect_text(lac_last_error(), word);
    assert_memory_equal(c.f32, before.f32, sizeof c.f32);
}

static void test_bad_input(void **state)
{
    lac_ctx_t *ctx = *state;
    make(&a, 3, 4, 2, 0, false, false, false);
    make(&b, 4, 5, 2, 0, false, false, false);
    make(&c, 3, 5, 2, 0, false, false, false);
    before = c;
    const lac_obj_t *oa = &a.first, *ob = &b.first, *oc = &c.first;
    lac_obj_t bad = *oc;
    refuse(lac_gemm_batched(NULL, 2, NULL, oa, 12, ob, 20, NULL, oc, 15), LAC_ERR_NULL, "ctx");
    refuse(lac_gemm_batched(ctx, -1, NULL, oa, 12, ob, 20, NULL, oc, 15), LAC_ERR_EXTENT, "count");
    refuse(lac_gemm_batched(ctx, 2, NULL, NULL, 12, ob, 20, NULL, oc, 15), LAC_ERR_NULL, "a: ");
    refuse(lac_gemm_batched(ctx, 2, NULL, oa, 12, oa, 20, NULL, oc, 15), LAC_ERR_EXTENT, "b");
    refuse(lac_gemm_batched(ctx, 2, NULL, oa, 12, ob, 20, NULL, oc, 14), LAC_ERR_STRIDE, "stride_c");
    refuse(lac_gemm_batched(ctx, 2, NULL, oa, 12, ob, 20, NULL, oc, 0), LAC_ERR_STRIDE, "stride_c");
    refuse(lac_gemm_batched(ctx, 3, NULL, oa, INT64_MAX / 2, ob, 20, NULL, oc, 15), LAC_ERR_EXTENT,
           "stride_a");
    bad.buf = a.f32 + 12;
    refuse(lac_gemm_batched(ctx, 2, NULL, oa, 12, ob, 20, NULL, &bad, 15), LAC_ERR_ALIAS, "overlaps a");
    bad.buf = b.f32 + 21;
    refuse(lac_gemm_batched(ctx, 2, NULL, oa, 12, ob, 20, NULL, &bad, 15), LAC_ERR_ALIAS, "overlaps b");
    unit_expect(lac_gemm_batched(ctx, 0, NULL, oa, 12, ob, 20, NULL, oc, 15), LAC_OK, "none");
    lac_obj_t va[2] = {*oa, *oa}, vb[2] = {*ob, *ob}, vc[2] = {*oc, *oc};
    vc[1].buf = c.f32 + 15;
    refuse(lac_gemm_batched_array(NULL, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_NULL, "ctx");
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 2, vb, 1, NULL, vc), LAC_ERR_VALUE, "step_a");
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, -1, NULL, vc), LAC_ERR_VALUE, "step_b");
    va[1].m = 2;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_EXTENT, "a[1]");
    va[1].m = 3, vb[1].n = 4;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_EXTENT, "b[1]");
    vb[1].n = 5, vc[1].dt = LAC_U8;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_TYPE, "c[1]");
    vc[1].dt = LAC_F32, vc[1].buf = b.f32 + 3;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_ALIAS,
           "c[1]: overlaps b[1]");
    unit_expect(lac_gemm_batched_array(ctx, 0, NULL, NULL, 0, NULL, 0, NULL, NULL), LAC_OK, "none");
}

/* Views of an array, one of which is not as the first. */
static void test_bad_views(void **state)
{
    lac_ctx_t *ctx = *state;
    make(&a, 3, 4, 2, 0, false, false, false);
    make(&b, 4, 5, 2, 0, false, false, false);
    make(&c, 3, 5, 2, 0, false, false, false);
    before = c;
    const lac_obj_t one_a = a.first, one_b = b.first, one_c = c.first;
    lac_obj_t va[2] = {one_a, one_a}, vb[2] = {one_b, one_b}, vc[2] = {one_c, one_c};
    vc[1].buf = c.f32 + 15;
    va[0].m = -1;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_EXTENT, "a");
    va[0] = one_a, va[1].dt = (lac_dt_t)9;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_TYPE, "a[1]");
    va[1] = one_a, va[1].n = 3;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_EXTENT,
           "a[1]: is not of the shape");
    va[1] = one_a, vb[1].n = -5;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_EXTENT, "b[1]");
    vb[1] = one_b, vb[1].m = 3;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_EXTENT,
           "b[1]: is not of the shape");
    vb[1] = one_b, vc[1].m = 2;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_EXTENT,
           "c[1]: is not of the shape");
    vc[1].m = 3, vc[1].n = 4;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_EXTENT,
           "c[1]: is not of the shape");
    vc[1].n = 5, vc[1].buf = a.f32 + 2;
    refuse(lac_gemm_batched_array(ctx, 2, NULL, va, 1, vb, 1, NULL, vc), LAC_ERR_ALIAS,
           "c[1]: overlaps a[1]");
}

static void test_strides_past_the_address_space(void **state)
{
    lac_ctx_t *ctx = *state;
    make(&a, 3, 4, 2, 0, false, false, false);
    make(&b, 4, 5, 2, 0, false, false, false);
    make(&c, 3, 5, 2, 0, false, false, false);
    before = c;
    const lac_obj_t *oa = &a.first, *ob = &b.first, *oc = &c.first;
    static const lac_inc_t far[] = {INT64_MAX / 2, PTRDIFF_MAX / 8 + 1, -(PTRDIFF_MAX / 8) - 1, INT64_MIN};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        lac_dim_t count = i ? 2 : 4;
        refuse(lac_gemm_batched(ctx, count, NULL, oa, far[i], ob, 20, NULL, oc, 15), LAC_ERR_EXTENT,
               "stride_a");
        refuse(lac_gemm_batched(ctx, count, NULL, oa, 12, ob, far[i], NULL, oc, 15), LAC_ERR_EXTENT,
               "stride_b");
        refuse(lac_gemm_batched(ctx, count, NULL, oa, 12, ob, 20, NULL, oc, far[i]), LAC_ERR_EXTENT,
               "stride_c");
    }
    lac_obj_t none = *oa, nothing = *ob;
    none.m = 0, none.buf = NULL; /* needs no buffer under its stride */
    nothing.n = 0, nothing.buf = NULL;
    lac_obj_t out = *oc, narrow = *oc;
    out.m = 0, narrow.n = 0;
    unit_expect(lac_gemm_batched(ctx, 2, NULL, &none, 12, ob, 20, NULL, &out, 15), LAC_OK, "no rows");
    unit_expect(lac_gemm_batched(ctx, 2, NULL, oa, 12, &nothing, 20, NULL, &narrow, 15), LAC_OK,
                "no columns");
    assert_memory_equal(c.f32, before.f32, sizeof c.f32);
}

/* From the last matrix to the first. */
static void test_strides_that_go_back(void **state)
{
    make(&a, 3, 4, COUNT, 0, false, false, false);
    make(&b, 4, 5, COUNT, 0, false, false, false);
    make(&c, 3, 5, COUNT, 0, false, false, false);
    lac_obj_t oa = a.first, ob = b.first, oc = c.first;
    oa.buf = a.f32 + (COUNT - 1) * 12, ob.buf = b.f32 + (COUNT - 1) * 20, oc.buf = c.f32 + (COUNT - 1) * 15;
    unit_expect(lac_gemm_batched(*state, COUNT, NULL, &oa, -12, &ob, -20, NULL, &oc, -15), LAC_OK, "back");
    check(COUNT, 3, 5, 4, 1.0f, 0.0f, "back");
}

/* Which elements of `memory` the matrices of a batch take, in a map. */
static void mark(const lac_obj_t *x, lac_inc_t stride, int64_t count, const float *memory, char *map)
{
    for (int64_t q = 0; q < count; q++)
        for (int64_t i = 0; i < x->m; i++)
            for (int64_t j = 0; j < x->n; j++)
                map[(const float *)x->buf - memory + q * stride + i * x->rs + j * x->cs] = 1;
}

/* Batches of inputs and of C in one memory, from either end: what shares an element is refused, and one that
 * goes back from behind the other is found as one that goes forward is. */
static void test_overlaps_of_strides_that_go_back(void **state)
{
    enum { SIDE = 4, EACH = SIDE * SIDE, PRODUCTS = 3, PLACES = 24 * EACH, MIDDLE = PLACES / 2 };
    static const float zeros[PLACES];
    static float memory[PLACES];
    int refused = 0, accepted = 0;
    make(&b, SIDE, SIDE, PRODUCTS, 0, false, false, false);
    for (int distance = -6 * EACH; distance <= 6 * EACH; distance += SIDE)
        for (int back = 0; back < 4; back++) {
            const lac_inc_t stride_x = back & 1 ? -EACH : EACH, stride_c = back & 2 ? -EACH : EACH;
            lac_obj_t x = lac_obj_rowmajor(LAC_F32, SIDE, SIDE, memory + MIDDLE, SIDE), out = x;
            char of_x[PLACES] = {0}, of_c[PLACES] = {0};
            bool meet = false;
            out.buf = memory + MIDDLE + distance;
            mark(&x, stride_x, PRODUCTS, memory, of_x);
            mark(&out, stride_c, PRODUCTS, memory, of_c);
            for (int p = 0; p < PLACES; p++) meet |= of_x[p] && of_c[p];
            for (int left = 0; left < 2; left++) {
                memset(memory, 0, sizeof memory);
                lac_status_t got = left ? lac_gemm_batched(*state, PRODUCTS, NULL, &x, stride_x, &b.first,
                                                           b.stride, NULL, &out, stride_c)
                                        : lac_gemm_batched(*state, PRODUCTS, NULL, &b.first, b.stride, &x,
                                                           stride_x, NULL, &out, stride_c);
                if (got != (meet ? LAC_ERR_ALIAS : LAC_OK))
                    fail_msg("status %d: %s with stride %d, C %d behind it with stride %d", (int)got,
                             left ? "A" : "B", (int)stride_x, distance, (int)stride_c);
                assert_memory_equal(memory, zeros, sizeof memory); /* a product of zeros */
                refused += meet, accepted += !meet;
            }
        }
    assert_true(refused > 100 && accepted > 100);
}

/* Two batches in one record each: their spans meet, their elements do not. */
static void test_interleaved_records(void **state)
{
    enum { RECORD = 12 + 15 + 1 };
    static float memory[COUNT * RECORD];
    make(&a, 3, 4, COUNT, 0, false, false, false);
    make(&b, 4, 5, COUNT, 0, false, true, false);
    make(&c, 3, 5, COUNT, 0, false, false, false);
    for (int q = 0; q < COUNT; q++) memcpy(memory + q * RECORD, a.f32 + q * 12, 12 * sizeof *memory);
    lac_obj_t oa = a.first, oc = c.first;
    oa.buf = memory, oc.buf = memory + 12;
    unit_expect(lac_gemm_batched(*state, COUNT, NULL, &oa, RECORD, &b.first, 0, NULL, &oc, RECORD), LAC_OK,
                "records");
    for (int q = 0; q < COUNT; q++) memcpy(c.f32 + q * 15, memory + q * RECORD + 12, 15 * sizeof *memory);
    check(COUNT, 3, 5, 4, 1.0f, 0.0f, "records");
}

/* Small products of events, each with weights of its own, are served as a whole, on either side, with the
 * bits of any number of threads. */
static void test_events_at_once(void **state)
{
    enum {
        PRODUCTS = 40,
        ROWS = 4,
        K = 384,
        COLS = 96,
        EVENTS = ROWS * K,
        WEIGHTS = K * COLS,
        OUT = ROWS * COLS
    };
    static float events[PRODUCTS * EVENTS], weights[PRODUCTS * WEIGHTS], out[PRODUCTS * OUT],
        again[PRODUCTS * OUT];
    (void)state;
    for (int p = 0; p < PRODUCTS * EVENTS; p++) events[p] = unit_between(&seed, 0, 29) ? 0.0f : 1.5f;
    for (int p = 0; p < PRODUCTS * WEIGHTS; p++) weights[p] = (float)unit_between(&seed, -8, 8);
    for (int right = 0; right < 2; right++)
        for (int threads = 1; threads <= 3; threads += 2) {
            lac_ctx_t *ctx = unit_ctx();
            lac_obj_t e = lac_obj_rowmajor(LAC_F32, ROWS, K, events, K),
                      w = lac_obj_rowmajor(LAC_F32, K, COLS, weights, COLS),
                      o = lac_obj_rowmajor(LAC_F32, ROWS, COLS, threads == 1 ? out : again, COLS);
            if (right) e.trans = w.trans = o.trans = LAC_TRANS;
            unit_expect(lac_ctx_set(ctx, "threads", threads == 1 ? "1" : "3"), LAC_OK, "threads");
            unit_expect(lac_ctx_set(ctx, "verbose", "exec"), LAC_OK, "verbose");
            (void)unit_log();
            unit_expect(right ? lac_gemm_batched(ctx, PRODUCTS, NULL, &w, WEIGHTS, &e, EVENTS, NULL, &o, OUT)
                              : lac_gemm_batched(ctx, PRODUCTS, NULL, &e, EVENTS, &w, WEIGHTS, NULL, &o, OUT),
                        LAC_OK, "at once");
            unit_expect_text(unit_log(), "lacuna,1,batch,lac_gemm_batched,40,");
            lac_ctx_free(ctx);
            for (int p = 0; p < PRODUCTS * OUT; p++) {
                const float *row = events + p / COLS * K, *column = weights + p / OUT * WEIGHTS + p % COLS;
                double sum = 0.0;
                for (int l = 0; l < K; l++) sum += (double)row[l] * (double)column[l * COLS];
                assert_true(fabs((double)((float *)o.buf)[p] - sum) <= 1e-5 * (1.0 + fabs(sum)));
            }
            if (threads > 1) assert_memory_equal(out, again, sizeof out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_metadata),
                                       cmocka_unit_test(test_bad_input),
                                       cmocka_unit_test(test_bad_views),
                                       cmocka_unit_test(test_strides_past_the_address_space),
                                       cmocka_unit_test(test_strides_that_go_back),
                                       cmocka_unit_test(test_overlaps_of_strides_that_go_back),
                                       cmocka_unit_test(test_interleaved_records),
                                       cmocka_unit_test(test_events_at_once)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
