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
    const lac_host_kernels_t *kernels[LAC_HOST_TYPES]; /* lac_kernels */
    const lac_blas_t *blas;                            /* NULL until it is asked for: lac_exec_blas */
    const lac_machine_t *machine;
    lac_buffer_t work[LAC_WORK_COUNT];
};

/* The kernels whose values are of that type: those of binary events are floats. */
static inline const lac_host_kernels_t *lac_kernels(const lac_exec_t *exec, lac_dt_t values)
{
    return exec->kernels[values == LAC_F64 ? LAC_HOST_F64 : LAC_HOST_F32];
}

/* Those of them that read an S of elements of that type. */
static inline const lac_host_scans_t *lac_scans(const lac_host_kernels_t *kernels, lac_dt_t dt)
{
    return dt == LAC_U8 ? &kernels->scan_u8 : &kernels->scan;
}

/* One value of `size` bytes from array to array; where there is none to copy from, it is 1. */
static inline void lac_copy_value(size_t size, void *to, int64_t at, const void *from, int64_t e)
{
    if (size == sizeof(double))
        ((double *)to)[at] = from ? ((const double *)from)[e] : 1.0;
    else
        ((float *)to)[at] = from ? ((const float *)from)[e] : 1.0f;
}

static inline void lac_clear_value(size_t size, void *to, int64_t at)
{
    if (size == sizeof(double))
        ((double *)to)[at] = 0.0;
    else
        ((float *)to)[at] = 0.0f;
}

/* NaN is none. */
static inline bool lac_is_zero(size_t size, const void *val, int64_t e)
{
    return size == sizeof(double) ? ((const double *)val)[e] == 0.0 : ((const float *)val)[e] == 0.0f;
}

/* Value e of an array of such values. */
static inline const void *lac_value_at(size_t size, const void *val, int64_t e)
{
    return (const char *)val + e * (int64_t)size;
}

/* Where a product of these kernels goes. */
static inline lac_host_output_t lac_host_output(const lac_host_kernels_t *kernels, double alpha, double beta,
                                                void *data, int64_t rs, int64_t cs)
{
    return (lac_host_output_t){lac_host_scalar(kernels->type, alpha), lac_host_scalar(kernels->type, beta),
                               data, rs, cs};
}

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
