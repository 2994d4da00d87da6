/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The gradient of a row slice to the values of the CSR matrix: every entry gathers from the slices of its
 * row.
 *
 * A scatter over the slices would have to add into entries that several slices share. Here the list of rows
 * is inverted into the slices of each row: a linked list for each, which a warp puts in order as it walks, or
 * a sort where the list is long. */
#include "common/sort_pairs.cuh"
#include "row_indices.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kInFlight = 2;    /* entries of a thread                                          */
constexpr int kBlockFrom = 256; /* entries of a row, on average, from which a block has it      */
constexpr int kSumThreads = 1024;
constexpr int kNone = -1;

struct GradArgs {
    lac_cuda_slice_t s;
    const float *g;
    int64_t rs, cs;
    float *grad;
    /* A list: head[m] the last slice of each row that was entered, or kNone, and link[count] the one before
     * each. Sorted: head[m] the first index of each row in key[count], its rows, and slice[count]; link is
     * NULL. */
    int32_t *head, *link;
    const int32_t *key, *slice;
    double *partial; /* [count] */
};

/* Integer exchanges: which order they come in is not seen by those who walk. */
__global__ __launch_bounds__(kThreads) void enter_slices(const __grid_constant__ GradArgs a)
{
    const int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    if (i >= a.s.count) return;
    const int64_t row = pick(a.s, i);
    if (is_row(a.s, row))
        a.link[i] = atomicExch(&a.head[row], (int)i);
    else if (a.s.bad)
        report_bad(a.s.bad, i, row);
}

/* For a sort: the row of each slice, s.m where there is none. */
__global__ __launch_bounds__(kThreads) void list_keys(const __grid_constant__ GradArgs a, int32_t *key,
                                                      int32_t *slice)
{
    const int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    if (i >= a.s.count) return;
    const int64_t row = pick(a.s, i);
    key[i] = (int32_t)(is_row(a.s, row) ? row : a.s.m);
    slice[i] = (int32_t)i;
    if (a.s.bad && !is_row(a.s, row)) report_bad(a.s.bad, i, row);
}

__global__ __launch_bounds__(kThreads) void find_heads(const __grid_constant__ GradArgs a)
{
    const int64_t p = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    if (p < a.s.count && a.key[p] < a.s.m && (p == 0 || a.key[p - 1] != a.key[p])) a.head[a.key[p]] = (int)p;
}

/* The slices of one row, ascending, for a warp. */
struct Walk {
    int at;    /* sorted: the index in the list                   */
    int held;  /* a list: this lane's slice, or kNone             */
    bool many; /* more than the lanes hold: the rows are searched */
};

__device__ inline int next_slice(const GradArgs &a, int64_t row, int before, Walk &w, int lane)
{
    if (!a.link) return ++w.at < a.s.count && a.key[w.at] == row ? a.slice[w.at] : kNone;
    if (!w.many)
        return (int)__reduce_min_sync(
            kFull, (unsigned)(w.held > before ? w.held : kNone)); /* kNone is the largest */
    for (int64_t from = (int64_t)before + 1; from < a.s.count; from += kWarp) {
        const bool here = from + lane < a.s.count && pick(a.s, from + lane) == row;
        const unsigned mask = __ballot_sync(kFull, here);
        if (mask) return (int)from + __ffs((int)mask) - 1;
    }
    return kNone;
}

__device__ inline int first_slice(const GradArgs &a, int64_t row, Walk &w, int lane)
{
    int i = a.head[row];
    if (i == kNone) return kNone;
    if (!a.link) return a.slice[w.at = i];
    w = {0, kNone, false};
    for (int t = 0; i != kNone && !w.many; t++, i = a.link[i]) {
        if (lane == t) w.held = i;
        w.many = t == kWarp;
    }
    return next_slice(a, row, kNone, w, lane);
}

/* grad[e] := sum of g[i, idx[e]] over the slices i of e's row, straight from memory.
 *
 * Mapping   kUnit threads to a row of the operand, kInFlight entries of a thread at a time.
 * Bytes     8 per entry of a picked row, 4 per other entry, and the sectors of g that hold the columns.
 * Order     ascending slices, in f32: no atomics.
 * Limit     DRAM: 68 us for the 260 MB of 5000 slices of 1000 entries and 10000 columns, 84 % of what reads
 *           alone reach (H200, 2026-11-21). */
template <int kUnit>
__global__ __launch_bounds__(kThreads) void grad_gather(const __grid_constant__ GradArgs a)
{
    const int64_t row = (int64_t)blockIdx.x * (kThreads / kUnit) + threadIdx.x / kUnit;
    const int thread = threadIdx.x % kUnit, lane = threadIdx.x % kWarp;
    if (row >= a.s.m) return;
    const int64_t begin = a.s.ptr[row], count = a.s.ptr[row + 1] - begin;
    const int32_t *idx = a.s.idx + begin;
    float *grad = a.grad + begin;
    Walk w;
    int i = first_slice(a, row, w, lane);
    if (i == kNone)
        for (int64_t e = thread; e < count; e += kUnit) grad[e] = 0.0f;
    for (bool first = true; i != kNone; first = false, i = next_slice(a, row, i, w, lane)) {
        const float *line = a.g + i * a.rs;
        for (int64_t e = thread; e < count; e += kUnit * kInFlight) {
            float x[kInFlight];
#pragma unroll
            for (int u = 0; u < kInFlight; u++)
                x[u] = e + u * kUnit < count ? __ldg(line + __ldg(idx + e + u * kUnit) * a.cs) : 0.0f;
#pragma unroll
            for (int u = 0; u < kInFlight; u++)
                if (e + u * kUnit < count) grad[e + u * kUnit] = first ? x[u] : grad[e + u * kUnit] + x[u];
        }
    }
}

