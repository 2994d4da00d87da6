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
    return lac_host_route_dense->applicable(lac_host_route_dense, p);
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

static void take_vector(const char *ta, const int64_t *m, const int64_t *n, const void *alpha, const void *x,
                        const int64_t *lda, const void *y, const int64_t *incx, const void *beta, void *out,
                        const int64_t *incy, size_t length)
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
    const lac_blas_t blas = {.gemv = {take_vector}};
    lac_exec_t exec = {.blas = &blas};
    lac_outcome_t out;
    for (int i = 0; i < 2; i++) {
        lac_problem_t p = problem();
        p.m = p.n = p.k = 1;
        *(i ? &p.n : &p.m) = INT32_MAX;
        p.a.rs = p.b.rs = p.crs = i ? INT32_MAX : 1;
        assert_int_equal(lac_host_route_dense->run(lac_host_route_dense, &exec, &p, &out), LAC_OK);
    }
    assert_int_equal(vectors, 2);
}

/* What one sgemm was given, in elements from the beginning of each operand. */
typedef struct piece {
    int64_t m, n, k, a, b, c;
    float beta;
} piece_t;

static piece_t piece[64];
static int pieces;

static void take_product(const char *ta, const char *tb, const int64_t *m, const int64_t *n, const int64_t *k,
                         const void *alpha, const void *x, const int64_t *ldx, const void *y,
                         const int64_t *ldy, const void *beta, void *out, const int64_t *ldo, size_t length_a,
                         size_t length_b)
{
    const intptr_t at = (intptr_t)a, size = (intptr_t)sizeof *a;
    assert_in_range(pieces, 0, sizeof piece / sizeof *piece - 1);
    assert_true(*(const float *)alpha == 1.0f && length_a == 1 && length_b == 1);
    assert_true(*ldx >= (*ta == 'N' ? *m : *k) && *ldy >= (*tb == 'N' ? *k : *n) && *ldo >= *m);
    piece[pieces++] = (piece_t){.m = *m,
                                .n = *n,
                                .k = *k,
                                .a = ((intptr_t)x - at) / size,
                                .b = ((intptr_t)y - at) / size,
                                .c = ((intptr_t)out - at) / size,
                                .beta = *(const float *)beta};
}

/* One row or column goes to sgemv where that was asked for (`vector`) or the matrix has 2^19 elements, else
 * to sgemm. */
static void expect_sgemv(int column, lac_dim_t k, lac_dim_t length, bool vector, bool expected)
{
    const lac_blas_t blas = {.gemm = {take_product}, .gemv = {take_vector}};
    lac_exec_t exec = {.blas = &blas};
    lac_outcome_t out;
    lac_problem_t p = problem();
    p.m = column ? length : 1, p.n = column ? 1 : length, p.k = k;
    p.a.rs = k, p.b.rs = p.crs = p.n;
    p.terms.vector = vector;
    vectors = pieces = 0;
    assert_int_equal(lac_host_route_dense->run(lac_host_route_dense, &exec, &p, &out), LAC_OK);
    assert_int_equal(vectors, expected);
    assert_int_equal(pieces, !expected);
}

static void test_rows_and_columns(void **state)
{
    (void)state;
    for (int column = 0; column < 2; column++) {
        expect_sgemv(column, 1024, 511, false, false);
        expect_sgemv(column, 1024, 512, false, true);
        expect_sgemv(column, 512, 1024, false, true);
        expect_sgemv(column, 2, 3, false, false);
        expect_sgemv(column, 2, 3, true, true);
    }
    pieces = 0;
}

/* A row or a column that lies as lines by rows is the transposed product to the BLAS, as its caller would
 * call it; one that lies by columns, with or without a space between its elements, is not. */
