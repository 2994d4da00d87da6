/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What other programs took of the processors while something was timed: the doubt that belongs to a figure.
 */
#ifndef TOOL_MACHINE_LOAD_H
#define TOOL_MACHINE_LOAD_H

typedef struct machine_load {
    double busy_s; /* of all processors, all programs, and what a host took from this guest */
    double own_s;  /* of this process                                                       */
    double wall_s;
} machine_load_t;

machine_load_t machine_load_now(void);

/* The share, 0 to 1, of all processors' time that others used since then; negative where the system does not
 * tell. The kernel counts in ticks of 10 ms: intervals below half a second say little. */
double machine_load_of_others(const machine_load_t *since);

/* Waits until others use less than `share` for a second, at most so many seconds. Returns the seconds waited.
 */
double machine_load_wait(double share, double wait_idle_s);

#endif
