/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What both kernels of a streamed product's second launch do: which steps a block makes, and how these come
 * to its shared memory. */
#ifndef LACUNA_CUDA_STREAM_STEPS_CUH
#define LACUNA_CUDA_STREAM_STEPS_CUH

#include "common/tensor_map.cuh"
#include "output.cuh"
#include "stream.cuh"
#include "tiles/wgmma.cuh"

namespace lacuna
{
namespace streamed
{

struct MultiplyArgs {
    CUtensorMap w;
    Shape shape;
    Space space;
    Output out;
    Gate gate;
};

constexpr int kBoxColumns = 32; /* of W: a row of a box, 128 bytes */
constexpr int kRowBytes = 128;
constexpr int kBoxBytes = kBoxColumns * kStep * 4;
constexpr int kBoxes = 4; /* of a group's columns */
constexpr int kGroupBytes = kBoxes * kBoxBytes;
constexpr int kAlignment = 1024; /* of swizzled boxes */
constexpr int kRoom = 225 * 1024;
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240; /* of a thread */
static_assert(kHalves == kStep / kWgmmaDepth, "a half step is one product");

/* Stages of W's part of a step, for groups of 128 columns, along k or by rows, and of S's, in any form. */
template <int kRows_, int kGroups_, bool kAlongK_> struct StageShape {
    static constexpr int kRows = kRows_, kGroups = kGroups_;
    static constexpr bool kAlongK = kAlongK_;
    static constexpr int kOfW = kGroups * kGroupBytes;
    static constexpr int kStageBytes =
        (kOfW + step_bytes<SixBf16>(kRows) + kAlignment - 1) / kAlignment * kAlignment;
    static constexpr int kStages = (kRoom - kAlignment) / kStageBytes;
    static constexpr int kShared = kStages * kStageBytes + kAlignment;
    static constexpr int kSums = kRows / 2; /* of a thread, for a product of 64 columns */
};

/* Steps [begin, end) of a tile. */
struct Item {
    int tile, part, begin, end;
};
__device__ inline Item item_of(const Shape &h, int number)
{
    const int part = number / h.tiles;
    return {number % h.tiles, part, (int)((int64_t)h.steps * part / h.parts),
            (int)((int64_t)h.steps * (part + 1) / h.parts)};
}

/* A stage of the pipeline, one after the other. */
template <int kStages> struct Ring {
    int stage = 0, round = 0;
    __device__ void next()
    {
        if (++stage == kStages) stage = 0, round ^= 1;
    }
};

struct Stages {
    uint8_t *memory;
    barrier_t *full, *empty;
};

/* Brings W's part of a step into a stage, which is full when S's has come, too. C, here and below: what a
 * StageShape has; kThreads, of a block, and kBringer, the one that brings. */
template <typename C>
__device__ inline void bring_w(const MultiplyArgs &a, const Stages &st, int stage, int tile, int step)
{
    uint8_t *const to = st.memory + stage * C::kStageBytes;
    barrier_t *const full = st.full + stage;
    const int j = tile / a.shape.passes * C::kGroups * kGroupColumns, k = step * kStep;
    barrier_arrive_promise(full, C::kOfW);
#pragma unroll
    for (int g = 0; g < C::kGroups; g++)
        if (C::kAlongK)
            copy_tile(to + g * kGroupBytes, &a.w, j + g * kGroupColumns, k, full);
        else
#pragma unroll
            for (int box = kBoxes * g; box < kBoxes * g + kBoxes; box++)
                copy_tile(to + box * kBoxBytes, &a.w, k, j + box * kBoxColumns, full);
}

/* Brings S's part of it, as bf16 or `scaled` f16. */
template <typename C>
__device__ inline void bring_s(const MultiplyArgs &a, const Stages &st, int stage, int tile, int step,
                               bool scaled)
{
    const Shape &h = a.shape;
    const int bytes = scaled ? step_bytes<ThreeF16>(C::kRows) : step_bytes<SixBf16>(C::kRows);
    const uint8_t *from = scaled ? a.space.scaled : a.space.steps;
    barrier_arrive_promise(st.full + stage, bytes);
    copy_bulk((float *)(st.memory + stage * C::kStageBytes + C::kOfW),
              (const float *)(from + ((int64_t)(tile % h.passes) * h.steps + step) * bytes), bytes,
              st.full + stage);
}

/* Stages of a block's first item that may be brought before another is empty. */
template <typename C> __device__ inline int first_stages(const Item &first)
{
    return min(first.end - first.begin, C::kStages);
}

/* Brings W's first stages from number `begun` on: W is there since before the kernel that splits S began. */
template <typename C> __device__ inline void bring_first_w(const MultiplyArgs &a, const Stages &st, int begun)
{
    const Item first = item_of(a.shape, (int)blockIdx.x);
#pragma unroll 1
    for (int x = begun; x < first_stages<C>(first); x++) bring_w<C>(a, st, x, first.tile, first.begin + x);
}

/* Whether many were counted. Before the counts are there, one stage of W is brought, which memory has time
 * for while S is packed; where samples of S say that it is full, all are. `begun` becomes their number; where
 * few were counted, they have come. All threads of the block. */
template <typename C> __device__ inline bool opens(const MultiplyArgs &a, const Stages &st, int &begun)
{
    const bool brings = threadIdx.x == C::kBringer;
    const Item first = item_of(a.shape, (int)blockIdx.x);
    if (brings) bring_w<C>(a, st, 0, first.tile, first.begin);
    const Output &o = a.out;
    const int64_t at = sampled_place(blockIdx.x * C::kThreads + threadIdx.x, o.p.m, o.p.k, o.rs, o.cs);
    const bool event = o.bytes ? ((const uint8_t *)o.s)[at] != 0 : ((const float *)o.s)[at] != 0.0f;
    const bool full = __syncthreads_count(event) > surely_many(a.gate.break_even, C::kThreads);
    begun = full ? first_stages<C>(first) : 1;
    if (brings && full) bring_first_w<C>(a, st, 1);
    dependency_wait();
    const bool many = counted_many(a.gate);
    if (!many && brings)
#pragma unroll 1
        for (int x = 0; x < begun; x++) {
            barrier_arrive(st.full + x); /* S does not come */
            barrier_wait(st.full + x, 0);
        }
    return many;
}

/* A block's stages in its shared memory. All threads of the block. */
template <typename C>
__device__ inline Stages begin_stages(uint8_t *dynamic, barrier_t *full, barrier_t *empty, int consumers)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < C::kStages; i++) {
            barrier_init(full + i, 2); /* by W's promise, and S's */
            barrier_init(empty + i, consumers);
        }
        bulk_copy_fence();
    }
    __syncthreads();
    return {dynamic + (kAlignment - shared_address(dynamic) % kAlignment) % kAlignment, full, empty};
}

