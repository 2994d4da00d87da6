/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bare pointers with strides of either sign, and vectors counted from their far end, against a double loop.
 */
#include "unit_support.h"
#include "../route_names.h"
#include "../interpose_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 7000 }; /* 40 lines of up to 83 elements, to either side of the middle */

static route_names_t routes;

/* A view whose element (0, 0) lies in the middle of its own buffer. */
typedef struct view {
    float data[ROOM];
    int64_t rows, cols, rs, cs; /* as stored */
} view_t;

static float *origin(view_t *x)
{
    return x->data + ROOM / 2;
}

static void make_view(view_t *x, int64_t rows, int64_t cols, int sparse_of, uint64_t *random)
{
    int64_t step = unit_between(random, 1, 2);
    bool by_rows = unit_random(random) & 1;
    int64_t ld = (by_rows ? cols : rows) * step + unit_between(random, 0, 3);
    x->rows = rows, x->cols = cols;
    x->rs = (by_rows ? ld : step) * (unit_random(random) & 1 ? 1 : -1);
    x->cs = (by_rows ? step : ld) * (unit_random(random) & 1 ? 1 : -1);
    for (int i = 0; i < ROOM; i++)
        x->data[i] =
            unit_between(random, 1, sparse_of) == 1 ? (float)unit_between(random, -9, 9) / 4.0f : 0.0f;
}

static float at(view_t *x, bool transposed, int64_t r, int64_t c)
{
    return origin(x)[transposed ? c * x->rs + r * x->cs : r * x->rs + c * x->cs];
}

static double product_at(view_t *a, bool ta, view_t *b, bool tb, int64_t k, int64_t i, int64_t j)
{
    double sum = 0.0;
    for (int64_t l = 0; l < k; l++) sum += (double)at(a, ta, i, l) * (double)at(b, tb, l, j);
    return sum;
}

static void test_sgemm(void **state)
{
    (void)state;
    static view_t a, b, c, before;
    uint64_t random = 21;
    static const float scalars[] = {0.0f, 1.0f, -0.5f, 3.0f};
    for (int round = 0; round < (unit_quick() ? 60 : 3000); round++) {
        lac_ctx_t *ctx = unit_ctx();
        int64_t m = unit_between(&random, 1, 20), n = unit_between(&random, 1, 20),
                k = unit_between(&random, 1, 20);
        bool ta = unit_random(&random) & 1, tb = unit_random(&random) & 1;
        float alpha = scalars[unit_between(&random, 0, 3)], beta = scalars[unit_between(&random, 0, 3)];
        unit_expect(lac_ctx_set(ctx, "backend", routes.name[round % routes.count]), LAC_OK, "backend");
        make_view(&a, ta ? k : m, ta ? m : k, 3, &random);
        make_view(&b, tb ? n : k, tb ? k : n, 3, &random);
        make_view(&c, m, n, 1, &random);
        if (beta == 0.0f)
            for (int i = 0; i < ROOM; i++) c.data[i] = NAN;
        before = c;
        unit_expect(lac_sgemm(ctx, ta, tb, m, n, k, alpha, origin(&a), a.rs, a.cs, origin(&b), b.rs, b.cs,
                              beta, origin(&c), c.rs, c.cs),
                    LAC_OK, "sgemm");
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double old = beta == 0.0f ? 0.0 : (double)(beta * at(&before, false, i, j));
                double want = (double)alpha * product_at(&a, ta, &b, tb, k, i, j) + old;
                float got = at(&c, false, i, j);
                if (!(fabs((double)got - want) <= 1e-4))
                    fail_msg("round %d, %s: %ldx%ldx%ld: %g at %ld, %ld, expected %g", round,
                             routes.name[round % routes.count], (long)m, (long)k, (long)n, (double)got,
                             (long)i, (long)j, want);
                origin(&c)[i * c.rs + j * c.cs] = at(&before, false, i, j);
            }
        assert_memory_equal(c.data, before.data, sizeof c.data); /* nothing else was written */
        lac_ctx_free(ctx);
    }
}

