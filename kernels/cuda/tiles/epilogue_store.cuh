/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A finished tile of the product by tiles, as wgmma leaves it in registers: checked for finite sums, stored,
 * written to c with its epilogue, and its nonzeros recorded as bits. */
#ifndef LACUNA_CUDA_TILES_EPILOGUE_STORE_CUH
#define LACUNA_CUDA_TILES_EPILOGUE_STORE_CUH

#include "common/device.cuh"
#include "tiles.cuh"

namespace lacuna
{

/* Thread t of the kHolders that hold a tile, lane l of warp w = t / 32, has at sum[4 j + 2 h + c] row
 * 8 j + 2 (l % 4) + c and column 16 w + 2 (l / 4) + h of the tile. Of elements of two bytes, there, row 16 w
 * + 8 (e % 2) + e - e % 2 + c for e = l / 4, and column 8 j + 2 (l % 4) + h. */
constexpr int kHolders = 256, kSums = kTileRows * kTileCols / kHolders;
struct FirstCell {
    int row, col;
};
template <typename E> __device__ inline FirstCell first_cell(int thread)
{
    const int lane = thread % kWarp, eighth = lane / 4;
    if (ShapeOf<E>::kSplits > 1) return {lane % 4 * 2, thread / kWarp * 16 + 2 * eighth};
    return {thread / kWarp * 16 + (eighth % 2 ? 7 + eighth : eighth), lane % 4 * 2};
}
/* What j adds to that. */
template <typename E> __device__ constexpr int row_further(int j)
{
    return ShapeOf<E>::kSplits > 1 ? 8 * j : 0;
}
template <typename E> __device__ constexpr int col_further(int j)
{
    return ShapeOf<E>::kSplits > 1 ? 0 : 8 * j;
}

/* As wgmma leaves sums of elements of two bytes, sum[4 j + 2 h + c] is of row 16 w + 8 h + l / 4 and column 8
 * j + 2 (l % 4) + c. Neighbours exchange one row of two, so that each thread has two that follow each other.
 */
__device__ inline void pair_rows(float (&sum)[kSums])
{
    const bool odd = thread_here() & 4;
#pragma unroll
    for (int j = 0; j < kSums / 4; j++) {
        float own[2], got[2];
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const float low = sum[4 * j + c], high = sum[4 * j + 2 + c];
            own[c] = odd ? high : low;
            got[c] = __shfl_xor_sync(kFull, odd ? low : high, 4);
        }
#pragma unroll
        for (int c = 0; c < 2; c++) {
            sum[4 * j + 2 * c] = odd ? got[c] : own[c];
            sum[4 * j + 2 * c + 1] = odd ? own[c] : got[c];
        }
    }
}

/* Of a tile's sums by rows in shared memory, kPitch floats from one row to the next, so that few meet in a
 * bank: those that this thread holds. */
constexpr int kPitch = kTileCols + 8;
__device__ inline void collect_sums(const float *memory, float (&sum)[kSums])
{
    const int lane = threadIdx.x % kWarp;
    const float *from = memory + lane % 4 * 2 * kPitch + threadIdx.x / kWarp * 16 + lane / 4 * 2;
#pragma unroll
    for (int j = 0; j < kSums / 4; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const float2 x = *(const float2 *)(from + (8 * j + c) * kPitch);
            sum[4 * j + c] = x.x, sum[4 * j + 2 + c] = x.y;
        }
}

/* Of a product of elements of type E. */
template <typename E> struct TilesOut {
    int m, n;
    lac_cuda_scalar_t alpha, beta;
    Output<E> c;
    int64_t crs, ccs;
    lac_cuda_epilogue_t epilogue;
};

inline void set_output(Output<float> *to, const lac_cuda_tiles_t *p)
{
    to->base = (float *)p->c;
}
template <lac_dt_t kType> inline void set_output(Output<Half<kType>> *to, const lac_cuda_tiles_t *p)
{
    to->base = p->c, to->f32 = p->out_dt == LAC_F32;
}

template <typename E> inline TilesOut<E> tiles_out(const lac_cuda_tiles_t *p)
{
    TilesOut<E> out = {(int)p->m, (int)p->n, p->alpha, p->beta, {}, p->crs, p->ccs, p->epilogue};
    set_output(&out.c, p);
    if (!p->epilogue.any) out.epilogue.bias = nullptr, out.epilogue.limit = NAN; /* all stay */
    return out;
}

