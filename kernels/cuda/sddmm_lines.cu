/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A product of two dense matrices at the entries of a CSR pattern alone: one dot product for each. */
#include "device_common.cuh"
#include "sddmm_kernels.h"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kShare = 64; /* entries of a warp                          */
constexpr int kUnroll = 4; /* entries that a group of lanes has in flight */
constexpr int kHeld = 512; /* elements along k of a line of A that are held in registers */

struct SampledArgs {
    lac_cuda_sampled_t p;
    const int64_t *ptr;
    const int32_t *idx;
    int64_t nnz;
};

/* The row, from `row` on, that holds entry e: 32 ways at a time, by a warp. */
__device__ inline int64_t row_of(const int64_t *ptr, int64_t row, int64_t rows, int64_t e, int lane)
{
    int64_t end = rows - 1; /* ptr[row] <= e, and row <= answer <= end */
    if (ptr[row + 1] > e) return row;
    for (row++; row < end;) {
        const int64_t step = ceil_div(end - row + 1, kWarp), at = row + (lane + 1) * step;
        const unsigned beyond = __ballot_sync(kFull, at > end || ptr[at] > e);
        const int part = __ffs((int)beyond) - 1;
        end = least(end, row + (part + 1) * step - 1);
        row += part * step;
    }
    return row;
}

__device__ inline void store_value(const lac_cuda_sampled_t &p, int64_t e, float sum)
{
    p.values[e] = p.beta == 0.0f ? p.alpha * sum : fmaf(p.beta, p.values[e], p.alpha * sum);
}

/* kLanes lanes to an entry, each kVec pieces of four along k, k <= 4 kLanes kVec; lines 16-byte aligned, k a
 * multiple of 4. */
template <int kLanes, int kVec>
__global__ __launch_bounds__(kThreads) void sddmm_held(const __grid_constant__ SampledArgs s)
{
    constexpr int kGroups = kWarp / kLanes;
    const lac_cuda_sampled_t &p = s.p;
    const int lane = threadIdx.x % kWarp, group = lane / kLanes, l = lane % kLanes * 4, k = (int)p.k;
    int64_t e = ((int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp) * kShare;
    const int64_t end = least(s.nnz, e + kShare);
    int64_t row = 0;
    while (e < end) {
        row = row_of(s.ptr, row, p.m, e, lane);
        const int64_t row_end = least(end, s.ptr[row + 1]);
        float4 a[kVec];
#pragma unroll
        for (int v = 0; v < kVec; v++) {
            const int at = l + v * 4 * kLanes;
            a[v] = at < k ? __ldg((const float4 *)(p.a + row * p.lda + at)) : make_float4(0, 0, 0, 0);
        }
        for (; e < row_end; e += kGroups * kUnroll) {
            const float *line[kUnroll];
            float sum[kUnroll];
            float4 b[kUnroll][kVec];
#pragma unroll
            for (int u = 0; u < kUnroll; u++) {
                const int64_t at =
                    least(e + u * kGroups + group, row_end - 1); /* beyond the end: again, not stored */
                line[u] = p.b + (int64_t)s.idx[at] * p.ldb + l;
            }
#pragma unroll
            for (int u = 0; u < kUnroll; u++)
#pragma unroll
                for (int v = 0; v < kVec; v++)
                    b[u][v] = l + v * 4 * kLanes < k ? __ldg((const float4 *)(line[u] + v * 4 * kLanes))
                                                     : make_float4(0, 0, 0, 0);
#pragma unroll
            for (int u = 0; u < kUnroll; u++) {
                sum[u] = 0.0f;
#pragma unroll
                for (int v = 0; v < kVec; v++) {
                    sum[u] = fmaf(a[v].x, b[u][v].x, sum[u]);
                    sum[u] = fmaf(a[v].y, b[u][v].y, sum[u]);
                    sum[u] = fmaf(a[v].z, b[u][v].z, sum[u]);
                    sum[u] = fmaf(a[v].w, b[u][v].w, sum[u]);
                }
            }
#pragma unroll
            for (int u = 0; u < kUnroll; u++)
#pragma unroll
                for (int d = kLanes / 2; d > 0; d /= 2) sum[u] += __shfl_xor_sync(kFull, sum[u], d);
#pragma unroll
            for (int u = 0; u < kUnroll; u++) {
                const int64_t at = e + u * kGroups + group;
                if (l == 0 && at < row_end) store_value(p, at, sum[u]);
            }
        }
        e = row_end;
    }
}

/* A warp to an entry, any k and alignment. */
__global__ __launch_bounds__(kThreads) void sddmm_any(const __grid_constant__ SampledArgs s)
{
    const lac_cuda_sampled_t &p = s.p;
    const int lane = threadIdx.x % kWarp;
    int64_t e = ((int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp) * kShare;
    const int64_t end = least(s.nnz, e + kShare);
    int64_t row = 0;
    for (; e < end; e++) {
        row = row_of(s.ptr, row, p.m, e, lane);
        const float *a = p.a + row * p.lda, *b = p.b + (int64_t)s.idx[e] * p.ldb;
        float sum = 0.0f;
#pragma unroll 8
        for (int64_t l = lane; l < p.k; l += kWarp) sum = fmaf(__ldg(a + l), __ldg(b + l), sum);
#pragma unroll
        for (int d = kWarp / 2; d > 0; d /= 2) sum += __shfl_xor_sync(kFull, sum, d);
        if (lane == 0) store_value(p, e, sum);
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_sddmm(const lac_cuda_sampled_t *p, const lac_cuda_csr_t *pattern,
                                       lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(p->m) || !fits(p->n) || !fits(p->k)) return LAC_ERR_EXTENT;
    if (pattern->nnz == 0) return LAC_OK;
    const SampledArgs s = {*p, pattern->ptr, pattern->idx, pattern->nnz};
    const int64_t blocks = ceil_div(pattern->nnz, (int64_t)kShare * kWarps);
    if (!fits(blocks)) return LAC_ERR_EXTENT;
    const Launch l = {dim3(unsigned(blocks)), dim3(kThreads), 0, 1, false, (cudaStream_t)stream};
    const bool held = p->k <= kHeld && p->k % 4 == 0 && p->lda % 4 == 0 && p->ldb % 4 == 0 &&
                      aligned(p->a, 16) && aligned(p->b, 16);
    if (!held) return launch(sddmm_any, l, s);
    return p->k <= 16    ? launch(sddmm_held<4, 1>, l, s)
           : p->k <= 32  ? launch(sddmm_held<8, 1>, l, s)
           : p->k <= 64  ? launch(sddmm_held<8, 2>, l, s)
           : p->k <= 128 ? launch(sddmm_held<8, 4>, l, s)
           : p->k <= 256 ? launch(sddmm_held<16, 4>, l, s)
                         : launch(sddmm_held<32, 4>, l, s);
}
