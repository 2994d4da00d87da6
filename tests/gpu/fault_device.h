/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What may refuse the CUDA backend a resource: memory of the device and of the host, streams, events, graphs.
 *
 * It is part of a liblacuna_cuda.so of its own, where these functions are looked up by name. A request is one
 * for any of them. */
#ifndef FAULT_DEVICE_H
#define FAULT_DEVICE_H

#include <stdbool.h>

/* Refuses the n-th request from here on, for good every later one too; 0 refuses none. */
typedef void fault_device_arm_fn(long n, bool for_good);

/* Refuses nothing more. Returns the number of requests since it was armed. */
typedef long fault_device_disarm_fn(void);

/* What CUDA gave and was not given back: pieces of memory, streams, events, graphs. */
typedef long fault_device_held_fn(void);

/* The host takes so much longer for each launch, and before and behind each event; 0: as long as it takes. */
typedef void fault_device_slow_fn(double us);

#endif
