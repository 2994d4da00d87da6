/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A product of two dense matrices at the entries of a CSR pattern alone: one dot product for each. */
#include "cuda_kernels.h"
#include "common/device.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kBlocks = 4; /* of a multiprocessor: 64 registers, so that nothing is spilled */
/* Segments of a row: two where B is larger than kNear, and as many as there are kSegment bytes of B for its
 * entries. At 4096^2, 10 %, k = 512, 263, 246, 241 us for 1, 4, 8; at k = 32, 23.4, 24.7, 26.8 (H200,
 * 2026-11-21). */
constexpr int64_t kNear = 3 << 20, kSegment = 100 << 10;
constexpr int kUneven = 8; /* times the average and kFew: from there on a row is very long */
constexpr int kFew = 128;
constexpr int kTeamsFrom = 256, kTeamLanes = 16; /* k beyond, and lanes, where each team has a row */
constexpr int kDense = 16;    /* one column in so many: from there on rows share enough without    */
constexpr int kFewLanes = 32; /* the same, for four lanes to an entry                              */
constexpr int kShare = 64;    /* entries of a warp whose rows are not walked side by side     */
constexpr int kPieces = 16;   /* of k, whose sums are added up before they are added to others */

struct SampledArgs {
    lac_cuda_sampled_t p;
    const int64_t *ptr;
    const int32_t *idx;
    int64_t nnz;
    int row_blocks, segments; /* equal parts of each row */
    int ldb;                  /* for walk_row, which needs it in 32 bits */
};

/* The row, from `row` on, that holds entry e: 32 ways at a time, by a warp. */
__device__ inline int64_t row_of(const int64_t *ptr, int64_t row, int64_t rows, int64_t e, int lane)
{
    int64_t end = rows - 1; /* ptr[row] <= e, and row <= answer <= end */
    if (ptr[row + 1] > e) return row;
    for (row++; row < end;) {
        const int64_t step = ceil_div(end - row + 1, kWarp), at = row + (lane + 1) * step;
        const unsigned beyond = __ballot_sync(kFull, at > end || ptr[at] > e);
        const int part = __ffs((int)beyond) - 1;
        end = min(end, row + (part + 1) * step - 1);
        row += part * step;
    }
    return row;
}

__device__ inline void store_value(const lac_cuda_sampled_t &p, int64_t e, float sum)
{
    p.values[e] = p.beta == 0.0f ? p.alpha * sum : fmaf(p.beta, p.values[e], p.alpha * sum);
}

/* Pieces of four along k, of which a lane has every kLanes-th; zeros from k on. */
template <int kLanes, int kVec>
__device__ inline void load_line(float4 (&x)[kVec], const float *line, int l, int k, bool there)
{
#pragma unroll
    for (int v = 0; v < kVec; v++)
        x[v] = there && l + v * 4 * kLanes < k ? __ldg((const float4 *)(line + v * 4 * kLanes))
                                               : make_float4(0, 0, 0, 0);
}

/* What a lane's entry gets from one turn: each team of kLanes lanes takes entries turn .. turn + kUnroll - 1
 * of those whose columns its lanes hold, a piece of k from k0 on. */
template <int kLanes, int kVec, int kUnroll>
__device__ inline float take_turn(const SampledArgs &s, const float4 (&a)[kVec], int column, int turn, int k0)
{
    const int member = threadIdx.x % kLanes, l = k0 + 4 * member;
    float4 b[kUnroll][kVec];
    float mine = 0.0f;
#pragma unroll
    for (int u = 0; u < kUnroll; u++) {
        const int c = __shfl_sync(kFull, column, turn + u, kLanes);
        load_line<kLanes>(b[u], s.p.b + (int64_t)c * s.ldb + l, l, (int)s.p.k, c >= 0);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; u++) {
        float sum = 0.0f;
#pragma unroll
        for (int v = 0; v < kVec; v++) {
            sum = fmaf(a[v].x, b[u][v].x, sum);
            sum = fmaf(a[v].y, b[u][v].y, sum);
            sum = fmaf(a[v].z, b[u][v].z, sum);
            sum = fmaf(a[v].w, b[u][v].w, sum);
        }
#pragma unroll
        for (int d = kLanes / 2; d > 0; d /= 2) sum += __shfl_xor_sync(kFull, sum, d);
        if (member == turn + u) mine = sum;
    }
    return mine;
}

