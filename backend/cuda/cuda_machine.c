/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A roofline estimate: rates of memory go with its bandwidth, rates of caches and arithmetic with the
 * multiprocessors and their clock, times of launches stay. */
#include "cuda_machine.h"

#include <stddef.h>

static const lac_cuda_shape_t h200 = {132, 128, 2048, 1.98, 4917.0};

static const size_t by_memory[] = {
    offsetof(lac_machine_t, cuda_dram_gbps),       offsetof(lac_machine_t, cuda_sector_gbps),
    offsetof(lac_machine_t, cuda_active_gbps),     offsetof(lac_machine_t, cuda_stream_gbps),
    offsetof(lac_machine_t, cuda_dense_gbps),      offsetof(lac_machine_t, cuda_dense_vector_gbps),
    offsetof(lac_machine_t, cuda_gather_out_gbps), offsetof(lac_machine_t, cuda_spmm_out_gbps),
    offsetof(lac_machine_t, cuda_tiles_pack_gbps)};
static const size_t by_processors[] = {
    offsetof(lac_machine_t, cuda_l2_gbps),       offsetof(lac_machine_t, cuda_gather_gbps),
    offsetof(lac_machine_t, cuda_narrow_gbps),   offsetof(lac_machine_t, cuda_stream_sums),
    offsetof(lac_machine_t, cuda_stream_events), offsetof(lac_machine_t, cuda_spmm_events)};

static double rate(const lac_cuda_shape_t *x)
{
    return x->processors * x->clock_ghz;
}

static void scale(lac_machine_t *machine, const lac_machine_t *shipped, size_t at, double factor)
{
    double *value = (double *)(void *)((char *)machine + at);
    if (*value == *(const double *)(const void *)((const char *)shipped + at)) *value *= factor;
}

/* Warpgroup products run at 2048 on 9.0, products of a warp at 1024 on an A100. Elsewhere 256, what the
 * consumer's devices have with sums in f32, is taken for granted and no more: others have up to four times
 * that, and newer ones more by other instructions, but a route of which too much is expected is worse than
 * one that waits to be measured. */
void lac_cuda_machine_cores(int major, int minor, lac_cuda_shape_t *shape)
{
    bool a100 = major == 8 && minor == 0;
    shape->lanes = a100 ? 64 : 128;
    shape->tensor = major == 9 ? h200.tensor : a100 ? 1024 : 256;
}

void lac_cuda_machine_scale(lac_machine_t *machine, const lac_cuda_shape_t *shape)
{
    lac_machine_t shipped;
    lac_machine_default(&shipped);
    double core = rate(shape) / rate(&h200), memory = shape->memory_gbps / h200.memory_gbps;
    for (size_t i = 0; i < sizeof by_memory / sizeof *by_memory; i++)
        scale(machine, &shipped, by_memory[i], memory);
    for (size_t i = 0; i < sizeof by_processors / sizeof *by_processors; i++)
        scale(machine, &shipped, by_processors[i], core);
    scale(machine, &shipped, offsetof(lac_machine_t, cuda_dense_tflops), core * shape->lanes / h200.lanes);
    scale(machine, &shipped, offsetof(lac_machine_t, cuda_tiles_tflops), core * shape->tensor / h200.tensor);
    scale(machine, &shipped, offsetof(lac_machine_t, cuda_processors),
          (double)shape->processors / h200.processors);
}
