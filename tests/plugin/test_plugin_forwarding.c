/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * With a BLAS behind it, the plugin passes on verbatim whatever it does not compute: the arguments that the
 * BLAS receives through the plugin equal those that it receives when it is called directly.
 *
 * The program is linked against the plugin and then a fake BLAS, so that the plugin is found first, as if
 * preloaded. Run as "declining" (auto), "computing" (a sparse route forced) or "disabled". */
#include "fake_calls.h"
#include "plugin_case.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void *plugin, *fake;
static fake_take_fn *fake_take;
static bool computing;
static plugin_case_t one;

static void small_case(const plugin_symbol_t *symbol)
{
    assert_true(plugin_case_make(&one, symbol, 44));
}

/* What the BLAS receives from a direct call; then the call through the plugin is checked against it. */
static void expect_forwarded(const plugin_symbol_t *symbol)
{
    plugin_case_call(&one, symbol, dlsym(fake, symbol->name));
    fake_record_t direct = fake_take();
    plugin_case_call(&one, symbol, dlsym(plugin, symbol->name));
    fake_record_t through = fake_take();
    assert_int_equal(through.calls, direct.calls);
    assert_string_equal(through.first, symbol->name);
    assert_string_equal(through.last, direct.last);
    assert_memory_equal(through.slot, direct.slot, sizeof direct.slot);
}

static void test_proper_calls(void **state)
{
    (void)state;
    for (int i = 0; i < plugin_symbol_count; i++) {
        const plugin_symbol_t *symbol = &plugin_symbols[i];
        small_case(symbol);
        if (!computing) {
            expect_forwarded(symbol);
            continue;
        }
        plugin_case_call(&one, symbol, dlsym(plugin, symbol->name));
        assert_int_equal(fake_take().calls, 0);
        assert_int_equal(plugin_case_wrong(&one), 0);
    }
}

/* Breaks one argument of a case; false past the last way. */
static bool break_argument(int way, bool fortran)
{
    switch (way) {
    case 0:
        one.ta = 'X';
        return true;
    case 1:
        one.tb = fortran ? 'R' : 114;
        return true;
    case 2:
        one.m = -1;
        return true;
    case 3:
        one.n = -1;
        return true;
    case 4:
        one.k = -1;
        return true;
    case 5:
        one.lda = 1;
        return true;
    case 6:
        one.ldb = 0;
        return true;
    case 7:
        one.ldc = 0;
        return true;
    case 8:
        one.m = 0;
        return true;
    case 9:
        one.n = 0;
        return true;
    case 10:
        one.k = 0;
        return true;
    case 11:
        one.order = 103;
        return !fortran;
    default:
        return false;
    }
}

/* What a kind of call does not have leaves it a proper call: of gemv k and the second letter, of syrk m and
 * B, of symm k. */
static bool breaks(int way, const plugin_symbol_t *symbol)
{
    switch (plugin_kind(symbol)) {
    case KIND_GEMV:
        return way != 1 && way != 4 && way != 10;
    case KIND_SYRK:
        return way != 2 && way != 6 && way != 8;
    case KIND_SYMM:
        return way != 4 && way != 10;
    default:
        return true;
    }
}

static void test_improper_calls(void **state)
{
    (void)state;
    for (int i = 0; i < plugin_symbol_count; i++) {
        const plugin_symbol_t *symbol = &plugin_symbols[i];
        bool fortran = plugin_is_fortran(symbol);
        for (int way = 0; way < 12; way++) {
            small_case(symbol);
            if (!break_argument(way, fortran) || !breaks(way, symbol)) continue;
            memcpy(one.want, one.c, sizeof one.c);
            expect_forwarded(symbol);
            assert_memory_equal(one.want, one.c, sizeof one.c);
        }
    }
}

/* A BLAS whose C call is made of its Fortran call: the inner call comes to the plugin too, and goes on. */
static void test_nested_call(void **state)
{
    (void)state;
    if (computing) return;
    static const plugin_symbol_t outer[] = {{"cblas_sgemm", SHAPE_CBLAS_SGEMM, false},
                                            {"cblas_dgemm", SHAPE_CBLAS_DGEMM, false}};
    static const char *const inner[] = {"sgemm_", "dgemm_"};
    for (int i = 0; i < 2; i++) {
        small_case(&outer[i]);
        plugin_case_call(&one, &outer[i], dlsym(plugin, outer[i].name));
        fake_record_t record = fake_take();
        assert_int_equal(record.calls, 2);
        assert_string_equal(record.first, outer[i].name);
        assert_string_equal(record.last, inner[i]);
    }
}

static int ready(void **state)
{
    (void)state;
    plugin = dlopen("liblacuna_blas.so", RTLD_NOW | RTLD_NOLOAD);
    fake = dlopen("libblasfakea.so", RTLD_NOW | RTLD_NOLOAD);
    fake_take = fake ? (fake_take_fn *)dlsym(fake, "fake_take") : NULL;
    return plugin && fake_take ? 0 : -1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "declining";
    computing = strcmp(mode, "computing") == 0;
    bool disabled = strcmp(mode, "disabled") == 0;
    setenv("LACUNA_BACKEND", computing || disabled ? "csr" : "auto", 1);
    if (disabled) setenv("LACUNA_DISABLE", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proper_calls),
        cmocka_unit_test(test_improper_calls),
        cmocka_unit_test(test_nested_call),
    };
    return cmocka_run_group_tests_name(mode, tests, ready, NULL);
}
