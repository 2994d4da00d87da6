/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What is made ready for products by segments: the segment pointers of W's pattern, once, and the bits of a
 * dense S. */
#include "segments.cuh"

namespace lacuna
{
namespace
{

constexpr int kMinWidth = 128; /* columns of a range   */
constexpr int kMinEntries = 4; /* of a mean segment    */

constexpr int kPointerThreads = 256;

constexpr int kBitThreads = 256;
constexpr int kBitShared = 80 << 10; /* of which two find room on a multiprocessor */

struct BitArgs {
    DenseRows s;
    int octets; /* of a row of bits */
    uint8_t *bits;
};

/* The bits of S, and zeros up to the end of each row's last unit of words. Grid (blocks that take octets in
 * turn, rows). Blocks come while the product before still runs, and those of the product behind while these
 * do; their shared memory keeps them from crowding on the multiprocessors that a product leaves free. */
template <typename T>
__global__ __launch_bounds__(kBitThreads) void event_bits(const __grid_constant__ BitArgs a)
{
    dependents_launch();
    dependency_wait();
    const int threads = (int)gridDim.x * kBitThreads, i = (int)blockIdx.y;
    uint8_t *const row = a.bits + (int64_t)i * a.octets;
    for (int t0 = 0; t0 < a.octets; t0 += kOctets * threads) {
        const int t = t0 + (int)blockIdx.x * kBitThreads + (int)threadIdx.x;
        const uint32_t word =
            scan_octets<T>(a.s, i, (int64_t)t * kOctet, threads * kOctet, a.octets - t0, threads, [] {});
#pragma unroll
        for (int u = 0; u < kOctets; u++)
            if (t + u * threads < a.octets) row[t + u * threads] = (uint8_t)(word >> u * kOctet);
    }
}

struct PointerArgs {
    int64_t k;
    int ranges, width;
    lac_cuda_csr_t w;
    uint16_t *first;
    int *expected; /* behind them */
};

/* first[k][r]: the entries of row k before column r * width, up to kFar. */
__global__ __launch_bounds__(kPointerThreads) void segment_pointers(const __grid_constant__ PointerArgs a)
{
    const int64_t per_row = a.ranges + 1, all = a.k * per_row, step = (int64_t)gridDim.x * kPointerThreads;
    for (int64_t t = (int64_t)blockIdx.x * kPointerThreads + threadIdx.x; t < all; t += step) {
        const int64_t before = entries_before(a.w, t / per_row, 0, t % per_row * a.width);
        a.first[t] = (uint16_t)min((int64_t)kFar, before);
        if (t == 0) *a.expected = 0;
    }
}

} // namespace

lac_status_t queue_event_bits(const DenseRows &s, int64_t m, bool bytes, uint32_t *bits, cudaStream_t stream)
{
    const BitArgs a = {s, bit_words(s.k) * kOctets, (uint8_t *)bits};
    const int64_t across = min(ceil_div(a.octets, kBitThreads), max<int64_t>(1, current_device().sms / m));
    const Launch l = {dim3(unsigned(across), unsigned(m)), dim3(kBitThreads), kBitShared, 1, true, stream};
    return bytes ? launch(event_bits<uint8_t>, l, a) : launch(event_bits<float>, l, a);
}

} // namespace lacuna

extern "C" int64_t lac_cuda_segments_width(int64_t k, int64_t n, int64_t nnz)
{
    using namespace lacuna;
    if (!fits(k) || !fits(n) || k == 0 || n == 0) return 0;
    const Device device = current_device();
    const int64_t columns =
        (device.shared - (int64_t)kFinding) / (2 * (int64_t)sizeof(float)) / kGrain * kGrain;
    const int64_t width_max = min<int64_t>(kMaxWidth, columns);
    const int64_t by_width = ceil_div(n, kMinWidth), by_entries = max<int64_t>(1, nnz / k / kMinEntries);
    int64_t ranges =
        max(min<int64_t>(clustered_blocks(device), min(by_width, by_entries)), ceil_div(n, width_max));
    const auto width_of = [&](int64_t count) { return min(width_max, round_up(ceil_div(n, count), kGrain)); };
    const auto is_small = [&](int64_t width) {
        return lac_cuda_segments_bytes(k, n, width) <= nnz + (2 << 20); /* an eighth of W and a little */
    };
    /* Where terms are added, clusters have a range or several each, all of them as many. */
    const int64_t even = round_up(ranges, clusters_at_once(device));
    if (width_of(ranges) > copied_columns(device) && is_small(width_of(even))) ranges = even;
    return is_small(width_of(ranges)) ? width_of(ranges) : 0;
}

extern "C" int64_t lac_cuda_segments_bytes(int64_t k, int64_t n, int64_t width)
{
    using namespace lacuna;
    return round_up((int64_t)sizeof(uint16_t) * k * (ceil_div(n, width) + 1), (int64_t)sizeof(int)) +
           (int64_t)sizeof(int);
}

extern "C" lac_status_t lac_cuda_segment_pointers(int64_t k, int64_t n, int64_t width,
                                                  const lac_cuda_csr_t *w, uint16_t *first,
                                                  lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(k) || !fits(n)) return LAC_ERR_EXTENT;
    if (k == 0 || n == 0) return LAC_OK;
    const int ranges = (int)ceil_div(n, width);
    const PointerArgs a = {k, ranges, (int)width, *w, first, behind_pointers(first, k, n, width)};
    return launch(segment_pointers,
                  grid_stride(ceil_div(k * (ranges + 1), kPointerThreads), kPointerThreads, stream), a);
}
