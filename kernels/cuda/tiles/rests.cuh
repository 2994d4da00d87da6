/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The sums of a tile of two f16 numbers: of the scale that they have, and with what these numbers left. */
#ifndef LACUNA_CUDA_TILES_RESTS_CUH
#define LACUNA_CUDA_TILES_RESTS_CUH

#include "producer.cuh"

namespace lacuna
{
namespace
{

/* Sums of products of scaled lines become those of the lines. */
__device__ inline void unscale_lines(const MultiplyArgs<ScaledF16> &g, int tile_m, int tile_n,
                                     float (&sum)[kSums])
{
    const FirstCell cell = first_cell<ScaledF16>(thread_here());
    const int *const row = g.packed.scaled.exponents + tile_m * kTileRows + cell.row;
    const int2 col = *(const int2 *)(g.s.planes.scaled.exponents + tile_n * kTileCols + cell.col);
#pragma unroll
    for (int j = 0; j < kTileRows / 8; j++) {
        const int2 two = *(const int2 *)(row + 8 * j);
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum[4 * j + i] =
                times_power(sum[4 * j + i], -((i % 2 ? two.y : two.x) + (i / 2 ? col.y : col.x)));
    }
}

/* A tile's rests, in ascending order of k; those of one k are of different lines. A warp: a lane holds two.
 */
struct RestList {
    static constexpr int kEach = kMostRests / kWarp;
    Rest rest[kEach];
    unsigned k[kEach]; /* ~0: there is none, or it was taken */
    __device__ RestList(const ScaledLines &of, int tile)
    {
        const int count = of.rests[tile], lane = threadIdx.x % kWarp;
#pragma unroll
        for (int i = 0; i < kEach; i++) {
            const int at = lane + i * kWarp;
            rest[i] = at < count ? of.rest[tile * kMostRests + at] : Rest{0, 0, 0.0f};
            k[i] = at < count ? (unsigned)rest[i].k : ~0u;
        }
    }
    __device__ bool next(Rest *to)
    {
        const unsigned least = __reduce_min_sync(kFull, min(k[0], k[1]));
        if (least == ~0u) return false;
        const unsigned first = __ballot_sync(kFull, k[0] == least),
                       second = __ballot_sync(kFull, k[1] == least);
        const bool in_second = first == 0;
        const int from = __ffs((int)(in_second ? second : first)) - 1, lane = threadIdx.x % kWarp;
        to->line = __shfl_sync(kFull, rest[in_second].line, from);
        to->rest = __shfl_sync(kFull, rest[in_second].rest, from);
        to->k = (int)least;
        if (lane == from) k[in_second] = ~0u;
        return true;
    }
};
static_assert(RestList::kEach == 2, "two words of a lane");

/* A thread's sums += products with what was left of a, of the numbers that b became; then what was left of b,
 * of a itself. */
__device__ inline void add_rests(const MultiplyArgs<ScaledF16> &g, int tile_m, int tile_n,
                                 float (&sum)[kSums])
{
    const int thread = thread_here(), lane = thread % kWarp;
    const FirstCell cell = first_cell<ScaledF16>(thread);
    const int col = tile_n * kTileCols + cell.col;
    Rest rest;
    for (RestList left(g.packed.scaled, tile_m); left.next(&rest);) {
        if (rest.line % 8 / 2 != lane % 4) continue;
        float w[2] = {};
        if (col < g.s.planes.columns) { /* columns 2 r + h of sixteen are at r + 8 h */
            const uint16_t *const at =
                g.b.at + rest.k * (g.s.planes.pitch() / 2) + col / 16 * 16 + col % 16 / 2;
#pragma unroll
            for (int h = 0; h < 2; h++)
                w[h] = (f16_value(at[8 * h]) + f16_value(at[8 * h + g.s.planes.columns])) *
                       power_of_two(-g.s.planes.scaled.exponents[col + h]);
        }
#pragma unroll
        for (int i = 0; i < kSums; i++)
            if (i / 4 == rest.line / 8 && i % 2 == rest.line % 2)
                sum[i] = fmaf(rest.rest, w[i / 2 % 2], sum[i]);
    }
    for (RestList left(g.s.planes.scaled, tile_n); left.next(&rest);) {
        if (rest.line / 2 * 2 != cell.col) continue;
        const float *const s = g.a + (tile_m * kTileRows + cell.row) * g.ars + rest.k * g.acs;
        const int rows = g.out.m - tile_m * kTileRows - cell.row;
        float x[kSums / 2];
#pragma unroll
        for (int i = 0; i < kSums / 2; i++) {
            const int down = i / 2 * 8 + i % 2;
            x[i] = down < rows ? s[down * g.ars] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < kSums; i++)
            if (i / 2 % 2 == rest.line % 2) sum[i] = fmaf(x[i / 4 * 2 + i % 2], rest.rest, sum[i]);
    }
}

} // namespace
} // namespace lacuna

#endif
