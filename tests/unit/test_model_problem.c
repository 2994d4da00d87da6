/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The plain-data problem and its two sided views, against C = op(A) op(B) element by element. */
#include "unit_support.h"
#include "route/route.h"
#include "route/sided.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 6, ROOM = 400 };

static float arena[3][ROOM];

/* Small integers: every sum is exact. */
static void fill_arena(uint64_t *random)
{
    for (int x = 0; x < 3; x++)
        for (int i = 0; i < ROOM; i++) arena[x][i] = (float)unit_between(random, -4, 4);
}

/* A view of rows x cols as the product uses it, stored transposed or not, in some layout, signs included. */
static lac_obj_t some_view(uint64_t *random, int which, int64_t rows, int64_t cols)
{
    bool exchanged = unit_random(random) & 1, by_rows = unit_random(random) & 1;
    int64_t m = exchanged ? cols : rows, n = exchanged ? rows : cols, step = unit_between(random, 1, 2);
    int64_t ld = (by_rows ? n : m) * step + unit_between(random, 0, 2);
    lac_obj_t x = {LAC_F32,
                   LAC_HOST,
                   exchanged ? LAC_TRANS : LAC_NO_TRANS,
                   m,
                   n,
                   by_rows ? ld : step,
                   by_rows ? step : ld,
                   arena[which],
                   NULL};
    if (unit_random(random) & 1) x.buf = (float *)x.buf + (m - 1) * x.rs, x.rs = -x.rs;
    if (unit_random(random) & 1) x.buf = (float *)x.buf + (n - 1) * x.cs, x.cs = -x.cs;
    return x;
}

static float element(const lac_obj_t *x, int64_t r, int64_t c)
{
    const float *buf = x->buf;
    return x->trans == LAC_TRANS ? buf[c * x->rs + r * x->cs] : buf[r * x->rs + c * x->cs];
}

static void expect_describes(const lac_problem_t *p, const lac_obj_t *a, const lac_obj_t *b,
                             const lac_obj_t *c)
{
    const float *pa = p->a.buf, *pb = p->b.buf, *pc = p->c;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t k = 0; k < p->k; k++) assert_true(pa[i * p->a.rs + k * p->a.cs] == element(a, i, k));
    for (int64_t k = 0; k < p->k; k++)
        for (int64_t j = 0; j < p->n; j++) assert_true(pb[k * p->b.rs + j * p->b.cs] == element(b, k, j));
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) assert_true(pc[i * p->crs + j * p->ccs] == element(c, i, j));
    assert_int_equal(p->a.transposed, a->trans == LAC_TRANS);
    assert_int_equal(p->b.transposed, b->trans == LAC_TRANS);
}

/* Writes the product through the sided view's strides; every element must be the plain product's. */
static void expect_sided(const lac_problem_t *p, lac_side_t side, const lac_obj_t *a, const lac_obj_t *b,
                         const lac_obj_t *c)
{
    lac_sided_t s = lac_sided(p, side);
    const float *sparse = s.s->buf, *w_source = s.w->buf;
    assert_int_equal(s.m * s.n, p->m * p->n);
    for (int64_t i = 0; i < s.m; i++)
        for (int64_t j = 0; j < s.n; j++) {
            float sum = 0.0f;
            for (int64_t k = 0; k < s.k; k++)
                sum += sparse[i * s.srs + k * s.scs] * w_source[k * s.wrs + j * s.wcs];
            ((float *)p->c)[i * s.ors + j * s.ocs] = sum;
        }
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float sum = 0.0f;
            for (int64_t k = 0; k < p->k; k++) sum += element(a, i, k) * element(b, k, j);
            if (element(c, i, j) != sum)
                fail_msg("side '%s': element %ld, %ld", lac_side_name(side), (long)i, (long)j);
        }
    /* S is the transpose of what its metadata describes, exactly where its rows run along stored columns. */
    const lac_obj_t *stored = side == LAC_SIDE_RIGHT ? b : a, *other = side == LAC_SIDE_RIGHT ? a : b;
    assert_int_equal(s.srs, s.s_transposed ? stored->cs : stored->rs);
    assert_int_equal(s.scs, s.s_transposed ? stored->rs : stored->cs);
    assert_int_equal(s.wrs, s.w_transposed ? other->cs : other->rs);
    assert_int_equal(s.m, s.s_transposed ? stored->n : stored->m);
}

