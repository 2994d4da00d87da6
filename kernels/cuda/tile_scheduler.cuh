/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The way of a block through the product by tiles: which tile, which of its steps, whose they are. */
#ifndef LACUNA_TILE_SCHEDULER_CUH
#define LACUNA_TILE_SCHEDULER_CUH

#include "tiles.cuh"

namespace lacuna
{

constexpr int kRowsTogether = 8; /* tiles of rows whose blocks follow each other: they share b in the cache */

/* A tile and its steps, or a part of them. */
struct Work {
    int m, n, split, begin, end;
};

/* Of tiles x splits: kRowsTogether tiles of rows, then the next column of tiles. */
__device__ inline Work find_work(const TilesPacked &a, const TilesSpace &s, int item)
{
    const int tiles = (int)s.tiles, split = item / tiles, index = item % tiles;
    const int group = kRowsTogether * s.tiles_n, first = index / group * kRowsTogether;
    const int rows = min(kRowsTogether, a.tiles_m - first), at = index % group, m = first + at % rows;
    const unsigned steps = (unsigned)a.tile_steps[m], parts = (unsigned)s.splits; /* 2^26 times 16 at most */
    return {m, at / rows, split, (int)(steps * split / parts), (int)(steps * (split + 1) / parts)};
}

/* Of b, as a list names it; a place without a k names a row, too. */
__device__ inline int listed_row(int row)
{
    return row < 0 ? ~row : row;
}

/* Which row of b this lane's place of a step names. */
__device__ inline int listed_row(const TilesPacked &a, int m, int step)
{
    return listed_row(a.rows[((int64_t)m * a.lines + step) * kStep + threadIdx.x % kWarp]);
}

/* Where a quarter's pieces of a step are, in steps; -1: it is not the quarter's. */
__device__ inline int64_t splits_at(const TilesPacked &a, int m, int step, int row_group)
{
    const int place = ((const int *)(a.places + (int64_t)m * a.lines + step))[row_group];
    return place < 0 ? -1 : ((int64_t)m * kRowGroups + row_group) * a.room + place;
}

/* Four columns of a row of b, of which `left` are inside; kWhole: all. */
template <bool kWhole> __device__ inline float4 load_quad(const float *at, int left)
{
    float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (kWhole || left > 3) {
        x = load_once4(at);
    } else {
        if (left > 0) x.x = at[0];
        if (left > 1) x.y = at[1];
        if (left > 2) x.z = at[2];
    }
    return x;
}

} // namespace lacuna
#endif
