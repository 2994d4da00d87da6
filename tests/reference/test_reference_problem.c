/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Problem strings: round trips both ways, and no byte string that crashes. */
#include "ref_problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ref_random.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Canonical strings print as they were read. */
static void test_canonical_strings_print_unchanged(void **state)
{
    static const char *const strings[] = {
        "sgemm:NT:10x5000x5000:A=bern0.001:s7",
        "sgemm:NN:0x0x0:s0",
        "sgemm:TT:1x2x3:s18446744073709551615",
        "sgemm:NN:4096x4096x4096:A=block32x8-0.25:B=block8x32-0.5/e8:s1",
        "sgemm:NN:10x20x30:A=row0.1/p:B=col0.1/e30:C=dense/i:beta=1:s2",
        "sgemm:TN:10x20x30:A=band0.05/1:B=power0.01/i:dtA=u8:alpha=-0.5:beta=0.3333333:s3",
        "sgemm:NN:10x20x30:A=zero:B=dense/x:layA=col:layB=rowx2+3:layC=colx7+1:s4",
        "sgemm:NN:10x20x30:A=bern1e-05:metaA=csr:frozenA=1:onlyA=1:metaB=active:frozenB=1:s5",
        "sgemm:NN:10x20x30:metaA=density:metaB=bits:onlyB=1:s6",
        "sgemv:T:5000x300:B=bern0.01:dtB=u8:layB=row+1:s9",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(strings); i++) {
        ref_problem_t p;
        char text[REF_PROBLEM_TEXT], error[REF_ERROR_TEXT] = "";
        bool good = ref_problem_parse(strings[i], &p, error, sizeof error);
        assert_string_equal(error, "");
        assert_true(good);
        assert_int_equal(ref_problem_print(&p, text, sizeof text), strlen(strings[i]));
        assert_string_equal(text, strings[i]);
    }
}

