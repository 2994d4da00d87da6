/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What spiking networks do with a product, each case by its name: events on either side, binary or weighted,
 * tiny to large; forward, gradients to weights and events with the tangent, and trials in a batch; against
 * loops in double.
 *
 * "left": events[m, k] weights[k, n], rows gathered; "right": weights[m, k] events[k, n], columns gathered.
 */
#include "unit_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIALS = 3 };

typedef enum act { FORWARD, GRADIENTS, BATCHED, ACTS } act_t;

typedef struct scenario {
    char name[64];
    bool right, events;
    act_t act;
    int size;
} scenario_t;

static const char *const act_names[ACTS] = {"forward", "gradients", "batched"};

/* batch x neurons x targets, and how many are active */
static const struct {
    const char *name;
    int64_t rows, k, cols;
    double density;
} sizes[] = {{"tiny", 2, 5, 3, 0.5},
             {"small", 10, 100, 64, 0.1},
             {"medium", 16, 1000, 300, 0.01},
             {"large", 10, 5000, 1000, 0.001}};

static uint64_t seed = 61;

static void *need(int64_t bytes)
{
    void *p = malloc((size_t)bytes + 1);
    assert_non_null(p);
    return p;
}

static float value(void)
{
    return (float)unit_between(&seed, 1, 64) / 32.0f * (unit_between(&seed, 0, 1) ? 1.0f : -1.0f);
}

/* A matrix by rows; `given` is what the library reads, f32 or u8, `exact` its contents. */
typedef struct matrix {
    int64_t m, n;
    float *exact;
    void *given;
    lac_obj_t obj;
} matrix_t;

static matrix_t make(int64_t m, int64_t n, double density, bool events)
{
    matrix_t x = {m, n, need(m * n * 4), need(m * n * 4), {0}};
    for (int64_t p = 0; p < m * n; p++) {
        bool there = (double)unit_between(&seed, 0, 999999) < density * 1e6;
        x.exact[p] = !there ? 0.0f : events ? 1.0f : value();
        if (events)
            ((uint8_t *)x.given)[p] = there ? (uint8_t)unit_between(&seed, 1, 255) : 0;
        else
            ((float *)x.given)[p] = x.exact[p];
    }
    x.obj = lac_obj_rowmajor(events ? LAC_U8 : LAC_F32, m, n, x.given, n);
    return x;
}

static void drop(matrix_t *x)
{
    free(x->exact), free(x->given);
}

static double at(const matrix_t *x, bool transposed, int64_t r, int64_t c)
{
    return (double)x->exact[transposed ? c * x->n + r : r * x->n + c];
}

/* out is op(x) op(y), and times more once where `added` is not NULL. */
static void expect_product(const float *out, const matrix_t *x, bool x_transposed, const matrix_t *y,
                           bool y_transposed, const double *added, const char *what)
{
    int64_t m = x_transposed ? x->n : x->m, k = x_transposed ? x->m : x->n, n = y_transposed ? y->m : y->n;
    double *sum = need(n * 8), *size = need(n * 8);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) sum[j] = added ? added[i * n + j] : 0.0, size[j] = fabs(sum[j]);
        for (int64_t l = 0; l < k; l++) {
            double left = at(x, x_transposed, i, l);
            for (int64_t j = 0; left != 0.0 && j < n; j++) {
                double term = left * at(y, y_transposed, l, j);
                sum[j] += term, size[j] += fabs(term);
            }
        }
        for (int64_t j = 0; j < n; j++)
            if (!(fabs((double)out[i * n + j] - sum[j]) <= 1e-6 * size[j] + 1e-30))
                fail_msg("%s: element %ld, %ld is %g, expected %g", what, (long)i, (long)j,
                         (double)out[i * n + j], sum[j]);
    }
    free(sum), free(size);
}

static void forward(lac_ctx_t *ctx, const matrix_t *a, const matrix_t *b)
{
    float *out = need(a->m * b->n * 4);
    lac_obj_t c = lac_obj_rowmajor(LAC_F32, a->m, b->n, out, b->n);
    unit_expect(lac_gemm(ctx, NULL, &a->obj, &b->obj, NULL, &c), LAC_OK, "product");
    expect_product(out, a, false, b, false, NULL, "forward");
    free(out);
}

