/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bad problem strings: each is refused with a message that names the field and what was expected. */
#include "ref_problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_bad_strings_name_the_field(void **state)
{
#define KEYS                                                                                                 \
    "expected a field A=, B=, C=, dtA=, dtB=, dtC=, lay=, layA=, layB=, layC=, metaA=, metaB=, frozenA=, "   \
    "frozenB=, onlyA=, onlyB=, alpha=, beta= or s<seed>, got "
#define STRUCTURES                                                                                           \
    "expected one of dense, zero, bern<d>, block<h>x<w>-<d>, row<d>, col<d>, band<d>, power<d>, fan<d>, "    \
    "got "
#define DENSITY "field 'A': expected a density in 0 .. 1 behind the structure, got "
#define BLOCK   "field 'A': expected block<rows>x<cols>-<density>, rows and cols in 1 .. 2^31, got "
#define LAYOUT  "expected row or col, then x<step> (1 .. 1024), then +<pad> (0 .. 2^20), got "
#define EXTENTS "field 'extents': expected <m>x<k>x<n>, each in 0 .. 2^40, got "
    static const struct {
        const char *text, *message;
    } rows[] = {
        {NULL, "field 'operation': expected sgemm, sgemv, dgemm, dgemv, hgemm or bgemm, got no text"},
        {"", "field 'operation': expected sgemm, sgemv, dgemm, dgemv, hgemm or bgemm, got ''"},
        {"zgemm:NN:1x1x1",
         "field 'operation': expected sgemm, sgemv, dgemm, dgemv, hgemm or bgemm, got 'zgemm'"},
        {"Sgemm:NN:1x1x1",
         "field 'operation': expected sgemm, sgemv, dgemm, dgemv, hgemm or bgemm, got 'Sgemm'"},
        {"a\n\x80very long name that goes on and on",
         "field 'operation': expected sgemm, sgemv, dgemm, dgemv, hgemm or bgemm, got "
         "'a??very long name that g...'"},
        {"sgemm", "field 'transposes': missing"},
        {"sgemm:NN", "field 'extents': missing"},
        {"sgemm:N:1x1x1", "field 'transposes': expected two letters N or T, of A and of B, got 'N'"},
        {"sgemm:nt:1x1x1", "field 'transposes': expected two letters N or T, of A and of B, got 'nt'"},
        {"sgemv:NT:1x1", "field 'transposes': expected one letter N or T, of A, got 'NT'"},
        {"sgemm:NN:1x1", EXTENTS "'1x1'"},
        {"sgemm:NN:1x1x1x1", EXTENTS "'1x1x1x1'"},
        {"sgemm:NN:-1x1x1", EXTENTS "'-1x1x1'"},
        {"sgemm:NN:01x1x1", EXTENTS "'01x1x1'"},
        {"sgemm:NN:1x1x99999999999999999999", EXTENTS "'1x1x99999999999999999999'"},
        {"sgemm:NN:1x1x1099511627777", EXTENTS "'1x1x1099511627777'"},
        {"sgemv:N:1x1x1", "field 'extents': expected <m>x<k>, each in 0 .. 2^40, got '1x1x1'"},
        {"sgemm:NN:1099511627776x1099511627776x1",
         "field 'extents': operand A of 1099511627776x1099511627776 is larger than 2^44 elements"},
        {"sgemm:NN:1x8388608x4194304",
         "field 'extents': operand B of 8388608x4194304 is larger than 2^44 elements"},
        {"sgemm:NN:1099511627776x1x1:layC=row+1048576",
         "field 'extents': operand C of 1099511627776x1 is larger than 2^44 elements"},
        {"sgemm:NN:9x9x9:A=bern0.5:metaA=ell",
         "field 'metaA': ell wants rows of one length: A=dense, zero or fan<d>, got 'bern'"},
        {"sgemm:NN:1x1x1:", KEYS "''"},
        {"sgemm:NN:1x1x1:foo=1", KEYS "'foo=1'"},
        {"sgemm:NN:1x1x1:foo", KEYS "'foo'"},
        {"sgemm:NN:1x1x1:s", KEYS "'s'"},
        {"sgemm:NN:1x1x1:s=5", KEYS "'s=5'"},
        {"sgemm:NN:1x1x1:dtC=u8", "field 'dtC': expected f32, got 'u8'"},
        {"sgemm:NN:1x1x1:s-5", KEYS "'s-5'"},
        {"sgemm:NN:1x1x1:s5x", "field 's': expected a seed in 0 .. 2^64 - 1, got '5x'"},
        {"sgemm:NN:1x1x1:s18446744073709551616",
         "field 's': expected a seed in 0 .. 2^64 - 1, got '18446744073709551616'"},
        {"sgemm:NN:1x1x1:s1:s2", "field 's': given twice"},
        {"sgemm:NN:1x1x1:A=dense:A=dense", "field 'A': given twice"},
        {"sgemm:NN:1x1x1:layB=col:lay=row", "field 'lay': given twice"},
        {"sgemm:NN:1x1x1:lay=row:layC=col", "field 'layC': given twice"},
        {"sgemm:NN:1x1x1:A=foo", "field 'A': " STRUCTURES "'foo'"},
        {"sgemm:NN:1x1x1:B=", "field 'B': " STRUCTURES "''"},
        {"sgemm:NN:1x1x1:C=dense0.5", "field 'C': " STRUCTURES "'dense0.5'"},
        {"sgemm:NN:1x1x1:A=bern", DENSITY "'bern'"},
        {"sgemm:NN:1x1x1:A=bern1.5", DENSITY "'bern1.5'"},
        {"sgemm:NN:1x1x1:A=bern-0.5", DENSITY "'bern-0.5'"},
        {"sgemm:NN:1x1x1:A=bernnan", DENSITY "'bernnan'"},
        {"sgemm:NN:1x1x1:A=bern0x1p-3", DENSITY "'bern0x1p-3'"},
        {"sgemm:NN:1x1x1:A=bern 0.5", DENSITY "'bern 0.5'"},
        {"sgemm:NN:1x1x1:A=bern1e-", DENSITY "'bern1e-'"},
        {"sgemm:NN:1x1x1:A=bern1e999", DENSITY "'bern1e999'"},
        {"sgemm:NN:1x1x1:A=row0,1", DENSITY "'row0,1'"},
        {"sgemm:NN:1x1x1:A=block0.5", BLOCK "'block0.5'"},
        {"sgemm:NN:1x1x1:A=block0x8-0.5", BLOCK "'block0x8-0.5'"},
        {"sgemm:NN:1x1x1:A=block8x-0.5", BLOCK "'block8x-0.5'"},
        {"sgemm:NN:1x1x1:A=block8x8-2", DENSITY "'block8x8-2'"},
        {"sgemm:NN:1x1x1:A=bern0.5/q",
         "field 'A': expected values u, p, e8, e30, 1, i, x or o behind '/', got 'q'"},
        {"sgemm:NN:1x1x1:A=bern0.5/",
         "field 'A': expected values u, p, e8, e30, 1, i, x or o behind '/', got ''"},
        {"sgemm:NN:1x1x1:dtA=f64", "field 'dtA': expected f32 or u8, got 'f64'"},
        {"dgemm:NN:1x1x1:dtA=f32", "field 'dtA': expected f64 or u8, got 'f32'"},
        {"bgemm:NN:1x1x1:dtA=f16", "field 'dtA': expected bf16, f32 or u8, got 'f16'"},
        {"bgemm:NN:1x1x1:dtC=u8", "field 'dtC': expected bf16 or f32, got 'u8'"},
        {"bgemm:NN:1x1x1:dtA=f32", "field 'dtC': expected f32 beside an operand of f32"},
        {"hgemm:NN:1x1x1:dtA=f32:dtB=u8:dtC=f32", "field 'dtB': expected f16 beside an A of f32"},
        {"hgemm:NN:1x1x1:dtA=u8:dtB=f32:dtC=f32", "field 'dtA': expected f16 beside a B of f32"},
        {"sgemm:NN:1x1x1:dtB=u8:B=dense/e8",
         "field 'B': a u8 operand takes values u (any nonzero byte) or 1, got 'e8'"},
        {"sgemm:NN:1x1x1:layA=diag", "field 'layA': " LAYOUT "'diag'"},
        {"sgemm:NN:1x1x1:layA=rowx0", "field 'layA': " LAYOUT "'rowx0'"},
        {"sgemm:NN:1x1x1:layA=rowx1025", "field 'layA': " LAYOUT "'rowx1025'"},
        {"sgemm:NN:1x1x1:lay=row+3x2", "field 'lay': " LAYOUT "'row+3x2'"},
        {"sgemm:NN:1x1x1:layC=row+", "field 'layC': " LAYOUT "'row+'"},
        {"sgemm:NN:1x1x1:metaA=coo", "field 'metaA': expected one of none, density, csr, csc, bits, active, "
                                     "ell, evbits, evlists, got 'coo'"},
        {"sgemm:NN:1x1x1:metaA=evbits", "field 'metaA': evbits wants dtA=u8, got 'f32'"},
        {"sgemm:NN:1x1x1:dtB=u8:metaB=evlists:onlyB=1",
         "field 'onlyB': expected metaB=csr, csc, bits, active or ell beside it, got 'evlists'"},
        {"sgemm:NN:1x1x1:frozenA=yes", "field 'frozenA': expected 0 or 1, got 'yes'"},
        {"sgemm:NN:1x1x1:onlyA=1",
         "field 'onlyA': expected metaA=csr, csc, bits, active or ell beside it, got 'none'"},
        {"sgemm:NN:1x1x1:onlyB=1:metaB=density",
         "field 'onlyB': expected metaB=csr, csc, bits, active or ell beside it, got 'density'"},
        {"sgemm:NN:1x1x1:alpha=", "field 'alpha': expected a finite decimal number, got ''"},
        {"sgemm:NN:1x1x1:alpha=inf", "field 'alpha': expected a finite decimal number, got 'inf'"},
        {"sgemm:NN:1x1x1:beta=1e39", "field 'beta': expected a finite decimal number, got '1e39'"},
        {"sgemm:NN:1x1x1:beta=+1", "field 'beta': expected a finite decimal number, got '+1'"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        ref_problem_t p;
        char error[REF_ERROR_TEXT] = "";
        assert_false(ref_problem_parse(rows[i].text, &p, error, sizeof error));
        assert_string_equal(error, rows[i].message);
    }
}

/* A short buffer is filled and terminated, not overrun; none at all is accepted. */
static void test_short_buffers(void **state)
{
    ref_problem_t p;
    char small[8];
    (void)state;
    memset(small, '#', sizeof small);
    assert_false(ref_problem_parse("nonsense", &p, small, 4));
    assert_string_equal(small, "fie");
    assert_int_equal(small[4], '#');
    assert_false(ref_problem_parse("nonsense", &p, NULL, 0));
    assert_true(ref_problem_parse("sgemm:NN:1x2x3", &p, small, sizeof small));
    memset(small, '#', sizeof small);
    assert_int_equal(ref_problem_print(&p, small, 6), strlen("sgemm:NN:1x2x3:s1"));
    assert_string_equal(small, "sgemm");
    assert_int_equal(small[6], '#');
    assert_int_equal(ref_problem_print(&p, NULL, 0), strlen("sgemm:NN:1x2x3:s1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_strings_name_the_field),
        cmocka_unit_test(test_short_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
