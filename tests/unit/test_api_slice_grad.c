/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Gradients through row slices: against finite differences of the slice in double, to second order, and to
 * the bit against plain loops in the promised order, with 1, 2 and 3 threads. */
#include "slice_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 11;

/* A loss of the slice: sum over its elements of x^power / power. */
typedef struct problem {
    slice_case_t c;
    int64_t count;
    const int64_t *rows;
    int power;
} problem_t;

static problem_t make(int64_t m, int64_t n, const int64_t *rows, int64_t count, int power)
{
    problem_t p = {.count = count, .rows = rows, .power = power};
    slice_case_make(&p.c, m, n, 0.3, LAC_I32, true, &seed);
    return p;
}

static double raised(double x, int power)
{
    double y = 1.0;
    for (; power > 0; power--) y *= x;
    return y;
}

static double loss(const problem_t *p, const double *val)
{
    int64_t elements = p->count * p->c.n;
    double *out = malloc((size_t)elements * sizeof *out + 1), total = 0.0;
    assert_non_null(out);
    slice_reference(&p->c, val, p->rows, p->count, out);
    for (int64_t x = 0; x < elements; x++) total += raised(out[x], p->power) / p->power;
    free(out);
    return total;
}

static void slice_of(const problem_t *p, const float *val, float *out)
{
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, p->count, p->c.n, out, p->c.n);
    lac_slice_opts_t options = {.size = sizeof options, .val = val};
    unit_expect(lac_slice_rows(slice_ctx(2), &p->c.a, LAC_I64, p->count, p->rows, &o, &options), LAC_OK,
                "slice");
}

static void adjoint_of(const problem_t *p, float *g, float *grad)
{
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, p->count, p->c.n, g, p->c.n);
    unit_expect(lac_slice_rows_grad(slice_ctx(2), &p->c.a, LAC_I64, p->count, p->rows, &o, grad, NULL),
                LAC_OK, "adjoint");
}

/* The gradient of the loss by the library: slice, differentiate, gather. */
static void gradient(const problem_t *p, const float *val, float *grad)
{
    float *out = slice_poison(p->count * p->c.n);
    slice_of(p, val, out);
    for (int64_t x = 0; x < p->count * p->c.n; x++) out[x] = (float)raised(out[x], p->power - 1);
    adjoint_of(p, out, grad);
    free(out);
}

static void expect_near(double got, double want, double scale, const char *what, int64_t e)
{
    if (!(fabs(got - want) <= 1e-5 * (fabs(want) + scale)))
        fail_msg("%s: entry %ld is %.9g, not %.9g", what, (long)e, got, want);
}

static const int64_t some[] = {1, 3, 5}, twice[] = {1, 3, 5, 3, 3};

static void check_vjp(const int64_t *rows, int64_t count, int power)
{
    problem_t p = make(10, 15, rows, count, power);
    float *grad = slice_poison(p.c.nnz);
    double *val = malloc((size_t)p.c.nnz * sizeof *val);
    assert_non_null(val);
    for (int64_t e = 0; e < p.c.nnz; e++) val[e] = (double)p.c.val[e];
    gradient(&p, p.c.val, grad);
    for (int64_t e = 0; e < p.c.nnz; e++) {
        double at = val[e], step = 1e-4, up, down;
        val[e] = at + step, up = loss(&p, val);
        val[e] = at - step, down = loss(&p, val);
        val[e] = at;
        expect_near((double)grad[e], (up - down) / (2.0 * step), 1.0, "finite difference", e);
    }
    free(grad), free(val);
    slice_case_free(&p.c);
}

static void test_vjp(void **state)
{
    (void)state;
    check_vjp(some, 3, 2);
    check_vjp(some, 3, 3);
}

static void test_vjp_duplicate_rows(void **state)
{
    (void)state;
    check_vjp(twice, 5, 2);
}

static void test_grad_through_sum(void **state)
{
    (void)state;
    check_vjp(some, 3, 1);
    check_vjp(NULL, 0, 1);
}

