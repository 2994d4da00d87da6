/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Device constants on a device that nobody measured. */
#include "unit_support.h"
#include "cuda/cuda_machine.h"

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
    lac_cuda_machine_scale(&machine, &(lac_cuda_shape_t){132, 128, 1.98, 4917.0});
    for (int i = 0; i < lac_constant_count; i++)
        expect(*lac_machine_value(&machine, i), *lac_machine_value(&shipped, i));
}

/* Half the memory, a quarter of the multiprocessors at the same clock, each with half the lanes. */
static void test_a_smaller_one(void **state)
{
    (void)state;
    lac_machine_t shipped, machine;
    lac_machine_default(&shipped);
    machine = shipped;
    lac_cuda_machine_scale(&machine, &(lac_cuda_shape_t){33, 64, 1.98, 4917.0 / 2.0});
    expect(machine.cuda_dram_gbps, shipped.cuda_dram_gbps / 2.0);
    expect(machine.cuda_dense_gbps, shipped.cuda_dense_gbps / 2.0);
    expect(machine.cuda_gather_gbps, shipped.cuda_gather_gbps / 4.0);
    expect(machine.cuda_dense_tflops, shipped.cuda_dense_tflops / 8.0);
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
    lac_cuda_machine_scale(&machine, &(lac_cuda_shape_t){33, 64, 1.0, 1000.0});
    expect(machine.cuda_dram_gbps, 1234.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_same_device),
                                       cmocka_unit_test(test_a_smaller_one),
                                       cmocka_unit_test(test_what_was_measured_stays)};
    unit_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
