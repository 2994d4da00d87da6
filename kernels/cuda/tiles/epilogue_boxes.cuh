/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A finished tile of elements of two bytes, as wgmma leaves it in registers, brought to c by the copy engine:
 * by way of shared memory, while the next tile's products begin. What that cannot write epilogue_store.cuh
 * does. */
#ifndef LACUNA_CUDA_TILES_EPILOGUE_BOXES_CUH
#define LACUNA_CUDA_TILES_EPILOGUE_BOXES_CUH

#include "common/tensor_map.cuh"
#include "epilogue_store.cuh"
#include "mma.cuh"
#include "wgmma.cuh"

namespace lacuna
{

/* Those that a warpgroup's 64 rows of a tile become: 64 x 64 elements each, swizzled. */
constexpr int kBoxSide = 64, kBoxBytes = kBoxSide * kBoxSide * 2, kBoxes = kTileCols / kBoxSide;
static_assert(kBoxSide == kWgmmaRows, "a warpgroup's");

/* c where its rows, or its columns (`down`), are whole pieces of 16 bytes, and lie so many apart; `here`:
 * they do, and its type is that of the operands. */
struct BoxedOutput {
    CUtensorMap map;
    bool here, down;
};
template <typename E> BoxedOutput boxed_output(const lac_cuda_tiles_t *p)
{
    constexpr int64_t kPiece = 16 / (int64_t)sizeof(E);
    BoxedOutput o = {};
    o.down = p->ccs != 1;
    const int64_t ld = o.down ? p->ccs : p->crs, lines = o.down ? p->n : p->m, across = o.down ? p->m : p->n;
    o.here = p->out_dt == p->dt && (p->crs == 1 || p->ccs == 1) && ld > 0 && ld % kPiece == 0 &&
             across % kPiece == 0 && aligned(p->c, 16) &&
             make_tensor_map(&o.map, (const E *)p->c, lines, across, ld, kBoxSide, kBoxSide, true);
    return o;
}

/* alpha x of a thread's sums of a tile, and the epilogue, as pairs of neighbouring columns: word[2 j + h] of
 * row 8 h + l / 4 of the warp's, columns 8 j + 2 (l % 4) and the next. */
template <typename E>
__device__ inline void finish_pairs(const TilesOut<E> &g, int row0, int col0, float alpha,
                                    const float (&sum)[kSums], uint32_t (&word)[kSums / 2])
{
    if (!g.epilogue.any) {
#pragma unroll
        for (int i = 0; i < kSums / 2; i++)
            word[i] = nearest_pair(E(), alpha * sum[2 * i], alpha * sum[2 * i + 1]);
        return;
    }
    float of_row[2] = {};
    if (g.epilogue.of_rows)
#pragma unroll
        for (int h = 0; h < 2; h++) of_row[h] = bias_near<kFollowed>(g, row0 + 8 * h, 0);
#pragma unroll
    for (int j = 0; j < kSums / 4; j++) {
        float of_col[2] = {};
        if (!g.epilogue.of_rows)
#pragma unroll
            for (int c = 0; c < 2; c++) of_col[c] = bias_near<kFollowed>(g, 0, col0 + 8 * j + c);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float x[2];
#pragma unroll
            for (int c = 0; c < 2; c++)
                x[c] = apply_epilogue(g.epilogue, alpha * sum[4 * j + 2 * h + c],
                                      g.epilogue.of_rows ? of_row[h] : of_col[c]);
            word[2 * j + h] = nearest_pair(E(), x[0], x[1]);
        }
    }
}

/* c := alpha sum, and the epilogue, for a warpgroup's part of tile (m, n); its boxes are at `box`, kBoxes
 * that are its own. Its first thread sends them, and waits for them to have been read before they are written
 * again. */
template <typename E>
__device__ inline void send_boxes(const TilesOut<E> &g, const BoxedOutput &o, unsigned char *box, int tile_m,
                                  int tile_n, float alpha, const float (&sum)[kSums])
{
    constexpr int kPieces = kStripLine / 16, kOfBox = kBoxSide / kCore;
    const int warpgroup = (int)threadIdx.x / kGroup, thread = (int)threadIdx.x % kGroup,
              warp = thread / kWarp, lane = thread % kWarp;
    const int row = tile_m * kTileRows + warpgroup * kWgmmaRows, col = tile_n * kTileCols;
    uint32_t word[kSums / 2];
    finish_pairs(g, row + warp * 16 + lane / 4, col + lane % 4 * 2, alpha, sum, word);
    if (thread == 0) stores_wait_read();
    meet<kGroup>(2 + warpgroup);
    /* Of four cores of 8 x 8, two j by two h, lane 8 q + i brings the place of line i of core q. */
    const int h = lane / kCore % 2, next = lane / kCore / 2, line = lane % kCore;
    const unsigned to = shared_address(box);
#pragma unroll
    for (int j = 0; j < kSums / 4; j += 2) {
        const int across = j % kOfBox + next, along = warp * 2 + h; /* a core's place in its box, in eights */
        const unsigned at = to + (unsigned)(j / kOfBox * kBoxBytes);
        const uint4 cores = make_uint4(word[2 * j], word[2 * j + 1], word[2 * j + 2], word[2 * j + 3]);
        if (o.down)
            store_transposed(
                at + (unsigned)((across * kCore + line) * kStripLine + (along ^ line) % kPieces * 16), cores);
        else
            store_matrices(
                at + (unsigned)((along * kCore + line) * kStripLine + (across ^ line) % kPieces * 16), cores);
    }
    bulk_copy_fence();
    meet<kGroup>(2 + warpgroup);
    if (thread == 0) {
#pragma unroll
        for (int b = 0; b < kBoxes; b++) {
            const int first = col + b * kBoxSide;
            store_tile(box + b * kBoxBytes, &o.map, o.down ? first : row, o.down ? row : first);
        }
        stores_commit();
    }
}

/* How a warpgroup ends its part of tiles. */
template <typename E> struct TileEnds {
    const TilesOut<E> &out;
    const BoxedOutput &boxed;
    const TilesSpace &s;
    unsigned char *box; /* its own */
    float alpha;
    bool sends; /* by boxes */

    __device__ TileEnds(const TilesOut<E> &out_, const BoxedOutput &boxed_, const TilesSpace &s_,
                        unsigned char *boxes)
        : out(out_), boxed(boxed_), s(s_), box(boxes + threadIdx.x / kGroup * kBoxes * kBoxBytes),
          alpha(load_scalar(out_.alpha)), sends(boxed_.here && load_scalar(out_.beta) == 0.0f)
    {
    }
    /* Sums as wgmma leaves them: written, kept as a part of the tile's, or, where they are not finite, left
     * for repair. */
    __device__ __forceinline__ void end(const Work &work, int n, float (&sum)[kSums]) const
    {
        const int tile = work.m * s.tiles_n + n;
        const bool whole = s.splits == 1, failed = whole && any_of<kHolders>(1, !all_finite(sum));
        if (whole && sends && !failed) return send_boxes(out, boxed, box, work.m, n, alpha, sum);
        pair_rows(sum);
        if (!whole)
            store_part(s, tile, work.split, sum);
        else if (!failed)
            write_tile<E, false>(out, s, work.m, n, sum);
        else if (threadIdx.x == 0)
            note_failed(s, tile);
    }
    /* Behind the last one: a block that has ended has no memory. */
    __device__ void end_all() const
    {
        if (threadIdx.x % kGroup == 0) stores_wait_read();
    }
};

} // namespace lacuna
#endif