/* The operation is linear: its derivative along a tangent is the slice of the tangent. */
static void test_jvp(void **state)
{
    (void)state;
    problem_t p = make(10, 15, twice, 5, 1);
    float *tangent = slice_random(p.c.nnz, &seed), *moved = slice_poison(p.c.nnz);
    float *at = slice_poison(5 * 15), *there = slice_poison(5 * 15), *along = slice_poison(5 * 15);
    for (int64_t e = 0; e < p.c.nnz; e++) moved[e] = p.c.val[e] + tangent[e];
    slice_of(&p, p.c.val, at), slice_of(&p, moved, there), slice_of(&p, tangent, along);
    for (int i = 0; i < 5 * 15; i++)
        expect_near((double)along[i], (double)there[i] - (double)at[i], 1.0, "tangent", i);
    free(tangent), free(moved), free(at), free(there), free(along);
    slice_case_free(&p.c);
}

/* <slice(v), g> == <v, adjoint(g)>, whatever v and g. */
static void test_adjoint_identity(void **state)
{
    (void)state;
    problem_t p = make(10, 15, twice, 5, 1);
    float *v = slice_random(p.c.nnz, &seed), *g = slice_random(5 * 15, &seed);
    float *out = slice_poison(5 * 15), *grad = slice_poison(p.c.nnz);
    double left = 0.0, right = 0.0;
    slice_of(&p, v, out), adjoint_of(&p, g, grad);
    for (int i = 0; i < 5 * 15; i++) left += (double)out[i] * (double)g[i];
    for (int64_t e = 0; e < p.c.nnz; e++) right += (double)v[e] * (double)grad[e];
    expect_near(left, right, 10.0, "inner products", 0);
    free(v), free(g), free(out), free(grad);
    slice_case_free(&p.c);
}

/* The Hessian of the cubic loss times u is adjoint(2 slice(v) slice(u)): against differences of gradients. */
static void check_second(const problem_t *p, const float *u, const char *what)
{
    int64_t elements = p->count * p->c.n;
    float *out = slice_poison(elements), *along = slice_poison(elements), *product = slice_poison(p->c.nnz);
    double *val = malloc((size_t)p->c.nnz * sizeof *val), step = 1e-3;
    assert_non_null(val);
    slice_of(p, p->c.val, out), slice_of(p, u, along);
    for (int64_t x = 0; x < elements; x++)
        out[x] = (float)((p->power - 1) * raised(out[x], p->power - 2)) * along[x];
    adjoint_of(p, out, product);
    for (int64_t e = 0; e < p->c.nnz; e++) { /* d/de of the derivative along u */
        double corner[2][2];
        for (int a = 0; a < 2; a++)
            for (int b = 0; b < 2; b++) {
                for (int64_t q = 0; q < p->c.nnz; q++)
                    val[q] = (double)p->c.val[q] + (b ? step : -step) * (double)u[q] +
                             (q == e ? (a ? step : -step) : 0.0);
                corner[a][b] = loss(p, val);
            }
        double want = (corner[1][1] - corner[1][0] - corner[0][1] + corner[0][0]) / (4.0 * step * step);
        if (!(fabs((double)product[e] - want) <= 1e-4 * (fabs(want) + 1.0)))
            fail_msg("%s: entry %ld is %.9g, not %.9g", what, (long)e, (double)product[e], want);
    }
    free(out), free(along), free(product), free(val);
}

static void test_grad_of_grad(void **state)
{
    (void)state;
    problem_t p = make(8, 10, some, 3, 3);
    float *ones = slice_poison(p.c.nnz);
    for (int64_t e = 0; e < p.c.nnz; e++) ones[e] = 1.0f; /* the gradient of the sum of the gradient */
    check_second(&p, ones, "gradient of the gradient");
    free(ones);
    slice_case_free(&p.c);
}

static void test_jvp_through_grad(void **state)
{
    (void)state;
    problem_t p = make(8, 10, twice, 5, 2);
    float *u = slice_random(p.c.nnz, &seed);
    check_second(&p, u, "tangent of the gradient");
    free(u);
    slice_case_free(&p.c);
}

