/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Product with a frozen sparse operand kept as occupancy bits and packed values, for a short other side. */
#include "event_gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kWarps = 8;
constexpr int kWords = 4; /* 64-bit words of a row whose values are in flight at once */

struct BitmaskArgs {
    Picture p;
    lac_cuda_bits_t s;
    int j0;
};

/* out := beta out + alpha S W for kColumns columns of W from j0 on; S[m, k] as bits and packed values.
 *
 * Mapping   one warp per row of S; lane l takes k = l and l + 32 of each word, its value lies behind those of
 * the set bits below. The lanes' sums are added by a butterfly: one fixed order, no atomics. Bytes     1/8
 * per element of S and 4 per nonzero, once; W from cache. Limit     DRAM for S. */
template <int kColumns>
__global__ __launch_bounds__(kWarps *kWarp) void bitmask(const __grid_constant__ BitmaskArgs a)
{
    const Picture &p = a.p;
    const int lane = threadIdx.x % kWarp, row = blockIdx.x * kWarps + threadIdx.x / kWarp;
    if (row >= p.m) return;
    const unsigned below = lanes_below(lane);
    const uint64_t *bits = a.s.bits + row * a.s.words;
    const float *val = a.s.val + a.s.first[row];
    const float *w = p.w + (int64_t)a.j0 * p.wjs;
    const int columns = least(kColumns, p.n - a.j0);
    float acc[kColumns] = {};
    for (int64_t word = 0; word < a.s.words; word += kWords) {
        uint64_t held[kWords];
        float x[kWords][2];
#pragma unroll
        for (int u = 0; u < kWords; u++) held[u] = word + u < a.s.words ? bits[word + u] : 0;
#pragma unroll
        for (int u = 0; u < kWords; u++) {
            const unsigned low = (unsigned)held[u], high = (unsigned)(held[u] >> 32);
            const int in_low = __popc(low);
            x[u][0] = low >> lane & 1 ? val[__popc(low & below)] : 0.0f;
            x[u][1] = high >> lane & 1 ? val[in_low + __popc(high & below)] : 0.0f;
            val += in_low + __popc(high);
        }
#pragma unroll
        for (int u = 0; u < kWords; u++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                if (!(held[u] >> (32 * h + lane) & 1)) continue;
                const float *at = w + ((word + u) * 64 + 32 * h + lane) * p.wks;
#pragma unroll
                for (int c = 0; c < kColumns; c++)
                    if (c < columns) acc[c] = fmaf(x[u][h], __ldg(at + (int64_t)c * p.wjs), acc[c]);
            }
    }
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
#pragma unroll
    for (int c = 0; c < kColumns; c++) {
        float sum = acc[c];
#pragma unroll
        for (int d = kWarp / 2; d > 0; d /= 2) sum += __shfl_xor_sync(kFull, sum, d);
        if (lane != c || c >= columns) continue;
        float *at = p.out + row * p.rs + (a.j0 + c) * p.cs;
        *at = beta == 0.0f ? alpha * sum : fmaf(beta, *at, alpha * sum);
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_bitmask(const lac_cuda_product_t *p, const lac_cuda_bits_t *s,
                                         lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const Launch l = {
        dim3(unsigned(ceil_div(p->m, kWarps))), dim3(kWarps * kWarp), 0, 1, false, (cudaStream_t)stream};
    for (int64_t j0 = 0; j0 < p->n; j0 += 8) {
        const BitmaskArgs a = {make_picture(p), *s, (int)j0};
        const int64_t left = p->n - j0;
        const lac_status_t status = left == 1   ? launch(bitmask<1>, l, a)
                                    : left == 2 ? launch(bitmask<2>, l, a)
                                    : left <= 4 ? launch(bitmask<4>, l, a)
                                                : launch(bitmask<8>, l, a);
        if (status != LAC_OK) return status;
    }
    return LAC_OK;
}
