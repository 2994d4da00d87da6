/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A finished tile of the product by tiles, as wgmma leaves it in registers: judged, stored, written to c with
 * the bias and activation that follow. */
#ifndef LACUNA_TILES_WRITE_CUH
#define LACUNA_TILES_WRITE_CUH

#include "finish.cuh"
#include "tiles.cuh"

namespace lacuna
{

/* Thread t of the kHolders that hold a tile, lane l of warp w of half t / 128, has at sum[4 j + 2 h + c] row
 * 16 w + l / 4 + 8 h of the half and column 8 j + 2 (l % 4) + c. */
constexpr int kHolders = 256, kSums = kTileRows * kTileCols / kHolders;

struct TilesOut {
    int m, n;
    lac_cuda_scalar_t alpha, beta;
    float *c;
    int64_t crs, ccs;
    lac_cuda_after_t after;
};

inline TilesOut tiles_out(const lac_cuda_tiles_t *p)
{
    return {(int)p->m, (int)p->n, p->alpha, p->beta, p->c, p->crs, p->ccs, p->after};
}

__device__ inline bool all_finite(const float (&sum)[kSums])
{
    bool good = true;
#pragma unroll
    for (int i = 0; i < kSums; i++) good &= fabsf(sum[i]) <= 3.402823466e+38f;
    return good;
}

/* The tile is left for repair. In whatever order they come: each is repaired by itself. */
__device__ inline void note_failed(const TilesSpace &s, int tile)
{
    s.failed[atomicAdd(s.failed_count, 1)] = tile;
}

/* Where a thread's part of one split's tile lies: kSums / 4 pieces of four, kHolders apart. */
__device__ inline float4 *part_of(const TilesSpace &s, int tile, int split)
{
    return s.parts + (split * s.tiles + tile) * (kTileRows * kTileCols / 4) + threadIdx.x;
}

__device__ inline void store_part(const TilesSpace &s, int tile, int split, const float (&sum)[kSums])
{
    float4 *at = part_of(s, tile, split);
#pragma unroll
    for (int j = 0; j < kSums / 4; j++)
        at[j * kHolders] = make_float4(sum[4 * j], sum[4 * j + 1], sum[4 * j + 2], sum[4 * j + 3]);
}

/* What all elements of c are scaled by; pairs: two neighbours of a row are written at once. */
struct TilesScale {
    float alpha, beta;
    bool pairs;
};

__device__ inline TilesScale tiles_scale(const TilesOut &g)
{
    return {load_scalar(g.alpha), load_scalar(g.beta),
            g.ccs == 1 && g.crs % 2 == 0 && ((uintptr_t)g.c & 7) == 0};
}

/* What is written at `at`: kAfter: with what follows. */
template <bool kAfter>
__device__ inline float tiles_value(const TilesOut &g, const TilesScale &s, const float *at, float x,
                                    float bias)
{
    const float v = scaled(at, x, s.alpha, s.beta);
    return kAfter ? finished(g.after, v, bias) : v;
}

/* c := beta c + alpha {x, y}, and what follows, for two neighbours of a row, as far as they are inside. */
template <bool kAfter, bool kInside>
__device__ inline void write_pair(const TilesOut &g, const TilesScale &s, int row, int col, float x, float y,
                                  float2 bias)
{
    const int64_t ccs = kInside ? 1 : g.ccs;
    float *const at = g.c + row * g.crs + col * ccs;
    const int left = g.n - col;
    if (kInside || (s.pairs && left > 1)) {
        float2 v = s.beta == 0.0f ? make_float2(0.0f, 0.0f) : *(const float2 *)at;
        v.x = tiles_value<kAfter>(g, s, &v.x, x, bias.x);
        v.y = tiles_value<kAfter>(g, s, &v.y, y, bias.y);
        *(float2 *)at = v;
        return;
    }
    if (left > 0) *at = tiles_value<kAfter>(g, s, at, x, bias.x);
    if (left > 1) at[ccs] = tiles_value<kAfter>(g, s, at + ccs, y, bias.y);
}

/* The bias of a row or column, which there need not be. */
__device__ inline float bias_near(const TilesOut &g, int row, int col)
{
    return bias_at(g.after, least(row, g.m - 1), least(col, g.n - 1));
}

/* This thread's part of the tile. kInside: all of it is inside, in pairs, and beta is 0. Biases are read so
 * many at a time, and before anything is stored that they are added to: one by one, each would wait for
 * memory. */
template <bool kAfter, bool kInside>
__device__ inline void write_sums(const TilesOut &g, const TilesScale &s, int tile_m, int tile_n,
                                  const float (&sum)[kSums])
{
    constexpr int kAhead = 8;
    const int lane = threadIdx.x % kWarp, row0 = tile_m * kTileRows + threadIdx.x / kWarp * 16 + lane / 4,
              col0 = tile_n * kTileCols + lane % 4 * 2;
    const bool of_rows = kAfter && g.after.of_rows, of_columns = kAfter && !of_rows;
    float row_bias[2] = {};
    float2 bias[kAhead] = {};
    if (of_rows) row_bias[0] = bias_near(g, row0, 0), row_bias[1] = bias_near(g, row0 + 8, 0);
#pragma unroll
    for (int j = 0; j < kTileCols / 8; j++) {
        const int col = col0 + 8 * j;
        if (of_columns && j % kAhead == 0) {
#pragma unroll
            for (int t = 0; t < kAhead; t++)
                bias[t] = make_float2(bias_near(g, 0, col + 8 * t), bias_near(g, 0, col + 8 * t + 1));
        }
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (kInside || row0 + 8 * h < g.m)
                write_pair<kAfter, kInside>(
                    g, s, row0 + 8 * h, col, kUnscale * sum[4 * j + 2 * h], kUnscale * sum[4 * j + 2 * h + 1],
                    of_rows ? make_float2(row_bias[h], row_bias[h]) : bias[j % kAhead]);
    }
}

/* c := beta c + alpha sum, and what follows, for this thread's part of the tile. */
__device__ inline void write_tile(const TilesOut &g, int tile_m, int tile_n, const float (&sum)[kSums])
{
    const TilesScale s = tiles_scale(g), plain = {s.alpha, 0.0f, true};
    const bool inside =
        s.pairs && s.beta == 0.0f && (tile_m + 1) * kTileRows <= g.m && (tile_n + 1) * kTileCols <= g.n;
    if (inside && g.after.any)
        write_sums<true, true>(g, plain, tile_m, tile_n, sum);
    else if (inside)
        write_sums<false, true>(g, plain, tile_m, tile_n, sum);
    else if (g.after.any)
        write_sums<true, false>(g, s, tile_m, tile_n, sum);
    else
        write_sums<false, false>(g, s, tile_m, tile_n, sum);
}

} // namespace lacuna
#endif
