/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Where the cuBLAS behind a call is found when none is in the global scope: extensions loaded with RTLD_LOCAL
 * reach the one that they were linked against, two of them at once and from two threads; code that was linked
 * against none reaches one that is loaded; where there is none, the status says so; cuSOLVER is let through.
 */
#include "../plugin/callers.h"
#include "cublas/shapes.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

typedef int caller_through_fn(void *fn, SGEMM_PARAMS);

static char handle_memory[64];
static const float x[4], one = 1;
static float c[4];

#define CALL_ARGS handle_memory, 0, 0, 2, 2, 2, &one, x, 2, x, 2, &one, c, 2

static void *plugin_entry(void)
{
    return dlsym(dlopen("liblacuna_cublas.so", RTLD_NOW | RTLD_NOLOAD), "cublasSgemm_v2");
}

static caller_through_fn *through_of(const char *caller)
{
    return (caller_through_fn *)caller_symbol(caller, "caller_through");
}

/* First: nothing is loaded yet. The answer is kept, so the caller is not used again. */
static void test_none(void **state)
{
    (void)state;
    (void)dlerror();
    errno = ENOTTY;
    assert_int_equal(through_of("./cublas_caller_early.so")(plugin_entry(), CALL_ARGS),
                     CUBLAS_NOT_INITIALIZED);
    assert_null(dlerror()); /* the search leaves no trace where the program might look */
    assert_int_equal(errno, ENOTTY);
}

static void test_local_callers_keep_their_cublas(void **state)
{
    (void)state;
    sgemm_fn *a = (sgemm_fn *)caller_symbol("./cublas_caller_a.so", "caller_sgemm");
    sgemm_fn *b = (sgemm_fn *)caller_symbol("./cublas_caller_b.so", "caller_sgemm");
    assert_null(dlsym(RTLD_DEFAULT, "fake_take")); /* neither is in the global scope */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a(CALL_ARGS), FAKE_STATUS);
        assert_int_equal(b(CALL_ARGS), FAKE_STATUS);
        b(CALL_ARGS);
        fake_record_t of_a = fake_taken("libcublas.so.13"), of_b = fake_taken("libcublas.so.12");
        assert_int_equal(of_a.calls, 1);
        assert_int_equal(of_b.calls, 2);
        assert_true(of_a.through_plugin && of_b.through_plugin);
    }
}

/* Linked against nothing, handed the plugin's address: a cuBLAS that is loaded will do. */
static void test_handed_address(void **state)
{
    (void)state;
    open_local("./cublas_caller_a.so");
    assert_int_equal(through_of("./cublas_caller_none.so")(plugin_entry(), CALL_ARGS), FAKE_STATUS);
    assert_int_equal(fake_taken("libcublas.so.13").calls + fake_taken("libcublas.so.12").calls, 1);
}

/* The handle is not even asked. */
static void test_cusolver_is_let_through(void **state)
{
    (void)state;
    open_local("./cublas_caller_a.so");
    sgemm_fn *solver = (sgemm_fn *)caller_symbol("./libcusolverfake.so", "caller_sgemm");
    assert_int_equal(solver(CALL_ARGS), FAKE_STATUS);
    fake_record_t record = fake_taken("libcublas.so.13");
    assert_int_equal(record.calls, 1);
    assert_true(record.through_plugin);
    assert_int_equal(record.getters, 0);
}

static void call_once(void *caller_sgemm)
{
    ((sgemm_fn *)caller_sgemm)(CALL_ARGS);
}

static void test_two_threads(void **state)
{
    (void)state;
    expect_two_threads((caller_thread_t[]){{"./cublas_caller_a.so", "libcublas.so.13", call_once, 0},
                                           {"./cublas_caller_b.so", "libcublas.so.12", call_once, 0}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_two_threads), /* both threads search at once */
        cmocka_unit_test(test_local_callers_keep_their_cublas),
        cmocka_unit_test(test_handed_address),
        cmocka_unit_test(test_cusolver_is_let_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
