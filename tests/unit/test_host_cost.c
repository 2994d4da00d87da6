/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the host's routes are predicted to take: what lies in a cache is read at a cache's speed, and W is
 * packed in the prediction where the kernel packs it. */
#include "unit_support.h"
#include "host/routes/routes.h"
#include "host_kernels.h"
#include "operand/problem.h"
#include "route/sided.h"

#include <math.h>

static lac_machine_t machine;
static float buffer[4]; /* nothing is read */

/* S[m, k] with so many nonzeros, by rows, times W[k, n] by rows, on one thread. */
static lac_problem_t problem(lac_dim_t m, lac_dim_t k, lac_dim_t n, double nonzeros)
{
    lac_obj_t a = lac_obj_rowmajor(LAC_F32, m, k, buffer, k), b = lac_obj_rowmajor(LAC_F32, k, n, buffer, n),
              c = lac_obj_rowmajor(LAC_F32, m, n, buffer, n);
    lac_problem_t p;
    lac_problem_describe(&p, 1.0f, &a, &b, 0.0f, &c);
    p.settings.threads = 1;
    p.a.density = nonzeros / ((double)m * (double)k);
    return p;
}

static double csr_us(const lac_problem_t *p)
{
    assert_int_equal(lac_host_route_csr->applicable(lac_host_route_csr, p), LAC_FITS);
    return lac_host_route_csr->cost_us(lac_host_route_csr, p, &machine);
}

static void expect_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-6 * want)) fail_msg("%g us, expected %g", got, want);
}

static void test_scan(void **state)
{
    (void)state;
    double edge = machine.cache_mb * 1e6;
    expect_near(lac_scan_us(0.5 * edge, &machine), 0.5 * edge / (machine.scan_cached_gbps * 1e3));
    expect_near(lac_scan_us(2.0 * edge, &machine), 2.0 * edge / (machine.scan_gbps * 1e3));
}

/* One more nonzero than does not pay for it, and all of W is written once more. */
static void test_packing(void **state)
{
    (void)state;
    enum { M = 64, K = 512, N = 256 };
    lac_problem_t p = problem(M, K, N, 4 * K - 1.5), q = problem(M, K, N, 4 * K + 0.5);
    assert_false(lac_csr_packs(M, K, 4 * K - 2, sizeof(float)));
    assert_true(lac_csr_packs(M, K, 4 * K, sizeof(float)));
    double more = 2.0 * (machine.scan_event_ns + N / 16 * machine.csr_ns) * 1e-3;
    double out = 4.0 * M * N / (machine.out_gbps * 1e3); /* in a cache, where nothing is packed: no time */
    expect_near(csr_us(&q) - csr_us(&p), 4.0 * K * N / (machine.pack_gbps * 1e3) + out + more);
}

/* Few nonzeros of a small W cost what they are, those of a large one what memory takes. */
static void test_few_nonzeros(void **state)
{
    (void)state;
    enum { M = 8, K = 1000, N = 4096 };
    lac_problem_t few = problem(M, K, N, 40), none = problem(M, K, N, 0), many = problem(M, K, N, 900);
    double each = machine.scan_event_ns * 1e-3, vectors = N / 16;
    double row = M * machine.csr_row_ns * vectors * 1e-3, out = 4.0 * M * N / (machine.out_gbps * 1e3);
    expect_near(csr_us(&few) - csr_us(&none), 40 * (each + machine.csr_ns * vectors * 1e-3));
    expect_near(csr_us(&many) - csr_us(&none), 900 * (each + 4.0 * N / (machine.row_gbps * 1e3)) - row + out);
}

/* An event costs its slot in the list and its share of a row of W, however it lies among rows and k. */
static void test_events(void **state)
{
    (void)state;
    enum { M = 8, K = 1000, N = 96 };
    const lac_route_t *route = lac_host_route_event;
    lac_problem_t none = problem(M, K, N, 0), some = problem(M, K, N, 500);
    none.a.k_active = some.a.k_active = 0.25;
    assert_int_equal(route->applicable(route, &some), LAC_FITS);
    expect_near(route->cost_us(route, &some, &machine) - route->cost_us(route, &none, &machine),
                500 * (machine.scan_event_ns + N / 16 * machine.axpy_ns) * 1e-3);
}

/* Where arithmetic costs nothing, a bitmask costs what reading it does: a bit for each element and each
 * nonzero of S. */
static void test_bitmask(void **state)
{
    (void)state;
    enum { M = 300, K = 1000, N = 8 };
    const lac_route_t *route = lac_host_route_bitmask;
    lac_problem_t p = problem(M, K, N, 12000), none = problem(M, K, N, 0);
    p.b.rs = none.b.rs = 1, p.b.cs = none.b.cs = K;
    lac_machine_t before = machine;
    machine.bits_ns = 1e-6;
    const double read = route->cost_us(route, &p, &machine) - machine.route_us;
    expect_near(read, (M * K / 8.0 + 4.0 * 12000) / (machine.row_gbps_all * 1e3));
    expect_near(route->cost_us(route, &none, &machine) - machine.route_us,
                M * K / 8.0 / (machine.row_gbps_all * 1e3));
    machine = before;
}

