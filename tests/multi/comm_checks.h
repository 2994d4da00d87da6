/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the tests of communicators share: how they fail, and matrices on a device. */
#ifndef COMM_CHECKS_H
#define COMM_CHECKS_H

#include "lacuna/lacuna.h"

#include <stdbool.h>
#include <time.h>

extern const char *running;  /* the test, for messages */
extern _Atomic int failures; /* of this process so far */
extern int devices;          /* that were found, up to 2 */

void failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True where they are equal; else it counts as failed, with the library's message. */
bool expect(lac_status_t got, lac_status_t want, const char *what);

/* The same numbers each time. */
static inline unsigned hash(unsigned x)
{
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* A matrix by rows, with these contents unless NULL. */
lac_obj_t on_device(lac_ctx_t *ctx, lac_dt_t dt, lac_dim_t m, lac_dim_t n, const void *from);

/* Columns [first, first + count) of a W[all, all] that is the same each time, dense or as CSR; owned: what
 * lies on the device, to be freed, NULL where there is less. */
lac_obj_t shard_of_w(lac_ctx_t *ctx, lac_dim_t all, bool sparse, lac_dim_t first, lac_dim_t count,
                     void *owned[3]);

static inline double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The tests, each for all its engines. */
void test_one_device(void);
void test_peers(void);
void test_nccl(void);
void test_lif(void);
void test_processes_one_device(void);
void test_processes(void);
void test_abort(void);

#endif
