/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Product with a frozen sparse operand kept as occupancy bits and packed values, for a short other side. */
#include "event_gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kWarps = 8;

struct BitmaskArgs {
    Picture p;
    lac_cuda_bits_t s;
    int j0;
};

/* out := beta out + alpha S W for kColumns columns of W from j0 on; S[m, k] as bits and packed values.
 *
 * Mapping   one warp per kRows rows of S, which share what is read of W; lane l takes k = l of each 32, its
 *           value lies behind those of the set bits below; kUnroll such pieces have their loads in flight.
 *           Each lane fetches one piece of 32 at a time, and where its values begin, ahead of their use.
 * Bytes     1/8 per element of S and 4 per nonzero, once; W from cache, once per kRows rows.
 * Order     the lanes' sums are added by a butterfly: one fixed order, no atomics.
 * Limit     meant to be DRAM for S; reached 1.2 TB/s at 50 %: many rows in short pieces, latency. At
 *           8192 x 8192 it loses to cuBLAS for one column and equals it for eight (H200, 2026-11-20). */
template <int kColumns, int kRows, int kUnroll>
__global__ __launch_bounds__(kWarps *kWarp) void bitmask(const __grid_constant__ BitmaskArgs a)
{
    const Picture &p = a.p;
    const int lane = threadIdx.x % kWarp, row0 = (blockIdx.x * kWarps + threadIdx.x / kWarp) * kRows;
    if (row0 >= p.m) return;
    const unsigned below = lanes_below(lane);
    const int columns = least(kColumns, p.n - a.j0);
    const float *w = p.w + (int64_t)a.j0 * p.wjs;
    const float *val[kRows];
    float acc[kRows][kColumns] = {};
#pragma unroll
    for (int r = 0; r < kRows; r++) val[r] = a.s.val + a.s.first[least(row0 + r, p.m - 1)];
    const int64_t halves = 2 * a.s.words;
    for (int64_t base = 0; base < halves; base += kWarp) {
        unsigned held[kRows];
        int start[kRows];
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            const unsigned *bits = (const unsigned *)(a.s.bits + least(row0 + r, p.m - 1) * a.s.words);
            held[r] = base + lane < halves ? bits[base + lane] : 0;
        }
#pragma unroll
        for (int r = 0; r < kRows; r++) {
            int sum = __popc(held[r]);
#pragma unroll
            for (int d = 1; d < kWarp; d *= 2) {
                const int other = __shfl_up_sync(kFull, sum, d);
                if (lane >= d) sum += other;
            }
            start[r] = sum - __popc(held[r]);
        }
        const int end = (int)least<int64_t>(kWarp, halves - base);
        for (int half = 0; half < end; half += kUnroll) {
            float x[kUnroll][kRows], y[kUnroll][kColumns];
#pragma unroll
            for (int u = 0; u < kUnroll; u++) {
                const int64_t k = (base + half + u) * kWarp + lane;
                unsigned any = 0;
#pragma unroll
                for (int r = 0; r < kRows; r++) {
                    const unsigned bits = __shfl_sync(kFull, held[r], half + u);
                    const int at = __shfl_sync(kFull, start[r], half + u) + __popc(bits & below);
                    const unsigned set = bits >> lane & 1;
                    x[u][r] = set ? __ldcs(val[r] + at) : 0.0f;
                    any |= set;
                }
#pragma unroll
                for (int c = 0; c < kColumns; c++)
                    y[u][c] = any && c < columns ? __ldg(w + k * p.wks + (int64_t)c * p.wjs) : 0.0f;
            }
#pragma unroll
            for (int u = 0; u < kUnroll; u++)
#pragma unroll
                for (int r = 0; r < kRows; r++)
                    if (x[u][r] != 0.0f) /* an unset bit: 0 * Inf is dropped */
#pragma unroll
                        for (int c = 0; c < kColumns; c++) acc[r][c] = fmaf(x[u][r], y[u][c], acc[r][c]);
        }
#pragma unroll
        for (int r = 0; r < kRows; r++) val[r] += __shfl_sync(kFull, start[r] + __popc(held[r]), kWarp - 1);
    }
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
#pragma unroll
    for (int r = 0; r < kRows; r++)
#pragma unroll
        for (int c = 0; c < kColumns; c++) {
            float sum = acc[r][c];
#pragma unroll
            for (int d = kWarp / 2; d > 0; d /= 2) sum += __shfl_xor_sync(kFull, sum, d);
            if (lane != c || c >= columns || row0 + r >= p.m) continue;
            store_scaled(p.out + (row0 + r) * p.rs + (a.j0 + c) * p.cs, sum, alpha, beta);
        }
}

template <int kColumns, int kRows, int kUnroll>
lac_status_t launch_columns(const BitmaskArgs &a, cudaStream_t stream)
{
    const dim3 grid(unsigned(ceil_div(a.p.m, kWarps * kRows)));
    return launch(bitmask<kColumns, kRows, kUnroll>, {grid, dim3(kWarps * kWarp), 0, 1, false, stream}, a);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_bitmask(const lac_cuda_product_t *p, const lac_cuda_bits_t *s,
                                         lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    for (int64_t j0 = 0; j0 < p->n; j0 += 8) {
        const BitmaskArgs a = {make_picture(p), *s, (int)j0};
        const int64_t left = p->n - j0;
        const lac_status_t status = left == 1   ? launch_columns<1, 1, 8>(a, (cudaStream_t)stream)
                                    : left == 2 ? launch_columns<2, 1, 8>(a, (cudaStream_t)stream)
                                    : left <= 4 ? launch_columns<4, 2, 4>(a, (cudaStream_t)stream)
                                                : launch_columns<8, 4, 2>(a, (cudaStream_t)stream);
        if (status != LAC_OK) return status;
    }
    return LAC_OK;
}
