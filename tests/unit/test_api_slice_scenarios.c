/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What people do with row slices, each case by its name, tiny to large: single, many, repeated and missing
 * rows, one weight or one each, derivatives forward and back to the second order, batches, and calls
 * repeated. */
#include "slice_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* rows x columns, and how many rows are picked */
static const struct {
    const char *name;
    int64_t m, n, count;
    double density;
} sizes[] = {{"tiny", 3, 5, 2, 0.5},
             {"small", 64, 300, 16, 0.1},
             {"medium", 400, 1500, 64, 0.02},
             {"large", 150, 12000, 100, 0.01}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static uint64_t seed = 41;

typedef struct scene {
    slice_case_t c;
    int64_t count, *rows;
    float *out;
    lac_obj_t view; /* of out */
} scene_t;

static lac_status_t slice(const scene_t *s, const lac_slice_opts_t *options)
{
    return lac_slice_rows(slice_ctx(1), &s->c.a, LAC_I64, s->count, s->rows, &s->view, options);
}

static lac_status_t adjoint(const scene_t *s, float *grad)
{
    return lac_slice_rows_grad(slice_ctx(1), &s->c.a, LAC_I64, s->count, s->rows, &s->view, grad, NULL);
}

/* Element j of slice i, by plain loops, from the dense contents. */
static float stored(const scene_t *s, int64_t i, int64_t j)
{
    int64_t r = s->rows[i];
    return r < 0 || r >= s->c.m ? 0.0f : s->c.dense[r * s->c.n + j];
}

static void expect(const scene_t *s, float factor, const char *what)
{
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t j = 0; j < s->c.n; j++)
            if (s->out[i * s->c.n + j] != factor * stored(s, i, j))
                fail_msg("%s: %ld, %ld is %g", what, (long)i, (long)j, (double)s->out[i * s->c.n + j]);
}

static int64_t times_picked(const scene_t *s, int64_t row)
{
    int64_t times = 0;
    for (int64_t i = 0; i < s->count; i++) times += s->rows[i] == row;
    return times;
}

static void single_row(scene_t *s)
{
    s->count = s->view.m = 1;
    unit_expect(slice(s, NULL), LAC_OK, "slice");
    expect(s, 1, "single row");
}

static void multiple_rows(scene_t *s)
{
    unit_expect(slice(s, NULL), LAC_OK, "slice");
    expect(s, 1, "multiple rows");
}

static void duplicate_rows(scene_t *s)
{
    for (int64_t i = 0; i < s->count; i++) s->rows[i] = s->rows[i / 2];
    multiple_rows(s);
}

static void rows_outside(scene_t *s)
{
    lac_slice_opts_t zero = {.size = sizeof zero, .zero_rows = 1};
    char word[64];
    s->rows[s->count / 2] = s->c.m + 999, s->rows[s->count - 1] = -1;
    snprintf(word, sizeof word, "rows[%ld]", (long)(s->count / 2));
    unit_expect(slice(s, NULL), LAC_ERR_VALUE, "outside");
    unit_expect_text(lac_last_error(), word);
    unit_expect(slice(s, &zero), LAC_OK, "zero rows");
    expect(s, 1, "rows outside");
}

static void homogeneous(scene_t *s)
{
    float weight = 1.5f;
    lac_slice_opts_t one = {.size = sizeof one, .val = &weight, .homogeneous = 1};
    unit_expect(slice(s, &one), LAC_OK, "slice");
    for (int64_t p = 0; p < s->count * s->c.n; p++)
        assert_true(s->out[p] == (stored(s, p / s->c.n, p % s->c.n) != 0.0f ? weight : 0.0f));
}

static void per_entry(scene_t *s)
{
    float *val = slice_poison(s->c.nnz);
    lac_slice_opts_t each = {.size = sizeof each, .val = val};
    for (int64_t e = 0; e < s->c.nnz; e++) val[e] = -2.0f * s->c.val[e];
    unit_expect(slice(s, &each), LAC_OK, "slice");
    expect(s, -2, "a weight for each entry");
    free(val);
}

/* The slice is linear: along a tangent its derivative is the slice of the tangent. */
static void forward_mode(scene_t *s)
{
    float *tangent = slice_random(s->c.nnz, &seed), *moved = slice_poison(s->c.nnz),
          *along = slice_poison(s->count * s->c.n);
    lac_slice_opts_t by_tangent = {.size = sizeof by_tangent, .val = tangent}, by_moved = by_tangent;
    by_moved.val = moved;
    for (int64_t e = 0; e < s->c.nnz; e++) moved[e] = s->c.val[e] + 0.5f * tangent[e];
    unit_expect(slice(s, &by_tangent), LAC_OK, "tangent");
    memcpy(along, s->out, (size_t)(s->count * s->c.n) * sizeof *along);
    unit_expect(slice(s, &by_moved), LAC_OK, "moved");
    for (int64_t p = 0; p < s->count * s->c.n; p++) {
        double moves = (double)s->out[p] - (double)stored(s, p / s->c.n, p % s->c.n);
        assert_true(fabs(0.5 * (double)along[p] - moves) <= 1e-5);
    }
    free(tangent), free(moved), free(along);
}

