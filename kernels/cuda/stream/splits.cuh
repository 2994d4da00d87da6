/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The forms in which tensor cores of compute capability 9.0 multiply floats: as three products of TF32,
 * numbers with a float's exponent and eleven bits, or as six of bf16, which lose nothing of a float. A form
 * has kInstructions for sixteen k, kSplits of a float, and kTerms products of splits, the smallest first:
 * tensor cores cut off what they add, so that nothing but the largest may come behind it. */
#ifndef LACUNA_CUDA_STREAM_SPLITS_CUH
#define LACUNA_CUDA_STREAM_SPLITS_CUH

#include "common/element.cuh"
#include "tiles/wgmma.cuh"

namespace lacuna
{
namespace streamed
{

/* A float is the nearest TF32 and what is left, of which the tensor cores, which cut off the last thirteen
 * bits of what they are given, lose less than 2^-23 of the float. */
struct ThreeTf32 {
    using Element = TF32;
    static constexpr int kInstructions = 2, kSplits = 2, kTerms = 3;
    __device__ static constexpr int of_w(int term) { return term == 1; }
    __device__ static constexpr int of_s(int term) { return term == 0; }
};

/* A float is the sum of three bf16. Of the nine products of splits the six largest count. */
struct SixBf16 {
    using Element = BF16;
    static constexpr int kInstructions = 1, kSplits = 3, kTerms = 6;
    __device__ static constexpr int of_w(int term)
    {
        constexpr int k[kTerms] = {0, 2, 1, 0, 1, 0};
        return k[term];
    }
    __device__ static constexpr int of_s(int term)
    {
        constexpr int k[kTerms] = {2, 0, 1, 1, 0, 0};
        return k[term];
    }
};

constexpr uint32_t kOfTf32 = 0xffffe000u, kHalfUnit = 0x1000u;

/* As S is stored: so that what tensor cores take of it is the nearest TF32. */
__device__ inline uint32_t stored_tf32(float x)
{
    return __float_as_uint(x) + kHalfUnit;
}
__device__ inline float stored_value(uint32_t stored)
{
    return __uint_as_float(stored - kHalfUnit);
}

struct SplitTf32 {
    uint32_t nearest, rest;
};
/* An Inf or NaN leaves NaN. */
__device__ inline SplitTf32 split_tf32(float x)
{
    const uint32_t nearest = stored_tf32(x) & kOfTf32;
    return {nearest, __float_as_uint(x - __uint_as_float(nearest))};
}

/* The rest of a float that is stored. */
__device__ inline uint32_t rest_of_stored(uint32_t stored)
{
    return __float_as_uint(stored_value(stored) - __uint_as_float(stored & kOfTf32));
}
__device__ inline uint4 rest_of_stored(uint4 stored)
{
    return make_uint4(rest_of_stored(stored.x), rest_of_stored(stored.y), rest_of_stored(stored.z),
                      rest_of_stored(stored.w));
}

/* Two floats as bf16: word i holds their i-th, x below and y above, the first two rounded to nearest, so that
 * the last is what is left. What an Inf or NaN leaves is NaN. */
struct SplitPair {
    uint32_t word[SixBf16::kSplits];
};
__device__ inline SplitPair split_pair(float x, float y)
{
    SplitPair s;
#pragma unroll
    for (int i = 0; i < SixBf16::kSplits; i++) {
        const uint32_t half = i + 1 < SixBf16::kSplits ? 0x8000u : 0u;
        const uint32_t a = __float_as_uint(x) + half, b = __float_as_uint(y) + half;
        s.word[i] = __byte_perm(a, b, 0x7632);
        x -= __uint_as_float(a & 0xffff0000u);
        y -= __uint_as_float(b & 0xffff0000u);
    }
    return s;
}

} // namespace streamed
} // namespace lacuna
#endif
