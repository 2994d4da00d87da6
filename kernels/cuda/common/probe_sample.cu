/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Estimates the density of an operand from samples; the answer comes through pinned host memory. */
#include "cuda_support.h"
#include "device.cuh"

namespace lacuna
{
namespace
{

constexpr int kProbeThreads = 256;
constexpr int kPerThread = LAC_CUDA_PROBE_SAMPLES / LAC_CUDA_PROBE_WORDS / kProbeThreads;
static_assert(kPerThread * LAC_CUDA_PROBE_WORDS * kProbeThreads == LAC_CUDA_PROBE_SAMPLES,
              "samples are shared evenly");

constexpr int kLinesPerWarp = LAC_CUDA_PROBE_LINES / LAC_CUDA_PROBE_WORDS / (kProbeThreads / kWarp);
static_assert(kLinesPerWarp * LAC_CUDA_PROBE_WORDS * (kProbeThreads / kWarp) == LAC_CUDA_PROBE_LINES &&
                  LAC_CUDA_PROBE_LINE == kWarp,
              "a warp looks at whole lines");
static_assert(LAC_CUDA_PROBE_SAMPLES / LAC_CUDA_PROBE_WORDS < 1 << 16 &&
                  LAC_CUDA_PROBE_LINES / LAC_CUDA_PROBE_WORDS < 1 << 8 &&
                  LAC_CUDA_PROBE_PIECES == LAC_CUDA_PROBE_LINES,
              "a block's nonzeros, lines and pieces fit half a word; as many pieces a warp as lines");

struct ProbeArgs {
    const void *x;
    int64_t rows, cols, rs, cs;
    uint64_t seed, *words;
    uint32_t mark;
    bool k_by_rows;
};

__device__ inline uint64_t scramble(uint64_t x)
{
    x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

/* What a sample adds: 1 where it is nonzero; or, for a fingerprint, a hash of its bits and its index. */
template <bool kContents> __device__ inline unsigned weigh(float x, int64_t at)
{
    return kContents ? (unsigned)scramble((uint64_t)at << 32 | __float_as_uint(x)) : x != 0.0f;
}
template <bool kContents> __device__ inline unsigned weigh(double x, int64_t at)
{
    return kContents ? (unsigned)scramble(scramble((uint64_t)at) ^ (uint64_t)__double_as_longlong(x))
                     : x != 0.0;
}
template <bool kContents, lac_dt_t kType> __device__ inline unsigned weigh(Half<kType> x, int64_t at)
{
    return kContents ? (unsigned)scramble((uint64_t)at << 32 | x.bits) : x != Half<kType>(0);
}
template <bool kContents> __device__ inline unsigned weigh(uint8_t x, int64_t at)
{
    return kContents ? (unsigned)scramble((uint64_t)at << 32 | x) : x != 0;
}

/* The elements that sample i is taken from: [i elements / LAC_CUDA_PROBE_SAMPLES, (i + 1) elements / ..),
 * which together are all of x. Below 2^47 elements. */
__device__ inline int64_t share_begin(int64_t i, int64_t elements)
{
    return (int64_t)((uint64_t)i * (uint64_t)elements / LAC_CUDA_PROBE_SAMPLES);
}

/* How many of a warp's lines of k have a nonzero among a few elements, one in each of equal shares of the
 * line. */
template <typename T> __device__ inline unsigned lines_with_any(const ProbeArgs &a)
{
    const int64_t lines = a.k_by_rows ? a.rows : a.cols, across = a.k_by_rows ? a.cols : a.rows;
    const int64_t ls = a.k_by_rows ? a.rs : a.cs, as = a.k_by_rows ? a.cs : a.rs;
    const int warp = blockIdx.x * (kProbeThreads / kWarp) + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    unsigned any = 0;
#pragma unroll
    for (int i = 0; i < kLinesPerWarp; i++) {
        const uint64_t from = ~(a.seed + (uint64_t)(warp * kLinesPerWarp + i)),
                       of = scramble(from ^ (uint64_t)lane << 48);
        const int64_t line = share_of((uint32_t)(scramble(from) >> 32), lines);
        const int64_t begin = lane * across / kWarp, share = (lane + 1) * across / kWarp - begin;
        const int64_t at = begin + share_of((uint32_t)(of >> 32), share);
        any += __any_sync(kFull, at < across && ((const T *)a.x)[line * ls + at * as] != T(0));
    }
    return any;
}

/* The same of whole pieces of PIECE_K x PIECE_ACROSS, if there are any. A lane looks at one of 4 x 8 equal
 * parts of its piece. */
template <typename T> __device__ inline unsigned pieces_with_any(const ProbeArgs &a)
{
    constexpr int kDown = LAC_CUDA_PIECE_K / 4, kAcross = LAC_CUDA_PIECE_ACROSS / 8;
    const int64_t down = (a.k_by_rows ? a.rows : a.cols) / LAC_CUDA_PIECE_K,
                  across = (a.k_by_rows ? a.cols : a.rows) / LAC_CUDA_PIECE_ACROSS;
    const int64_t ls = a.k_by_rows ? a.rs : a.cs, as = a.k_by_rows ? a.cs : a.rs;
    const int warp = blockIdx.x * (kProbeThreads / kWarp) + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    if (down == 0 || across == 0) return 0;
    T x[kLinesPerWarp];
#pragma unroll
    for (int i = 0; i < kLinesPerWarp; i++) {
        const uint64_t from = scramble(a.seed ^ (uint64_t)(warp * kLinesPerWarp + i) << 40),
                       of = scramble(from ^ (uint64_t)lane << 48);
        const int64_t k = share_of((uint32_t)(from >> 32), down) * LAC_CUDA_PIECE_K + lane / 8 * kDown +
                          (int)(of % kDown),
                      at = share_of((uint32_t)from, across) * LAC_CUDA_PIECE_ACROSS + lane % 8 * kAcross +
                           (int)(of / kDown % kAcross);
        x[i] = ((const T *)a.x)[k * ls + at * as];
    }
    unsigned any = 0;
#pragma unroll
    for (int i = 0; i < kLinesPerWarp; i++) any += __any_sync(kFull, x[i] != T(0));
    return any;
}

/* Stratified: sample i is a pseudo-random element of the i-th of equal shares of x. One word per block, so
 * that no counter has to be zeroed before. Limit: latency, about 2 us. */
template <typename T, bool kContents>
__global__ __launch_bounds__(kProbeThreads) void probe_sample(const ProbeArgs a)
{
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    const int64_t elements = a.rows * a.cols;
    const bool all = elements <= LAC_CUDA_PROBE_SAMPLES;
    const unsigned any = kContents ? 0 : lines_with_any<T>(a) + (pieces_with_any<T>(a) << 8);
    unsigned seen = 0;
#pragma unroll 8
    for (int s = 0; s < kPerThread; s++) {
        const int64_t i = ((int64_t)blockIdx.x * kPerThread + s) * kProbeThreads + threadIdx.x;
        const int64_t begin = share_begin(i, elements), share = share_begin(i + 1, elements) - begin;
        const int64_t at =
            all ? i : begin + share_of((uint32_t)(scramble(a.seed + (uint64_t)i) >> 32), share);
        if (at < elements)
            seen += weigh<kContents>(((const T *)a.x)[at / a.cols * a.rs + at % a.cols * a.cs], at);
    }
    seen = __reduce_add_sync(kFull, seen) + (any << 16);
    if (threadIdx.x % kWarp == 0) atomicAdd(&total, seen); /* whole numbers: the order does not matter */
    __syncthreads();
    if (threadIdx.x == 0) {
        *(volatile uint64_t *)(a.words + blockIdx.x) = (uint64_t)a.mark << 32 | total;
        __threadfence_system();
    }
}

constexpr int kConditionThreads = 256;
constexpr int kConditionEach = 16;
constexpr int kConditionBits = 12;
constexpr int kConditionSamples = kConditionThreads * kConditionEach;
static_assert(kConditionSamples == 1 << kConditionBits, "rows are dealt out evenly");

struct ConditionArgs {
    const void *x;
    int64_t rows, cols, rs, cs; /* below 2^31 */
    double limit;
    unsigned long long handle;
};

/* Sample i of an x with more elements than samples: rows in turn, columns without a pattern. No division:
 * with two of 64 bits for each of 8192 samples the look took 8.4 us, with 4096 and none it takes 3 (H200,
 * 2026-11-21). */
__device__ inline int64_t sample_index(const ConditionArgs &a, uint32_t i)
{
    const uint32_t any = scramble32(i), row = i << (32 - kConditionBits) | any >> kConditionBits;
    return share_of(row, a.rows) * a.rs + share_of(any * 0x27d4eb2fu, a.cols) * a.cs;
}

/* One block, always the same elements, so that the same data give the same condition: 1 where less than
 * `limit` of the samples is nonzero, else 0. A small x is read whole. Limit: latency. */
template <typename T>
__global__ __launch_bounds__(kConditionThreads) void probe_condition(const ConditionArgs a)
{
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    const T *x = (const T *)a.x;
    const int64_t elements = a.rows * a.cols;
    unsigned seen = 0;
    if (elements <= kConditionSamples) {
        const uint32_t cols = (uint32_t)a.cols;
        for (uint32_t i = threadIdx.x; i < elements; i += kConditionThreads)
            seen += x[i / cols * a.rs + i % cols * a.cs] != T(0);
    } else {
        T value[kConditionEach]; /* all loads in flight */
#pragma unroll
        for (int s = 0; s < kConditionEach; s++)
            value[s] = x[sample_index(a, s * kConditionThreads + threadIdx.x)];
#pragma unroll
        for (int s = 0; s < kConditionEach; s++) seen += value[s] != T(0);
    }
    seen = __reduce_add_sync(kFull, seen);
    if (threadIdx.x % kWarp == 0) atomicAdd(&total, seen); /* a count: the order does not matter */
    __syncthreads();
    if (threadIdx.x != 0) return;
    const double sampled = (double)(elements < kConditionSamples ? elements : kConditionSamples);
#if CUDART_VERSION >= 12040
    cudaGraphSetConditional(a.handle, (double)total < a.limit * sampled ? 1u : 0u);
#endif
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_probe_condition(const lac_cuda_matrix_t *x, double limit,
                                                 unsigned long long handle, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (x->rows > INT32_MAX || x->cols > INT32_MAX) return LAC_ERR_EXTENT;
    const ConditionArgs a = {x->data, x->rows, x->cols, x->rs, x->cs, limit, handle};
    const Launch l = {dim3(1), dim3(kConditionThreads), 0, 1, false, (cudaStream_t)stream};
    return with_wide_type(x->dt, [&](auto e) { return launch(probe_condition<decltype(e)>, l, a); });
}

extern "C" lac_status_t lac_cuda_probe_marked(const lac_cuda_matrix_t *x, bool k_by_rows, uint64_t seed,
                                              uint32_t mark, uint64_t *words, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const ProbeArgs a = {x->data, x->rows, x->cols, x->rs, x->cs, seed << 20, words, mark, k_by_rows};
    const Launch l = {dim3(LAC_CUDA_PROBE_WORDS), dim3(kProbeThreads), 0, 1, false, (cudaStream_t)stream};
    return with_wide_type(x->dt, [&](auto e) { return launch(probe_sample<decltype(e), false>, l, a); });
}

extern "C" lac_status_t lac_cuda_fingerprint(const lac_cuda_matrix_t *x, uint32_t mark, uint64_t *words,
                                             lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const ProbeArgs a = {x->data, x->rows, x->cols, x->rs, x->cs, 0, words, mark, false};
    const Launch l = {dim3(LAC_CUDA_PROBE_WORDS), dim3(kProbeThreads), 0, 1, false, (cudaStream_t)stream};
    return with_wide_type(x->dt, [&](auto e) { return launch(probe_sample<decltype(e), true>, l, a); });
}
