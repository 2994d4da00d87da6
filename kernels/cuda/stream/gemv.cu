/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The streamed product of up to eight rows by a W along k, in one launch: warps read neighbouring columns of
 * W from one end to the other, by multiply-adds alone. */
#include "output.cuh"
#include "stream.cuh"

#include <type_traits>

namespace lacuna
{
namespace streamed
{
namespace
{

constexpr int kOfLane = 4;             /* neighbouring k of a step                              */
constexpr int kLine = kWarp * kOfLane; /* k of a step of a warp                                 */
constexpr int kWarps = 4;              /* of a block, or                                        */
constexpr int kMostWarps = 16;         /* ... as many, where more share its columns             */
constexpr int kWarpsAtOnce = 16;       /* of a multiprocessor, at least                         */
constexpr int kAround = 3;             /* steps that a warp's start and end take                */
constexpr int kFewest = 2;             /* rows, up to which kWarps share columns whatever else, */
constexpr int kEachSteps = 8;          /* ... if each of them has as many steps; and            */
constexpr int kDeepest = 28672;        /* k, up to which sums of one are as exact as cuBLAS's   */

/* Columns of a warp, and steps that are on their way: found by a sweep over ten shapes of W (H200,
 * 2026-11-28), in which eight rows had no registers for more. */
template <int kRows> struct Config;
template <> struct Config<1> {
    static constexpr int kColumns = 2, kAhead = 3;
};
template <> struct Config<2> {
    static constexpr int kColumns = 2, kAhead = 4;
};
template <> struct Config<4> {
    static constexpr int kColumns = 2, kAhead = 3;
};
template <> struct Config<8> {
    static constexpr int kColumns = 4, kAhead = 1;
};

struct GemvArgs {
    Output out;
    Gate gate;
    int along_bits;  /* 2^along_bits warps of a block share columns: steps go round them, */
    int across_bits; /* ... and 2^across_bits such groups are side by side                */
};

/* A lane's part of a step: of each column of W, and of each row of S, four neighbouring k. */
template <int kRows> struct Step {
    float4 w[Config<kRows>::kColumns], s[kRows];

    /* From k on, where it is less than all; column j and row 0 are the first. Columns and rows that are not
     * there are the last one again. */
    __device__ inline void read(const Output &o, int j, int k)
    {
        const bool live = k < o.p.k;
#pragma unroll
        for (int q = 0; q < Config<kRows>::kColumns; q++) {
            const float *const from = o.p.w + (int64_t)min(j + q, o.p.n - 1) * o.p.wjs + k;
            w[q] = live ? load_once4(from) : make_float4(0, 0, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < kRows; i++) {
            const float *const from = (const float *)o.s + min(i, o.p.m - 1) * o.rs + k;
            s[i] = live ? __ldg((const float4 *)from) : make_float4(0, 0, 0, 0);
        }
    }
};

__device__ inline float multiply_add(float4 x, float4 y, float sum)
{
    return fmaf(x.w, y.w, fmaf(x.z, y.z, fmaf(x.y, y.y, fmaf(x.x, y.x, sum))));
}

/* out := beta out + alpha S W, and the epilogue,  S[m, k] of any density, up to kRows rows, W[k, n] by
 * columns.
 *
 * Mapping   grid (groups of columns). A warp has kColumns neighbouring columns, a lane four neighbouring k of
 *           each 128; `along` warps of a block share columns and take steps in turn.
 * Layout    W along k, columns and rows of S of 16 aligned bytes at a time; any output.
 * Bytes     W once; S once for each warp, from cache.
 * Order     a lane's k ascending, up to two rows in runs of kAhead steps, since a vendor's product of a
 *           vector is more accurate; lanes as a tree, warps four by four.
 * Limit     DRAM: 1 x 4096 x 16384 in 60 us, at 4.5 TB/s (H200, 2026-11-28). */
template <int kRows>
__global__ __launch_bounds__(kMostWarps *kWarp) void stream_gemv(const __grid_constant__ GemvArgs a)
{
    constexpr int kColumns = Config<kRows>::kColumns, kAhead = Config<kRows>::kAhead;
    constexpr bool kRuns = kRows <= kFewest;
    __shared__ float sums[kMostWarps][kRows][kColumns];
    const GemmArgs &p = a.out.p;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int along = 1 << a.along_bits, columns = kColumns << a.across_bits; /* of the block */
    const int j0 = (int)blockIdx.x * columns, j = j0 + (warp >> a.along_bits) * kColumns;
    const int steps = (int)ceil_div(p.k, kLine);
    if (!begins(a.gate)) return;
    dependents_launch();
    int next = warp & (along - 1), step = next;
    Step<kRows> at[kAhead];
    const auto read = [&](int u) {
        if (next < steps) at[u].read(a.out, j, next * kLine + lane * kOfLane);
        next += along;
    };
#pragma unroll
    for (int u = 0; u < kAhead; u++) read(u);
    float sum[kRows][kColumns] = {}, total[kRows][kColumns] = {};
    while (step < steps) {
#pragma unroll
        for (int u = 0; u < kAhead; u++) {
            if (step >= steps) break;
#pragma unroll
            for (int i = 0; i < kRows; i++)
#pragma unroll
                for (int q = 0; q < kColumns; q++)
                    sum[i][q] = multiply_add(at[u].s[i], at[u].w[q], sum[i][q]);
            read(u);
            step += along;
        }
        if constexpr (kRuns) {
#pragma unroll
            for (int i = 0; i < kRows; i++)
#pragma unroll
                for (int q = 0; q < kColumns; q++) total[i][q] += sum[i][q], sum[i][q] = 0.0f;
        }
    }
#pragma unroll
    for (int i = 0; i < kRows; i++)
#pragma unroll
        for (int q = 0; q < kColumns; q++) {
            const float x = sum_of_warp(kRuns ? total[i][q] : sum[i][q]);
            if (lane == 0) sums[warp][i][q] = x;
        }
    dependency_wait(); /* if not before */
    __syncthreads();
    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    for (int t = (int)threadIdx.x; t < kRows * columns; t += (int)blockDim.x) {
        const int c = t & (columns - 1), i = t / kColumns >> a.across_bits,
                  first = c / kColumns << a.along_bits;
        const auto of_warp = [&](int w) { return w < along ? sums[first + w][i][c % kColumns] : 0.0f; };
        float x = 0.0f;
        for (int w = 0; w < along; w += 4)
            x += (of_warp(w) + of_warp(w + 1)) + (of_warp(w + 2) + of_warp(w + 3));
        if (i < p.m && j0 + c < p.n) store_sum(p, i, j0 + c, x, alpha, beta);
    }
}

/* Of a power of two. */
int bits_of(int x)
{
    int bits = 0;
    while (x >> bits > 1) bits++;
    return bits;
}

/* Steps of each warp where `along` share columns, and how often all places for warps are taken. */
int64_t steps_of_warp(int64_t k, int along)
{
    return ceil_div(ceil_div(k, kLine), along);
}
int64_t turns_of(int64_t warps, int sms)
{
    return ceil_div(warps, (int64_t)sms * kWarpsAtOnce);
}

/* Warps that share columns, of which there are so many groups, so that all are busy to the end. Up to two
 * rows four, where k is long: 1 x 4096 x 11008 46 us with one, 42 with four (H200, 2026-11-28). */
int warps_along(int rows, int64_t groups, int64_t k, int sms)
{
    const auto cost = [&](int along) {
        return turns_of(groups * along, sms) * (steps_of_warp(k, along) + kAround);
    };
    const int64_t steps = steps_of_warp(k, 1);
    int best = 1;
    for (int along = 2; along <= kMostWarps && 2 * along <= steps; along *= 2)
        if ((rows <= kFewest && along <= kWarps && kEachSteps * along <= steps) || cost(along) < cost(best))
            best = along;
    return best;
}

/* use(rows) with the rows that a kernel is made for, as a constant. */
template <typename Use> auto for_rows(int64_t m, Use use)
{
    return m == 1   ? use(std::integral_constant<int, 1>())
           : m == 2 ? use(std::integral_constant<int, 2>())
           : m <= 4 ? use(std::integral_constant<int, 4>())
                    : use(std::integral_constant<int, 8>());
}

template <int kRows> lac_status_t launch_rows(GemvArgs a, cudaStream_t stream)
{
    constexpr int kColumns = Config<kRows>::kColumns;
    const GemmArgs &p = a.out.p;
    const int along = warps_along(kRows, ceil_div(p.n, kColumns), p.k, current_device().sms);
    a.along_bits = bits_of(along);
    a.across_bits = along > kWarps ? 0 : bits_of(kWarps / along);
    const int warps = along << a.across_bits, columns = kColumns << a.across_bits;
    const Launch l = {
        dim3((unsigned)ceil_div(p.n, columns)), dim3((unsigned)(warps * kWarp)), 0, 1, true, stream};
    return launch(stream_gemv<kRows>, l, a);
}

/* Whether tensor cores are faster: 8 x 4096 x 11008 takes 53 us by small.cu, 57 here; 8 x 11008 x 4096 56
 * and 52 (H200, 2026-11-28). */
bool is_wide(const lac_cuda_product_t *p)
{
    constexpr int64_t kFar = 20 << 20; /* elements of W */
    return p->m > 4 && p->n >= p->k && p->n * p->k > kFar;
}

} // namespace

bool takes_gemv(const lac_cuda_product_t *p, const lac_cuda_dense_t *s)
{
    return !is_wide(p) && p->m <= kFewRows && p->order == LAC_CUDA_COLS && lines_of(p) == kAligned &&
           p->k % kOfLane == 0 && p->k <= kDeepest && s->dt == LAC_F32 && s->cs == 1 &&
           (p->m == 1 || s->rs % kOfLane == 0) && aligned(s->data, 16);
}

int64_t gemv_rounds(const lac_cuda_product_t *p, int sms)
{
    return for_rows(p->m, [&](auto rows) {
        constexpr int kRows = decltype(rows)::value;
        const int64_t groups = ceil_div(p->n, Config<kRows>::kColumns);
        const int along = warps_along(kRows, groups, p->k, sms);
        return turns_of(groups * along, sms) * ceil_div(steps_of_warp(p->k, along), Config<kRows>::kAhead);
    });
}

lac_status_t multiply_gemv(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Gate &gate,
                           cudaStream_t stream)
{
    const GemvArgs a = {output_of(p, s), gate, 0, 0};
    return for_rows(p->m, [&](auto rows) { return launch_rows<decltype(rows)::value>(a, stream); });
}

} // namespace streamed
} // namespace lacuna
