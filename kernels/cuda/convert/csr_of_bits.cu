/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * CSR of a dense matrix whose occupancy bits are known: of its elements only those are read that are kept. */
#include "cuda_support.h"
#include "row_sums.cuh"

namespace lacuna
{
namespace
{

constexpr int kWarps = 8;

struct BitsArgs {
    const uint64_t *bits;
    int64_t words, m;       /* words of a row; rows */
    int64_t *count, *first; /* of each row; where the first one begins */
    const int64_t *ptr;
    const float *x;
    int64_t rs, cs;
    int32_t *idx;
    float *val;
};

/* This lane's share of the bits set in words [0, end) of a row. */
__device__ inline int count_words(const uint64_t *row, int64_t end, int lane)
{
    int count = 0;
    for (int64_t w = lane; w < end; w += kWarp) count += __popcll(row[w]);
    return count;
}

/* A warp per row. Bytes: the bits once. Limit: the launch. */
__global__ __launch_bounds__(kWarps *kWarp) void count_bits(const __grid_constant__ BitsArgs a)
{
    const int lane = threadIdx.x % kWarp;
    const int64_t row = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp;
    dependency_wait();
    if (row >= a.m) return;
    const int count = __reduce_add_sync(kFull, count_words(a.bits + row * a.words, a.words, lane));
    if (lane == 0) a.count[row] = count;
    if (lane == 0 && row == 0) *a.first = 0;
}

/* A block per row, a warp per part of its words: it counts what lies before, then each word's lanes write
 * side by side. Bytes: the bits a few times, from cache; what is kept of x, by whole sectors; idx and val. */
__global__ __launch_bounds__(kWarps *kWarp) void gather_bits(const __grid_constant__ BitsArgs a)
{
    constexpr int kAhead = 4; /* loads of x under way */
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int64_t row = blockIdx.x, each = ceil_div(a.words, kWarps), begin = min(warp * each, a.words),
                  end = min(begin + each, a.words);
    const unsigned *const half = (const unsigned *)(a.bits + row * a.words);
    const float *const x = a.x + row * a.rs;
    dependency_wait();
    int64_t at = a.ptr[row] + __reduce_add_sync(kFull, count_words(a.bits + row * a.words, begin, lane));
    for (int64_t h = 2 * begin; h < 2 * end; h += kAhead) {
        unsigned set[kAhead];
        float v[kAhead];
#pragma unroll
        for (int u = 0; u < kAhead; u++) {
            set[u] = h + u < 2 * end ? half[h + u] : 0u;
            v[u] = a.val && set[u] >> lane & 1 ? x[(32 * (h + u) + lane) * a.cs] : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < kAhead; u++) {
            const int64_t to = at + __popc(set[u] & lanes_below(lane));
            if (set[u] >> lane & 1) {
                if (a.idx) a.idx[to] = (int32_t)(32 * (h + u) + lane);
                if (a.val) a.val[to] = v[u];
            }
            at += __popc(set[u]);
        }
    }
}

Launch plain(int64_t blocks, lac_cuda_stream_t stream)
{
    return {dim3((unsigned)blocks), dim3(kWarps * kWarp), 0, 1, true, (cudaStream_t)stream};
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_csr_ptr_of_bits(int64_t m, int64_t k, const uint64_t *bits, int64_t *ptr,
                                                 void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(m) || !fits(k)) return LAC_ERR_EXTENT;
    if (m == 0)
        return cudaMemsetAsync(ptr, 0, sizeof *ptr, (cudaStream_t)stream) == cudaSuccess ? LAC_OK
                                                                                         : LAC_ERR_VENDOR;
    BitsArgs a = {};
    a.bits = bits, a.words = ceil_div(k, 64), a.m = m, a.count = (int64_t *)workspace, a.first = ptr;
    const lac_status_t status = launch(count_bits, plain(ceil_div(m, kWarps), stream), a);
    return status == LAC_OK ? sum_rows(m, workspace, ptr, stream) : status;
}

extern "C" lac_status_t lac_cuda_csr_fill_of_bits(int64_t m, int64_t k, const uint64_t *bits, const float *x,
                                                  int64_t rs, int64_t cs, const int64_t *ptr, int32_t *idx,
                                                  float *val, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(m) || !fits(k)) return LAC_ERR_EXTENT;
    if (m == 0) return LAC_OK;
    const BitsArgs a = {bits, ceil_div(k, 64), m, nullptr, nullptr, ptr, x, rs, cs, idx, val};
    return launch(gather_bits, plain(m, stream), a);
}