/* dL/dA = G B', dL/dB = A' G, and the tangent dA B + A dB, which shares the operands. */
static void gradients(lac_ctx_t *ctx, const matrix_t *a, const matrix_t *b)
{
    matrix_t g = make(a->m, b->n, 1.0, false), da = make(a->m, a->n, 0.1, false),
             db = make(b->m, b->n, 0.1, false);
    float *to_a = need(a->m * a->n * 4), *to_b = need(b->m * b->n * 4), *tangent = need(a->m * b->n * 4),
          one = 1.0f;
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, a->m, a->n, to_a, a->n),
              ob = lac_obj_rowmajor(LAC_F32, b->m, b->n, to_b, b->n),
              ot = lac_obj_rowmajor(LAC_F32, a->m, b->n, tangent, b->n);
    unit_expect(lac_gemm_grad_a(ctx, NULL, &g.obj, &b->obj, NULL, &oa, NULL), LAC_OK, "to a");
    unit_expect(lac_gemm_grad_b(ctx, NULL, &a->obj, &g.obj, NULL, &ob, NULL), LAC_OK, "to b");
    expect_product(to_a, &g, false, b, true, NULL, "gradient to a");
    expect_product(to_b, a, true, &g, false, NULL, "gradient to b");
    unit_expect(lac_gemm(ctx, NULL, &da.obj, &b->obj, NULL, &ot), LAC_OK, "tangent 1");
    double *first = need(a->m * b->n * 8);
    for (int64_t p = 0; p < a->m * b->n; p++) first[p] = (double)tangent[p];
    unit_expect(lac_gemm(ctx, NULL, &a->obj, &db.obj, &one, &ot), LAC_OK, "tangent 2");
    expect_product(tangent, a, false, &db, false, first, "tangent");
    free(to_a), free(to_b), free(tangent), free(first);
    drop(&g), drop(&da), drop(&db);
}

/* Trials over one weight: one after the other, and side by side in rows of all trials. */
static void batched(lac_ctx_t *ctx, const scenario_t *s, const matrix_t *weights)
{
    int64_t m = s->right ? weights->m : sizes[s->size].rows, n = s->right ? sizes[s->size].rows : weights->n,
            k = sizes[s->size].k;
    matrix_t trial[TRIALS];
    int64_t each = s->right ? k * n : m * k, width = s->events ? 1 : 4;
    char *all = need(TRIALS * each * width);
    float *out = need(TRIALS * m * n * 4);
    for (int side_by_side = 0; side_by_side < 2; side_by_side++) {
        lac_obj_t e =
            lac_obj_rowmajor(s->events ? LAC_U8 : LAC_F32, s->right ? k : m, s->right ? n : k, all, 0);
        int64_t stride = side_by_side ? e.n : each;
        e.rs = side_by_side ? TRIALS * e.n : e.n, e.cs = 1;
        for (int t = 0; t < TRIALS; t++) {
            trial[t] = make(e.m, e.n, sizes[s->size].density, s->events);
            for (int64_t p = 0; p < each; p++)
                for (int64_t byte = 0; byte < width; byte++)
                    all[(t * stride + p / e.n * e.rs + p % e.n) * width + byte] =
                        ((const char *)trial[t].given)[p * width + byte];
        }
        lac_obj_t c = lac_obj_rowmajor(LAC_F32, m, n, out, n);
        unit_expect(s->right
                        ? lac_gemm_batched(ctx, TRIALS, NULL, &weights->obj, 0, &e, stride, NULL, &c, m * n)
                        : lac_gemm_batched(ctx, TRIALS, NULL, &e, stride, &weights->obj, 0, NULL, &c, m * n),
                    LAC_OK, "batched");
        for (int t = 0; t < TRIALS; t++) {
            expect_product(out + t * m * n, s->right ? weights : &trial[t], false,
                           s->right ? &trial[t] : weights, false, NULL, "trial");
            drop(&trial[t]);
        }
    }
    free(all), free(out);
}

static void run(void **state)
{
    const scenario_t *s = *state;
    if (unit_quick() && s->size > 1) skip();
    lac_ctx_t *ctx = unit_ctx();
    int64_t rows = sizes[s->size].rows, k = sizes[s->size].k, cols = sizes[s->size].cols;
    matrix_t spikes = s->right ? make(k, rows, sizes[s->size].density, s->events)
                               : make(rows, k, sizes[s->size].density, s->events);
    matrix_t weights = s->right ? make(cols, k, 1.0, false) : make(k, cols, 1.0, false);
    const matrix_t *a = s->right ? &weights : &spikes, *b = s->right ? &spikes : &weights;
    if (s->act == FORWARD) forward(ctx, a, b);
    if (s->act == GRADIENTS) gradients(ctx, a, b);
    if (s->act == BATCHED) batched(ctx, s, &weights);
    drop(&spikes), drop(&weights);
    lac_ctx_free(ctx);
}

int main(void)
{
    enum { SIZES = sizeof sizes / sizeof *sizes, ALL = 4 * SIZES * ACTS };
    static scenario_t all[ALL];
    static struct CMUnitTest tests[ALL];
    for (int i = 0; i < ALL; i++) {
        scenario_t *s = &all[i];
        s->right = i & 1, s->events = i >> 1 & 1, s->size = i / 4 % SIZES, s->act = (act_t)(i / 4 / SIZES);
        snprintf(s->name, sizeof s->name, "%s %s %s %s", act_names[s->act], s->right ? "right" : "left",
                 s->events ? "binary" : "weighted", sizes[s->size].name);
        tests[i] = (struct CMUnitTest){s->name, run, NULL, NULL, s};
    }
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
