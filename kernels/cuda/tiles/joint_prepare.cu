/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The preparation of both operands for the joint product by tiles: which k each group of lines has, and the
 * splits of these; and a sample that says whether that product pays. */
#include "tiles.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kSpans = 4, kDeep = kSpans * kSpan; /* that a block packs */
constexpr int kHalf = kDeep / kWarps;             /* k that a warp marks */
static_assert(kHalf == 16 && kSpan == 2 * kHalf && kGroupLines == kWarp,
              "two warps mark a span, a lane a line");

/* Line i, k: at x[i * ls + k * ks]. */
struct JointOperand {
    const float *x;
    int64_t ls, ks;
    int lines;
    JointPacked packed;
};

struct JointPackArgs {
    JointOperand of[2];
    int k, across; /* blocks along k */
    int first;     /* blocks of the first operand */
    TilesChoice choice;
};

/* Four neighbours along k, or four lines, at once. */
__device__ inline bool fours_along_k(const JointOperand &o, int k)
{
    return o.ks == 1 && o.ls % 4 == 0 && k % 4 == 0 && ((uintptr_t)o.x & 15) == 0;
}
__device__ inline bool fours_along_lines(const JointOperand &o)
{
    return o.ls == 1 && o.ks % 4 == 0 && o.lines % 4 == 0 && ((uintptr_t)o.x & 15) == 0;
}

using Part = float[kDeep][kGroupLines + 1];

/* The block's part of an operand, by k; zeros where there is nothing. */
__device__ inline void load_part(const JointOperand &o, int count, int line0, int k0, Part &part)
{
    constexpr int kFours = kDeep * kGroupLines / 4 / kThreads, kOnes = 4 * kFours;
    const int t = (int)threadIdx.x;
    if (fours_along_k(o, count)) {
        float4 x[kFours];
        const int k = t % kWarp * 4;
#pragma unroll
        for (int u = 0; u < kFours; u++) {
            const int line = line0 + u * kWarps + t / kWarp;
            x[u] = line < o.lines && k0 + k < count ? __ldg((const float4 *)(o.x + line * o.ls + k0 + k))
                                                    : make_float4(0, 0, 0, 0);
        }
#pragma unroll
        for (int u = 0; u < kFours; u++) {
            float(*const to)[kGroupLines + 1] = part + k;
            const int line = u * kWarps + t / kWarp;
            to[0][line] = x[u].x, to[1][line] = x[u].y, to[2][line] = x[u].z, to[3][line] = x[u].w;
        }
    } else if (fours_along_lines(o)) {
        float4 x[kFours];
        const int line = t % 8 * 4;
#pragma unroll
        for (int u = 0; u < kFours; u++) {
            const int k = k0 + u * (kThreads / 8) + t / 8;
            x[u] = line0 + line < o.lines && k < count
                       ? __ldg((const float4 *)(o.x + line0 + line + k * o.ks))
                       : make_float4(0, 0, 0, 0);
        }
#pragma unroll
        for (int u = 0; u < kFours; u++) {
            float *const to = part[u * (kThreads / 8) + t / 8] + line;
            to[0] = x[u].x, to[1] = x[u].y, to[2] = x[u].z, to[3] = x[u].w;
        }
    } else {
        const bool along_lines = o.ls == 1;
        float x[kOnes];
#pragma unroll
        for (int u = 0; u < kOnes; u++) {
            const Cell<int> at = cell_of(u * kThreads + t, kGroupLines, kDeep, !along_lines);
            const int line = line0 + at.row, k = k0 + at.column;
            x[u] = line < o.lines && k < count ? __ldg(o.x + line * o.ls + k * o.ks) : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < kOnes; u++) {
            const Cell<int> at = cell_of(u * kThreads + t, kGroupLines, kDeep, !along_lines);
            part[at.column][at.row] = x[u];
        }
    }
}

