/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The clock of every measurement. */
#ifndef TOOL_WALL_CLOCK_H
#define TOOL_WALL_CLOCK_H

#include <time.h>

/* Microseconds from some fixed moment. */
static inline double clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

#endif
