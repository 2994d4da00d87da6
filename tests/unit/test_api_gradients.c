/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Gradients of a product, to dense, CSR-valued and event operands: against finite differences in double, to
 * the second order, and bad input.
 *
 * The function is L = half the sum of squares of C = alpha op(A) op(B), so that dL/dC is C itself and central
 * differences of L are exact but for rounding. */
#include "unit_support.h"

#include <math.h>
#include <string.h>

enum { MOST = 12, ROOM = MOST * MOST };

/* A stored matrix, by rows without padding, with the CSR format of its nonzeros. */
typedef struct matrix {
    lac_obj_t obj;
    float f32[ROOM];
    uint8_t u8[ROOM];
    double exact[ROOM];
    int32_t ptr[MOST + 1], idx[ROOM];
    float val[ROOM];
    int64_t place[ROOM]; /* of entry e in exact */
} matrix_t;

static void make(matrix_t *x, int64_t rows, int64_t cols, bool transposed, bool events, uint64_t *random)
{
    int64_t count = 0;
    x->obj = lac_obj_rowmajor(LAC_F32, transposed ? cols : rows, transposed ? rows : cols, x->f32,
                              transposed ? rows : cols);
    x->obj.trans = transposed ? LAC_TRANS : LAC_NO_TRANS;
    if (events) x->obj.dt = LAC_U8, x->obj.buf = x->u8;
    for (int64_t i = 0; i < x->obj.m; i++) {
        x->ptr[i] = (int32_t)count;
        for (int64_t j = 0; j < x->obj.n; j++) {
            int64_t p = i * x->obj.n + j;
            bool zero = unit_between(random, 0, 2) == 0;
            x->f32[p] = zero ? 0.0f : events ? 1.0f : (float)unit_between(random, 1, 8) / 4.0f;
            x->u8[p] = zero ? 0 : 3;
            x->exact[p] = (double)x->f32[p];
            if (zero) continue;
            x->idx[count] = (int32_t)j, x->val[count] = x->f32[p], x->place[count++] = p;
        }
    }
    x->ptr[x->obj.m] = (int32_t)count;
}

static void make_sparse_only(matrix_t *x)
{
    unit_expect(lac_meta_create(&x->obj.meta, x->obj.m, x->obj.n), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(x->obj.meta, LAC_I32, x->ptr, x->idx, x->val), LAC_OK, "attach");
    x->obj.buf = NULL;
}

static double op_at(const matrix_t *x, const double *elements, int64_t r, int64_t c)
{
    return elements[x->obj.trans == LAC_TRANS ? c * x->obj.n + r : r * x->obj.n + c];
}

/* op(X) op(Y) in double, m x n. */
static void product(int64_t m, int64_t n, int64_t k, const matrix_t *x, const double *ex, const matrix_t *y,
                    const double *ey, double *out)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            out[i * n + j] = 0.0;
            for (int64_t l = 0; l < k; l++) out[i * n + j] += op_at(x, ex, i, l) * op_at(y, ey, l, j);
        }
}

typedef struct shape {
    int64_t m, n, k;
    double alpha;
} shape_t;

static double loss(const shape_t *s, const matrix_t *a, const matrix_t *b)
{
    double c[ROOM], sum = 0.0;
    product(s->m, s->n, s->k, a, a->exact, b, b->exact, c);
    for (int64_t p = 0; p < s->m * s->n; p++) sum += 0.5 * s->alpha * s->alpha * c[p] * c[p];
    return sum;
}

/* dL over element p of x, which is a or b. */
static double difference(const shape_t *s, const matrix_t *a, const matrix_t *b, matrix_t *x, int64_t p)
{
    const double step = 1.0 / 64.0, here = x->exact[p];
    x->exact[p] = here + step;
    double above = loss(s, a, b);
    x->exact[p] = here - step;
    double below = loss(s, a, b);
    x->exact[p] = here;
    return (above - below) / (2.0 * step);
}

static void expect_near(const char *what, int round, int64_t place, double got, double want)
{
    if (!(fabs(got - want) <= 2e-5 * (1.0 + fabs(want))))
        fail_msg("round %d, %s: %g at %ld, expected %g", round, what, got, (long)place, want);
}

