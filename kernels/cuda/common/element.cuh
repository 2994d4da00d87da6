/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The types of elements: one line of with_type for each, and what kernels that take any of them ask of it. */
#ifndef LACUNA_CUDA_COMMON_ELEMENT_CUH
#define LACUNA_CUDA_COMMON_ELEMENT_CUH

#include "primitives.cuh"

#include <lacuna/types.h>

namespace lacuna
{

/* Two bytes of a floating-point type. To compare with T(0) is to ask for a nonzero: -0 is none, NaN is one.
 */
template <lac_dt_t kType> struct Half {
    uint16_t bits;
    Half() = default;
    __host__ __device__ explicit constexpr Half(int) : bits(0) {}
    __host__ __device__ friend bool operator!=(Half x, Half zero)
    {
        return ((x.bits ^ zero.bits) & 0x7fff) != 0;
    }
};
using F16 = Half<LAC_F16>;
using BF16 = Half<LAC_BF16>;

/* The type of the sums of such elements. */
template <typename T> struct SumOf {
    using type = float;
};
template <> struct SumOf<double> {
    using type = double;
};
template <typename T> using Sum = typename SumOf<T>::type;

/* fn(T()) for the type of elements that dt names: numbers, and bytes too; doubles where a kernel says so. */
template <typename Fn> inline lac_status_t with_number_type(lac_dt_t dt, Fn fn)
{
    switch (dt) {
    case LAC_F16:
        return fn(F16());
    case LAC_BF16:
        return fn(BF16());
    default:
        return fn(float());
    }
}
template <typename Fn> inline lac_status_t with_type(lac_dt_t dt, Fn fn)
{
    return dt == LAC_U8 ? fn(uint8_t()) : with_number_type(dt, fn);
}
template <typename Fn> inline lac_status_t with_wide_number_type(lac_dt_t dt, Fn fn)
{
    return dt == LAC_F64 ? fn(double()) : with_number_type(dt, fn);
}
template <typename Fn> inline lac_status_t with_wide_type(lac_dt_t dt, Fn fn)
{
    return dt == LAC_F64 ? fn(double()) : with_type(dt, fn);
}

/* 2^e for e from -126 to 127. */
__device__ inline float power_of_two(int e)
{
    return __int_as_float((127 + e) << 23);
}

/* Two floats as so many bf16 each, hi above, lo below: the nearest one, then the nearest of what is left. The
 * sum of three is the float, unless one of them is subnormal; an Inf or NaN leaves NaN. */
template <int kSplits> __device__ inline void split_bf16(float lo, float hi, uint32_t (&split)[kSplits])
{
#pragma unroll
    for (int p = 0; p < kSplits; p++) {
        split[p] = nearest_bf16(lo, hi);
        lo -= __uint_as_float(split[p] << 16);
        hi -= __uint_as_float(split[p] & 0xffff0000u);
    }
}

/* An element of an operand as a factor: a byte is an event, which counts 1. */
__device__ inline float event_value(float x)
{
    return x;
}
__device__ inline double event_value(double x)
{
    return x;
}
__device__ inline float event_value(uint8_t x)
{
    return x ? 1.0f : 0.0f;
}
__device__ inline float event_value(F16 x)
{
    return f16_value(x.bits);
}
__device__ inline float event_value(BF16 x)
{
    return __uint_as_float((uint32_t)x.bits << 16);
}

template <typename T> __device__ inline T load_read_only(const T *p)
{
    return __ldg(p);
}
template <lac_dt_t kType> __device__ inline Half<kType> load_read_only(const Half<kType> *p)
{
    Half<kType> x;
    x.bits = __ldg(&p->bits);
    return x;
}

/* The number of type T that is nearest to x. */
template <typename T> __device__ inline T nearest(Sum<T> x);
template <> __device__ inline double nearest<double>(double x)
{
    return x;
}
template <> __device__ inline float nearest<float>(float x)
{
    return x;
}
template <> __device__ inline F16 nearest<F16>(float x)
{
    F16 y;
    y.bits = nearest_f16(x);
    return y;
}
template <> __device__ inline BF16 nearest<BF16>(float x)
{
    BF16 y;
    y.bits = (uint16_t)nearest_bf16(x, 0.0f);
    return y;
}

/* ... and those nearest to two, hi above, lo below. */
__device__ inline uint32_t nearest_pair(F16, float lo, float hi)
{
    return nearest_f16_pair(lo, hi);
}
__device__ inline uint32_t nearest_pair(BF16, float lo, float hi)
{
    return nearest_bf16(lo, hi);
}

/* Four elements as they were loaded, so that they take no more registers than bytes. kTogether: at once, they
 * lie side by side; else `step` apart, the first kWarp * c < live of them. */
template <bool kTogether, typename T> struct Loaded {
    T x[4];
    __device__ void load(const T *p, int64_t step, int live)
    {
#pragma unroll
        for (int c = 0; c < 4; c++) {
            x[c] = T(0);
            if (32 * c < live) x[c] = load_read_only(p + c * step);
        }
    }
    __device__ Sum<T> at(int c) const
    {
        return event_value(x[c]);
    }
};
template <> struct Loaded<true, float> {
    float4 x;
    __device__ void load(const float *p, int64_t, int live)
    {
        x = make_float4(0, 0, 0, 0);
        if (live > 0) x = __ldg((const float4 *)p);
    }
    __device__ float at(int c) const { return c == 0 ? x.x : c == 1 ? x.y : c == 2 ? x.z : x.w; }
};
template <> struct Loaded<true, double> {
    double2 low, high;
    __device__ void load(const double *p, int64_t, int live)
    {
        low = high = make_double2(0, 0);
        if (live > 0) low = __ldg((const double2 *)p), high = __ldg((const double2 *)p + 1);
    }
    __device__ double at(int c) const { return c == 0 ? low.x : c == 1 ? low.y : c == 2 ? high.x : high.y; }
};
template <lac_dt_t kType> struct Loaded<true, Half<kType>> {
    uint2 x;
    __device__ void load(const Half<kType> *p, int64_t, int live)
    {
        x = make_uint2(0, 0);
        if (live > 0) x = __ldg((const uint2 *)p);
    }
    __device__ float at(int c) const
    {
        const uint32_t two = c < 2 ? x.x : x.y;
        Half<kType> one;
        one.bits = (uint16_t)(c % 2 ? two >> 16 : two);
        return event_value(one);
    }
};

/* One of the elements in a word: the lower one, the upper one, if there are two. */
__device__ inline float element_of(float, uint32_t word, int)
{
    return __uint_as_float(word);
}
__device__ inline float element_of(F16, uint32_t word, int upper)
{
    return f16_value((uint16_t)(upper ? word >> 16 : word));
}
__device__ inline float element_of(BF16, uint32_t word, int upper)
{
    return __uint_as_float(upper ? word & 0xffff0000u : word << 16);
}

/* Sixteen bytes of elements that lie side by side, as they were loaded. */
template <typename T> struct Sixteen {
    static constexpr int kCount = 16 / (int)sizeof(T);
    uint4 x;
    __device__ void load(const T *p, bool live)
    {
        x = make_uint4(0, 0, 0, 0);
        if (live) x = __ldg((const uint4 *)p);
    }
    __device__ float at(int c) const
    {
        const int word = c * (int)sizeof(T) / 4;
        const uint32_t bits = word == 0 ? x.x : word == 1 ? x.y : word == 2 ? x.z : x.w;
        return element_of(T(), bits, c % 2);
    }
};

/* Stores four elements, each rounded to its type, sixteen bytes at once. */
__device__ inline void store_quad(double *at, const double (&x)[4])
{
    *(double2 *)at = make_double2(x[0], x[1]);
    *((double2 *)at + 1) = make_double2(x[2], x[3]);
}
__device__ inline void store_quad(float *at, const float (&x)[4])
{
    *(float4 *)at = make_float4(x[0], x[1], x[2], x[3]);
}
template <lac_dt_t kType> __device__ inline void store_quad(Half<kType> *at, const float (&x)[4])
{
    uint32_t bits[4];
#pragma unroll
    for (int c = 0; c < 4; c++) bits[c] = nearest<Half<kType>>(x[c]).bits;
    *(uint2 *)at = make_uint2(bits[1] << 16 | bits[0], bits[3] << 16 | bits[2]);
}

/* Where sums go that are of elements of type T: rounded once, to T, or as they are. Pairs and quads lie side
 * by side, at an address that is a multiple of their size. */
template <typename T> struct Output {
    void *base;
    bool f32;

    __device__ float load(int64_t at) const
    {
        return f32 ? ((const float *)base)[at] : event_value(((const T *)base)[at]);
    }
    __device__ void store(int64_t at, float x) const
    {
        if (f32)
            ((float *)base)[at] = x;
        else
            ((T *)base)[at] = nearest<T>(x);
    }
    __device__ float2 load_pair(int64_t at) const
    {
        if (f32) return *(const float2 *)((const float *)base + at);
        const uint32_t both = *(const uint32_t *)((const T *)base + at);
        return make_float2(element_of(T(), both, 0), element_of(T(), both, 1));
    }
    __device__ void store_pair(int64_t at, float2 x) const
    {
        if (f32)
            *(float2 *)((float *)base + at) = x;
        else
            *(uint32_t *)((T *)base + at) = nearest_pair(T(), x.x, x.y);
    }
    __device__ void load_quad(int64_t at, float (&x)[4]) const
    {
        const float2 low = load_pair(at), high = load_pair(at + 2);
        x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
    }
    __device__ void store_quad(int64_t at, const float (&x)[4]) const
    {
        if (f32)
            lacuna::store_quad((float *)base + at, x);
        else
            lacuna::store_quad((T *)base + at, x);
    }
};
template <> struct Output<float> {
    float *base;
    __device__ float load(int64_t at) const { return base[at]; }
    __device__ void store(int64_t at, float x) const { base[at] = x; }
    __device__ float2 load_pair(int64_t at) const { return *(const float2 *)(base + at); }
    __device__ void store_pair(int64_t at, float2 x) const { *(float2 *)(base + at) = x; }
    __device__ void load_quad(int64_t at, float (&x)[4]) const
    {
        const float4 q = *(const float4 *)(base + at);
        x[0] = q.x, x[1] = q.y, x[2] = q.z, x[3] = q.w;
    }
    __device__ void store_quad(int64_t at, const float (&x)[4]) const { lacuna::store_quad(base + at, x); }
};

} // namespace lacuna
#endif
