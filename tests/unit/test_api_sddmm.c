/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sampled products against a double loop: layouts, types, transposes, patterns, scalars, threads, bad input.
 */
#include "unit_support.h"
#include "planner/context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40, ROOM = 4 * (MOST + 4) * (MOST + 4) };

/* A random operand, its view somewhere in its own memory, and what op of it holds. */
typedef struct operand {
    union {
        float f32[ROOM];
        uint8_t u8[ROOM];
    } data;
    double op[MOST][MOST];
    lac_obj_t obj;
    int64_t ptr[MOST + 1], idx[MOST * MOST]; /* of the stored matrix, where it is sparse only */
    float val[MOST * MOST];
} operand_t;

static void attach(operand_t *x, const float stored[MOST][MOST])
{
    int64_t count = 0;
    for (int64_t i = 0; i < x->obj.m; i++) {
        x->ptr[i] = count;
        for (int64_t j = 0; j < x->obj.n; j++)
            if (stored[i][j] != 0.0f) {
                x->idx[count] = j;
                x->val[count++] = stored[i][j];
            }
    }
    x->ptr[x->obj.m] = count;
    unit_expect(lac_meta_create(&x->obj.meta, x->obj.m, x->obj.n), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(x->obj.meta, LAC_I64, x->ptr, x->idx, x->val), LAC_OK, "attach");
    x->obj.buf = NULL;
}

/* op(x) is rows x cols. */
static void make_operand(operand_t *x, int64_t rows, int64_t cols, uint64_t *random)
{
    static float stored[MOST][MOST];
    bool transposed = unit_random(random) & 1, by_rows = unit_random(random) & 1;
    int64_t kind = unit_between(random, 0, 5), step = unit_between(random, 1, 2);
    lac_obj_t *o = &x->obj;
    *o = (lac_obj_t){.dt = kind == 0 ? LAC_U8 : LAC_F32, .trans = transposed ? LAC_TRANS : LAC_NO_TRANS};
    o->m = transposed ? cols : rows, o->n = transposed ? rows : cols;
    int64_t ld = (by_rows ? o->n : o->m) * step + unit_between(random, 0, 3);
    o->rs = by_rows ? ld : step, o->cs = by_rows ? step : ld;
    if (kind == 1) o->rs = -o->rs;
    int64_t first = o->rs < 0 ? (o->m - 1) * -o->rs : 0;
    o->buf = kind == 0 ? (void *)(x->data.u8 + first) : (void *)(x->data.f32 + first);
    memset(&x->data, 0, sizeof x->data);
    for (int64_t i = 0; i < o->m; i++)
        for (int64_t j = 0; j < o->n; j++) {
            bool zero = unit_between(random, 0, 2) == 0;
            float value = zero ? 0.0f : kind == 0 ? 1.0f : (float)unit_between(random, -9, 9) / 4.0f;
            if (kind == 0)
                ((uint8_t *)o->buf)[i * o->rs + j * o->cs] = zero ? 0 : (uint8_t)unit_between(random, 1, 255);
            else
                ((float *)o->buf)[i * o->rs + j * o->cs] = value;
            stored[i][j] = value;
            x->op[transposed ? j : i][transposed ? i : j] = (double)value;
        }
    if (kind == 2 && rows && cols) attach(x, stored);
}

/* A pattern of op extents m x n: an attached one of either index type, or a scanned one. */
typedef struct pattern {
    lac_obj_t obj;
    int64_t count, row[MOST * MOST], col[MOST * MOST]; /* of op(pattern), in the order of the values */
    int64_t ptr64[MOST + 1], idx64[MOST * MOST];
    int32_t ptr32[MOST + 1], idx32[MOST * MOST];
    float buf[MOST * MOST];
} pattern_t;

static void make_pattern(lac_ctx_t *ctx, pattern_t *p, int64_t m, int64_t n, uint64_t *random)
{
    bool transposed = unit_random(random) & 1;
    int64_t one_in = unit_between(random, 1, 12), kind = unit_between(random, 0, 2);
    int64_t rows = transposed ? n : m, cols = transposed ? m : n;
    p->count = 0;
    p->obj = lac_obj_rowmajor(LAC_F32, rows, cols, NULL, cols);
    p->obj.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    p->ptr64[0] = p->ptr32[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            bool here = unit_between(random, 1, one_in) == 1;
            p->buf[i * cols + j] = here ? -2.0f : 0.0f;
            if (!here) continue;
            p->row[p->count] = transposed ? j : i, p->col[p->count] = transposed ? i : j;
            p->idx64[p->count] = j, p->idx32[p->count] = (int32_t)j;
            p->count++;
        }
        p->ptr64[i + 1] = p->count, p->ptr32[i + 1] = (int32_t)p->count;
    }
    unit_expect(lac_meta_create(&p->obj.meta, rows, cols), LAC_OK, "meta");
    if (kind == 0) {
        unit_expect(lac_meta_attach_csr(p->obj.meta, LAC_I32, p->ptr32, p->idx32, NULL), LAC_OK, "i32");
    } else if (kind == 1) {
        unit_expect(lac_meta_attach_csr(p->obj.meta, LAC_I64, p->ptr64, p->idx64, NULL), LAC_OK, "i64");
    } else {
        p->obj.buf = p->buf;
        unit_expect(lac_meta_scan(ctx, &p->obj, LAC_META_CSR), LAC_OK, "scan");
        unit_expect(lac_meta_freeze(p->obj.meta), LAC_OK, "freeze");
    }
}

