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
template <typename T> __device__ inline void split_eight(const SplitArgs &a, int64_t t)
{
    const Shape &h = a.shape;
    const int64_t cores = t / h.rows;
    const int row = (int)(t % h.rows), core = (int)(cores % (kStep / kCore));
    const int step = (int)(cores / (kStep / kCore) % h.steps),
              pass = (int)(cores / (kStep / kCore) / h.steps);
    if (pass >= h.passes) return;
    const int i = pass * h.rows + row, k16 = step * kStep + core / 2 * 16;
    float x[kCore];
#pragma unroll
    for (int e = 0; e < kCore; e++) {
        const int k = k16 + k_of_slot(core % 2 * kCore + e, a.along_k);
        x[e] = i < a.m && k < a.k ? event_value(((const T *)a.s)[i * a.rs + k * a.cs]) : 0.0f;
    }
    SplitPair pair[kCore / 2];
#pragma unroll
    for (int e = 0; e < kCore / 2; e++) pair[e] = split_pair(x[2 * e], x[2 * e + 1]);
    uint8_t *const to =
        a.space.steps + (int64_t)(pass * h.steps + step) * step_bytes(h.rows) + (core * h.rows + row) * 16;
#pragma unroll
    for (int q = 0; q < kSplits; q++)
        *(uint4 *)(to + q * split_bytes(h.rows)) =
            make_uint4(pair[0].word[q], pair[1].word[q], pair[2].word[q], pair[3].word[q]);
}

/* All of S, by the blocks of a grid of two dimensions. */
__device__ inline __noinline__ void split_by_grid(const SplitArgs &a)
{
    const int64_t pieces = split_pieces(a.shape), step = (int64_t)gridDim.x * gridDim.y * blockDim.x;
    for (int64_t t = ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; t < pieces;
         t += step)
        if (a.bytes)
            split_eight<uint8_t>(a, t);
        else
            split_eight<float>(a, t);
}

/* All of S by the blocks of a grid that lie behind the first of its z, which have something else to do. */
template <typename T> __device__ inline void split_behind(const SplitArgs &a)
{
    const int64_t pieces = split_pieces(a.shape), layer = (int64_t)gridDim.x * gridDim.y;
    const int64_t block = (blockIdx.z - 1) * layer + (int64_t)blockIdx.y * gridDim.x + blockIdx.x;
    for (int64_t t = block * blockDim.x + threadIdx.x; t < pieces; t += (gridDim.z - 1) * layer * blockDim.x)
        split_eight<T>(a, t);
}

/* The z of such a grid: a piece for each thread. */
inline unsigned split_layers(const SplitArgs &a, const dim3 &grid, const dim3 &block)
{
    return 1 + (unsigned)ceil_div(split_pieces(a.shape), (int64_t)grid.x * grid.y * block.x);
}

} // namespace streamed
} // namespace lacuna
#endif
