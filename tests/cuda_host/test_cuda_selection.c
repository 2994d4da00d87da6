/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The CUDA backend's route table weighed on the constants of an H200: refusals, memory, and the choices that
 * were the fastest there. Needs no device: nothing here runs. */
#include "cuda_table_support.h"
#include "unit_support.h"
#include "planner/select.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const lac_route_t *const *table;
static int count;
static lac_machine_t machine;
static bool has_cusparse, has_tiles;

/* How an operand comes: 'p' plain, 'f' frozen, 's' sparse only. Layouts: 'r' by rows, 'c' by columns, 'x' by
 * neither. */
typedef struct shape {
    const char *layouts, *kinds; /* of a, b, c; of a, b */
    lac_dim_t m, k, n;
    double a, b; /* densities; negative: unknown */
} shape_t;

static lac_obj_t operand(char layout, char kind, lac_dim_t rows, lac_dim_t cols, double density,
                         lac_meta_t **meta)
{
    static float somewhere[4] __attribute__((aligned(16))); /* never read */
    static const int64_t no_ptr[1];
    static const int32_t no_idx[1];
    lac_obj_t x = layout == 'c' ? lac_obj_colmajor(LAC_F32, rows, cols, somewhere, rows)
                                : lac_obj_rowmajor(LAC_F32, rows, cols, somewhere, cols);
    if (layout == 'x') x.rs *= 2, x.cs *= 2;
    x.space = LAC_DEVICE;
    *meta = NULL;
    if (kind == 'p') return x;
    unit_expect(lac_meta_create(meta, rows, cols), LAC_OK, "meta");
    x.meta = *meta;
    (*meta)->nnz = (int64_t)(density * (double)rows * (double)cols);
    lac_format_data_t csr = {
        .origin = LAC_ORIGIN_ATTACHED, .count = (*meta)->nnz, .ptr = no_ptr, .idx = no_idx};
    if (kind == 'f') lac_meta_freeze(x.meta);
    if (kind == 's') lac_meta_install(x.meta, LAC_FORMAT_CSR, &csr), x.buf = NULL;
    return x;
}

static void describe(const shape_t *s, lac_problem_t *p, lac_meta_t *meta[2])
{
    lac_meta_t *none;
    lac_obj_t a = operand(s->layouts[0], s->kinds[0], s->m, s->k, s->a, &meta[0]),
              b = operand(s->layouts[1], s->kinds[1], s->k, s->n, s->b, &meta[1]),
              c = operand(s->layouts[2], 'p', s->m, s->n, 1.0, &none);
    lac_problem_describe(p, 1.0f, &a, &b, 0.0f, &c);
    if (s->kinds[0] == 'p') p->a.density = s->a;
    if (s->kinds[1] == 'p') p->b.density = s->b;
}

static const lac_route_t *row(const char *name, lac_side_t side)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(table[i]->name, name) && table[i]->side == side) return table[i];
    fail_msg("no route %s", name);
    return NULL;
}

static lac_refusal_t refusal(const shape_t *s, const char *name, lac_side_t side, bool named)
{
    lac_problem_t p;
    lac_meta_t *meta[2];
    describe(s, &p, meta);
    p.terms.named = named;
    const lac_route_t *route = row(name, side);
    lac_refusal_t answer = route->applicable(route, &p);
    lac_meta_free(meta[0]);
    lac_meta_free(meta[1]);
    return answer;
}

