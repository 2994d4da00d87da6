/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How long this process's threads had to wait for a processor: what a measurement beside other work suffers.
 */
#ifndef LACUNA_BASE_CPU_USE_H
#define LACUNA_BASE_CPU_USE_H

#include <stdint.h>

typedef struct lac_cpu_use {
    uint64_t ran_ns, waited_ns; /* by all threads that live now; 0 where the system does not tell */
} lac_cpu_use_t;

lac_cpu_use_t lac_cpu_use(void);

/* Of the time since then that threads were ready to run, the fraction for which they waited; 0 where the
 * system does not tell. Threads that began or ended since then make it less exact. */
double lac_cpu_waited(const lac_cpu_use_t *since);

#endif
