/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Which kernel gathers W, at and around each threshold, and that the thresholds move with the constants that
 * the costs are made of. */
#include "unit_support.h"
#include "cuda/routes/gather.h"
#include "cuda/runtime/machine.h"

#include <math.h>

static lac_machine_t h200;
static lac_operand_t operand;

static lac_sided_t sided(lac_dim_t m, lac_dim_t n, lac_dim_t k, double density)
{
    operand = (lac_operand_t){.density = density, .k_active = -1.0};
    return (lac_sided_t){.m = m, .n = n, .k = k, .ors = n, .ocs = 1, .s = &operand, .w = &operand};
}

static lac_cuda_columns_t best(lac_dim_t m, lac_dim_t n, lac_dim_t k, double density,
                               const lac_machine_t *machine)
{
    lac_sided_t s = sided(m, n, k, density);
    return lac_cuda_columns_best(&s, machine);
}

static bool beats_given(lac_dim_t m, lac_dim_t n, lac_dim_t k, double density, const lac_machine_t *machine)
{
    lac_sided_t s = sided(m, n, k, density);
    return lac_cuda_columns_beat_given(&s, machine);
}

/* The largest of `low` .. `high` for which a choice still is `which`, by halving. */
static double last(lac_cuda_columns_t which, lac_dim_t m, lac_dim_t n, lac_dim_t k, double low, double high,
                   const lac_machine_t *machine)
{
    assert_int_equal(best(m, n, k, low, machine), which);
    assert_int_not_equal(best(m, n, k, high, machine), which);
    for (int i = 0; i < 60; i++) {
        double middle = sqrt(low * high);
        *(best(m, n, k, middle, machine) == which ? &low : &high) = middle;
    }
    return low;
}

static void expect_near(double got, double want, double part)
{
    if (!(fabs(got / want - 1.0) <= part)) fail_msg("%.9g, expected %.9g", got, want);
}

/* Few events: of all rows less than 0.05 for each k, and less than 3e5 times columns. */
static void test_single_elements(void **state)
{
    (void)state;
    /* 1000 columns of k = 100: up to 0.05 of a row's density, 5000 fetches; others far away. */
    assert_int_equal(best(1, 1000, 100, 0.0499, &h200), LAC_CUDA_COLUMNS_EVENTS);
    assert_int_equal(best(1, 1000, 100, 0.0501, &h200), LAC_CUDA_COLUMNS_STREAM);
    assert_int_equal(best(10, 1000, 100, 0.00499, &h200), LAC_CUDA_COLUMNS_EVENTS);
    assert_int_equal(best(10, 1000, 100, 0.00501, &h200), LAC_CUDA_COLUMNS_STREAM);
    /* 10000 x 10000: 3e5 fetches are 30 events of a column. */
    expect_near(last(LAC_CUDA_COLUMNS_EVENTS, 1, 10000, 10000, 1e-5, 0.04, &h200), 0.003, 1e-6);
    expect_near(last(LAC_CUDA_COLUMNS_EVENTS, 3, 10000, 10000, 1e-5, 0.01, &h200), 0.001, 1e-6);
    expect_near(last(LAC_CUDA_COLUMNS_EVENTS, 3, 5000, 10000, 1e-5, 0.01, &h200), 0.002, 1e-6);
}

/* A list pays where it spares 11 MB of streaming on an H200: the share of W's pieces of 16 floats that some
 * row needs, taken from all. */
static void test_list_or_stream(void **state)
{
    (void)state;
    const lac_dim_t m = 10, n = 5000, k = 5000;
    double bytes = 4.0 * (double)n * (double)k,
           density = last(LAC_CUDA_COLUMNS_ACTIVE, m, n, k, 0.006, 0.5, &h200);
    double spared = bytes * pow(1.0 - density, 16.0 * (double)m);
    expect_near(spared, 11e6, 1e-3);
    /* the same bytes in other shapes, and no list for a W that is smaller than them */
    expect_near(last(LAC_CUDA_COLUMNS_ACTIVE, m, 2500, 10000, 0.006, 0.5, &h200), density, 1e-9);
    assert_int_equal(best(10, 1000, 2700, 0.006, &h200), LAC_CUDA_COLUMNS_STREAM);
    assert_int_equal(best(10, 1000, 8000, 0.006, &h200), LAC_CUDA_COLUMNS_ACTIVE);
}