static void test_transposes_and_strides(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (int round = 0; round < (unit_quick() ? 200 : 3000); round++) {
        lac_problem_t p;
        int64_t m = unit_between(&random, 1, MOST), n = unit_between(&random, 1, MOST),
                k = unit_between(&random, 1, MOST);
        fill_arena(&random);
        lac_obj_t a = some_view(&random, 0, m, k), b = some_view(&random, 1, k, n),
                  c = some_view(&random, 2, m, n);
        lac_problem_describe(&p, 2.0f, &a, &b, 3.0f, &c);
        assert_true(p.m == m && p.n == n && p.k == k && p.alpha == 2.0f && p.beta == 3.0f);
        expect_describes(&p, &a, &b, &c);
        expect_sided(&p, LAC_SIDE_LEFT, &a, &b, &c);
        expect_sided(&p, LAC_SIDE_RIGHT, &a, &b, &c);
    }
}

static void test_formats_of_a_side(void **state)
{
    (void)state;
    for (int exchanged = 0; exchanged < 2; exchanged++)
        for (int side = LAC_SIDE_LEFT; side <= LAC_SIDE_RIGHT; side++) {
            lac_problem_t p = {.m = 2, .n = 2, .k = 2};
            p.a.transposed = p.b.transposed = exchanged;
            lac_sided_t s = lac_sided(&p, (lac_side_t)side);
            bool transposed = exchanged != (side == LAC_SIDE_RIGHT);
            assert_int_equal(lac_sided_by_rows(&s), transposed ? LAC_FORMAT_CSC : LAC_FORMAT_CSR);
            assert_int_equal(lac_sided_by_k(&s), transposed ? LAC_FORMAT_CSR : LAC_FORMAT_CSC);
            assert_int_equal(lac_sided_k_major(&s), transposed ? LAC_FORMAT_PACKED_T : LAC_FORMAT_PACKED);
            assert_false(lac_sided_has_active(&s));
            p.a.formats = p.b.formats = 1u << LAC_FORMAT_ACTIVE;
            assert_int_equal(lac_sided_has_active(&s), !transposed);
        }
}

static void test_slices(void **state)
{
    (void)state;
    const struct {
        int64_t n, wrs, wcs;
        bool frozen, may_copy;
        lac_w_layout_t want;
    } cases[] = {{8, 8, 1, false, true, LAC_W_ROWS},     {8, 1, 8, false, true, LAC_W_COLS},
                 {8, 1, 8, true, true, LAC_W_PACKED},    {8, 1, 8, true, false, LAC_W_COLS},
                 {8, 16, 2, false, true, LAC_W_STRIDED}, {8, 16, 2, true, true, LAC_W_STRIDED},
                 {1, 1, 8, false, true, LAC_W_COLS},     {1, 3, 8, false, true, LAC_W_ROWS},
                 {1, -3, 8, false, true, LAC_W_ROWS},    {8, 1, -8, false, true, LAC_W_COLS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lac_problem_t p = {.m = 2, .n = cases[i].n, .k = 8, .settings.may_copy = cases[i].may_copy};
        p.b = (lac_operand_t){.rs = cases[i].wrs, .cs = cases[i].wcs, .frozen = cases[i].frozen};
        lac_sided_t s = lac_sided(&p, LAC_SIDE_LEFT);
        if (lac_sided_w_layout(&p, &s) != cases[i].want) fail_msg("case %d", (int)i);
    }
}

static void test_what_is_known(void **state)
{
    (void)state;
    static const int32_t ptr[] = {0, 1, 2}, idx[] = {0, 1}, active[] = {1};
    static const float val[] = {1, 2};
    float buf[8] = {0};
    lac_meta_t *meta;
    lac_problem_t p;
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, 2, 4, buf, 4), b = lac_obj_rowmajor(LAC_F32, 4, 1, buf, 1),
              c = lac_obj_rowmajor(LAC_F32, 2, 1, buf, 1);
    lac_problem_describe(&p, 1, &a, &b, 0, &c);
    assert_true(p.a.known == LAC_KNOWN_NOT && p.a.density < 0 && !p.a.formats && !p.a.frozen &&
                p.a.k_active < 0);
    unit_expect(lac_meta_create(&meta, 2, 4), LAC_OK, "create");
    a.meta = meta;
    unit_expect(lac_meta_attach_active(meta, 1, active, val), LAC_OK, "active");
    lac_problem_describe(&p, 1, &a, &b, 0, &c);
    assert_true(p.a.known == LAC_KNOWN_ATTACHED && fabs(lac_active_fraction(p.a.density, 2) - 0.25) < 1e-12);
    unit_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), LAC_OK, "csr");
    lac_problem_describe(&p, 1, &a, &b, 0, &c);
    assert_true(p.a.known == LAC_KNOWN_ATTACHED && p.a.density == 0.25);
    unit_expect(lac_meta_freeze(meta), LAC_OK, "freeze");
    lac_problem_describe(&p, 1, &a, &b, 0, &c);
    assert_true(p.a.known == LAC_KNOWN_FROZEN && p.a.frozen);
    unit_expect(lac_meta_touch(meta), LAC_OK, "touch");
    lac_problem_describe(&p, 1, &a, &b, 0, &c);
    assert_true(p.a.known == LAC_KNOWN_SCANNED && !p.a.frozen && !p.a.formats); /* a hint */
    lac_meta_free(meta);
}

