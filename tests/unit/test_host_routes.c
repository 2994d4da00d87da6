/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What every sparse route of the host promises the planner beside its product: the density that it counts,
 * the density from which it gives up, and the memory that it says it takes. On both sides, of extents that
 * are all different, from every source of the sparse operand. */
#include "unit_support.h"
#include "host/routes/routes.h"
#include "host/runtime/backend.h"
#include "host/runtime/exec.h"
#include "operand/problem.h"
#include "planner/backends.h"
#include "route/route.h"

#include "lacuna/meta.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_SLACK = 8192 }; /* what is rounded up */

/* S [m, k] and W [k, n] on either side. */
typedef struct shape {
    lac_dim_t m, n, k;
    double density;
} shape_t;

static const shape_t shapes[] = {{6, 40, 900, 0.1},   {7, 300, 2000, 0.03}, {500, 3, 90, 0.2},
                                 {90, 60, 500, 0.05}, {400, 50, 60, 0.3},   {300, 700, 40, 0.3}};

/* What is known of S, and how the operands lie. */
typedef struct source {
    const char *name;
    unsigned scanned; /* formats, of a frozen S; 0: its buffer alone */
    bool by_columns;  /* S */
    bool w_columns;
    bool bytes; /* S is of u8 */
} source_t;

static const source_t sources[] = {{"scan", 0, false, false, false},
                                   {"scan by columns", 0, true, false, false},
                                   {"scan of u8", 0, false, false, true},
                                   {"scan, W by columns", 0, false, true, false},
                                   {"csr", LAC_META_CSR, false, false, false},
                                   {"csc", LAC_META_CSC, false, false, false},
                                   {"csr, W by columns", LAC_META_CSR, false, true, false},
                                   {"bitmask", LAC_META_BITMASK, false, false, false},
                                   {"bitmask, by columns", LAC_META_BITMASK, true, true, false},
                                   {"active list", LAC_META_ACTIVE, false, false, false}};

typedef struct fixture {
    lac_machine_t machine;
    lac_exec_t exec;
    lac_problem_t p;
    lac_meta_t *meta;
    float *s, *w, *c;
    uint8_t *u8;
    int64_t nnz, active;
    char what[128];
} fixture_t;

static void *need(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    assert_non_null(memory);
    return memory;
}

/* Every k but each third has nonzeros. */
static void fill(fixture_t *f, const shape_t *shape, const source_t *source)
{
    uint64_t random = 5;
    const lac_dim_t m = shape->m, k = shape->k, most = (lac_dim_t)(1000.0 * 1.5 * shape->density);
    char *seen = need(k, 1);
    f->s = need(m * k, sizeof *f->s), f->u8 = need(m * k, 1);
    f->w = need(k * shape->n, sizeof *f->w), f->c = need(m * shape->n, sizeof *f->c);
    for (lac_dim_t i = 0; i < m; i++)
        for (lac_dim_t l = 0; l < k; l++) {
            if (unit_between(&random, 0, 999) >= most || l % 3 == 1) continue;
            const lac_dim_t at = source->by_columns ? i + l * m : i * k + l;
            f->u8[at] = 1;
            f->s[at] = source->bytes ? 1.0f : (float)unit_between(&random, 1, 8);
            f->nnz++, seen[l] = 1;
        }
    for (lac_dim_t l = 0; l < k; l++) f->active += seen[l];
    for (lac_dim_t e = 0; e < k * shape->n; e++) f->w[e] = (float)unit_between(&random, -8, 8);
    free(seen);
}

/* The same product with S as its left operand, or transposed as its right one. */
static void make(fixture_t *f, lac_ctx_t *ctx, const shape_t *shape, const source_t *source,
                 const lac_route_t *route, int threads)
{
    const lac_dim_t m = shape->m, n = shape->n, k = shape->k;
    const bool right = route->side == LAC_SIDE_RIGHT;
    memset(f, 0, sizeof *f);
    lac_machine_default(&f->machine);
    f->exec = (lac_exec_t){.kernels = {lac_host_kernels(LAC_HOST_F32)}, .machine = &f->machine};
    snprintf(f->what, sizeof f->what, "%s %s, %s, S %ld x %ld, W %ld x %ld, %d threads", route->name,
             lac_side_name(route->side), source->name, (long)m, (long)k, (long)k, (long)n, threads);
    fill(f, shape, source);
    lac_obj_t s = source->by_columns ? lac_obj_colmajor(LAC_F32, m, k, f->s, m)
                                     : lac_obj_rowmajor(LAC_F32, m, k, f->s, k);
    lac_obj_t w = source->w_columns ? lac_obj_colmajor(LAC_F32, k, n, f->w, k)
                                    : lac_obj_rowmajor(LAC_F32, k, n, f->w, n);
    lac_obj_t c = lac_obj_rowmajor(LAC_F32, m, n, f->c, n);
    if (source->bytes) s.dt = LAC_U8, s.buf = f->u8;
    if (source->scanned) {
        unit_expect(lac_meta_create(&f->meta, m, k), LAC_OK, "create");
        s.meta = f->meta;
        unit_expect(lac_meta_freeze(f->meta), LAC_OK, "freeze");
        unit_expect(lac_meta_scan(ctx, &s, source->scanned), LAC_OK, "scan");
    }
    if (right) s.trans = w.trans = c.trans = LAC_TRANS;
    if (right)
        lac_problem_describe(&f->p, 1.0f, &w, &s, 0.0f, &c);
    else
        lac_problem_describe(&f->p, 1.0f, &s, &w, 0.0f, &c);
    f->p.settings.threads = threads;
    lac_operand_t *x = right ? &f->p.b : &f->p.a;
    if (x->density < 0) x->density = (double)f->nnz / ((double)m * (double)k), x->known = LAC_KNOWN_PROBED;
}

