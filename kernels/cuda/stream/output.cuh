/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How sums become the output of a streamed product: what tensor cores make no number of is summed again. */
#ifndef LACUNA_CUDA_STREAM_OUTPUT_CUH
#define LACUNA_CUDA_STREAM_OUTPUT_CUH

#include "event/gather.cuh"

namespace lacuna
{
namespace streamed
{

struct Output {
    GemmArgs p;
    const void *s;
    int64_t rs, cs;
    bool bytes; /* S is u8 */
};

inline Output output_of(const lac_cuda_product_t *p, const lac_cuda_dense_t *s)
{
    return {make_gemm_args(p), s->data, s->rs, s->cs, s->dt == LAC_U8};
}

/* Whether sums may be stored as they lie together, as rows of an output that nothing is added to; a bias of
 * rows takes the other way. */
__host__ __device__ inline bool writes_together(const GemmArgs &p)
{
    return p.cs == 1 && !p.epilogue.of_rows;
}

/* Whether four neighbouring elements of such rows are 16 aligned bytes. */
__host__ __device__ inline bool writes_fours(const GemmArgs &p)
{
    return p.rs % 4 == 0 && p.n % 4 == 0 && (uintptr_t)p.out % 16 == 0;
}

/* That of all lanes, as a tree. */
__device__ inline float sum_of_warp(float x)
{
#pragma unroll
    for (int o = kWarp / 2; o > 0; o /= 2) x += __shfl_xor_sync(kFull, x, o);
    return x;
}

/* 0, or NaN where any sum is no number; one does not wait for the others. */
template <int kCount> __device__ inline float no_numbers(const float (&sum)[kCount])
{
    float bad[4] = {};
#pragma unroll
    for (int e = 0; e < kCount; e++) bad[e % 4] = fmaf(sum[e], 0.0f, bad[e % 4]);
    return (bad[0] + bad[1]) + (bad[2] + bad[3]);
}

__device__ inline float4 times(float alpha, float4 x)
{
    return make_float4(alpha * x.x, alpha * x.y, alpha * x.z, alpha * x.w);
}

__device__ inline float4 plus(float4 x, float4 y)
{
    return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

/* Four elements of a row after the epilogue, if there is one. */
__device__ inline float4 finished(const GemmArgs &p, float4 x, const float (&bias)[4])
{
    if (!p.epilogue.any) return x;
    return make_float4(apply_epilogue(p.epilogue, x.x, bias[0]), apply_epilogue(p.epilogue, x.y, bias[1]),
                       apply_epilogue(p.epilogue, x.z, bias[2]), apply_epilogue(p.epilogue, x.w, bias[3]));
}

/* The sum of element (i, j) in f32 by a warp: lanes along k, then a tree. */
__device__ inline __noinline__ float sum_in_f32(const Output &a, int i, int j)
{
    float sum = 0.0f;
    for (int k = threadIdx.x % kWarp; k < a.p.k; k += kWarp) {
        const int64_t at = i * a.rs + k * a.cs;
        const float s = a.bytes ? event_value(((const uint8_t *)a.s)[at]) : ((const float *)a.s)[at];
        sum = fmaf(s, a.p.w[(int64_t)k * a.p.wks + (int64_t)j * a.p.wjs], sum);
    }
    return sum_of_warp(sum);
}

/* Where tensor cores made an Inf or NaN of any of a thread's sums, of row i and columns j, j + kApart ..: one
 * sum along k by the warp for each, so that Inf, NaN and what passes the largest bf16 come out as f32 has
 * them. All lanes of a warp call it; `mine`: this one has elements of the output. */
template <int kApart>
__device__ __forceinline__ void mend_sums(const Output &a, float (&x)[4], int i, int j, bool mine)
{
    const int lane = (int)threadIdx.x % kWarp;
    const bool finite = isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]) && isfinite(x[3]);
    for (unsigned bad = __ballot_sync(kFull, mine && !finite); bad; bad &= bad - 1) {
        const int source = __ffs((int)bad) - 1, row = __shfl_sync(kFull, i, source),
                  column = __shfl_sync(kFull, j, source);
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const float sum = column + q * kApart < a.p.n ? sum_in_f32(a, row, column + q * kApart) : 0.0f;
            if (lane == source) x[q] = sum;
        }
    }
}

/* out := beta out + alpha sums, and the epilogue, for columns j .. j + 3 of row i. */
__device__ __forceinline__ void store_quad(const Output &a, const float (&x)[4], int i, int j, float alpha,
                                           float beta)
{
    float bias[4];
    read_biases<4>(bias, a.p, j);
    if (a.p.epilogue.of_rows) bias[0] = bias[1] = bias[2] = bias[3] = bias_at(a.p.epilogue, i, 0);
    store_four<false>(a.p, i, j, x, bias, stores_fours(a.p, alpha, beta), alpha, beta);
}

} // namespace streamed
} // namespace lacuna
#endif
