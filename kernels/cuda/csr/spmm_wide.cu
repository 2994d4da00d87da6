/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Product of a CSR matrix of many rows with few nonzeros each with a long W by rows: wide slices gathered. */
#include "event/gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kVec = 4; /* 16-byte pieces of a row of W that a lane takes */
constexpr int kMine = kLaneColumns * kVec;
constexpr int kColumns = kTileColumns * kVec; /* of a block */
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kAlone = 64;  /* nonzeros that a warp takes alone */
constexpr int kShare = 256; /* of a long row, that a warp takes before all warps' sums are added up */

struct WideArgs {
    GemmArgs p;
    lac_cuda_csr_t s;
};

/* Adds up the nonzeros [begin, end) of a row in order. One row of W in flight at a time, and four blocks on a
 * multiprocessor: two rows and three blocks take 55 us where these take 49 (csr_bench, 4096^3 at 0.1 %; H200,
 * 2026-11-22). */
__device__ inline void gather_wide(const WideArgs &a, int64_t begin, int64_t end,
                                   const LaneColumns<kVec, true, float> &columns, int lane,
                                   float (&acc)[kMine])
{
    for (; begin < end; begin += kWarp) {
        const int held = (int)min<int64_t>(kWarp, end - begin);
        int k = 0;
        float v = 0.0f;
        if (lane < held) k = a.s.idx[begin + lane], v = a.s.val ? a.s.val[begin + lane] : 1.0f;
#pragma unroll 1
        for (int e = 0; e < held; e++) {
            Loaded<true, float> w[kVec];
            columns.load(w, (int64_t)__shfl_sync(kFull, k, e) * a.p.wks);
            const float x = __shfl_sync(kFull, v, e);
#pragma unroll
            for (int c = 0; c < kMine; c++) acc[c] = fmaf(x, w[c / 4].at(c % 4), acc[c]);
        }
    }
}

/* Writes a row's sums past the caches: W stays there. */
__device__ inline void store_wide(const GemmArgs &p, int i, int j0, int lane, const float (&acc)[kMine])
{
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const bool fours = stores_fours(p, alpha, beta);
    float bias[4] = {};
    if (p.epilogue.any && p.epilogue.of_rows)
#pragma unroll
        for (int q = 0; q < 4; q++) bias[q] = bias_at(p.epilogue, i, 0);
#pragma unroll
    for (int v = 0; v < kVec; v++) {
        const int j = j0 + kTileColumns * v + 4 * lane;
        if (p.epilogue.any && !p.epilogue.of_rows) read_biases<4>(bias, p, j);
        store_four<true>(p, i, j, acc + 4 * v, bias, fours, alpha, beta);
    }
}

/* out := beta out + alpha S W, S[m, k] as CSR, W[k, n] by rows.
 *
 * Mapping   a warp holds one row of S and 512 columns, a block 8 rows. The blocks that read the same columns
 *           of W follow each other, so that these columns are in the last-level cache. A row of more than 64
 *           nonzeros is shared out to the block's warps, in 8 equal parts, up to 2048 at a time.
 * Layout    n, ldw and w multiples of 16 bytes; out with any strides.
 * Bytes     512 columns of W once per nonzero from the last-level cache, from memory once; out once.
 * Order     the nonzeros of a row, or of each part of a long one, in order; the parts in order, then what is
 *           done at a time: no atomics.
 * Limit     4096^3 at 0.05, 0.1, 0.2, 0.5 %: 41, 49, 72, 159 us. With few nonzeros memory, W in and out out
 * once: 30 us; with more the last-level cache, at 5 to 9 TB/s (H200, 2026-11-22). */
__global__ __launch_bounds__(kWarps *kWarp, 4) void spmm_wide(const __grid_constant__ WideArgs a)
{
    __shared__ float parts[kWarps][kColumns];
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int64_t i0 = (int64_t)blockIdx.x * kWarps, row = i0 + warp;
    const int j0 = blockIdx.y * kColumns;
    dependency_wait();
    const RowEntries mine = row < a.p.m ? entries_of(a.s, row) : RowEntries{0, 0};
    const bool alone = mine.end - mine.begin <= kAlone;
    if (alone && row < a.p.m) {
        float acc[kMine] = {};
        gather_wide(a, mine.begin, mine.end, {a.p, j0, lane}, lane, acc);
        store_wide(a.p, (int)row, j0, lane, acc);
    }
    if (!__syncthreads_or(!alone)) return;
#pragma unroll 1
    for (int r = 0; r < kWarps && i0 + r < a.p.m; r++) {
        const RowEntries all = entries_of(a.s, i0 + r);
        const int64_t p0 = all.begin, count = all.end - p0;
        if (count <= kAlone) continue;
        float sum[kColumns / kThreads] = {}; /* of columns threadIdx.x, threadIdx.x + kThreads .. */
#pragma unroll 1
        for (int64_t done = 0; done < count; done += kWarps * kShare) {
            const int64_t here = min<int64_t>(count - done, kWarps * kShare), share = ceil_div(here, kWarps);
            float acc[kMine] = {};
            gather_wide(a, p0 + done + min(here, warp * share), p0 + done + min(here, (warp + 1) * share),
                        {a.p, j0, lane}, lane, acc);
#pragma unroll
            for (int v = 0; v < kVec; v++)
                *(float4 *)&parts[warp][kTileColumns * v + 4 * lane] =
                    make_float4(acc[4 * v], acc[4 * v + 1], acc[4 * v + 2], acc[4 * v + 3]);
            __syncthreads();
#pragma unroll
            for (int c = 0; c < kColumns / kThreads; c++) {
                float of_round = 0.0f;
#pragma unroll
                for (int w = 0; w < kWarps; w++) of_round += parts[w][c * kThreads + threadIdx.x];
                sum[c] += of_round;
            }
            __syncthreads();
        }
        const float alpha = load_scalar(a.p.alpha), beta = load_scalar(a.p.beta);
#pragma unroll
        for (int c = 0; c < kColumns / kThreads; c++) {
            const int j = j0 + c * kThreads + (int)threadIdx.x;
            if (j < a.p.n) store_sum(a.p, (int)(i0 + r), j, sum[c], alpha, beta);
        }
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_spmm_wide(const lac_cuda_product_t *p, const lac_cuda_csr_t *s,
                                           lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (!wide_loads(p)) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const WideArgs a = {make_gemm_args(p), *s};
    const int64_t panels = ceil_div(p->n, kColumns);
    if (panels > 65535) return LAC_ERR_EXTENT;
    const Launch l = {dim3(unsigned(ceil_div(p->m, kWarps)), unsigned(panels)),
                      dim3(kWarps * kWarp),
                      0,
                      1,
                      true,
                      (cudaStream_t)stream};
    return launch(spmm_wide, l, a);
}