/* Sums of products of bf16 splits become those of what was split. */
__device__ inline void unscale(float (&sum)[kSums])
{
#pragma unroll
    for (int i = 0; i < kSums; i++) sum[i] *= kUnscale;
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

__device__ inline unsigned pair_bytes(const Output<float> &)
{
    return 8;
}
template <lac_dt_t kType> __device__ inline unsigned pair_bytes(const Output<Half<kType>> &c)
{
    return c.f32 ? 8 : 4;
}

template <typename E> __device__ inline TilesScale tiles_scale(const TilesOut<E> &g)
{
    const bool even = ((uintptr_t)g.c.base & (pair_bytes(g.c) - 1)) == 0;
    return {load_scalar(g.alpha), load_scalar(g.beta), even && g.ccs == 1 && g.crs % 2 == 0,
            even && g.crs == 1 && g.ccs % 2 == 0};
}

/* What is made of a sum where it is written: nothing more; bias and activation; these and bits. */
enum Writing { kPlainly, kFollowed, kWithBits };

/* What is written where `was` is. */
template <Writing kHow, typename E>
__device__ inline float tiles_value(const TilesOut<E> &g, const TilesScale &s, float was, float x, float bias)
{
    const float v = scaled(&was, x, s.alpha, s.beta);
    return kHow == kPlainly ? v : apply_epilogue(g.epilogue, v, bias);
}

/* c := beta c + alpha {x, y}, and the epilogue, for two neighbours in memory; x and y become what is written.
 */
template <Writing kHow, typename E>
__device__ inline void write_pair(const TilesOut<E> &g, const TilesScale &s, int64_t at, float &x, float &y,
                                  float bias_x, float bias_y)
{
    const float2 was = s.beta == 0.0f ? make_float2(0.0f, 0.0f) : g.c.load_pair(at);
    x = tiles_value<kHow>(g, s, was.x, x, bias_x);
    y = tiles_value<kHow>(g, s, was.y, y, bias_y);
    g.c.store_pair(at, make_float2(x, y));
}

/* The same for two rows of two columns, x[row][column], as far as they are inside; the others become 0. */
template <Writing kHow, bool kInside, typename E>
__device__ inline void write_four(const TilesOut<E> &g, const TilesScale &s, int row, int col,
                                  float (&x)[2][2], const float (&bias)[2][2])
{
    const int64_t ccs = kInside ? 1 : g.ccs;
    const int64_t at = row * g.crs + col * ccs;
    const bool all = kInside || (row + 1 < g.m && col + 1 < g.n);
    if (kInside || (all && s.across)) {
        write_pair<kHow>(g, s, at, x[0][0], x[0][1], bias[0][0], bias[0][1]);
        write_pair<kHow>(g, s, at + g.crs, x[1][0], x[1][1], bias[1][0], bias[1][1]);
    } else if (all && s.down) {
        write_pair<kHow>(g, s, at, x[0][0], x[1][0], bias[0][0], bias[1][0]);
        write_pair<kHow>(g, s, at + ccs, x[0][1], x[1][1], bias[0][1], bias[1][1]);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (row + i / 2 < g.m && col + i % 2 < g.n) {
                const int64_t one = at + i / 2 * g.crs + i % 2 * ccs;
                const float was = s.beta == 0.0f ? 0.0f : g.c.load(one);
                x[i / 2][i % 2] = tiles_value<kHow>(g, s, was, x[i / 2][i % 2], bias[i / 2][i % 2]);
                g.c.store(one, x[i / 2][i % 2]);
            } else {
                x[i / 2][i % 2] = 0.0f;
            }
    }
}

/* What the epilogue adds to element (row, col), of the output's type. */
__device__ inline float bias_of(const TilesOut<float> &g, int row, int col)
{
    return bias_at(g.epilogue, row, col);
}
template <lac_dt_t kType> __device__ inline float bias_of(const TilesOut<Half<kType>> &g, int row, int col)
{
    if (g.c.f32 || !g.epilogue.bias) return bias_at(g.epilogue, row, col);
    return event_value(((const Half<kType> *)g.epilogue.bias)[g.epilogue.of_rows ? row : col]);
}

/* The bias of a row or column, which there need not be. -0 where nothing follows: whatever it is added to
 * stays, and no element has to be asked whether something does. */
template <Writing kHow, typename E> __device__ inline float bias_near(const TilesOut<E> &g, int row, int col)
{
    const float bias = bias_of(g, min(row, g.m - 1), min(col, g.n - 1));
    return kHow == kWithBits && !g.epilogue.any ? -0.0f : bias;
}

/* This thread's part of the tile. kInside: all of it is inside, in pairs, and beta is 0. Biases are read so
 * many at a time, and before anything is stored that they are added to: one by one, each would wait for
 * memory. */
template <Writing kHow, bool kInside, typename E>
__device__ inline void write_sums(const TilesOut<E> &g, const TilesScale &s, int tile_m, int tile_n,
                                  const float (&sum)[kSums], uint2 *occupied_at)
{
    constexpr int kAhead = 8;
    const int thread = thread_here();
    const FirstCell first = first_cell<E>(thread);
    const int row0 = tile_m * kTileRows + first.row, col0 = tile_n * kTileCols + first.col;
    const bool of_rows = kHow != kPlainly && g.epilogue.of_rows;
    float near[kAhead][2] = {}; /* of rows, or of columns */
    uint32_t occupied[2] = {};
#pragma unroll
    for (int j = 0; j < kTileRows / 8; j++) {
        const int row = row0 + row_further<E>(j), col = col0 + col_further<E>(j);
        if (kHow != kPlainly && j % kAhead == 0) {
#pragma unroll
            for (int t = 0; t < 2 * kAhead; t++)
                near[t / 2][t % 2] = of_rows
                                         ? bias_near<kHow>(g, row0 + row_further<E>(j + t / 2) + t % 2, 0)
                                         : bias_near<kHow>(g, 0, col0 + col_further<E>(j + t / 2) + t % 2);
        }
        float x[2][2], bias[2][2];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[i % 2][i / 2] = sum[4 * j + i];
            bias[i % 2][i / 2] = of_rows ? near[j % kAhead][i % 2] : near[j % kAhead][i / 2];
        }
        write_four<kHow, kInside>(g, s, row, col, x, bias);
        if (kHow == kWithBits)
#pragma unroll
            for (int i = 0; i < 4; i++)
                occupied[j / 8] |= x[i / 2][i % 2] != 0.0f ? 1u << (4 * (j % 8) + i) : 0u;
    }
    if (kHow == kWithBits) occupied_at[thread] = make_uint2(occupied[0], occupied[1]);
}