static matrix_t a, b;

/* The gradient to x (a or b) in every format, with beta = 0 into NaN and with beta = 1. */
static void check_gradient(lac_ctx_t *ctx, const shape_t *s, int round, const lac_obj_t *g, matrix_t *x)
{
    float alpha = (float)s->alpha, one = 1.0f, dense[ROOM], values[ROOM];
    bool to_a = x == &a;
    lac_obj_t whole = x->obj, only = x->obj;
    whole.dt = LAC_F32, whole.buf = dense, whole.meta = NULL;
    only.buf = NULL;
    unit_expect(lac_meta_create(&only.meta, only.m, only.n), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(only.meta, LAC_I32, x->ptr, x->idx, NULL), LAC_OK, "attach");
    for (int p = 0; p < ROOM; p++) dense[p] = values[p] = NAN;
    for (int times = 1; times <= 2; times++) {
        const float *beta = times == 1 ? NULL : &one;
        if (to_a) {
            unit_expect(lac_gemm_grad_a(ctx, &alpha, g, &b.obj, beta, &whole, NULL), LAC_OK, "dense");
            unit_expect(lac_gemm_grad_a(ctx, &alpha, g, &b.obj, beta, &only, values), LAC_OK, "values");
        } else {
            unit_expect(lac_gemm_grad_b(ctx, &alpha, &a.obj, g, beta, &whole, NULL), LAC_OK, "dense");
            unit_expect(lac_gemm_grad_b(ctx, &alpha, &a.obj, g, beta, &only, values), LAC_OK, "values");
        }
        for (int64_t p = 0; p < x->obj.m * x->obj.n; p++)
            expect_near(to_a ? "grad_a" : "grad_b", round, p, (double)dense[p],
                        times * difference(s, &a, &b, x, p));
        for (int64_t e = 0; e < x->ptr[x->obj.m]; e++)
            expect_near(to_a ? "values of a" : "values of b", round, e, (double)values[e],
                        times * difference(s, &a, &b, x, x->place[e]));
    }
    lac_meta_free(only.meta);
}

static void test_differences(void **state)
{
    uint64_t random = 51;
    for (int round = 0; round < (unit_quick() ? 30 : 400); round++) {
        shape_t s = {unit_between(&random, 1, MOST), unit_between(&random, 1, MOST),
                     unit_between(&random, 1, MOST), unit_random(&random) & 1 ? 1.0 : -0.5};
        bool ta = unit_random(&random) & 1, tb = unit_random(&random) & 1;
        int kind = (int)unit_between(&random, 0, 3);
        double exact[ROOM];
        float g[ROOM];
        make(&a, s.m, s.k, ta, kind == 1, &random);
        make(&b, s.k, s.n, tb, kind == 2, &random);
        product(s.m, s.n, s.k, &a, a.exact, &b, b.exact, exact);
        for (int p = 0; p < s.m * s.n; p++) g[p] = (float)(s.alpha * exact[p]);
        lac_obj_t og = lac_obj_rowmajor(LAC_F32, s.m, s.n, g, s.n);
        if (kind == 3) make_sparse_only(round % 2 ? &a : &b);
        check_gradient(*state, &s, round, &og, &a);
        check_gradient(*state, &s, round, &og, &b);
        lac_meta_free(a.obj.meta);
        lac_meta_free(b.obj.meta);
    }
}

/* Along a line in (A, B): where A and B are at t. */
static void gradient_at(const shape_t *s, const matrix_t *da, const matrix_t *db, double t, double *out)
{
    static matrix_t at, bt;
    double c[ROOM];
    at = a, bt = b;
    for (int p = 0; p < ROOM; p++) at.exact[p] += t * da->exact[p], bt.exact[p] += t * db->exact[p];
    product(s->m, s->n, s->k, &at, at.exact, &bt, bt.exact, c);
    for (int64_t i = 0; i < s->m; i++) /* (A B) B', as A is stored */
        for (int64_t l = 0; l < s->k; l++) {
            double sum = 0.0;
            for (int64_t j = 0; j < s->n; j++) sum += c[i * s->n + j] * bt.exact[l * s->n + j];
            out[i * s->k + l] = sum;
        }
}

