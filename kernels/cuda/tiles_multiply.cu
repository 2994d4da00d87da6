/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles: six bf16 products on tensor cores over the active k of each half tile of rows. */
#include "tiles_walk.cuh"
#include "tiles_write.cuh"
#include "wgmma.cuh"

namespace lacuna
{
namespace
{

constexpr int kConsumers = 2, kProducers = 2; /* warpgroups: one for each half; one for each second step */
constexpr int kThreads = (kConsumers + kProducers) * kGroup;
constexpr int kConsumerRegisters = 176, kProducerRegisters = 80;
static_assert(kHalfRows == kWgmmaRows && kTileCols == kWgmmaCols && kDepth == kWgmmaDepth &&
                  kSums == kWgmmaSums && kHolders == kConsumers * kGroup,
              "an instruction's shape");
static_assert(kConsumers * kConsumerRegisters + kProducers * kProducerRegisters <= 512, "65536 registers");

constexpr int kStages = 4;
constexpr int kLine = 128;            /* bytes of 64 bf16, a line of the swizzled layout  */
constexpr int kBlock = kStep * kLine; /* bytes of 64 columns of one piece of b in a stage */
constexpr int kPieceB = kBlock * (kTileCols / 64), kStageB = kPieces * kPieceB;
constexpr int kStageA = 2 * kStepBytes;
constexpr int kAlignment = 1024; /* of the swizzled layout */
constexpr int kShared = kStages * (kStageA + kStageB) + kAlignment;

struct MultiplyArgs {
    const float *b;
    int64_t ldb;
    TilesOut out;
    TilesPacked packed;
    TilesSpace s;
};

struct Stages {
    unsigned char *b, *a; /* kStages of each */
    barrier_t *full, *empty;
};

/* Position in the ring of stages. */
struct Slot {
    int at;
    unsigned parity;
    __device__ void next(int steps = 1)
    {
        at += steps;
        if (at >= kStages) at -= kStages, parity ^= 1;
    }
};

constexpr int kQuads = kTileCols / 4; /* pieces of four columns in a row of b's tile */
constexpr int kRowsAtOnce = kGroup / kQuads, kPasses = kStep / kRowsAtOnce;
static_assert(kQuads == kWarp, "a warp loads a row");

/* Byte of 16-byte chunk `chunk` of line `line` of a piece. */
__device__ inline int swizzled(int line, int chunk)
{
    return chunk / 8 * kBlock + line * kLine + (chunk % 8 ^ line % 8) * 16;
}

template <bool kWhole>
__device__ inline void load_step(const MultiplyArgs &g, const Tile &tile, int index, float4 (&x)[kPasses])
{
    const int warp = threadIdx.x % kGroup / kWarp, lane = threadIdx.x % kWarp,
              j = tile.n * kTileCols + lane * 4;
    const float *b = g.b + j;
#pragma unroll
    for (int i = 0; i < kPasses; i++)
        x[i] = load_quad<kWhole>(b + __shfl_sync(kFull, index, i * kRowsAtOnce + warp) * g.ldb, g.out.n - j);
}

/* Splits a step's rows of b into a stage. */
__device__ inline void split_step(unsigned char *stage, const float4 (&x)[kPasses])
{
    const int warp = threadIdx.x % kGroup / kWarp, lane = threadIdx.x % kWarp;
#pragma unroll
    for (int i = 0; i < kPasses; i++) {
        uint32_t low[kPieces], high[kPieces];
        split_pair(x[i].x, x[i].y, low);
        split_pair(x[i].z, x[i].w, high);
        unsigned char *at = stage + swizzled(i * kRowsAtOnce + warp, lane / 2) + lane % 2 * 8;
#pragma unroll
        for (int p = 0; p < kPieces; p++) *(uint2 *)(at + p * kPieceB) = make_uint2(low[p], high[p]);
    }
}

/* Begins to copy a's fragments of a step into a stage: those of each half whose step it is. */
__device__ inline void bring_fragments(const MultiplyArgs &g, const Tile &tile, int step,
                                       unsigned char *stage, barrier_t *full)
{
    int place;
    const int owner = tile.owner(step, &place);
    barrier_arrive_promise(full, owner == 2 ? kStageA : kStepBytes);
    for (int half = 0; half < 2; half++) {
        if (owner == 1 - half) continue;
        copy_bulk((float *)(stage + half * kStepBytes),
                  (const float *)step_pieces(g.packed, tile, half, owner, place), kStepBytes, full);
    }
}

/* Fills the stages of every second step with the rows of b that it names, and a's fragments. Nothing is being
 * loaded when the fence is reached, since it waits for loads too; so two warpgroups take turns, and one loads
 * while the other splits. */
template <bool kWhole>
__device__ inline void produce(const MultiplyArgs &g, const Stages &st, const Tile &tile, int turn)
{
    float4 x[kPasses];
    Slot slot = {turn, 1};
    int index = listed_row(g.packed, tile, tile.begin + turn);
    for (int s = tile.begin + turn; s < tile.end; s += kProducers) {
        load_step<kWhole>(g, tile, index, x);
        index = listed_row(g.packed, tile, s + kProducers);
        barrier_wait(st.empty + slot.at, slot.parity);
        if (threadIdx.x % kGroup == 0)
            bring_fragments(g, tile, s, st.a + slot.at * kStageA, st.full + slot.at);
        split_step(st.b + slot.at * kStageB, x);
        stores_to_wgmma_fence();
        __syncwarp();
        if (threadIdx.x % kWarp == 0) barrier_arrive(st.full + slot.at);
        slot.next(kProducers);
    }
}

/* The fragments of a that this thread holds, from a stage. */
__device__ inline void load_fragments(const unsigned char *stage, uint4 (&a)[kFragments])
{
#pragma unroll
    for (int f = 0; f < kFragments; f++)
        a[f] = *(const uint4 *)(stage + f * kFragment + threadIdx.x % kGroup * 16);
}

/* acc := the six products of a step, the smallest first: a sum of few is what the tensor cores' truncation
 * allows. */
__device__ inline void multiply_step(float (&acc)[kSums], const uint4 (&a)[kFragments], uint64_t b)
{
    constexpr int kA[6] = {2, 0, 1, 1, 0, 0}, kB[6] = {0, 2, 1, 0, 1, 0};
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < 6; i++)
#pragma unroll
        for (int d = 0; d < kStep / kDepth; d++)
            wgmma_bf16(acc, a[kA[i] * (kStep / kDepth) + d],
                       wgmma_further(b, kB[i] * kPieceB + d * kDepth * kLine), i || d);
    wgmma_commit();
}

/* Gives back, unread, the stages of the other half's steps up to this half's next one, or to the end. */
__device__ inline void pass_on(const Stages &st, const Tile &tile, int half, int *step, Slot *slot)
{
    for (int place; *step < tile.end && tile.owner(*step, &place) == 1 - half; ++*step) {
        barrier_wait(st.full + slot->at, slot->parity);
        barrier_arrive(st.empty + slot->at);
        slot->next();
    }
}

/* sum := a b of this warpgroup's half. */
__device__ inline void multiply_half(const Stages &st, const Tile &tile, int half, float (&sum)[kSums])
{
    const int steps = tile.places(tile.end, half) - tile.places(tile.begin, half);
    const uint64_t b = wgmma_matrix(shared_address(st.b), kBlock);
    int step = tile.begin;
    Slot slot = {0, 0};
#pragma unroll
    for (int i = 0; i < kSums; i++) sum[i] = 0.0f;
    for (int done = 0; done < steps; done++, step++) {
        float acc[kSums];
        uint4 a[kFragments];
        pass_on(st, tile, half, &step, &slot);
        barrier_wait(st.full + slot.at, slot.parity);
        load_fragments(st.a + slot.at * kStageA + half * kStepBytes, a);
        multiply_step(acc, a, wgmma_further(b, slot.at * kStageB));
        wgmma_wait<0>();
        barrier_arrive(st.empty + slot.at); /* each lane for itself: only then does racecheck see its reads */
        slot.next();
#pragma unroll
        for (int i = 0; i < kSums; i++) sum[i] += acc[i];
    }
    pass_on(st, tile, half, &step, &slot);
}

/* True in every consumer where it is in any. */
__device__ inline bool any_consumer(bool mine)
{
    int any;
    asm volatile(
        "{\n.reg .pred p, q;\nsetp.ne.b32 p, %1, 0;\nbar.red.or.pred q, 1, %2, p;\nselp.b32 %0, 1, 0, q;\n}"
        : "=r"(any)
        : "r"((int)mine), "n"(kConsumers * kGroup)
        : "memory");
    return any != 0;
}

__device__ inline void consume(const MultiplyArgs &g, const Stages &st, const Tile &tile)
{
    const int half = threadIdx.x / kGroup;
    float sum[kSums];
    multiply_half(st, tile, half, sum);
    const int number = tile.m * g.s.tiles_n + tile.n;
    if (g.s.splits > 1)
        store_part(g.s, number, blockIdx.y, sum);
    else if (!any_consumer(!all_finite(sum)))
        write_tile(g.out, tile.m, tile.n, sum);
    else if (threadIdx.x == 0)
        note_failed(g.s, number);
}

/* c := beta c + alpha a b for one tile of c; a[m, k] as packed pieces of its active k, b[k, n] by rows.
 *
 * Mapping   a block per tile of 128 x 128 and, where k is shared out, per part of its steps. Two warpgroups
 *           fill stages in turns: rows of b that a step names, split on the way, and a's fragments by bulk
 *           copies; two multiply, each one half of the rows.
 * Bytes     per step of 32 k: 16 KiB of b, and 12 KiB of a for each half whose step it is; mostly from cache.
 * Order     k of both halves' list, then of the half's own, each ascending: 32 at a time in the tensor cores,
 *           the sums of these by fp32 additions; parts in ascending order.
 * Limit     bringing b beside the tensor cores: 4096^3 dense in 1260 us, 1080 without loads and splitting,
 *           1044 at the 790 TFLOP/s of bf16 that cuBLAS reaches. More so where halves have lists of their
 *           own (H200, 2026-11-21). */
__global__ __launch_bounds__(kThreads, 1) void multiply_tiles(const __grid_constant__ MultiplyArgs g)
{
    extern __shared__ unsigned char dynamic[];
    __shared__ barrier_t full[kStages], empty[kStages];
    unsigned char *const stages = dynamic + (kAlignment - shared_address(dynamic) % kAlignment) % kAlignment;
    const Stages st = {stages, stages + kStages * kStageB, full, empty};
    if (threadIdx.x == 0) {
        for (int i = 0; i < kStages; i++) {
            barrier_init(full + i, kGroup / kWarp + 1);
            barrier_init(empty + i, kConsumers * kGroup);
        }
        barrier_init_fence();
    }
    __syncthreads();
    dependency_wait();
    const Tile tile = find_tile(g.packed, g.s);
    if (threadIdx.x >= kConsumers * kGroup) {
        registers_fewer<kProducerRegisters>();
        const int turn = threadIdx.x / kGroup - kConsumers;
        if ((tile.n + 1) * kTileCols <= g.out.n)
            produce<true>(g, st, tile, turn);
        else
            produce<false>(g, st, tile, turn);
    } else {
        registers_more<kConsumerRegisters>();
        consume(g, st, tile);
    }
}

} // namespace

lac_status_t multiply_by_wgmma(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream)
{
    const MultiplyArgs g = {p->b, p->ldb, tiles_out(p), tiles_packed(p->m, p->k, p->room, (void *)p->packed),
                            tiles_space(p->m, p->n, p->k, workspace)};
    const dim3 grid((unsigned)g.s.tiles, (unsigned)g.s.splits);
    return launch(multiply_tiles, {grid, dim3(kThreads), kShared, 1, true, (cudaStream_t)stream}, g);
}

} // namespace lacuna
