/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operators on compressed rows as a caller brings them: unchecked, in any order, with repetitions.
 *
 * Every kernel checks what it reads of pointers, indices and permutations: what is out of range counts as
 * absent, and its place goes to a word of pinned memory. Sums do not depend on the order in which blocks
 * come: gathers add in double in one fixed order; scatters count events, or add integers, by atomics. */
#include "common/device.cuh"
#include "cuda_support.h"

#include <math.h>

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kFewEntries = 24; /* of a row, on average, below which eight lanes share one */
constexpr int kSpan = 2048;     /* columns of a slice that a warp writes */

/* Entries -------------------------------------------------------------------------------------------------
 */

__device__ inline int64_t index_at(const void *list, bool wide, int64_t i)
{
    return wide ? ((const int64_t *)list)[i] : ((const int32_t *)list)[i];
}

__device__ inline void report(const lac_cuda_loose_t &a, int64_t place, lac_cuda_loose_array_t which)
{
    atomicMin((unsigned long long *)a.bad, (unsigned long long)(4 * place + which));
}

struct Span {
    int64_t begin, end;
};

__device__ inline Span span_of(const lac_cuda_loose_t &a, int64_t row)
{
    if (!a.ptr) return {row * a.fan_out, (row + 1) * a.fan_out};
    const Span s = {index_at(a.ptr, a.wide, row), index_at(a.ptr, a.wide, row + 1)};
    if (s.begin >= 0 && s.begin <= s.end && s.end <= a.nnz) return s;
    report(a, row, LAC_CUDA_LOOSE_PTR);
    return {0, 0};
}

/* The row of an entry; -1 where it is in none. */
__device__ inline int64_t row_of(const lac_cuda_loose_t &a, int64_t e)
{
    if (!a.ptr) return e / a.fan_out;
    int64_t first = 0, last = a.m + 1; /* the first pointer beyond e is in [first, last] */
    while (first < last) {
        const int64_t middle = (first + last) / 2;
        if (index_at(a.ptr, a.wide, middle) > e)
            last = middle;
        else
            first = middle + 1;
    }
    return first <= a.m ? first - 1 : -1;
}

/* The column of an entry; -1 where that is out of range. */
__device__ inline int64_t column_of(const lac_cuda_loose_t &a, int64_t e)
{
    const int64_t column = index_at(a.idx, a.wide, e);
    if (column >= 0 && column < a.n) return column;
    report(a, e, LAC_CUDA_LOOSE_IDX);
    return -1;
}

__device__ inline float value_of(const lac_cuda_loose_t &a, int64_t e)
{
    if (!a.val) return 1.0f;
    if (a.homogeneous) return *a.val;
    if (!a.perm) return a.val[e];
    const int64_t place = index_at(a.perm, a.wide, e);
    if (place >= 0 && place < a.nnz) return a.val[place];
    report(a, e, LAC_CUDA_LOOSE_PERM);
    return 0.0f;
}

/* What an element of X counts as: 0 where it is zero. */
__device__ inline float factor_at(const lac_cuda_loose_dense_t &x, int64_t i, int64_t j)
{
    const int64_t at = i * x.rs + j * x.cs;
    if (x.bytes) return ((const uint8_t *)x.data)[at] ? 1.0f : 0.0f;
    const float v = ((const float *)x.data)[at];
    return x.binary && v != 0.0f ? 1.0f : v;
}

/* Products ------------------------------------------------------------------------------------------------
 */

