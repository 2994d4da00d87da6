/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of one element: the same bits where it is written as in a pass behind. */
#ifndef LACUNA_FINISH_CUH
#define LACUNA_FINISH_CUH

#include "device_common.cuh"

namespace lacuna
{

/* What is added to element (row, col) of an output. */
__device__ inline float bias_at(const lac_cuda_after_t &after, int64_t row, int64_t col)
{
    return after.bias ? after.bias[after.of_rows ? row : col] : 0.0f;
}

/* x + bias where that, or its magnitude, is not <= limit, else 0. The sum is never part of a multiply-add,
 * and a bias of 0 is added too: it makes -0 to 0. */
__device__ inline float finished(const lac_cuda_after_t &after, float x, float bias)
{
    x = __fadd_rn(x, bias);
    return (after.magnitude ? fabsf(x) : x) <= after.limit ? 0.0f : x;
}

/* x with what follows, if anything does. */
__device__ inline float followed(const lac_cuda_after_t &after, float x, float bias)
{
    return after.any ? finished(after, x, bias) : x;
}

/* at := beta at + alpha sum, and what follows; at is element (row, col) of the output. Returns it. */
__device__ inline float store_finished(float *at, float sum, float alpha, float beta,
                                       const lac_cuda_after_t &after, int64_t row, int64_t col)
{
    const float x = scaled(at, sum, alpha, beta);
    return *at = after.any ? finished(after, x, bias_at(after, row, col)) : x;
}

} // namespace lacuna
#endif
