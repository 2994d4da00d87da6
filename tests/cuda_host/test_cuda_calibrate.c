/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A device's constants from what products take: on a device that takes exactly what the cost model says with
 * other constants, those are found. Needs no device: nothing here runs. */
#include "cuda_table_support.h"
#include "unit_support.h"
#include "base/status.h"
#include "cuda/runtime/machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const lac_route_t *const *table;
static int count, steps, fails_at;
static lac_machine_t truth;
static bool took_dense, took_tiles; /* they apply: there is a cuBLAS, a device of that kind */

static lac_status_t take(void *arg, const lac_route_t *route, const lac_problem_t *p, double *us)
{
    assert_ptr_equal(arg, &truth);
    if (--fails_at == 0) return lac_fail(LAC_ERR_VENDOR, "device: as the test wants it");
    took_dense |= route && !strcmp(route->name, "dense");
    took_tiles |= route && !strcmp(route->name, "tiles");
    *us =
        route ? route->cost_us(route, p, &truth) : 4.0 * (double)(p->m * p->n) / (truth.cuda_dram_gbps * 1e3);
    assert_true(p->m * p->k <= LAC_CUDA_TUNE_A && p->k * p->n <= LAC_CUDA_TUNE_B);
    assert_true(p->m * p->n <= LAC_CUDA_TUNE_C);
    return LAC_OK;
}

static void count_step(void *arg, const char *key, const char *value)
{
    (void)arg;
    int step = 0, all = 0;
    assert_true(key[0] != '\0' && sscanf(value, "%d/%d", &step, &all) == 2);
    assert_int_equal(step, ++steps);
    assert_true(step <= all);
}

static lac_status_t calibrate(lac_machine_t *machine)
{
    static float somewhere[4] __attribute__((aligned(16))); /* never read */
    lac_cuda_bench_t bench = {somewhere, somewhere, somewhere, take, &truth};
    steps = 0;
    return lac_cuda_calibrate(machine, table, count, &bench, count_step, NULL);
}

/* Every constant off by another factor, memory and caches slower, launches longer. */
static void test_constants_are_found(void **state)
{
    (void)state;
    lac_machine_t machine;
    lac_machine_default(&machine);
    truth = machine;
    truth.cuda_dram_gbps *= 0.31, truth.cuda_l2_gbps *= 0.4, truth.cuda_launch_us *= 1.7;
    truth.cuda_pdl_us *= 0.6, truth.cuda_gather_gbps *= 0.35, truth.cuda_gather_out_gbps *= 0.5;
    truth.cuda_sector_gbps *= 0.4, truth.cuda_active_gbps *= 0.3, truth.cuda_stream_gbps *= 0.25;
    truth.cuda_dense_call_us *= 2.0, truth.cuda_dense_gbps *= 0.45, truth.cuda_dense_vector_gbps *= 0.6;
    truth.cuda_dense_tflops *= 0.2, truth.cuda_tiles_tflops *= 0.3;
    unit_expect(calibrate(&machine), LAC_OK, "calibrate");
    assert_in_range(steps, 10, 30);
    for (int i = 0; i < lac_constant_count; i++) {
        double got = *lac_machine_value(&machine, i), want = *lac_machine_value(&truth, i);
        bool dense = strstr(lac_constants[i].name, "cuda_dense"),
             tiles = strstr(lac_constants[i].name, "cuda_tiles");
        if ((took_dense || !dense) && (took_tiles || !tiles) && !(fabs(got / want - 1.0) < 0.05))
            fail_msg("%s: %g, expected %g", lac_constants[i].name, got, want);
    }
}

/* What no constant explains within reason moves it so far and no farther. */
static void test_a_wild_device(void **state)
{
    (void)state;
    lac_machine_t machine, shipped;
    lac_machine_default(&shipped);
    machine = truth = shipped;
    truth.cuda_dram_gbps *= 1e-4;
    unit_expect(calibrate(&machine), LAC_OK, "calibrate");
    for (int i = 0; i < lac_constant_count; i++) {
        double ratio = *lac_machine_value(&machine, i) / lac_constants[i].value;
        if (!(ratio > 1.0 / 16.01 && ratio < 16.01)) fail_msg("%s: %g times", lac_constants[i].name, ratio);
    }
}

static void test_failure_is_passed_on(void **state)
{
    (void)state;
    lac_machine_t machine;
    lac_machine_default(&machine);
    fails_at = 3;
    unit_expect(calibrate(&machine), LAC_ERR_VENDOR, "calibrate");
    assert_int_equal(steps, 3);
}

static int setup(void **state)
{
    (void)state;
    table = cuda_table(&count);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constants_are_found),
                                       cmocka_unit_test(test_a_wild_device),
                                       cmocka_unit_test(test_failure_is_passed_on)};
    unit_begin();
    return cmocka_run_group_tests(tests, setup, NULL);
}
