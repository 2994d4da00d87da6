/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Products of which one triangle is asked for, and of a symmetric matrix of which one triangle is stored.
 *
 * Mathematics: C := beta C + alpha X X' on one triangle of C, and C := beta C + alpha A B with A = A', each
 * summed here in long double. An element errs by at most a few roundings of its terms' absolute values. What
 * does not count, the other triangle and what lies between the columns, holds NaN: as an input it must not be
 * read, as an output it must stay, to the bit. */
#include "unit_support.h"
#include "api/interpose.h"
#include "planner/context.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTENT = 300, GAP = 3, ROOM = (EXTENT + GAP) * EXTENT };

static double a[ROOM], b[ROOM], c[ROOM], before[ROOM];
static float fa[ROOM], fb[ROOM], fc[ROOM];
static bool of_c[ROOM]; /* the places that a call computes */

static const char *const routes[] = {"csr", "native", "reference"};

/* One call: the extents of C and the sum, and what lies how. */
typedef struct call {
    int64_t m, n, k;
    unsigned triangles;
    bool a_across, b_across; /* by rows where the other is by columns */
    lac_dt_t dt;
    double alpha, beta;
} call_t;

/* Nonzeros in about one place of `gap`; with rubbish where nothing is read. */
static void fill(double *x, lac_triangle_t which, int64_t rows, int64_t columns, bool across, int gap,
                 uint64_t *seed)
{
    int64_t ld = (across ? columns : rows) + GAP;
    for (int64_t i = 0; i < ROOM; i++) x[i] = (double)NAN;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            double value = (double)(float)((double)unit_between(seed, -1000, 1000) / 999.0);
            if (!lac_triangle_holds(which, i, j)) continue;
            x[across ? i * ld + j : i + j * ld] = unit_random(seed) % (uint64_t)gap ? 0.0 : value;
        }
}

static lac_matrix_args_t operand(lac_dt_t dt, const double *x, const float *fx, int64_t rows, int64_t columns,
                                 bool across)
{
    int64_t ld = (across ? columns : rows) + GAP;
    return (lac_matrix_args_t){
        .buf = dt == LAC_F64 ? (const void *)x : fx, .rs = across ? ld : 1, .cs = across ? 1 : ld, .dt = dt};
}

static long double at(const lac_matrix_args_t *x, const double *values, unsigned triangle, int64_t i,
                      int64_t j)
{
    bool stored = lac_triangle_holds((lac_triangle_t)(triangle & 3), i, j);
    return (long double)values[stored ? i * x->rs + j * x->cs : j * x->rs + i * x->cs];
}

/* Numbers in all places of C, and NaN in those that are to be written over. */
static void fill_c(const call_t *t, const lac_gemm_args_t *g)
{
    for (int i = 0; i < ROOM; i++) before[i] = (double)(i % 997 - 400) / 64.0, of_c[i] = false;
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t j = 0; j < t->n; j++) {
            int64_t place = i * g->crs + j * g->ccs;
            if (!lac_triangle_holds((lac_triangle_t)(t->triangles & 3), i, j)) continue;
            of_c[place] = true;
            if (t->beta == 0.0) before[place] = (double)NAN;
        }
    for (int i = 0; i < ROOM; i++) c[i] = before[i], fc[i] = (float)before[i];
}

static double now(const call_t *t, int64_t place)
{
    return t->dt == LAC_F64 ? c[place] : (double)fc[place];
}

static void expect(const call_t *t, const lac_gemm_args_t *g, const char *what)
{
    long double unit = t->dt == LAC_F64 ? (long double)DBL_EPSILON : (long double)FLT_EPSILON;
    const double *right = t->triangles & 3 ? a : b;
    for (int i = 0; i < ROOM; i++)
        if (!of_c[i] && !(now(t, i) == before[i]))
            fail_msg("%s: place %d, which is not C's, was written", what, i);
    for (int64_t i = 0; i < t->m; i++)
        for (int64_t j = 0; j < t->n; j++) {
            int64_t place = i * g->crs + j * g->ccs;
            long double sum = 0.0L, size = 0.0L;
            if (!of_c[place]) continue;
            for (int64_t l = 0; l < t->k; l++) {
                long double term =
                    at(&g->a, a, t->triangles >> 2, i, l) * at(&g->b, right, t->triangles >> 4, l, j);
                sum += term, size += fabsl(term);
            }
            long double old = t->beta == 0.0 ? 0.0L : (long double)t->beta * (long double)before[place];
            long double want = (long double)t->alpha * sum + old;
            long double bound = 8.0L * unit * (fabsl((long double)t->alpha) * size + fabsl(old));
            if (!(fabsl((long double)now(t, place) - want) <= bound))
                fail_msg("%s: (%d, %d) is %.17g, not %.17Lg", what, (int)i, (int)j, now(t, place), want);
        }
}

