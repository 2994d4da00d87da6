/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cheap look at the density of an operand, answered through pinned host memory. */
#include "cuda_support.h"
#include "device_common.cuh"

namespace lacuna
{
namespace
{

constexpr int kProbeThreads = 256;
constexpr int kPerThread = LAC_CUDA_PROBE_SAMPLES / LAC_CUDA_PROBE_WORDS / kProbeThreads;
static_assert(kPerThread * LAC_CUDA_PROBE_WORDS * kProbeThreads == LAC_CUDA_PROBE_SAMPLES,
              "samples are shared evenly");

struct ProbeArgs {
    const void *x;
    int64_t rows, cols, rs, cs;
    uint64_t seed, *words;
    uint32_t mark;
};

__device__ inline uint64_t scramble(uint64_t x)
{
    x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

/* Stratified: sample i lies at a pseudo-random place of the i-th of equal shares of x. One word per block, so
 * that no counter has to be zeroed before. Limit: latency, about 2 us. */
template <typename T> __global__ __launch_bounds__(kProbeThreads) void probe_sample(const ProbeArgs a)
{
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    const int64_t elements = a.rows * a.cols;
    const uint64_t share = (uint64_t)elements / LAC_CUDA_PROBE_SAMPLES;
    unsigned seen = 0;
#pragma unroll 8
    for (int s = 0; s < kPerThread; s++) {
        const int64_t i = ((int64_t)blockIdx.x * kPerThread + s) * kProbeThreads + threadIdx.x;
        const int64_t at =
            share <= 1 ? i : i * (int64_t)share + (int64_t)(scramble(a.seed + (uint64_t)i) % share);
        if (at < elements && ((const T *)a.x)[at / a.cols * a.rs + at % a.cols * a.cs] != T(0)) seen++;
    }
    seen = __reduce_add_sync(kFull, seen);
    if (threadIdx.x % kWarp == 0) atomicAdd(&total, seen); /* a count: the order does not matter */
    __syncthreads();
    if (threadIdx.x == 0) {
        *(volatile uint64_t *)(a.words + blockIdx.x) = (uint64_t)a.mark << 32 | total;
        __threadfence_system();
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_probe_marked(const lac_cuda_matrix_t *x, uint64_t seed, uint32_t mark,
                                              uint64_t *words, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const ProbeArgs a = {x->data, x->rows, x->cols, x->rs, x->cs, seed << 20, words, mark};
    const Launch l = {dim3(LAC_CUDA_PROBE_WORDS), dim3(kProbeThreads), 0, 1, false, (cudaStream_t)stream};
    return x->dt == LAC_U8 ? launch(probe_sample<uint8_t>, l, a) : launch(probe_sample<float>, l, a);
}
