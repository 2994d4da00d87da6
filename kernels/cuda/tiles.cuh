/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of the product by tiles share: shapes, workspace, and the three bf16 pieces of a float. */
#ifndef LACUNA_TILES_CUH
#define LACUNA_TILES_CUH

#include "device_common.cuh"
#include "tiles.h"

namespace lacuna
{

constexpr int kPieces = 3; /* bf16 numbers whose sum is a float                           */
constexpr int kHalfRows = LAC_CUDA_TILES_ROWS; /* rows of a that share a list of active k */
constexpr int kTileRows = 2 * kHalfRows; /* rows of a block: two halves, which share rows of b          */
constexpr int kTileCols = LAC_CUDA_TILES_SIDE; /* columns of b */
constexpr int kStep = LAC_CUDA_TILES_STEP; /* active k that are multiplied together                       */
constexpr int kDepth = 16;                 /* k of one instruction                                        */
constexpr int kFragment = kHalfRows * kDepth * 2;      /* bytes: one piece of a half's kDepth k  */
constexpr int kFragments = kPieces * (kStep / kDepth); /* of a half's step, piece by piece       */
constexpr int kStepBytes = kFragments * kFragment;

static_assert(kTileRows == LAC_CUDA_TILES_SIDE, "a tile is square");

/* Cuts memory up into pieces that are aligned to 256 bytes. */
struct Cutter {
    unsigned char *begin, *at;
    unsigned char *take(int64_t bytes)
    {
        unsigned char *mine = at;
        at += round_up(bytes, 256);
        return mine;
    }
};

/* Where things lie in what is made of a. The k of a tile fall into those that are active in both halves and
 * those that are in one only; `both` and `only` list them in ascending order, padded to whole steps with k
 * whose pieces are zeros. The pieces of a half are those of the first list's k, then those of its own: step
 * by step, in the order of wgmma's registers. */
struct TilesPacked {
    int tiles_m, words, room;     /* words of `active` of one half; steps that a half has room for */
    uint32_t *active;             /* [half] a bit per k                                            */
    int *both_steps, *only_steps; /* [tile]; [half]                                                */
    int *both, *only;             /* [tile][room kStep]; [half][room kStep]                        */
    unsigned char *pieces;        /* [half][room kStepBytes]                                       */
    int64_t bytes;
};

inline TilesPacked tiles_packed(int64_t m, int64_t k, int64_t room, void *memory)
{
    TilesPacked s = {};
    s.tiles_m = (int)ceil_div(m, kTileRows), s.words = (int)ceil_div(k, 32), s.room = (int)room;
    const int64_t tiles = s.tiles_m, halves = 2 * tiles, list = room * kStep * 4;
    Cutter cut = {(unsigned char *)memory, (unsigned char *)memory};
    s.pieces = cut.take(halves * room * kStepBytes);
    s.active = (uint32_t *)cut.take(halves * s.words * 4);
    s.both = (int *)cut.take(tiles * list);
    s.only = (int *)cut.take(halves * list);
    s.both_steps = (int *)cut.take(tiles * 4);
    s.only_steps = (int *)cut.take(halves * 4);
    s.bytes = cut.at - cut.begin;
    return s;
}

/* Where things lie in the workspace of a product. */
struct TilesSpace {
    int tiles_n;
    int64_t tiles;              /* of c                                                         */
    int *failed, *failed_count; /* tiles without a finite sum                                   */
    int splits;                 /* blocks that share the k of a tile                            */
    float4 *parts;              /* [split][tile][kTileRows kTileCols / 4], where there are some */
    int64_t bytes;
};

inline TilesSpace tiles_space(int64_t m, int64_t n, int64_t k, void *workspace)
{
    TilesSpace s = {};
    s.tiles_n = (int)ceil_div(n, kTileCols), s.tiles = ceil_div(m, kTileRows) * s.tiles_n;
    Cutter cut = {(unsigned char *)workspace, (unsigned char *)workspace};
    s.failed = (int *)cut.take(s.tiles * 4);
    s.failed_count = (int *)cut.take(4);
    s.splits = lac_cuda_tiles_splits(s.tiles, ceil_div(k, kStep), current_device().sms);
    s.parts = (float4 *)cut.take(s.splits > 1 ? s.splits * s.tiles * kTileRows * kTileCols * 4 : 0);
    s.bytes = cut.at - cut.begin;
    return s;
}

/* Before they are split, floats are scaled so that every piece of every float, subnormals too, is a normal
 * bf16. */
constexpr float kScale = 0x1p24f, kUnscale = 0x1p-48f; /* of an operand; of a product */

/* Three bf16 pieces of two scaled floats, rounded to nearest: their sum is the float, exactly. Inf, NaN and
 * what overflows when it is scaled leave a NaN or Inf. */
__device__ inline void split_pair(float lo, float hi, uint32_t (&piece)[kPieces])
{
    lo *= kScale, hi *= kScale;
#pragma unroll
    for (int p = 0; p < kPieces; p++) {
        piece[p] = nearest_bf16(lo, hi);
        lo -= __uint_as_float(piece[p] << 16);
        hi -= __uint_as_float(piece[p] & 0xffff0000u);
    }
}

/* The products on tensor cores of lac_cuda_tiles_multiply. By warpgroup products (wgmma): compute capability
 * 9.0 alone. By those of a warp (mma.sync): every device from 8.0 on. */
lac_status_t multiply_by_wgmma(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);
lac_status_t multiply_by_mma(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream);

} // namespace lacuna
#endif
