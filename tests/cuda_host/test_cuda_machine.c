/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Device constants on a device that nobody measured. */
#include "unit_support.h"
#include "cuda/runtime/machine.h"

#include <math.h>

static void expect(double got, double want)
{
    if (!(fabs(got / want - 1.0) < 1e-9)) fail_msg("%g, expected %g", got, want);
}

static void test_the_same_device(void **state)
{
    (void)state;
    lac_machine_t shipped, machine;
    lac_machine_default(&shipped);
    machine = shipped;
    lac_cuda_machine_scale(&machine, &(lac_cuda_shape_t){132, 128, 2048, 1.98, 4917.0});
    for (int i = 0; i < lac_constant_count; i++)
        expect(*lac_machine_value(&machine, i), *lac_machine_value(&shipped, i));
}

/* Half the memory, a quarter of the multiprocessors at the same clock, each with half the lanes and a quarter
 * of the tensor cores. */
static void test_a_smaller_one(void **state)
{
    (void)state;
    lac_machine_t shipped, machine;
    lac_machine_default(&shipped);
    machine = shipped;
    lac_cuda_machine_scale(&machine, &(lac_cuda_shape_t){33, 64, 512, 1.98, 4917.0 / 2.0});
    expect(machine.cuda_dram_gbps, shipped.cuda_dram_gbps / 2.0);
    expect(machine.cuda_dense_gbps, shipped.cuda_dense_gbps / 2.0);
    expect(machine.cuda_gather_gbps, shipped.cuda_gather_gbps / 4.0);
    expect(machine.cuda_dense_tflops, shipped.cuda_dense_tflops / 8.0);
    expect(machine.cuda_tiles_tflops, shipped.cuda_tiles_tflops / 16.0);
    expect(machine.cuda_processors, 33.0);
    expect(machine.cuda_launch_us, shipped.cuda_launch_us);
    expect(machine.dense_gflops, shipped.dense_gflops); /* the host's */
}

static void test_what_was_measured_stays(void **state)
{
    (void)state;
    lac_machine_t machine;
    lac_machine_default(&machine);
    machine.cuda_dram_gbps = 1234.0;
    lac_cuda_machine_scale(&machine, &(lac_cuda_shape_t){33, 64, 512, 1.0, 1000.0});
    expect(machine.cuda_dram_gbps, 1234.0);
}

/* An A100's tensor cores make six products in less time than its multiply-adds one, those of a consumer's
 * device do not. */
static void test_tiles_beside_dense(void **state)
{
    (void)state;
    static const struct {
        int major, minor;
        bool faster;
    } devices[] = {{8, 0, true}, {8, 6, false}, {8, 9, false}, {9, 0, true}, {10, 0, false}, {12, 0, false}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        lac_machine_t machine;
        lac_cuda_shape_t shape = {.processors = 100, .clock_ghz = 1.5, .memory_gbps = 1500.0};
        lac_machine_default(&machine);
        lac_cuda_machine_cores(devices[i].major, devices[i].minor, &shape);
        lac_cuda_machine_scale(&machine, &shape);
        if ((machine.cuda_tiles_tflops > machine.cuda_dense_tflops) != devices[i].faster)
            fail_msg("%d.%d: tiles %g, dense %g TFLOP/s", devices[i].major, devices[i].minor,
                     machine.cuda_tiles_tflops, machine.cuda_dense_tflops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_device), cmocka_unit_test(test_a_smaller_one),
        cmocka_unit_test(test_what_was_measured_stays), cmocka_unit_test(test_tiles_beside_dense)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
