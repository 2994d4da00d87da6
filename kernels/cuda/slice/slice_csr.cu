/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Picked rows of a CSR matrix as CSR: row pointers by a scan of the rows' lengths, then the entries. */
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "row_indices.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

/* Entries of the slice's row i; none behind the last. */
struct LengthOf {
    lac_cuda_slice_t s;
    __device__ int64_t operator()(int64_t i) const
    {
        if (i >= s.count) return 0;
        const int64_t row = pick(s, i);
        if (s.bad && !is_row(s, row)) report_bad(s.bad, i, row);
        const Entries e = entries_of(s, row);
        return e.end - e.begin;
    }
};

using Lengths = thrust::transform_iterator<LengthOf, thrust::counting_iterator<int64_t>, int64_t>;

Lengths lengths_of(const lac_cuda_slice_t *s)
{
    return Lengths(thrust::counting_iterator<int64_t>(0), LengthOf{*s});
}

size_t scan_bytes(int64_t count)
{
    size_t bytes = 0;
    const lac_cuda_slice_t none = {};
    cub::DeviceScan::ExclusiveSum(nullptr, bytes, lengths_of(&none), (int64_t *)nullptr, count + 1);
    return bytes;
}

struct NarrowArgs {
    const int64_t *from;
    int32_t *to;
    int64_t count; /* and one more */
    uint64_t *bad;
};

__global__ __launch_bounds__(kThreads) void narrow_pointers(const __grid_constant__ NarrowArgs a)
{
    const int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    if (i > a.count) return;
    a.to[i] = (int32_t)min<int64_t>(a.from[i], INT32_MAX);
    if (i == a.count && a.from[i] > INT32_MAX) report_bad(a.bad, i, INT32_MAX);
}

struct CopyArgs {
    lac_cuda_slice_t s;
    const void *ptr;
    void *idx;
    float *val;
    uint64_t *bad;
};

/* kUnit threads to a row. Bytes: idx and val, read and written once. */
template <typename T, int kUnit>
__global__ __launch_bounds__(kThreads) void copy_entries(const __grid_constant__ CopyArgs a)
{
    constexpr int kUnits = kThreads / kUnit;
    const int thread = threadIdx.x % kUnit;
    const T *ptr = (const T *)a.ptr;
    const float weight = a.s.val || !a.s.weight ? 1.0f : *a.s.weight;
    for (int64_t i = (int64_t)blockIdx.x * kUnits + threadIdx.x / kUnit; i < a.s.count;
         i += (int64_t)gridDim.x * kUnits) {
        const int64_t row = pick(a.s, i), to = ptr[i];
        const Entries e = entries_of(a.s, row);
        const bool right = ptr[i + 1] - to == e.end - e.begin && (i || to == 0);
        if (thread == 0 && a.s.bad && !is_row(a.s, row)) report_bad(a.s.bad, i, row);
        if (thread == 0 && !right) report_bad(a.bad, i, to);
        for (int64_t p = e.begin + thread; right && p < e.end; p += kUnit) {
            ((T *)a.idx)[to + p - e.begin] = a.s.idx[p];
            if (a.val) a.val[to + p - e.begin] = a.s.val ? a.s.val[p] : weight;
        }
    }
}

template <typename T> lac_status_t launch_copy(const CopyArgs &a, cudaStream_t stream)
{
    const bool blocks = a.s.m && a.s.nnz / a.s.m >= 4 * kThreads; /* long rows */
    const int64_t wanted = blocks ? a.s.count : ceil_div(a.s.count, kWarps);
    const Launch l = {dim3(unsigned(min<int64_t>(wanted, 1 << 20))), dim3(kThreads), 0, 1, false, stream};
    return blocks ? launch(copy_entries<T, kThreads>, l, a) : launch(copy_entries<T, kWarp>, l, a);
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_slice_ptr_bytes(int64_t count)
{
    using namespace lacuna;
    return round_up(8 * (count + 1), 256) + round_up((int64_t)scan_bytes(count), 256);
}

extern "C" lac_status_t lac_cuda_slice_ptr(const lac_cuda_slice_t *s, bool wide, void *ptr, uint64_t *bad,
                                           void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(s->m) || !fits(s->n) || !fits(s->count)) return LAC_ERR_EXTENT;
    cudaStream_t q = (cudaStream_t)stream;
    int64_t *sums = wide ? (int64_t *)ptr : (int64_t *)workspace;
    void *temporary = (char *)workspace + round_up(8 * (s->count + 1), 256);
    size_t bytes = scan_bytes(s->count);
    if (cub::DeviceScan::ExclusiveSum(temporary, bytes, lengths_of(s), sums, s->count + 1, q) != cudaSuccess)
        return LAC_ERR_VENDOR;
    if (wide) return LAC_OK;
    const NarrowArgs a = {sums, (int32_t *)ptr, s->count, bad};
    const Launch l = {dim3(unsigned(ceil_div(s->count + 1, kThreads))), dim3(kThreads), 0, 1, false, q};
    return launch(narrow_pointers, l, a);
}

extern "C" lac_status_t lac_cuda_slice_entries(const lac_cuda_slice_t *s, bool wide, const void *ptr,
                                               void *idx, float *val, uint64_t *bad, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(s->m) || !fits(s->n) || !fits(s->count)) return LAC_ERR_EXTENT;
    if (s->count == 0) return LAC_OK;
    const CopyArgs a = {*s, ptr, idx, val, bad};
    return wide ? launch_copy<int64_t>(a, (cudaStream_t)stream)
                : launch_copy<int32_t>(a, (cudaStream_t)stream);
}
