/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of the streamed product share: how the work is cut, and what lies in the workspace. */
#ifndef LACUNA_CUDA_STREAM_STREAM_CUH
#define LACUNA_CUDA_STREAM_STREAM_CUH

#include "common/gate.cuh"

namespace lacuna
{
namespace streamed
{

constexpr int kStep = 32;          /* k of a step: a stage of the pipeline                 */
constexpr int kSplits = 3;         /* bf16 numbers that an f32 is the sum of, 8 bits each  */
constexpr int kCore = 8;           /* rows of S, and k, of a core matrix of wgmma          */
constexpr int kGroupColumns = 128; /* of W, of a warpgroup                                 */
constexpr int kMaxRows = 64;       /* of S, in one pass over W                             */
constexpr int kMaxParts = 32;      /* of k                                                 */
constexpr int kMinPartSteps = 4;   /* of a part, where there is more than one              */
constexpr int kThinSteps = 16;     /* of a k that is not cut                               */

/* How a product is cut. A block makes sums of an item, a tile of columns for a pass of rows and a part of k,
 * after another; items of the same part are made side by side, so that whole rows of W are read at once. */
struct Shape {
    int rows, passes;   /* of S in a pass, padded to what the instruction has; passes over W */
    int groups;         /* warpgroups of a block, each for 128 columns                       */
    int tiles_n, tiles; /* of columns; times passes                                          */
    int steps, parts, blocks;
    bool direct; /* one part, and its sums are written as the output: no third launch */
};

__host__ __device__ inline int width_of(const Shape &s)
{
    return s.tiles_n * s.groups * kGroupColumns; /* a row of sums */
}

/* Bytes of a step of split S: three splits of rows x 32 k, each as core matrices, those of the same k
 * together. */
__host__ __device__ constexpr int split_bytes(int rows)
{
    return rows * kStep * 2;
}
__host__ __device__ constexpr int step_bytes(int rows)
{
    return kSplits * split_bytes(rows);
}

struct Space {
    uint8_t *steps; /* [passes][steps] of step_bytes          */
    float *sums;    /* [parts][passes * rows][width]          */
};

/* What so many parts take, in steps: all blocks work side by side, on as many items each, of a step at a
 * time; the sums are written and read once more, at about the rate of W, by another launch. */
inline double steps_of(const Shape &s, int parts, int capacity)
{
    const double sums =
        8.0 * s.passes * s.rows * width_of(s) / (4.0 * kStep * s.groups * kGroupColumns * capacity);
    const int64_t turns = ceil_div((int64_t)s.tiles * parts, capacity);
    return (double)(turns * ceil_div(s.steps, parts)) + 0.5 * (double)turns + sums * parts;
}

inline void cut_k(Shape &s, int capacity)
{
    s.parts = 1;
    for (int p = 2; p <= kMaxParts && s.steps / p >= kMinPartSteps; p++)
        if (steps_of(s, p, capacity) < steps_of(s, s.parts, capacity)) s.parts = p;
}

inline void cut_rows(Shape &s, int64_t m, int rows, int capacity)
{
    s.rows = rows;
    s.passes = (int)ceil_div(m, rows);
    s.tiles = s.tiles_n * s.passes;
    s.blocks = (int)min<int64_t>(capacity, (int64_t)s.tiles * s.parts);
}

/* A short k is not cut, and no sums are stored, where tiles alone keep all multiprocessors busy. */
inline bool is_thin(const Shape &s, int64_t m, int capacity)
{
    return m > kMaxRows / 2 && s.steps <= kThinSteps && s.tiles_n * ceil_div(m, kMaxRows) > capacity;
}

inline Shape shape_of(int64_t m, int64_t n, int64_t k, int sms)
{
    Shape s = {};
    const int each = (int)ceil_div(m, ceil_div(m, kMaxRows));
    s.groups = 2;
    s.tiles_n = (int)ceil_div(n, s.groups * kGroupColumns);
    s.steps = (int)ceil_div(k, kStep);
    s.parts = 1;
    s.direct = is_thin(s, m, sms);
    if (s.direct) {
        cut_rows(s, m, kMaxRows, sms);
        return s;
    }
    cut_rows(s, m, each <= 8 ? 8 : each <= 16 ? 16 : each <= 32 ? 32 : each <= 48 ? 48 : 64, sms);
    cut_k(s, sms);
    cut_rows(s, m, s.rows, sms);
    return s;
}

inline int64_t steps_bytes(const Shape &s)
{
    return round_up((int64_t)s.passes * s.steps * step_bytes(s.rows), 256);
}
inline Space space_of(const Shape &s, void *workspace)
{
    return {(uint8_t *)workspace, (float *)((char *)workspace + steps_bytes(s))};
}
inline int64_t space_bytes(const Shape &s)
{
    return steps_bytes(s) + (s.direct ? 0 : 4 * (int64_t)s.parts * s.passes * s.rows * width_of(s));
}

/* Splits two floats: word i holds their i-th bf16, x below and y above, the first two rounded to nearest, so
 * that the last is what is left. What an Inf or NaN leaves is NaN. */
struct SplitPair {
    uint32_t word[kSplits];
};
__device__ inline SplitPair split_pair(float x, float y)
{
    SplitPair s;
#pragma unroll
    for (int i = 0; i < kSplits; i++) {
        const uint32_t half = i + 1 < kSplits ? 0x8000u : 0u;
        const uint32_t a = __float_as_uint(x) + half, b = __float_as_uint(y) + half;
        s.word[i] = __byte_perm(a, b, 0x7632);
        x -= __uint_as_float(a & 0xffff0000u);
        y -= __uint_as_float(b & 0xffff0000u);
    }
    return s;
}

/* The second launch; multiply.cu is code for compute capability 9.0 alone. With a gate, it has work where
 * many were counted. Where the counts are there, it lets the next launch begin at once; else, and where few
 * were counted, the next one begins when all of its blocks have ended. */
lac_status_t multiply(const lac_cuda_product_t *p, const lac_cuda_dense_t *s, const Shape &shape,
                      const Space &space, const Gate &gate, cudaStream_t stream);

} // namespace streamed
} // namespace lacuna
#endif
