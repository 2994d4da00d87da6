/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Packs the nonzeros of a dense S into slots: the first of the two launches of a chained event product. */
#include "common/gate.cuh"
#include "pack.cuh"

#include <climits>

namespace lacuna
{
namespace
{

constexpr int kPackRounds = 3;                   /* 128-element loads in flight per warp */
constexpr int kPackElements = 128 * kPackRounds; /* of S, per warp and pass              */
constexpr int kPackWarps = 32;
constexpr int kChunkRows = 16; /* of S, per block of event_pack_chunks */

template <typename V> struct PackArgsOf {
    SlotsOf<V> to;
    const void *s;
    int64_t rs, cs;
    int m, k;
    bool quads;  /* cs == 1, and rows begin and end on 4 elements */
    bool staged; /* chunks only: rs == 1, through shared memory   */
    bool early;  /* see pack_slots                                 */
    const int32_t *list;
    int most; /* nonzero samples of a block of pack_few, beyond which it packs nothing */
};

using PackArgs = PackArgsOf<float>;

/* An element of S for each thread of the grid. */
template <typename T, typename V> __device__ inline T sample(const PackArgsOf<V> &a)
{
    const uint32_t number = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    return ((const T *)a.s)[sampled_place(number, a.m, a.k, a.rs, a.cs)];
}

/* Grid (slots, rows): each warp of a block holds kPackElements in registers, counts, and writes behind the
 * warps before it. Bytes: S once, 8 per event. Deterministic: positions are prefix sums, not atomics. */
template <typename T, typename V, bool kFew>
__global__ __launch_bounds__(kPackWarps *kWarp) void event_pack(const __grid_constant__ PackArgsOf<V> a)
{
    constexpr int kSeen = 16, kCounted = (1 << kSeen) - 1; /* bits of a warp's samples, and of its count */
    static_assert(kPackWarps * kPackElements < 1 << kSeen, "sums of warps fit");
    __shared__ int counts[kPackWarps];
    if (a.early) dependents_launch();
    dependency_wait();
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
    const int slot = blockIdx.x, row = blockIdx.y;
    const int begin = slot * a.to.slice, end = min(begin + a.to.slice, a.k);
    const ScanRow<T> s = {(const T *)a.s + row * a.rs, a.cs, a.quads};
    EventOf<V> *to = a.to.event + (int64_t)row * a.to.pitch + begin;
    int total = 0;
    const T any = kFew ? sample<T>(a) : T(0); /* on its way beside the scan's */
    for (int base = begin; base < end; base += warps * kPackElements) {
        const int from = base + warp * kPackElements;
        T x[kPackRounds][4];
        const int count = __reduce_add_sync(kFull, scan_load_count(x, s, from, end, lane)),
                  seen = kFew && base == begin ? __popc(__ballot_sync(kFull, any != T(0))) : 0;
        if (lane == 0) counts[warp] = count | seen << kSeen;
        __syncthreads();
        const int held = lane < warps ? counts[lane] & (kFew ? kCounted : -1) : 0;
        if (kFew && base == begin) {
            if (__reduce_add_sync(kFull, lane < warps ? counts[lane] >> kSeen : 0) > a.most) {
                total = INT_MAX;
                break;
            }
        }
        EventOf<V> *at = to + total + __reduce_add_sync(kFull, lane < warp ? held : 0);
        total += __reduce_add_sync(kFull, held);
        if (count)
#pragma unroll
            for (int q = 0; q < kPackRounds; q++)
                at += scan_pack(x[q], s.quads, from + 128 * q, at, lane, a.list);
        __syncthreads();
    }
    if (threadIdx.x == 0) a.to.count[row * a.to.slots + slot] = total;
}

/* stage[k - begin][i - i0] = S[i, k] for a group of rows that lie side by side, all loads in flight at once.
 */
template <typename T>
__device__ inline void stage_rows(T *stage, const PackArgs &a, int i0, int begin, int end)
{
    constexpr int kRounds = kChunk / kWarp;
    const int i = threadIdx.x % kChunkRows, k0 = threadIdx.x / kChunkRows;
    const T *from = (const T *)a.s + (i0 + i) * a.rs + (begin + k0) * a.cs;
    T x[kRounds];
#pragma unroll
    for (int u = 0; u < kRounds; u++)
        x[u] = i0 + i < a.m && begin + k0 + u * kWarp < end ? from[u * kWarp * a.cs] : T(0);
#pragma unroll
    for (int u = 0; u < kRounds; u++) stage[(k0 + u * kWarp) * (kChunkRows + 1) + i] = x[u];
}

/* Grid (slots, groups of kChunkRows rows), one warp per row, kChunk k at a time. */
template <typename T>
__global__ __launch_bounds__(kChunkRows *kWarp) void event_pack_chunks(const __grid_constant__ PackArgs a)
{
    static_assert(kChunk == 256, "two scans of 128");
    constexpr int kPitch = kChunkRows + 1;
    __shared__ T stage[kChunk * kPitch];
    dependents_launch();
    dependency_wait();
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int slot = blockIdx.x, i0 = blockIdx.y * kChunkRows, row = i0 + warp;
    const int first = slot * a.to.slice, last = min(first + a.to.slice, a.k);
    Event *to = a.to.event + (int64_t)row * a.to.pitch + first;
    int count = 0;
    for (int begin = first; begin < last; begin += kChunk) {
        const int end = min(begin + kChunk, last);
        ScanRow<T> s = {(const T *)a.s + row * a.rs, a.cs, a.quads};
        if (a.staged) {
            if (begin > first) __syncthreads();
            stage_rows(stage, a, i0, begin, end);
            __syncthreads();
            s = {stage + warp - begin * kPitch, kPitch, false};
        }
        if (row >= a.m) continue;
        T x[2][4];
        scan_load(x[0], s, begin, end, lane);
        scan_load(x[1], s, begin + 128, end, lane);
#pragma unroll
        for (int h = 0; h < 2; h++) count += scan_pack(x[h], s.quads, begin + 128 * h, to + count, lane);
    }
    if (row < a.m && lane == 0) a.to.count[row * a.to.slots + slot] = count;
}

template <typename V>
PackArgsOf<V> make_args(const lac_cuda_dense_t *s, int64_t m, int64_t k, const SlotsOf<V> &slots)
{
    return {slots, s->data, s->rs, s->cs, (int)m, (int)k, scans_quads(s, k), s->rs == 1 && m > 1,
            true,  nullptr, 0};
}

/* For event_pack: a block for each slot. */
template <typename V>
lac_status_t slot_launch(int64_t m, const SlotsOf<V> &slots, cudaStream_t stream, Launch *l)
{
    const int64_t warps = min<int64_t>(kPackWarps, ceil_div(slots.slice, kPackElements));
    *l = {dim3(unsigned(slots.slots), unsigned(m)), dim3(unsigned(warps * kWarp)), 0, 1, true, stream};
    return m > 65535 ? LAC_ERR_EXTENT : LAC_OK;
}

/* The launch, and what its kernel takes but for the type of S. */
template <typename V, typename Run>
lac_status_t pack(const lac_cuda_dense_t *s, int64_t m, int64_t k, const SlotsOf<V> &slots, bool early,
                  cudaStream_t stream, const int32_t *list, Run run)
{
    PackArgsOf<V> a = make_args(s, m, k, slots);
    a.early = early;
    a.list = list;
    Launch l;
    if (const lac_status_t status = slot_launch(m, slots, stream, &l)) return status;
    return run(a, l);
}

} // namespace

lac_status_t pack_slots(const lac_cuda_dense_t *s, int64_t m, int64_t k, const Slots &slots, bool early,
                        cudaStream_t stream, const int32_t *list)
{
    return pack(s, m, k, slots, early, stream, list, [&](const PackArgs &a, const Launch &l) {
        return with_type(s->dt, [&](auto x) { return launch(event_pack<decltype(x), float, false>, l, a); });
    });
}

lac_status_t pack_slots(const lac_cuda_dense_t *s, int64_t m, int64_t k, const SlotsOf<double> &slots,
                        bool early, cudaStream_t stream, const int32_t *list)
{
    return pack(s, m, k, slots, early, stream, list, [&](const PackArgsOf<double> &a, const Launch &l) {
        return s->dt == LAC_U8 ? launch(event_pack<uint8_t, double, false>, l, a)
                               : launch(event_pack<double, double, false>, l, a);
    });
}

lac_status_t pack_few(const lac_cuda_dense_t *s, int64_t m, int64_t k, const Slots &slots, double break_even,
                      bool early, cudaStream_t stream)
{
    PackArgs a = make_args(s, m, k, slots);
    Launch l;
    if (const lac_status_t status = slot_launch(m, slots, stream, &l)) return status;
    a.early = early;
    a.most = surely_many(break_even, (int)l.block.x);
    return s->dt == LAC_U8 ? launch(event_pack<uint8_t, float, true>, l, a)
                           : launch(event_pack<float, float, true>, l, a);
}

lac_status_t pack_chunks(const lac_cuda_dense_t *s, int64_t m, int64_t k, const Slots &slots,
                         cudaStream_t stream)
{
    const PackArgs a = make_args(s, m, k, slots);
    const int64_t groups = ceil_div(m, kChunkRows);
    if (groups > 65535) return LAC_ERR_EXTENT;
    const Launch l = {
        dim3(unsigned(slots.slots), unsigned(groups)), dim3(kChunkRows * kWarp), 0, 1, true, stream};
    return s->dt == LAC_U8 ? launch(event_pack_chunks<uint8_t>, l, a)
                           : launch(event_pack_chunks<float>, l, a);
}

} // namespace lacuna
