/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * S split into bf16, and into f16 where the product may be one of these, in the order that the tensor cores
 * read it. */
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
    bool fours;   /* neighbouring k lie together, four of them as 16 aligned bytes */
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
    const bool bytes = s->dt == LAC_U8,
               fours = !bytes && s->cs == 1 && s->rs % 4 == 0 && aligned(s->data, 16);
    return {s->data, s->rs, s->cs, (int)p->m, (int)p->k,
            shape,   space, bytes, fours,     p->order == LAC_CUDA_COLS};
}

/* A piece of S: sixteen k of a row, half a step, as slots of the instruction; the step is counted through all
 * passes. */
struct Piece {
    float x[kPiece];
    int row, half;
    int64_t step;

    /* Stores its words of a split, two k each. */
    template <typename Form>
    __device__ void store(uint8_t *steps, int rows, int split, const uint32_t (&word)[kPiece / 2]) const
    {
        uint8_t *const to = steps + step * step_bytes<Form>(rows) + split * split_bytes(rows) +
                            (half * (kPiece / kCore) * rows + row) * 16;
#pragma unroll
        for (int core = 0; core < kPiece / kCore; core++)
            *(uint4 *)(to + core * rows * 16) =
                make_uint4(word[4 * core], word[4 * core + 1], word[4 * core + 2], word[4 * core + 3]);
    }
};

/* Sixteen neighbouring k, by pieces of 16 bytes where they are such. */
template <typename T> __device__ inline void read_piece(const SplitArgs &a, int i, int k0, float (&x)[kPiece])
{
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

__device__ inline void store_bf16(const SplitArgs &a, const Piece &piece)
{
    uint32_t word[SixBf16::kSplitsOfS][kPiece / 2];
#pragma unroll
    for (int e = 0; e < kPiece / 2; e++) {
        const SplitPair pair = split_pair(piece.x[2 * e], piece.x[2 * e + 1]);
#pragma unroll
        for (int q = 0; q < SixBf16::kSplitsOfS; q++) word[q][e] = pair.word[q];
    }
#pragma unroll
    for (int q = 0; q < SixBf16::kSplitsOfS; q++)
        piece.store<SixBf16>(a.space.steps, a.shape.rows, q, word[q]);
}

/* Sixteen rows of a step, which are a warp's, get a power of two. Of their nonzeros, and of whether f16 hold
 * them, count t / 32 tells. */
__device__ inline void store_f16(const SplitArgs &a, const Piece &piece, int64_t t)
{
    constexpr int kTop = ThreeF16::kTop, kApart = ThreeF16::kApart;
    const int rows = a.shape.rows;
    float largest = 0.0f;
#pragma unroll
    for (int e = 0; e < kPiece; e++) largest = fmaxf(largest, fabsf(piece.x[e]));
    const unsigned size = __reduce_max_sync(kFull, __float_as_uint(largest));
    const int exponent = size ? largest_exponent(size) : kTop;
    const float power = power_of_two(kTop - exponent), least = power_of_two(ThreeF16::kLeast - kApart);
    unsigned nonzeros = 0;
    bool fits = true;
    uint32_t word[ThreeF16::kSplitsOfS][kPiece / 2];
#pragma unroll
    for (int e = 0; e < kPiece; e += 2) {
        const float x = piece.x[e] * power, y = piece.x[e + 1] * power;
        nonzeros += (unsigned)(piece.x[e] != 0.0f) + (unsigned)(piece.x[e + 1] != 0.0f);
        fits &= (piece.x[e] == 0.0f || fabsf(x) >= least) && (piece.x[e + 1] == 0.0f || fabsf(y) >= least);
        split_f16(x, y, power_of_two(kApart), word[0][e / 2], word[1][e / 2]);
    }
    const bool all_fit = __all_sync(kFull, fits);
    const unsigned sum = __reduce_add_sync(kFull, nonzeros);
#pragma unroll
    for (int q = 0; q < ThreeF16::kSplitsOfS; q++) piece.store<ThreeF16>(a.space.scaled, rows, q, word[q]);
    if (t % kWarp) return;
    a.space.nonzeros[t / kWarp] = all_fit ? sum : kWide;
    int *const exponents = (int *)(a.space.scaled + piece.step * step_bytes<ThreeF16>(rows) +
                                   ThreeF16::kSplitsOfS * split_bytes(rows));
    exponents[piece.row / kScaledRows] = exponent - kTop;
}

/* Piece t: neighbours are the halves of a step, then have neighbouring rows. */
template <typename T> __device__ inline void split_piece(const SplitArgs &a, int64_t t)
{
    const Shape &h = a.shape;
    if (t >= split_pieces(h)) return;
    Piece piece;
    piece.half = (int)(t % kHalves), piece.row = (int)(t / kHalves % h.rows),
    piece.step = t / kHalves / h.rows;
    float x[kPiece];
    read_piece<T>(a, (int)(piece.step / h.steps) * h.rows + piece.row,
                  (int)(piece.step % h.steps) * kStep + piece.half * kPiece, x);
#pragma unroll
    for (int e = 0; e < kPiece; e++) piece.x[e] = a.along_k ? x[k_of_slot(e, true)] : x[e];
    store_bf16(a, piece);
    if (h.scaled) store_f16(a, piece, t);
}

/* All of S, by the blocks of a grid of two dimensions. */
__device__ inline __noinline__ void split_by_grid(const SplitArgs &a)
{
    const int64_t pieces = split_pieces(a.shape), step = (int64_t)gridDim.x * gridDim.y * blockDim.x;
    for (int64_t t = ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x; t < pieces;
         t += step)
        if (a.bytes)
            split_piece<uint8_t>(a, t);
        else
            split_piece<float>(a, t);
}

/* All of S by the blocks of a grid that lie behind the first of its z, which have something else to do. */
template <typename T> __device__ inline void split_behind(const SplitArgs &a)
{
    const int64_t pieces = split_pieces(a.shape), layer = (int64_t)gridDim.x * gridDim.y;
    const int64_t block = (blockIdx.z - 1) * layer + (int64_t)blockIdx.y * gridDim.x + blockIdx.x;
    for (int64_t t = block * blockDim.x + threadIdx.x; t < pieces; t += (gridDim.z - 1) * layer * blockDim.x)
        split_piece<T>(a, t);
}

/* The z of such a grid: a piece for each thread. */
inline unsigned split_layers(const SplitArgs &a, const dim3 &grid, const dim3 &block)
{
    return 1 + (unsigned)ceil_div(split_pieces(a.shape), (int64_t)grid.x * grid.y * block.x);
}

} // namespace streamed
} // namespace lacuna
#endif
