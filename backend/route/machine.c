/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The table of machine constants. */
#include "machine.h"

#include <string.h>

const lac_constant_t lac_constants[] = {
#define LAC_CONSTANT(name, value, unit, text) {#name, value, unit, text},
#include "machine.def"
#undef LAC_CONSTANT
};
const int lac_constant_count = (int)(sizeof lac_constants / sizeof *lac_constants);

_Static_assert(sizeof(lac_machine_t) == sizeof lac_constants / sizeof *lac_constants * sizeof(double),
               "lac_machine_t holds one double per line of machine.def");

double *lac_machine_value(lac_machine_t *machine, int i)
{
    return (double *)(void *)machine + i;
}

bool lac_constant_of_device(int i)
{
    return !strncmp(lac_constants[i].name, "cuda_", 5);
}

double lac_dense_rate(const lac_machine_t *machine, double one, double all, int threads)
{
    double measured = machine->dense_threads;
    if (threads <= 1) return one;
    if (measured < 2.0) return one * threads;
    if (all <= one) return one;
    return one + (all - one) * (threads - 1) / (measured - 1.0);
}

void lac_machine_default(lac_machine_t *machine)
{
    for (int i = 0; i < lac_constant_count; i++) *lac_machine_value(machine, i) = lac_constants[i].value;
}
