/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Many small event products in one launch: a block packs the events of one row, its warps gather columns. */
#include "cuda_kernels.h"
#include "gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kMostWarps = 8;
constexpr int kRounds = 4; /* 128-element loads of S in flight per warp */

struct Matrices {
    const void *s[LAC_CUDA_BATCH_SET];
    const float *w[LAC_CUDA_BATCH_SET];
    float *out[LAC_CUDA_BATCH_SET];
};

struct BatchArgs {
    lac_cuda_batch_t b;
    bool quads;     /* S in 16-byte (u8: 4-byte) loads */
    bool quads_out; /* out in 16-byte stores, where W is read so too */
};

struct SetArgs {
    BatchArgs a;
    Matrices matrices;
};

/* The matrices of product q. */
struct Product {
    const void *s;
    const float *w;
    float *out;
};

__device__ inline Product product(const BatchArgs &a, int64_t q)
{
    const int64_t bytes = a.b.dt == LAC_U8 ? 1 : 4;
    return {(const char *)a.b.s + q * a.b.s_step * bytes, a.b.w + q * a.b.w_step, a.b.out + q * a.b.out_step};
}

__device__ inline Product product(const SetArgs &a, int64_t q)
{
    return {a.matrices.s[q], a.matrices.w[q], a.matrices.out[q]};
}

__device__ inline const BatchArgs &common(const BatchArgs &a)
{
    return a;
}
__device__ inline const BatchArgs &common(const SetArgs &a)
{
    return a.a;
}

__device__ inline float updated(const lac_cuda_batch_t &b, const float *at, float sum)
{
    return b.beta == 0.0f ? b.alpha * sum : fmaf(b.beta, *at, b.alpha * sum);
}

template <bool kWide>
__device__ inline void store_columns(const BatchArgs &a, float *row, int j0, int lane,
                                     const float (&acc)[kLaneColumns])
{
    const lac_cuda_batch_t &b = a.b;
    const int j = j0 + (kWide ? 4 * lane : lane), apart = kWide ? 1 : kWarp, n = (int)b.n;
    if (kWide && a.quads_out) {
        float4 *at = (float4 *)(row + j);
        if (j >= n) return;
        const float4 was = b.beta == 0.0f ? make_float4(0, 0, 0, 0) : *at;
        *at = make_float4(updated(b, &was.x, acc[0]), updated(b, &was.y, acc[1]), updated(b, &was.z, acc[2]),
                          updated(b, &was.w, acc[3]));
        return;
    }
#pragma unroll
    for (int c = 0; c < kLaneColumns; c++)
        if (j + apart * c < n) {
            float *at = row + (j + apart * c) * b.cs;
            *at = updated(b, at, acc[c]);
        }
}

/* out_q[i, :] := beta out_q[i, :] + alpha S_q[i, :] W_q; block (q m + i, y) has the columns from 1024 y on.
 *
 * Mapping   each warp packs its share of the row's k, in order; the shares are put together, and warp w
 *           gathers columns 128 w .. of the block's.
 * Layout    kWide: rows of W contiguous and 16-byte aligned, n a multiple of 4. Otherwise any.
 * Bytes     S once for every 1024 columns, a row of W for each event, out once.
 * Order     ascending k in each element, in short runs that are added up: no atomics.
 * Limit     latency at 1 %: 64 products of 10 x 1000 x 1000 in 7 us; L1 and L2 above (H200, 2026-11-21). */
