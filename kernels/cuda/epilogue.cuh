/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of one element: the same bits where it is written as in a pass behind. */
#ifndef LACUNA_EPILOGUE_CUH
#define LACUNA_EPILOGUE_CUH

#include "device_common.cuh"

namespace lacuna
{

/* What is added to element (row, col) of an output. */
__device__ inline float bias_at(const lac_cuda_epilogue_t &epilogue, int64_t row, int64_t col)
{
    return epilogue.bias ? epilogue.bias[epilogue.of_rows ? row : col] : 0.0f;
}

/* x + bias where that, or its magnitude, is not <= limit, else 0. The sum is never part of a multiply-add,
 * and a bias of 0 is added too: it makes -0 to 0. */
__device__ inline float apply_epilogue(const lac_cuda_epilogue_t &epilogue, float x, float bias)
{
    x = __fadd_rn(x, bias);
    return (epilogue.magnitude ? fabsf(x) : x) <= epilogue.limit ? 0.0f : x;
}

/* x with what follows, if anything does. */
__device__ inline float with_epilogue(const lac_cuda_epilogue_t &epilogue, float x, float bias)
{
    return epilogue.any ? apply_epilogue(epilogue, x, bias) : x;
}

/* at := beta at + alpha sum, and what follows; at is element (row, col) of the output. Returns it. */
__device__ inline float store_with_epilogue(float *at, float sum, float alpha, float beta,
                                            const lac_cuda_epilogue_t &epilogue, int64_t row, int64_t col)
{
    const float x = scaled(at, sum, alpha, beta);
    return *at = epilogue.any ? apply_epilogue(epilogue, x, bias_at(epilogue, row, col)) : x;
}

} // namespace lacuna
#endif
