/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A finished tile of the product by tiles, as wgmma leaves it in registers: judged, stored, written to c. */
#ifndef LACUNA_TILES_WRITE_CUH
#define LACUNA_TILES_WRITE_CUH

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
};

inline TilesOut tiles_out(const lac_cuda_tiles_t *p)
{
    return {(int)p->m, (int)p->n, p->alpha, p->beta, p->c, p->crs, p->ccs};
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

/* c := beta c + alpha sum for two neighbours of a row, of which `left` are inside. */
__device__ inline void write_pair(float *at, int64_t ccs, int left, bool pairs, float alpha, float beta,
                                  float x, float y)
{
    if (pairs && left > 1) {
        float2 v = beta == 0.0f ? make_float2(0.0f, 0.0f) : *(const float2 *)at;
        store_scaled(&v.x, x, alpha, beta);
        store_scaled(&v.y, y, alpha, beta);
        *(float2 *)at = v;
        return;
    }
    if (left > 0) store_scaled(at, x, alpha, beta);
    if (left > 1) store_scaled(at + ccs, y, alpha, beta);
}

/* c := beta c + alpha sum for this thread's part of the tile. */
__device__ inline void write_tile(const TilesOut &g, int tile_m, int tile_n, const float (&sum)[kSums])
{
    const bool pairs = g.ccs == 1 && g.crs % 2 == 0 && ((uintptr_t)g.c & 7) == 0;
    const float alpha = load_scalar(g.alpha), beta = load_scalar(g.beta);
    const int lane = threadIdx.x % kWarp, row0 = tile_m * kTileRows + threadIdx.x / kWarp * 16 + lane / 4,
              col0 = tile_n * kTileCols + lane % 4 * 2;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int row = row0 + 8 * h;
        if (row >= g.m) break;
#pragma unroll
        for (int j = 0; j < kTileCols / 8; j++) {
            const int col = col0 + 8 * j;
            write_pair(g.c + row * g.crs + col * g.ccs, g.ccs, g.n - col, pairs, alpha, beta,
                       kUnscale * sum[4 * j + 2 * h], kUnscale * sum[4 * j + 2 * h + 1]);
        }
    }
}

} // namespace lacuna
#endif
