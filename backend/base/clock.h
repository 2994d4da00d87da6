/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Monotonic time, and how long this process's threads had to wait for a processor: what a measurement beside
 * other work suffers. */
#ifndef LACUNA_BASE_CLOCK_H
#define LACUNA_BASE_CLOCK_H

#include <time.h>
#include <stdint.h>

/* Microseconds since some fixed moment. */
static inline double lac_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* How long this process's threads had to wait for a processor: what a measurement beside other work suffers.
 */

typedef struct lac_cpu_use {
    uint64_t ran_ns, waited_ns; /* by all threads that live now; 0 where the system does not say */
} lac_cpu_use_t;

lac_cpu_use_t lac_cpu_use(void);

/* Of the time since then that threads were ready to run, the fraction for which they waited; 0 where the
 * system does not say. Threads that began or ended since then make it less exact. */
double lac_cpu_waited(const lac_cpu_use_t *since);

#endif