template <typename T, bool kWide, typename Args>
__global__ __launch_bounds__(kMostWarps *kWarp,
                             kWide ? 6 : 4) void batch_events(const __grid_constant__ Args args)
{
    LACUNA_DYNAMIC_SHARED(float4, shared); /* totals of runs, the shares, all together, how many each has */
    const BatchArgs &a = common(args);
    const lac_cuda_batch_t &b = a.b;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp,
              k = (int)b.k;
    const int64_t q = blockIdx.x / b.m, i = blockIdx.x - q * b.m;
    const Product x = product(args, q);
    const int share = (int)round_up(ceil_div(k, warps), 128), begin = warp * share,
              end = min(k, begin + share);
    const ScanRow<T> row = {(const T *)x.s + i * b.srs, b.scs, a.quads};
    float *totals = (float *)shared + warp * kTileColumns;
    Event *packed = (Event *)((float *)shared + warps * kTileColumns), *mine = packed + begin,
          *list = packed + share * warps;
    int *counts = (int *)(list + share * warps);
    int count = 0;
    for (int base = begin; base < end; base += 128 * kRounds) {
        T v[kRounds][4];
#pragma unroll
        for (int r = 0; r < kRounds; r++) scan_load(v[r], row, base + 128 * r, end, lane);
#pragma unroll
        for (int r = 0; r < kRounds; r++)
            count += scan_pack(v[r], row.quads, base + 128 * r, mine + count, lane);
    }
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    int total = 0, before = 0;
    for (int w = 0; w < warps; w++) {
        if (w < warp) before += counts[w];
        total += counts[w];
    }
    for (int e = lane; e < count; e += kWarp) list[before + e] = mine[e];
    __syncthreads();

    const int length = run_length(total);
    for (int j0 = ((int)blockIdx.y * warps + warp) * kTileColumns; j0 < (int)b.n;
         j0 += (int)gridDim.y * warps * kTileColumns) {
        const GemmArgs p = {(int)b.m,   (int)b.n,   k,     {},   {},   x.w,
                            (int)b.wks, (int)b.wjs, x.out, b.rs, b.cs, {}};
        const LaneColumns<1, kWide, float> columns(p, j0, lane);
        RunSums<1, kWide> sums(totals, lane);
        gather_runs(list, 0, total, columns, (int)b.wks, sums, length);
        sums.add_total();
        store_columns<kWide>(a, x.out + i * b.rs, j0, lane, sums.run);
    }
}

template <typename Args>
lac_status_t launch_batch(const Args &args, const BatchArgs &a, bool wide, cudaStream_t stream)
{
    const lac_cuda_batch_t &b = a.b;
    const int64_t tiles = ceil_div(b.n, kTileColumns), scans = ceil_div(b.k, 128 * kRounds);
    const int warps = (int)min<int64_t>(kMostWarps, max(tiles, scans));
    const int64_t share = round_up(ceil_div(b.k, warps), 128);
    const int64_t shared =
        (int64_t(sizeof(float) * kTileColumns + sizeof(int)) + 2 * (int64_t)sizeof(Event) * share) * warps;
    const Launch l = {dim3(unsigned(b.count * b.m), unsigned(min<int64_t>(ceil_div(tiles, warps), 65535))),
                      dim3(unsigned(warps * kWarp)),
                      (size_t)shared,
                      1,
                      false,
                      stream};
    if (b.dt == LAC_U8)
        return wide ? launch(batch_events<uint8_t, true, Args>, l, args)
                    : launch(batch_events<uint8_t, false, Args>, l, args);
    return wide ? launch(batch_events<float, true, Args>, l, args)
                : launch(batch_events<float, false, Args>, l, args);
}

/* That every address, or the first and the step, is a multiple of 16 bytes (u8: 4). */
bool all_aligned(const void *first, const void *const *each, int64_t step, int64_t count, size_t bytes)
{
    if (!each) return aligned(first, 4 * bytes) && (count == 1 || step % 4 == 0);
    for (int64_t q = 0; q < count; q++)
        if (!aligned(each[q], 4 * bytes)) return false;
    return true;
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_batch_events(const lac_cuda_batch_t *b, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const size_t element = b->dt == LAC_U8 ? 1 : 4;
    if (b->k > LAC_CUDA_BATCH_K || !fits(b->n) || !fits(b->wks) || !fits(b->wjs) || !fits(b->count) ||
        !fits(b->m) || !fits(b->count * b->m) || (b->s_each && b->count > LAC_CUDA_BATCH_SET))
        return LAC_ERR_EXTENT;
    if (b->count == 0 || b->m == 0 || b->n == 0) return LAC_OK;
    const bool wide = b->wjs == 1 && b->n % 4 == 0 && b->wks % 4 == 0 &&
                      all_aligned(b->w, (const void *const *)b->w_each, b->w_step, b->count, 4);
    BatchArgs a = {*b, false, false};
    a.quads = b->scs == 1 && b->k % 4 == 0 && b->srs % 4 == 0 &&
              all_aligned(b->s, b->s_each, b->s_step, b->count, element);
    a.quads_out = b->cs == 1 && b->rs % 4 == 0 && b->n % 4 == 0 &&
                  all_aligned(b->out, (const void *const *)b->out_each, b->out_step, b->count, 4);
    if (!b->s_each) return launch_batch(a, a, wide, (cudaStream_t)stream);
    SetArgs set = {a, {}};
    for (int64_t q = 0; q < b->count; q++)
        set.matrices.s[q] = b->s_each[q], set.matrices.w[q] = b->w_each[q],
        set.matrices.out[q] = b->out_each[q];
    return launch_batch(set, a, wide, (cudaStream_t)stream);
}
