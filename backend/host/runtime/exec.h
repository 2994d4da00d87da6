/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a host route may use while it runs, and how work is shared among threads. */
#ifndef LACUNA_HOST_RUNTIME_EXEC_H
#define LACUNA_HOST_RUNTIME_EXEC_H

#include "base/memory.h"
#include "base/threads.h"
#include "base/vendor.h"
#include "route/route.h"
#include "host_kernels.h" /* kernels/host */
#include "lacuna/context.h"

/* Scratch memory by purpose, so that a route and its helpers never fight over one buffer. */
typedef enum lac_work {
    LAC_WORK_EVENTS, /* event lists                                */
    LAC_WORK_ROWS,   /* CSR built for this call                    */
    LAC_WORK_ACC,    /* the threads' accumulators and packed panels */
    LAC_WORK_A,      /* a plain copy of an operand                 */
    LAC_WORK_B,
    LAC_WORK_C, /* a product that c's strides cannot receive  */
    LAC_WORK_COUNT
} lac_work_t;

struct lac_exec {
    const lac_host_kernels_t *kernels;
    const lac_blas_t *blas; /* NULL until it is asked for: lac_exec_blas */
    const lac_machine_t *machine;
    lac_buffer_t work[LAC_WORK_COUNT];
};

/* The BLAS. The first call of all searches, and may open one: a program whose own BLAS serves every dense
 * call is to be left without a second. */
const lac_blas_t *lac_exec_blas(lac_exec_t *exec);

/* `bytes` of scratch, or NULL with the thread's error message set. */
void *lac_work(lac_exec_t *exec, lac_work_t purpose, size_t bytes);

/* Threads worth waking for so much work on one thread; the cost model and the run use the same rule. */
int lac_host_parts(int threads, double serial_us, double fork_join_us);

/* Measures the host's machine constants for the cost model. */

/* Fills every constant of the host, in some seconds. Each is the least of several runs, on operands larger
 * than the caches where the constant is about memory. Errors: MEMORY. */
lac_status_t lac_host_tune(lac_exec_t *exec, int threads, lac_machine_t *machine, lac_info_fn progress,
                           void *arg);

#endif