/* By the named route, which must not decline. */
static void run(lac_ctx_t *ctx, const call_t *t, const char *route, int gap, uint64_t seed)
{
    char what[160];
    lac_triangle_t in_c = (lac_triangle_t)(t->triangles & 3);
    lac_gemm_args_t g = {
        .m = t->m, .n = t->n, .k = t->k, .dt = t->dt, .triangles = t->triangles, .symbol = "test"};
    float falpha = (float)t->alpha, fbeta = (float)t->beta;
    snprintf(what, sizeof what, "%s %dx%dx%d triangles %o across %d%d %s beta %g gap %d", route, (int)t->m,
             (int)t->k, (int)t->n, t->triangles, t->a_across, t->b_across, t->dt == LAC_F64 ? "f64" : "f32",
             t->beta, gap);
    fill(a, (lac_triangle_t)(t->triangles >> 2 & 3), t->m, t->k, t->a_across, gap, &seed);
    fill(b, (lac_triangle_t)(t->triangles >> 4 & 3), t->k, t->n, t->b_across, gap, &seed);
    for (int i = 0; i < ROOM; i++) fa[i] = (float)a[i], fb[i] = (float)b[i];
    g.a = operand(t->dt, a, fa, t->m, t->k, t->a_across);
    g.b = operand(t->dt, b, fb, t->k, t->n, t->b_across);
    if (in_c) g.b = operand(t->dt, a, fa, t->k, t->n, !t->a_across);
    g.alpha = t->dt == LAC_F64 ? (const void *)&t->alpha : &falpha;
    g.beta = t->dt == LAC_F64 ? (const void *)&t->beta : &fbeta;
    g.c = t->dt == LAC_F64 ? (void *)c : fc;
    g.crs = in_c ? t->n + GAP : 1;
    g.ccs = in_c ? 1 : t->m + GAP;
    fill_c(t, &g);
    unit_expect(lac_ctx_set(ctx, "backend", route), LAC_OK, route);
    if (!lac_try_gemm(ctx, &g)) fail_msg("%s: declined", what);
    expect(t, &g, what);
}

static void run_all(lac_ctx_t *ctx, call_t t, uint64_t seed)
{
    for (int type = 0; type < 2; type++)
        for (size_t r = 0; r < sizeof routes / sizeof *routes; r++)
            for (int gap = 2; gap <= 200; gap *= 10) {
                if (unit_quick() && (gap == 2 || (t.m > 100 && r != 0))) continue;
                t.dt = type ? LAC_F64 : LAC_F32;
                t.beta = seed % 2 ? 0.0 : -0.75;
                run(ctx, &t, routes[r], gap, seed++);
            }
}

/* Panels of one column and of all, cut evenly and not, by several threads. */
static void test_asked_for(void **state)
{
    static const int64_t extents[][2] = {{1, 1}, {5, 17}, {32, 8}, {33, 40}, {130, 16}, {257, 31}, {300, 90}};
    uint64_t seed = 1;
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int way = 0; way < 4; way++) {
            lac_triangle_t which = way & 1 ? LAC_TRIANGLE_LOWER : LAC_TRIANGLE_UPPER;
            int64_t n = extents[e][0];
            unit_expect(lac_ctx_set(*state, "threads", n % 2 ? "3" : "1"), LAC_OK, "threads");
            run_all(*state,
                    (call_t){.m = n,
                             .n = n,
                             .k = extents[e][1],
                             .triangles = LAC_TRIANGLES(which, 0, 0),
                             .a_across = way & 2,
                             .alpha = 1.25},
                    seed += 7);
        }
}

static void test_stored(void **state)
{
    static const int64_t extents[][2] = {{1, 1}, {6, 40}, {32, 3}, {40, 65}, {131, 30}};
    uint64_t seed = 1000;
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int way = 0; way < 8; way++) {
            lac_triangle_t which = way & 1 ? LAC_TRIANGLE_LOWER : LAC_TRIANGLE_UPPER;
            int64_t order = extents[e][0], other = extents[e][1];
            bool right = way & 4;
            run_all(*state,
                    (call_t){.m = right ? other : order,
                             .n = right ? order : other,
                             .k = order,
                             .triangles = right ? LAC_TRIANGLES(0, 0, which) : LAC_TRIANGLES(0, which, 0),
                             .a_across = way & 2,
                             .b_across = !(way & 2),
                             .alpha = -1.5},
                    seed += 7);
        }
}

/* A sample of a symmetric operand reads what is stored, and counts it for its mirror image too. */
static void test_sampled(void **state)
{
    lac_ctx_t *ctx = *state;
    uint64_t seed = 5;
    for (int way = 0; way < 4; way++) {
        lac_triangle_t which = way & 1 ? LAC_TRIANGLE_LOWER : LAC_TRIANGLE_UPPER;
        lac_operand_t x = {.dt = LAC_F64, .buf = a, .rs = 1, .cs = EXTENT + GAP, .triangle = which};
        lac_sample_t asked = {.looked = 500};
        fill(a, which, EXTENT, EXTENT, false, 1, &seed); /* NaN where nothing is stored */
        for (int i = 0; i < ROOM; i++)
            if (!isnan(a[i])) a[i] = way & 2 ? 1.0 : 0.0;
        int64_t seen = ctx->backend->sample(ctx->exec, &x, EXTENT, EXTENT, &asked, 7, NULL, true);
        assert_int_equal(seen, way & 2 ? asked.looked : 0);
    }
}

int main(void)
{
    unit_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_asked_for, unit_setup, unit_teardown),
        cmocka_unit_test_setup_teardown(test_stored, unit_setup, unit_teardown),
        cmocka_unit_test_setup_teardown(test_sampled, unit_setup, unit_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
