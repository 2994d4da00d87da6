/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * S is split in shared memory, for tensor cores: as it was packed, or as it lies. */
#ifndef LACUNA_CUDA_STREAM_SPLIT_CUH
#define LACUNA_CUDA_STREAM_SPLIT_CUH

#include "pack.cuh"
#include "steps.cuh"

namespace lacuna
{
namespace streamed
{

/* Where a split of S lies in a stage, and how far sixteen k, the k of an instruction, and a row further. TF32
 * of an S as it lies are rows of a step, swizzled; else they are core matrices. */
template <typename C, typename Form> struct SplitOfS;
template <typename C> struct SplitOfS<C, ThreeTf32> {
    static constexpr int kHalf = C::kCluster ? kPiece * 4 : C::kOfS / kHalves,
                         kNext = kHalf / ThreeTf32::kInstructions, kOfRow = C::kCluster ? kRowBytes : 16;
    __device__ static constexpr int at(int split) { return C::kOfW + split * C::kOfS; }
    __device__ static uint64_t matrix(unsigned memory)
    {
        return C::kCluster ? wgmma_lines(memory) : wgmma_matrix(memory, C::kRows * 16, kCore * 16);
    }
};
template <typename C> struct SplitOfS<C, SixBf16> {
    static constexpr int kHalf = C::kOfBf16 / kHalves, kNext = 0, kOfRow = 16;
    __device__ static constexpr int at(int split) { return C::kOfW + C::kOfS + split * C::kOfBf16; }
    __device__ static uint64_t matrix(unsigned memory)
    {
        return wgmma_matrix(memory, C::kRows * 16, kCore * 16);
    }
};

/* Splits S of a stage, as it was packed: puts behind it what its nearest TF32 leave. */
template <typename C> __device__ inline void split_stage(ThreeTf32, uint8_t *stage, int thread)
{
    constexpr int kFours = C::kOfS / (int)sizeof(uint4), kAtOnce = 4;
    uint4 *const s = (uint4 *)(stage + SplitOfS<C, ThreeTf32>::at(0)),
                 *const rest = (uint4 *)(stage + SplitOfS<C, ThreeTf32>::at(1));
    int i = thread;
    for (; i + (kAtOnce - 1) * C::kSplitters < kFours; i += kAtOnce * C::kSplitters) {
        uint4 x[kAtOnce];
#pragma unroll
        for (int q = 0; q < kAtOnce; q++) x[q] = s[i + q * C::kSplitters];
#pragma unroll
        for (int q = 0; q < kAtOnce; q++) rest[i + q * C::kSplitters] = rest_of_stored(x[q]);
    }
    for (; i < kFours; i += C::kSplitters) rest[i] = rest_of_stored(s[i]);
}

/* ... the three bf16 of it: of a row's eight k, which lie in two cores of TF32, those of slots 2 t and 2 t +
 * 1 from their t-th places. */
template <typename C> __device__ inline void split_stage(SixBf16, uint8_t *stage, int thread)
{
    const uint4 *const s = (const uint4 *)(stage + C::kOfW);
#pragma unroll 1
    for (int i = thread; i < C::kRows * kStep / kCore; i += C::kSplitters) {
        const int core = i / C::kRows, row = i % C::kRows;
        const uint4 x = s[2 * core * C::kRows + row], y = s[(2 * core + 1) * C::kRows + row];
        const uint32_t first[4] = {x.x, x.y, x.z, x.w}, second[4] = {y.x, y.y, y.z, y.w};
        SplitPair pair[4];
#pragma unroll
        for (int t = 0; t < 4; t++) pair[t] = split_pair(stored_value(first[t]), stored_value(second[t]));
#pragma unroll
        for (int q = 0; q < SixBf16::kSplits; q++)
            ((uint4 *)(stage + SplitOfS<C, SixBf16>::at(q)))[i] =
                make_uint4(pair[0].word[q], pair[1].word[q], pair[2].word[q], pair[3].word[q]);
    }
}

/* Piece number `piece` of 16 bytes of a row of a step as it lies, which the copy engine swizzled. */
__device__ inline uint4 *piece_of_row(uint8_t *s, int row, int piece)
{
    return (uint4 *)(s + row * kRowBytes + (piece ^ row % 8) * 16);
}

/* Half row number i of a stage: first those of the first half. */
template <typename C> __device__ inline void read_half_row(uint8_t *stage, int i, float (&x)[kPiece])
{
    constexpr int kPieces = kPiece / kSlots;
#pragma unroll
    for (int q = 0; q < kPieces; q++) {
        const uint4 four = *piece_of_row(stage + C::kOfW, i % C::kRows, i / C::kRows * kPieces + q);
        x[4 * q] = __uint_as_float(four.x), x[4 * q + 1] = __uint_as_float(four.y);
        x[4 * q + 2] = __uint_as_float(four.z), x[4 * q + 3] = __uint_as_float(four.w);
    }
}

/* A half row, in place: its nearest TF32 in the order of slots, and behind these what they leave. */
template <typename C>
__device__ inline void write_half_row(ThreeTf32, uint8_t *stage, int i, const float (&x)[kPiece])
{
    constexpr int kPieces = kPiece / kSlots;
#pragma unroll
    for (int q = 0; q < kPieces; q++) {
        const int row = i % C::kRows, piece = i / C::kRows * kPieces + q;
        uint32_t word[kSlots];
#pragma unroll
        for (int e = 0; e < kSlots; e++) word[e] = stored_tf32(x[k_of_slot(q * kSlots + e, C::kAlongK)]);
        const uint4 nearest = make_uint4(word[0], word[1], word[2], word[3]);
        *piece_of_row(stage + SplitOfS<C, ThreeTf32>::at(0), row, piece) = nearest;
        *piece_of_row(stage + SplitOfS<C, ThreeTf32>::at(1), row, piece) = rest_of_stored(nearest);
    }
}

/* ... the three bf16 of it, behind it, as core matrices. */
template <typename C>
__device__ inline void write_half_row(SixBf16, uint8_t *stage, int i, const float (&x)[kPiece])
{
    constexpr int kCores = kPiece / kCore;
#pragma unroll
    for (int core = 0; core < kCores; core++) {
        SplitPair pair[kSlots];
#pragma unroll
        for (int t = 0; t < kSlots; t++)
            pair[t] = split_pair(x[k_of_slot(core * kCore + t, C::kAlongK)],
                                 x[k_of_slot(core * kCore + kSlots + t, C::kAlongK)]);
#pragma unroll
        for (int q = 0; q < SixBf16::kSplits; q++)
            ((uint4 *)(stage + SplitOfS<C, SixBf16>::at(
                                   q)))[(i / C::kRows * kCores + core) * C::kRows + i % C::kRows] =
                make_uint4(pair[0].word[q], pair[1].word[q], pair[2].word[q], pair[3].word[q]);
    }
}

template <typename C, typename Form>
__device__ inline void split_as_it_lies(Form form, uint8_t *stage, int thread)
{
#pragma unroll 1
    for (int i = thread; i < kHalves * C::kRows; i += C::kSplitters) {
        float x[kPiece];
        read_half_row<C>(stage, i, x);
        write_half_row<C>(form, stage, i, x);
    }
}

/* Nonzeros of a block's first step of an S as it lies, or kWide: a warp's, for one of its lanes. kSplitters
 * threads. */
template <typename C> __device__ inline unsigned count_first(const Stages &st)
{
    const int thread = (int)threadIdx.x - (C::kThreads - C::kSplitters);
    unsigned nonzeros = 0;
    bool wide = false;
    barrier_wait(&st.at[0].full, 0);
#pragma unroll 1
    for (int i = thread; i < kHalves * C::kRows; i += C::kSplitters) {
        static_assert(kHalves * C::kRows % kWarp == 0, "whole warps count");
        float x[kPiece];
        read_half_row<C>(st.memory, i, x);
        const unsigned count = count_terms(x);
        wide |= count == kWide, nonzeros += count;
    }
    return wide ? kWide : nonzeros;
}

/* Splits S where it was brought, step after step; kSplitters threads. */
template <typename C, typename Form>
__device__ inline void split_s(Form form, const MultiplyArgs &a, const Stages &st)
{
    const int thread = (int)threadIdx.x - (C::kThreads - C::kSplitters);
    Ring<C::kStages> ring;
#pragma unroll 1
    for (Steps steps(a.shape); steps.any(); steps.next(), ring.next()) {
        uint8_t *const stage = st.memory + ring.stage * C::kStageBytes;
        barrier_wait(&st.at[ring.stage].full, ring.round);
        if constexpr (C::kCluster)
            split_as_it_lies<C>(form, stage, thread);
        else
            split_stage<C>(form, stage, thread);
        bulk_copy_fence(); /* tensor cores read it as the copy engine would */
        barrier_arrive(&st.at[ring.stage].split);
    }
}

} // namespace streamed
} // namespace lacuna
#endif
