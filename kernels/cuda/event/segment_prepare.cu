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

constexpr int kBitThreads = 256;
constexpr int kBitWarps = kBitThreads / kWarp;
constexpr int kFreeOf = 4; /* multiprocessors for each block that may come early */

struct BitArgs {
    const void *s;
    int64_t rs, cs;
    int k, words;
    uint32_t *bits;
};

/* The bits of S, and zeros up to the end of each row's last sector: a warp eight words, all loads in flight.
 */
template <typename T>
__global__ __launch_bounds__(kBitThreads) void event_bits(const __grid_constant__ BitArgs a)
{
    dependency_wait();
    dependents_launch();
    const int lane = threadIdx.x % kWarp, unit = int(blockIdx.x) * kBitWarps + threadIdx.x / kWarp;
    if (unit * kUnitWords >= a.words) return;
    const T *row = (const T *)a.s + blockIdx.y * a.rs;
    T x[kUnitWords];
#pragma unroll
    for (int u = 0; u < kUnitWords; u++) {
        const int64_t k = ((int64_t)unit * kUnitWords + u) * 32 + lane;
        x[u] = k < a.k ? row[k * a.cs] : T(0);
    }
    uint32_t mine = 0;
#pragma unroll
    for (int u = 0; u < kUnitWords; u++) {
        const unsigned word = __ballot_sync(kFull, x[u] != T(0));
        if (lane == u) mine = word;
    }
    if (lane < kUnitWords) a.bits[(int64_t)blockIdx.y * a.words + unit * kUnitWords + lane] = mine;
}

struct PointerArgs {
    int64_t k;
    int ranges, width;
    lac_cuda_csr_t w;
    uint16_t *first;
    int *expected; /* behind them */
};

/* first[k][r]: the entries of row k before column r * width, up to kFar. */
__global__ __launch_bounds__(kBitThreads) void segment_pointers(const __grid_constant__ PointerArgs a)
{
    const int64_t per_row = a.ranges + 1, all = a.k * per_row, step = (int64_t)gridDim.x * kBitThreads;
    for (int64_t t = (int64_t)blockIdx.x * kBitThreads + threadIdx.x; t < all; t += step) {
        const int64_t before = entries_before(a.w, t / per_row, 0, t % per_row * a.width);
        a.first[t] = (uint16_t)min((int64_t)kFar, before);
        if (t == 0) *a.expected = 0;
    }
}

} // namespace

lac_status_t queue_event_bits(const lac_cuda_dense_t *s, int64_t m, int64_t k, uint32_t *bits,
                              cudaStream_t stream)
{
    const BitArgs a = {s->data, s->rs, s->cs, (int)k, bit_words(k), bits};
    const int64_t across = ceil_div(a.words, kBitWarps * kUnitWords);
    /* Blocks that come before the launch before has ended crowd where that has left multiprocessors free. */
    const bool chained = across * m <= current_device().sms / kFreeOf;
    const Launch l = {dim3(unsigned(across), unsigned(m)), dim3(kBitThreads), 0, 1, chained, stream};
    return s->dt == LAC_U8 ? launch(event_bits<uint8_t>, l, a) : launch(event_bits<float>, l, a);
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
    return launch(segment_pointers, grid_stride(ceil_div(k * (ranges + 1), kBitThreads), kBitThreads, stream),
                  a);
}