/* BLAS's x_i lies at x[(count - 1 - i) * |incx|] where incx is negative. */
static int64_t place(int64_t i, int64_t count, int64_t inc)
{
    return inc > 0 ? i * inc : (i - (count - 1)) * inc;
}

static void test_sgemv(void **state)
{
    (void)state;
    static view_t a;
    static float x[ROOM], y[ROOM], before[ROOM];
    uint64_t random = 22;
    static const int64_t incs[] = {1, 2, 3, -1, -2, -5};
    for (int round = 0; round < (unit_quick() ? 60 : 3000); round++) {
        lac_ctx_t *ctx = unit_ctx();
        int64_t m = unit_between(&random, 1, 40), n = unit_between(&random, 1, 40);
        int64_t incx = incs[unit_between(&random, 0, 5)], incy = incs[unit_between(&random, 0, 5)];
        bool transposed = unit_random(&random) & 1;
        int64_t rows = transposed ? n : m, cols = transposed ? m : n;
        float alpha = (float)unit_between(&random, -1, 1), beta = (float)unit_between(&random, 0, 2);
        unit_expect(lac_ctx_set(ctx, "backend", routes.name[round % routes.count]), LAC_OK, "backend");
        make_view(&a, m, n, 2, &random);
        for (int i = 0; i < ROOM; i++) {
            x[i] = unit_between(&random, 0, 3) ? 0.0f : (float)unit_between(&random, -4, 4);
            y[i] = before[i] = beta == 0.0f ? NAN : (float)unit_between(&random, -4, 4);
        }
        unit_expect(lac_sgemv(ctx, transposed, m, n, alpha, origin(&a), a.rs, a.cs, x, incx, beta, y, incy),
                    LAC_OK, "sgemv");
        for (int64_t i = 0; i < rows; i++) {
            double sum = beta == 0.0f ? 0.0 : (double)(beta * before[place(i, rows, incy)]);
            for (int64_t k = 0; k < cols; k++)
                sum += (double)(alpha * at(&a, transposed, i, k)) * (double)x[place(k, cols, incx)];
            float got = y[place(i, rows, incy)];
            if (!(fabs((double)got - sum) <= 1e-4))
                fail_msg("round %d, %s: %c %ldx%ld incx %ld incy %ld: y[%ld] is %g, expected %g", round,
                         routes.name[round % routes.count], transposed ? 'T' : 'N', (long)m, (long)n,
                         (long)incx, (long)incy, (long)i, (double)got, sum);
            y[place(i, rows, incy)] = before[place(i, rows, incy)];
        }
        assert_memory_equal(y, before, sizeof y);
        lac_ctx_free(ctx);
    }
}

