/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operators on compressed rows as a caller brings them: unchecked, in any order, with repetitions.
 *
 * Every kernel checks what it reads of pointers, indices and permutations: what is out of range counts as
 * absent, and its place goes to a word of pinned memory. Gathers add in double in one fixed order; products
 * that scatter are in scatter.cu. */
#include "loose.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kFewEntries = 24; /* of a row, on average, below which eight lanes share one */
constexpr int kSpan = 2048;     /* columns of a slice that a warp writes */

/* Products ------------------------------------------------------------------------------------------------
 */

struct ProductArgs {
    lac_cuda_loose_t a;
    lac_cuda_loose_dense_t x;
    int64_t columns;
    float *out;
    int64_t rs, cs;
};

/* out[i, j] := sum over the entries e of row i of value(e) X[idx[e], j], where that is not zero.
 *
 * Mapping   kLanes x kCols threads to a row: kLanes entries of it and kCols columns at a time.
 * Bytes     idx and val once for every kCols columns; the sectors of X that hold the elements; out once.
 * Order     each lane's entries, ascending, then lanes by a tree; in double, rounded once.
 * Limit     the gathers of X, from the second cache where X fits there. */
template <int kLanes, int kCols>
__global__ __launch_bounds__(kThreads) void loose_gather(const __grid_constant__ ProductArgs p)
{
    constexpr int kGroup = kLanes * kCols;
    const int64_t row = (int64_t)blockIdx.x * (kThreads / kGroup) + threadIdx.x / kGroup;
    const int column = threadIdx.x % kCols, lane = threadIdx.x % kGroup / kCols;
    const Span s = row < p.a.m ? span_of(p.a, row) : Span{0, 0};
    for (int64_t j0 = 0; j0 < p.columns; j0 += kCols) {
        const int64_t j = j0 + column;
        double sum = 0.0;
        if (j < p.columns)
            for (int64_t e = s.begin + lane; e < s.end; e += kLanes) {
                const int64_t k = column_of(p.a, e);
                const float x = k >= 0 ? factor_at(p.x, k, j) : 0.0f;
                if (x != 0.0f) sum += (double)value_of(p.a, e) * (double)x;
            }
#pragma unroll
        for (int d = kCols; d < kGroup; d *= 2) sum += __shfl_xor_sync(kFull, sum, d);
        if (lane == 0 && row < p.a.m && j < p.columns) p.out[row * p.rs + j * p.cs] = (float)sum;
    }
}

/* Slices --------------------------------------------------------------------------------------------------
 */

struct SliceArgs {
    lac_cuda_loose_t a;
    lac_cuda_row_list_t rows;
    float *out; /* of a gradient: [nnz] */
    const float *g;
    int64_t rs, cs;
    int64_t across; /* warps side by side */
};

__device__ inline int64_t picked(const SliceArgs &s, int64_t i)
{
    const int64_t row = index_at(s.rows.rows, s.rows.wide, i);
    return row >= 0 && row < s.a.m ? row : -1;
}

/* out[i, :] := row rows[i], dense.
 *
 * Mapping   a warp to kSpan columns of a row of out, which reads all entries of the row picked.
 * Bytes     8 per entry for each span; 4 per element of out, and 8 more per entry.
 * Order     entries of one column are added in their order, in float. */
__global__ __launch_bounds__(kThreads) void loose_slice(const __grid_constant__ SliceArgs p)
{
    const int64_t item = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp, i = item / p.across;
    const int lane = threadIdx.x % kWarp;
    if (i >= p.rows.count) return; /* the whole warp */
    const int64_t first = (item - i * p.across) * kSpan, last = min<int64_t>(first + kSpan, p.a.n);
    const int64_t row = picked(p, i);
    const Span s = row >= 0 ? span_of(p.a, row) : Span{0, 0};
    float *out = p.out + i * p.rs;
    for (int64_t j = first + lane; j < last; j += kWarp) out[j * p.cs] = 0.0f;
    __syncwarp();
    for (int64_t e0 = s.begin; e0 < s.end; e0 += kWarp) {
        const int64_t e = e0 + lane, column = e < s.end ? column_of(p.a, e) : -1;
        const bool mine = column >= first && column < last;
        const unsigned same = __match_any_sync(kFull, mine ? (int)(column - first) : -1 - lane);
        const int turn = __popc(same & lanes_below(lane));
        const float x = mine ? value_of(p.a, e) : 0.0f;
        for (int now = 0; __any_sync(kFull, mine && turn >= now); now++) {
            if (mine && turn == now) out[column * p.cs] += x;
            __syncwarp();
        }
    }
}

/* grad[e] := sum of g[i, idx[e]] over the slices i of e's row, ascending.
 *
 * Mapping   a block to kThreads rows: it reads the list of rows through; a warp adds to the rows of its
 *           own, a lane always to the same entries.
 * Bytes     the list once for every kThreads rows; 12 per entry of a slice.
 * Order     ascending slices, in float. */
