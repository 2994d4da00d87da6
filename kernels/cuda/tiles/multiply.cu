/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles on devices with warpgroup products: six bf16 products on tensor cores over the steps
 * of each tile, each by the row groups that it is for. */
#include "producer.cuh"

namespace lacuna
{
namespace
{

/* A call would end what the tensor cores do meanwhile. */
#define LACUNA_INLINE __attribute__((always_inline))

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
__device__ inline void multiply_row_groups(float (&acc)[kCount], const uint4 (&b)[kFragments], uint64_t a)
{
    constexpr int kA[6] = {2, 0, 1, 1, 0, 0}, kB[6] = {0, 2, 1, 0, 1, 0};
#pragma unroll
    for (int i = 0; i < 6; i++)
#pragma unroll
        for (int d = 0; d < kDepths; d++)
            wgmma_bf16(acc, b[kB[i] * kDepths + d],
                       wgmma_further(a, kA[i] * kSplitBytes + d * (kDepth / kCore) * kCoreBytes), i || d);
}

/* Sums of a row group that a thread holds. */
constexpr int kRowGroupSums = kSums / kRowGroups;

__device__ constexpr int first_of(int set)
{
    return set & 1 ? 0 : 1 + first_of(set >> 1);
}
__device__ constexpr int run_of(int set) /* of a set that begins at its first row group */
{
    return set & 1 ? 1 + run_of(set >> 1) : 0;
}
/* sum += a step's products for the row groups of kSet, neighbours together; meanwhile() while they run. */
template <int kSet, typename Meanwhile>
__device__ __forceinline__ void multiply_set(float (&sum)[kSums], uint4 (&b)[kFragments], uint64_t a,
                                             const Meanwhile &meanwhile)
{
    constexpr int kFirst = first_of(kSet), kRun = run_of(kSet >> kFirst);
    constexpr int kRest = kSet & ~(((1 << kRun) - 1) << kFirst), kFirst2 = kRest ? first_of(kRest) : 0,
                  kRun2 = kRest ? run_of(kRest >> kFirst2) : 1;
    float acc[kRun * kRowGroupSums], more[kRun2 * kRowGroupSums];
    wgmma_fence();
    multiply_row_groups(acc, b, wgmma_further(a, kFirst * kStepBytes));
    if constexpr (kRest != 0) multiply_row_groups(more, b, wgmma_further(a, kFirst2 * kStepBytes));
    wgmma_commit();
    meanwhile();
    wgmma_wait<0>();
    keep(b);
#pragma unroll
    for (int i = 0; i < kRun * kRowGroupSums; i++) sum[kFirst * kRowGroupSums + i] += acc[i];
    if constexpr (kRest != 0) {
#pragma unroll
        for (int i = 0; i < kRun2 * kRowGroupSums; i++) sum[kFirst2 * kRowGroupSums + i] += more[i];
    }
}

/* How far those who multiply have come: the next step's fragments and set are here. */
struct Taken {
    uint64_t a; /* wgmma's second operand in the first stage */
    Slot slot;
    int set;
    bool odd; /* which fragments */
    uint4 b[2][kFragments];
};

/* Waits for a step, and takes its fragments; returns its set. */
__device__ __forceinline__ int take_step(const Stages &st, const Slot &slot, uint4 (&b)[kFragments])
{
    barrier_wait(st.full + slot.at(), slot.filled());
    const int set = st.sets[slot.at()];
    load_fragments(st.b + slot.at() * kStageB, b);
    return set;
}

/* sum += one step's products, whose fragments are in `b`; the next one's come into `next` meanwhile. */
template <int kSet>
__device__ __forceinline__ void consume_step(const Stages &st, Taken *t, float (&sum)[kSums],
                                             uint4 (&b)[kFragments], uint4 (&next)[kFragments])
{
    const int stage = t->slot.at();
    t->slot.step++;
    multiply_set<kSet>(sum, b, wgmma_further(t->a, stage * kStageA),
                       [&]() LACUNA_INLINE { t->set = take_step(st, t->slot, next); });
    keep(t->set);                     /* nobody waits for it before the products are done */
    barrier_arrive(st.empty + stage); /* each lane for itself: only then does racecheck see its reads */
    t->odd = !t->odd;
}

/* Does nothing: a set is never negative. But the compiler sees the fragments used here, after the products
 * that read them, and gives their registers to nothing else while they do. */
__device__ __forceinline__ void hold_fragments(const Stages &st, const Taken &t)
{
    if (t.set >= 0) return;
#pragma unroll
    for (int i = 0; i < kFragments; i++) {
        *((uint4 *)st.b + i * kHolders + threadIdx.x) = t.b[0][i];
        *((uint4 *)st.a + i * kHolders + threadIdx.x) = t.b[1][i];
    }
}

/* The steps of one set, of which the lists have many behind each other, as far as there are any of `left`. */
template <int kSet>
__device__ __forceinline__ void consume_run(const Stages &st, Taken *t, int *left, float (&sum)[kSums])
{
    for (bool even = !t->odd;; even = true) {
        if (even) {
            consume_step<kSet>(st, t, sum, t->b[0], t->b[1]);
            if (--*left == 0 || t->set != kSet) break;
        }
        consume_step<kSet>(st, t, sum, t->b[1], t->b[0]);
        if (--*left == 0 || t->set != kSet) break;
    }
    hold_fragments(st, *t);
}

/* sum := the products of some steps, for this warpgroup's columns of b. */
__device__ __forceinline__ void consume_steps(const Stages &st, Taken *t, int steps, float (&sum)[kSums])
{
#pragma unroll
    for (int i = 0; i < kSums; i++) sum[i] = 0.0f;
    while (steps > 0) switch (t->set) {
#define LACUNA_SET(set)                                                                                      \
    case set:                                                                                                \
        consume_run<set>(st, t, &steps, sum);                                                                \
        break
            LACUNA_SET(1);
            LACUNA_SET(2);
            LACUNA_SET(3);
            LACUNA_SET(4);
            LACUNA_SET(5);
            LACUNA_SET(6);
            LACUNA_SET(7);
            LACUNA_SET(8);
            LACUNA_SET(9);
            LACUNA_SET(10);
            LACUNA_SET(11);
            LACUNA_SET(12);
            LACUNA_SET(13);
            LACUNA_SET(14);
        default:
            consume_run<kAll>(st, t, &steps, sum);
#undef LACUNA_SET
        }
}

template <bool kBits> __device__ __forceinline__ void consume(const MultiplyArgs &g, const Stages &st)
{
    Taken t = {wgmma_matrix(shared_address(st.a), kCoreBytes, kEightRows), {0}, kNoStep, false, {}};
    keep(t.a);
    t.set = take_step(st, t.slot, t.b[0]);
    for (int item = (int)blockIdx.x; item < (int)g.s.tiles * g.s.splits; item += (int)gridDim.x) {
        const Work work = find_work(g.packed, g.s, item);
        const int number = work.m * g.s.tiles_n + work.n;
        float sum[kSums];
        consume_steps(st, &t, work.end - work.begin, sum);
        if (g.s.splits > 1)
            store_part(g.s, number, work.split, sum);
        else if (!any_of<1, kHolders>(!all_finite(sum)))
            write_tile<kBits>(g.out, g.s, work.m, work.n, sum);
        else if (threadIdx.x == 0)
            note_failed(g.s, number);
    }
}

/* c := beta c + alpha a b; a[m, k] as the packed splits of its steps, b[k, n] by rows.
 *
 * Mapping   a block per multiprocessor does tile after tile of 128 x 128 or, where k is shared out, parts of
 *           their steps. Two warpgroups fill stages in turns: rows of b that a step names, split into
 *           registers of wgmma's first operand, and a's splits, its second, by bulk copies. Two multiply,
 *           each 64 columns of b, the row groups of a that want the step; they take the next step, or the
 *           next tile's, while the tensor cores do one.
 * Bytes     per step of 32 k: 16 KiB of b, and 6 KiB of a for each row group whose step it is; mostly from
 *           cache.
 * Order     steps as listed: 32 k at a time in the tensor cores, the sums of these by fp32 additions; parts
 *           in ascending order. */
template <bool kWhole, bool kBits>
__global__ __launch_bounds__(kThreads, 1) void multiply_tiles(const __grid_constant__ MultiplyArgs g)
{
    LACUNA_DYNAMIC_SHARED(unsigned char, dynamic);
    __shared__ barrier_t full[kStages], empty[kStages];
    __shared__ int sets[kStages];
    unsigned char *const stages = dynamic + (kAlignment - shared_address(dynamic) % kAlignment) % kAlignment;
    unsigned char *const raw = stages + kStages * (kStageB + kStageA);
    const Stages st = {
        stages, stages + kStages * kStageB, raw, (Listing *)(raw + kProducers * kRawBytes), sets, full,
        empty};
    if (threadIdx.x == 0) {
        for (int i = 0; i < kStages; i++) {
            barrier_init(full + i, kGroup + 1);
            barrier_init(empty + i, kConsumers * kGroup);
        }
        bulk_copy_fence();
    }
    __syncthreads();
    dependency_wait();
    if (!chosen(g.choice, false)) return;
    if (threadIdx.x >= kConsumers * kGroup) {
        registers_fewer<kProducerRegisters>();
        produce<kWhole>(g, st, (int)threadIdx.x / kGroup - kConsumers);
    } else {
        registers_more<kConsumerRegisters>();
        consume<kBits>(g, st);
    }
}

} // namespace

lac_status_t multiply_by_wgmma(const lac_cuda_tiles_t *p, const TilesChoice &choice, void *workspace,
                               lac_cuda_stream_t stream)
{
    const MultiplyArgs g = {p->b,
                            (unsigned)(4 * p->ldb),
                            tiles_out(p),
                            tiles_packed(p->m, p->k, p->room, (void *)p->packed),
                            tiles_space(p->m, p->n, p->k, workspace),
                            choice};
    const int64_t blocks = min<int64_t>(current_device().sms, g.s.tiles * g.s.splits);
    const bool whole = p->n % kTileCols == 0;
    return launch(p->bits ? whole ? multiply_tiles<true, true> : multiply_tiles<false, true>
                  : whole ? multiply_tiles<true, false>
                          : multiply_tiles<false, false>,
                  {dim3((unsigned)blocks), dim3(kThreads), kShared, 1, true, (cudaStream_t)stream}, g);
}

} // namespace lacuna
