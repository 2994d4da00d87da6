/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * S in the order in which tensor cores read it. */
#ifndef LACUNA_CUDA_STREAM_PACK_CUH
#define LACUNA_CUDA_STREAM_PACK_CUH

#include "splits.cuh"
#include "stream.cuh"

namespace lacuna
{
namespace streamed
{

struct PackArgs {
    const void *s;
    int64_t rs, cs;
    int m, k;
    Shape shape;
    Space space;
    bool bytes;   /* S is u8 */
    bool fours;   /* neighbouring k lie together, four of them as 16 aligned bytes */
    bool along_k; /* W lies along k: its fragments come four k at a time */
};

/* Which of sixteen k is in slot number `slot`: of each eight the instruction takes slots t and t + 4 of A's
 * from thread t of four. By rows of W this one reads k 2 t and 2 t + 1 of each eight, along k 4 t to 4 t + 3.
 */
__device__ inline int k_of_slot(int slot, bool along_k)
{
    const int eight = slot / 8, second = slot % 8 / kSlots, t = slot % kSlots;
    return along_k ? 4 * t + 2 * eight + second : 8 * eight + 2 * t + second;
}

inline PackArgs pack_args(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Shape &shape,
                          const Space &space)
{
    const bool bytes = s->dt == LAC_U8,
               fours = !bytes && s->cs == 1 && s->rs % 4 == 0 && aligned(s->data, 16);
    return {s->data, s->rs, s->cs, (int)p->m, (int)p->k,
            shape,   space, bytes, fours,     p->order == LAC_CUDA_COLS};
}

/* Sixteen neighbouring k, by pieces of 16 bytes where they are such; where W's rows are apart, as many of
 * every fourth k of a turn. */
template <typename T> __device__ inline void read_piece(const PackArgs &a, int i, int k0, float (&x)[kPiece])
{
    if (a.shape.apart) {
        const int of_turn = a.shape.steps / kApart * kStep, turn = k0 / of_turn;
#pragma unroll
        for (int e = 0; e < kPiece; e++) {
            const int k = kApart * (k0 - turn * of_turn + e) + turn;
            x[e] = i < a.m && k < a.k ? event_value(((const T *)a.s)[i * a.rs + k * a.cs]) : 0.0f;
        }
        return;
    }
    const T *const from = (const T *)a.s + i * a.rs + k0 * a.cs;
    if (a.fours && i < a.m && k0 + kPiece <= a.k) {
#pragma unroll
        for (int e = 0; e < kPiece; e += 4) {
            const float4 four = __ldg((const float4 *)from + e / 4);
            x[e] = four.x, x[e + 1] = four.y, x[e + 2] = four.z, x[e + 3] = four.w;
        }
        return;
    }
#pragma unroll
    for (int e = 0; e < kPiece; e++) x[e] = i < a.m && k0 + e < a.k ? event_value(from[e * a.cs]) : 0.0f;
}

/* Nonzeros of a warp's pieces, or kWide where some are too small beside the largest. */
__device__ inline unsigned count_terms(const float (&x)[kPiece])
{
    float largest = 0.0f;
    unsigned nonzeros = 0;
    bool wide = false;
#pragma unroll
    for (int e = 0; e < kPiece; e++) largest = fmaxf(largest, fabsf(x[e]));
    const float least =
        __uint_as_float(__reduce_max_sync(kFull, __float_as_uint(largest))) * power_of_two(-kWideBits);
#pragma unroll
    for (int e = 0; e < kPiece; e++) {
        nonzeros += x[e] != 0.0f;
        wide |= x[e] != 0.0f && fabsf(x[e]) < least;
    }
    nonzeros = __reduce_add_sync(kFull, nonzeros);
    return __any_sync(kFull, wide) ? kWide : nonzeros;
}

/* Piece t, if there is one: neighbours are the halves of a step, then have neighbouring rows. All lanes of a
 * warp. */
template <typename T> __device__ inline void pack_piece(const PackArgs &a, int64_t t)
{
    const Shape &h = a.shape;
    const bool any = t < pack_pieces(h);
    const int half = (int)(t % kHalves), row = (int)(t / kHalves % h.rows);
    const int64_t step = t / kHalves / h.rows;
    float x[kPiece] = {};
    if (any)
        read_piece<T>(a, (int)(step / h.steps) * h.rows + row, (int)(step % h.steps) * kStep + half * kPiece,
                      x);
    if (h.counted) {
        const unsigned nonzeros = count_terms(x);
        if (any && t % kWarp == 0) a.space.nonzeros[t / kWarp] = nonzeros;
    }
    if (!any) return;
    uint4 *const to =
        (uint4 *)(a.space.steps + step * step_bytes(h.rows)) + half * (kPiece / kSlots) * h.rows + row;
#pragma unroll
    for (int core = 0; core < kPiece / kSlots; core++) {
        uint32_t word[kSlots];
#pragma unroll
        for (int e = 0; e < kSlots; e++) {
            const int slot = core * kSlots + e;
            word[e] = stored_tf32(a.along_k ? x[k_of_slot(slot, true)] : x[k_of_slot(slot, false)]);
        }
        to[core * h.rows] = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

/* All of S, by the blocks of a grid of two dimensions. Part of the kernel that may gather instead: where it
 * was called, that had registers for three loads of W at once in place of four (2 x 5000 x 5000 at 10 %: 23.5
 * us, and 17.3 before; H200). */
__device__ inline void pack_by_grid(const PackArgs &a)
{
    const int64_t pieces = round_up(pack_pieces(a.shape), kWarp),
                  step = (int64_t)gridDim.x * gridDim.y * blockDim.x;
    for (int64_t t = ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; t < pieces;
         t += step)
        if (a.bytes)
            pack_piece<uint8_t>(a, t);
        else
            pack_piece<float>(a, t);
}

/* All of S by the blocks of a grid that lie behind the first of its z, which have something else to do. */
template <typename T> __device__ inline void pack_behind(const PackArgs &a)
{
    const int64_t pieces = round_up(pack_pieces(a.shape), kWarp), layer = (int64_t)gridDim.x * gridDim.y;
    const int64_t block = (blockIdx.z - 1) * layer + (int64_t)blockIdx.y * gridDim.x + blockIdx.x;
    for (int64_t t = block * blockDim.x + threadIdx.x; t < pieces; t += (gridDim.z - 1) * layer * blockDim.x)
        pack_piece<T>(a, t);
}

/* The z of such a grid: a piece for each thread. */
inline unsigned pack_layers(const PackArgs &a, const dim3 &grid, const dim3 &block)
{
    return 1 + (unsigned)ceil_div(pack_pieces(a.shape), (int64_t)grid.x * grid.y * block.x);
}

} // namespace streamed
} // namespace lacuna
#endif