/* What a route takes where rows of W come at the usual rate, beyond what it takes at twice that. */
static double moved_us(const lac_route_t *route, const lac_problem_t *p)
{
    lac_machine_t fast = machine;
    fast.row_gbps *= 2.0, fast.row_gbps_all *= 2.0;
    assert_int_equal(route->applicable(route, p), LAC_FITS);
    return route->cost_us(route, p, &machine) - route->cost_us(route, p, &fast);
}

/* Rows of W that are more than half of what caches hold come from memory bit by bit. */
static void test_between_caches(void **state)
{
    (void)state;
    enum { K = 1000, N = 7504, ROWS = 100 };
    double edge = machine.cache_mb * 1e6, bytes = 4.0 * N * ROWS;
    assert_true(lac_far_share(0.0, &machine) == 0.0 && lac_far_share(0.5 * edge, &machine) == 0.0);
    expect_near(lac_far_share(0.75 * edge, &machine), 0.5);
    assert_true(lac_far_share(edge, &machine) == 1.0 && lac_far_share(9.0 * edge, &machine) == 1.0);

    double share = 2.0 * bytes / edge - 1.0;
    assert_true(share > 0.4 && share < 0.6);
    lac_problem_t p = problem(1, K, N, ROWS);
    p.a.k_active = (double)ROWS / K;
    expect_near(moved_us(lac_host_route_csr, &p), 0.5 * share * bytes / (machine.row_gbps * 1e3));
    expect_near(moved_us(lac_host_route_event, &p), 0.5 * share * bytes / (machine.row_gbps * 1e3));
}

/* The BLAS, too, reads a cache faster than memory, so that dense data of few rows is left to it at once. */
static void test_dense(void **state)
{
    (void)state;
    enum { M = 4, K = 512, N = 256 };
    lac_problem_t p = problem(M, K, N, 0.99 * M * K);
    p.settings.blas_threads = (int)machine.dense_threads;
    double read = 4.0 * (M * K + K * N) / (machine.dense_gbps * 1e3);
    double rest = machine.dense_call_us + 2.0 * M * K * N / (machine.dense_gflops * 1e3) +
                  4.0 * M * N / (machine.dense_out_gbps * 1e3);
    double near_us = lac_host_route_dense->cost_us(lac_host_route_dense, &p, &machine);
    expect_near(near_us, rest + read * machine.scan_gbps / machine.scan_cached_gbps);
    assert_true(csr_us(&p) > near_us);
    lac_machine_t before = machine;
    machine.cache_mb = 0.01;
    expect_near(lac_host_route_dense->cost_us(lac_host_route_dense, &p, &machine), rest + read);
    machine = before;
}

/* The BLAS gains with its threads, on a straight line from those that were measured; ours say nothing of it.
 */
static void test_dense_threads(void **state)
{
    (void)state;
    enum { SIDE = 4096 };
    lac_problem_t p = problem(SIDE, SIDE, SIDE, 0);
    double flops = 2.0 * SIDE * SIDE * SIDE, one = flops / (machine.dense_gflops_one * 1e3),
           all = flops / (machine.dense_gflops * 1e3), us[65];
    for (int threads = 1; threads <= 64; threads++) {
        p.settings.blas_threads = threads;
        us[threads] = lac_host_route_dense->cost_us(lac_host_route_dense, &p, &machine);
        if (threads > 1) assert_true(us[threads] < us[threads - 1]);
    }
    assert_true(us[1] > one && us[1] < 1.1 * one);
    assert_true(us[2] > all && us[2] < 1.1 * all);
    assert_true(us[64] < us[2] / 25.0 && us[64] > us[2] / 40.0);
    p.settings.blas_threads = 16, p.settings.threads = 1;
    expect_near(lac_host_route_dense->cost_us(lac_host_route_dense, &p, &machine), us[16]);
    p.settings.blas_threads = 0, p.settings.threads = 8; /* nothing said: as many as may be used */
    expect_near(lac_host_route_dense->cost_us(lac_host_route_dense, &p, &machine), us[8]);
    assert_true(lac_dense_rate(&machine, 5.0, 4.0, 2) == 5.0); /* no machine is slower with more of them */
    lac_machine_t single = machine;
    single.dense_threads = 1.0;
    assert_true(lac_dense_rate(&single, 5.0, 5.0, 8) == 40.0);
}

/* What lies across is read twice as slowly. */
static void test_transposed(void **state)
{
    (void)state;
    lac_problem_t p = problem(100, 1000, 16, 50), q = p;
    q.a.rs = 1, q.a.cs = 100;
    expect_near(csr_us(&q) - csr_us(&p), 2.0 * lac_scan_us(4.0 * 100 * 1000, &machine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan),           cmocka_unit_test(test_packing),
        cmocka_unit_test(test_between_caches), cmocka_unit_test(test_few_nonzeros),
        cmocka_unit_test(test_events),         cmocka_unit_test(test_bitmask),
        cmocka_unit_test(test_dense),          cmocka_unit_test(test_dense_threads),
        cmocka_unit_test(test_transposed)};
    unit_begin();
    lac_machine_default(&machine);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