static operand_t a, b;
static pattern_t p;

static void drop(void)
{
    lac_meta_free(a.obj.meta);
    lac_meta_free(b.obj.meta);
    lac_meta_free(p.obj.meta);
}

static void test_random(void **state)
{
    lac_ctx_t *ctx = *state;
    static float before[MOST * MOST], got[MOST * MOST], again[MOST * MOST];
    static const float scalars[] = {0.0f, 1.0f, -0.5f, 3.0f};
    uint64_t random = 41;
    for (int round = 0; round < (unit_quick() ? 60 : 2000); round++) {
        int64_t m = unit_between(&random, 1, MOST), n = unit_between(&random, 1, MOST),
                k = unit_between(&random, 0, MOST);
        float alpha = scalars[unit_between(&random, 0, 3)], beta = scalars[unit_between(&random, 0, 3)];
        make_operand(&a, m, k, &random);
        make_operand(&b, k, n, &random);
        make_pattern(ctx, &p, m, n, &random);
        for (int64_t e = 0; e < p.count; e++)
            before[e] = beta == 0.0f ? NAN : (float)unit_between(&random, -8, 8);
        memcpy(got, before, sizeof got);
        memcpy(again, before, sizeof again);
        unit_expect(lac_ctx_set(ctx, "threads", "1"), LAC_OK, "threads");
        unit_expect(lac_sddmm(ctx, &alpha, &a.obj, &b.obj, &beta, &p.obj, got), LAC_OK, "sddmm");
        unit_expect(lac_ctx_set(ctx, "threads", "3"), LAC_OK, "threads");
        unit_expect(lac_sddmm(ctx, &alpha, &a.obj, &b.obj, &beta, &p.obj, again), LAC_OK, "sddmm");
        assert_memory_equal(got, again, sizeof got);
        for (int64_t e = 0; e < p.count; e++) {
            double want = beta == 0.0f ? 0.0 : (double)(beta * before[e]);
            for (int64_t l = 0; l < k; l++) want += (double)alpha * a.op[p.row[e]][l] * b.op[l][p.col[e]];
            if (!(fabs((double)got[e] - want) <= 1e-4))
                fail_msg("round %d: %ldx%ldx%ld: value %ld is %g, expected %g", round, (long)m, (long)k,
                         (long)n, (long)e, (double)got[e], want);
        }
        drop();
    }
    unit_expect(lac_ctx_set(ctx, "threads", "1"), LAC_OK, "threads");
}

/* Large enough for every thread to get a share, of the turning too: the same bits. */
static void test_threads(void **state)
{
    lac_ctx_t *ctx = *state;
    enum { M = 300, N = 400, K = 515 };
    float *x = malloc(sizeof(float) * M * K), *y = malloc(sizeof(float) * K * N);
    float *one = calloc((size_t)M * N, sizeof *one), *four = calloc((size_t)M * N, sizeof *four);
    float *mask = malloc(sizeof(float) * M * N);
    uint64_t random = 43;
    assert_true(x && y && one && four && mask);
    for (int i = 0; i < M * K; i++) x[i] = (float)unit_between(&random, -999, 999) / 512.0f;
    for (int i = 0; i < K * N; i++) y[i] = (float)unit_between(&random, -999, 999) / 512.0f;
    for (int i = 0; i < M * N; i++) mask[i] = (float)(unit_between(&random, 0, 3) == 0);
    lac_obj_t ox = lac_obj_colmajor(LAC_F32, M, K, x, M), oy = lac_obj_rowmajor(LAC_F32, K, N, y, N);
    lac_obj_t op = lac_obj_rowmajor(LAC_F32, M, N, mask, N);
    unit_expect(lac_meta_create(&op.meta, M, N), LAC_OK, "meta");
    unit_expect(lac_meta_scan(ctx, &op, LAC_META_CSR), LAC_OK, "scan");
    unit_expect(lac_meta_freeze(op.meta), LAC_OK, "freeze");
    unit_expect(lac_sddmm(ctx, NULL, &ox, &oy, NULL, &op, one), LAC_OK, "one");
    unit_expect(lac_ctx_set(ctx, "threads", "4"), LAC_OK, "threads");
    unit_expect(lac_sddmm(ctx, NULL, &ox, &oy, NULL, &op, four), LAC_OK, "four");
    unit_expect(lac_ctx_set(ctx, "threads", "1"), LAC_OK, "threads");
    assert_memory_equal(one, four, sizeof(float) * M * N);
    int64_t nnz = llround(lac_meta_density(op.meta) * M * N);
    assert_true(one[nnz - 1] != 0.0f && one[nnz] == 0.0f); /* as the header says of nnz; nothing after it */
    lac_meta_free(op.meta);
    free(x), free(y), free(one), free(four), free(mask);
}

