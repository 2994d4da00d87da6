/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Of a streamed product's second launch, which steps a block makes, and how these come to its shared memory.
 */
#ifndef LACUNA_CUDA_STREAM_STEPS_CUH
#define LACUNA_CUDA_STREAM_STEPS_CUH

#include "common/tensor_map.cuh"
#include "output.cuh"
#include "splits.cuh"
#include "stream.cuh"
#include "tiles/wgmma.cuh"

namespace lacuna
{
namespace streamed
{

struct MultiplyArgs {
    CUtensorMap w[kApart]; /* the first; or, where rows are apart, of every fourth from row q on */
    Shape shape;
    Space space;
    Output out;
    Gate gate;
    CUtensorMap boxes; /* of the output: a warp's of an item; */
    bool by_boxes;     /* sums are sent so                    */
    CUtensorMap of_s;  /* as it lies, of a cluster's product  */
};

/* Where the sums of an item go: to memory, for the launch that adds up; to the output; or to the cluster. */
enum To { kToParts, kToOutput, kToCluster };

constexpr int kBoxColumns = 32; /* of W: a row of a box, 128 bytes */
constexpr int kRowBytes = 128;
constexpr int kBoxBytes = kBoxColumns * kStep * 4;
constexpr int kBoxes = 2; /* of a group's columns */
constexpr int kGroupBytes = kBoxes * kBoxBytes;
constexpr int kAlignment = 1024; /* of swizzled boxes */
constexpr int kRoom = 225 * 1024;

__host__ __device__ constexpr int up_to_multiple(int bytes, int of)
{
    return (bytes + of - 1) / of * of;
}

/* A configuration of the kernel: rows of S, W along k or by rows. Two warpgroups multiply; each has two
 * products of 64 columns, which are other columns of W or, of many rows, other rows of S. Another one brings,
 * and splits S; of many rows there are two of these, or three that multiply. For a cluster S comes as it
 * lies. */
template <int kRows_, bool kAlongK_, To kTo_, int kGroups_> struct Config {
    static constexpr int kRows = kRows_, kGroups = kGroups_; /* of 64 columns, of the block */
    static constexpr bool kAlongK = kAlongK_, kDirect = kTo_ == kToOutput, kCluster = kTo_ == kToCluster;
    static constexpr bool kThree = kGroups == kMoreGroups; /* warpgroups multiply, one product at a time */
    static constexpr int kProducts = 2, kColumnSets = kRows <= kMaxRows ? 2 : 1, kAtOnce = kThree ? 1 : 2,
                         kRowSets = kProducts / kColumnSets;
    static constexpr int kSums = kRows / kRowSets / 2; /* of a thread, of a product */
    static constexpr int kMultipliers = kGroups / kColumnSets * kGroup,
                         kThreads = kMultipliers + (kThree ? 1 : kRowSets) * kGroup, kBringer = kMultipliers,
                         kSplitters = kThreads - kMultipliers - kWarp, kCounters = kMultipliers + kSplitters;
    static constexpr int kOfMultiplier = kThree          ? 152
                                         : kRowSets == 1 ? 232
                                                         : 208,
                         kOfOthers = kThree          ? 56
                                     : kRowSets == 1 ? 40
                                                     : 48; /* registers */
    /* A stage: W's part of a step; S's as it is stored, which is the nearest TF32 of it; and what that
     * leaves, or S as three bf16. */
    static constexpr int kOfW = kGroups * kGroupBytes, kOfS = step_bytes(kRows), kOfBf16 = kOfS / 2,
                         kStageBytes = up_to_multiple(kOfW + kOfS + SixBf16::kSplits * kOfBf16, kAlignment);
    /* Behind the stages, each warp's sums on their way to the output. */
    static constexpr int kOfSums = kDirect ? kRows * kRowBytes : 0,
                         kOfAllSums = kMultipliers / kWarp * kOfSums,
                         kStages = (kRoom - kAlignment - kOfAllSums) / kStageBytes,
                         kShared = kStages * kStageBytes + kOfAllSums + kAlignment;
    /* A row of a block's sums for its cluster, which lie where the stages were. */
    static constexpr int kPitch = kGroups * kGroupColumns + 4;
    static_assert(!kCluster || kRows * kPitch * 4 <= kStages * kStageBytes, "as long as stages are");
};

/* Steps [begin, end) of a tile. */
struct Item {
    int tile, part, begin, end;
};
__device__ inline Item item_of(const Shape &h, int number)
{
    const int part = h.cluster ? number % h.parts : number / h.tiles,
              tile = h.cluster ? number / h.parts : number % h.tiles;
    return {tile, part, (int)((int64_t)h.steps * part / h.parts),
            (int)((int64_t)h.steps * (part + 1) / h.parts)};
}

/* The steps of a block, item after item. */
struct Steps {
    const Shape &h;
    int number, step;
    Item item;

