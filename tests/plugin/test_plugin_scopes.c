/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Where the BLAS behind a call is found when none is in the global scope: extensions loaded with RTLD_LOCAL
 * reach the BLAS that they were linked against, two of them at once and from two threads; code that was
 * linked against none reaches one that is loaded; a BLAS demuxer that leads back is left out.
 *
 * LACUNA_DISABLE is set: everything is forwarded, and only the way matters. */
#include "callers.h"
#include "blas/shapes.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef int caller_sgemm_fn(SGEMM_PARAMS);
typedef int caller_through_fn(void *fn, SGEMM_PARAMS);

static const float x[4], one = 1;
static float c[4];
static const int32_t two = 2;
static const int64_t wide_two = 2;

#define CALL_ARGS "N", "N", &two, &two, &two, &one, x, &two, x, &two, &one, c, &two
#define WIDE_ARGS                                                                                            \
    "N", "N", &wide_two, &wide_two, &wide_two, &one, x, &wide_two, x, &wide_two, &one, c, &wide_two

static void test_local_callers_keep_their_blas(void **state)
{
    (void)state;
    caller_sgemm_fn *a = (caller_sgemm_fn *)caller_symbol("./caller_a.so", "caller_sgemm");
    caller_sgemm_fn *b = (caller_sgemm_fn *)caller_symbol("./caller_b.so", "caller_sgemm");
    assert_null(dlsym(RTLD_DEFAULT, "fake_take")); /* neither is in the global scope */
    for (int i = 0; i < 3; i++) {
        a(CALL_ARGS);
        assert_int_equal(fake_taken("libblasfakea.so").calls, 1);
        assert_int_equal(fake_taken("libblasfakeb.so").calls, 0);
        b(CALL_ARGS);
        b(CALL_ARGS);
        assert_int_equal(fake_taken("libblasfakea.so").calls, 0);
        assert_int_equal(fake_taken("libblasfakeb.so").calls, 2);
    }
}

/* Linked against nothing, handed the plugin's address: a BLAS that is loaded will do. */
static void test_handed_address(void **state)
{
    (void)state;
    open_local("./caller_a.so");
    void *none = open_local("./caller_none.so");
    void *plugin = dlopen("liblacuna_blas.so", RTLD_NOW | RTLD_NOLOAD);
    ((caller_through_fn *)dlsym(none, "caller_through"))(dlsym(plugin, "sgemm_"), CALL_ARGS);
    assert_int_equal(fake_taken("libblasfakea.so").calls + fake_taken("libblasfakeb.so").calls, 1);
    assert_int_equal(fake_taken("libblas64fake.so").calls, 0); /* it would read 64-bit integers */
    ((caller_through_fn *)dlsym(none, "caller_through"))(dlsym(plugin, "sgemm_64_"), WIDE_ARGS);
    ((caller_through_fn *)dlsym(none, "caller_through"))(dlsym(plugin, "scipy_sgemm_64_"), WIDE_ARGS);
    assert_int_equal(fake_taken("libblasfakea.so").calls + fake_taken("libblasfakeb.so").calls +
                         fake_taken("libblas64fake.so").calls,
                     2);
}

/* Another drop-in library of Lacuna is no BLAS: two would call each other. */
static void test_lacuna_is_passed_over(void **state)
{
    (void)state;
    open_local("./caller_a.so");
    caller_sgemm_fn *call = (caller_sgemm_fn *)caller_symbol("./caller_lacuna.so", "caller_sgemm");
    call(CALL_ARGS);
    assert_int_equal(fake_taken("libblaslacuna.so").calls, 0);
    assert_int_equal(fake_taken("libblasfakea.so").calls + fake_taken("libblasfakeb.so").calls, 1);
}

static void call_once(void *caller_sgemm)
{
    ((caller_sgemm_fn *)caller_sgemm)(CALL_ARGS);
}

static void test_two_threads(void **state)
{
    (void)state;
    expect_two_threads((caller_thread_t[]){{"./caller_a.so", "libblasfakea.so", call_once, 0},
                                           {"./caller_b.so", "libblasfakeb.so", call_once, 0}});
}

