/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Statistics of timings, on made-up samples: quantiles between neighbours, and ratios within a round. And the
 * order in which contenders are visited, and what they settle for. */
#include "timing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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

/* What ran: a letter for each contender, as often as another one comes, and the time since it came. */
static char visits[64];
static double visited_us[64], came_us;
static size_t count;

static bool spin(void *arg)
{
    double begin = clock_us();
    const char *name = arg;
    if (!count || visits[count - 1] != *name) {
        assert_true(count < sizeof visits - 1);
        visits[count++] = *name;
        came_us = begin;
    }
    while (clock_us() - begin < 20.0) {
    }
    visited_us[count - 1] = clock_us() - came_us;
    return true;
}

static bool is_capital(void *arg)
{
    const char *name = arg;
    return *name >= 'A' && *name <= 'Z';
}

/* Those in the BLAS (capitals) follow each other, there and back; between them and the others the threads of
 * the BLAS have the time to fall asleep, or to wake. */
static void test_contenders_in_the_blas_stay_together(void **state)
{
    (void)state;
    static char names[][2] = {"V", "a", "B", "c"};
    timed_contender_t contender[4];
    const timing_plan_t plan = {.repeat = 3, .warmup = 1};
    for (int i = 0; i < 4; i++)
        contender[i] = (timed_contender_t){.run = spin, .in_blas = is_capital, .arg = names[i]};
    count = 0;
    assert_true(time_contenders(contender, 4, &plan));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(contender[i].count, 3);
        assert_int_equal(contender[i].wakes, i % 2 == 0);
        free(contender[i].sample);
    }
    assert_string_equal(visits, "VaBcVBacaBVBac"); /* warm-up; V B a c; c a B V; V B a c */
    for (size_t i = 5; i < count; i++) {
        bool changes = is_capital(&visits[i]) != is_capital(&visits[i - 1]);
        if (changes && visited_us[i] < 30e3) fail_msg("%c came for %.0f us", visits[i], visited_us[i]);
    }
}

/* Where settling takes longer than sampling, a visit takes several samples; all have as many. */
static void test_visits_take_as_long_as_settling(void **state)
{
    (void)state;
    static char names[][2] = {"V", "a"};
    timed_contender_t contender[2];
    const timing_plan_t plan = {.min_time_s = 0.01, .warmup = 1};
    for (int i = 0; i < 2; i++)
        contender[i] = (timed_contender_t){.run = spin, .in_blas = is_capital, .arg = names[i]};
    count = 0;
    assert_true(time_contenders(contender, 2, &plan));
    assert_int_equal(contender[0].count, contender[1].count);
    assert_in_range(contender[0].count, 1 + 2 * (ROUNDS_MIN - 1), 1 + 16 * (ROUNDS_MIN - 1));
    free(contender[0].sample);
    free(contender[1].sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_paired_speedup),
        cmocka_unit_test(test_contenders_in_the_blas_stay_together),
        cmocka_unit_test(test_visits_take_as_long_as_settling),
    };
    return cmocka_run_group_tests_name("tool: statistics of timings", tests, NULL, NULL);
}
