/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Rows of a CSR matrix as a dense one: each piece of the output is put together in shared memory and written
 * once, whole. */
#include "common/async_copy.cuh"
#include "row_indices.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kWidest = 11264;    /* columns of a buffer: five blocks of one such share a multiprocessor */
constexpr int kWarpWidest = 1024; /* up to here a warp has a row to itself                               */
constexpr int kHeld = 4;          /* entries of a thread that are loaded at once                         */
constexpr int kTileRows = 32, kTileCols = 512; /* of an output that is not contiguous by rows            */

struct SliceArgs {
    lac_cuda_slice_t s;
    float *out;
    int64_t rs, cs;
    int64_t items, across; /* pieces of the output, and those side by side */
    int width;             /* columns of a piece */
    bool by_rows;          /* tiles: |cs| <= |rs| */
};

/* From shared memory to contiguous global memory of the same alignment modulo 16 bytes, by kUnit threads.
 * What is written is not read again here: it may leave the cache first. */
template <int kUnit>
__device__ inline void write_line(const float *line, float *out, int count, int shift, int thread)
{
    const int head = min((4 - shift) % 4, count), body = (count - head) / 4 * 4, tail = head + body;
#if __CUDA_ARCH__ >= 900
    if (thread == 0 && body > 0) {
        uint64_t policy;
        asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;" ::"l"(
                         out + head),
                     "r"(shared_address(line + head)), "r"(4 * body), "l"(policy)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
#else
    for (int c = head + 4 * thread; c < tail; c += 4 * kUnit)
        __stcs((float4 *)(out + c), *(const float4 *)(line + c));
#endif
    if (thread < head) out[thread] = line[thread];
    if (thread < count - tail) out[tail + thread] = line[tail + thread];
}

/* out[i, first ..] := the columns [first, first + width) of row rows[i] of S.
 *
 * Mapping   kUnit threads (a warp, or a block) to a row, or to one of several equal pieces of a wide one.
 * Layout    out contiguous by rows; any alignment.
 * Bytes     8 per entry (4 where all have one value), once; 4 per element of out, once, by one bulk copy.
 * Order     columns of a row are distinct: each element is stored by one thread.
 * Limit     DRAM: 5000 rows of 1000 entries and 10000 columns, 240 MB, in 63 us, as long as a plain kernel
 *           that reads and writes as many bytes in order, and 83 % of what reads alone reach; 47 us where
 * rows are nearly empty, as long as a memset (H200, 2026-11-21). */
template <int kUnit>
__global__ __launch_bounds__(kThreads) void slice_lines(const __grid_constant__ SliceArgs a)
{
    LACUNA_DYNAMIC_SHARED(float4, memory);
    const lac_cuda_slice_t &s = a.s;
    const int thread = threadIdx.x % kUnit, lane = threadIdx.x % kWarp, pitch = (int)round_up(a.width + 4, 4);
    const int64_t item = (int64_t)blockIdx.x * (kThreads / kUnit) + threadIdx.x / kUnit;
    if (item >= a.items) return;
    const int64_t i = a.across == 1 ? item : item / a.across, first = (item - i * a.across) * a.width;
    const int width = (int)min<int64_t>(a.width, s.n - first);
    const int64_t row = pick(s, i);
    Entries e = entries_of(s, row);
    if (a.across > 1) {
        const int64_t begin = first_from(s.idx, e, first, lane);
        e = {begin, first_from(s.idx, {begin, e.end}, first + width, lane)};
    }
    if (thread == 0 && first == 0 && s.bad && !is_row(s, row)) report_bad(s.bad, i, row);
    int at[kHeld];
    float x[kHeld];
    const float weight = s.val || !s.weight ? 1.0f : *s.weight;
#pragma unroll
    for (int h = 0; h < kHeld; h++) {
        const int64_t p = e.begin + thread + h * kUnit;
        at[h] = p < e.end ? s.idx[p] : -1;
        x[h] = p < e.end && s.val ? s.val[p] : weight;
    }
    float *buffer = (float *)memory + threadIdx.x / kUnit * pitch;
    for (int c = thread; c < pitch / 4; c += kUnit) ((float4 *)buffer)[c] = make_float4(0, 0, 0, 0);
    float *out = a.out + i * a.rs + first;
    const int shift = (int)((uintptr_t)out / sizeof *out % 4);
    float *line = buffer + shift - first; /* by column */
    unit_sync<kUnit>();
#pragma unroll
    for (int h = 0; h < kHeld; h++)
        if (at[h] >= 0) line[at[h]] = x[h];
    for (int64_t p = e.begin + thread + kHeld * kUnit; p < e.end; p += kUnit)
        line[s.idx[p]] = s.val ? s.val[p] : weight;
    bulk_copy_fence();
    unit_sync<kUnit>();
    write_line<kUnit>(buffer + shift, out, width, shift, thread);
}

