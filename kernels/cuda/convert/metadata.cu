/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Builds what is known of a dense operand's zeros: counts, probe, CSR, occupancy bits, active list. */
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "event/gather.cuh"
#include "row_sums.cuh"

namespace lacuna
{
namespace
{

constexpr int kWarps = 8;
constexpr int kRounds = 4;                    /* 128-element loads in flight per warp */
constexpr int kPass = kWarps * kRounds * 128; /* elements of a row per block and pass */
constexpr int kActiveK = 256;                 /* k per block of the active marks      */
constexpr int64_t kGridRows = 65535;          /* grid.y has no more                   */

struct MetaArgs {
    const void *s;
    int64_t rs, cs;
    int m, k;
    bool quads;
    int64_t *count;     /* [m], or the single counter of a probe */
    const int64_t *ptr; /* NULL: rows are apart, each with room for all elements */
    int64_t *ends;      /* ... [2 m]                                              */
    int *idx;
    void *val;
    uint64_t *bits;
    int64_t words, samples;
    uint64_t seed;
    uint8_t *flags;
};

template <typename T> __device__ ScanRow<T> scan_row(const MetaArgs &a, int row)
{
    return {(const T *)a.s + row * a.rs, a.cs, a.quads};
}

/* One block per row. Bytes: S once. */
template <typename T>
__global__ __launch_bounds__(kWarps *kWarp) void count_rows(const __grid_constant__ MetaArgs a)
{
    __shared__ int counts[kWarps];
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const ScanRow<T> s = scan_row<T>(a, blockIdx.x);
    int count = 0;
    for (int base = 0; base < a.k; base += kPass) {
        T x[kRounds][4];
        count += scan_load_count(x, s, base + warp * kRounds * 128, a.k, lane);
    }
    count = __reduce_add_sync(kFull, count);
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    if (threadIdx.x) return;
    int64_t total = 0;
    for (int w = 0; w < kWarps; w++) total += counts[w];
    a.count[blockIdx.x] = total;
}

/* One block per row: warps count their part of a pass, then write behind the warps before them.
 * Bytes: S once; 8 per nonzero. */
template <typename T, typename V>
__global__ __launch_bounds__(kWarps *kWarp) void fill_rows(const __grid_constant__ MetaArgs a)
{
    constexpr int kHeld = kRounds * 128 * (int)sizeof(Event) / (int)sizeof(EventOf<V>);
    constexpr int kRoundsHeld = kHeld / 128; /* what 48 KiB of shared memory hold */
    constexpr int kStep = kWarps * kHeld;
    __shared__ EventOf<V> queues[kWarps][kHeld];
    __shared__ int counts[kWarps];
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const ScanRow<T> s = scan_row<T>(a, blockIdx.x);
    const int64_t row = blockIdx.x;
    dependency_wait();
    dependents_launch();
    int64_t row_end = a.ptr ? a.ptr[row] : row * a.k;
    for (int base = 0; base < a.k; base += kStep) {
        const int from = base + warp * kHeld;
        T x[kRoundsHeld][4];
        scan_load_count(x, s, from, a.k, lane);
        int count = 0;
#pragma unroll
        for (int q = 0; q < kRoundsHeld; q++)
            count += scan_pack(x[q], s.quads, from + 128 * q, queues[warp] + count, lane);
        if (lane == 0) counts[warp] = count;
        __syncthreads();
        int64_t at = row_end;
        for (int w = 0; w < kWarps; w++) {
            if (w < warp) at += counts[w];
            row_end += counts[w];
        }
        for (int e = lane; e < count; e += kWarp) {
            a.idx[at + e] = queues[warp][e].k;
            if (a.val) ((V *)a.val)[at + e] = queues[warp][e].v;
        }
        __syncthreads();
    }
    if (a.ends && threadIdx.x == 0) a.ends[2 * row] = row * a.k, a.ends[2 * row + 1] = row_end;
}

/* One warp per word, and per row or every kGridRows-th row: lane l tests k = 64 word + l and the one 32
 * further. */
template <typename T> __global__ void fill_bits(const __grid_constant__ MetaArgs a)
{
    const int lane = threadIdx.x % kWarp;
    const int64_t word = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
    if (word >= a.words) return;
    const int64_t k = word * 64 + lane;
    for (int64_t row = blockIdx.y; row < a.m; row += gridDim.y) {
        const T *s = (const T *)a.s + row * a.rs;
        const unsigned low = __ballot_sync(kFull, k < a.k && s[k * a.cs] != T(0));
        const unsigned high = __ballot_sync(kFull, k + 32 < a.k && s[(k + 32) * a.cs] != T(0));
        if (lane == 0) a.bits[row * a.words + word] = (uint64_t)high << 32 | low;
    }
}

/* One block; sample t lies at row and column of a two-dimensional additive (golden-ratio) sequence. */
template <typename T> __global__ void probe(const __grid_constant__ MetaArgs a)
{
    __shared__ int counts[kWarp];
    int count = 0;
    for (int64_t t = threadIdx.x; t < a.samples; t += blockDim.x) {
        const uint64_t x = a.seed + (uint64_t)t * 0xc13fa9a902a6328full;      /* 2^64 / 1.3247..   */
        const uint64_t y = a.seed * 31 + (uint64_t)t * 0x91e10da5c79e7b1cull; /* 2^64 / 1.3247..^2 */
        const int64_t row = (int64_t)__umul64hi(x, (uint64_t)a.m), k = (int64_t)__umul64hi(y, (uint64_t)a.k);
        count += ((const T *)a.s)[row * a.rs + k * a.cs] != T(0);
    }
    count = __reduce_add_sync(kFull, count);
    if (threadIdx.x % kWarp == 0) counts[threadIdx.x / kWarp] = count;
    __syncthreads();
    if (threadIdx.x >= kWarp) return;
    count = threadIdx.x < blockDim.x / kWarp ? counts[threadIdx.x] : 0;
    count = __reduce_add_sync(kFull, count);
    if (threadIdx.x == 0) *a.count = count;
}

/* One thread per k, over all rows. Fast where S lies k-contiguous; right for any strides. */
template <typename T>
__global__ __launch_bounds__(kActiveK) void mark_active(const __grid_constant__ MetaArgs a)
{
    const int64_t k = (int64_t)blockIdx.x * kActiveK + threadIdx.x;
    if (k >= a.k) return;
    const T *s = (const T *)a.s + k * a.cs;
    bool any = false;
#pragma unroll 8
    for (int i = 0; i < a.m; i++) any |= s[i * a.rs] != T(0);
    a.flags[k] = any;
}

MetaArgs make_args(int64_t m, int64_t k, const lac_cuda_dense_t *s)
{
    MetaArgs a = {};
    a.s = s->data, a.rs = s->rs, a.cs = s->cs, a.m = (int)m, a.k = (int)k;
    a.quads = scans_quads(s, k);
    return a;
}

Launch plain(dim3 grid, unsigned threads, lac_cuda_stream_t stream)
{
    return {grid, dim3(threads), 0, 1, false, (cudaStream_t)stream};
}

lac_status_t count_rows_of(const MetaArgs &a, lac_dt_t dt, lac_cuda_stream_t stream)
{
    const Launch l = plain(dim3(unsigned(a.m)), kWarps * kWarp, stream);
    return with_wide_type(dt, [&](auto x) { return launch(count_rows<decltype(x)>, l, a); });
}

/* Values of type dt. */
lac_status_t fill_rows_of(int64_t m, int64_t k, const lac_cuda_dense_t *s, const int64_t *ptr, int64_t *ends,
                          int32_t *idx, lac_dt_t dt, void *val, lac_cuda_stream_t stream)
{
    if (!fits(m) || !fits(k)) return LAC_ERR_EXTENT;
    if (m == 0) return LAC_OK;
    MetaArgs a = make_args(m, k, s);
    a.ptr = ptr, a.ends = ends, a.idx = idx, a.val = val;
    Launch l = plain(dim3(unsigned(a.m)), kWarps * kWarp, stream);
    l.programmatic = true;
    if (dt == LAC_F64)
        return s->dt == LAC_U8 ? launch(fill_rows<uint8_t, double>, l, a)
                               : launch(fill_rows<double, double>, l, a);
    return with_type(s->dt, [&](auto x) { return launch(fill_rows<decltype(x), float>, l, a); });
}

size_t select_bytes(int64_t k)
{
    size_t bytes = 0;
    cub::DeviceSelect::Flagged(nullptr, bytes, thrust::counting_iterator<int32_t>(0), (uint8_t *)nullptr,
                               (int32_t *)nullptr, (int64_t *)nullptr, k);
    return bytes;
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_count_rows(int64_t m, int64_t k, const lac_cuda_dense_t *s, int64_t *count,
                                            lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(m) || !fits(k)) return LAC_ERR_EXTENT;
    if (m == 0) return LAC_OK;
    MetaArgs a = make_args(m, k, s);
    a.count = count;
    return count_rows_of(a, s->dt, stream);
}

extern "C" lac_status_t lac_cuda_probe(int64_t m, int64_t k, const lac_cuda_dense_t *s, int64_t samples,
                                       uint64_t seed, int64_t *count, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(m) || !fits(k)) return LAC_ERR_EXTENT;
    MetaArgs a = make_args(m, k, s);
    a.count = count, a.samples = m && k ? samples : 0, a.seed = seed;
    const Launch l = plain(dim3(1), 1024, stream);
    return with_wide_type(s->dt, [&](auto x) { return launch(probe<decltype(x)>, l, a); });
}

extern "C" int64_t lac_cuda_csr_bytes(int64_t m)
{
    return lacuna::row_sums_bytes(m);
}

extern "C" lac_status_t lac_cuda_csr_ptr(int64_t m, int64_t k, const lac_cuda_dense_t *s, int64_t *ptr,
                                         void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(m) || !fits(k)) return LAC_ERR_EXTENT;
    cudaStream_t q = (cudaStream_t)stream;
    if (cudaMemsetAsync(ptr, 0, sizeof(int64_t), q) != cudaSuccess) return LAC_ERR_VENDOR;
    if (m == 0) return LAC_OK;
    MetaArgs a = make_args(m, k, s);
    a.count = (int64_t *)workspace;
    const lac_status_t status = count_rows_of(a, s->dt, stream);
    return status == LAC_OK ? sum_rows(m, workspace, ptr, stream) : status;
}