/* The Hessian times a direction: the gradient's tangent, by the same calls again. Dense, and at A's entries
 * with the tangent attached to the same row pointers and indices. */
static void test_second_order(void **state)
{
    static matrix_t da, db;
    lac_ctx_t *ctx = *state;
    uint64_t random = 52;
    for (int round = 0; round < (unit_quick() ? 10 : 100); round++) {
        shape_t s = {unit_between(&random, 1, MOST), unit_between(&random, 1, MOST),
                     unit_between(&random, 1, MOST), 1.0};
        double above[ROOM], below[ROOM], step = 1.0 / 16384.0;
        float c[ROOM], dc[ROOM], dense[ROOM], values[ROOM], one = 1.0f;
        make(&a, s.m, s.k, false, false, &random);
        make(&b, s.k, s.n, false, false, &random);
        make(&db, s.k, s.n, false, false, &random);
        da = a; /* the same entries, other values */
        da.obj.buf = da.f32;
        for (int e = 0; e < a.ptr[s.m]; e++) {
            float value = (float)unit_between(&random, -8, 8) / 4.0f;
            da.val[e] = da.f32[a.place[e]] = value;
            da.exact[a.place[e]] = (double)value;
        }
        gradient_at(&s, &da, &db, step, above);
        gradient_at(&s, &da, &db, -step, below);
        make_sparse_only(&a);
        make_sparse_only(&da);
        lac_obj_t oc = lac_obj_rowmajor(LAC_F32, s.m, s.n, c, s.n), odc = oc, whole = a.obj;
        odc.buf = dc, whole.buf = dense, whole.meta = NULL;
        unit_expect(lac_gemm(ctx, NULL, &a.obj, &b.obj, NULL, &oc), LAC_OK, "C");
        unit_expect(lac_gemm(ctx, NULL, &da.obj, &b.obj, NULL, &odc), LAC_OK, "dA B");
        unit_expect(lac_gemm(ctx, NULL, &a.obj, &db.obj, &one, &odc), LAC_OK, "A dB");
        unit_expect(lac_gemm_grad_a(ctx, NULL, &odc, &b.obj, NULL, &whole, NULL), LAC_OK, "dense 1");
        unit_expect(lac_gemm_grad_a(ctx, NULL, &oc, &db.obj, &one, &whole, NULL), LAC_OK, "dense 2");
        unit_expect(lac_gemm_grad_a(ctx, NULL, &odc, &b.obj, NULL, &a.obj, values), LAC_OK, "values 1");
        unit_expect(lac_gemm_grad_a(ctx, NULL, &oc, &db.obj, &one, &a.obj, values), LAC_OK, "values 2");
        for (int64_t p = 0; p < s.m * s.k; p++)
            expect_near("second order", round, p, (double)dense[p], (above[p] - below[p]) / (2.0 * step));
        for (int64_t e = 0; e < a.ptr[s.m]; e++)
            expect_near("second order at entries", round, e, (double)values[e],
                        (above[a.place[e]] - below[a.place[e]]) / (2.0 * step));
        lac_meta_free(a.obj.meta);
        lac_meta_free(da.obj.meta);
    }
}

static void refuse(lac_status_t got, lac_status_t want, const char *word, const float *untouched)
{
    unit_expect(got, want, word);
    unit_expect_text(lac_last_error(), word);
    for (int i = 0; i < 6; i++) assert_true(untouched[i] == 7.0f);
}

