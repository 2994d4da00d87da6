/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Dense copies: of any type and strides, scaled, and transposed. */
#include "cuda_support.h"
#include "common/device.cuh"

namespace lacuna
{
namespace
{

constexpr int kTile = 32;                 /* a block copies kTile x kTile elements */
constexpr int kCopyRows = 8;              /* of them at once                       */
constexpr int kResident = 8;              /* blocks that fill a multiprocessor: 32 registers a thread */
constexpr int64_t kTilesAcross = 1 << 20; /* grid.x; further tiles are taken in turn */

struct CopyArgs {
    const void *x;
    void *out;
    int64_t rows, cols, xrs, xcs, rs, cs, tiles, across;
    double beta;
    bool x_by_cols, out_by_cols; /* which extent lies contiguous: a warp walks along it */
};

/* The element of line l that thread t of a warp has, lines being columns or rows. */
__device__ inline Cell<int> copied_by(int t, int l, bool by_cols)
{
    return by_cols ? Cell<int>{t, l} : Cell<int>{l, t};
}

/* out := beta out + x, tile by tile: read along x's contiguous extent, written along out's.
 * Bytes: x and out once. Limit: DRAM, when both are contiguous along some extent. */
template <typename T, typename Out>
__global__ __launch_bounds__(kTile *kCopyRows, kResident) void copy_tiles(const CopyArgs a)
{
    __shared__ Sum<Out> tile[kTile][kTile + 1];
    const Sum<Out> beta = (Sum<Out>)a.beta;
    for (int64_t t = blockIdx.x; t < a.tiles; t += gridDim.x) {
        const int64_t r0 = t / a.across * kTile, c0 = t % a.across * kTile;
        for (int l = threadIdx.y; l < kTile; l += kCopyRows) {
            const Cell<int> at = copied_by(threadIdx.x, l, a.x_by_cols);
            if (r0 + at.row >= a.rows || c0 + at.column >= a.cols) continue;
            const T *from = (const T *)a.x + (r0 + at.row) * a.xrs + (c0 + at.column) * a.xcs;
            tile[at.row][at.column] = event_value(*from);
        }
        __syncthreads();
        for (int l = threadIdx.y; l < kTile; l += kCopyRows) {
            const Cell<int> at = copied_by(threadIdx.x, l, a.out_by_cols);
            if (r0 + at.row >= a.rows || c0 + at.column >= a.cols) continue;
            Out *to = (Out *)a.out + (r0 + at.row) * a.rs + (c0 + at.column) * a.cs;
            const Sum<Out> x = tile[at.row][at.column];
            *to = nearest<Out>(beta == Sum<Out>(0) ? x : multiply_add(beta, event_value(*to), x));
        }
        __syncthreads();
    }
}

struct ScaleArgs {
    void *out;
    int64_t inner, count, inner_stride, outer_stride;
    lac_cuda_scalar_t beta;
};

template <typename Out> __global__ __launch_bounds__(256) void scale_out(const ScaleArgs a)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    const Sum<Out> beta = load_scalar<Sum<Out>>(a.beta);
    for (int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; t < a.count; t += step) {
        Out *at = (Out *)a.out + t / a.inner * a.outer_stride + t % a.inner * a.inner_stride;
        *at = nearest<Out>(beta == Sum<Out>(0) ? Sum<Out>(0) : beta * event_value(*at));
    }
}

/* Transposing copy, from which a frozen W by columns gets its copy by rows. */

constexpr int kTransposed = 64, kRowsAtOnce = 8, kTransposeThreads = 256;
static_assert(kTransposeThreads == kTransposed / 2 * kRowsAtOnce,
              "a warp per row of the tile, two columns per lane");

struct TransposeArgs {
    const float *src;
    int64_t rs, cs;
    float *dst;
    int64_t ldd;
    int m, n;
};

/* dst[c * ldd + r] = src[r * rs + c * cs]. Grid (column tiles, row tiles) of 64 x 64; coalesced on both sides
 * when cs == 1. Bytes: m n read, m n written. The padded tile keeps shared memory free of conflicts.
 * Reached 3.3 TB/s, read and written, at 10000 x 10000 (H200, 2026-11-20). */
__global__ __launch_bounds__(kTransposeThreads) void transpose(const __grid_constant__ TransposeArgs a)
{
    __shared__ float tile[kTransposed][kTransposed + 1];
    const int r0 = blockIdx.y * kTransposed, c0 = blockIdx.x * kTransposed;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
    for (int r = warp; r < kTransposed; r += kRowsAtOnce)
#pragma unroll
        for (int c = lane; c < kTransposed; c += kWarp)
            if (r0 + r < a.m && c0 + c < a.n) tile[r][c] = a.src[(r0 + r) * a.rs + (c0 + c) * a.cs];
    __syncthreads();
#pragma unroll
    for (int c = warp; c < kTransposed; c += kRowsAtOnce)
#pragma unroll
        for (int r = lane; r < kTransposed; r += kWarp)
            if (r0 + r < a.m && c0 + c < a.n) a.dst[(c0 + c) * a.ldd + r0 + r] = tile[r][c];
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_copy(const lac_cuda_matrix_t *x, double beta, lac_dt_t dt, void *out,
                                      int64_t rs, int64_t cs, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (x->rows == 0 || x->cols == 0) return LAC_OK;
    const int64_t across = ceil_div(x->cols, kTile), tiles = across * ceil_div(x->rows, kTile);
    const CopyArgs a = {x->data,
                        out,
                        x->rows,
                        x->cols,
                        x->rs,
                        x->cs,
                        rs,
                        cs,
                        tiles,
                        across,
                        beta,
                        magnitude(x->rs) < magnitude(x->cs),
                        magnitude(rs) < magnitude(cs)};
    const Launch l = {
        dim3(unsigned(min(tiles, kTilesAcross))), dim3(kTile, kCopyRows), 0, 1, false, (cudaStream_t)stream};
    if (dt == LAC_F64)
        return x->dt == LAC_U8 ? launch(copy_tiles<uint8_t, double>, l, a)
                               : launch(copy_tiles<double, double>, l, a);
    return with_number_type(dt, [&](auto to) {
        return with_type(x->dt,
                         [&](auto from) { return launch(copy_tiles<decltype(from), decltype(to)>, l, a); });
    });
}

extern "C" lac_status_t lac_cuda_scale(int64_t rows, int64_t cols, lac_cuda_scalar_t beta, lac_dt_t dt,
                                       void *out, int64_t rs, int64_t cs, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (rows == 0 || cols == 0) return LAC_OK;
    const bool by_cols = magnitude(rs) < magnitude(cs);
    const ScaleArgs a = {out, by_cols ? rows : cols, rows * cols, by_cols ? rs : cs, by_cols ? cs : rs, beta};
    const Launch l = grid_stride(ceil_div(a.count, 256), 256, stream);
    return with_wide_number_type(dt, [&](auto to) { return launch(scale_out<decltype(to)>, l, a); });
}

extern "C" lac_status_t lac_cuda_transpose(int64_t m, int64_t n, const float *src, int64_t rs, int64_t cs,
                                           float *dst, int64_t ldd, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(m) || !fits(n) || ceil_div(m, kTransposed) > 65535) return LAC_ERR_EXTENT;
    if (m == 0 || n == 0) return LAC_OK;
    const dim3 grid(unsigned(ceil_div(n, kTransposed)), unsigned(ceil_div(m, kTransposed)));
    const TransposeArgs a = {src, rs, cs, dst, ldd, (int)m, (int)n};
    return launch(transpose, {grid, dim3(kTransposeThreads), 0, 1, false, (cudaStream_t)stream}, a);
}
