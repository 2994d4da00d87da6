/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Holds a stream until the host has queued all that is behind, so that it runs without a gap.
 *
 * One thread reads a word of pinned host memory, once a microsecond or so over PCIe, until it holds the
 * ticket or a later one. It gives up after `ns` and says so: the host may be waiting for the stream itself,
 * and what is behind then ran with the host's gaps. */
#include "cuda_support.h"
#include "primitives.cuh"

#include <cuda_runtime.h>

namespace
{

constexpr unsigned long long kAheadNs = 2000;

__device__ unsigned long long now_ns()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__global__ void wait_for_host(const volatile uint32_t *open, uint32_t ticket, volatile uint32_t *expired,
                              unsigned long long ns)
{
    const unsigned long long begin = now_ns();
    while ((int32_t)(*open - ticket) < 0)
        if (now_ns() - begin >= ns) {
            *expired = ticket;
            __threadfence_system();
            return;
        }
}

/* Takes as long as the next launch needs to be ready, and lets one that may begin early do so. */
__global__ void run_ahead()
{
    lacuna::dependents_launch();
    const unsigned long long begin = now_ns();
    while (now_ns() - begin < kAheadNs) {
    }
}

} // namespace

extern "C" lac_status_t lac_cuda_host_gate(const uint32_t *open, uint32_t ticket, uint32_t *expired,
                                           double us, lac_cuda_stream_t stream)
{
    wait_for_host<<<1, 1, 0, (cudaStream_t)stream>>>(open, ticket, expired, (unsigned long long)(1e3 * us));
    return cudaPeekAtLastError() == cudaSuccess ? LAC_OK : LAC_ERR_VENDOR;
}

extern "C" lac_status_t lac_cuda_run_ahead(lac_cuda_stream_t stream)
{
    run_ahead<<<1, 1, 0, (cudaStream_t)stream>>>();
    return cudaPeekAtLastError() == cudaSuccess ? LAC_OK : LAC_ERR_VENDOR;
}