/* One value for all: a sum in double for each slice, by a warp. */
__global__ __launch_bounds__(kThreads) void sum_slices(const __grid_constant__ GradArgs a)
{
    const int lane = threadIdx.x % kWarp;
    for (int64_t i = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp; i < a.s.count;
         i += (int64_t)gridDim.x * kWarps) {
        const int64_t row = pick(a.s, i);
        const Entries e = entries_of(a.s, row);
        double sum = 0.0;
#pragma unroll 4
        for (int64_t p = e.begin + lane; p < e.end; p += kWarp)
            sum += __ldg(a.g + i * a.rs + a.s.idx[p] * a.cs);
#pragma unroll
        for (int d = kWarp / 2; d > 0; d /= 2) sum += __shfl_xor_sync(kFull, sum, d);
        if (lane == 0) a.partial[i] = sum;
        if (lane == 0 && a.s.bad && !is_row(a.s, row)) report_bad(a.s.bad, i, row);
    }
}

__global__ __launch_bounds__(kSumThreads) void sum_partials(const __grid_constant__ GradArgs a)
{
    __shared__ double sums[kSumThreads];
    double sum = 0.0;
    for (int64_t i = threadIdx.x; i < a.s.count; i += kSumThreads) sum += a.partial[i];
    sums[threadIdx.x] = sum;
    for (int half = kSumThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *a.grad = (float)sums[0];
}

/* Up to so many rows in the list they are linked; a longer list is sorted, in some six launches. */
constexpr int64_t kLinked = 8192;

/* By row; m stands for one that is outside. */
PairSort<int32_t> sort_of(int64_t m, int64_t count)
{
    return {count, m + 1};
}

Launch grid(int64_t blocks, size_t shared, cudaStream_t stream)
{
    return {dim3(unsigned(max<int64_t>(min<int64_t>(blocks, INT32_MAX), 1))),
            dim3(kThreads),
            shared,
            1,
            false,
            stream};
}

/* The slices sorted by row, stably. */
lac_status_t sort_slices(GradArgs &a, char *at, cudaStream_t stream)
{
    const int64_t count = a.s.count, list = round_up(4 * count, 256);
    int32_t *keys = (int32_t *)at, *slices = (int32_t *)(at + list),
            *sorted_keys = (int32_t *)(at + 2 * list), *sorted = (int32_t *)(at + 3 * list);
    list_keys<<<(unsigned)ceil_div(count, kThreads), kThreads, 0, stream>>>(a, keys, slices);
    if (cudaPeekAtLastError() != cudaSuccess) return LAC_ERR_VENDOR;
    const lac_status_t status =
        sort_of(a.s.m, count).run(at + 4 * list, keys, sorted_keys, slices, sorted, stream);
    if (status != LAC_OK) return status;
    a.key = sorted_keys;
    a.slice = sorted;
    a.link = nullptr;
    return LAC_OK;
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_slice_grad_bytes(int64_t m, int64_t count)
{
    using namespace lacuna;
    const int64_t heads = round_up(4 * m, 256), list = round_up(4 * count, 256);
    return count <= kLinked ? heads + list
                            : heads + 4 * list + round_up((int64_t)sort_of(m, count).bytes(), 256);
}

extern "C" lac_status_t lac_cuda_slice_grad(const lac_cuda_slice_t *s, const float *g, int64_t rs, int64_t cs,
                                            float *grad, void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(s->m) || !fits(s->n) || !fits(s->count)) return LAC_ERR_EXTENT;
    cudaStream_t q = (cudaStream_t)stream;
    char *rest = (char *)workspace + round_up(4 * s->m, 256);
    GradArgs a = {*s, g, rs, cs, grad, (int32_t *)workspace, (int32_t *)rest, nullptr, nullptr, nullptr};
    lac_status_t status = LAC_OK;
    if (cudaMemsetAsync(a.head, 0xff, 4 * (size_t)s->m, q) != cudaSuccess) return LAC_ERR_VENDOR;
    if (s->count > kLinked) status = sort_slices(a, rest, q);
    if (status == LAC_OK && s->count > 0) {
        const Launch l = grid(ceil_div(s->count, kThreads), 0, q);
        status = a.link ? launch(enter_slices, l, a) : launch(find_heads, l, a);
    }
    if (status != LAC_OK || s->nnz == 0 || s->m == 0) return status;
    return s->nnz / s->m < kBlockFrom ? launch(grad_gather<kWarp>, grid(ceil_div(s->m, kWarps), 0, q), a)
                                      : launch(grad_gather<kThreads>, grid(s->m, 0, q), a);
}

extern "C" int64_t lac_cuda_slice_sum_bytes(int64_t count)
{
    return 8 * count;
}

extern "C" lac_status_t lac_cuda_slice_sum(const lac_cuda_slice_t *s, const float *g, int64_t rs, int64_t cs,
                                           float *sum, void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(s->m) || !fits(s->n) || !fits(s->count)) return LAC_ERR_EXTENT;
    const GradArgs a = {*s, g, rs, cs, sum, nullptr, nullptr, nullptr, nullptr, (double *)workspace};
    lac_status_t status = LAC_OK;
    if (s->count > 0)
        status = launch(sum_slices, grid(ceil_div(s->count, kWarps), 0, (cudaStream_t)stream), a);
    const Launch last = {dim3(1), dim3(kSumThreads), 0, 1, false, (cudaStream_t)stream};
    return status == LAC_OK ? launch(sum_partials, last, a) : status;
}