__global__ __launch_bounds__(kThreads) void loose_grad(const __grid_constant__ SliceArgs p)
{
    __shared__ int64_t row[kThreads];
    const int64_t r0 = (int64_t)blockIdx.x * kThreads, r1 = min<int64_t>(r0 + kThreads, p.a.m);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    for (int64_t r = r0 + warp; r < r1; r += kWarps) {
        const Span s = span_of(p.a, r);
        for (int64_t e = s.begin + lane; e < s.end; e += kWarp) p.out[e] = 0.0f;
    }
    for (int64_t i0 = 0; i0 < p.rows.count; i0 += kThreads) {
        const int64_t i = i0 + threadIdx.x, r = i < p.rows.count ? picked(p, i) : -1;
        const bool here = r >= r0 && r < r1;
        if (!__syncthreads_or(here)) continue;
        row[threadIdx.x] = here ? r : -1;
        __syncthreads();
        for (int q = 0; q < kThreads; q++) {
            if (row[q] < 0 || (row[q] - r0) % kWarps != warp) continue;
            const Span s = span_of(p.a, row[q]);
            for (int64_t e = s.begin + lane; e < s.end; e += kWarp) {
                const int64_t column = column_of(p.a, e);
                if (column >= 0) p.out[e] += p.g[(i0 + q) * p.rs + column * p.cs];
            }
        }
        __syncthreads();
    }
}

/* Samples -------------------------------------------------------------------------------------------------
 */

struct SampleArgs {
    lac_cuda_loose_t a;
    lac_cuda_loose_dense_t x, y;
    int64_t depth;
    float *values;
};

/* values[e] := sum over k of X[i, k] Y[k, j] for each entry e = (i, j).
 *
 * Mapping   kLanes threads to an entry.
 * Bytes     idx and values once; the sectors of X and Y that hold a line of each.
 * Order     each lane's k, ascending, then lanes by a tree; in double, rounded once. */
template <int kLanes>
__global__ __launch_bounds__(kThreads) void loose_sddmm(const __grid_constant__ SampleArgs p)
{
    const int64_t e = (int64_t)blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes;
    const int lane = threadIdx.x % kLanes;
    double sum = 0.0;
    const int64_t row = e < p.a.nnz ? row_of(p.a, e) : -1, column = row >= 0 ? column_of(p.a, e) : -1;
    if (column >= 0)
        for (int64_t k = lane; k < p.depth; k += kLanes)
            sum += (double)factor_at(p.x, row, k) * (double)factor_at(p.y, k, column);
#pragma unroll
    for (int d = 1; d < kLanes; d *= 2) sum += __shfl_xor_sync(kFull, sum, d);
    if (lane == 0 && e < p.a.nnz) p.values[e] = (float)sum;
}

/* Launches ------------------------------------------------------------------------------------------------
 */

template <typename Args>
lac_status_t launch_blocks(void (*kernel)(Args), int64_t blocks, const Args &args, lac_cuda_stream_t stream)
{
    if (!fits(blocks)) return LAC_ERR_EXTENT;
    const Launch l = {dim3(unsigned(blocks)), dim3(kThreads), 0, 1, false, (cudaStream_t)stream};
    return launch(kernel, l, args);
}

template <int kLanes, int kCols> lac_status_t gather(const ProductArgs &p, lac_cuda_stream_t stream)
{
    return launch_blocks(loose_gather<kLanes, kCols>, ceil_div(p.a.m, kThreads / (kLanes * kCols)), p,
                         stream);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_loose_gather(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x,
                                              int64_t columns, float *out, int64_t rs, int64_t cs,
                                              lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!all_fit(a) || !fits(columns)) return LAC_ERR_EXTENT;
    if (!a->m || !columns) return LAC_OK;
    const ProductArgs p = {*a, *x, columns, out, rs, cs};
    const bool few = a->nnz / a->m < kFewEntries;
    if (columns > 4) return gather<1, 32>(p, stream);
    if (columns > 1) return gather<8, 4>(p, stream);
    return few ? gather<8, 1>(p, stream) : gather<32, 1>(p, stream);
}

extern "C" lac_status_t lac_cuda_loose_slice(const lac_cuda_loose_t *a, const lac_cuda_row_list_t *rows,
                                             float *out, int64_t rs, int64_t cs, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!all_fit(a) || !fits(rows->count)) return LAC_ERR_EXTENT;
    if (!a->n || !rows->count) return LAC_OK;
    const SliceArgs p = {*a, *rows, out, nullptr, rs, cs, ceil_div(a->n, kSpan)};
    return launch_blocks(loose_slice, ceil_div(rows->count * p.across, kWarps), p, stream);
}

extern "C" lac_status_t lac_cuda_loose_grad(const lac_cuda_loose_t *a, const lac_cuda_row_list_t *rows,
                                            const float *g, int64_t rs, int64_t cs, float *grad,
                                            lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!all_fit(a) || !fits(rows->count)) return LAC_ERR_EXTENT;
    if (!a->m || !a->nnz) return LAC_OK;
    const SliceArgs p = {*a, *rows, grad, g, rs, cs, 1};
    return launch_blocks(loose_grad, ceil_div(a->m, kThreads), p, stream);
}

extern "C" lac_status_t lac_cuda_loose_sddmm(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x,
                                             const lac_cuda_loose_dense_t *y, int64_t depth, float *values,
                                             lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!all_fit(a) || !fits(depth)) return LAC_ERR_EXTENT;
    if (!a->nnz || !a->m) return LAC_OK;
    const SampleArgs p = {*a, *x, *y, depth, values};
    const bool along = depth >= 8 && magnitude(y->rs) == 1; /* lanes read Y's columns along k */
    return along ? launch_blocks(loose_sddmm<8>, ceil_div(a->nnz, kThreads / 8), p, stream)
                 : launch_blocks(loose_sddmm<1>, ceil_div(a->nnz, kThreads), p, stream);
}