/* Of a linear loss the gradient does not depend on the values, and counts how often a row was picked. */
static void test_grad_linear_loss(void **state)
{
    (void)state;
    problem_t p = make(8, 10, twice, 5, 1);
    float *once = slice_poison(p.c.nnz), *other = slice_poison(p.c.nnz), *val = slice_random(p.c.nnz, &seed);
    gradient(&p, p.c.val, once), gradient(&p, val, other);
    assert_memory_equal(once, other, (size_t)p.c.nnz * sizeof *once);
    for (int64_t r = 0; r < 8; r++)
        for (int64_t e = p.c.first[r]; e < p.c.first[r + 1]; e++)
            assert_true(once[e] == (r == 3 ? 3.0f : r == 1 || r == 5 ? 1.0f : 0.0f));
    free(once), free(other), free(val);
    slice_case_free(&p.c);
}

static void test_vmap_grad_over_data(void **state)
{
    (void)state;
    problem_t p = make(8, 10, some, 2, 2);
    float *batch = slice_random(3 * p.c.nnz, &seed), *grad = slice_poison(p.c.nnz);
    for (int b = 0; b < 3; b++) {
        gradient(&p, batch + b * p.c.nnz, grad);
        for (int64_t r = 0; r < 8; r++)
            for (int64_t e = p.c.first[r]; e < p.c.first[r + 1]; e++)
                assert_true(grad[e] == (r == 1 || r == 3 ? batch[b * p.c.nnz + e] : 0.0f));
    }
    free(batch), free(grad);
    slice_case_free(&p.c);
}

static void test_homo_jvp(void **state)
{
    (void)state;
    problem_t p = make(10, 15, some, 3, 1);
    float out[3 * 15], tangent = 0.5f;
    lac_obj_t o = lac_obj_rowmajor(LAC_F32, 3, 15, out, 15);
    lac_slice_opts_t options = {.size = sizeof options, .val = &tangent, .homogeneous = 1};
    unit_expect(lac_slice_rows(slice_ctx(0), &p.c.a, LAC_I64, 3, some, &o, &options), LAC_OK, "slice");
    for (int i = 0; i < 3 * 15; i++)
        assert_true(out[i] == (p.c.dense[some[i / 15] * 15 + i % 15] != 0.0f ? tangent : 0.0f));
    slice_case_free(&p.c);
}

/* One value for all: the gradient is one float, the same with any number of threads. */
static void test_homo_vjp(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 3, 99, 5, 3, -7};
    problem_t p = make(10, 15, rows, 6, 1);
    float *g = slice_random(6 * 15, &seed), grad[2];
    double want = 0.0;
    lac_slice_opts_t options = {.size = sizeof options, .homogeneous = 1, .zero_rows = 1};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 15 && rows[i] >= 0 && rows[i] < 10; j++)
            if (p.c.dense[rows[i] * 15 + j] != 0.0f) want += (double)g[i * 15 + j];
    for (int t = 0; t < SLICE_CONTEXTS; t++) {
        lac_obj_t o = lac_obj_rowmajor(LAC_F32, 6, 15, g, 15);
        grad[1] = -77.0f;
        unit_expect(lac_slice_rows_grad(slice_ctx(t), &p.c.a, LAC_I64, 6, rows, &o, grad, &options), LAC_OK,
                    "adjoint");
        assert_true(grad[0] == (float)want && grad[1] == -77.0f);
        unit_expect(lac_slice_rows_grad(slice_ctx(t), &p.c.a, LAC_I64, 0, NULL,
                                        &(lac_obj_t){.dt = LAC_F32, .n = 15, .rs = 15, .cs = 1}, grad,
                                        &options),
                    LAC_OK, "no rows");
        assert_true(grad[0] == 0.0f);
    }
    free(g);
    slice_case_free(&p.c);
}

