/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The way of a block through the product by tiles: which tile, which of its steps, whose they are, which rows
 * of b and pieces of a they name. */
#ifndef LACUNA_TILES_WALK_CUH
#define LACUNA_TILES_WALK_CUH

#include "tiles.cuh"

namespace lacuna
{

constexpr int kRowsTogether = 8; /* tiles of rows whose blocks follow each other: they share b in the cache */

/* The tile of a block and its steps: those of both halves, then those of one, in turns as long as both have
 * some. The block does those from `begin` to `end`. */
struct Tile {
    int m, n, both, only[2], begin, end;
    __device__ int turns() const { return 2 * least(only[0], only[1]); }
    /* Whose step it is: 0 or 1, or 2 for both; and its place in that list. */
    __device__ int owner(int step, int *place) const
    {
        const int t = step - both;
        *place = t < 0 ? step : t < turns() ? t / 2 : t - turns() / 2;
        return t < 0 ? 2 : t < turns() ? t % 2 : only[1] > only[0];
    }
    /* Steps before this one that are a half's. */
    __device__ int places(int step, int half) const
    {
        const int t = step - both,
                  alone = t > turns() && (only[1] > only[0]) == (half == 1) ? t - turns() : 0;
        return t <= 0 ? step : both + (least(t, turns()) + 1 - half) / 2 + alone;
    }
};

/* The tile of this block: kRowsTogether tiles of rows, then the next column of tiles. */
__device__ inline Tile find_tile(const TilesPacked &a, const TilesSpace &s)
{
    const int group = kRowsTogether * s.tiles_n, first = (int)blockIdx.x / group * kRowsTogether;
    const int rows = least(kRowsTogether, a.tiles_m - first), at = (int)blockIdx.x % group;
    const int m = first + at % rows, both = a.both_steps[m], own = a.only_steps[2 * m],
              other = a.only_steps[2 * m + 1];
    const int64_t steps = both + own + other, split = blockIdx.y;
    return {m,
            at / rows,
            both,
            {own, other},
            (int)(steps * split / s.splits),
            (int)(steps * (split + 1) / s.splits)};
}

/* Which row of b this lane's place of a step names; beyond the last step, some row. */
__device__ inline int listed_row(const TilesPacked &a, const Tile &tile, int step)
{
    if (step >= tile.end) return 0;
    int place;
    const int owner = tile.owner(step, &place), lane = threadIdx.x % kWarp;
    const int64_t room = (int64_t)a.room * kStep;
    const int *list = owner == 2 ? a.both + tile.m * room : a.only + (2 * tile.m + owner) * room;
    return list[place * kStep + lane];
}

/* A half's pieces of a step that has this owner and this place. */
__device__ inline const unsigned char *step_pieces(const TilesPacked &a, const Tile &tile, int half,
                                                   int owner, int place)
{
    const int64_t at = (int64_t)(2 * tile.m + half) * a.room + (owner == 2 ? place : tile.both + place);
    return a.pieces + at * kStepBytes;
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