extern "C" lac_status_t lac_cuda_csr_fill(int64_t m, int64_t k, const lac_cuda_dense_t *s, const int64_t *ptr,
                                          int32_t *idx, lac_dt_t dt, void *val, lac_cuda_stream_t stream)
{
    return lacuna::fill_rows_of(m, k, s, ptr, nullptr, idx, dt, val, stream);
}

extern "C" lac_status_t lac_cuda_csr_rows(int64_t m, int64_t k, const lac_cuda_dense_t *s, int64_t *ptr,
                                          int32_t *idx, lac_dt_t dt, void *val, lac_cuda_stream_t stream)
{
    return lacuna::fill_rows_of(m, k, s, nullptr, ptr, idx, dt, val, stream);
}

extern "C" lac_status_t lac_cuda_fill_bits(int64_t m, int64_t k, const lac_cuda_dense_t *s, uint64_t *bits,
                                           lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(m) || !fits(k)) return LAC_ERR_EXTENT;
    if (m == 0 || k == 0) return LAC_OK;
    MetaArgs a = make_args(m, k, s);
    a.bits = bits, a.words = ceil_div(k, 64);
    const Launch l =
        plain(dim3(unsigned(ceil_div(a.words, 8)), unsigned(min(m, kGridRows))), 8 * kWarp, stream);
    return with_wide_type(s->dt, [&](auto x) { return launch(fill_bits<decltype(x)>, l, a); });
}

