/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Out of memory (threads, files, libraries) at every single point: each public call then gives the right
 * answer or LAC_ERR_MEMORY with what it was to write untouched, works when there is memory again, and leaks
 * nothing. */
#include "fault_allocator.h"
#include "fault_points.h"
#include "fault_steps.h"
#include "../unit/unit_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const fault_steps_t *const sets[] = {&fault_product_steps, &fault_sparse_steps};
static const fault_steps_t *steps; /* those of this test */

static void wrong(const char *what, int step)
{
    printf("step %d: %s (%s)\n", step, what, lac_last_error());
    fflush(stdout);
    _exit(FAULT_WRONG);
}

static lac_status_t try_step(lac_ctx_t *ctx, int step)
{
    const char *what = NULL;
    lac_status_t status = steps->run(ctx, step, &what);
    if (what) wrong(what, step);
    if (status && status != LAC_ERR_MEMORY) wrong("a status that is not about memory", step);
    if (status && !*lac_last_error()) wrong("an error without a message", step);
    return status;
}

static void all_steps(lac_ctx_t *ctx, bool again)
{
    for (int step = 0; step < steps->count(); step++)
        if (try_step(ctx, step) && again && try_step(ctx, step)) wrong("fails once more, with memory", step);
}

static bool create(lac_ctx_t **ctx)
{
    lac_status_t status = lac_ctx_create(ctx);
    if (!status) return true;
    if (status != LAC_ERR_MEMORY || *ctx) wrong("no context, and not for memory", -1);
    return false;
}

void __lsan_do_leak_check(void) __attribute__((weak));

static fault_end_t child(long n, bool for_good)
{
    lac_ctx_t *ctx;
    fault_arm(n, for_good);
    bool there = create(&ctx) || (!for_good && create(&ctx));
    if (there) all_steps(ctx, !for_good);
    long requests = fault_disarm();
    if (!there && !create(&ctx)) wrong("no context when there is memory again", -1);
    all_steps(ctx, true);
    lac_ctx_free(ctx);
    if (__lsan_do_leak_check) __lsan_do_leak_check();
    return requests < n ? FAULT_DONE : FAULT_MET;
}

static void every_point(bool for_good)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        steps = sets[i];
        assert_true(fault_every_point(child, for_good, unit_quick() ? 26 : 1) > 50);
    }
}

static void test_one_failure_at_every_point(void **state)
{
    (void)state;
    every_point(false);
}

static void test_no_memory_from_every_point_on(void **state)
{
    (void)state;
    every_point(true);
}

/* Constants that make even these small products worth several threads. */
static void test_with_threads(void **state)
{
    (void)state;
    unit_write(unit_path("tune"), "# lacuna tuning 2\nfork_join_us = 0.001\n");
    setenv("LACUNA_TUNE_CACHE", unit_path("tune"), 1);
    setenv("LACUNA_THREADS", "4", 1);
    every_point(false);
    every_point(true);
    unsetenv("LACUNA_TUNE_CACHE");
    unsetenv("LACUNA_THREADS");
}

/* The settings that read files, and the routine without a BLAS. */
static void test_without_blas(void **state)
{
    (void)state;
    unit_write(unit_path("config"), "learn = on\n");
    setenv("LACUNA_CONFIG", unit_path("config"), 1);
    setenv("LACUNA_BLAS", "none", 1);
    every_point(false);
    unsetenv("LACUNA_CONFIG");
    unsetenv("LACUNA_BLAS");
}

int main(void)
{
    unit_begin();
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) sets[i]->make_operands();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_failure_at_every_point),
        cmocka_unit_test(test_no_memory_from_every_point_on),
        cmocka_unit_test(test_with_threads),
        cmocka_unit_test(test_without_blas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