static void test_lines_as_they_were_written(void **state)
{
    static const struct {
        lac_dim_t rows, cols;
        lac_inc_t rs, cs;
        int64_t m, n; /* of the sgemm */
    } lies[] = {{1, 5, 5, 1, 5, 1}, {1, 5, 8, 1, 5, 1}, {1, 5, 1, 1, 1, 5}, {1, 5, 1, 4, 1, 5},
                {5, 1, 1, 1, 1, 5}, {5, 1, 4, 1, 1, 5}, {5, 1, 1, 5, 5, 1}, {5, 1, 1, 9, 5, 1}};
    const lac_blas_t blas = {.gemm = {take_product}, .gemv = {take_vector}};
    lac_exec_t exec = {.blas = &blas};
    lac_outcome_t out;
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        lac_problem_t p = problem();
        p.m = lies[i].rows, p.n = lies[i].cols, p.k = 3;
        p.a.rs = p.k, p.b.rs = p.n;
        p.crs = lies[i].rs, p.ccs = lies[i].cs;
        pieces = 0;
        assert_int_equal(lac_host_route_dense->run(lac_host_route_dense, &exec, &p, &out), LAC_OK);
        assert_int_equal(pieces, 1);
        assert_int_equal(piece[0].m, lies[i].m);
        assert_int_equal(piece[0].n, lies[i].n);
    }
    pieces = 0;
}

/* Where the pieces along one extent begin, and how many there are; each is met once. */
static int64_t cut(int64_t extent, int64_t *first)
{
    const int64_t most = INT64_C(1) << 30;
    int64_t parts = 0;
    for (int64_t at = 0; at < extent; at += most) first[parts++] = at;
    return parts;
}

/* A product of more than 2^30 along one extent or several is given to the BLAS in pieces: each multiplies its
 * own part, beta meets each piece of C once, with the first part of k, and the others are added to that. The
 * operands are addresses alone. */
static void test_products_in_pieces(void **state)
{
    (void)state;
    static const int64_t past = (INT64_C(1) << 30) + 3;
    const lac_blas_t blas = {.gemm = {take_product}};
    for (int longer = 0; longer < 8; longer++)
        for (int by_rows = 0; by_rows < 2; by_rows++) {
            lac_exec_t exec = {.blas = &blas};
            lac_outcome_t out = {0};
            lac_problem_t p = problem();
            int64_t first[3][2];
            p.m = longer & 1 ? past : M, p.n = longer & 2 ? past : N, p.k = longer & 4 ? past : K;
            p.a.buf = p.b.buf = p.c = a, p.beta = 3.0f;
            p.a.rs = p.k, p.b.rs = p.n, p.crs = by_rows ? p.n : 1, p.ccs = by_rows ? 1 : p.m;
            pieces = 0;
            assert_int_equal(lac_host_route_dense->run(lac_host_route_dense, &exec, &p, &out), LAC_OK);
            const int64_t count[] = {cut(p.m, first[0]), cut(p.n, first[1]), cut(p.k, first[2])};
            assert_int_equal(pieces, count[0] * count[1] * count[2]);
            int met = 0;
            for (int64_t x = 0; x < count[0]; x++)
                for (int64_t y = 0; y < count[1]; y++) {
                    const int64_t i = first[0][x], j = first[1][y];
                    int64_t summed = 0;
                    for (int q = 0; q < pieces; q++) { /* in the order of the calls */
                        const piece_t *g = &piece[q];
                        if (g->c != i * p.crs + j * p.ccs) continue;
                        assert_true(g->beta == (summed ? 1.0f : 3.0f));
                        assert_int_equal(g->m, by_rows ? (y + 1 < count[1] ? first[1][1] : p.n - j)
                                                       : (x + 1 < count[0] ? first[0][1] : p.m - i));
                        assert_int_equal(g->n, by_rows ? (x + 1 < count[0] ? first[0][1] : p.m - i)
                                                       : (y + 1 < count[1] ? first[1][1] : p.n - j));
                        assert_int_equal(by_rows ? g->b : g->a, i * p.a.rs + summed * p.a.cs);
                        assert_int_equal(by_rows ? g->a : g->b, summed * p.b.rs + j * p.b.cs);
                        summed += g->k;
                        met++;
                    }
                    assert_int_equal(summed, p.k);
                }
            assert_int_equal(met, pieces);
        }
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
        size_t bytes = lac_host_route_dense->bytes(lac_host_route_dense, &p);
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
        cmocka_unit_test(test_products_in_pieces),
        cmocka_unit_test(test_products_of_nothing),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_extents_of_one),
        cmocka_unit_test(test_rows_and_columns),
        cmocka_unit_test(test_lines_as_they_were_written),
    };
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
