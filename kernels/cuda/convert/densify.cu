/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sparse formats written into a zeroed dense matrix, for routes that need every element, and the values of a
 * format. */
#include "cuda_support.h"
#include "common/device.cuh"

namespace lacuna
{
namespace
{

constexpr int kDensifyThreads = 256;
constexpr int kDensifyWarps = kDensifyThreads / kWarp;

struct DensifyArgs {
    int64_t majors, minors, words, major_stride, minor_stride;
    const int64_t *ptr;
    const int32_t *idx;
    const uint64_t *bits;
    const void *val;
    void *out;
};

/* A warp per major; V: of the values. */
template <typename V>
__global__ __launch_bounds__(kDensifyThreads) void densify_compressed(const DensifyArgs a)
{
    const int lane = threadIdx.x % kWarp;
    for (int64_t i = (int64_t)blockIdx.x * kDensifyWarps + threadIdx.x / kWarp; i < a.majors;
         i += (int64_t)gridDim.x * kDensifyWarps)
        for (int64_t p = a.ptr[i] + lane; p < a.ptr[i + 1]; p += kWarp)
            ((V *)a.out)[i * a.major_stride + a.idx[p] * a.minor_stride] =
                a.val ? ((const V *)a.val)[p] : V(1);
}

template <typename V> __global__ __launch_bounds__(kDensifyThreads) void densify_bits(const DensifyArgs a)
{
    const int lane = threadIdx.x % kWarp;
    for (int64_t i = (int64_t)blockIdx.x * kDensifyWarps + threadIdx.x / kWarp; i < a.majors;
         i += (int64_t)gridDim.x * kDensifyWarps) {
        int64_t at = a.ptr[i];
        for (int64_t w = 0; w < a.words; w++) {
            const uint64_t word = a.bits[i * a.words + w];
            for (int half = 0; half < 2; half++) {
                const unsigned bits = (unsigned)(word >> (32 * half));
                if (bits >> lane & 1)
                    ((V *)a.out)[i * a.major_stride + (64 * w + 32 * half + lane) * a.minor_stride] =
                        ((const V *)a.val)[at + __popc(bits & lanes_below(lane))];
                at += __popc(bits);
            }
        }
    }
}

template <typename V> __global__ __launch_bounds__(kDensifyThreads) void densify_active(const DensifyArgs a)
{
    const int64_t count = a.majors * a.minors, step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; t < count; t += step)
        ((V *)a.out)[t % a.majors * a.major_stride + a.idx[t / a.majors] * a.minor_stride] =
            ((const V *)a.val)[t];
}

struct ValuesArgs {
    const void *x;
    int64_t m, count, rs, cs;
    const int32_t *idx;
    void *val;
};

template <typename T, typename V>
__global__ __launch_bounds__(kDensifyThreads) void active_values(const ValuesArgs a)
{
    const int64_t count = a.m * a.count, step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; t < count; t += step)
        ((V *)a.val)[t] = event_value(((const T *)a.x)[t % a.m * a.rs + a.idx[t / a.m] * a.cs]);
}

template <typename From, typename To> struct RetypeArgs {
    int64_t count;
    const From *from;
    To *to;
};

/* Row pointers of another width. */
template <typename From, typename To>
__global__ __launch_bounds__(kDensifyThreads) void retype(const RetypeArgs<From, To> a)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step)
        a.to[i] = (To)a.from[i];
}

struct FillArgs {
    int64_t count;
    float value;
    float *out;
};

__global__ __launch_bounds__(kDensifyThreads) void fill(const FillArgs a)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step)
        a.out[i] = a.value;
}

template <typename From, typename To>
lac_status_t launch_retype(int64_t count, const From *from, To *to, lac_cuda_stream_t stream)
{
    const RetypeArgs<From, To> a = {count, from, to};
    return launch(retype<From, To>, grid_stride(ceil_div(count, kDensifyThreads), kDensifyThreads, stream),
                  a);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_densify_compressed(int64_t majors, const int64_t *ptr, const int32_t *idx,
                                                    lac_dt_t dt, const void *val, void *out,
                                                    int64_t major_stride, int64_t minor_stride,
                                                    lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const DensifyArgs a = {majors, 0, 0, major_stride, minor_stride, ptr, idx, nullptr, val, out};
    const Launch l = grid_stride(ceil_div(majors, kDensifyWarps), kDensifyThreads, stream);
    return dt == LAC_F64 ? launch(densify_compressed<double>, l, a) : launch(densify_compressed<float>, l, a);
}

extern "C" lac_status_t lac_cuda_densify_bits(int64_t majors, int64_t minors, const uint64_t *bits,
                                              const int64_t *first, lac_dt_t dt, const void *val, void *out,
                                              int64_t major_stride, int64_t minor_stride,
                                              lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const DensifyArgs a = {
        majors, minors, ceil_div(minors, 64), major_stride, minor_stride, first, nullptr, bits, val, out};
    const Launch l = grid_stride(ceil_div(majors, kDensifyWarps), kDensifyThreads, stream);
    return dt == LAC_F64 ? launch(densify_bits<double>, l, a) : launch(densify_bits<float>, l, a);
}

extern "C" lac_status_t lac_cuda_densify_active(int64_t m, int64_t count, const int32_t *idx, lac_dt_t dt,
                                                const void *val, void *out, int64_t rs, int64_t cs,
                                                lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const DensifyArgs a = {m, count, 0, rs, cs, nullptr, idx, nullptr, val, out};
    const Launch l = grid_stride(ceil_div(m * count, kDensifyThreads), kDensifyThreads, stream);
    return dt == LAC_F64 ? launch(densify_active<double>, l, a) : launch(densify_active<float>, l, a);
}

extern "C" lac_status_t lac_cuda_active_values(const lac_cuda_matrix_t *x, int64_t count, const int32_t *idx,
                                               lac_dt_t dt, void *val, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const ValuesArgs a = {x->data, x->rows, count, x->rs, x->cs, idx, val};
    const Launch l = grid_stride(ceil_div(x->rows * count, kDensifyThreads), kDensifyThreads, stream);
    if (dt == LAC_F64)
        return x->dt == LAC_U8 ? launch(active_values<uint8_t, double>, l, a)
                               : launch(active_values<double, double>, l, a);
    return with_type(x->dt, [&](auto e) { return launch(active_values<decltype(e), float>, l, a); });
}

extern "C" lac_status_t lac_cuda_narrow(int64_t count, const int64_t *from, int32_t *to,
                                        lac_cuda_stream_t stream)
{
    using namespace lacuna;
    return launch_retype(count, from, to, stream);
}

extern "C" lac_status_t lac_cuda_widen(int64_t count, const int32_t *from, int64_t *to,
                                       lac_cuda_stream_t stream)
{
    using namespace lacuna;
    return launch_retype(count, from, to, stream);
}

extern "C" lac_status_t lac_cuda_fill(int64_t count, float value, float *out, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const FillArgs a = {count, value, out};
    return launch(fill, grid_stride(ceil_div(count, kDensifyThreads), kDensifyThreads, stream), a);
}