static void test_refusals(void **state)
{
    (void)state;
    shape_t plain = {"rrr", "pp", 100, 200, 300, 0.1, -1.0}, frozen = plain, given = plain, pair = plain,
            neither = plain, unknown = plain;
    frozen.kinds = "fp", given.kinds = "sp", pair.kinds = "ss", pair.b = 0.1;
    neither.layouts = "rxr", unknown.a = -1.0;
    assert_int_equal(refusal(&plain, "csr", LAC_SIDE_LEFT, false), LAC_FITS);
    assert_int_equal(refusal(&plain, "csr", LAC_SIDE_RIGHT, false), LAC_REFUSED_DENSITY_UNKNOWN);
    assert_int_equal(refusal(&unknown, "csr", LAC_SIDE_LEFT, false), LAC_REFUSED_DENSITY_UNKNOWN);
    assert_int_equal(refusal(&neither, "csr", LAC_SIDE_LEFT, false), LAC_FITS);
    assert_int_equal(refusal(&neither, "event", LAC_SIDE_LEFT, false), LAC_REFUSED_W_STRIDES);
    assert_int_equal(refusal(&pair, "csr", LAC_SIDE_LEFT, false), LAC_REFUSED_W_SPARSE);
    assert_int_equal(refusal(&pair, "event", LAC_SIDE_LEFT, false), LAC_FITS);
    assert_int_equal(refusal(&pair, "event", LAC_SIDE_RIGHT, false), LAC_FITS);
    assert_int_equal(refusal(&given, "event", LAC_SIDE_RIGHT, false), LAC_REFUSED_DENSITY_UNKNOWN);
    if (!has_cusparse) return;
    assert_int_equal(refusal(&plain, "cusparse", LAC_SIDE_LEFT, false), LAC_REFUSED_FORCED_ONLY);
    assert_int_equal(refusal(&plain, "cusparse", LAC_SIDE_LEFT, true), LAC_FITS);
    assert_int_equal(refusal(&frozen, "cusparse", LAC_SIDE_LEFT, true), LAC_FITS);
    assert_int_equal(refusal(&given, "cusparse", LAC_SIDE_LEFT, true), LAC_FITS);
    assert_int_equal(refusal(&given, "cusparse", LAC_SIDE_LEFT, false), LAC_REFUSED_FORCED_ONLY);
}

/* Every cost is a time, whatever the density, and none falls as the operand fills up. */
static void test_costs(void **state)
{
    (void)state;
    static const char *const layouts[] = {"rrr", "rcr", "ccc", "rxr"}, *const kinds[] = {"pp", "fp", "ff",
                                                                                         "sp", "ss"};
    static const lac_dim_t extents[][3] = {
        {1, 5000, 5000}, {10, 33, 5000}, {4096, 4096, 4096}, {20000, 300, 5}};
    for (int x = 0; x < 4 * 5 * 4; x++) {
        shape_t s = {layouts[x % 4],
                     kinds[x / 4 % 5],
                     extents[x / 20][0],
                     extents[x / 20][1],
                     extents[x / 20][2],
                     0,
                     0};
        double before[LAC_CANDIDATES_MAX] = {0};
        for (int step = 0; step <= 28; step++) { /* from 1e-5 to 0.9 */
            double d = 1e-5 * pow(1.5, step);
            lac_problem_t p;
            lac_meta_t *meta[2];
            s.a = s.b = d;
            describe(&s, &p, meta);
            for (int i = 0; i < count; i++) {
                if (table[i]->applicable(table[i], &p) != LAC_FITS) continue;
                double cost = table[i]->cost_us(table[i], &p, &machine);
                if (!(cost > 0.0) || !isfinite(cost) || cost < 0.9 * before[i])
                    fail_msg("%s: %g us at %g after %g us (%s %s)", table[i]->name, cost, d, before[i],
                             s.layouts, s.kinds);
                before[i] = cost;
            }
            lac_meta_free(meta[0]);
            lac_meta_free(meta[1]);
        }
    }
}

/* Of S on the left. */
static double cost(const shape_t *s, const char *route)
{
    lac_problem_t p;
    lac_meta_t *meta[2];
    describe(s, &p, meta);
    const lac_route_t *left = row(route, LAC_SIDE_LEFT);
    double us = left->cost_us(left, &p, &machine);
    lac_meta_free(meta[0]);
    lac_meta_free(meta[1]);
    return us;
}

/* What the plain kernel took on an H200 (bench/results/h200/regret.json, 2026-11-21), beside the start of a
 * launch from a stream: where it is faster than cuBLAS, it has to be tried for that to be found out. */
static void test_native_costs(void **state)
{
    (void)state;
    static const struct {
        lac_dim_t m, k, n;
        double us;
    } took[] = {{4, 4, 31, 1.8},      {160, 29, 97, 2.7},  {145, 51, 379, 4.5},   {548, 232, 23, 11.0},
                {75, 472, 150, 21.0}, {137, 2, 5401, 7.4}, {2779, 37, 135, 10.5}, {582, 3, 3069, 15.3}};
    const lac_route_t *plain = row("native", LAC_SIDE_NONE);
    lac_problem_t p;
    lac_meta_t *meta[2];
    for (size_t i = 0; i < sizeof took / sizeof *took; i++) {
        shape_t s = {"rrr", "pp", took[i].m, took[i].k, took[i].n, 1.0, 1.0};
        describe(&s, &p, meta);
        double ratio = plain->cost_us(plain, &p, &machine) / took[i].us;
        if (!(ratio > 0.8 && ratio < 1.3))
            fail_msg("%lldx%lldx%lld: %.2f of %g us", (long long)s.m, (long long)s.k, (long long)s.n, ratio,
                     took[i].us);
    }
}