/* marks and lines of a group's spans, of both operands.
 *
 * Mapping   a block per group of 32 lines and 128 k: its floats come to shared memory by k, a warp marks 16
 *           k, a thread splits eight lines of a k that is there.
 * Bytes     4 per element read, 6 written for each line of each k that is there.
 * Limit     memory: 3.7 TB/s at half of the blocks of both, 4096^3 (H200, 2026-11-23). */
__global__ __launch_bounds__(kThreads) void pack_groups(const __grid_constant__ JointPackArgs g)
{
    __shared__ float part[kDeep][kGroupLines + 1];
    __shared__ uint16_t here[kWarps], odd[kWarps];
    const bool second = (int)blockIdx.x >= g.first;
    const JointOperand &o = g.of[second];
    const int block = (int)blockIdx.x - (second ? g.first : 0), group = block / g.across,
              span0 = block % g.across * kSpans;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    dependency_wait();
    dependents_launch();
    if (!chosen(g.choice, true)) return;
    load_part(o, g.k, group * kGroupLines, span0 * kSpan, part);
    __syncthreads();
    unsigned bits = 0;
    bool special = false;
#pragma unroll
    for (int i = 0; i < kHalf; i++) {
        const float x = part[warp * kHalf + i][lane];
        bits |= (unsigned)(__any_sync(kFull, x != 0.0f) != 0) << i;
        special |= !(fabsf(x) <= 3.402823466e+38f);
    }
    special = __any_sync(kFull, special);
    if (lane == 0) here[warp] = (uint16_t)bits, odd[warp] = special;
    __syncthreads();
    const int64_t first = (int64_t)group * o.packed.spans + span0;
#pragma unroll
    for (int u = 0; u < kDeep * 4 / kThreads; u++) {
        const int unit = u * kThreads + (int)threadIdx.x, k = unit / 4, piece = unit % 4, span = k / kSpan;
        const unsigned word = here[2 * span] | (unsigned)here[2 * span + 1] << 16;
        if (!(word >> k % kSpan & 1u)) continue;
        const int place = __popc(word & lanes_below(k % kSpan));
        const float *const x = part[k] + piece * 8;
        uint32_t split[4][kBf16Splits];
#pragma unroll
        for (int w = 0; w < 4; w++) split_pair(x[2 * w], x[2 * w + 1], split[w]);
        unsigned char *const to =
            o.packed.lines + (first + span) * kSpanBytes + place * kJointLine + joint_piece(k % kSpan, piece);
#pragma unroll
        for (int p = 0; p < kBf16Splits; p++)
            *(uint4 *)(to + p * kSplitLine) = make_uint4(split[0][p], split[1][p], split[2][p], split[3][p]);
    }
    const int span = (int)threadIdx.x;
    if (span < kSpans && span0 + span < o.packed.spans)
        o.packed.marks[first + span] = make_uint2(here[2 * span] | (unsigned)here[2 * span + 1] << 16,
                                                  odd[2 * span] | odd[2 * span + 1]);
}

struct SampleArgs {
    const float *a, *b;
    int64_t ars, acs, ldb;
    int m, n, k;
    unsigned *sampled;
};

