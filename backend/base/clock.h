/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Monotonic time. */
#ifndef LACUNA_BASE_CLOCK_H
#define LACUNA_BASE_CLOCK_H

#include <time.h>

/* Microseconds since some fixed moment. */
static inline double lac_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

#endif