/* c := beta c + alpha sum, and the epilogue, for this thread's part of the tile; kBits: and which of it is
 * not zero. That is the kernel's choice, not the call's: what is asked for here finds its way out of the
 * loops in front, whose registers are all in use. For the same reason the bits are put in order by another
 * kernel: shuffles among lanes behind those loops leave them no uniform registers. */
template <typename E, bool kBits>
__device__ inline void write_tile(const TilesOut<E> &g, const TilesSpace &space, int tile_m, int tile_n,
                                  const float (&sum)[kSums])
{
    const TilesScale s = tiles_scale(g), plain = {s.alpha, 0.0f, true, false};
    const bool inside =
        s.across && s.beta == 0.0f && (tile_m + 1) * kTileRows <= g.m && (tile_n + 1) * kTileCols <= g.n;
    if constexpr (kBits) {
        uint2 *const bits = space.occupied + (tile_m * (int64_t)space.tiles_n + tile_n) * kHolders;
        if (inside)
            write_sums<kWithBits, true>(g, plain, tile_m, tile_n, sum, bits);
        else
            write_sums<kWithBits, false>(g, s, tile_m, tile_n, sum, bits);
    } else if (inside && g.epilogue.any)
        write_sums<kFollowed, true>(g, plain, tile_m, tile_n, sum, nullptr);
    else if (inside)
        write_sums<kPlainly, true>(g, plain, tile_m, tile_n, sum, nullptr);
    else if (g.epilogue.any)
        write_sums<kFollowed, false>(g, s, tile_m, tile_n, sum, nullptr);
    else
        write_sums<kPlainly, false>(g, s, tile_m, tile_n, sum, nullptr);
}

} // namespace lacuna
#endif