/* `count` entries of one row from `begin` on, by a warp: kLanes lanes to an entry, each kVec pieces of four
 * along k, kUnroll entries in flight. 32 entries at a time: a lane holds the column and the sum of one of
 * them, of those that its team works on; k goes in as many pieces as it takes, one where kOnce. */
template <int kLanes, int kVec, int kUnroll, bool kOnce>
__device__ inline void walk_row(const SampledArgs &s, int64_t row, int64_t begin, int count)
{
    constexpr int kTeams = kWarp / kLanes, kPiece = 4 * kLanes * kVec;
    const int lane = threadIdx.x % kWarp, l = lane % kLanes * 4, k = (int)s.p.k;
    const int place = lane % kLanes * kTeams + lane / kLanes; /* among the 32 */
    const int32_t *idx = s.idx + begin;
    const float *line = s.p.a + row * s.p.lda + l;
    int next = place < count ? __ldg(idx + place) : -1;
    float4 a[kVec];
    if (kOnce) load_line<kLanes>(a, line, l, k, true);
    for (int first = 0; first < count; first += kWarp) {
        const int column = next, here = min(kWarp, count - first), at = first + place;
        next = at + kWarp < count ? __ldg(idx + at + kWarp) : -1;
        float mine = 0.0f, total = 0.0f;
        for (int k0 = 0; k0 < (kOnce ? 1 : k); k0 += kPiece) {
            if (!kOnce && k0 % (kPieces * kPiece) == 0) total += mine, mine = 0.0f;
            if (!kOnce) load_line<kLanes>(a, line + k0, k0 + l, k, true);
            for (int turn = 0; turn * kTeams < here; turn += kUnroll)
                mine += take_turn<kLanes, kVec, kUnroll>(s, a, column, turn, k0);
        }
        if (at < count) store_value(s.p, begin + at, kOnce ? mine : total + mine);
    }
}

/* values[e] := beta values[e] + alpha sum over l of A[i, l] B[l, j] for the entries e = (i, j) of each row i.
 *
 * Mapping   a warp to a segment of a row. The warps of all rows walk from left to right at the same time,
 *           so that a column of B, in the first-level cache, serves other rows on its way: 64 warps at 10 %
 *           share it six times.
 * Layout    lines of A and B 16-byte aligned, k a multiple of 4.
 * Bytes     4 k per entry, of B, from cache; 8 per entry, of 32 at a time; A once a segment.
 * Order     lane by lane along k, lanes by a butterfly, pieces of k in groups: the same bits whatever the
 *           cut.
 * Limit     the way from L2, less what the first-level cache keeps: 4096^2, 1 %, k = 512, 343 MB of columns
 *           in 39 us, 8.8 TB/s, of which 14 % are hits (H200, 2026-11-21). More loads in flight cost
 *           resident warps, and with them the sharing. */
template <int kLanes, int kVec, int kUnroll, bool kOnce>
__global__ __launch_bounds__(kThreads, kBlocks) void sddmm_rows(const __grid_constant__ SampledArgs s)
{
    dependency_wait();
    const int segment = (int)blockIdx.x / s.row_blocks,
              row = ((int)blockIdx.x - segment * s.row_blocks) * kWarps + (int)threadIdx.x / kWarp;
    if (row >= s.p.m) return;
    const int64_t begin = s.ptr[row];
    const int length = (int)(s.ptr[row + 1] - begin), step = (length + s.segments - 1) / s.segments;
    const int count = min(step, length - segment * step);
    if (count > 0) walk_row<kLanes, kVec, kUnroll, kOnce>(s, row, begin + segment * step, count);
}

/* The same with a row for each team of kLanes lanes, where few rows have a column: twice the rows stand side
 * by side, and more of them share what comes from L2. 36.5 instead of 39.2 us for 4096^2, 1 %, k = 512, and
 * 206 instead of 217 for 10000^2; at 10 % 260 instead of 243 (H200, 2026-11-21). */
