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

/* Blocks of a multiprocessor: limits registers. Elements of two bytes take some more to be unpacked. */
template <typename W, bool kWide> constexpr int kBlocks = !kWide ? 4 : sizeof(W) == sizeof(float) ? 6 : 5;

struct Matrices {
    const void *s[LAC_CUDA_BATCH_SET], *w[LAC_CUDA_BATCH_SET];
    void *out[LAC_CUDA_BATCH_SET];
};

struct BatchArgs {
    lac_cuda_batch_t b; /* steps in bytes */
    bool quads;         /* S by four elements at once */
    bool quads_out;     /* out too, where W is read so */
};

struct SetArgs {
    BatchArgs a;
    Matrices matrices;
};

/* The matrices of product q. */
struct Product {
    const void *s, *w;
    void *out;
};

__device__ inline Product product(const BatchArgs &a, int64_t q)
{
    return {(const char *)a.b.s + q * a.b.s_step, (const char *)a.b.w + q * a.b.w_step,
            (char *)a.b.out + q * a.b.out_step};
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

template <typename W> __device__ inline Output<W> output_at(void *base, bool f32)
{
    if constexpr (sizeof(W) == sizeof(float))
        return {(float *)base};
    else
        return {base, f32};
}

__device__ inline float updated(const lac_cuda_batch_t &b, float was, float sum)
{
    return b.beta == 0.0f ? b.alpha * sum : fmaf(b.beta, was, b.alpha * sum);
}

/* Columns of the row of out that begins at element `row`. */
template <bool kWide, typename W>
__device__ inline void store_columns(const BatchArgs &a, const Output<W> &out, int64_t row, int j0, int lane,
                                     const float (&acc)[kLaneColumns])
{
    const lac_cuda_batch_t &b = a.b;
    const int j = j0 + (kWide ? 4 * lane : lane), apart = kWide ? 1 : kWarp, n = (int)b.n;
    if (kWide && a.quads_out) {
        float x[kLaneColumns] = {};
        if (j >= n) return;
        if (b.beta != 0.0f) out.load_quad(row + j, x);
#pragma unroll
        for (int c = 0; c < kLaneColumns; c++) x[c] = updated(b, x[c], acc[c]);
        out.store_quad(row + j, x);
        return;
    }
#pragma unroll
    for (int c = 0; c < kLaneColumns; c++)
        if (j + apart * c < n) {
            const int64_t at = row + (j + apart * c) * b.cs;
            out.store(at, updated(b, b.beta == 0.0f ? 0.0f : out.load(at), acc[c]));
        }
}

/* out_q[i, :] := beta out_q[i, :] + alpha S_q[i, :] W_q; block (q m + i, y) has the columns from 1024 y on.
 *
 * Mapping   each warp packs its share of the row's k, in order; the shares are put together, and warp w
 *           gathers columns 128 w .. of the block's.
 * Layout    kWide: rows of W contiguous, aligned for four elements, n a multiple of 4. Otherwise any.
 * Bytes     S once for every 1024 columns, a row of W for each event, out once.
 * Order     ascending k in each element, in short runs that are added up, and rounded once: no atomics.
 * Limit     latency at 1 %: 64 products of 10 x 1000 x 1000 in 7 us; L1 and L2 above (H200, 2026-11-21). */
template <typename S, typename W, bool kWide, typename Args>
__global__ __launch_bounds__(kMostWarps *kWarp,
                             kBlocks<W, kWide>) void batch_events(const __grid_constant__ Args args)
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
    const ScanRow<S> row = {(const S *)x.s + i * b.srs, b.scs, a.quads};
    float *totals = (float *)shared + warp * kTileColumns;
    Event *packed = (Event *)((float *)shared + warps * kTileColumns), *mine = packed + begin,
          *list = packed + share * warps;
    int *counts = (int *)(list + share * warps);
    int count = 0;
    for (int base = begin; base < end; base += 128 * kRounds) {
        S v[kRounds][4];
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
    GemmArgsOf<W> p = {};
    p.n = (int)b.n, p.w = (const W *)x.w, p.wjs = (int)b.wjs;
    const Output<W> out = output_at<W>(x.out, b.out_dt == LAC_F32);
    for (int j0 = ((int)blockIdx.y * warps + warp) * kTileColumns; j0 < (int)b.n;
         j0 += (int)gridDim.y * warps * kTileColumns) {
        const LaneColumns<1, kWide, W> columns(p, j0, lane);
        RunSums<1, kWide> sums(totals, lane);
        gather_runs(list, 0, total, columns, (int)b.wks, sums, length);
        sums.add_total();
        store_columns<kWide>(a, out, i * b.rs, j0, lane, sums.run);
    }
}

template <typename S, typename W, typename Args>
lac_status_t launch_types(const Args &args, const BatchArgs &a, bool wide, cudaStream_t stream)
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
    return wide ? launch(batch_events<S, W, true, Args>, l, args)
                : launch(batch_events<S, W, false, Args>, l, args);
}

template <typename Args>
lac_status_t launch_batch(const Args &args, const BatchArgs &a, bool wide, cudaStream_t stream)
{
    return with_number_type(a.b.w_dt, [&](auto w) {
        using W = decltype(w);
        return a.b.dt == LAC_U8    ? launch_types<uint8_t, W>(args, a, wide, stream)
               : a.b.dt == LAC_F32 ? launch_types<float, W>(args, a, wide, stream)
                                   : launch_types<W, W>(args, a, wide, stream);
    });
}

/* That every address, or the first and the step, is a multiple of four elements of so many bytes. */
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
    const size_t s_size = lac_dt_size(b->dt), w_size = lac_dt_size(b->w_dt), size = lac_dt_size(b->out_dt);
    if (b->k > LAC_CUDA_BATCH_K || !fits(b->n) || !fits(b->wks) || !fits(b->wjs) || !fits(b->count) ||
        !fits(b->m) || !fits(b->count * b->m) || (b->s_each && b->count > LAC_CUDA_BATCH_SET))
        return LAC_ERR_EXTENT;
    if (b->count == 0 || b->m == 0 || b->n == 0) return LAC_OK;
    const bool wide = b->wjs == 1 && b->n % 4 == 0 && b->wks % 4 == 0 &&
                      all_aligned(b->w, b->w_each, b->w_step, b->count, w_size);
    BatchArgs a = {*b, false, false};
    a.quads = b->scs == 1 && b->k % 4 == 0 && b->srs % 4 == 0 &&
              all_aligned(b->s, b->s_each, b->s_step, b->count, s_size);
    a.quads_out = b->cs == 1 && b->rs % 4 == 0 && b->n % 4 == 0 &&
                  all_aligned(b->out, (const void *const *)b->out_each, b->out_step, b->count, size);
    a.b.s_step *= (int64_t)s_size, a.b.w_step *= (int64_t)w_size, a.b.out_step *= (int64_t)size;
    if (!b->s_each) return launch_batch(a, a, wide, (cudaStream_t)stream);
    SetArgs set = {a, {}};
    for (int64_t q = 0; q < b->count; q++)
        set.matrices.s[q] = b->s_each[q], set.matrices.w[q] = b->w_each[q],
        set.matrices.out[q] = b->out_each[q];
    return launch_batch(set, a, wide, (cudaStream_t)stream);
}
