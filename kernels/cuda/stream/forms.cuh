/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The forms in which tensor cores multiply floats: as six products of bf16, which hold any float, or as three
 * of f16, which hold floats of like size. */
#ifndef LACUNA_CUDA_STREAM_FORMS_CUH
#define LACUNA_CUDA_STREAM_FORMS_CUH

#include "common/element.cuh"

namespace lacuna
{
namespace streamed
{

constexpr int kCore = 8; /* rows of S, and k, of a core matrix of wgmma */

/* Each float is the sum of three bf16. Of the nine products of splits the six largest count, the smallest
 * first: tensor cores cut off what they add, so that nothing but the largest may come behind it. */
struct SixBf16 {
    using Element = BF16;
    static constexpr int kProducts = 6, kSplitsOfS = 3, kScales = 0;
    /* The splits of a product. */
    __device__ static constexpr int of_s(int product)
    {
        constexpr int k[kProducts] = {2, 0, 1, 1, 0, 0};
        return k[product];
    }
    __device__ static constexpr int of_w(int product)
    {
        constexpr int k[kProducts] = {0, 2, 1, 0, 1, 0};
        return k[product];
    }
};

/* A float of W times a power of two is h + l, of S h + l / 2^kApart, two f16 each, to 2^-22 of it. W's third
 * split is h / 2^kApart, the factor of S's l. The power of two is that of a group of neighbours: the largest
 * of them becomes at least 2^kTop, and less than twice that. */
struct ThreeF16 {
    using Element = F16;
    static constexpr int kProducts = 3, kSplitsOfS = 2, kScales = 8; /* of a step of S: one for 16 rows */
    __device__ static constexpr int of_s(int product) { return product == 1; }
    __device__ static constexpr int of_w(int product)
    {
        constexpr int k[kProducts] = {1, 2, 0};
        return k[product];
    }
    static constexpr int kTop = 14, kApart = 11;
    static constexpr int kLeast = -3; /* W's elements hold so well from 2^kLeast on, S's 2^-kApart of that */
    static constexpr int kLowest = -100; /* of a group's largest exponent: smaller ones are taken as that */
};
constexpr int kSplits = 3;      /* of W, in both forms */
constexpr int kScaledRows = 16; /* of S, that a power of two is for */

/* Two floats as bf16: word i holds their i-th, x below and y above, the first two rounded to nearest, so that
 * the last is what is left. What an Inf or NaN leaves is NaN. */
struct SplitPair {
    uint32_t word[kSplits];
};
__device__ inline SplitPair split_pair(float x, float y)
{
    SplitPair s;
#pragma unroll
    for (int i = 0; i < kSplits; i++) {
        const uint32_t half = i + 1 < kSplits ? 0x8000u : 0u;
        const uint32_t a = __float_as_uint(x) + half, b = __float_as_uint(y) + half;
        s.word[i] = __byte_perm(a, b, 0x7632);
        x -= __uint_as_float(a & 0xffff0000u);
        y -= __uint_as_float(b & 0xffff0000u);
    }
    return s;
}

/* The exponent of the largest of a group, of which `size` is the absolute value. An Inf has 128. */
__device__ inline int largest_exponent(unsigned size)
{
    return max((int)(size >> 23) - 127, ThreeF16::kLowest);
}

/* Two f16 of x and y: h, and what is left of them times `more`. Inf and NaN leave NaN. */
__device__ inline void split_f16(float x, float y, float more, uint32_t &h, uint32_t &l)
{
    h = nearest_f16_pair(x, y);
    l = nearest_f16_pair((x - f16_value((uint16_t)h)) * more, (y - f16_value((uint16_t)(h >> 16))) * more);
}

} // namespace streamed
} // namespace lacuna
#endif