/* The same for an output of any strides: tiles of kTileRows x kTileCols, written along the nearer extent. */
__global__ __launch_bounds__(kThreads) void slice_tiles(const __grid_constant__ SliceArgs a)
{
    LACUNA_DYNAMIC_SHARED(float4, memory);
    float(*tile)[kTileRows + 1] = (float(*)[kTileRows + 1]) memory; /* [column][row] */
    const lac_cuda_slice_t &s = a.s;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const float weight = s.val || !s.weight ? 1.0f : *s.weight;
    for (int64_t item = blockIdx.x; item < a.items; item += gridDim.x) {
        const int64_t i0 = item / a.across * kTileRows, j0 = item % a.across * kTileCols;
        const int rows = (int)min<int64_t>(kTileRows, s.count - i0),
                  cols = (int)min<int64_t>(kTileCols, s.n - j0);
        for (int t = threadIdx.x; t < kTileCols * (kTileRows + 1); t += kThreads) ((float *)memory)[t] = 0.0f;
        __syncthreads();
        for (int r = warp; r < rows; r += kWarps) {
            const int64_t row = pick(s, i0 + r);
            Entries e = entries_of(s, row);
            if (lane == 0 && j0 == 0 && s.bad && !is_row(s, row)) report_bad(s.bad, i0 + r, row);
            const int64_t begin = first_from(s.idx, e, j0, lane);
            e = {begin, first_from(s.idx, {begin, e.end}, j0 + cols, lane)};
            for (int64_t p = e.begin + lane; p < e.end; p += kWarp)
                tile[s.idx[p] - j0][r] = s.val ? s.val[p] : weight;
        }
        __syncthreads();
        for (int t = threadIdx.x; t < rows * cols; t += kThreads) {
            const Cell<int> at = cell_of(t, rows, cols, a.by_rows);
            a.out[(i0 + at.row) * a.rs + (j0 + at.column) * a.cs] = tile[at.column][at.row];
        }
        __syncthreads();
    }
}

lac_status_t launch_lines(SliceArgs &a, cudaStream_t stream)
{
    const bool warps = a.s.n <= kWarpWidest;
    a.across = ceil_div(a.s.n, kWidest);
    a.width = (int)(a.across == 1 ? a.s.n : round_up(ceil_div(a.s.n, a.across), kWarp));
    a.items = a.s.count * a.across;
    const int64_t units = warps ? kWarps : 1, shared = 4 * units * round_up(a.width + 4, 4);
    if (!fits(ceil_div(a.items, units))) return LAC_ERR_EXTENT;
    const Launch l = {
        dim3(unsigned(ceil_div(a.items, units))), dim3(kThreads), (size_t)shared, 1, false, stream};
    return warps ? launch(slice_lines<kWarp>, l, a) : launch(slice_lines<kThreads>, l, a);
}

lac_status_t launch_tiles(SliceArgs &a, cudaStream_t stream)
{
    a.across = max<int64_t>(1, ceil_div(a.s.n, kTileCols)); /* without columns rows are still checked */
    a.items = a.across * ceil_div(a.s.count, kTileRows);
    const Launch l = {dim3(unsigned(min<int64_t>(a.items, 1 << 16))),
                      dim3(kThreads),
                      4 * kTileCols * (kTileRows + 1),
                      1,
                      false,
                      stream};
    return launch(slice_tiles, l, a);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_slice_rows(const lac_cuda_slice_t *s, float *out, int64_t rs, int64_t cs,
                                            lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(s->m) || !fits(s->n) || !fits(s->count)) return LAC_ERR_EXTENT;
    if (s->count == 0 || (s->n == 0 && !s->bad)) return LAC_OK;
    SliceArgs a = {*s, out, rs, cs, 0, 1, 0, magnitude(cs) <= magnitude(rs)};
    const bool lines = s->n == 1 || (s->n > 0 && cs == 1);
    return lines ? launch_lines(a, (cudaStream_t)stream) : launch_tiles(a, (cudaStream_t)stream);
}