/* What rows made in the call, and events times a sparse W, took on an H200 (2026-11-27;
 * docs/dev/experiments/csr.md, bench/results/h200/segments_2026-11-27.json). */
static void test_sparse_costs(void **state)
{
    (void)state;
    static const struct {
        const char *route;
        shape_t shape;
        double us;
    } took[] = {{"csr", {"rrr", "pp", 2048, 2048, 2048, 0.01, -1.0}, 57.3},
                {"csr", {"rrr", "pp", 4096, 4096, 4096, 0.01, -1.0}, 264.0},
                {"csr", {"rrr", "pp", 1024, 1024, 256, 0.02, -1.0}, 10.7},
                {"csr", {"rrr", "pp", 2000, 300, 700, 0.01, -1.0}, 11.7},
                {"csr", {"rrr", "pp", 4096, 4096, 16, 0.01, -1.0}, 29.3},
                {"event", {"rrr", "ps", 1, 40000, 40000, 0.01, 0.025}, 7.26},
                {"event", {"rrr", "ps", 1, 40000, 40000, 0.001, 0.025}, 4.92},
                {"event", {"rrr", "ps", 1, 40000, 40000, 0.1, 0.025}, 20.1},
                {"event", {"rrr", "ps", 1, 4000, 4000, 0.01, 0.02}, 3.42},
                {"event", {"rrr", "ps", 1, 400000, 400000, 0.002, 0.0002}, 8.11},
                {"event", {"rrr", "ss", 1, 40000, 40000, 0.01, 0.025}, 6.69},
                {"event", {"rrr", "ss", 1, 40000, 40000, 0.05, 0.025}, 12.3},
                {"event", {"rrr", "ss", 10, 40000, 40000, 0.01, 0.025}, 18.3},
                {"event", {"rrr", "ss", 4, 400000, 400000, 0.002, 0.0002}, 17.5}};
    for (size_t i = 0; i < sizeof took / sizeof *took; i++) {
        const shape_t *s = &took[i].shape;
        double ratio = cost(s, took[i].route) / took[i].us;
        if (!(ratio > 0.8 && ratio < 1.3))
            fail_msg("%s, %lldx%lldx%lld: %.2f of %g us", took[i].route, (long long)s->m, (long long)s->k,
                     (long long)s->n, ratio, took[i].us);
    }
}

/* Rows of S that do not lie side by side are read by sectors; a W by columns is transposed in a launch more.
 */
static void test_layouts_cost(void **state)
{
    (void)state;
    shape_t plain = {"rrr", "pp", 5000, 5000, 512, 0.01, -1.0}, across = plain,
            small = {"rrr", "pp", 10, 50, 100, 0.1, -1.0}, columns = small;
    across.layouts = "crr", columns.layouts = "rcr";
    assert_true(cost(&across, "csr") > cost(&plain, "csr") + 100.0);
    double more = cost(&columns, "csr") - cost(&small, "csr") - machine.cuda_launch_us;
    assert_true(more > 0.0 && more < 0.1);
}

/* The fastest of all on an H200 (2026-11-21, tiles 2026-11-26), by a good margin; "tiles" where the device at
 * hand has them, and the dense route stands behind. */