static void test_other_spellings_become_canonical(void **state)
{
    static const struct {
        const char *given, *canonical;
    } rows[] = {
        {"sgemm:NN:1x2x3", "sgemm:NN:1x2x3:s1"},
        {"sgemm:NN:1x2x3:s9:beta=1.0:A=bern1e-3", "sgemm:NN:1x2x3:A=bern0.001:beta=1:s9"},
        {"sgemm:NN:1x2x3:A=dense/u:dtA=f32:layA=rowx1+0:metaA=none:frozenA=0:onlyA=0:alpha=1:beta=0",
         "sgemm:NN:1x2x3:s1"},
        {"hgemm:NT:1x2x3:dtC=f16:dtB=f16:dtA=u8", "hgemm:NT:1x2x3:dtA=u8:s1"},
        {"bgemm:NN:1x2x3:dtC=f32:s4", "bgemm:NN:1x2x3:dtC=f32:s4"},
        {"bgemm:NN:1x2x3:dtC=f32:dtA=f32", "bgemm:NN:1x2x3:dtA=f32:dtC=f32:s1"},
        {"sgemm:NN:1x2x3:lay=col+2", "sgemm:NN:1x2x3:layA=col+2:layB=col+2:layC=col+2:s1"},
        {"sgemm:NN:1x2x3:alpha=-0:beta=-0", "sgemm:NN:1x2x3:alpha=0:s1"},
        {"sgemm:NN:1x2x3:A=bern-0", "sgemm:NN:1x2x3:A=bern0:s1"},
        {"sgemm:NN:1x2x3:A=bern.5:B=bern1.", "sgemm:NN:1x2x3:A=bern0.5:B=bern1:s1"},
        {"sgemm:NN:1x2x3:alpha=25E-1", "sgemm:NN:1x2x3:alpha=2.5:s1"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        ref_problem_t p;
        char text[REF_PROBLEM_TEXT], error[REF_ERROR_TEXT] = "";
        (void)ref_problem_parse(rows[i].given, &p, error, sizeof error);
        assert_string_equal(error, "");
        ref_problem_print(&p, text, sizeof text);
        assert_string_equal(text, rows[i].canonical);
    }
}

/* The order is m x k x n; every field lands where it belongs. */
static void test_fields_land_in_the_struct(void **state)
{
    ref_problem_t p;
    (void)state;
    assert_true(
        ref_problem_parse("sgemm:TN:2x3x5:A=block4x6-0.25/e8:C=row0.5/i:dtB=u8:layC=colx2+9:metaB=csc:"
                          "frozenB=1:onlyB=1:alpha=2:beta=-3:s11",
                          &p, NULL, 0));
    assert_int_equal(p.op, REF_SGEMM);
    assert_int_equal(p.trans_a, LAC_TRANS);
    assert_int_equal(p.trans_b, LAC_NO_TRANS);
    assert_int_equal(p.m, 2);
    assert_int_equal(p.k, 3);
    assert_int_equal(p.n, 5);
    assert_int_equal(p.a.pattern.structure, REF_BLOCK);
    assert_int_equal(p.a.pattern.block_rows, 4);
    assert_int_equal(p.a.pattern.block_cols, 6);
    assert_true(p.a.pattern.density == 0.25);
    assert_int_equal(p.a.pattern.values, REF_SPREAD_8);
    assert_int_equal(p.c.pattern.structure, REF_ROW);
    assert_int_equal(p.c.pattern.values, REF_INTEGER);
    assert_int_equal(p.a.dt, LAC_F32);
    assert_int_equal(p.b.dt, LAC_U8);
    assert_true(p.c.layout.by_columns);
    assert_int_equal(p.c.layout.step, 2);
    assert_int_equal(p.c.layout.pad, 9);
    assert_false(p.a.layout.by_columns);
    assert_int_equal(p.b.meta, REF_META_CSC);
    assert_true(p.b.frozen && p.b.only && !p.a.frozen && !p.a.only);
    assert_true(p.alpha == 2.0f && p.beta == -3.0f);
    assert_int_equal(p.seed, 11);
    assert_true(ref_problem_parse("hgemm:NN:2x3x5:dtB=u8", &p, NULL, 0));
    assert_int_equal(p.a.dt, LAC_F16);
    assert_int_equal(p.b.dt, LAC_U8);
    assert_int_equal(p.c.dt, LAC_F16);
    assert_true(ref_problem_parse("bgemm:NN:2x3x5:dtC=f32", &p, NULL, 0));
    assert_int_equal(p.a.dt, LAC_BF16);
    assert_int_equal(p.b.dt, LAC_BF16);
    assert_int_equal(p.c.dt, LAC_F32);
    assert_true(ref_problem_parse("hgemm:NN:2x3x5:dtB=f32:dtC=f32", &p, NULL, 0));
    assert_int_equal(p.a.dt, LAC_F16);
    assert_int_equal(p.b.dt, LAC_F32);
    for (const char *const *bad = (const char *const[]){"sgemm:NN:1x2x3:dtC=f16", "bgemm:NN:1x2x3:dtC=u8",
                                                        "bgemm:NN:1x2x3:dtA=f32", "hgemm:NN:1x2x3:dtA=bf16",
                                                        "bgemm:NN:1x2x3:dtA=f32:dtB=f32:dtC=f32",
                                                        "bgemm:NN:1x2x3:dtA=u8:dtB=f32:dtC=f32", NULL};
         *bad; bad++)
        assert_false(ref_problem_parse(*bad, &p, NULL, 0));
}

static void assert_same_operand(const ref_operand_t *x, const ref_operand_t *y)
{
    assert_int_equal(x->dt, y->dt);
    assert_int_equal(x->pattern.structure, y->pattern.structure);
    assert_int_equal(x->pattern.values, y->pattern.values);
    assert_true(x->pattern.density == y->pattern.density);
    assert_int_equal(x->pattern.block_rows, y->pattern.block_rows);
    assert_int_equal(x->pattern.block_cols, y->pattern.block_cols);
    assert_int_equal(x->layout.by_columns, y->layout.by_columns);
    assert_int_equal(x->layout.step, y->layout.step);
    assert_int_equal(x->layout.pad, y->layout.pad);
    assert_int_equal(x->meta, y->meta);
    assert_int_equal(x->frozen, y->frozen);
    assert_int_equal(x->only, y->only);
}

static void assert_same_problem(const ref_problem_t *x, const ref_problem_t *y)
{
    assert_int_equal(x->op, y->op);
    assert_int_equal(x->trans_a, y->trans_a);
    assert_int_equal(x->trans_b, y->trans_b);
    assert_int_equal(x->m, y->m);
    assert_int_equal(x->k, y->k);
    assert_int_equal(x->n, y->n);
    assert_true(x->alpha == y->alpha);
    assert_true(x->beta == y->beta);
    assert_int_equal(x->seed, y->seed);
    assert_same_operand(&x->a, &y->a);
    assert_same_operand(&x->b, &y->b);
    assert_same_operand(&x->c, &y->c);
}

/* How many of `full` rounds to run: a tenth under memcheck and sanitizers. */
static int rounds(int full)
{
    return getenv("LACUNA_TEST_QUICK") != NULL ? full / 10 : full;
}

/* Random numbers in order, one per call. */
static uint64_t draw_index;
static uint64_t draw(uint64_t below)
{
    return ref_random(2026, draw_index++) % below;
}

static ref_operand_t draw_operand(bool plain)
{
    ref_operand_t o = {.dt = LAC_F32, .layout = {.step = 1}};
    o.pattern.structure = (ref_structure_t)draw(8);
    o.pattern.values = (ref_values_t)draw(7);
    o.pattern.density = (double)draw((uint64_t)1 << 53) * 0x1p-53;
    if (o.pattern.structure == REF_DENSE) o.pattern.density = 1.0;
    if (o.pattern.structure == REF_ZERO) o.pattern.density = 0.0;
    if (o.pattern.structure == REF_BLOCK) {
        o.pattern.block_rows = (int64_t)draw((uint64_t)REF_MAX_BLOCK) + 1;
        o.pattern.block_cols = (int64_t)draw(64) + 1;
    }
    o.layout.by_columns = draw(2) == 1;
    o.layout.step = (int64_t)draw(3) + 1;
    o.layout.pad = (int64_t)draw(3) * 5;
    if (plain) return o;
    if (draw(4) == 0) {
        o.dt = LAC_U8;
        o.pattern.values = draw(2) == 0 ? REF_ONES : REF_UNIFORM;
    }
    o.meta = (ref_meta_t)draw(6);
    o.frozen = draw(2) == 1;
    o.only = o.meta >= REF_META_CSR && draw(2) == 1;
    return o;
}

static ref_problem_t draw_problem(void)
{
    bool vector = draw(4) == 0, doubles = draw(2) == 0;
    ref_problem_t p = {.op = vector ? (doubles ? REF_DGEMV : REF_SGEMV) : doubles ? REF_DGEMM : REF_SGEMM};
    p.trans_a = (lac_trans_t)draw(2);
    p.m = (int64_t)draw(10000);
    p.k = (int64_t)draw(10000);
    p.n = vector ? 1 : (int64_t)draw(10000);
    p.trans_b = vector ? LAC_NO_TRANS : (lac_trans_t)draw(2);
    p.a = draw_operand(false);
    p.b = draw_operand(false);
    p.c = draw_operand(true);
    p.c.dt = doubles ? LAC_F64 : LAC_F32;
    if (doubles && p.a.dt == LAC_F32) p.a.dt = LAC_F64;
    if (doubles && p.b.dt == LAC_F32) p.b.dt = LAC_F64;
    p.alpha = ((float)draw((uint64_t)1 << 24) - 0x1p23f) * 0x1p-20f;
    p.beta = (float)draw((uint64_t)1 << 24) * 0x1p-60f;
    p.seed = ref_random(7, draw_index++);
    return p;
}

static void test_random_problems_survive_print_and_parse(void **state)
{
    (void)state;
    draw_index = 0;
    for (int i = 0; i < rounds(3000); i++) {
        ref_problem_t p = draw_problem(), back;
        char text[REF_PROBLEM_TEXT], error[REF_ERROR_TEXT] = "";
        assert_true(ref_problem_print(&p, text, sizeof text) < sizeof text);
        if (!ref_problem_parse(text, &back, error, sizeof error)) fail_msg("%s\n%s", text, error);
        assert_same_problem(&p, &back);
    }
}

/* The longest spelling of everything fits the size that the header names. */
static void test_the_longest_string_fits(void **state)
{
    static const ref_operand_t long_operand = {
        .dt = LAC_U8,
        .pattern = {REF_BLOCK, REF_SPREAD_30, 1.2345678901234567e-300, REF_MAX_BLOCK, REF_MAX_BLOCK},
        .layout = {true, REF_MAX_STEP, REF_MAX_PAD},
        .meta = REF_META_DENSITY,
        .frozen = true,
        .only = true};
    const ref_problem_t p = {.m = REF_MAX_EXTENT,
                             .k = REF_MAX_EXTENT,
                             .n = REF_MAX_EXTENT,
                             .alpha = -1.17549435e-38f,
                             .beta = -1.17549435e-38f,
                             .a = long_operand,
                             .b = long_operand,
                             .c = long_operand,
                             .seed = UINT64_MAX};
    char text[REF_PROBLEM_TEXT];
    (void)state;
    assert_true(ref_problem_print(&p, text, sizeof text) < sizeof text);
}

/* Good strings with bytes changed, cut or doubled: parsed or refused with a message, and what is parsed
 * comes back the same. */
static void test_damaged_strings_do_not_crash(void **state)
{
    static const char alphabet[] = ":=/x-+.019eEsABCNTabcdfgikloprwyz \n\x80\xff";
    (void)state;
    draw_index = 0;
    for (int i = 0; i < rounds(20000); i++) {
        ref_problem_t p = draw_problem(), q;
        char text[REF_PROBLEM_TEXT], again[REF_PROBLEM_TEXT], error[REF_ERROR_TEXT] = "";
        size_t length = ref_problem_print(&p, text, sizeof text);
        for (uint64_t hits = draw(4) + 1; hits > 0; hits--)
            text[draw(length)] = draw(20) == 0 ? '\0' : alphabet[draw(sizeof alphabet - 1)];
        if (!ref_problem_parse(text, &p, error, sizeof error)) {
            assert_true(error[0] != '\0');
            continue;
        }
        assert_string_equal(error, "");
        ref_problem_print(&p, again, sizeof again);
        assert_true(ref_problem_parse(again, &q, NULL, 0));
        assert_same_problem(&p, &q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical_strings_print_unchanged),
        cmocka_unit_test(test_other_spellings_become_canonical),
        cmocka_unit_test(test_fields_land_in_the_struct),
        cmocka_unit_test(test_random_problems_survive_print_and_parse),
        cmocka_unit_test(test_the_longest_string_fits),
        cmocka_unit_test(test_damaged_strings_do_not_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
