/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles on devices without warpgroup products: six bf16 products by mma.sync over the steps of
 * each tile, each by the row groups that it is for. */
#include "common/async_copy.cuh"
#include "tiles.cuh"
#include "epilogue_store.cuh"
#include "mma.cuh"

namespace lacuna
{
namespace
{

constexpr int kConsumers = kHolders, kProducers = 128, kThreads = kConsumers + kProducers;
constexpr int kConsumerWarps = kConsumers / kWarp, kProducerWarps = kProducers / kWarp;

/* A consumer's part of a row group: as many mma tiles of 16 x 8. */
constexpr int kWarpRows = 32, kWarpCols = 64, kDown = kWarpRows / 16, kAcross = kWarpCols / 8;
static_assert(kWarpRows == kRowGroupRows && kRowGroups * (kTileCols / kWarpCols) == kConsumerWarps &&
                  kDown * kAcross * 4 == kSums,
              "a row group's consumers cover it");

/* A stage holds kDepth k: a's splits of each row group, b's rows. Splits are cores of 8 x 8 as packed. */
constexpr int kStages = 4, kStagesOfStep = kStep / kDepth, kStageCores = kDepth / kCore;
constexpr int kStageSplit = kRowGroupRows * kDepth * 2, kStageRowGroup = kBf16Splits * kStageSplit;
constexpr int kLine = kTileCols * 2, kSplitB = kDepth * kLine; /* bytes of a row of b, of one split */
constexpr int kStageA = kRowGroups * kStageRowGroup, kStage = kStageA + kBf16Splits * kSplitB;
constexpr int kShared = kStages * kStage;
static_assert(kShared <= 98 * 1024,
              "what a block may have on every device from 8.0 on, but for a few barriers");
static_assert(kShared >= kTileRows * kPitch * 4, "a tile's sums, when they are exchanged");
static_assert(2 * kStageSplit == kProducers * 16, "each producer copies 16 bytes of two row groups");

struct MultiplyArgs {
    const float *b;
    int64_t ldb;
    TilesOut<float> out;
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

/* This warp's rows of a step; `index` is what the step's list says for this lane. */
template <bool kWhole>
__device__ inline void load_rows(const MultiplyArgs &g, const Work &work, int index, float4 (&x)[kRowsEach])
{
    const int warp = threadIdx.x / kWarp - kConsumerWarps, j = work.n * kTileCols + threadIdx.x % kWarp * 4;
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
        uint32_t low[kBf16Splits], high[kBf16Splits];
        split_pair(x[i].x, x[i].y, low);
        split_pair(x[i].z, x[i].w, high);
#pragma unroll
        for (int p = 0; p < kBf16Splits; p++) *(uint2 *)(at + p * kSplitB) = make_uint2(low[p], high[p]);
    }
}

/* Begins to copy a's splits of a stage: those of each row group whose step it is. */
__device__ inline void bring_splits(const TilesPacked &a, int m, int step, int depth, unsigned char *stage)
{
    constexpr int kChunks = kStageSplit / 16;
    const int mine = (int)threadIdx.x - kConsumers, chunk = mine % kChunks;
    const int eight = chunk / (kStageCores * kCore), core = chunk / kCore % kStageCores + depth * kStageCores;
    for (int q = mine / kChunks; q < kRowGroups; q += kProducers / kChunks) {
        const int64_t at = splits_at(a, m, step, q);
        if (at < 0) continue;
        const unsigned char *from =
            a.splits + at * kStepBytes + eight * kEightRows + core * kCoreBytes + chunk % kCore * 16;
#pragma unroll
        for (int p = 0; p < kBf16Splits; p++)
            copy_async16((float *)(stage + q * kStageRowGroup + p * kStageSplit + chunk * 16),
                         (const float *)(from + p * kSplitBytes));
    }
}

/* Fills the stages with a's splits and with the rows of b that the steps name, loaded a step ahead. */
template <bool kWhole>
__device__ inline void produce(const MultiplyArgs &g, const Stages &st, const Work &work)
{
    const auto row_of = [&](int step) { return step < work.end ? listed_row(g.packed, work.m, step) : 0; };
    float4 x[kRowsEach], next[kRowsEach];
    Slot slot = {0, 1};
    load_rows<kWhole>(g, work, row_of(work.begin), x);
    int row = row_of(work.begin + 1);
    for (int step = work.begin; step < work.end; step++) {
        load_rows<kWhole>(g, work, row, next);
        row = row_of(step + 2);
#pragma unroll
        for (int d = 0; d < kStagesOfStep; d++) {
            unsigned char *stage = st.memory + slot.at * kStage;
            barrier_wait(st.empty + slot.at, slot.parity);
            bring_splits(g.packed, work.m, step, d, stage);
            barrier_arrive_copied(st.full + slot.at);
            split_rows(stage + kStageA, x + d * kRowsEachStage);
            barrier_arrive(st.full + slot.at);
            slot.next();
        }
#pragma unroll
        for (int i = 0; i < kRowsEach; i++) x[i] = next[i];
    }
}

/* Consumers --------------------------------------------------------------------------------------------- */

/* Where a consumer warp works: its row group, and columns 64 side of the tile. */
struct Place {
    int row_group, side;
};

__device__ inline Place my_slot()
{
    const int warp = threadIdx.x / kWarp;
    return {warp / 2, warp % 2};
}

/* sum += the six products of a's splits and two neighbouring parts of b's, x, the smallest first: a sum of
 * few is what the tensor cores' truncation allows. */
__device__ inline void add_six_products(float (&sum)[kDown][kAcross][4], int j,
                                        const uint4 (&a)[kDown][kBf16Splits], const uint4 (&x)[kBf16Splits])
{
    constexpr int kA[6] = {2, 0, 1, 1, 0, 0}, kB[6] = {0, 2, 1, 0, 1, 0};
    float acc[kDown][2][4] = {};
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
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int e = 0; e < 4; e++) sum[i][j + u][e] += acc[i][u][e];
}

/* sum += the six products of a stage. */
__device__ inline void multiply_stage(float (&sum)[kDown][kAcross][4], const unsigned char *stage, Place at)
{
    const int lane = threadIdx.x % kWarp;
    const unsigned b = shared_address(stage + kStageA) + lane % 16 * kLine + at.side * kWarpCols * 2;
    /* matrix 2 g + h of 16 rows: rows 8 h, k 8 g further */
    const unsigned a0 = shared_address(stage + at.row_group * kStageRowGroup) +
                        (lane / 8 % 2 * kStageCores + lane / 16) * kCoreBytes + lane % 8 * 16;
    uint4 a[kDown][kBf16Splits];
#pragma unroll
    for (int i = 0; i < kDown; i++)
#pragma unroll
        for (int p = 0; p < kBf16Splits; p++)
            a[i][p] = load_matrices(a0 + p * kStageSplit + i * 2 * kStageCores * kCoreBytes);
#pragma unroll
    for (int j = 0; j < kAcross; j += 2) {
        uint4 x[kBf16Splits];
#pragma unroll
        for (int p = 0; p < kBf16Splits; p++)
            x[p] = load_transposed(b + p * kSplitB + ((j + lane / 16) ^ lane % 8) * 16);
        add_six_products(sum, j, a, x);
    }
}

/* sum := a b of this warp's part of the tile. Stages of other row groups' steps are given back unread. */
__device__ inline void consume(const MultiplyArgs &g, const Stages &st, const Work &work,
                               float (&sum)[kDown][kAcross][4])
{
    const Place at = my_slot();
    Slot slot = {0, 0};
#pragma unroll
    for (int e = 0; e < kSums; e++) sum[e / (4 * kAcross)][e / 4 % kAcross][e % 4] = 0.0f;
    for (int step = work.begin; step < work.end; step++) {
        const bool mine = splits_at(g.packed, work.m, step, at.row_group) >= 0;
        for (int d = 0; d < kStagesOfStep; d++) {
            barrier_wait(st.full + slot.at, slot.parity);
            if (mine) multiply_stage(sum, st.memory + slot.at * kStage, at);
            barrier_arrive(st.empty +
                           slot.at); /* each lane for itself: only then does racecheck see its reads */
            slot.next();
        }
    }
}

/* Gives the sums the order that epilogue_store.cuh wants. All threads of the block come. */
__device__ inline void exchange(float *memory, const float (&sum)[kDown][kAcross][4], float (&whole)[kSums])
{
    const bool consumer = threadIdx.x < kConsumers;
    const int lane = threadIdx.x % kWarp;
    const Place at = my_slot();
    __syncthreads(); /* the stages are free */
    float *mine =
        memory + (at.row_group * kRowGroupRows + lane / 4) * kPitch + at.side * kWarpCols + lane % 4 * 2;
    if (consumer)
#pragma unroll
        for (int e = 0; e < kSums; e += 2)
            *(float2 *)(mine + (e / (4 * kAcross) * 16 + e % 4 / 2 * 8) * kPitch + e / 4 % kAcross * 8) =
                make_float2(sum[e / (4 * kAcross)][e / 4 % kAcross][e % 4],
                            sum[e / (4 * kAcross)][e / 4 % kAcross][e % 4 + 1]);
    __syncthreads();
    if (consumer) collect_sums(memory, whole);
}

/* c := beta c + alpha a b for one tile of c; a[m, k] as packed splits of its active k, b[k, n] by rows.
 *
 * Mapping   a block per tile of 128 x 128 and, where k is shared out, per part of its steps. Four warps fill
 *           stages of 16 k: rows of b that a step names, split on the way, and a's splits by asynchronous
 *           copies; eight multiply, two for each row group of the rows, 32 x 64 each.
 * Bytes     per step of 32 k: 16 KiB of b, and 6 KiB of a for each row group whose step it is; mostly from
 *           cache. 96 KiB of shared memory.
 * Order     steps as listed: 16 k at a time in the tensor cores, the sums of these by fp32 additions; parts
 *           in ascending order.
 * Limit     what these tensor cores do of such instructions, and what is brought beside: on an H200, which
 * has better ones, 4096^3 dense in 2190 us, the tensor cores busy for 57 % of them; 1830 us without what
 * producers do (2026-11-22). Not measured on a device that needs it. */
template <bool kBits>
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
        bulk_copy_fence();
    }
    __syncthreads();
    dependency_wait();
    const Work work = find_work(g.packed, g.s, (int)(blockIdx.y * g.s.tiles + blockIdx.x));
    const bool consumer = threadIdx.x < kConsumers;
    float sum[kDown][kAcross][4], whole[kSums];
    if (consumer)
        consume(g, st, work, sum);
    else if ((work.n + 1) * kTileCols <= g.out.n)
        produce<true>(g, st, work);
    else
        produce<false>(g, st, work);
    exchange((float *)memory, sum, whole);
    if (consumer) unscale(whole);
    const int number = work.m * g.s.tiles_n + work.n;
    const bool finite = g.s.splits > 1 || __syncthreads_and(!consumer || all_finite(whole));
    if (!finite && threadIdx.x == 0) note_failed(g.s, number);
    if (!finite || !consumer) return;
    if (g.s.splits > 1)
        store_part(g.s, number, work.split, whole);
    else
        write_tile<float, kBits>(g.out, g.s, work.m, work.n, whole);
}

} // namespace

lac_status_t multiply_by_mma(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream)
{
    const MultiplyArgs g = {(const float *)p->b, p->ldb, tiles_out<float>(p),
                            tiles_packed(p->dt, p->m, p->k, p->room, (void *)p->packed),
                            tiles_space(p->dt, p->m, p->n, p->k, workspace)};
    const dim3 grid((unsigned)g.s.tiles, (unsigned)g.s.splits);
    return launch(p->bits ? multiply_tiles_mma<true> : multiply_tiles_mma<false>,
                  {grid, dim3(kThreads), kShared, 1, true, (cudaStream_t)stream}, g);
}

} // namespace lacuna
