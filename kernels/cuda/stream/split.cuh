/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * S split into bf16, in the order that the tensor cores read it. */
#ifndef LACUNA_CUDA_STREAM_SPLIT_CUH
#define LACUNA_CUDA_STREAM_SPLIT_CUH

#include "stream.cuh"

namespace lacuna
{
namespace streamed
{

struct SplitArgs {
    const void *s;
    int64_t rs, cs;
    int m, k;
    Shape shape;
    Space space;
    bool bytes;   /* S is u8 */
    bool along_k; /* W lies along k: its fragments come four k at a time */
};

/* Which of sixteen k the k number `slot` of the matrix instruction stands for. */
__device__ inline int k_of_slot(int slot, bool along_k)
{
    return along_k ? slot % 8 / 2 * 4 + slot / 8 * 2 + slot % 2 : slot;
}

inline SplitArgs split_args(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Shape &shape,
                            const Space &space)
{
    return {s->data,   s->rs,           s->cs,
            (int)p->m, (int)p->k,       shape,
            space,     s->dt == LAC_U8, p->order == LAC_CUDA_COLS};
}

/* Pieces of eight k of a row. */
__host__ __device__ inline int64_t split_pieces(const Shape &h)
{
    return (int64_t)h.passes * h.steps * (kStep / kCore) * h.rows;
}

/* Piece t: neighbours have neighbouring rows, then k. */
struct Piece {
    int row, core, step, pass;
};
__device__ inline Piece piece_of(const Shape &h, int64_t t)
{
    const int64_t cores = t / h.rows;
    return {(int)(t % h.rows), (int)(cores % (kStep / kCore)), (int)(cores / (kStep / kCore) % h.steps),
            (int)(cores / (kStep / kCore) / h.steps)};
}

template <typename T> __device__ inline void load_eight(T (&x)[kCore], const SplitArgs &a, const Piece &p)
{
    const int i = p.pass * a.shape.rows + p.row, k16 = p.step * kStep + p.core / 2 * 16;
#pragma unroll
    for (int e = 0; e < kCore; e++) {
        const int k = k16 + k_of_slot(p.core % 2 * kCore + e, a.along_k);
        x[e] = i < a.m && k < a.k ? ((const T *)a.s)[i * a.rs + k * a.cs] : T(0);
    }
}

template <typename T>
__device__ inline void store_eight(const T (&from)[kCore], const SplitArgs &a, const Piece &p)
{
    const Shape &h = a.shape;
    if (p.pass >= h.passes) return;
    float x[kCore];
#pragma unroll
    for (int e = 0; e < kCore; e++) x[e] = event_value(from[e]);
    SplitPair pair[kCore / 2];
#pragma unroll
    for (int e = 0; e < kCore / 2; e++) pair[e] = split_pair(x[2 * e], x[2 * e + 1]);
    uint8_t *const to = a.space.steps + (int64_t)(p.pass * h.steps + p.step) * step_bytes(h.rows) +
                        (p.core * h.rows + p.row) * 16;
#pragma unroll
    for (int q = 0; q < kSplits; q++)
        *(uint4 *)(to + q * split_bytes(h.rows)) =
            make_uint4(pair[0].word[q], pair[1].word[q], pair[2].word[q], pair[3].word[q]);
}

/* Whether samples of S say that few of it is nonzero. They are the same for each block, and so is what they
 * say. All threads of a block call it. */
template <typename T> __device__ inline bool samples_few(const SplitArgs &a, const Gate &g)
{
    __shared__ int seen[kWarp];
    const int samples = samples_at(g.break_even);
    int mine = 0;
#pragma unroll 8
    for (int s = (int)threadIdx.x; s < samples; s += (int)blockDim.x)
        mine += ((const T *)a.s)[sampled_place((uint32_t)s, a.m, a.k, a.rs, a.cs)] != T(0);
    mine = __reduce_add_sync(kFull, mine);
    if (threadIdx.x % kWarp == 0) seen[threadIdx.x / kWarp] = mine;
    __syncthreads();
    int all = 0;
    for (unsigned w = 0; w < blockDim.x / kWarp; w++) all += seen[w];
    return all <= surely_few(g.break_even, samples);
}

/* All of S by the blocks of a grid that lie behind the first of its z, which have something else to do; none
 * of it where samples say that it is sparse, which is said to the launches behind. A piece is on its way
 * beside the samples. */
template <typename T> __device__ inline void split_behind(const SplitArgs &a, const Gate &g)
{
    const int64_t block = ((int64_t)(blockIdx.z - 1) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const Piece piece = piece_of(a.shape, block * blockDim.x + threadIdx.x);
    T x[kCore];
    load_eight(x, a, piece);
    const bool few = samples_few<T>(a, g);
    if (block == 0 && threadIdx.x == 0) *g.surely_few = few;
    if (!few) store_eight(x, a, piece);
}

/* The z of such a grid: a piece for each thread. */
inline unsigned split_layers(const SplitArgs &a, const dim3 &grid, const dim3 &block)
{
    return 1 + (unsigned)ceil_div(split_pieces(a.shape), (int64_t)grid.x * grid.y * block.x);
}

} // namespace streamed
} // namespace lacuna
#endif
