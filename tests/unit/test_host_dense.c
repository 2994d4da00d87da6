/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the BLAS is asked for and what not: strides that its integers cannot hold, a product of nothing, C
 * that it cannot write, and the layouts that it can. */
#include "unit_support.h"
#include "host/runtime/exec.h"
#include "host/routes/routes.h"
#include "operand/problem.h"

#include <limits.h>
#include <string.h>

enum { M = 5, N = 4, K = 6, ROOM = 4 * K * K };

static float a[ROOM], b[ROOM], c[ROOM];

static lac_problem_t problem(void)
{
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, M, K, a, K), ob = lac_obj_rowmajor(LAC_F32, K, N, b, N),
              oc = lac_obj_rowmajor(LAC_F32, M, N, c, N);
    lac_problem_t p;
    lac_problem_describe(&p, 1.0f, &oa, &ob, 0.0f, &oc);
    return p;
}

static lac_refusal_t asked(const lac_problem_t *p)
{
    return lac_route_dense.applicable(&lac_route_dense, p);
}

static void test_strides_of_64_bits(void **state)
{
    (void)state;
    lac_problem_t p = problem();
    if (asked(&p) == LAC_REFUSED_NO_BLAS) skip();
    assert_int_equal(asked(&p), LAC_FITS);
    for (int i = 0; i < 6; i++) {
        p = problem();
        lac_inc_t *strides[] = {&p.a.rs, &p.a.cs, &p.b.rs, &p.b.cs, &p.crs, &p.ccs};
        *strides[i] = INT32_MAX;
        assert_int_equal(asked(&p), LAC_FITS);
        *strides[i] = INT32_MAX + INT64_C(1);
        assert_int_equal(asked(&p), LAC_REFUSED_INDEX_RANGE);
    }
}

/* What is copied for the BLAS lies by rows, as long as they are. */
static void test_copies_of_64_bits(void **state)
{
    (void)state;
    lac_problem_t p = problem();
    if (asked(&p) == LAC_REFUSED_NO_BLAS) skip();
    for (int i = 0; i < 3; i++)
        for (int too_long = 0; too_long < 2; too_long++) {
            p = problem();
            p.a.rs = p.b.rs = p.crs = INT32_MAX;
            if (i == 0) p.a.dt = LAC_U8;
            if (i == 1) p.b.dt = LAC_U8;
            if (i == 2) p.ccs = 2;
            *(i ? &p.n : &p.k) = INT32_MAX + (int64_t)too_long;
            assert_int_equal(asked(&p), too_long ? LAC_REFUSED_INDEX_RANGE : LAC_FITS);
        }
}

static int vectors;

static void take_vector(const char *ta, const int64_t *m, const int64_t *n, const float *alpha,
                        const float *x, const int64_t *lda, const float *y, const int64_t *incx,
                        const float *beta, float *out, const int64_t *incy, size_t length)
{
    (void)ta, (void)n, (void)alpha, (void)x, (void)y, (void)incx, (void)beta, (void)out, (void)incy;
    assert_int_equal(length, 1);
    assert_true(*lda >= *m);
    vectors++;
}

/* One column of more elements than one sgemm is given. */
static void test_long_vectors(void **state)
{
    (void)state;
    const lac_blas_t blas = {.sgemv = take_vector};
    lac_exec_t exec = {.blas = &blas};
    lac_outcome_t out;
    for (int i = 0; i < 2; i++) {
        lac_problem_t p = problem();
        p.m = p.n = p.k = 1;
        *(i ? &p.n : &p.m) = INT32_MAX;
        p.a.rs = p.b.rs = p.crs = i ? INT32_MAX : 1;
        assert_int_equal(lac_route_dense.run(&lac_route_dense, &exec, &p, &out), LAC_OK);
    }
    assert_int_equal(vectors, 2);
}

static void test_products_of_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        lac_problem_t p = problem();
        if (i == 0) p.m = 0;
        if (i == 1) p.n = 0;
        if (i == 2) p.k = 0;
        if (i == 3) p.alpha = 0.0f;
        assert_int_equal(asked(&p), LAC_REFUSED_TRIVIAL);
    }
}

/* The workspace holds a product that C's strides cannot receive, and a plain copy of what cannot be read. */
static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        lac_dim_t m, n;
        lac_inc_t crs, ccs;
        size_t bytes;
    } cases[] = {{M, N, N, 1, 0},
                 {M, N, N + 3, 1, 0},
                 {M, N, 1, M, 0},
                 {M, N, 1, M + 2, 0},
                 {1, N, 99, 3, 0},
                 {M, 1, 3, 99, 0},
                 {M, N, 2 * N, 2, M * N * sizeof(float)},
                 {M, N, -N, 1, M * N * sizeof(float)},
                 {M, N, 1, -M, M * N * sizeof(float)}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_problem_t p = problem();
        p.m = cases[i].m, p.n = cases[i].n, p.crs = cases[i].crs, p.ccs = cases[i].ccs;
        size_t bytes = lac_route_dense.bytes(&lac_route_dense, &p);
        if (bytes != cases[i].bytes) fail_msg("case %d: %zu bytes", (int)i, bytes);
    }
}

typedef struct layout {
    lac_inc_t rs, cs;
} layout_t;

/* Every shape with an extent of 1, by every layout of it, through the public call. */
static void test_extents_of_one(void **state)
{
    static const int extents[][3] = {{1, 1, 1}, {1, N, K}, {M, 1, K}, {M, N, 1},
                                     {1, 1, K}, {1, N, 1}, {M, 1, 1}, {M, N, K}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int l = 0; l < 4 * 4 * 4; l++) {
            const int m = extents[e][0], n = extents[e][1], k = extents[e][2];
            const layout_t of_a[] = {{k, 1}, {1, m}, {k + 1, 1}, {2 * k, 2}},
                           of_b[] = {{n, 1}, {1, k}, {1, k + 2}, {2, 2 * k}},
                           of_c[] = {{n, 1}, {1, m}, {2 * n, 2}, {1, m + 1}};
            layout_t x = of_a[l % 4], y = of_b[l / 4 % 4], z = of_c[l / 16];
            float beta = l % 3 ? 0.0f : 2.0f;
            lac_obj_t oa = {.m = m, .n = k, .rs = x.rs, .cs = x.cs, .buf = a},
                      ob = {.m = k, .n = n, .rs = y.rs, .cs = y.cs, .buf = b},
                      oc = {.m = m, .n = n, .rs = z.rs, .cs = z.cs, .buf = c};
            lac_call_opts_t call = {.size = sizeof call, .route = "blas"};
            for (int i = 0; i < ROOM; i++) a[i] = (float)(i % 5 - 2), b[i] = (float)(i % 7 - 3), c[i] = 1.0f;
            unit_expect(lac_gemm_ex(*state, NULL, &oa, &ob, &beta, &oc, &call), LAC_OK, "blas");
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++) {
                    float sum = beta;
                    for (int p = 0; p < k; p++) sum += a[i * x.rs + p * x.cs] * b[p * y.rs + j * y.cs];
                    if (c[i * z.rs + j * z.cs] != sum)
                        fail_msg("%dx%dx%d, layout %d: wrong at %d, %d", m, k, n, l, i, j);
                }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strides_of_64_bits),
        cmocka_unit_test(test_copies_of_64_bits),
        cmocka_unit_test(test_long_vectors),
        cmocka_unit_test(test_products_of_nothing),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_extents_of_one),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