/* Whether the block has work, by its gate; then S is split, W's first stages are on their way, and the next
 * kernel may begin. All threads of the block, which do something of their own `meanwhile`. */
template <typename C, typename Meanwhile>
__device__ inline bool begins(const MultiplyArgs &a, const Stages &st, Meanwhile meanwhile)
{
    int begun = 0;
    const bool waits = a.gate.counts && !a.gate.there;
    if (waits && !opens<C>(a, st, begun)) return false; /* and the next kernel finds all blocks gone */
    dependents_launch();
    if (a.gate.counts && a.gate.there && !counted_many(a.gate)) { /* W is brought while S is split */
        dependency_wait();
        return false;
    }
    if (threadIdx.x == C::kBringer) bring_first_w<C>(a, st, begun);
    meanwhile();
    dependency_wait();
    return true;
}

/* Brings step after step of this block's items, of W behind its first stages; one thread. */
template <typename C> __device__ void produce(const MultiplyArgs &a, const Stages &st, bool scaled)
{
    const Shape &h = a.shape;
    Ring<C::kStages> ring;
    const int ahead = first_stages<C>(item_of(h, (int)blockIdx.x));
    int brought = 0;
    for (int number = (int)blockIdx.x; number < h.tiles * h.parts; number += h.blocks) {
        const Item item = item_of(h, number);
        for (int step = item.begin; step < item.end; step++, brought++) {
            if (brought >= C::kStages) barrier_wait(st.empty + ring.stage, ring.round ^ 1);
            if (brought >= ahead) bring_w<C>(a, st, ring.stage, item.tile, step);
            bring_s<C>(a, st, ring.stage, item.tile, step, scaled);
            ring.next();
        }
    }
}

__device__ inline void set_word(uint4 &x, int word, uint32_t value)
{
    (word == 0 ? x.x : word == 1 ? x.y : word == 2 ? x.z : x.w) = value;
}

/* acc := b s, or acc + b s: a product of splits of 16 k. */
template <typename C, typename Form, int kCount>
__device__ inline void multiply_splits(Form, int product, float (&acc)[C::kSums], const uint4 (&b)[kCount],
                                       int first, uint64_t s, bool add)
{
    wgmma(typename Form::Element(), acc, b[first + Form::of_w(product)],
          wgmma_further(s, Form::of_s(product) * split_bytes(C::kRows)), add);
}

/* S's first sixteen k of a stage, and what lies between them and the next. */
template <typename C> __device__ inline uint64_t matrix_of_s(const Stages &st)
{
    return wgmma_matrix(shared_address(st.memory) + C::kOfW, C::kRows * 16, kCore * 16);
}
__device__ constexpr int half_bytes(int rows)
{
    return 2 * rows * 16;
}

/* Of more rows than multiply.cu has kernels for, shape.scaled: many_rows.cu. */
lac_status_t multiply_many(const MultiplyArgs &a, bool along_k, cudaStream_t stream);

} // namespace streamed
} // namespace lacuna
#endif
