/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Floats as two f16 numbers, for the product by tiles: by which power of two each line of an operand is
 * multiplied. */
#include "tiles.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kScaleSamples = 64, kChunk = 8; /* of each line, so many neighbours along k together */
constexpr int kTop = 13, kApart = 2; /* the largest sample of a line, or that of its group less 2^kApart, is
                                        less than twice 2^kTop */
constexpr double kFewTerms = 16.0;   /* with fewer, two f16 numbers are no better than a plain sum */

/* Line i, k: at x[i * ls + k * ks]. */
struct LineOperand {
    const float *x;
    int64_t ls, ks;
    int lines;
    ScaledLines to;
};

struct ScaleArgs {
    LineOperand of[2];
    int k;
    int first; /* blocks of the first operand, the others are the second's */
};

/* Where the sample of that number lies. */
__device__ inline int sampled_k(int sample, int k)
{
    constexpr int kChunks = kScaleSamples / kChunk;
    return k <= kScaleSamples ? sample : (int)((int64_t)(sample / kChunk) * k / kChunks) + sample % kChunk;
}

/* The exponents of 32 lines, by the largest of a line's samples, and of all of them: few may be not zero.
 * Neighbours along k are read by neighbours in a warp where these are contiguous, else neighbouring lines. */
__global__ __launch_bounds__(kThreads) void scale_lines(const __grid_constant__ ScaleArgs g)
{
    constexpr int kTurns = kScaleSamples * kWarp / kThreads;
    __shared__ unsigned most[kWarp], nonzeros;
    const int t = (int)threadIdx.x;
    const bool second = (int)blockIdx.x >= g.first;
    const LineOperand &o = g.of[second];
    const int group = (int)blockIdx.x - (second ? g.first : 0), line0 = group * kWarp;
    const bool along = o.ks == 1;
    if (t < kWarp) most[t] = 0;
    if (t == 0) nonzeros = 0;
    dependency_wait();
    dependents_launch();
    unsigned largest[2] = {0, 0}, found = 0;
    float x[kTurns];
#pragma unroll
    for (int u = 0; u < kTurns; u++) {
        const int e = u * kThreads + t, line = line0 + (along ? e / kChunk % kWarp : e % kWarp),
                  sample = along ? e / (kChunk * kWarp) * kChunk + e % kChunk : e / kWarp,
                  k = sampled_k(sample, g.k);
        x[u] = line < o.lines && k < g.k ? o.x[line * o.ls + k * o.ks] : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < kTurns; u++) {
        const unsigned size = __float_as_uint(x[u]) & 0x7fffffffu;
        found += size != 0;
        if (size < 0x7f800000u) largest[u % 2] = max(largest[u % 2], size);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; i++)
        atomicMax(most + (along ? (t / kChunk + i * (kThreads / kChunk)) % kWarp : t % kWarp), largest[i]);
    atomicAdd(&nonzeros, found);
    __syncthreads();
    if (t >= kWarp) return;
    const int any = (int)(__reduce_max_sync(kFull, most[t]) >> 23),
              size = max((int)(most[t] >> 23), any - kApart);
    const int exponent = any ? kTop - (size - 127) : 0;
    o.to.exponents[line0 + t] = max(-126, min(126, exponent));
    if (t == 0 && nonzeros) atomicAdd(o.to.nonzeros, (unsigned long long)nonzeros);
}

struct BeginArgs {
    TilesSpace product;
    unsigned long long *k_counts, none; /* what these begin at */
    int *whole_of_tile;
    ScaledLines of[2];
    int tiles[2];
};

/* Counts begin at 0. One block. */
__global__ void begin_counts(const __grid_constant__ BeginArgs g)
{
    dependents_launch();
    dependency_wait();
    const int t = (int)threadIdx.x;
    if (g.product.failed_count) {
        if (t == 0) *g.product.failed_count = *g.product.next = 0;
    }
    if (g.k_counts && t == 0) *g.k_counts = g.none;
    for (int tile = t; g.k_counts && tile < g.tiles[0]; tile += (int)blockDim.x) g.whole_of_tile[tile] = 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (!g.of[i].rests) continue;
        if (t == 0) *g.of[i].nonzeros = 0, *g.of[i].wide = 0;
        for (int tile = t; tile < g.tiles[i]; tile += (int)blockDim.x) g.of[i].rests[tile] = 0;
    }
}

} // namespace

lac_status_t begin_tiles(const lac_cuda_tiles_t *p, const TilesSpace *product, const TilesPacked *a,
                         const ScaledLines *of_a, const ScaledLines *of_b, lac_cuda_stream_t stream)
{
    BeginArgs g = {};
    if (product) g.product = *product;
    g.tiles[0] = (int)ceil_div(p->m, kTileRows);
    if (a) g.k_counts = a->k_counts, g.whole_of_tile = a->whole_of_tile;
    if (a) g.none = may_be_unpacked(p) ? 0 : kNeverUnpacked;
    if (of_a) g.of[0] = *of_a;
    if (of_b) g.of[1] = *of_b, g.tiles[1] = (int)ceil_div(p->n, kTileCols);
    return launch(begin_counts, {dim3(1), dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
}

lac_status_t find_scales(const lac_cuda_tiles_t *p, const ScaledLines *of_a, const ScaledLines *of_b,
                         lac_cuda_stream_t stream)
{
    ScaleArgs g = {};
    g.k = (int)p->k;
    if (of_a) g.of[0] = {(const float *)p->a, p->ars, p->acs, (int)p->m, *of_a};
    if (of_b) g.of[1] = {(const float *)p->b, 1, p->ldb, (int)p->n, *of_b};
    g.first = of_a ? (int)ceil_div(p->m, kTileRows) * kRowGroups : 0;
    const int blocks = g.first + (of_b ? (int)ceil_div(p->n, kTileCols) * kRowGroups : 0);
    return launch(scale_lines, {dim3((unsigned)blocks), dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
}

double fewest_nonzeros(const lac_cuda_tiles_t *p)
{
    const double samples = (double)min<int64_t>(p->k, kScaleSamples);
    return kFewTerms / (double)p->k * (samples * (double)p->m) * (samples * (double)p->n);
}

} // namespace lacuna