/* Values over the pattern's own array of values: W := W + alpha A B at its entries. */
static void test_in_place(void **state)
{
    static const int32_t ptr[] = {0, 1, 3}, idx[] = {1, 0, 2};
    float x[4] = {1, 2, 3, 4}, y[6] = {1, 0, 2, 0, 1, 1}, values[3] = {10, 20, 30}, one = 1, half = 0.5f;
    lac_obj_t ox = lac_obj_rowmajor(LAC_F32, 2, 2, x, 2), oy = lac_obj_rowmajor(LAC_F32, 2, 3, y, 3);
    lac_obj_t ow = lac_obj_rowmajor(LAC_F32, 2, 3, NULL, 3);
    unit_expect(lac_meta_create(&ow.meta, 2, 3), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(ow.meta, LAC_I32, ptr, idx, values), LAC_OK, "attach");
    unit_expect(lac_sddmm(*state, &half, &ox, &oy, &one, &ow, values), LAC_OK, "sddmm");
    assert_true(values[0] == 11.0f && values[1] == 21.5f && values[2] == 35.0f);
    lac_meta_free(ow.meta);
}

/* Each refusal names its argument and writes nothing. */
static void refuse(lac_status_t got, lac_status_t want, const char *word, const float *values)
{
    unit_expect(got, want, word);
    unit_expect_text(lac_last_error(), word);
    for (int i = 0; i < 8; i++) assert_true(values[i] == 7.0f);
}

static void test_bad_input(void **state)
{
    lac_ctx_t *ctx = *state;
    static const int32_t ptr[] = {0, 1, 3}, idx[] = {1, 0, 2};
    float x[8] = {7, 7, 7, 7, 7, 7, 7, 7}, y[6] = {1, 0, 2, 0, 1, 1}, v[8] = {7, 7, 7, 7, 7, 7, 7, 7};
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, 2, 2, x, 2), ob = lac_obj_rowmajor(LAC_F32, 2, 3, y, 3);
    lac_obj_t op = lac_obj_rowmajor(LAC_F32, 2, 3, NULL, 3), bad;
    unit_expect(lac_meta_create(&op.meta, 2, 3), LAC_OK, "meta");
    refuse(lac_sddmm(ctx, NULL, &oa, &ob, NULL, &op, v), LAC_ERR_EMPTY, "pattern.", v);
    unit_expect(lac_meta_attach_csr(op.meta, LAC_I32, ptr, idx, NULL), LAC_OK, "attach");
    refuse(lac_sddmm(NULL, NULL, &oa, &ob, NULL, &op, v), LAC_ERR_NULL, "ctx", v);
    refuse(lac_sddmm(ctx, NULL, NULL, &ob, NULL, &op, v), LAC_ERR_NULL, "a: ", v);
    refuse(lac_sddmm(ctx, NULL, &oa, NULL, NULL, &op, v), LAC_ERR_NULL, "b: ", v);
    refuse(lac_sddmm(ctx, NULL, &oa, &ob, NULL, NULL, v), LAC_ERR_NULL, "pattern", v);
    refuse(lac_sddmm(ctx, NULL, &oa, &ob, NULL, &op, NULL), LAC_ERR_NULL, "values", v);
    refuse(lac_sddmm(ctx, NULL, &oa, &oa, NULL, &op, v), LAC_ERR_EXTENT, "pattern: has 3 columns", v);
    refuse(lac_sddmm(ctx, NULL, &ob, &ob, NULL, &op, v), LAC_ERR_EXTENT, "b: has 2 rows", v);
    bad = op, bad.trans = LAC_TRANS;
    refuse(lac_sddmm(ctx, NULL, &oa, &ob, NULL, &bad, v), LAC_ERR_EXTENT, "pattern: has 3 rows", v);
    bad = oa, bad.rs = 1;
    refuse(lac_sddmm(ctx, NULL, &bad, &ob, NULL, &op, v), LAC_ERR_STRIDE, "a: ", v);
    bad = ob, bad.dt = (lac_dt_t)9;
    refuse(lac_sddmm(ctx, NULL, &oa, &bad, NULL, &op, v), LAC_ERR_TYPE, "b", v);
    bad = ob, bad.space = LAC_DEVICE;
    refuse(lac_sddmm(ctx, NULL, &oa, &bad, NULL, &op, v), LAC_ERR_SPACE, "b", v);
    refuse(lac_sddmm(ctx, NULL, &oa, &ob, NULL, &op, x + 3), LAC_ERR_ALIAS, "values: overlaps a", x);
    bad = ob, bad.buf = v, bad.rs = 3;
    refuse(lac_sddmm(ctx, NULL, &oa, &bad, NULL, &op, v), LAC_ERR_ALIAS, "values: overlaps b", v);
    bad = lac_obj_rowmajor(LAC_F32, 2, 3, y, 3);
    refuse(lac_sddmm(ctx, NULL, &oa, &ob, NULL, &bad, v), LAC_ERR_EMPTY, "pattern.meta: is NULL", v);
    bad.meta = op.meta;
    unit_expect(lac_meta_touch(op.meta), LAC_OK, "touch");
    refuse(lac_sddmm(ctx, NULL, &oa, &ob, NULL, &op, v), LAC_ERR_STALE, "pattern.meta", v);
    refuse(lac_sddmm(ctx, NULL, &oa, &ob, NULL, &bad, v), LAC_ERR_STALE, "pattern.meta", v);
    unit_expect(lac_meta_scan(ctx, &bad, LAC_META_CSR), LAC_OK, "scan"); /* and not frozen */
    refuse(lac_sddmm(ctx, NULL, &oa, &ob, NULL, &bad, v), LAC_ERR_STALE, "freeze", v);
    lac_meta_free(op.meta);
}