/* Half the streaming rate: half the bytes take the time that a list must spare. Another rate of sectors
 * leaves that choice alone, and so does one of the host. */
static void test_choice_moves_with_constants(void **state)
{
    (void)state;
    const lac_dim_t m = 10, n = 5000, k = 5000;
    lac_machine_t slow = h200, sectors = h200;
    slow.cuda_stream_gbps /= 2.0;
    sectors.cuda_sector_gbps /= 2.0;
    double bytes = 4.0 * (double)n * (double)k,
           density = last(LAC_CUDA_COLUMNS_ACTIVE, m, n, k, 0.006, 0.5, &slow);
    expect_near(bytes * pow(1.0 - density, 16.0 * (double)m), 5.5e6, 1e-3);
    expect_near(last(LAC_CUDA_COLUMNS_ACTIVE, m, n, k, 0.006, 0.5, &sectors),
                last(LAC_CUDA_COLUMNS_ACTIVE, m, n, k, 0.006, 0.5, &h200), 1e-12);
    /* A device of half the memory's bandwidth, estimated: the choice follows without anybody's help. */
    lac_machine_t half = h200;
    lac_cuda_machine_scale(&half, &(lac_cuda_shape_t){132, 128, 2048, 1.98, 4917.0 / 2.0});
    expect_near(last(LAC_CUDA_COLUMNS_ACTIVE, m, n, k, 0.006, 0.5, &half), density, 1e-12);
    assert_int_not_equal(best(m, n, k, density, &half), best(m, n, k, density * 1.0001, &half));
}

/* Given events, measured: 50 rows at 1 % from the buffer, 10 rows of 10000 too, those at 0.1 % as they are.
 */
static void test_given_events(void **state)
{
    (void)state;
    assert_true(beats_given(50, 5000, 5000, 0.01, &h200));
    assert_true(beats_given(10, 10000, 10000, 0.01, &h200));
    assert_false(beats_given(10, 10000, 10000, 0.001, &h200));
    assert_false(beats_given(10, 1000, 1000, 0.01, &h200)); /* 2.2 MB of sectors: less than packing */
    assert_true(beats_given(100, 1000, 1000, 0.05, &h200)); /* five groups of rows fetch 20 MB    */
    lac_machine_t fast = h200, slow = h200;
    fast.cuda_sector_gbps *= 4.0;
    assert_false(beats_given(10, 10000, 10000, 0.01, &fast));
    slow.cuda_stream_gbps /= 8.0;
    assert_false(beats_given(10, 10000, 10000, 0.01, &slow));
}

