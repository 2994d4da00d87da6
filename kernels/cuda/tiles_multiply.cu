/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles on devices with warpgroup products: six bf16 products on tensor cores over the steps
 * of each tile, each by the quarters that it is for. */
#include "tiles_fill.cuh"

namespace lacuna
{
namespace
{

/* The fragments of b that this thread holds. */
__device__ inline void load_fragments(const unsigned char *split, uint4 (&b)[kFragments])
{
    const int lane = threadIdx.x % kWarp, at = fragment_at((int)threadIdx.x / kWarp, lane / 4, lane % 4);
#pragma unroll
    for (int f = 0; f < kFragments; f++) b[f] = *(const uint4 *)(split + f * kFragmentBytes + at);
}

/* acc := the six products of a step for some neighbours, the smallest first: a sum of few is what the tensor
 * cores' truncation allows. */
template <int kCount>
__device__ inline void multiply_quarters(float (&acc)[kCount], const uint4 (&b)[kFragments], uint64_t a)
{
    constexpr int kA[6] = {2, 0, 1, 1, 0, 0}, kB[6] = {0, 2, 1, 0, 1, 0};
#pragma unroll
    for (int i = 0; i < 6; i++)
#pragma unroll
        for (int d = 0; d < kDepths; d++)
            wgmma_bf16(acc, b[kB[i] * kDepths + d],
                       wgmma_further(a, kA[i] * kPieceBytes + d * (kDepth / kCore) * kCoreBytes), i || d);
}

/* Sums of a quarter that a thread holds. */
constexpr int kQuarterSums = kSums / kQuarters;

__device__ constexpr int first_of(int set)
{
    return set & 1 ? 0 : 1 + first_of(set >> 1);
}
__device__ constexpr int run_of(int set) /* of a set that begins at its first quarter */
{
    return set & 1 ? 1 + run_of(set >> 1) : 0;
}
constexpr int kEarlyQuarters = 4; /* with so many, there are registers for the next step's fragments */

/* sum += a step's products for the quarters of kSet, neighbours together; meanwhile() while they run. */
template <int kSet, typename Meanwhile>
__device__ inline void multiply_set(float (&sum)[kSums], uint4 (&b)[kFragments], uint64_t a,
                                    const Meanwhile &meanwhile)
{
    constexpr int kFirst = first_of(kSet), kRun = run_of(kSet >> kFirst);
    constexpr int kRest = kSet & ~(((1 << kRun) - 1) << kFirst), kFirst2 = kRest ? first_of(kRest) : 0,
                  kRun2 = kRest ? run_of(kRest >> kFirst2) : 1;
    constexpr bool kEarly = kRun + (kRest ? kRun2 : 0) <= kEarlyQuarters;
    float acc[kRun * kQuarterSums], more[kRun2 * kQuarterSums];
    wgmma_fence();
    multiply_quarters(acc, b, wgmma_further(a, kFirst * kStepBytes));
    if constexpr (kRest != 0) multiply_quarters(more, b, wgmma_further(a, kFirst2 * kStepBytes));
    wgmma_commit();
    if (kEarly) meanwhile();
    wgmma_wait<0>();
    keep(b);
#pragma unroll
    for (int i = 0; i < kRun * kQuarterSums; i++) sum[kFirst * kQuarterSums + i] += acc[i];
    if constexpr (kRest != 0) {
#pragma unroll
        for (int i = 0; i < kRun2 * kQuarterSums; i++) sum[kFirst2 * kQuarterSums + i] += more[i];
    }
    if (!kEarly) meanwhile();
}

template <typename Meanwhile>
__device__ inline void multiply_step(int set, float (&sum)[kSums], uint4 (&b)[kFragments], uint64_t a,
                                     const Meanwhile &meanwhile)
{
    switch (set) {
    case 1:
        return multiply_set<1>(sum, b, a, meanwhile);
    case 2:
        return multiply_set<2>(sum, b, a, meanwhile);
    case 3:
        return multiply_set<3>(sum, b, a, meanwhile);
    case 4:
        return multiply_set<4>(sum, b, a, meanwhile);
    case 5:
        return multiply_set<5>(sum, b, a, meanwhile);
    case 6:
        return multiply_set<6>(sum, b, a, meanwhile);
    case 7:
        return multiply_set<7>(sum, b, a, meanwhile);
    case 8:
        return multiply_set<8>(sum, b, a, meanwhile);
    case 9:
        return multiply_set<9>(sum, b, a, meanwhile);
    case 10:
        return multiply_set<10>(sum, b, a, meanwhile);
    case 11:
        return multiply_set<11>(sum, b, a, meanwhile);
    case 12:
        return multiply_set<12>(sum, b, a, meanwhile);
    case 13:
        return multiply_set<13>(sum, b, a, meanwhile);
    case 14:
        return multiply_set<14>(sum, b, a, meanwhile);
    default:
        return multiply_set<kAll>(sum, b, a, meanwhile);
    }
}

/* Waits for a step, and takes its fragments; returns its set. */
__device__ inline int take_step(const Stages &st, const Slot &slot, uint4 (&b)[kFragments])
{
    barrier_wait(st.full + slot.at, slot.parity);
    load_fragments(st.b + slot.at * kStageB, b);
    return st.sets[slot.at];
}

/* One step, whose fragments are in `b`; those of the next one, if there is, come into `next` meanwhile.
 * Returns that one's set. */
__device__ inline int consume_step(const Stages &st, uint64_t a, int set, bool last, Slot *slot,
                                   float (&sum)[kSums], uint4 (&b)[kFragments], uint4 (&next)[kFragments])
{
    const int now = slot->at;
    int later = 0;
    slot->next();
    multiply_step(set, sum, b, wgmma_further(a, now * kStageA), [&] {
        if (!last) later = take_step(st, *slot, next);
    });
    barrier_arrive(st.empty + now); /* each lane for itself: only then does racecheck see its reads */
    return later;
}

/* sum := the products of some steps, for this warpgroup's columns of b. */
__device__ inline void consume_steps(const Stages &st, int steps, Slot *slot, float (&sum)[kSums])
{
    const uint64_t a = wgmma_matrix(shared_address(st.a), kCoreBytes, kEightRows);
    uint4 b[2][kFragments];
#pragma unroll
    for (int i = 0; i < kSums; i++) sum[i] = 0.0f;
    if (steps == 0) return;
    int set = take_step(st, *slot, b[0]);
    for (int done = 0; done < steps; done += 2) {
        set = consume_step(st, a, set, done + 1 == steps, slot, sum, b[0], b[1]);
        if (done + 1 < steps) set = consume_step(st, a, set, done + 2 == steps, slot, sum, b[1], b[0]);
    }
}

__device__ inline void consume(const MultiplyArgs &g, const Stages &st)
{
    Slot slot = {0, 0};
    for (int item = (int)blockIdx.x; item < (int)g.s.tiles * g.s.splits; item += (int)gridDim.x) {
        const Work work = find_work(g.packed, g.s, item);
        const int number = work.m * g.s.tiles_n + work.n;
        float sum[kSums];
        consume_steps(st, work.end - work.begin, &slot, sum);
        if (g.s.splits > 1)
            store_part(g.s, number, work.split, sum);
        else if (!any_of<1, kHolders>(!all_finite(sum)))
            write_tile(g.out, work.m, work.n, sum);
        else if (threadIdx.x == 0)
            note_failed(g.s, number);
    }
}

/* c := beta c + alpha a b; a[m, k] as the packed pieces of its steps, b[k, n] by rows.
 *
 * Mapping   a block per multiprocessor does tile after tile of 128 x 128 or, where k is shared out, parts of
 *           their steps. Two warpgroups fill stages in turns: rows of b that a step names, split into
 *           registers of wgmma's first operand, and a's pieces, its second, by bulk copies. Two multiply,
 *           each 64 columns of b, those quarters of a that want the step.
 * Bytes     per step of 32 k: 16 KiB of b, and 6 KiB of a for each quarter whose step it is; mostly from
 *           cache.
 * Order     steps as listed: 32 k at a time in the tensor cores, the sums of these by fp32 additions; parts
 * in ascending order. */
template <bool kWhole>
__global__ __launch_bounds__(kThreads, 1) void multiply_tiles(const __grid_constant__ MultiplyArgs g)
{
    LACUNA_DYNAMIC_SHARED(unsigned char, dynamic);
    __shared__ barrier_t full[kStages], empty[kStages];
    __shared__ int sets[kStages];
    unsigned char *const stages = dynamic + (kAlignment - shared_address(dynamic) % kAlignment) % kAlignment;
    unsigned char *const raw = stages + kStages * (kStageB + kStageA);
    const Stages st = {stages, stages + kStages * kStageB,
                       raw,    (Listing *)(raw + kProducers * kRaws * kRawBytes),
                       sets,   full,
                       empty};
    if (threadIdx.x == 0) {
        for (int i = 0; i < kStages; i++) {
            barrier_init(full + i, kGroup + 1);
            barrier_init(empty + i, kConsumers * kGroup);
        }
        barrier_init_fence();
    }
    __syncthreads();
    dependency_wait();
    if (threadIdx.x >= kConsumers * kGroup) {
        registers_fewer<kProducerRegisters>();
        produce<kWhole>(g, st, (int)threadIdx.x / kGroup - kConsumers);
    } else {
        registers_more<kConsumerRegisters>();
        consume(g, st);
    }
}

} // namespace

lac_status_t multiply_by_wgmma(const lac_cuda_tiles_t *p, void *workspace, lac_cuda_stream_t stream)
{
    const MultiplyArgs g = {p->b, p->ldb, tiles_out(p), tiles_packed(p->m, p->k, p->room, (void *)p->packed),
                            tiles_space(p->m, p->n, p->k, workspace)};
    const int64_t blocks = least<int64_t>(current_device().sms, g.s.tiles * g.s.splits);
    return launch(p->n % kTileCols ? multiply_tiles<false> : multiply_tiles<true>,
                  {dim3((unsigned)blocks), dim3(kThreads), kShared, 1, true, (cudaStream_t)stream}, g);
}

} // namespace lacuna
