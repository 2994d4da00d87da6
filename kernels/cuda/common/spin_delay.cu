/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Keeps a stream busy for some microseconds, so that what is queued behind it runs without a gap. */
#include "cuda_support.h"

#include <cuda_runtime.h>

namespace
{

/* One thread that watches the device's clock of nanoseconds. */
__global__ void pause(unsigned long long ns)
{
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - begin < ns);
}

} // namespace

extern "C" lac_status_t lac_cuda_spin_delay(double us, lac_cuda_stream_t stream)
{
    pause<<<1, 1, 0, (cudaStream_t)stream>>>((unsigned long long)(1e3 * us));
    return cudaPeekAtLastError() == cudaSuccess ? LAC_OK : LAC_ERR_VENDOR;
}