/* Each kernel's cost rests on its own constants. */
static void test_costs_of_columns(void **state)
{
    (void)state;
    static const struct {
        lac_cuda_columns_t how;
        size_t constant;
    } rests[] = {{LAC_CUDA_COLUMNS_EVENTS, offsetof(lac_machine_t, cuda_sector_gbps)},
                 {LAC_CUDA_COLUMNS_ACTIVE, offsetof(lac_machine_t, cuda_active_gbps)},
                 {LAC_CUDA_COLUMNS_STREAM, offsetof(lac_machine_t, cuda_stream_gbps)}};
    lac_sided_t s = sided(10, 5000, 5000, 0.01);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            lac_machine_t machine = h200;
            *(double *)(void *)((char *)&machine + rests[j].constant) /= 2.0;
            double before = lac_cuda_columns_us(&s, rests[i].how, &h200),
                   after = lac_cuda_columns_us(&s, rests[i].how, &machine);
            if ((after > before * 1.2) != (i == j)) fail_msg("%d, %d: %g after %g us", i, j, after, before);
        }
    /* bytes of sectors, of pieces at their rate, of all: within a part in a thousand of the formula by hand
     */
    double w = 1e8, out = 4.0 * 10 * 5000 / (4566.0 * 1e3), pieces = 1.0 - pow(0.99, 160.0);
    expect_near(lac_cuda_columns_us(&s, LAC_CUDA_COLUMNS_EVENTS, &h200),
                out + (1.0 - pow(0.99, 80.0)) * w / 1.7e6, 1e-9);
    expect_near(lac_cuda_columns_us(&s, LAC_CUDA_COLUMNS_ACTIVE, &h200),
                out + 2.0 + pieces * w / (4.5e6 * (0.5 + 0.5 * pieces)), 1e-9);
    double worked = 5e4 / 21e3 + 0.01 * 10 * 25e6 / 2.2e6;
    expect_near(lac_cuda_columns_us(&s, LAC_CUDA_COLUMNS_STREAM, &h200), out + w / 4.1e6 + 0.25 * worked,
                1e-9);
    /* few columns leave multiprocessors idle: 264 columns are 66 warps of 4 for 132 of them */
    lac_sided_t few = sided(10, 264, 5000, 0.01), enough = sided(10, 528, 5000, 0.01);
    double half = lac_cuda_columns_us(&few, LAC_CUDA_COLUMNS_STREAM, &h200),
           full = lac_cuda_columns_us(&enough, LAC_CUDA_COLUMNS_STREAM, &h200);
    expect_near(half - 4.0 * 10 * 264 / 4566e3, full - 4.0 * 10 * 528 / 4566e3, 1e-9);
}

/* Rows: what is gathered in wide slices wins for many rows of few nonzeros, and only there. */
static void test_wide(void **state)
{
    (void)state;
    const double m = 4096, n = 4096, k = 4096;
    assert_true(lac_cuda_wide_wins(m, n, k, 0.001 * m * k, false, &h200));
    assert_true(lac_cuda_wide_wins(m, n, k, 64 * m, false, &h200));
    assert_false(lac_cuda_wide_wins(m, n, k, 65 * m, false, &h200));
    assert_true(lac_cuda_wide_wins(2048, 512, k, 4 * 2048, false, &h200));
    assert_false(lac_cuda_wide_wins(2048, 511, k, 4 * 2048, false, &h200));
    double wide = lac_cuda_wide_us(
        &(lac_sided_t){.m = 128, .n = 65536, .k = 4096, .s = &operand, .w = &operand}, &h200);
    assert_true(wide > 0.0);
    assert_true(lac_cuda_wide_wins(128, 65536, k, 4 * 128, false, &h200));
    assert_false(lac_cuda_wide_wins(127, 65536, k, 4 * 127, false, &h200));
    /* by the costs, which rest on the constants */
    /* an output that lies across its rows is written at a sixth of the rate */
    lac_sided_t along = {.m = 4096, .n = 4096, .k = 4096, .ocs = 1, .s = &operand, .w = &operand},
                across = along;
    across.ocs = 4096;
    double out = 4.0 * 4096 * 4096 / (h200.cuda_wide_out_gbps * 1e3);
    expect_near(lac_cuda_wide_us(&across, &h200) - lac_cuda_wide_us(&along, &h200), out / 0.16 - out, 1e-9);
    lac_machine_t poor = h200;
    poor.cuda_wide_out_gbps = poor.cuda_gather_out_gbps / 4.0;
    assert_false(lac_cuda_wide_wins(m, n, k, 0.001 * m * k, false, &poor));
}