static void drop(fixture_t *f)
{
    for (int i = 0; i < LAC_WORK_COUNT; i++) lac_buffer_free(&f->exec.work[i]);
    lac_meta_free(f->meta);
    free(f->s), free(f->u8), free(f->w), free(f->c);
}

static lac_outcome_t run(fixture_t *f, const lac_route_t *route)
{
    lac_outcome_t out = {false, -1.0, -1.0, NULL};
    unit_expect(route->run(route, &f->exec, &f->p, &out), LAC_OK, f->what);
    return out;
}

static void expect_product(const fixture_t *f, const shape_t *shape, const source_t *source)
{
    const lac_dim_t m = shape->m, n = shape->n, k = shape->k;
    for (lac_dim_t i = 0; i < m; i += 1 + m / 7)
        for (lac_dim_t j = 0; j < n; j += 1 + n / 7) {
            double sum = 0.0;
            for (lac_dim_t l = 0; l < k; l++)
                sum += (double)f->s[source->by_columns ? i + l * m : i * k + l] *
                       (double)f->w[source->w_columns ? l + j * k : l * n + j];
            if ((double)f->c[i * n + j] != sum) fail_msg("%s: element %ld, %ld", f->what, (long)i, (long)j);
        }
}

static void expect_counted(const fixture_t *f, const shape_t *shape, const lac_outcome_t *out)
{
    const double density = (double)f->nnz / ((double)shape->m * (double)shape->k),
                 active = (double)f->active / (double)shape->k;
    if (out->declined) fail_msg("%s: gave up, without a limit", f->what);
    if (!(fabs(out->density - density) <= 1e-12))
        fail_msg("%s: density %g, expected %g", f->what, out->density, density);
    if (out->k_active >= 0.0 && !(fabs(out->k_active - active) <= 1e-12))
        fail_msg("%s: active k %g, expected %g", f->what, out->k_active, active);
}

/* What a run holds: its workspace, which is a quarter larger than was asked for, and the formats that it made
 * and that stay with the operand. */
static void expect_held(const fixture_t *f, size_t said, size_t others)
{
    const double work = (double)lac_backend_host.bytes(&f->exec) / 1.25,
                 held = work + (double)(lac_meta_bytes(f->meta) - others);
    if (!(held >= 0.95 * (double)said - BYTES_SLACK && held <= 1.05 * (double)said + BYTES_SLACK))
        fail_msg("%s: holds %.0f bytes, and said %zu", f->what, held, said);
}

typedef void (*check_fn)(fixture_t *f, const shape_t *shape, const source_t *source,
                         const lac_route_t *route);

/* Every route, shape and source that fit; how many. */
static int for_each(lac_ctx_t *ctx, int threads, check_fn check)
{
    int rows, cases = 0;
    const lac_route_t *const *table = lac_host_routes(&rows);
    for (int row = 0; row < rows; row++) {
        int before = cases;
        if (table[row]->role != LAC_ROLE_SPARSE) continue;
        for (size_t h = 0; h < sizeof shapes / sizeof *shapes; h++)
            for (size_t o = 0; o < sizeof sources / sizeof *sources; o++) {
                fixture_t f;
                make(&f, ctx, &shapes[h], &sources[o], table[row], 1 + (int)(h + o) % threads);
                if (table[row]->applicable(table[row], &f.p) == LAC_FITS) {
                    check(&f, &shapes[h], &sources[o], table[row]);
                    cases++;
                }
                drop(&f);
            }
        if (cases == before) fail_msg("%s: nothing that it serves", table[row]->name);
    }
    return cases;
}

static void check_run(fixture_t *f, const shape_t *shape, const source_t *source, const lac_route_t *route)
{
    const size_t said = route->bytes(route, &f->p);
    const size_t others = lac_meta_bytes(f->meta);
    const lac_outcome_t out = run(f, route);
    expect_counted(f, shape, &out);
    expect_product(f, shape, source);
    expect_held(f, said, others);
}

static void test_counted_and_held(void **state)
{
    assert_true(for_each(*state, 1, check_run) > 100);
}

static int limited;

/* Just under what there is, it gives up before it writes, wherever its nonzeros come from; from there on it
 * does not. */
static void check_limit(fixture_t *f, const shape_t *shape, const source_t *source, const lac_route_t *route)
{
    const double elements = (double)shape->m * (double)shape->k;
    for (lac_dim_t e = 0; e < shape->m * shape->n; e++) f->c[e] = NAN;
    f->p.terms.density_limit = ((double)f->nnz - 0.5) / elements;
    if (!run(f, route).declined) fail_msg("%s: does not give up", f->what);
    for (lac_dim_t e = 0; e < shape->m * shape->n; e++)
        if (!isnan(f->c[e])) fail_msg("%s: gave up, and wrote", f->what);
    f->p.terms.density_limit = ((double)f->nnz + 0.5) / elements;
    const lac_outcome_t out = run(f, route);
    expect_counted(f, shape, &out);
    expect_product(f, shape, source);
    limited++;
}

static void test_limit(void **state)
{
    for_each(*state, 3, check_limit);
    assert_true(limited > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counted_and_held), cmocka_unit_test(test_limit)};
    unit_begin();
    return cmocka_run_group_tests(tests, unit_setup, unit_teardown);
}