struct ProductArgs {
    lac_cuda_loose_t a;
    lac_cuda_loose_dense_t x;
    int64_t columns;
    float *out;
    int64_t rs, cs;
    /* Of a scatter. */
    unsigned long long *sums; /* [n][columns] */
    int bits;                 /* sums of so many bits of terms do not overflow */
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

/* A scatter adds from many rows into one element, in whatever order blocks come; so that the sum does not
 * depend on it, integers are added.
 *
 * One value for all entries, and events: COUNT counts those that an element receives, in the element itself,
 * and COUNTED multiplies. Otherwise RAISE finds the largest exponent of an element's terms, in the element
 * itself; ADD adds the terms as multiples of a unit that is 2^(62 - bits) times finer than twice the largest
 * of them, where 2^bits is no less than the number of terms; ADDED converts. The error of a sum is that of
 * one rounding to float, and at most a unit a term. */
typedef enum phase { COUNT, RAISE, ADD } phase_t;
constexpr unsigned kNotFinite = 0x7ff;
enum { POSITIVE = 1, NEGATIVE = 2, NOT_A_NUMBER = 4 }; /* what the sum of an element has that is not finite */

__device__ inline unsigned exponent_of(double x)
{
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    return unsigned(bits >> 52) & kNotFinite;
}

/* 2^e of a normal double. */
__device__ inline double power_of_two(int e)
{
    const unsigned long long bits = (unsigned long long)(1023 + e) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Units per 1 where the largest term has this exponent: |term| < 2^(exponent - 1022). */
__device__ inline int fineness(unsigned exponent, int bits)
{
    return 62 - bits - ((int)exponent - 1022);
}

template <phase_t kPhase>
__device__ inline void scatter_entry(const ProductArgs &p, int64_t e, int64_t j, float x)
{
    const int64_t column = column_of(p.a, e);
    if (column < 0) return;
    unsigned *element = (unsigned *)(p.out + column * p.rs + j * p.cs);
    if constexpr (kPhase == COUNT) {
        atomicAdd((int *)element, 1);
        return;
    }
    const double term = (double)value_of(p.a, e) * (double)x;
    if (term == 0.0) return;
    if constexpr (kPhase == RAISE) {
        if (*(volatile unsigned *)element < exponent_of(term)) atomicMax(element, exponent_of(term));
        return;
    }
    unsigned long long *sum = p.sums + column * p.columns + j;
    const unsigned top = *element;
    if (top == kNotFinite) {
        if (exponent_of(term) == kNotFinite)
            atomicOr(sum, (unsigned long long)(term != term ? NOT_A_NUMBER
                                               : term > 0.0 ? POSITIVE
                                                            : NEGATIVE));
        return;
    }
    atomicAdd(sum, (unsigned long long)llrint(term * power_of_two(fineness(top, p.bits))));
}

/* One phase of out := A' X.
 *
 * Mapping   a block to 256 elements of X, by rows; the entries of the rows whose elements are not zero are
 *           shared out evenly among its threads.
 * Bytes     X once; idx and val of a row once for each element of its row of X that is not zero; and of each
 *           entry a sector of out, of ADD one more of sums, in the second cache.
 * Order     none is needed: integers. */
template <phase_t kPhase>
__global__ __launch_bounds__(kThreads) void loose_scatter(const __grid_constant__ ProductArgs p)
{
    __shared__ int64_t begin[kThreads], upto[kThreads];
    __shared__ float factor[kThreads];
    __shared__ int32_t column[kThreads];
    const int64_t item = (int64_t)blockIdx.x * kThreads + threadIdx.x, row = item / p.columns;
    const int t = threadIdx.x;
    const float x = row < p.a.m ? factor_at(p.x, row, item - row * p.columns) : 0.0f;
    const Span s = x != 0.0f ? span_of(p.a, row) : Span{0, 0};
    if (!__syncthreads_or(s.end > s.begin)) return;
    begin[t] = s.begin, upto[t] = s.end - s.begin, factor[t] = x;
    column[t] = (int32_t)(item - row * p.columns);
    __syncthreads();
    for (int d = 1; d < kThreads; d *= 2) {
        const int64_t below = t >= d ? upto[t - d] : 0;
        __syncthreads();
        upto[t] += below;
        __syncthreads();
    }
    for (int64_t at = t; at < upto[kThreads - 1]; at += kThreads) {
        int first = 0; /* the first with upto > at */
#pragma unroll
        for (int step = kThreads / 2; step > 0; step /= 2)
            if (upto[first + step - 1] <= at) first += step;
        const int64_t before = first ? upto[first - 1] : 0;
        scatter_entry<kPhase>(p, begin[first] + at - before, column[first], factor[first]);
    }
}

__global__ __launch_bounds__(kThreads) void scatter_begin(const __grid_constant__ ProductArgs p)
{
    const int64_t total = p.a.n * p.columns, step = (int64_t)gridDim.x * kThreads;
    for (int64_t q = (int64_t)blockIdx.x * kThreads + threadIdx.x; q < total; q += step) {
        p.out[q / p.columns * p.rs + q % p.columns * p.cs] = 0.0f;
        if (p.sums) p.sums[q] = 0;
    }
}

__device__ inline float converted(const ProductArgs &p, unsigned top, unsigned long long sum)
{
    if (top == kNotFinite) {
        const bool both = (sum & (POSITIVE | NEGATIVE)) == (POSITIVE | NEGATIVE);
        return both || sum & NOT_A_NUMBER ? NAN : sum & POSITIVE ? INFINITY : -INFINITY;
    }
    return top ? (float)((double)(long long)sum * power_of_two(-fineness(top, p.bits))) : 0.0f;
}

__global__ __launch_bounds__(kThreads) void scatter_end(const __grid_constant__ ProductArgs p)
{
    const int64_t total = p.a.n * p.columns, step = (int64_t)gridDim.x * kThreads;
    const float one = p.a.val ? *p.a.val : 1.0f; /* where entries have one */
    for (int64_t q = (int64_t)blockIdx.x * kThreads + threadIdx.x; q < total; q += step) {
        float *element = p.out + q / p.columns * p.rs + q % p.columns * p.cs;
        const unsigned found = __float_as_uint(*element);
        if (p.sums)
            *element = converted(p, found, p.sums[q]);
        else
            *element = found ? (float)((double)one * (double)found) : 0.0f;
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
 * Mapping   a block to kThreads rows: it reads the list of rows through; a warp adds to the rows of its own,
 * a lane always to the same entries. Bytes     the list once for every kThreads rows; 12 per entry of a
 * slice. Order     ascending slices, in float. */
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

bool all_fit(const lac_cuda_loose_t *a)
{
    return fits(a->m) && fits(a->n) && fits(a->nnz);
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
    const ProductArgs p = {*a, *x, columns, out, rs, cs, nullptr, 0};
    const bool few = a->nnz / a->m < kFewEntries;
    if (columns > 4) return gather<1, 32>(p, stream);
    if (columns > 1) return gather<8, 4>(p, stream);
    return few ? gather<8, 1>(p, stream) : gather<32, 1>(p, stream);
}

extern "C" lac_status_t lac_cuda_loose_scatter(const lac_cuda_loose_t *a, const lac_cuda_loose_dense_t *x,
                                               int64_t columns, float *out, int64_t rs, int64_t cs,
                                               void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!all_fit(a) || !fits(columns)) return LAC_ERR_EXTENT;
    if (!a->n || !columns) return LAC_OK;
    int bits = 0;
    while ((int64_t)1 << bits < a->nnz) bits++;
    const ProductArgs p = {*a, *x, columns, out, rs, cs, (unsigned long long *)workspace, bits};
    const int64_t blocks = ceil_div(a->m * columns, kThreads);
    const Launch all = grid_stride(ceil_div(a->n * columns, kThreads), kThreads, stream);
    const bool dense = cs == 1 ? rs == columns || a->n == 1 : columns == 1 && rs == 1;
    lac_status_t status = LAC_OK;
    if (!workspace && dense) { /* sooner done than a launch */
        const size_t bytes = (size_t)(a->n * columns) * sizeof *out;
        if (cudaMemsetAsync(out, 0, bytes, (cudaStream_t)stream) != cudaSuccess) status = LAC_ERR_VENDOR;
    } else {
        status = launch(scatter_begin, all, p);
    }
    if (status != LAC_OK || !blocks) return status;
    if (!workspace) {
        status = launch_blocks(loose_scatter<COUNT>, blocks, p, stream);
    } else {
        status = launch_blocks(loose_scatter<RAISE>, blocks, p, stream);
        if (status == LAC_OK) status = launch_blocks(loose_scatter<ADD>, blocks, p, stream);
    }
    return status == LAC_OK ? launch(scatter_end, all, p) : status;
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