static void test_bad_input(void **state)
{
    lac_ctx_t *ctx = *state;
    static const int32_t ptr[] = {0, 0, 0, 0};
    float x[6] = {1, 2, 3, 4, 5, 6}, y[12] = {0}, gbuf[8] = {0}, out[6] = {7, 7, 7, 7, 7, 7};
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, 2, 3, x, 3), ob = lac_obj_rowmajor(LAC_F32, 3, 4, y, 4);
    lac_obj_t g = lac_obj_rowmajor(LAC_F32, 2, 4, gbuf, 4), to = oa, bad;
    to.buf = out;
    refuse(lac_gemm_grad_a(NULL, NULL, &g, &ob, NULL, &to, NULL), LAC_ERR_NULL, "ctx", out);
    refuse(lac_gemm_grad_a(ctx, NULL, NULL, &ob, NULL, &to, NULL), LAC_ERR_NULL, "grad_c", out);
    refuse(lac_gemm_grad_a(ctx, NULL, &g, NULL, NULL, &to, NULL), LAC_ERR_NULL, "b: ", out);
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, NULL, NULL), LAC_ERR_NULL, "grad_a", out);
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, NULL, out), LAC_ERR_NULL, "grad_a", out);
    refuse(lac_gemm_grad_a(ctx, NULL, &oa, &ob, NULL, &to, NULL), LAC_ERR_EXTENT, "b: has 4 rows", out);
    bad = to, bad.m = 1;
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, &bad, NULL), LAC_ERR_EXTENT, "grad_a: has 1 rows", out);
    bad = to, bad.n = 2;
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, &bad, NULL), LAC_ERR_EXTENT, "grad_a: has 2 columns",
           out);
    bad = to, bad.dt = LAC_U8;
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, &bad, NULL), LAC_ERR_TYPE, "grad_a", out);
    bad = to, bad.rs = 1;
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, &bad, NULL), LAC_ERR_STRIDE, "grad_a", out);
    bad = to, bad.buf = NULL;
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, &bad, NULL), LAC_ERR_NULL, "grad_a.buf", out);
    bad = to, bad.buf = gbuf;
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, &bad, NULL), LAC_ERR_ALIAS, "grad_a: overlaps grad_c",
           out);
    bad = to, bad.buf = y;
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, &bad, NULL), LAC_ERR_ALIAS, "grad_a: overlaps b", out);
    refuse(lac_gemm_grad_a(ctx, NULL, &g, &ob, NULL, &to, out), LAC_ERR_EMPTY, "grad_a.meta: is NULL", out);
    refuse(lac_gemm_grad_b(ctx, NULL, NULL, &g, NULL, &to, NULL), LAC_ERR_NULL, "a: ", out);
    refuse(lac_gemm_grad_b(ctx, NULL, &oa, NULL, NULL, &to, NULL), LAC_ERR_NULL, "grad_c", out);
    refuse(lac_gemm_grad_b(ctx, NULL, &oa, &ob, NULL, &to, NULL), LAC_ERR_EXTENT, "grad_c: has 3 rows", out);
    refuse(lac_gemm_grad_b(ctx, NULL, &oa, &g, NULL, &to, NULL), LAC_ERR_EXTENT, "grad_b: has 2 rows", out);
    bad = ob, bad.buf = NULL;
    unit_expect(lac_meta_create(&bad.meta, 3, 4), LAC_OK, "meta");
    unit_expect(lac_meta_attach_csr(bad.meta, LAC_I32, ptr, NULL, NULL), LAC_OK, "no entries");
    unit_expect(lac_gemm_grad_b(ctx, NULL, &oa, &g, NULL, &bad, NULL), LAC_OK, "nothing to write");
    refuse(lac_gemm_grad_b(ctx, NULL, &g, &g, NULL, &bad, out), LAC_ERR_EXTENT, "grad_b: has 3 rows", out);
    lac_meta_free(bad.meta);
}

/* The verbose line says which call it was. */
static void test_symbol(void **state)
{
    float x[4] = {1, 2, 3, 4}, y[4] = {1, 0, 0, 1}, out[4];
    lac_obj_t g = lac_obj_rowmajor(LAC_F32, 2, 2, x, 2), o = g, to = g;
    o.buf = y, to.buf = out;
    unit_expect(lac_ctx_set(*state, "verbose", "exec"), LAC_OK, "verbose");
    (void)unit_log();
    unit_expect(lac_gemm_grad_b(*state, NULL, &o, &g, NULL, &to, NULL), LAC_OK, "grad_b");
    unit_expect_text(unit_log(), "lac_gemm_grad_b");
    unit_expect(lac_ctx_set(*state, "verbose", "off"), LAC_OK, "verbose");
    assert_memory_equal(out, x, sizeof out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_differences),
                                       cmocka_unit_test(test_second_order), cmocka_unit_test(test_bad_input),
                                       cmocka_unit_test(test_symbol)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
