/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Stands between the CUDA backend and the CUDA runtime by the linker's --wrap, and between its C sources and
 * malloc by the preprocessor: the runtime's own requests are left alone. Launches and events may be slow. */
#include "fault_device.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define SHOWN __attribute__((visibility("default")))

static atomic_long count, failing, held;
static atomic_bool lasting;

SHOWN fault_device_arm_fn fault_device_arm;
SHOWN fault_device_disarm_fn fault_device_disarm;
SHOWN fault_device_held_fn fault_device_held;
SHOWN fault_device_slow_fn fault_device_slow;

void fault_device_arm(long n, bool for_good)
{
    atomic_store(&lasting, for_good);
    atomic_store(&count, 0);
    atomic_store(&failing, n);
}

long fault_device_disarm(void)
{
    atomic_store(&failing, 0);
    return atomic_load(&count);
}

long fault_device_held(void)
{
    return atomic_load(&held);
}

static bool refused(void)
{
    long n = atomic_load(&failing);
    if (!n) return false;
    long now = atomic_fetch_add(&count, 1) + 1;
    return now == n || (now > n && atomic_load(&lasting));
}

/* Memory of the host ------------------------------------------------------------------------------------ */

void *fault_malloc(size_t);
void *fault_calloc(size_t, size_t);
void *fault_realloc(void *, size_t);
void *fault_aligned_alloc(size_t, size_t);

static bool refused_here(void)
{
    bool no = refused();
    if (no) errno = ENOMEM;
    return no;
}

void *fault_malloc(size_t size)
{
    return refused_here() ? NULL : malloc(size);
}

void *fault_calloc(size_t n, size_t size)
{
    return refused_here() ? NULL : calloc(n, size);
}

void *fault_realloc(void *memory, size_t size)
{
    return refused_here() ? NULL : realloc(memory, size);
}

void *fault_aligned_alloc(size_t alignment, size_t size)
{
    return refused_here() ? NULL : aligned_alloc(alignment, size);
}

/* The runtime ------------------------------------------------------------------------------------------- */

static cudaError_t given(cudaError_t error)
{
    if (error == cudaSuccess) atomic_fetch_add(&held, 1);
    return error;
}

static void taken(const void *thing)
{
    if (thing) atomic_fetch_sub(&held, 1);
}

cudaError_t __real_cudaMalloc(void **, size_t);
cudaError_t __real_cudaFree(void *);
cudaError_t __real_cudaHostAlloc(void **, size_t, unsigned);
cudaError_t __real_cudaFreeHost(void *);
cudaError_t __real_cudaStreamCreateWithFlags(cudaStream_t *, unsigned);
cudaError_t __real_cudaStreamDestroy(cudaStream_t);
cudaError_t __real_cudaEventCreate(cudaEvent_t *);
cudaError_t __real_cudaEventDestroy(cudaEvent_t);
cudaError_t __real_cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
cudaError_t __real_cudaGraphExecDestroy(cudaGraphExec_t);

cudaError_t __wrap_cudaMalloc(void **, size_t);
cudaError_t __wrap_cudaFree(void *);
cudaError_t __wrap_cudaHostAlloc(void **, size_t, unsigned);
cudaError_t __wrap_cudaFreeHost(void *);
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t *, unsigned);
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t);
cudaError_t __wrap_cudaEventCreate(cudaEvent_t *);
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t);
cudaError_t __wrap_cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
cudaError_t __wrap_cudaGraphExecDestroy(cudaGraphExec_t);

cudaError_t __wrap_cudaMalloc(void **memory, size_t size)
{
    return refused() ? cudaErrorMemoryAllocation : given(__real_cudaMalloc(memory, size));
}

cudaError_t __wrap_cudaFree(void *memory)
{
    taken(memory);
    return __real_cudaFree(memory);
}

cudaError_t __wrap_cudaHostAlloc(void **memory, size_t size, unsigned flags)
{
    return refused() ? cudaErrorMemoryAllocation : given(__real_cudaHostAlloc(memory, size, flags));
}

cudaError_t __wrap_cudaFreeHost(void *memory)
{
    taken(memory);
    return __real_cudaFreeHost(memory);
}

cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return refused() ? cudaErrorMemoryAllocation : given(__real_cudaStreamCreateWithFlags(stream, flags));
}

cudaError_t __wrap_cudaStreamDestroy(cudaStream_t stream)
{
    taken(stream);
    return __real_cudaStreamDestroy(stream);
}

cudaError_t __wrap_cudaEventCreate(cudaEvent_t *event)
{
    return refused() ? cudaErrorMemoryAllocation : given(__real_cudaEventCreate(event));
}

cudaError_t __wrap_cudaEventDestroy(cudaEvent_t event)
{
    taken(event);
    return __real_cudaEventDestroy(event);
}

cudaError_t __wrap_cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags)
{
    return refused() ? cudaErrorMemoryAllocation : given(__real_cudaGraphInstantiate(made, graph, flags));
}

cudaError_t __wrap_cudaGraphExecDestroy(cudaGraphExec_t made)
{
    taken(made);
    return __real_cudaGraphExecDestroy(made);
}

/* A slow host ------------------------------------------------------------------------------------------- */

static _Atomic double slow_us;

void fault_device_slow(double us)
{
    atomic_store(&slow_us, us);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* Not by sleeping, which takes some 50 us at least. */
static void dawdle(void)
{
    double us = atomic_load(&slow_us), begin = us > 0.0 ? now_us() : 0.0;
    while (us > 0.0 && now_us() - begin < us) {
    }
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **);
cudaError_t __real_cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **);
cudaError_t __wrap_cudaEventRecord(cudaEvent_t, cudaStream_t);

cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments)
{
    dawdle();
    return __real_cudaLaunchKernelExC(config, kernel, arguments);
}

/* Between an event and what is queued before and behind it. */
cudaError_t __wrap_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    dawdle();
    cudaError_t error = __real_cudaEventRecord(event, stream);
    dawdle();
    return error;
}