/* 4096^3, H200, 2026-11-22: what was measured, within a quarter; and the constants behind it. */
static void test_wide_costs(void **state)
{
    (void)state;
    static const double took[][2] = {{0.0005, 41}, {0.001, 49}, {0.002, 72}, {0.005, 159}, {0.01, 309}};
    for (size_t i = 0; i < sizeof took / sizeof *took; i++) {
        lac_sided_t s = sided(4096, 4096, 4096, took[i][0]);
        expect_near(lac_cuda_wide_us(&s, &h200), took[i][1], 0.25);
    }
    /* so few rows that all columns of a W of 100 MB are read at once: 61 and 93 us, 9 of them for the rows */
    lac_sided_t far = sided(512, 5000, 5000, 0.005);
    expect_near(lac_cuda_wide_us(&far, &h200), 61 - 9, 0.1);
    far = sided(512, 5000, 5000, 0.01);
    expect_near(lac_cuda_wide_us(&far, &h200), 93 - 9, 0.1);
    lac_sided_t s = sided(4096, 4096, 4096, 0.01);
    lac_machine_t machine = h200;
    machine.cuda_wide_gbps /= 2.0;
    double fetched = 4.0 * 0.01 * 4096.0 * 4096.0 * 4096.0 / 9.4e6;
    expect_near(lac_cuda_wide_us(&s, &machine) - lac_cuda_wide_us(&s, &h200), fetched, 1e-6);
    lac_machine_t other = h200;
    lac_cuda_machine_scale(&other, &(lac_cuda_shape_t){66, 128, 2048, 1.98, 4917.0 / 4.0});
    expect_near(other.cuda_wide_gbps, h200.cuda_wide_gbps / 2.0, 1e-12);
    expect_near(other.cuda_wide_out_gbps, h200.cuda_wide_out_gbps / 4.0, 1e-12);
}

/* Rows of a block that share slices: none up to ten, all of them from 32 on. */
static void test_gather_costs(void **state)
{
    (void)state;
    lac_sided_t one = sided(10, 5000, 5000, 0.1);
    double active = 1.0 - pow(0.9, 10.0), fetched = 4.0 * 0.1 * 10 * 5000 * 5120 / 6.6e6,
           dram = active * 1e8 / 4.566e6;
    expect_near(lac_cuda_gather_us(&one, &h200), 2e5 / 4.8e5 + fetched + 0.35 * dram, 1e-9);
    lac_sided_t block = sided(32, 5000, 5000, 0.1);
    double common = 1.0 - pow(0.9, 32.0);
    fetched = 4.0 * 0.1 * 32 * 5000 * 5120 / ((1.0 + 1.7 * common * common * 50e6 / (common * 1e8)) * 6.6e6),
    dram = common * 1e8 / 4.566e6;
    double more = fetched > dram ? fetched : dram, less = fetched > dram ? dram : fetched;
    expect_near(lac_cuda_gather_us(&block, &h200), 6.4e5 / 4.8e5 + more + 0.35 * less, 1e-9);
    /* a W that the last-level cache holds: its rows are found as often as they are shared */
    lac_sided_t near = sided(32, 1280, 5000, 0.1);
    fetched = 4.0 * 0.1 * 32 * 5000 * 1280 / ((1.0 + 1.7 * common * common) * 6.6e6),
    dram = common * 4.0 * 1280 * 5000 / 4.566e6;
    more = fetched > dram ? fetched : dram, less = fetched > dram ? dram : fetched;
    expect_near(lac_cuda_gather_us(&near, &h200), 4.0 * 32 * 1280 / 4.8e5 + more + 0.35 * less, 1e-9);
    /* columns cost by the 128; the share of k that is known counts */
    lac_sided_t narrow = sided(10, 1, 5000, 0.1), wide = sided(10, 128, 5000, 0.1);
    assert_true(lac_cuda_gather_us(&wide, &h200) - lac_cuda_gather_us(&narrow, &h200) < 1.0);
    lac_sided_t known = sided(10, 5000, 5000, 0.1);
    operand.k_active = 0.1;
    expect_near(lac_cuda_gather_us(&known, &h200),
                2e5 / 4.8e5 + 4.0 * 0.1 * 10 * 5000 * 5120 / 6.6e6 + 0.35 * 0.1 * 1e8 / 4.566e6, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_single_elements),
                                       cmocka_unit_test(test_list_or_stream),
                                       cmocka_unit_test(test_choice_moves_with_constants),
                                       cmocka_unit_test(test_given_events),
                                       cmocka_unit_test(test_costs_of_columns),
                                       cmocka_unit_test(test_wide),
                                       cmocka_unit_test(test_wide_costs),
                                       cmocka_unit_test(test_gather_costs)};
    unit_begin();
    lac_machine_default(&h200);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