static void test_bad_vectors(void **state)
{
    lac_ctx_t *ctx = *state;
    float a[4] = {1, 2, 3, 4}, x[2] = {1, 1}, y[2] = {7, 7};
    const struct {
        int64_t m, n, incx, incy;
        lac_status_t want;
    } cases[] = {{2, 2, 0, 1, LAC_ERR_STRIDE},
                 {2, 2, 1, 0, LAC_ERR_STRIDE},
                 {-1, 2, 1, 1, LAC_ERR_EXTENT},
                 {2, -1, 1, 1, LAC_ERR_EXTENT},
                 {2, 2, INT64_MIN, 1, LAC_ERR_EXTENT},
                 {2, 2, 1, INT64_MIN, LAC_ERR_EXTENT},
                 {2, 2, -(INT64_C(1) << 61), 1, LAC_ERR_EXTENT},
                 {2, INT64_C(1) << 62, -4, 1, LAC_ERR_EXTENT},
                 {2, INT64_C(1) << 40, -(INT64_C(1) << 40), 1, LAC_ERR_EXTENT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char what[32];
        snprintf(what, sizeof what, "case %d", (int)i);
        unit_expect(lac_sgemv(ctx, LAC_NO_TRANS, cases[i].m, cases[i].n, 1, a,
                              cases[i].n < 3 ? 2 : cases[i].n, 1, x, cases[i].incx, 0, y, cases[i].incy),
                    cases[i].want, what);
        assert_true(lac_last_error()[0] && y[0] == 7 && y[1] == 7);
    }
    unit_expect(lac_sgemv(ctx, LAC_NO_TRANS, 2, 2, 1, a, 2, 1, NULL, -1, 0, y, 1), LAC_ERR_EMPTY, "x NULL");
    unit_expect(lac_sgemv(ctx, LAC_NO_TRANS, 2, 2, 1, a, 2, 1, x, 1, 0, NULL, -1), LAC_ERR_NULL, "y NULL");
    unit_expect(lac_sgemv(NULL, LAC_NO_TRANS, 2, 2, 1, a, 2, 1, x, 1, 0, y, 1), LAC_ERR_NULL, "ctx NULL");
    unit_expect(lac_sgemv(ctx, (lac_trans_t)3, 2, 2, 1, a, 2, 1, x, 1, 0, y, 1), LAC_ERR_VALUE, "trans 3");
    unit_expect(lac_sgemm(ctx, 0, 0, 2, 2, -1, 1, a, 2, 1, a, 2, 1, 0, y, 2, 1), LAC_ERR_EXTENT, "k -1");
    unit_expect(lac_sgemm(ctx, 0, 0, 2, 2, 2, 1, a, 1, 1, a, 2, 1, 0, y, 2, 1), LAC_ERR_STRIDE, "lda 1");
}

/* What column-major callers hand over, through the entry for drop-in libraries. */
static void test_drop_in(void **state)
{
    lac_ctx_t *ctx = *state;
    enum { M = 48, N = 40, K = 44, LD = 50 };
    static float a[LD * LD], b[LD * LD], c[LD * LD], before[LD * LD];
    uint64_t random = 23;
    unit_expect(lac_ctx_set(ctx, "backend", "csr"), LAC_OK, "backend");
    for (int turns = 0; turns < 4; turns++) {
        bool ta = turns & 1, tb = turns & 2;
        for (int i = 0; i < LD * LD; i++) {
            a[i] = unit_between(&random, 0, 5) ? 0.0f : (float)unit_between(&random, -4, 4);
            b[i] = (float)unit_between(&random, -4, 4);
            c[i] = before[i] = (float)unit_between(&random, -4, 4);
        }
        assert_int_equal(try_sgemm(ctx, ta, tb, M, N, K, 2.0f, a, LD, b, LD, -1.0f, c, LD, "t", NULL), 1);
        for (int i = 0; i < LD; i++)
            for (int j = 0; j < LD; j++) {
                float want = before[i + j * LD];
                if (i < M && j < N) want = -want;
                for (int l = 0; l < K && i < M && j < N; l++)
                    want += 2.0f * a[ta ? l + i * LD : i + l * LD] * b[tb ? j + l * LD : l + j * LD];
                if (c[i + j * LD] != want) fail_msg("%d: wrong at %d, %d", turns, i, j);
            }
    }
    unit_expect(lac_ctx_set(ctx, "backend", "blas"), LAC_OK, "backend");
    memcpy(c, before, sizeof c);
    assert_int_equal(try_sgemm(ctx, 0, 0, M, N, K, 2.0f, a, LD, b, LD, -1.0f, c, LD, "t", NULL), 0);
    assert_int_equal(try_sgemm(ctx, 0, 0, M, N, K, 2.0f, a, LD, b, LD, -1.0f, a, LD, "t", NULL), 0);
    assert_int_equal(try_sgemm(NULL, 0, 0, M, N, K, 2.0f, a, LD, b, LD, -1.0f, c, LD, "t", NULL), 0);
    assert_int_equal(try_sgemv(ctx, 0, LD, LD, 1, a, LD, b, -1, 0, c, 2), 0);
    lac_interpose_timing_end(ctx);
    lac_interpose_timing_end(NULL);
    assert_memory_equal(c, before, sizeof c);
    unit_expect(lac_ctx_set(ctx, "backend", "auto"), LAC_OK, "backend");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sgemm), cmocka_unit_test(test_sgemv),
                                       cmocka_unit_test(test_bad_vectors), cmocka_unit_test(test_drop_in)};
    unit_begin();
    routes = host_route_names(0);
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