/* Of half the sum of squares the gradient to an entry is its value, once for each time that its row was
 * picked. */
static void reverse_mode(scene_t *s)
{
    float *grad = slice_poison(s->c.nnz);
    if (s->count > 2) s->rows[1] = s->rows[0];
    unit_expect(slice(s, NULL), LAC_OK, "slice");
    unit_expect(adjoint(s, grad), LAC_OK, "adjoint");
    for (int64_t r = 0; r < s->c.m; r++)
        for (int64_t e = s->c.first[r]; e < s->c.first[r + 1]; e++)
            assert_true(fabs((double)grad[e] - (double)times_picked(s, r) * (double)s->c.val[e]) <= 1e-5);
    free(grad);
}

/* Of a third of the sum of cubes the second derivative along u is adjoint(2 slice(v) slice(u)). */
static void second_order(scene_t *s)
{
    float *u = slice_random(s->c.nnz, &seed), *along = slice_poison(s->count * s->c.n),
          *got = slice_poison(s->c.nnz);
    lac_slice_opts_t by_u = {.size = sizeof by_u, .val = u};
    unit_expect(slice(s, &by_u), LAC_OK, "along");
    memcpy(along, s->out, (size_t)(s->count * s->c.n) * sizeof *along);
    unit_expect(slice(s, NULL), LAC_OK, "slice");
    for (int64_t p = 0; p < s->count * s->c.n; p++) s->out[p] *= 2.0f * along[p];
    unit_expect(adjoint(s, got), LAC_OK, "adjoint");
    for (int64_t r = 0; r < s->c.m; r++)
        for (int64_t e = s->c.first[r]; e < s->c.first[r + 1];
             e++) { /* differences of v^2, exact in double */
            double up = (double)s->c.val[e] + 1e-3 * (double)u[e],
                   down = (double)s->c.val[e] - 1e-3 * (double)u[e];
            double want = (double)times_picked(s, r) * (up * up - down * down) / 2e-3;
            assert_true(fabs((double)got[e] - want) <= 1e-4 * (fabs(want) + 1.0));
        }
    free(u), free(along), free(got);
}

/* Values and lists of rows in a batch: one pattern, attached once. */
static void batched(scene_t *s)
{
    float *val = slice_poison(s->c.nnz);
    lac_slice_opts_t each = {.size = sizeof each, .val = val};
    for (int trial = 1; trial <= 3; trial++) {
        for (int64_t e = 0; e < s->c.nnz; e++) val[e] = (float)trial * s->c.val[e];
        for (int64_t i = 0; i < s->count; i++) s->rows[i] = (s->rows[i] + trial) % s->c.m;
        unit_expect(slice(s, &each), LAC_OK, "slice");
        expect(s, (float)trial, "batched");
    }
    free(val);
}

/* The same call again, as a compiled function makes it: the same bits, on whatever was there before. */
static void called_again(scene_t *s)
{
    for (int turn = 0; turn < 3; turn++) {
        memset(s->out, 0x7f, (size_t)(s->count * s->c.n) * sizeof *s->out);
        multiple_rows(s);
    }
}

static const struct {
    const char *name;
    void (*act)(scene_t *s);
} acts[] = {
    {"single row", single_row},     {"multiple rows", multiple_rows}, {"duplicate rows", duplicate_rows},
    {"rows outside", rows_outside}, {"homogeneous", homogeneous},     {"per entry", per_entry},
    {"forward mode", forward_mode}, {"reverse mode", reverse_mode},   {"second order", second_order},
    {"batched", batched},           {"called again", called_again}};
enum { ACTS = sizeof acts / sizeof *acts };

static void run(void **state)
{
    int which = *(int *)*state, size = which % SIZES;
    scene_t s = {.count = sizes[size].count};
    if (unit_quick() && size > 1) skip();
    slice_case_make(&s.c, sizes[size].m, sizes[size].n, sizes[size].density, size % 2 ? LAC_I64 : LAC_I32,
                    true, &seed);
    s.rows = malloc((size_t)s.count * sizeof *s.rows);
    assert_non_null(s.rows);
    for (int64_t i = 0; i < s.count; i++) s.rows[i] = unit_between(&seed, 0, s.c.m - 1);
    s.out = slice_poison(s.count * s.c.n);
    s.view = lac_obj_rowmajor(LAC_F32, s.count, s.c.n, s.out, s.c.n);
    acts[which / SIZES].act(&s);
    free(s.rows), free(s.out);
    slice_case_free(&s.c);
}

static int teardown(void **state)
{
    (void)state;
    slice_ctx_free();
    return 0;
}

int main(void)
{
    static char names[ACTS * SIZES][48];
    static int which[ACTS * SIZES];
    static struct CMUnitTest tests[ACTS * SIZES];
    for (int i = 0; i < ACTS * SIZES; i++) {
        snprintf(names[i], sizeof names[i], "%s, %s", acts[i / SIZES].name, sizes[i % SIZES].name);
        which[i] = i;
        tests[i] = (struct CMUnitTest){names[i], run, NULL, NULL, &which[i]};
    }
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, teardown);
}