extern "C" int64_t lac_cuda_active_bytes(int64_t k)
{
    using namespace lacuna;
    return round_up(k, 256) + round_up((int64_t)select_bytes(k), 256);
}

extern "C" lac_status_t lac_cuda_active_list(int64_t m, int64_t k, const lac_cuda_dense_t *s, int32_t *active,
                                             int64_t *count, void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(m) || !fits(k)) return LAC_ERR_EXTENT;
    cudaStream_t q = (cudaStream_t)stream;
    if (k == 0) return cudaMemsetAsync(count, 0, sizeof(int64_t), q) == cudaSuccess ? LAC_OK : LAC_ERR_VENDOR;
    MetaArgs a = make_args(m, k, s);
    a.flags = (uint8_t *)workspace;
    const Launch l = plain(dim3(unsigned(ceil_div(k, kActiveK))), kActiveK, stream);
    const lac_status_t status =
        with_wide_type(s->dt, [&](auto x) { return launch(mark_active<decltype(x)>, l, a); });
    if (status != LAC_OK) return status;
    size_t bytes = select_bytes(k);
    void *temporary = (char *)workspace + round_up(k, 256);
    return cub::DeviceSelect::Flagged(temporary, bytes, thrust::counting_iterator<int32_t>(0), a.flags,
                                      active, count, k, q) == cudaSuccess
               ? LAC_OK
               : LAC_ERR_VENDOR;
}
