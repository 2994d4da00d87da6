/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * slice_rows, slice_grad and slice_sum against plain loops, to the bit, on every instruction set: any
 * strides, any ranges, rows that are not there. */
#include "kernel_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIZE ((int64_t)sizeof(real_t))

/* One S and a list of rows; sums are of small multiples of 1/4, exact in any order. */
typedef struct picked {
    int64_t m, n, count;
    real_t *s;
    lac_rows_t rows;
    int64_t *wide;
    int32_t *narrow;
} picked_t;

static void *need(int64_t bytes)
{
    void *p = malloc((size_t)bytes + 1);
    assert_non_null(p);
    return p;
}

static picked_t make(int64_t m, int64_t n, int64_t count, double density, uint64_t seed)
{
    picked_t p = {.m = m, .n = n, .count = count, .s = need(m * n * SIZE)};
    int64_t *ptr = need((m + 1) * 8);
    int32_t *idx = need(m * n * 4);
    real_t *val = need(m * n * SIZE);
    ptr[0] = 0;
    for (int64_t i = 0; i < m; i++) {
        int64_t e = ptr[i];
        for (int64_t j = 0; j < n; j++) {
            bool there = (double)(next_random(&seed) % 100000) < density * 1e5;
            p.s[i * n + j] = there ? (real_t)(next_random(&seed) % 64 + 1) / 4.0F : 0.0F;
            if (!there) continue;
            idx[e] = (int32_t)j;
            val[e++] = p.s[i * n + j];
        }
        ptr[i + 1] = e;
    }
    p.rows = (lac_rows_t){m, n, ptr, idx, val};
    p.wide = need(count * 8), p.narrow = need(count * 4);
    for (int64_t i = 0; i < count; i++) {
        p.narrow[i] = (int32_t)(next_random(&seed) % (uint64_t)(m + 2)) - 1; /* -1 and m are no rows */
        p.wide[i] = p.narrow[i];
    }
    return p;
}

static void destroy(picked_t *p)
{
    rows_free(&p->rows);
    free(p->s), free(p->wide), free(p->narrow);
}

static real_t element(const picked_t *p, int64_t i, int64_t j, real_t weight)
{
    int64_t row = p->wide[i];
    real_t x = row < 0 || row >= p->m ? 0.0F : p->s[row * p->n + j];
    return p->rows.val || x == 0.0F ? x : weight;
}

static void check_rows(const lac_host_kernels_t *k, const picked_t *p, int64_t rs, int64_t cs, bool narrow,
                       bool past, const int64_t range[4])
{
    int64_t extent = (p->count - 1) * rs + (p->n - 1) * cs + 1;
    real_t *out = need(extent * SIZE), *want = need(extent * SIZE);
    lac_row_indices_t picks = {p->count, p->wide, !narrow};
    if (narrow) picks.rows = p->narrow;
    memset(out, 0x7f, (size_t)(extent * SIZE));
    memcpy(want, out, (size_t)(extent * SIZE));
    for (int64_t i = range[0]; i < range[1]; i++)
        for (int64_t j = range[2]; j < range[3]; j++) want[i * rs + j * cs] = element(p, i, j, 2.5F);
    k->slice_rows(&p->rows, 2.5F, &picks, range[0], range[1], range[2], range[3], out, rs, cs, past);
    for (int64_t x = 0; x < extent; x++)
        if (memcmp(out + x, want + x, sizeof *out))
            fail_msg("slice_rows %s: %lld of %lld x %lld, strides %lld %lld: place %lld is %g, not %g",
                     k->isa, (long long)p->count, (long long)p->m, (long long)p->n, (long long)rs,
                     (long long)cs, (long long)x, (double)out[x], (double)want[x]);
    free(out), free(want);
}

/* The slices of each row, by plain loops. */
static void invert(const picked_t *p, int64_t *first, int64_t *place)
{
    int64_t at = 0;
    for (int64_t r = 0; r < p->m; r++) {
        first[r] = at;
        for (int64_t i = 0; i < p->count; i++)
            if (p->wide[i] == r) place[at++] = i;
    }
    first[p->m] = at;
}

