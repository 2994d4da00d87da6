/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Stands between the CUDA backend and the CUDA runtime by the linker's --wrap, and between its C sources and
 * malloc by the preprocessor: the runtime's own requests are left alone. */
#include "fault_device.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SHOWN __attribute__((visibility("default")))

static atomic_long count, failing, held;
static atomic_bool lasting;

SHOWN fault_device_arm_fn fault_device_arm;
SHOWN fault_device_disarm_fn fault_device_disarm;
SHOWN fault_device_held_fn fault_device_held;

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