/* The caller's BLAS is a BLAS demuxer whose target is the plugin: seen once, and gone round from then on. */
static void go_round(const char *board_name, const char *caller_name)
{
    open_local("./caller_a.so");
    void *board = open_local(board_name);
    void *plugin = dlopen("liblacuna_blas.so", RTLD_NOW | RTLD_NOLOAD);
    ((void (*)(void *))dlsym(board, "blas_demuxer_set"))(dlsym(plugin, "sgemm_"));
    int (*passed)(void) = (int (*)(void))dlsym(board, "blas_demuxer_calls");
    caller_through_fn *call = (caller_through_fn *)caller_symbol(caller_name, "caller_through");
    call(dlsym(plugin, "sgemm_"), CALL_ARGS);
    assert_int_equal(fake_taken("libblasfakea.so").calls + fake_taken("libblasfakeb.so").calls, 1);
    int once = passed();
    assert_in_range(once, 1, 16);
    call(dlsym(board, "sgemm_"), CALL_ARGS); /* as its clients come: board, plugin, BLAS */
    assert_int_equal(passed(), once + 1);
    call(dlsym(plugin, "sgemm_"), CALL_ARGS);
    assert_int_equal(passed(), once + 1);
    assert_int_equal(fake_taken("libblasfakea.so").calls + fake_taken("libblasfakeb.so").calls, 2);
}

static void test_blas_demuxer_that_calls(void **state)
{
    (void)state;
    go_round("./libblasboardcalls.so", "./caller_calls.so");
}

static void test_blas_demuxer_that_jumps(void **state)
{
    (void)state;
    go_round("./libblasboardjumps.so", "./caller_jumps.so");
}

/* Machine code that passes its nine stack slots on to fn and returns: a caller that belongs to no object. */
static void *generate_caller(void *fn)
{
    enum { PUSHES = 9, PAGE = 4096 };
    static const unsigned char push[] = {0xff, 0x74, 0x24,
                                         8 * PUSHES}; /* push [rsp + 72], each time the next */
    static const unsigned char load[] = {0x48, 0xb8}; /* mov rax, fn                         */
    static const unsigned char call[] = {0xff, 0xd0,       0x48, 0x83,
                                         0xc4, 8 * PUSHES, 0xc3}; /* and drop, return */
    unsigned char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    unsigned char *to = page;
    for (int i = 0; i < PUSHES; i++, to += sizeof push) memcpy(to, push, sizeof push);
    to = (unsigned char *)memcpy(to, load, sizeof load) + sizeof load;
    to = (unsigned char *)memcpy(to, &fn, sizeof fn) + sizeof fn;
    memcpy(to, call, sizeof call);
    return mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0 ? page : NULL;
}

static void test_generated_code(void **state)
{
    (void)state;
#ifdef __x86_64__
    open_local("./caller_a.so");
    void *plugin = dlopen("liblacuna_blas.so", RTLD_NOW | RTLD_NOLOAD);
    for (int i = 0; i < 70; i++) { /* more pages than answers are kept for */
        void *caller = generate_caller(dlsym(plugin, "sgemm_"));
        assert_non_null(caller);
        (void)dlerror();
        errno = ENOTTY;
        for (int again = 0; again < 2; again++) ((sgemm_fn *)caller)(CALL_ARGS, 1, 1);
        assert_null(dlerror()); /* the search leaves no trace where the program might look */
        assert_int_equal(errno, ENOTTY);
        assert_int_equal(fake_taken("libblasfakea.so").calls + fake_taken("libblasfakeb.so").calls, 2);
    }
#else
    skip();
#endif
}

int main(void)
{
    setenv("LACUNA_DISABLE", "1", 1);
    open_local("./libblas64fake.so"); /* before any other BLAS */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_threads), /* first: both threads search at once */
        cmocka_unit_test(test_local_callers_keep_their_blas),
        cmocka_unit_test(test_handed_address),
        cmocka_unit_test(test_lacuna_is_passed_over),
        cmocka_unit_test(test_blas_demuxer_that_calls),
        cmocka_unit_test(test_blas_demuxer_that_jumps),
        cmocka_unit_test(test_generated_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