__device__ inline uint32_t mix_bits(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
__device__ inline int draw(uint32_t seed, int count)
{
    return (int)((uint64_t)mix_bits(seed) * (uint32_t)count >> 32);
}

/* Which groups of a tile have something at one k: rows in the low bits, columns in the bits above. */
__device__ inline unsigned active_groups(const SampleArgs &g, int row0, int col0, int k)
{
    const int lane = threadIdx.x % kWarp;
    bool a[kRowGroups], b[kRowGroups];
#pragma unroll
    for (int q = 0; q < kRowGroups; q++) {
        const int row = row0 + q * kGroupLines + lane, col = col0 + q * kGroupLines + lane;
        a[q] = row < g.m && k < g.k && __ldg(g.a + row * g.ars + k * g.acs) != 0.0f;
        b[q] = col < g.n && k < g.k && __ldg(g.b + k * g.ldb + col) != 0.0f;
    }
    unsigned groups = 0;
#pragma unroll
    for (int q = 0; q < kRowGroups; q++)
        groups |= (__any_sync(kFull, a[q]) ? 1u << q : 0u) |
                  (__any_sync(kFull, b[q]) ? 1u << (kRowGroups + q) : 0u);
    return groups;
}

/* Adds to the counts what a tile of c would take at one k, the same ones in every call. A warp a sample.
 * Lines that meet nothing are left out only where k come in runs: where the neighbouring k has the same
 * groups. Bytes: kSamples times some 10 KB. */
__global__ __launch_bounds__(kThreads) void sample_tiles(const __grid_constant__ SampleArgs g)
{
    const int lane = threadIdx.x % kWarp;
    const uint32_t sample = blockIdx.x * kWarps + threadIdx.x / kWarp;
    dependency_wait();
    dependents_launch();
    const int row0 = draw(3 * sample, (int)ceil_div(g.m, kTileRows)) * kTileRows,
              col0 = draw(3 * sample + 1, (int)ceil_div(g.n, kTileCols)) * kTileCols,
              k = draw(3 * sample + 2, g.k);
    const unsigned groups = active_groups(g, row0, col0, k);
    const bool run = groups == active_groups(g, row0, col0, k ^ 1);
    const unsigned rows = (unsigned)__popc(groups & kAll), cols = (unsigned)__popc(groups >> kRowGroups);
    const unsigned counts[kSampled] = {rows ? 1u : 0u, rows, rows * cols,
                                       !run || (rows && cols) ? rows + cols : 0u};
#pragma unroll
    for (int i = 0; i < kSampled; i++)
        if (lane == i && counts[i]) atomicAdd(g.sampled + i, counts[i]);
}

} // namespace

lac_status_t pack_joint(const lac_cuda_tiles_t *p, const TilesChoice &choice, void *of_a, void *of_b,
                        lac_cuda_stream_t stream)
{
    JointPackArgs g = {{{(const float *)p->a, p->ars, p->acs, (int)p->m, joint_packed(p->m, p->k, of_a)},
                        {(const float *)p->b, 1, p->ldb, (int)p->n, joint_packed(p->n, p->k, of_b)}},
                       (int)p->k,
                       (int)ceil_div(p->k, kDeep),
                       0,
                       choice};
    const int64_t first = of_a ? (int64_t)g.across * g.of[0].packed.groups : 0,
                  blocks = first + (of_b ? (int64_t)g.across * g.of[1].packed.groups : 0);
    if (blocks == 0) return LAC_OK;
    if (!fits(blocks)) return LAC_ERR_EXTENT;
    g.first = (int)first;
    return launch(pack_groups, {dim3((unsigned)blocks), dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
}

lac_status_t sample_operands(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream)
{
    const SampleArgs g = {(const float *)p->a,
                          (const float *)p->b,
                          p->ars,
                          p->acs,
                          p->ldb,
                          (int)p->m,
                          (int)p->n,
                          (int)p->k,
                          tiles_space(p->dt, p->m, p->n, p->k, workspace).sampled};
    static_assert(kSamples % kWarps == 0, "whole blocks");
    return launch(sample_tiles, {dim3(kSamples / kWarps), dim3(kThreads), 0, 1, true, (cudaStream_t)stream},
                  g);
}

} // namespace lacuna

extern "C" int64_t lac_cuda_tiles_joint_packed_bytes(int64_t lines, int64_t k)
{
    return lacuna::joint_packed(lines, k, nullptr).bytes;
}

extern "C" lac_status_t lac_cuda_tiles_joint_pack(const lac_cuda_tiles_t *p, void *of_a, void *of_b,
                                                  lac_cuda_stream_t stream)
{
    return lacuna::pack_joint(p, {}, of_a, of_b, stream);
}