static void test_choices(void **state)
{
    (void)state;
    static const struct {
        shape_t shape;
        const char *route;
        lac_side_t side;
    } best[] = {
        {{"rrr", "pp", 10, 5000, 5000, 0.01, -1}, "event", LAC_SIDE_LEFT},
        {{"rrr", "pp", 5000, 5000, 10, -1, 0.001}, "event", LAC_SIDE_RIGHT},
        {{"rrr", "ss", 10, 5000, 5000, 0.01, 0.01}, "event", LAC_SIDE_LEFT},
        {{"rrr", "fp", 5000, 5000, 1, 0.05, -1}, "csr", LAC_SIDE_LEFT},
        {{"rrr", "fp", 5000, 5000, 8, 0.05, -1}, "csr", LAC_SIDE_LEFT},
        {{"rrr", "fp", 4096, 4096, 4096, 0.02, -1}, "csr", LAC_SIDE_LEFT},
        {{"rrr", "fp", 4096, 4096, 4096, 0.001, -1}, "csr", LAC_SIDE_LEFT},
        {{"rrr", "fp", 4096, 4096, 4096, 0.05, -1}, "csr", LAC_SIDE_LEFT},
        {{"rrr", "fp", 20000, 2000, 256, 0.01, -1}, "csr", LAC_SIDE_LEFT},
        {{"rrr", "fp", 4096, 4096, 4096, 0.5, -1}, "tiles", LAC_SIDE_LEFT},
        {{"rrr", "fp", 8192, 8192, 1, 0.5, -1}, "bitmask", LAC_SIDE_LEFT},
        {{"rrr", "fp", 8192, 8192, 4, 0.5, -1}, "bitmask", LAC_SIDE_LEFT},
        {{"rrr", "fp", 8192, 8192, 16, 0.7, -1}, "stream", LAC_SIDE_NONE},
        {{"rrr", "pp", 4096, 4096, 4096, -1, 1.0}, "tiles", LAC_SIDE_RIGHT},
        {{"rrr", "pp", 1, 1000000000, 1, 0.001, -1}, "dense", LAC_SIDE_NONE},
        {{"rrr", "fp", 4096, 4096, 4096, 1.0, -1}, "tiles", LAC_SIDE_LEFT},
        {{"rrr", "pp", 256, 256, 256, 1.0, 1.0}, "dense", LAC_SIDE_NONE},
        {{"rrr", "pp", 300, 4, 300, -1, -1}, "native", LAC_SIDE_NONE},
        {{"rrr", "pp", 300, 5, 300, -1, -1}, "dense", LAC_SIDE_NONE},
        {{"rrr", "pp", 3000, 4, 3000, -1, -1}, "stream", LAC_SIDE_NONE},
    };
    lac_problem_t p;
    lac_meta_t *meta[2];
    lac_preference_t none = {0};
    const lac_route_t *dense = row("dense", LAC_SIDE_NONE);
    for (size_t i = 0; i < sizeof best / sizeof *best; i++) {
        const shape_t *s = &best[i].shape;
        describe(s, &p, meta);
        lac_choice_t choice = lac_select(table, count, &p, &machine, &none);
        bool has_dense = dense->applicable(dense, &p) == LAC_FITS,
             behind = !has_tiles && !strcmp(best[i].route, "tiles");
        lac_side_t side = behind ? LAC_SIDE_NONE : best[i].side;
        const char *expected = behind ? "dense" : best[i].route;
        if (has_dense && (strcmp(choice.route->name, expected) != 0 || choice.route->side != side))
            fail_msg("%lldx%lldx%lld, %s, %g and %g: %s, expected %s", (long long)s->m, (long long)s->k,
                     (long long)s->n, s->kinds, s->a, s->b, choice.route->name, expected);
        lac_meta_free(meta[0]);
        lac_meta_free(meta[1]);
    }
}

/* Memory beyond the operands: nothing for what a caller attached, room for every element where rows are
 * built. */
static void test_bytes(void **state)
{
    (void)state;
    shape_t plain = {"rrr", "pp", 100, 200, 300, 0.1, -1.0}, given = plain, transposed = plain;
    const lac_route_t *csr = row("csr", LAC_SIDE_LEFT), *event = row("event", LAC_SIDE_LEFT);
    lac_problem_t p;
    lac_meta_t *meta[2];
    given.kinds = "sp", transposed.layouts = "rcr", transposed.kinds = "sp";
    describe(&plain, &p, meta);
    assert_true(csr->bytes(csr, &p) >= 100 * 200 * 8);
    assert_true(event->bytes(event, &p) > 0);
    describe(&given, &p, meta);
    assert_int_equal(csr->bytes(csr, &p), 0);
    assert_int_equal(event->bytes(event, &p), 0);
    lac_meta_free(meta[0]);
    describe(&transposed, &p, meta);
    assert_int_equal(csr->bytes(csr, &p), 200 * 300 * 4 + (256 - 200 * 300 * 4 % 256) % 256);
    lac_meta_free(meta[0]);
}

static int setup(void **state)
{
    (void)state;
    table = cuda_table(&count);
    lac_machine_default(&machine);
    shape_t frozen = {"rrr", "fp", 32, 32, 32, 0.1, -1.0};
    has_tiles = refusal(&frozen, "tiles", LAC_SIDE_LEFT, true) == LAC_FITS;
    has_cusparse = refusal(&frozen, "cusparse", LAC_SIDE_LEFT, true) != LAC_REFUSED_NO_CUSPARSE;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_costs),
        cmocka_unit_test(test_native_costs), cmocka_unit_test(test_sparse_costs),
        cmocka_unit_test(test_layouts_cost), cmocka_unit_test(test_choices),
        cmocka_unit_test(test_bytes)};
    unit_begin();
    return cmocka_run_group_tests(tests, setup, NULL);
}
