/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of the streamed product share: how the work is cut, and what lies in the workspace. */
#ifndef LACUNA_CUDA_STREAM_STREAM_CUH
#define LACUNA_CUDA_STREAM_STREAM_CUH

#include "common/device.cuh"

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

/* How a product is cut. A block makes sums of an item, a tile of columns for a pass of rows and a part of k,
 * after another; items of the same part are made side by side, so that whole rows of W are read at once. */
struct Shape {
    int rows, passes;   /* of S in a pass, padded to what the instruction has; passes over W */
    int groups;         /* warpgroups of a block, each for 128 columns                       */
    int tiles_n, tiles; /* of columns; times passes                                          */
    int steps, parts, blocks;
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

/* The number of parts that is done first: all blocks work side by side, on as many items each, of a step at a
 * time; the sums are written and read once more, at about the rate of W. In steps. */
inline int parts_of(const Shape &s, int capacity)
{
    const double sums =
        8.0 * s.passes * s.rows * width_of(s) / (4.0 * kStep * s.groups * kGroupColumns * capacity);
    double best = 1e30;
    int parts = 1;
    for (int p = 1; p <= kMaxParts && (p == 1 || s.steps / p >= kMinPartSteps); p++) {
        const int64_t turns = ceil_div((int64_t)s.tiles * p, capacity);
        const double steps = (double)(turns * ceil_div(s.steps, p)) + 0.5 * (double)turns + sums * p;
        if (steps < best) best = steps, parts = p;
    }
    return parts;
}

inline Shape shape_of(int64_t m, int64_t n, int64_t k, int sms)
{
    Shape s;
    s.passes = (int)ceil_div(m, kMaxRows);
    const int each = (int)ceil_div(m, s.passes);
    s.rows = each <= 8 ? 8 : each <= 16 ? 16 : each <= 32 ? 32 : each <= 48 ? 48 : 64;
    s.groups = 2;
    s.tiles_n = (int)ceil_div(n, s.groups * kGroupColumns);
    s.tiles = s.tiles_n * s.passes;
    s.steps = (int)ceil_div(k, kStep);
    s.parts = parts_of(s, sms);
    s.blocks = (int)min<int64_t>(sms, (int64_t)s.tiles * s.parts);
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
    return steps_bytes(s) + 4 * (int64_t)s.parts * s.passes * s.rows * width_of(s);
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

/* The second launch; multiply.cu is code for compute capability 9.0 alone. */
lac_status_t multiply(const lac_cuda_product_t *p, const Shape &shape, const Space &space,
                      cudaStream_t stream);

} // namespace streamed
} // namespace lacuna
#endif