    __device__ explicit Steps(const Shape &shape)
        : h(shape), number((int)blockIdx.x), item(item_of(h, number))
    {
        step = item.begin;
    }
    __device__ bool any() const { return number < h.tiles * h.parts; }
    __device__ bool begins_item() const { return step == item.begin; }
    __device__ void next()
    {
        if (++step < item.end) return;
        number += h.blocks;
        item = item_of(h, number);
        step = item.begin;
    }
};

struct Barriers {
    barrier_t full, split, empty;
};
struct Stages {
    uint8_t *memory;
    Barriers *at;
};

/* The first column of a tile. C, here and below: a configuration. */
template <typename C> __device__ inline int first_column(const Shape &h, int tile)
{
    return tile / h.passes * C::kGroups * kGroupColumns;
}

/* Brings W's part of a step, from column j on, into a stage, which is full when S's has come, too. */
template <typename C>
__device__ inline void bring_w(const MultiplyArgs &a, const Stages &st, int stage, int j, int step)
{
    uint8_t *const to = st.memory + stage * C::kStageBytes;
    barrier_t *const full = &st.at[stage].full;
    const int turn = a.shape.apart ? step / (a.shape.steps / kApart) : 0;
    const int k = (step - turn * (a.shape.steps / kApart)) * kStep;
    const CUtensorMap *const w = a.w + turn;
    barrier_arrive_promise(full, C::kOfW);
#pragma unroll
    for (int g = 0; g < C::kGroups; g++)
        if (C::kAlongK)
            copy_tile(to + g * kGroupBytes, w, j + g * kGroupColumns, k, full);
        else
#pragma unroll
            for (int box = kBoxes * g; box < kBoxes * g + kBoxes; box++)
                copy_tile(to + box * kBoxBytes, w, k, j + box * kBoxColumns, full);
}

/* Stages of a block's first item that may be brought before another is empty. */
template <typename C> __device__ inline int first_stages(const Item &first)
{
    return min(first.end - first.begin, C::kStages);
}

/* One thread of a block, which brings what the others use; all lanes of its warp ask. */
template <typename C> __device__ inline bool brings()
{
    return threadIdx.x / kWarp == C::kBringer / kWarp && one_lane();
}

/* Brings W's first stages from number `begun` on: W is there since before the kernel that packs S began. */
template <typename C> __device__ inline void bring_first_w(const MultiplyArgs &a, const Stages &st, int begun)
{
    const Item first = item_of(a.shape, (int)blockIdx.x);
    const int j = first_column<C>(a.shape, first.tile);
#pragma unroll 1
    for (int x = begun; x < first_stages<C>(first); x++) bring_w<C>(a, st, x, j, first.begin + x);
}

/* Whether many were counted. Before the counts are there, one stage of W is brought, which memory has time
 * for while S is packed; where samples of S say that it is full, all are. `begun` becomes their number; where
 * few were counted, they have come. All threads of the block. */
template <typename C> __device__ inline bool opens(const MultiplyArgs &a, const Stages &st, int &begun)
{
    const Item first = item_of(a.shape, (int)blockIdx.x);
    if (brings<C>()) bring_w<C>(a, st, 0, first_column<C>(a.shape, first.tile), first.begin);
    const Output &o = a.out;
    const int64_t at = sampled_place(blockIdx.x * C::kThreads + threadIdx.x, o.p.m, o.p.k, o.rs, o.cs);
    const bool event = o.bytes ? ((const uint8_t *)o.s)[at] != 0 : ((const float *)o.s)[at] != 0.0f;
    const bool full = __syncthreads_count(event) > surely_many(a.gate.break_even, C::kThreads);
    begun = full ? first_stages<C>(first) : 1;
    if (full && brings<C>()) bring_first_w<C>(a, st, 1);
    dependency_wait();
    const bool many = counted_many(a.gate);
    if (!many && brings<C>())
#pragma unroll 1
        for (int x = 0; x < begun; x++) {
            barrier_arrive(&st.at[x].full); /* S does not come */
            barrier_wait(&st.at[x].full, 0);
        }
    return many;
}

/* A block's stages in its shared memory. All threads of the block. */
template <typename C> __device__ inline Stages begin_stages(uint8_t *dynamic, Barriers *barriers)
{
    if (threadIdx.x == 0) {
        for (int i = 0; i < C::kStages; i++) {
            barrier_init(&barriers[i].full, 2); /* by W's promise, and S's */
            barrier_init(&barriers[i].split, C::kSplitters);
            barrier_init(&barriers[i].empty, C::kMultipliers);
        }
        bulk_copy_fence();
    }
    __syncthreads();
    return {dynamic + (kAlignment - shared_address(dynamic) % kAlignment) % kAlignment, barriers};
}

/* Whether the block has work, by its gate; then S is there, W's first stages are on their way if the kernel
 * before packed S, and the next one may begin. All threads of the block. */
template <typename C> __device__ inline bool begins(const MultiplyArgs &a, const Stages &st)
{
    int begun = 0;
    const bool waits = a.gate.counts && !a.gate.there;
    if (waits && !opens<C>(a, st, begun)) return false; /* and the next kernel finds all blocks gone */
    dependents_launch();
    if (a.gate.counts && a.gate.there && !counted_many(a.gate)) { /* W is brought while S is packed */
        dependency_wait();
        return false;
    }
    if (!C::kCluster && brings<C>()) bring_first_w<C>(a, st, begun);
    dependency_wait();
    return true;
}

/* Brings step after step of this block's items, of W what was not brought before; one thread. */
template <typename C> __device__ inline void bring(const MultiplyArgs &a, const Stages &st)
{
    Ring<C::kStages> ring;
    Steps steps(a.shape);
    const int ahead = C::kCluster ? 0 : first_stages<C>(steps.item);
    int brought = 0, j = 0;
    const uint8_t *s = nullptr;
#pragma unroll 1
    for (; steps.any(); brought++, steps.next(), ring.next(), s += C::kOfS) {
        barrier_t *const full = &st.at[ring.stage].full;
        if (steps.begins_item()) {
            j = first_column<C>(a.shape, steps.item.tile);
            s = a.space.steps +
                ((int64_t)(steps.item.tile % a.shape.passes) * a.shape.steps + steps.step) * C::kOfS;
        }
        if (brought >= C::kStages) barrier_wait(&st.at[ring.stage].empty, ring.round ^ 1);
        uint8_t *const to = st.memory + ring.stage * C::kStageBytes + C::kOfW;
        barrier_arrive_promise(full, C::kOfS);
        if (C::kCluster) /* first, for it is split */
            copy_tile(to, &a.of_s, steps.item.tile % a.shape.passes * C::kRows, steps.step * kStep, full);
        else
            copy_bulk((float *)to, (const float *)s, C::kOfS, full);
        if (brought >= ahead) bring_w<C>(a, st, ring.stage, j, steps.step);
    }
}

} // namespace streamed
} // namespace lacuna
#endif
