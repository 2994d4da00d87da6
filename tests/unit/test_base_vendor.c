/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Which BLAS is behind: the one that LACUNA_BLAS names, where it is one, and what is reported where it is
 * none; without it the one that the program has loaded, whatever its names and the width of its integers; and
 * whose a library is by the name of its file. */
#include "unit_support.h"

#include "api/interpose.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(void *arg, const char *key, const char *value)
{
    (void)arg;
    if (!strncmp(key, "blas", 4)) fprintf(stderr, "%s: %s\n", key, value);
}

/* What a fresh process says of its BLAS, whether it finds a routine in it, and a product all the same. */
static int child(void)
{
    static float a[64 * 64], b[64 * 64], c[64 * 64];
    lac_ctx_t *ctx;
    if (lac_ctx_create(&ctx) || lac_ctx_info(ctx, print, NULL)) return 3;
    fprintf(stderr, "sgemv_: %s\n", lac_blas_symbol("sgemv_") ? "there" : "not there");
    if (lac_blas_symbol(NULL)) return 4;
    a[5] = 2.0f, b[5 * 64 + 7] = 3.0f;
    lac_obj_t oa = lac_obj_rowmajor(LAC_F32, 64, 64, a, 64), ob = lac_obj_rowmajor(LAC_F32, 64, 64, b, 64),
              oc = lac_obj_rowmajor(LAC_F32, 64, 64, c, 64);
    lac_call_opts_t call = {.size = sizeof call, .route = "event"};
    if (lac_gemm_ex(ctx, NULL, &oa, &ob, NULL, &oc, &call) || c[7] != 6.0f) return 5;
    lac_ctx_free(ctx);
    return 0;
}

/* The program has loaded a BLAS, and unloads it once the library has found it. */
static int child_loaded(void)
{
    static float a[2 * 4], b[4 * 3], c[2 * 3];
    void *loaded = dlopen(FAKE_WIDE_BLAS, RTLD_NOW | RTLD_LOCAL);
    lac_ctx_t *ctx;
    lac_call_opts_t call = {.size = sizeof call, .route = "blas"};
    lac_obj_t oa = lac_obj_colmajor(LAC_F32, 2, 4, a, 2), ob = lac_obj_colmajor(LAC_F32, 4, 3, b, 4),
              oc = lac_obj_colmajor(LAC_F32, 2, 3, c, 2);
    if (!loaded || lac_ctx_create(&ctx) || lac_ctx_info(ctx, print, NULL)) return 3;
    dlclose(loaded);
    if (lac_gemm_ex(ctx, NULL, &oa, &ob, NULL, &oc, &call)) return 4;
    for (int i = 0; i < 2 * 3; i++)
        if (c[i] != 1234.0f) return 5;
    lac_ctx_free(ctx);
    return 0;
}

static void test_loaded(void **state)
{
    (void)state;
    const char *const settings[] = {NULL};
    unit_expect_text(unit_child("loaded", settings), "blas: " FAKE_WIDE_BLAS "\n");
}

static void expect(const char *blas, const char *first, const char *second, const char *third)
{
    char setting[4096];
    snprintf(setting, sizeof setting, "LACUNA_BLAS=%s", blas);
    const char *const settings[] = {setting, NULL}, *text = unit_child("facts", settings);
    unit_expect_text(text, first);
    unit_expect_text(text, second);
    unit_expect_text(text, third);
}

static void test_named(void **state)
{
    (void)state;
    expect(FAKE_BLIS, "blas: " FAKE_BLIS "\n", "blas version: BLIS of a test\n", "sgemv_: there\n");
    expect("none", "blas: none\n", "blas missing: LACUNA_BLAS=none\n", "sgemv_: not there\n");
    expect("/no/such/library", "blas: none\n", "LACUNA_BLAS: /no/such/library", "sgemv_: not there\n");
    expect(FAKE_HALF_BLAS, "blas: none\n", FAKE_HALF_BLAS " has no sgemm_ and sgemv_\n", "not there\n");
    expect("libm.so.6", "blas: none\n", "libm.so.6 has no sgemm_ and sgemv_\n", "not there\n");
    expect(LACUNA_BLAS_LIBRARY, "blas: none\n", "is a Lacuna drop-in library\n", "not there\n");
}

/* For lacuna doctor: what the library opened itself is named, what the program had opened is not. */
static void test_opened(void **state)
{
    (void)state;
    const char *const own[] = {"LACUNA_BLAS=" FAKE_BLIS, "LACUNA_AUDIT=1", NULL};
    const char *const programs[] = {"LACUNA_BLAS=" FAKE_WIDE_BLAS, "LACUNA_AUDIT=1", NULL};
    unit_expect_text(unit_child("facts", own), "lacuna,1,opened," FAKE_BLIS "\n");
    const char *text = unit_child("loaded", programs);
    unit_expect_text(text, "blas: " FAKE_WIDE_BLAS "\n");
    assert_null(strstr(text, "lacuna,1,opened"));
}

static void test_names_of_files(void **state)
{
    (void)state;
    assert_true(lac_is_blas("/usr/lib/libopenblas.so.0") && lac_is_blas("libblis.so.4"));
    assert_false(lac_is_blas("/usr/lib/libopenblas/libm.so.6") || lac_is_blas("") || lac_is_blas("libbla"));
    assert_true(lac_is_vendor("/opt/libcublasLt.so.13") && lac_is_vendor("libmkl_core.so.2"));
    assert_false(lac_is_vendor("/opt/libcublas/program") || lac_is_vendor("libcuda.so.1"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_named), cmocka_unit_test(test_loaded),
                                       cmocka_unit_test(test_opened), cmocka_unit_test(test_names_of_files)};
    unit_begin();
    const char *scenario = unit_scenario(argc, argv);
    if (scenario) return strcmp(scenario, "loaded") ? child() : child_loaded();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