template <int kLanes, int kVec, int kUnroll>
__global__ __launch_bounds__(kThreads, kBlocks) void sddmm_teams(const __grid_constant__ SampledArgs s)
{
    constexpr int kTeams = kThreads / kLanes, kPiece = 4 * kLanes * kVec;
    dependency_wait();
    const int segment = (int)blockIdx.x / s.row_blocks, member = threadIdx.x % kLanes, k = (int)s.p.k,
              row = ((int)blockIdx.x - segment * s.row_blocks) * kTeams + (int)threadIdx.x / kLanes;
    const bool there = row < s.p.m;
    int64_t begin = there ? s.ptr[row] : 0;
    const int length = there ? (int)(s.ptr[row + 1] - begin) : 0,
              step = (length + s.segments - 1) / s.segments, count = min(step, length - segment * step),
              longest = __reduce_max_sync(kFull, count); /* of the warp's: lanes turn together */
    begin += segment * step;
    const float *line = s.p.a + (int64_t)(there ? row : 0) * s.p.lda + 4 * member;
    for (int first = 0; first < longest; first += kLanes) {
        const int at = first + member, column = at < count ? __ldg(s.idx + begin + at) : -1;
        float mine = 0.0f, total = 0.0f;
        for (int k0 = 0; k0 < k; k0 += kPiece) {
            if (k0 % (kPieces * kPiece) == 0) total += mine, mine = 0.0f;
            float4 a[kVec];
            load_line<kLanes>(a, line + k0, k0 + 4 * member, k, true);
            for (int turn = 0; turn < min(kLanes, longest - first); turn += kUnroll)
                mine += take_turn<kLanes, kVec, kUnroll>(s, a, column, turn, k0);
        }
        if (at < count) store_value(s.p, begin + at, total + mine);
    }
}

