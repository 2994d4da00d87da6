/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * With no BLAS in the process and none to be found, every entry point still computes the right product, and
 * reports a bad argument with the parameter number that the netlib BLAS gives it.
 *
 * Also the proof of the table: each name in it is exported and is what its row says. With an argument, the
 * backend to force. */
#include "plugin_case.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void *plugin;
static plugin_case_t one;

#define EXPORT __attribute__((visibility("default")))

/* The program's own reporters. */
EXPORT void xerbla_(const char *routine, const int *parameter, size_t length);
EXPORT void cblas_xerbla(int parameter, const char *routine, const char *format, ...);

static int reported;
static char reported_routine[32];

void xerbla_(const char *routine, const int *parameter, size_t length)
{
    reported = *parameter;
    memcpy(reported_routine, routine, length);
    reported_routine[length] = '\0';
}

void cblas_xerbla(int parameter, const char *routine, const char *format, ...)
{
    (void)format;
    reported = parameter;
    strncpy(reported_routine, routine, sizeof reported_routine - 1);
}

static void test_every_symbol_computes(void **state)
{
    (void)state;
    for (int s = 0; s < plugin_symbol_count; s++) {
        const plugin_symbol_t *symbol = &plugin_symbols[s];
        void *fn = dlsym(plugin, symbol->name);
        if (!fn) fail_msg("%s is not exported", symbol->name);
        int i = 0;
        for (; plugin_case_make(&one, symbol, i); i++) {
            plugin_case_call(&one, symbol, fn);
            int wrong = plugin_case_wrong(&one);
            if (wrong)
                fail_msg("%s case %d: %d wrong (order %d, %c%c, %ld x %ld x %ld)", symbol->name, i, wrong,
                         one.order, one.ta, one.tb, (long)one.m, (long)one.n, (long)one.k);
        }
        assert_in_range(i, 144, 288);
    }
    assert_int_equal(reported, 0);
}

/* Which member of a case is spoilt, and the number that netlib reports in the Fortran call; 0: of none. A C
 * call counts its order too. */
typedef struct complaint {
    char corrupted;
    int parameter[KIND_COUNT];
} complaint_t;

static const complaint_t complaints[] = {
    {'o', {0, 0, 0, 0}}, {'A', {1, 1, 1, 1}},  {'B', {2, 0, 2, 2}},
    {'m', {3, 2, 0, 3}}, {'n', {4, 3, 3, 4}},  {'k', {5, 0, 4, 0}},
    {'a', {8, 6, 7, 7}}, {'b', {10, 8, 0, 9}}, {'c', {13, 11, 10, 12}},
};

static void corrupt(char what)
{
    switch (what) {
    case 'o':
        one.order = 7;
        return;
    case 'A':
        one.ta = 'X';
        return;
    case 'B':
        one.tb = 'X';
        return;
    case 'm':
        one.m = -1;
        return;
    case 'n':
        one.n = -1;
        return;
    case 'k':
        one.k = -1;
        return;
    case 'a':
        one.lda = 0;
        return;
    case 'b':
        one.ldb = 0;
        return;
    default:
        one.ldc = 0;
        return;
    }
}

static const char *fortran_name(const plugin_symbol_t *symbol)
{
    static const char *const names[KIND_COUNT][2] = {
        {"SGEMM ", "DGEMM "}, {"SGEMV ", "DGEMV "}, {"SSYRK ", "DSYRK "}, {"SSYMM ", "DSYMM "}};
    return names[plugin_kind(symbol)][plugin_is_double(symbol)];
}

/* Kinds of conventions: Fortran, column-major C, row-major C. */
static void test_every_bad_argument_is_reported(void **state)
{
    (void)state;
    for (int s = 0; s < plugin_symbol_count; s++) {
        const plugin_symbol_t *symbol = &plugin_symbols[s];
        bool fortran = plugin_is_fortran(symbol);
        for (int kind = fortran ? 0 : 1; kind < (fortran ? 1 : 3); kind++)
            for (size_t i = 0; i < sizeof complaints / sizeof *complaints; i++) {
                int expected = complaints[i].parameter[plugin_kind(symbol)];
                if (expected == 0 && (fortran || complaints[i].corrupted != 'o')) continue;
                assert_true(plugin_case_make(&one, symbol, kind == 2 ? 144 + 44 : 44));
                memcpy(one.want, one.c, sizeof one.c);
                corrupt(complaints[i].corrupted);
                reported = 0;
                plugin_case_call(&one, symbol, dlsym(plugin, symbol->name));
                if (reported != expected + !fortran)
                    fail_msg("%s kind %d spoilt %c: reported %d, not %d", symbol->name, kind,
                             complaints[i].corrupted, reported, expected + !fortran);
                assert_string_equal(reported_routine, fortran ? fortran_name(symbol) : symbol->name);
                assert_memory_equal(one.want, one.c, sizeof one.c);
            }
    }
}

static int ready(void **state)
{
    (void)state;
    plugin = dlopen("liblacuna_blas.so", RTLD_NOW | RTLD_NOLOAD);
    return plugin ? 0 : -1;
}

int main(int argc, char **argv)
{
    setenv("LACUNA_BLAS", "none", 1);
    if (argc > 1) setenv("LACUNA_BACKEND", argv[1], 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_symbol_computes),
        cmocka_unit_test(test_every_bad_argument_is_reported),
    };
    return cmocka_run_group_tests_name(argc > 1 ? argv[1] : "auto", tests, ready, NULL);
}
