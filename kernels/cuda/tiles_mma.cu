/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles on devices without warpgroup products: six bf16 products by mma.sync over the active k
 * of each half tile of rows. */
#include "async_copy.cuh"
#include "mma.cuh"
#include "tiles_walk.cuh"
#include "tiles_write.cuh"

namespace lacuna
{
namespace
{

constexpr int kConsumers = kHolders, kProducers = 128, kThreads = kConsumers + kProducers;
constexpr int kConsumerWarps = kConsumers / kWarp, kProducerWarps = kProducers / kWarp;

/* A consumer's part of its half: as many mma tiles of 16 x 8. */
constexpr int kWarpRows = 32, kWarpCols = 64, kDown = kWarpRows / 16, kAcross = kWarpCols / 8;
static_assert(kHalfRows / kWarpRows * (kTileCols / kWarpCols) == kConsumerWarps / 2 &&
                  kDown * kAcross * 4 == kSums && kDown == 2 && kTileCols == 2 * kWarpCols,
              "a half's consumers cover it; pairs of them exchange halves of theirs");

/* A stage holds kDepth k: a's pieces of either half, b's rows. */
constexpr int kStages = 4, kStagesOfStep = kStep / kDepth;
constexpr int kStageHalf = kPieces * kFragment;
constexpr int kLine = kTileCols * 2, kPieceB = kDepth * kLine; /* bytes of a row of b, of one piece */
constexpr int kStage = 2 * kStageHalf + kPieces * kPieceB;
constexpr int kShared = kStages * kStage;
static_assert(kShared <= 98 * 1024,
              "what a block may have on every device from 8.0 on, but for a few barriers");
static_assert(kShared >= kConsumers * kSums / 2 * 4, "half of a tile's sums, when they are exchanged");
static_assert(kFragment == kProducers * 16, "each producer copies 16 bytes of a fragment");

struct MultiplyArgs {
    const float *b;
    int64_t ldb;
    TilesOut out;
    TilesPacked packed;
    TilesSpace s;
};

struct Stages {
    unsigned char *memory;
    barrier_t *full, *empty;
};

/* Position in the ring of stages. */
struct Slot {
    int at;
    unsigned parity;
    __device__ void next()
    {
        if (++at == kStages) at = 0, parity ^= 1;
    }
};

/* Producers --------------------------------------------------------------------------------------------- */

/* Sixteen-byte chunks of a row of b's stage are exchanged by xor with the row modulo 8, so that neither
 * stores nor loads of eight rows meet in a bank. */

constexpr int kRowsEach = kStep / kProducerWarps, kRowsEachStage = kDepth / kProducerWarps;
static_assert(kTileCols == 4 * kWarp, "a warp loads a row");

/* This warp's rows of a step; `index` is what the step's list says in this lane's place. */
template <bool kWhole>
__device__ inline void load_rows(const MultiplyArgs &g, const Tile &tile, int index, float4 (&x)[kRowsEach])
{
    const int warp = threadIdx.x / kWarp - kConsumerWarps, j = tile.n * kTileCols + threadIdx.x % kWarp * 4;
#pragma unroll
    for (int i = 0; i < kRowsEach; i++)
        x[i] = load_quad<kWhole>(g.b + __shfl_sync(kFull, index, i * kProducerWarps + warp) * g.ldb + j,
                                 g.out.n - j);
}

/* Splits the rows of a stage into b's part of it. */
__device__ inline void split_rows(unsigned char *b, const float4 *x)
{
    const int warp = threadIdx.x / kWarp - kConsumerWarps, lane = threadIdx.x % kWarp;
#pragma unroll
    for (int i = 0; i < kRowsEachStage; i++) {
        const int row = i * kProducerWarps + warp;
        unsigned char *at = b + row * kLine + (lane / 2 ^ row % 8) * 16 + lane % 2 * 8;
        uint32_t low[kPieces], high[kPieces];
        split_pair(x[i].x, x[i].y, low);
        split_pair(x[i].z, x[i].w, high);
#pragma unroll
        for (int p = 0; p < kPieces; p++) *(uint2 *)(at + p * kPieceB) = make_uint2(low[p], high[p]);
    }
}

/* Begins to copy a's pieces of a stage: those of each half whose step it is. */
__device__ inline void bring_pieces(const TilesPacked &a, const Tile &tile, int step, int depth,
                                    unsigned char *stage)
{
    const int mine = ((int)threadIdx.x - kConsumers) * 16;
    int place;
    const int owner = tile.owner(step, &place);
    for (int half = 0; half < 2; half++) {
        if (owner == 1 - half) continue;
        const unsigned char *from = step_pieces(a, tile, half, owner, place) + depth * kFragment + mine;
#pragma unroll
        for (int p = 0; p < kPieces; p++)
            copy_async16((float *)(stage + half * kStageHalf + p * kFragment + mine),
                         (const float *)(from + p * kStagesOfStep * kFragment));
    }
}

/* Fills the stages with a's pieces and with the rows of b that the steps name, loaded a step ahead. */
template <bool kWhole>
__device__ inline void produce(const MultiplyArgs &g, const Stages &st, const Tile &tile)
{
    float4 x[kRowsEach], next[kRowsEach];
    Slot slot = {0, 1};
    load_rows<kWhole>(g, tile, listed_row(g.packed, tile, tile.begin), x);
    int index = listed_row(g.packed, tile, tile.begin + 1);
    for (int step = tile.begin; step < tile.end; step++) {
        load_rows<kWhole>(g, tile, index, next);
        index = listed_row(g.packed, tile, step + 2);
#pragma unroll
        for (int d = 0; d < kStagesOfStep; d++) {
            unsigned char *stage = st.memory + slot.at * kStage;
            barrier_wait(st.empty + slot.at, slot.parity);
            bring_pieces(g.packed, tile, step, d, stage);
            barrier_arrive_copied(st.full + slot.at);
            split_rows(stage + 2 * kStageHalf, x + d * kRowsEachStage);
            barrier_arrive(st.full + slot.at);
            slot.next();
        }
#pragma unroll
        for (int i = 0; i < kRowsEach; i++) x[i] = next[i];
    }
}

/* Consumers --------------------------------------------------------------------------------------------- */

/* Where a consumer warp works: from row 32 down of its half on, from column 64 side of the tile on. */
struct Place {
    int half, down, side;
};

__device__ inline Place my_place()
{
    const int warp = threadIdx.x / kWarp;
    return {warp / (kConsumerWarps / 2), warp % (kConsumerWarps / 2) / 2, warp % 2};
}

/* sum += the six products of a stage, the smallest first: a sum of few is what the tensor cores' truncation
 * allows. */
__device__ inline void multiply_stage(float (&sum)[kDown][kAcross][4], const unsigned char *stage, Place at)
{
    constexpr int kA[6] = {2, 0, 1, 1, 0, 0}, kB[6] = {0, 2, 1, 0, 1, 0}, kTogether = 2;
    const int lane = threadIdx.x % kWarp;
    const unsigned b = shared_address(stage + 2 * kStageHalf) + lane % 16 * kLine + at.side * kWarpCols * 2;
    uint4 a[kDown][kPieces];
#pragma unroll
    for (int i = 0; i < kDown; i++)
#pragma unroll
        for (int p = 0; p < kPieces; p++)
            a[i][p] = *(const uint4 *)(stage + at.half * kStageHalf + p * kFragment +
                                       ((at.down * kDown + i) * kWarp + lane) * 16);
#pragma unroll
    for (int j = 0; j < kAcross; j += kTogether) {
        float acc[kDown][kTogether][4] = {};
        uint4 x[kPieces];
#pragma unroll
        for (int p = 0; p < kPieces; p++)
            x[p] = load_turned(b + p * kPieceB + ((j + lane / 16) ^ lane % 8) * 16);
#pragma unroll
        for (int q = 0; q < 6; q++)
#pragma unroll
            for (int i = 0; i < kDown; i++) {
                mma_bf16(acc[i][0], a[i][kA[q]], x[kB[q]].x, x[kB[q]].y);
                mma_bf16(acc[i][1], a[i][kA[q]], x[kB[q]].z, x[kB[q]].w);
            }
#pragma unroll
        for (int i = 0; i < kDown; i++)
#pragma unroll
            for (int u = 0; u < kTogether; u++)
#pragma unroll
                for (int e = 0; e < 4; e++) sum[i][j + u][e] += acc[i][u][e];
    }
}

/* sum := a b of this warp's part of the tile. Stages of the other half's steps are given back unread. */
__device__ inline void consume(const Stages &st, const Tile &tile, float (&sum)[kDown][kAcross][4])
{
    const Place at = my_place();
    Slot slot = {0, 0};
#pragma unroll
    for (int e = 0; e < kSums; e++) sum[e / (4 * kAcross)][e / 4 % kAcross][e % 4] = 0.0f;
    for (int t = tile.begin * kStagesOfStep; t < tile.end * kStagesOfStep; t++) {
        int place;
        const bool mine = tile.owner(t / kStagesOfStep, &place) != 1 - at.half;
        barrier_wait(st.full + slot.at, slot.parity);
        if (mine) multiply_stage(sum, st.memory + slot.at * kStage, at);
        barrier_arrive(st.empty + slot.at); /* each lane for itself: only then does racecheck see its reads */
        slot.next();
    }
}

/* Gives the sums the order that tiles_write.cuh wants: of each 32 x 128 of two warps, the first takes the
 * upper 16 rows and the second the lower ones. All threads of the block come. */
__device__ inline void exchange(unsigned char *memory, const float (&sum)[kDown][kAcross][4],
                                float (&whole)[kSums])
{
    constexpr int kHalf = kSums / 2;
    float *mine = (float *)memory + threadIdx.x, *other = (float *)memory + (threadIdx.x ^ kWarp);
    const bool consumer = threadIdx.x < kConsumers, second = threadIdx.x / kWarp % 2 == 1;
    __syncthreads(); /* the stages are free */
    if (consumer)
#pragma unroll
        for (int e = 0; e < kHalf; e++)
            mine[e * kConsumers] = second ? sum[0][e / 4][e % 4] : sum[1][e / 4][e % 4];
    __syncthreads();
    if (consumer)
#pragma unroll
        for (int e = 0; e < kHalf; e++) {
            const float got = other[e * kConsumers],
                        kept = second ? sum[1][e / 4][e % 4] : sum[0][e / 4][e % 4];
            whole[e] = second ? got : kept;
            whole[kHalf + e] = second ? kept : got;
        }
}

/* c := beta c + alpha a b for one tile of c; a[m, k] as packed pieces of its active k, b[k, n] by rows.
 *
 * Mapping   a block per tile of 128 x 128 and, where k is shared out, per part of its steps. Four warps fill
 *           stages of 16 k: rows of b that a step names, split on the way, and a's pieces by asynchronous
 *           copies; eight multiply, four for each half of the rows, 32 x 64 each.
 * Bytes     per step of 32 k: 16 KiB of b, and 12 KiB of a for each half whose step it is; mostly from cache.
 *           96 KiB of shared memory.
 * Order     k of both halves' list, then of the half's own, each ascending: 16 at a time in the tensor cores,
 *           the sums of these by fp32 additions; parts in ascending order.
 * Limit     what these tensor cores do of such instructions, and what is brought beside: on an H200, which
 * has better ones, 4096^3 dense in 2190 us, the tensor cores busy for 57 % of them; 1830 us without what
 * producers do (2026-11-22). Not measured on a device that needs it. */
__global__ __launch_bounds__(kThreads, 1) void multiply_tiles_mma(const __grid_constant__ MultiplyArgs g)
{
    LACUNA_DYNAMIC_SHARED(uint4, dynamic);
    __shared__ barrier_t full[kStages], empty[kStages];
    unsigned char *const memory = (unsigned char *)dynamic;
    const Stages st = {memory, full, empty};
    if (threadIdx.x == 0) {
        for (int i = 0; i < kStages; i++) {
            barrier_init(full + i, 2 * kProducers);
            barrier_init(empty + i, kConsumers);
        }
        barrier_init_fence();
    }
    __syncthreads();
    dependency_wait();
    const Tile tile = find_tile(g.packed, g.s);
    const bool consumer = threadIdx.x < kConsumers;
    float sum[kDown][kAcross][4], whole[kSums];
    if (consumer)
        consume(st, tile, sum);
    else if ((tile.n + 1) * kTileCols <= g.out.n)
        produce<true>(g, st, tile);
    else
        produce<false>(g, st, tile);
    exchange(memory, sum, whole);
    const int number = tile.m * g.s.tiles_n + tile.n;
    const bool finite = g.s.splits > 1 || __syncthreads_and(!consumer || all_finite(whole));
    if (!finite && threadIdx.x == 0) note_failed(g.s, number);
    if (!finite || !consumer) return;
    if (g.s.splits > 1)
        store_part(g.s, number, blockIdx.y, whole);
    else
        write_tile(g.out, tile.m, tile.n, whole);
}

} // namespace

lac_status_t multiply_by_mma(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream)
{
    const MultiplyArgs g = {p->b, p->ldb, tiles_out(p), tiles_packed(p->m, p->k, p->room, (void *)p->packed),
                            tiles_space(p->m, p->n, p->k, workspace)};
    const dim3 grid((unsigned)g.s.tiles, (unsigned)g.s.splits);
    return launch(multiply_tiles_mma, {grid, dim3(kThreads), kShared, 1, true, (cudaStream_t)stream}, g);
}

} // namespace lacuna
