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

/* Thread t of the kHolders that hold a tile, lane l of warp w = t / 32, has at sum[4 j + 2 h + c] row
 * 8 j + 2 (l % 4) + c and column 16 w + 2 (l / 4) + h of the tile. */
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

/* What all elements of c are scaled by; across, down: two neighbours of a row, of a column are written at
 * once. */
struct TilesScale {
    float alpha, beta;
    bool across, down;
};

__device__ inline TilesScale tiles_scale(const TilesOut &g)
{
    const bool even = ((uintptr_t)g.c & 7) == 0;
    return {load_scalar(g.alpha), load_scalar(g.beta), even && g.ccs == 1 && g.crs % 2 == 0,
            even && g.crs == 1 && g.ccs % 2 == 0};
}

/* What is written at `at`: kAfter: with what follows. */
template <bool kAfter>
__device__ inline float tiles_value(const TilesOut &g, const TilesScale &s, const float *at, float x,
                                    float bias)
{
    const float v = scaled(at, x, s.alpha, s.beta);
    return kAfter ? finished(g.after, v, bias) : v;
}

/* c := beta c + alpha {x, y}, and what follows, for two neighbours in memory. */
template <bool kAfter>
__device__ inline void write_pair(const TilesOut &g, const TilesScale &s, float *at, float x, float y,
                                  float bias_x, float bias_y)
{
    float2 v = s.beta == 0.0f ? make_float2(0.0f, 0.0f) : *(const float2 *)at;
    v.x = tiles_value<kAfter>(g, s, &v.x, x, bias_x);
    v.y = tiles_value<kAfter>(g, s, &v.y, y, bias_y);
    *(float2 *)at = v;
}

/* The same for two rows of two columns, x[row][column], as far as they are inside. */
template <bool kAfter, bool kInside>
__device__ inline void write_four(const TilesOut &g, const TilesScale &s, int row, int col,
                                  const float (&x)[2][2], const float (&bias)[2][2])
{
    const int64_t ccs = kInside ? 1 : g.ccs;
    float *const at = g.c + row * g.crs + col * ccs;
    const bool all = kInside || (row + 1 < g.m && col + 1 < g.n);
    if (kInside || (all && s.across)) {
        write_pair<kAfter>(g, s, at, x[0][0], x[0][1], bias[0][0], bias[0][1]);
        write_pair<kAfter>(g, s, at + g.crs, x[1][0], x[1][1], bias[1][0], bias[1][1]);
    } else if (all && s.down) {
        write_pair<kAfter>(g, s, at, x[0][0], x[1][0], bias[0][0], bias[1][0]);
        write_pair<kAfter>(g, s, at + ccs, x[0][1], x[1][1], bias[0][1], bias[1][1]);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (row + i / 2 < g.m && col + i % 2 < g.n) {
                float *const one = at + i / 2 * g.crs + i % 2 * ccs;
                *one = tiles_value<kAfter>(g, s, one, x[i / 2][i % 2], bias[i / 2][i % 2]);
            }
    }
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
    const int lane = threadIdx.x % kWarp, row0 = tile_m * kTileRows + lane % 4 * 2,
              col = tile_n * kTileCols + threadIdx.x / kWarp * 16 + lane / 4 * 2;
    const bool of_rows = kAfter && g.after.of_rows, of_columns = kAfter && !of_rows;
    float across[2] = {}, down[kAhead][2] = {};
    if (of_columns) across[0] = bias_near(g, 0, col), across[1] = bias_near(g, 0, col + 1);
#pragma unroll
    for (int j = 0; j < kTileRows / 8; j++) {
        const int row = row0 + 8 * j;
        if (of_rows && j % kAhead == 0) {
#pragma unroll
            for (int t = 0; t < 2 * kAhead; t++)
                down[t / 2][t % 2] = bias_near(g, row + t / 2 * 8 + t % 2, 0);
        }
        float x[2][2], bias[2][2];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[i % 2][i / 2] = kUnscale * sum[4 * j + i];
            bias[i % 2][i / 2] = of_rows ? down[j % kAhead][i % 2] : across[i / 2];
        }
        write_four<kAfter, kInside>(g, s, row, col, x, bias);
    }
}

/* c := beta c + alpha sum, and what follows, for this thread's part of the tile. */
__device__ inline void write_tile(const TilesOut &g, int tile_m, int tile_n, const float (&sum)[kSums])
{
    const TilesScale s = tiles_scale(g), plain = {s.alpha, 0.0f, true, false};
    const bool inside =
        s.across && s.beta == 0.0f && (tile_m + 1) * kTileRows <= g.m && (tile_n + 1) * kTileCols <= g.n;
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
