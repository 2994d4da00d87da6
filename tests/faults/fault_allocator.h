/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A C library that fails on demand, one request at a time: see fault_allocator.c. */
#ifndef FAULT_ALLOCATOR_H
#define FAULT_ALLOCATOR_H

#include <stdbool.h>

/* From now on the n-th request (from 1 on) fails; with `for_good`, so does every later one. */
void fault_arm(long n, bool for_good);

/* Requests are served again; returns how many there were since fault_arm, failed ones included. */
long fault_disarm(void);

#endif
