/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Floats as whole numbers of a unit: sums of integers are the same in any order. */
#ifndef LACUNA_CUDA_COMMON_FIXED_CUH
#define LACUNA_CUDA_COMMON_FIXED_CUH

#include "common/device.cuh"

#include <math.h>

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
__device__ inline double double_power_of_two(int e)
{
    const unsigned long long bits = (unsigned long long)(1023 + e) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* What a sum has met of terms that are not finite, as bits, and what such a sum is. */
enum { POSITIVE = 1, NEGATIVE = 2, NOT_A_NUMBER = 4 };

template <typename T> __device__ inline unsigned not_finite(T term)
{
    return term != term ? NOT_A_NUMBER : term > 0 ? POSITIVE : NEGATIVE;
}
__device__ inline float sum_not_finite(unsigned met)
{
    const bool both = (met & (POSITIVE | NEGATIVE)) == (POSITIVE | NEGATIVE);
    return both || met & NOT_A_NUMBER ? NAN : met & POSITIVE ? INFINITY : -INFINITY;
}

/* The same by addition, of fewer than 2^31 terms: how many are not negative, and how many not positive. */
constexpr unsigned long long kOneNegative = 1ull << 31;
__device__ inline unsigned long long count_not_finite(float term)
{
    return term != term ? kOneNegative + 1 : term > 0.0f ? 1 : kOneNegative;
}
__device__ inline float sum_of_counts(unsigned long long counts)
{
    return counts < kOneNegative ? INFINITY : counts % kOneNegative ? NAN : -INFINITY;
}

} // namespace lacuna
#endif
