/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Every point at which a program may be refused a resource, each tried in a child process, in which nothing
 * has been initialised yet. */
#ifndef FAULT_POINTS_H
#define FAULT_POINTS_H

#include <stdbool.h>

/* How a child ended: fewer requests were made than the n-th; the n-th failed and all was well; or not. */
typedef enum fault_end { FAULT_DONE = 0, FAULT_MET = 1, FAULT_WRONG = 2 } fault_end_t;

/* Runs in a child: all of the program with its n-th request (from 1 on) failing; `for_good`: every later one
 * too. What it returns, the child exits with: the library's own handlers run. */
typedef fault_end_t fault_child_fn(long n, bool for_good);

/* Tries n = 1, 1 + step, ... until a child is done; fails the test where one ends in another way. Returns the
 * number of requests, to within a step. */
long fault_every_point(fault_child_fn *child, bool for_good, long step);

#endif
