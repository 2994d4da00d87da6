/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Floats as whole numbers of a unit: sums of integers are the same in any order. */
#ifndef LACUNA_CUDA_COMMON_FIXED_CUH
#define LACUNA_CUDA_COMMON_FIXED_CUH

#include "common/device.cuh"

namespace lacuna
{

constexpr int kFloatNotFinite = 0xff; /* the exponent of infinities and NaN */
constexpr int kMantissa = 24;         /* bits                               */

/* |x| = mantissa 2^(exponent - 150); 0 has no mantissa. */
__device__ inline int float_exponent(float x)
{
    const int e = int(__float_as_uint(x) >> 23) & kFloatNotFinite;
    return e ? e : 1;
}
__device__ inline long long float_mantissa(float x)
{
    const uint32_t bits = __float_as_uint(x), fraction = bits & 0x7fffffu;
    return bits >> 23 & (uint32_t)kFloatNotFinite ? fraction | 0x800000u : fraction;
}

/* 2^e of a normal double. */
__device__ inline double power_of_two(int e)
{
    const unsigned long long bits = (unsigned long long)(1023 + e) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

} // namespace lacuna
#endif
