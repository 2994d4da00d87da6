/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Machine constants: what the cost model knows of the processor. */
#ifndef LACUNA_ROUTE_MACHINE_H
#define LACUNA_ROUTE_MACHINE_H

#include <stdbool.h>

/* One member per line of machine.def, in its unit. */
typedef struct lac_machine {
#define LAC_CONSTANT(name, value, unit, text) double name;
#include "machine.def"
#undef LAC_CONSTANT
} lac_machine_t;

/* The vendor's products of f16 and bf16 on a device, beside the time of f32 (H200, cuBLAS 13.1, 2026-11-22):
 * 4096^3 takes 177 us, and 1 to 64 rows take 16 us for 5000 x 5000. */
#define LAC_HALF_TFLOPS 15.0 /* times cuda_dense_tflops */
#define LAC_HALF_DRAM   0.96 /* of cuda_dram_gbps, whatever the shape */

/* A constant's place in the structure, for the store and for printing. */
typedef struct lac_constant {
    const char *name;
    double value; /* the default */
    const char *unit, *text;
} lac_constant_t;

extern const lac_constant_t lac_constants[];
extern const int lac_constant_count;

/* Constant i of a machine. */
double *lac_machine_value(lac_machine_t *machine, int i);

/* True where constant i tells of a device, not of the host. */
bool lac_constant_of_device(int i);

/* A rate of the BLAS for so many of its threads, from those of one thread and of machine->dense_threads: on a
 * straight line, also beyond, since a BLAS that is thought too slow would lose its products. */
double lac_dense_rate(const lac_machine_t *machine, double one, double all, int threads);

/* The defaults of machine.def. */
void lac_machine_default(lac_machine_t *machine);

#endif
