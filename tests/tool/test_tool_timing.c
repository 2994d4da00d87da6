/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Statistics of timings, on made-up samples: quantiles between neighbours, and ratios within a round. */
#include "timing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want))) fail_msg("%.15g, expected %.15g", got, want);
}

static void expect_stats(const double *samples, size_t count, double min, double p25, double median,
                         double p75, double p95, double max)
{
    sample_stats_t stats = sample_stats(samples, count);
    expect_near(stats.min, min);
    expect_near(stats.p25, p25);
    expect_near(stats.median, median);
    expect_near(stats.p75, p75);
    expect_near(stats.p95, p95);
    expect_near(stats.max, max);
    assert_int_equal(stats.count, count);
}

static void test_quantiles(void **state)
{
    (void)state;
    static const double one[] = {7.0}, two[] = {30.0, 10.0}, odd[] = {50.0, 10.0, 20.0, 400.0, 30.0};
    double many[101], before[101];
    expect_stats(one, 1, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0);
    expect_stats(two, 2, 10.0, 15.0, 20.0, 25.0, 29.0, 30.0);
    expect_stats(odd, 5, 10.0, 20.0, 30.0, 50.0, 330.0, 400.0);
    for (int i = 0; i < 101; i++) many[i] = before[i] = (double)(i * 37 % 101); /* 0 .. 100, in disorder */
    expect_stats(many, 101, 0.0, 25.0, 50.0, 75.0, 95.0, 100.0);
    assert_memory_equal(many, before, sizeof many);
    expect_stats(one, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
}

/* The median of the ratios of one round, not the ratio of medians; rounds that only one has do not count. */
static void test_paired_speedup(void **state)
{
    (void)state;
    static double base[] = {10.0, 20.0, 90.0, 1.0, 1.0}, other[] = {5.0, 1.0, 30.0};
    const timed_contender_t x = {.sample = base, .count = 5}, y = {.sample = other, .count = 3},
                            none = {.count = 0};
    expect_near(paired_speedup(&x, &y), 3.0); /* of 2, 20 and 3 */
    expect_near(paired_speedup(&y, &x), 1.0 / 3.0);
    expect_near(paired_speedup(&x, &none), 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_paired_speedup),
    };
    return cmocka_run_group_tests_name("tool: statistics of timings", tests, NULL, NULL);
}
