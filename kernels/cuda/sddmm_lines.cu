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
/* Where B is larger, the rows' warps keep together better in parts of so many entries, on average: 197
 * instead of 218 us for 10000^2, 5 %, k = 128; for 4096^2, 10 %, k = 32 it is 27 instead of 22 us (H200,
 * 2026-11-21). */
constexpr int64_t kNear = 2 << 20;
constexpr int kSegment = 128;
constexpr int kUneven = 8; /* times the average and kSegment: from there on a row is very long         */
constexpr int kHeld = 512; /* elements along k of a line of A that are held in registers               */
constexpr int kShare = 64; /* entries of a warp where A is not held                                    */

struct SampledArgs {
    lac_cuda_sampled_t p;
    const int64_t *ptr;
    const int32_t *idx;
    int64_t nnz, row_blocks;
    int segments; /* equal parts of each row */
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

/* `count` entries of one row from `begin` on, by a warp: kLanes lanes to an entry, each kVec pieces of four
 * along k. */
template <int kLanes, int kVec, int kUnroll>
__device__ inline void walk_row(const SampledArgs &s, int64_t row, int64_t begin, int count)
{
    constexpr int kGroups = kWarp / kLanes;
    const lac_cuda_sampled_t &p = s.p;
    const int lane = threadIdx.x % kWarp, group = lane / kLanes, l = lane % kLanes * 4, k = (int)p.k;
    const int32_t *idx = s.idx + begin;
    float4 a[kVec];
#pragma unroll
    for (int v = 0; v < kVec; v++) {
        const int at = l + v * 4 * kLanes;
        a[v] = at < k ? __ldg((const float4 *)(p.a + row * p.lda + at)) : make_float4(0, 0, 0, 0);
    }
    int next[kUnroll]; /* columns of the entries to come; beyond the end any that there is */
#pragma unroll
    for (int u = 0; u < kUnroll; u++)
        next[u] = u * kGroups + group < count ? __ldg(idx + u * kGroups + group) : 0;
    for (int e = 0; e < count; e += kGroups * kUnroll) {
        float sum[kUnroll];
        float4 b[kUnroll][kVec];
#pragma unroll
        for (int u = 0; u < kUnroll; u++) {
            const float *line = p.b + (int64_t)next[u] * p.ldb + l;
#pragma unroll
            for (int v = 0; v < kVec; v++)
                b[u][v] = l + v * 4 * kLanes < k ? __ldg((const float4 *)(line + v * 4 * kLanes))
                                                 : make_float4(0, 0, 0, 0);
        }
#pragma unroll
        for (int u = 0; u < kUnroll; u++) {
            const int at = e + kGroups * (kUnroll + u) + group;
            next[u] = at < count ? __ldg(idx + at) : 0;
        }
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
            const int at = e + u * kGroups + group;
            if (l == 0 && at < count) store_value(p, begin + at, sum[u]);
        }
    }
}

/* values[e] := beta values[e] + alpha sum over l of A[i, l] B[l, j] for the entries e = (i, j) of each row i.
 *
 * Mapping   a warp to a segment of a row. The warps of all rows walk from left to right at the same time, so
 *           that a column of B, in the first-level cache, serves other rows on its way: 64 warps at 10 %
 *           share it six times.
 * Layout    lines of A and B 16-byte aligned, k a multiple of 4 and at most 4 kLanes kVec.
 * Bytes     4 k per entry, of B, from cache; 8 per entry; A once a segment.
 * Order     lane by lane along k, lanes by a butterfly: the same bits whatever the cut.
 * Limit     the way from L2, less what the first-level cache keeps. kUnroll kVec = 4: more loads in flight
 *           cost resident warps, and with them the sharing: 12 instead of 17 us for 4096^2, 1 %, k = 128,
 *           with 1 instead of 4 entries in flight (H200, 2026-11-21). */
template <int kLanes, int kVec, int kUnroll>
__global__ __launch_bounds__(kThreads) void sddmm_rows(const __grid_constant__ SampledArgs s)
{
    const int64_t segment = blockIdx.x / s.row_blocks,
                  row = (blockIdx.x - segment * s.row_blocks) * kWarps + threadIdx.x / kWarp;
    if (row >= s.p.m) return;
    const int64_t begin = s.ptr[row], length = s.ptr[row + 1] - begin, step = ceil_div(length, s.segments);
    const int count = (int)most<int64_t>(0, least(step, length - segment * step));
    walk_row<kLanes, kVec, kUnroll>(s, row, begin + segment * step, count);
}

/* The same for rows of very different lengths: equal shares of all entries, whatever rows they fall into. */
template <int kLanes, int kVec, int kUnroll>
__global__ __launch_bounds__(kThreads) void sddmm_shares(const __grid_constant__ SampledArgs s)
{
    int64_t e = ((int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp) * kShare, row = 0;
    const int64_t end = least(s.nnz, e + kShare);
    while (e < end) {
        row = row_of(s.ptr, row, s.p.m, e, threadIdx.x % kWarp);
        const int64_t row_end = least(end, s.ptr[row + 1]);
        walk_row<kLanes, kVec, kUnroll>(s, row, e, (int)(row_end - e));
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

template <int kLanes, int kVec, int kUnroll>
lac_status_t launch_held(const SampledArgs &s, const Launch &l, bool shares)
{
    return shares ? launch(sddmm_shares<kLanes, kVec, kUnroll>, l, s)
                  : launch(sddmm_rows<kLanes, kVec, kUnroll>, l, s);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_sddmm(const lac_cuda_sampled_t *p, const lac_cuda_csr_t *pattern,
                                       lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(p->m) || !fits(p->n) || !fits(p->k)) return LAC_ERR_EXTENT;
    if (pattern->nnz == 0) return LAC_OK;
    SampledArgs s = {*p, pattern->ptr, pattern->idx, pattern->nnz, ceil_div(p->m, kWarps), 1};
    Launch l = {dim3(1), dim3(kThreads), 0, 1, false, (cudaStream_t)stream};
    const bool held = p->k <= kHeld && p->k % 4 == 0 && p->lda % 4 == 0 && p->ldb % 4 == 0 &&
                      aligned(p->a, 16) && aligned(p->b, 16);
    const int64_t average = pattern->nnz / p->m, shares = ceil_div(pattern->nnz, (int64_t)kShare * kWarps);
    const bool uneven = p->longest > kUneven * (average + kSegment);
    if (!held || uneven) {
        if (!fits(shares)) return LAC_ERR_EXTENT;
        l.grid = dim3(unsigned(shares));
    }
    if (!held) return launch(sddmm_any, l, s);
    if (!uneven) {
        /* Few rows: more segments for each, until every multiprocessor has some. */
        const int64_t wanted = ceil_div(4 * current_device().sms, s.row_blocks);
        const int64_t parts = 4 * p->n * p->k > kNear ? average / kSegment : 1;
        s.segments = (int)least<int64_t>(1024, most(wanted, most<int64_t>(1, parts)));
        if (!fits(s.row_blocks * s.segments)) return LAC_ERR_EXTENT;
        l.grid = dim3(unsigned(s.row_blocks * s.segments));
    }
    return p->k <= 32    ? launch_held<4, 2, 2>(s, l, uneven)
           : p->k <= 64  ? launch_held<8, 2, 2>(s, l, uneven)
           : p->k <= 128 ? launch_held<8, 4, 1>(s, l, uneven)
           : p->k <= 256 ? launch_held<16, 4, 1>(s, l, uneven)
                         : launch_held<32, 4, 1>(s, l, uneven);
}
