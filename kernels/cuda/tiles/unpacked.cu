/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles of elements of two bytes whose zeros come in large blocks: whole steps of k that have
 * something are multiplied as they lie in memory. On devices with warpgroup products. */
#include "tiles.cuh"
#include "epilogue_boxes.cuh"

namespace lacuna
{
namespace
{

constexpr int kConsumers = 2; /* warpgroups: 64 rows of a tile each, and all columns of the block */
constexpr int kThreads = (kConsumers + 1) * kGroup;
constexpr int kConsumerRegisters = 232, kProducerRegisters = 40;
constexpr int kWide = ShapeOf<BF16>::kWide, kDepths = kWholeStep / kDepth;
static_assert(kConsumers * kGroup == kHolders && kConsumers * kWgmmaRows == kTileRows &&
                  kConsumers * kConsumerRegisters + kProducerRegisters <= 512,
              "who holds a tile; 65536 registers");

/* A stage: strips of 64 columns of b's rows, or its columns of 64 k; then a, by rows of 64 k, or along its
 * rows in strips of 64. */
constexpr int kStripBytes = kWholeStep * kStripLine;
constexpr int kStrips = kWide * kTileCols / kStripCols, kStripsOfA = kTileRows / kStripCols;
constexpr int kStageB = kStrips * kStripBytes, kStageBytes = kStageB + kStripsOfA * kStripBytes;
constexpr int kStages = 4, kAlignment = 8 * kStripLine,
              kShared = kStages * kStageBytes + kConsumers * kBoxes * kBoxBytes + kAlignment;
static_assert(kStripCols == kWholeStep && kStripsOfA == kConsumers && kStripLine == 2 * kWholeStep,
              "a strip of a for each warpgroup, however a lies");
static_assert(kShared + 256 <= 227 * 1024, "what a block may have, and a few barriers");

template <typename E> struct UnpackedArgs {
    CUtensorMap a, b;
    TilesOut<E> out;
    BoxedOutput boxed;
    TilesPacked packed;
    TilesSpace s;
};

/* What a stage holds: a step of a work, which warpgroups have something in it, and whether it is the work's
 * last. A work without steps has one that nobody wants, and so has the end of all, whose m is kNoWork. */
constexpr int kNoWork = -1;
constexpr unsigned kLast = 1u << kConsumers;
struct alignas(16) Head {
    int m, n, split;
    unsigned marks; /* a bit for each warpgroup that wants it; kLast */
};

struct Stages {
    unsigned char *at;
    Head *heads;
    barrier_t *full, *empty;
    __device__ unsigned char *b(int stage) const { return at + stage * kStageBytes; }
    __device__ unsigned char *a(int stage) const { return b(stage) + kStageB; }
};

/* A stage of the ring, and how often it was gone through, modulo 2. */
struct Place {
    int stage;
    unsigned turn;
    __device__ void go_on()
    {
        if (++stage == kStages) stage = 0, turn ^= 1;
    }
};

/* Which of 32 steps from `first` a warpgroup's rows of tile m have something in; a lane looks at a step. */
__device__ inline unsigned marked_steps(const TilesPacked &s, int m, int first, int warpgroup)
{
    constexpr int kGroups = kRowGroups / kConsumers, kWords = kWholeStep / 32;
    const int word0 = (first + (int)threadIdx.x % kWarp) * kWords;
    uint32_t any = 0;
#pragma unroll
    for (int q = 0; q < kGroups; q++)
#pragma unroll
        for (int w = 0; w < kWords; w++) {
            const int64_t row_group = (int64_t)m * kRowGroups + warpgroup * kGroups + q;
            if (word0 + w < s.words) any |= __ldg(s.active + row_group * s.words + word0 + w);
        }
    return __ballot_sync(kFull, any != 0);
}

/* Tiles of rows with the most steps come first, so that blocks end at about the same time; where there are no
 * more than so many, for with more it matters less. Their order; a warp. */
constexpr int kMostOrdered = 128;
__device__ inline void order_tiles(const TilesPacked &s, int (&order)[kMostOrdered])
{
    __shared__ int4 keys[kMostOrdered / 4]; /* none is another's: steps, then the tile */
    const int lane = threadIdx.x % kWarp;
    for (int tile = lane; tile < kMostOrdered; tile += kWarp)
        ((int *)keys)[tile] =
            tile < s.tiles_m ? s.whole_of_tile[tile] / kWholeStep * kMostOrdered + kMostOrdered - 1 - tile
                             : -1;
    __syncwarp();
    for (int tile = lane; tile < s.tiles_m; tile += kWarp) {
        const int mine = ((const int *)keys)[tile];
        int before = 0;
        for (int i = 0; i * 4 < s.tiles_m; i++) {
            const int4 four = keys[i];
            before += (four.x > mine) + (four.y > mine) + (four.z > mine) + (four.w > mine);
        }
        order[before] = tile;
    }
    __syncwarp();
}

/* Fills stages, a warp: the steps of work after work, which blocks come for as they get ready. */
template <typename E, bool kAlongRows, bool kAlongK> struct Filling {
    const UnpackedArgs<E> &g;
    const Stages &st;
    int (&order)[kMostOrdered];
    Place place;

    /* Waits for a stage, and begins to fill it. */
    __device__ void fill(const Work &work, int step, unsigned marks)
    {
        const bool any = (marks & ~kLast) != 0;
        barrier_t *const full = st.full + place.stage;
        barrier_wait(st.empty + place.stage, place.turn ^ 1);
        if (one_lane()) {
            st.heads[place.stage] = {work.m, work.n, work.split, marks};
            barrier_arrive_promise(full, any ? kStageBytes : 0);
            if (any) bring(work, step, full);
        }
        __syncwarp();
        place.go_on();
    }
    __device__ void bring(const Work &work, int step, barrier_t *full)
    {
        const int k = step * kWholeStep, row = work.m * kTileRows, col = work.n * kWide * kTileCols;
        unsigned char *const a = st.a(place.stage), *const b = st.b(place.stage);
        if (kAlongRows) {
#pragma unroll
            for (int i = 0; i < kStripsOfA; i++)
                copy_tile(a + i * kStripBytes, &g.a, k, row + i * kStripCols, full);
        } else {
            copy_tile(a, &g.a, row, k, full);
        }
        if constexpr (kAlongK) {
            copy_tile(b, &g.b, col, k, full);
        } else {
#pragma unroll
            for (int i = 0; i < kStrips; i++)
                copy_tile(b + i * kStripBytes, &g.b, k, col + i * kStripCols, full);
        }
    }
    __device__ int steps_of(int m) const
    {
        int steps = 0;
        for (int first = 0; first * kWholeStep < 32 * g.packed.words; first += kWarp)
            steps += __popc(marked_steps(g.packed, m, first, 0) | marked_steps(g.packed, m, first, 1));
        return steps;
    }
    __device__ void do_work(int number)
    {
        Work work = find_place(g.packed, g.s, number);
        if (g.packed.tiles_m <= kMostOrdered) work.m = order[work.m];
        work.end = INT_MAX;
        if (g.s.splits > 1) share_steps(g.s, (unsigned)steps_of(work.m), &work);
        int found = 0, step = 0; /* the step that is known, and not yet filled: another may follow */
        unsigned wanted = 0;
        for (int first = 0; first * kWholeStep < 32 * g.packed.words && found < work.end; first += kWarp) {
            const unsigned low = marked_steps(g.packed, work.m, first, 0),
                           high = marked_steps(g.packed, work.m, first, 1);
            for (unsigned left = low | high; left && found < work.end; left &= left - 1) {
                const int bit = __ffs((int)left) - 1;
                if (found++ < work.begin) continue;
                if (wanted) fill(work, step, wanted);
                step = first + bit, wanted = (low >> bit & 1) | (high >> bit & 1) << 1;
            }
        }
        fill(work, step, wanted | kLast);
    }
    __device__ void do_all()
    {
        const int works = g.s.works * g.s.splits;
        if (g.packed.tiles_m <= kMostOrdered) order_tiles(g.packed, order);
        for (int number = (int)blockIdx.x, next = 0; number < works; number = next) {
            if (threadIdx.x % kWarp == 0) next = (int)gridDim.x + atomicAdd(g.s.next, 1);
            do_work(number);
            next = __shfl_sync(kFull, next, 0);
        }
        fill({kNoWork, 0, 0, 0, 0}, 0, kLast);
    }
};

/* A thread's sums of its block's tiles. */
using BlockSums = float[kWide][kSums];

__device__ __forceinline__ void keep_all(BlockSums &sums)
{
#pragma unroll
    for (int i = 0; i < kWide; i++) keep(sums[i]);
}

/* sums += a step's products for this warpgroup's rows, some time before wgmma_wait. */
template <typename E, bool kAlongRows, bool kAlongK>
__device__ __forceinline__ void multiply_step(BlockSums &sums, uint64_t a, uint64_t b, int stage)
{
    constexpr int kNextA = kAlongRows ? kDepth * kStripLine : kDepth * 2,
                  kNextB = kAlongK ? kDepth * 2 : kDepth * kStripLine;
    wgmma_fence();
#pragma unroll
    for (int d = 0; d < kDepths; d++)
        wgmma<kAlongRows, !kAlongK>(E(), sums[0], sums[1], wgmma_further(a, stage * kStageBytes + d * kNextA),
                                    wgmma_further(b, stage * kStageBytes + d * kNextB));
    wgmma_commit();
}

/* The sums of a work, and which it is. A step is begun before the one before it is done, whose stage is free
 * then. */
template <typename E, bool kAlongRows, bool kAlongK>
__device__ __forceinline__ Work consume_steps(const Stages &st, uint64_t a, uint64_t b, Place *place,
                                              BlockSums &sums)
{
    const unsigned mine = 1u << threadIdx.x / kGroup;
    int before = -1;
    Head head;
#pragma unroll
    for (int i = 0; i < kWide * kSums; i++) sums[i / kSums][i % kSums] = 0.0f;
    keep_all(sums);
    do {
        const int stage = place->stage;
        barrier_wait(st.full + stage, place->turn);
        place->go_on();
        head = st.heads[stage];
        if (head.marks & mine) {
            multiply_step<E, kAlongRows, kAlongK>(sums, a, b, stage);
            wgmma_wait<1>();
        } else {
            wgmma_wait<0>();
        }
        if (before >= 0) barrier_arrive(st.empty + before);
        before = stage;
    } while (!(head.marks & kLast));
    wgmma_wait<0>();
    keep_all(sums);
    barrier_arrive(st.empty + before);
    return {head.m, head.n, head.split, 0, 0};
}

template <typename E, bool kAlongRows, bool kAlongK>
__device__ __forceinline__ void consume(const UnpackedArgs<E> &g, const Stages &st)
{
    const int mine = (int)threadIdx.x / kGroup;
    uint64_t a = wgmma_strips(shared_address(st.a(0)) + (unsigned)(mine * kStripBytes), kStripBytes,
                              kCore * kStripLine),
             b = wgmma_strips(shared_address(st.b(0)), kStripBytes, kCore * kStripLine);
    keep(a), keep(b); /* nobody finds them anew at each step */
    Place place = {};
    const TileEnds<E> ends(g.out, g.boxed, g.s, st.b(kStages));
    for (;;) {
        BlockSums sums;
        const Work work = consume_steps<E, kAlongRows, kAlongK>(st, a, b, &place, sums);
        if (work.m == kNoWork) break;
#pragma unroll
        for (int at = 0; at < kWide; at++) {
            const int n = work.n * kWide + at;
            if (n >= g.s.tiles_n) break; /* a condition around would put sums into local memory */
            ends.end(work, n, sums[at]);
        }
    }
    ends.end_all();
}

/* c := beta c + alpha a b; a[m, k] and b[k, n], both by rows, or kAlongRows: a by columns; kAlongK: b by
 * columns.
 *
 * Mapping   a block per multiprocessor comes for two neighbouring tiles of 128 x 128, or a part of their
 *           steps of 64 k, whenever it has done its last ones. One warp has the copy engine fill stages with
 *           those steps of a and b that some row of a has something in; two warpgroups multiply, each its 64
 *           rows and all columns, both operands where they came, a step begun before the last one is done.
 * Bytes     per step 16 KiB of a and 32 KiB of b, mostly from cache.
 * Order     k ascending, all in the tensor cores; parts in ascending order. Whoever does a work does the
 * same.
 */
template <typename E, bool kAlongRows, bool kAlongK>
__global__ __launch_bounds__(kThreads, 1) void multiply_whole_steps(const __grid_constant__ UnpackedArgs<E> g)
{
    LACUNA_DYNAMIC_SHARED(unsigned char, dynamic);
    __shared__ barrier_t full[kStages], empty[kStages];
    __shared__ Head heads[kStages];
    __shared__ int order[kMostOrdered];
    const Stages st = {dynamic + (kAlignment - shared_address(dynamic) % kAlignment) % kAlignment, heads,
                       full, empty};
    if (threadIdx.x == 0) {
        for (int i = 0; i < kStages; i++) {
            barrier_init(full + i, 1);
            barrier_init(empty + i, kConsumers * kGroup);
        }
        bulk_copy_fence();
    }
    __syncthreads();
    dependency_wait();
    if (!takes_unpacked(g.packed)) return;
    if (threadIdx.x >= kConsumers * kGroup) {
        registers_fewer<kProducerRegisters>();
        if (threadIdx.x < kConsumers * kGroup + kWarp)
            Filling<E, kAlongRows, kAlongK>{g, st, order, {}}.do_all();
    } else {
        registers_more<kConsumerRegisters>();
        consume<E, kAlongRows, kAlongK>(g, st);
    }
}

bool along_rows(const lac_cuda_tiles_t *p)
{
    return p->ars == 1 && p->acs != 1;
}

template <typename E>
lac_status_t run_unpacked(const lac_cuda_tiles_t *p, void *workspace, cudaStream_t stream)
{
    const bool along = along_rows(p);
    UnpackedArgs<E> g = {{},
                         {},
                         tiles_out<E>(p),
                         boxed_output<E>(p),
                         tiles_packed(p->dt, p->m, p->k, p->room, (void *)p->packed),
                         tiles_space(p->dt, p->m, p->n, p->k, workspace)};
    const E *const a = (const E *)p->a;
    const bool described =
        (along ? make_tensor_map(&g.a, a, p->k, p->m, p->acs, kWholeStep, kStripCols, true)
               : make_tensor_map(&g.a, a, p->m, p->k, p->ars, kTileRows, kWholeStep, true)) &&
        (p->b_columns
             ? make_tensor_map(&g.b, (const E *)p->b_columns, p->n, p->k, p->ld_columns, kWide * kTileCols,
                               kWholeStep, true)
             : make_tensor_map(&g.b, (const E *)p->b, p->k, p->n, p->ldb, kWholeStep, kStripCols, true));
    if (!described) return LAC_ERR_INTERNAL;
    const int64_t blocks = min<int64_t>(current_device().sms, (int64_t)g.s.works * g.s.splits);
    const auto kernel =
        p->b_columns ? along ? multiply_whole_steps<E, true, true> : multiply_whole_steps<E, false, true>
        : along ? multiply_whole_steps<E, true, false>
                     : multiply_whole_steps<E, false, false>;
    return launch(kernel, {dim3((unsigned)blocks), dim3(kThreads), kShared, 1, true, stream}, g);
}

} // namespace

bool may_be_unpacked(const lac_cuda_tiles_t *p)
{
    constexpr int64_t kPiece = 8; /* elements of 16 bytes */
    const int64_t ld = along_rows(p) ? p->acs : p->ars, line = along_rows(p) ? p->m : p->k;
    return p->dt != LAC_F32 && (p->acs == 1 || p->ars == 1) && ld >= line && ld % kPiece == 0 && fits(ld) &&
           aligned(p->a, 16);
}

lac_status_t multiply_unpacked(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream)
{
    return p->dt == LAC_F16 ? run_unpacked<F16>(p, workspace, (cudaStream_t)stream)
                            : run_unpacked<BF16>(p, workspace, (cudaStream_t)stream);
}

} // namespace lacuna