/* The same for rows of very different lengths: equal shares of all entries, whatever rows they fall into. */
template <int kLanes, int kVec, int kUnroll, bool kOnce>
__global__ __launch_bounds__(kThreads, kBlocks - 1) void sddmm_shares(const __grid_constant__ SampledArgs s)
{
    dependency_wait();
    int64_t e = ((int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp) * kShare, row = 0;
    const int64_t end = min(s.nnz, e + kShare);
    while (e < end) {
        row = row_of(s.ptr, row, s.p.m, e, threadIdx.x % kWarp);
        const int64_t row_end = min(end, s.ptr[row + 1]);
        walk_row<kLanes, kVec, kUnroll, kOnce>(s, row, e, (int)(row_end - e));
        e = row_end;
    }
}

/* A warp to an entry, any k and alignment. */
__global__ __launch_bounds__(kThreads) void sddmm_any(const __grid_constant__ SampledArgs s)
{
    dependency_wait();
    const lac_cuda_sampled_t &p = s.p;
    const int lane = threadIdx.x % kWarp;
    int64_t e = ((int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp) * kShare;
    const int64_t end = min(s.nnz, e + kShare);
    int64_t row = 0;
    for (; e < end; e++) {
        row = row_of(s.ptr, row, p.m, e, lane);
        const float *a = p.a + row * p.lda, *b = p.b + (int64_t)s.idx[e] * p.ldb;
        float sum = 0.0f;
        for (int64_t begin = 0; begin < p.k; begin += kWarp * kLongestRun) {
            const int64_t stop = min(p.k, begin + kWarp * kLongestRun);
            float run = 0.0f;
#pragma unroll 8
            for (int64_t l = begin + lane; l < stop; l += kWarp) run = fmaf(__ldg(a + l), __ldg(b + l), run);
            sum += run;
        }
#pragma unroll
        for (int d = kWarp / 2; d > 0; d /= 2) sum += __shfl_xor_sync(kFull, sum, d);
        if (lane == 0) store_value(p, e, sum);
    }
}

template <int kLanes, int kVec, int kUnroll, bool kOnce = true>
lac_status_t launch_held(const SampledArgs &s, const Launch &l, bool shares)
{
    return shares ? launch(sddmm_shares<kLanes, kVec, kUnroll, kOnce>, l, s)
                  : launch(sddmm_rows<kLanes, kVec, kUnroll, kOnce>, l, s);
}

/* Equal parts of each row; where rows are few, more of them, until every multiprocessor has some. */
int64_t segments_of(const lac_cuda_sampled_t *p, int64_t average, int64_t row_blocks)
{
    const int64_t columns = 4 * p->k * average, wanted = ceil_div(3 * current_device().sms, row_blocks);
    const int64_t parts = max<int64_t>(4 * p->n * p->k > kNear ? 2 : 1, columns / kSegment);
    return min<int64_t>(1024, max(wanted, parts));
}

/* Parts of some kTeamLanes entries, so many that the last of the blocks that are resident at once are not
 * few: at 1 and 2 % of 4096^2 parts that fill 1.5 times what is resident cost 5 to 15 % more than those that
 * fill it once or twice. */
int64_t team_segments_of(int64_t average, int64_t row_blocks)
{
    const int64_t resident = kBlocks * current_device().sms;
    int64_t parts = ceil_div(average, kTeamLanes);
    for (int more = 0; more < 4; more++, parts++) {
        const int64_t blocks = row_blocks * parts;
        if (10 * blocks >= 9 * round_up(blocks, resident)) break;
    }
    return min<int64_t>(1024, max<int64_t>(1, parts));
}

lac_status_t launch_teams(SampledArgs s, Launch l, int64_t average)
{
    const int64_t row_blocks = ceil_div(s.p.m, kThreads / kTeamLanes);
    s.row_blocks = (int)row_blocks;
    s.segments = (int)team_segments_of(average, row_blocks);
    if (!fits(row_blocks * s.segments)) return LAC_ERR_EXTENT;
    l.grid = dim3(unsigned(row_blocks * s.segments));
    return launch(sddmm_teams<kTeamLanes, 2, 4>, l, s);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_sddmm(const lac_cuda_sampled_t *p, const lac_cuda_csr_t *pattern,
                                       lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(p->m) || !fits(p->n) || !fits(p->k)) return LAC_ERR_EXTENT;
    if (pattern->nnz == 0) return LAC_OK;
    const int64_t row_blocks = ceil_div(p->m, kWarps), average = pattern->nnz / p->m;
    const int64_t shares = ceil_div(pattern->nnz, (int64_t)kShare * kWarps);
    const bool held = p->k % 4 == 0 && p->lda % 4 == 0 && p->ldb % 4 == 0 && fits(p->ldb) &&
                      aligned(p->a, 16) && aligned(p->b, 16);
    const bool uneven = p->longest > kUneven * (average + kFew);
    SampledArgs s = {*p, pattern->ptr, pattern->idx, pattern->nnz, (int)row_blocks, 1, (int)p->ldb};
    if (held && !uneven) s.segments = (int)segments_of(p, average, row_blocks);
    const int64_t blocks = held && !uneven ? row_blocks * s.segments : shares;
    if (!fits(blocks)) return LAC_ERR_EXTENT;
    const Launch l = {dim3(unsigned(blocks)), dim3(kThreads), 0, 1, true, (cudaStream_t)stream};
    if (!held) return launch(sddmm_any, l, s);
    if (p->k > kTeamsFrom && !uneven && average < p->n / kDense) return launch_teams(s, l, average);
    /* Four lanes to an entry where columns come from the first-level cache: 21.5 instead of 23.2 us at
     * 4096^2, 10 %; 7.6 instead of 7.2 at 2 % (H200, 2026-11-21). */
    if (p->k <= 32 && average >= p->n / kFewLanes) return launch_held<4, 2, 2>(s, l, uneven);
    if (p->k <= 32) return launch_held<8, 1, 4>(s, l, uneven);
    if (p->k <= 64) return launch_held<8, 2, 2>(s, l, uneven);
    if (p->k <= 128) return launch_held<8, 4, 1>(s, l, uneven);
    if (p->k <= 256) return launch_held<16, 4, 1>(s, l, uneven);
    if (p->k <= 512) return launch_held<32, 4, 1>(s, l, uneven);
    return launch_held<32, 4, 1, false>(s, l, uneven);
}