/* The operand's sparse arrays are read as well, and so are the pattern's indices. */
static void test_sparse_alias(void **state)
{
    static int32_t ptr[] = {0, 1, 3}, idx[] = {1, 0, 2};
    float x[4] = {1, 2, 3, 4}, values[3] = {7, 7, 7};
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, 2, 2, x, 2), op = lac_obj_rowmajor(LAC_F32, 2, 3, NULL, 3);
    void *over = idx;
    unit_expect(lac_meta_create(&op.meta, 2, 3), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(op.meta, LAC_I32, ptr, idx, values), LAC_OK, "attach");
    unit_expect(lac_sddmm(*state, NULL, &oa, &op, NULL, &op, values), LAC_ERR_ALIAS, "values of b");
    unit_expect_text(lac_last_error(), "values: overlaps b");
    unit_expect(lac_sddmm(*state, NULL, &oa, &oa, NULL, &op, over), LAC_ERR_EXTENT, "extents first");
    lac_obj_t ob = lac_obj_rowmajor(LAC_F32, 2, 3, (float[6]){1, 1, 1, 1, 1, 1}, 3);
    unit_expect(lac_sddmm(*state, NULL, &oa, &ob, NULL, &op, over), LAC_ERR_ALIAS, "indices of the pattern");
    unit_expect_text(lac_last_error(), "the indices of pattern");
    assert_true(values[0] == 7 && idx[0] == 1 && idx[1] == 0 && idx[2] == 2);
    lac_meta_free(op.meta);
}

/* A backend without the hook, as a device's is. */
static void test_unavailable(void **state)
{
    lac_ctx_t *ctx = *state;
    const lac_backend_t *own = ctx->backend;
    lac_backend_t without = *own;
    static const int32_t ptr[] = {0, 1}, idx[] = {0};
    float x[1] = {1}, v[8] = {7, 7, 7, 7, 7, 7, 7, 7};
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, 1, 1, x, 1), op = o;
    unit_expect(lac_meta_create(&op.meta, 1, 1), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(op.meta, LAC_I32, ptr, idx, NULL), LAC_OK, "attach");
    without.sddmm = NULL;
    ctx->backend = &without;
    refuse(lac_sddmm(ctx, NULL, &o, &o, NULL, &op, v), LAC_ERR_UNAVAILABLE, "no sampled products", v);
    refuse(lac_gemm_grad_a(ctx, NULL, &o, &o, NULL, &op, v), LAC_ERR_UNAVAILABLE, "no sampled products", v);
    ctx->backend = own;
    lac_meta_free(op.meta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_in_place),     cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_sparse_alias), cmocka_unit_test(test_unavailable)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