static void check_grad(const lac_host_kernels_t *k, const picked_t *p, int64_t rs, int64_t cs, int64_t cuts)
{
    int64_t nnz = p->rows.ptr[p->m], *first = need((p->m + 1) * 8), *place = need(p->count * 8);
    int64_t extent = (p->count - 1) * rs + (p->n - 1) * cs + 1;
    real_t *g = need(extent * SIZE), *grad = need(nnz * SIZE);
    uint64_t seed = 9;
    for (int64_t x = 0; x < extent; x++) g[x] = (real_t)(next_random(&seed) % 64) / 4.0F;
    memset(grad, 0x7f, (size_t)(nnz * SIZE));
    invert(p, first, place);
    for (int64_t c = 0; c < cuts; c++)
        k->slice_grad(&p->rows, first, place, nnz * c / cuts, nnz * (c + 1) / cuts, g, rs, cs, grad);
    for (int64_t r = 0; r < p->m; r++) {
        const int32_t *idx = p->rows.idx + p->rows.ptr[r];
        int64_t length = p->rows.ptr[r + 1] - p->rows.ptr[r];
        double all = 0, sums = 0;
        for (int64_t e = 0; e < length; e++) {
            real_t want = 0;
            for (int64_t q = first[r]; q < first[r + 1]; q++) want += g[place[q] * rs + idx[e] * cs];
            all += (double)want;
            if (grad[p->rows.ptr[r] + e] != want)
                fail_msg("slice_grad %s: row %lld entry %lld", k->isa, (long long)r, (long long)e);
        }
        for (int64_t q = first[r]; q < first[r + 1]; q++)
            sums += k->slice_sum(idx, length, g + place[q] * rs, cs);
        if (sums != all) fail_msg("slice_sum %s: row %lld", k->isa, (long long)r);
    }
    free(first), free(place), free(g), free(grad);
}

static void test_slices(void **state)
{
    (void)state;
    static const struct {
        int64_t m, n, count;
        double density;
    } shapes[] = {{1, 1, 1, 1},       {4, 16, 70, 0.3}, {9, 65, 64, 0.5}, {3, 4100, 9, 0.1},
                  {5, 9000, 3, 0.01}, {20, 40, 131, 0}, {1, 16, 700, 0.5}};
    for (int isa = 0; kernel_isa(isa); isa++)
        for (size_t x = 0; x < sizeof shapes / sizeof *shapes; x++) {
            picked_t p = make(shapes[x].m, shapes[x].n, shapes[x].count, shapes[x].density, x + 1);
            const real_t *val = p.rows.val;
            const int64_t whole[] = {0, p.count, 0, p.n}, none[] = {p.count / 2, p.count / 2, 0, p.n};
            const int64_t inner[] = {p.count / 3, p.count - p.count / 4, p.n / 5, p.n - p.n / 7};
            for (int layout = 0; layout < 4; layout++) {
                int64_t rs = layout == 0 ? p.n + 3 : layout == 1 ? 1 : layout == 2 ? 2 * p.n + 1 : 3;
                int64_t cs = layout == 0 ? 1 : layout == 1 ? p.count + 1 : layout == 2 ? 2 : 3 * p.count;
                for (int round = 0; round < 4; round++) {
                    bool past = round / 2;
                    p.rows.val = (layout + round) % 2 ? val : NULL;
                    check_rows(kernel_isa(isa), &p, rs, cs, layout < 2, past, whole);
                    check_rows(kernel_isa(isa), &p, rs, cs, layout > 1, past, inner);
                    check_rows(kernel_isa(isa), &p, rs, cs, true, past, none);
                }
                check_grad(kernel_isa(isa), &p, rs, cs, 1);
                check_grad(kernel_isa(isa), &p, rs, cs, 7);
            }
            p.rows.val = val;
            destroy(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