/* To the bit: slices ascending, one add each, in every layout of the gradient. */
static void check_exact(const slice_case_t *c, lac_index_t it, const int64_t *rows, int64_t count)
{
    static const int layouts[] = {0, 1, 2};
    float *g = slice_random(count * c->n, &seed), *want = slice_poison(c->nnz);
    void *list = slice_list(it, rows, count);
    for (int64_t r = 0; r < c->m; r++)
        for (int64_t e = c->first[r]; e < c->first[r + 1]; e++) {
            bool any = false;
            want[e] = 0.0f;
            for (int64_t i = 0; i < count; i++) {
                if (rows[i] != r) continue;
                want[e] = any ? want[e] + g[i * c->n + c->column[e]] : g[i * c->n + c->column[e]];
                any = true;
            }
        }
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        int64_t rs = l == 1 ? 1 : l == 2 ? 2 * c->n + 1 : c->n, cs = l == 1 ? count : l == 2 ? 2 : 1;
        float *laid = slice_poison(count * (2 * c->n + 2));
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < c->n; j++) laid[i * rs + j * cs] = g[i * c->n + j];
        lac_obj_t o = {LAC_F32, LAC_HOST, LAC_NO_TRANS, count, c->n, rs, cs, laid, NULL};
        for (int t = 0; t < SLICE_CONTEXTS; t++) {
            float *grad = slice_poison(c->nnz + 1), *poison = slice_poison(1);
            lac_slice_opts_t options = {.size = sizeof options, .zero_rows = 1};
            unit_expect(lac_slice_rows_grad(slice_ctx(t), &c->a, it, count, list, &o, grad, &options), LAC_OK,
                        "adjoint");
            for (int64_t e = 0; e < c->nnz; e++)
                if (grad[e] != want[e])
                    fail_msg("%ld of %ld x %ld, layout %d, %d threads: entry %ld is %.9g, not %.9g",
                             (long)count, (long)c->m, (long)c->n, (int)l, t + 1, (long)e, (double)grad[e],
                             (double)want[e]);
            assert_memory_equal(grad + c->nnz, poison, sizeof *poison);
            free(grad), free(poison);
        }
        free(laid);
    }
    free(g), free(want), free(list);
}

static void test_tiny_to_large(void **state)
{
    (void)state;
    static const struct {
        int64_t m, n, count;
        double density;
    } shapes[] = {{1, 1, 1, 1.0},      {1, 5, 0, 1.0},       {10, 15, 4, 0.3},   {30, 1, 100, 0.5},
                  {64, 100, 33, 0.02}, {400, 300, 90, 0.15}, {3, 30000, 4, 0.7}, {5, 2500, 40, 0.9}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        slice_case_t c;
        int64_t n = unit_quick() && shapes[s].n > 3000 ? 3000 : shapes[s].n;
        int64_t count = shapes[s].count, *rows = malloc((size_t)count * sizeof *rows + 1);
        assert_non_null(rows);
        slice_case_make(&c, shapes[s].m, n, shapes[s].density, s % 2 ? LAC_I64 : LAC_I32, true, &seed);
        for (int64_t i = 0; i < count; i++) rows[i] = unit_between(&seed, -1, c.m);
        check_exact(&c, s % 3 ? LAC_I64 : LAC_I32, rows, count);
        free(rows);
        slice_case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vjp),
        cmocka_unit_test(test_vjp_duplicate_rows),
        cmocka_unit_test(test_grad_through_sum),
        cmocka_unit_test(test_jvp),
        cmocka_unit_test(test_adjoint_identity),
        cmocka_unit_test(test_grad_of_grad),
        cmocka_unit_test(test_jvp_through_grad),
        cmocka_unit_test(test_grad_linear_loss),
        cmocka_unit_test(test_vmap_grad_over_data),
        cmocka_unit_test(test_homo_jvp),
        cmocka_unit_test(test_homo_vjp),
        cmocka_unit_test(test_tiny_to_large),
    };
    unit_begin();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    slice_ctx_free();
    return failed;
}
