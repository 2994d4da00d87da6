/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the cost model's constants are on a device on which nobody measured them. */
#ifndef LACUNA_CUDA_MACHINE_H
#define LACUNA_CUDA_MACHINE_H

#include "../model/machine.h"

/* What a device says of itself. */
typedef struct lac_cuda_shape {
    int processors, lanes; /* multiprocessors; f32 multiply-adds of each in a clock */
    int tensor;            /* bf16 multiply-adds of each one's tensor cores in a clock, as tiles use them */
    double clock_ghz, memory_gbps;
} lac_cuda_shape_t;

/* What a device of this compute capability has for each multiprocessor: `lanes` and `tensor`. Pure. */
void lac_cuda_machine_cores(int major, int minor, lac_cuda_shape_t *shape);

/* Scales the device constants that are an H200's as shipped; those of a tuning file stay. Pure. */
void lac_cuda_machine_scale(lac_machine_t *machine, const lac_cuda_shape_t *shape);

#endif
