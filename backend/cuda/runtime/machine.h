/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cost model's constants on a device: estimated where nobody measured them, and calibrated. */
#ifndef LACUNA_CUDA_RUNTIME_MACHINE_H
#define LACUNA_CUDA_RUNTIME_MACHINE_H

#include "route/machine.h"
#include "route/route.h"
#include "lacuna/context.h"

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

/* Finds a device's constants from what products take there: each constant is made what lets the cost model
 * say the time that was measured of a problem which is nearly all of its kind. */

/* Elements of the operands that the problems name, all of f32. */
#define LAC_CUDA_TUNE_A ((int64_t)4096 * 4096)
#define LAC_CUDA_TUNE_B ((int64_t)5000 * 5000)
#define LAC_CUDA_TUNE_C ((int64_t)8192 * 8192)

/* What the problems are made of, and who measures them. */
typedef struct lac_cuda_bench {
    float *a, *b, *c; /* LAC_CUDA_TUNE_A, _B and _C elements, aligned as allocations are */
    /* Microseconds of a call of `route` on p in steady state; route NULL: of writing all of p->c once. The
     * density that p gives a is for `measure` to see to. */
    lac_status_t (*measure)(void *arg, const lac_route_t *route, const lac_problem_t *p, double *us);
    void *arg;
} lac_cuda_bench_t;

/* Changes those constants of `machine` whose route is in the table and applies; the others stay. A constant
 * moves by a factor of 16 at most. Returns the first status of `measure` that is not LAC_OK. */
lac_status_t lac_cuda_calibrate(lac_machine_t *machine, const lac_route_t *const *table, int count,
                                const lac_cuda_bench_t *bench, lac_info_fn progress, void *arg);

#endif