static void test_active_fraction(void **state)
{
    (void)state;
    assert_true(lac_active_fraction(0.0, 10) == 0.0 && lac_active_fraction(-1.0, 10) == 0.0);
    assert_true(lac_active_fraction(1.0, 10) == 1.0 && lac_active_fraction(2.0, 10) == 1.0);
    assert_true(lac_active_fraction(0.5, 0) == 0.0 && lac_active_fraction(0.5, -3) == 0.0);
    for (double d = 1e-9; d < 1.0; d *= 1.7) {
        assert_true(fabs(lac_active_fraction(d, 1) - d) <= 1e-15 + 1e-12 * d);
        assert_true(fabs(lac_active_fraction(d, 2) - (1 - (1 - d) * (1 - d))) <= 1e-12);
        double last = 0.0;
        for (double rows = 1; rows < 1e6; rows *= 3) {
            double f = lac_active_fraction(d, rows);
            assert_true(f >= last && f <= 1.0);
            last = f;
            if (f < 0.999) assert_true(fabs(lac_active_density(f, rows) / d - 1.0) < 1e-6);
        }
    }
    assert_true(lac_active_density(0.0, 10) == 0.0 && lac_active_density(1.0, 10) == 1.0);
    assert_true(lac_active_density(0.5, 0) == 0.0);
    /* Where 1 - (1 - d)^rows would round to nothing. */
    assert_true(fabs(lac_active_fraction(1e-18, 1000) / 1e-15 - 1.0) < 1e-9);
}

static void test_names(void **state)
{
    (void)state;
    for (int s = LAC_KNOWN_NOT; s <= LAC_KNOWN_FROZEN; s++) assert_true(lac_source_name((lac_source_t)s)[0]);
    assert_string_equal(lac_source_name(LAC_KNOWN_NOT), "none");
    assert_string_equal(lac_side_name(LAC_SIDE_NONE), "");
    assert_string_equal(lac_side_name(LAC_SIDE_RIGHT), "right");
    assert_string_equal(lac_refusal_text(LAC_FITS), "fits");
    assert_true(lac_refusal_text(LAC_REFUSED_STRICT_NAN)[0]);
}

static void test_machine(void **state)
{
    (void)state;
    lac_machine_t machine;
    lac_machine_default(&machine);
    for (int i = 0; i < lac_constant_count; i++) {
        assert_true(*lac_machine_value(&machine, i) == lac_constants[i].value && lac_constants[i].value > 0);
        for (int j = 0; j < i; j++) assert_string_not_equal(lac_constants[i].name, lac_constants[j].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_transposes_and_strides),
                                       cmocka_unit_test(test_formats_of_a_side),
                                       cmocka_unit_test(test_slices),
                                       cmocka_unit_test(test_what_is_known),
                                       cmocka_unit_test(test_active_fraction),
                                       cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_machine)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
