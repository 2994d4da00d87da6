/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A float as the sum of two TF32, numbers with a float's exponent and eleven bits, which the tensor cores of
 * compute capability 9.0 multiply: the nearest one and what is left, at most half a unit of it. Of a TF32 as
 * they get it, 32 bits, they cut off the last thirteen: of what is left that is less than 2^-23 of the float.
 */
#ifndef LACUNA_CUDA_STREAM_SPLITS_CUH
#define LACUNA_CUDA_STREAM_SPLITS_CUH

#include "common/device.cuh"

namespace lacuna
{
namespace streamed
{

constexpr uint32_t kOfTf32 = 0xffffe000u, kHalfUnit = 0x1000u;

/* As S is stored: so that what tensor cores take of it is the nearest TF32. */
__device__ inline uint32_t stored_tf32(float x)
{
    return __float_as_uint(x) + kHalfUnit;
}

struct SplitTf32 {
    uint32_t nearest, rest;
};
/* What a float leaves is nothing but small numbers; an Inf or NaN leaves NaN. */
__device__ inline SplitTf32 split_tf32(float x)
{
    const uint32_t nearest = stored_tf32(x) & kOfTf32;
    return {nearest, __float_as_uint(x - __uint_as_float(nearest))};
}

/* The rest of a float that is stored. */
__device__ inline uint32_t rest_of_stored(uint32_t stored)
{
    return __float_as_uint(__uint_as_float(stored - kHalfUnit) - __uint_as_float(stored & kOfTf32));
}
__device__ inline uint4 rest_of_four(uint4 stored)
{
    return make_uint4(rest_of_stored(stored.x), rest_of_stored(stored.y), rest_of_stored(stored.z),
                      rest_of_stored(stored.w));
}

} // namespace streamed
} // namespace lacuna
#endif
