/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles on devices with warpgroup products: on tensor cores over the steps of each tile, each
 * by the row groups that it is for; three f16 or six bf16 products for f32, one for elements of two bytes. */
#include "producer.cuh"
#include "rests.cuh"

namespace lacuna
{
namespace
{

/* A call would end what the tensor cores do meanwhile. */
#define LACUNA_INLINE __attribute__((always_inline))

using Floats = Flow<float>;

/* The fragments of b that this thread holds. */
__device__ inline void load_fragments(const unsigned char *split, uint4 (&b)[Floats::kFragments])
{
    const int lane = threadIdx.x % kWarp, at = fragment_at((int)threadIdx.x / kWarp, lane / 4, lane % 4);
#pragma unroll
    for (int f = 0; f < Floats::kFragments; f++) b[f] = *(const uint4 *)(split + f * kFragmentBytes + at);
}

/* acc := the six products of a step for some neighbours, the smallest first: a sum of few is what the tensor
 * cores' truncation allows. */
template <int kCount>
__device__ inline void multiply_row_groups(float (&acc)[kCount], const uint4 (&b)[Floats::kFragments],
                                           uint64_t a)
{
    constexpr int kA[6] = {2, 0, 1, 1, 0, 0}, kB[6] = {0, 2, 1, 0, 1, 0};
#pragma unroll
    for (int i = 0; i < 6; i++)
#pragma unroll
        for (int d = 0; d < kDepths; d++)
            wgmma(BF16(), acc, b[kB[i] * kDepths + d],
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
__device__ __forceinline__ void multiply_set(float (&sum)[kSums], uint4 (&b)[Floats::kFragments], uint64_t a,
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
    Slot<Floats::kStages> slot;
    int set;
    bool odd; /* which fragments */
    uint4 b[2][Floats::kFragments];
};

/* Waits for a step, and takes its fragments; returns its set. */
__device__ __forceinline__ int take_step(const Stages &st, const Slot<Floats::kStages> &slot,
                                         uint4 (&b)[Floats::kFragments])
{
    barrier_wait(st.full + slot.at(), slot.filled());
    const int set = st.sets[slot.at()];
    load_fragments(st.b + slot.at() * Floats::kStageB, b);
    return set;
}

/* sum += one step's products, whose fragments are in `b`; the next one's come into `next` meanwhile. */
template <int kSet>
__device__ __forceinline__ void consume_step(const Stages &st, Taken *t, float (&sum)[kSums],
                                             uint4 (&b)[Floats::kFragments],
                                             uint4 (&next)[Floats::kFragments])
{
    const int stage = t->slot.at();
    t->slot.go_on(1);
    multiply_set<kSet>(sum, b, wgmma_further(t->a, stage * Floats::kStageA),
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
    for (int i = 0; i < Floats::kFragments; i++) {
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

/* The same of floats as two f16 numbers, of which both operands are in shared memory: three products. */
using Scaled = Flow<ScaledF16>;
struct Scanning {
    uint64_t w, s; /* this warpgroup's strip of b and a's splits, in the first stage */
    bool copied;   /* by threads some rows of b: wgmma wants a fence                 */
    Slot<Scaled::kStages> slot;
};

__device__ __forceinline__ void begin_steps(const Stages &st, Scanning *t)
{
    t->w = wgmma_strips(shared_address(st.b) + (unsigned)((int)threadIdx.x / kGroup * Scaled::kStripBytes),
                        Scaled::kStripBytes, Scaled::kEightBytes);
    t->s = wgmma_matrix(shared_address(st.a), kCoreBytes, ShapeOf<ScaledF16>::kEightRows);
    keep(t->w), keep(t->s);
}

/* acc := the three products of a step for some neighbours, the smaller ones first. */
template <int kCount> __device__ inline void multiply_row_groups(float (&acc)[kCount], uint64_t w, uint64_t s)
{
    constexpr int kPlaneStrips = kTileCols / kStripCols * Scaled::kStripBytes, kW[3] = {1, 0, 0},
                  kS[3] = {0, 1, 0};
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int d = 0; d < kDepths; d++)
            wgmma(F16(), acc,
                  wgmma_further(w, kW[i] * kPlaneStrips + d * (kDepth / kCore) * Scaled::kEightBytes),
                  wgmma_further(s, kS[i] * kSplitBytes + d * (kDepth / kCore) * kCoreBytes), i || d);
}

/* Sums of a step's row groups, in one or two runs of neighbours. */
template <int kSet> struct SetSums {
    static constexpr int kFirst = first_of(kSet), kRun = run_of(kSet >> kFirst),
                         kRest = kSet & ~(((1 << kRun) - 1) << kFirst), kFirst2 = kRest ? first_of(kRest) : 0,
                         kRun2 = kRest ? run_of(kRest >> kFirst2) : 1;
    float acc[kRun * kRowGroupSums], more[kRun2 * kRowGroupSums];

    /* Waits for the next step, and begins its products; returns its stage. */
    __device__ __forceinline__ int begin(const Stages &st, Scanning *t)
    {
        constexpr int kStepBytes = ShapeOf<ScaledF16>::kStepBytes;
        const int stage = t->slot.at();
        const uint64_t w = wgmma_further(t->w, stage * Scaled::kStageB),
                       s = wgmma_further(t->s, stage * Scaled::kStageA);
        barrier_wait(st.full + stage, t->slot.filled());
        if (t->copied) bulk_copy_fence();
        wgmma_fence();
        multiply_row_groups(acc, w, wgmma_further(s, kFirst * kStepBytes));
        if constexpr (kRest != 0) multiply_row_groups(more, w, wgmma_further(s, kFirst2 * kStepBytes));
        wgmma_commit();
        t->slot.go_on(1);
        return stage;
    }
    /* Ends those of a step, whose stage is free then; no more than kLater steps behind are under way. */
    template <int kLater>
    __device__ __forceinline__ void end(const Stages &st, int stage, float (&sum)[kSums])
    {
        wgmma_wait<kLater>();
        barrier_arrive(st.empty + stage);
        add_to(sum);
    }
    /* Behind wgmma_wait. */
    __device__ __forceinline__ void add_to(float (&sum)[kSums])
    {
        keep(acc);
        if constexpr (kRest != 0) keep(more);
#pragma unroll
        for (int i = 0; i < kRun * kRowGroupSums; i++) sum[kFirst * kRowGroupSums + i] += acc[i];
        if constexpr (kRest != 0) {
#pragma unroll
            for (int i = 0; i < kRun2 * kRowGroupSums; i++) sum[kFirst2 * kRowGroupSums + i] += more[i];
        }
    }
};

/* So many steps of one set: a step is begun before the sums of the last one are added, where there are
 * registers for both. */
template <int kSet>
__device__ __forceinline__ void consume_run(const Stages &st, Scanning *t, int steps, float (&sum)[kSums])
{
    SetSums<kSet> even;
    if constexpr (kSet == kAll) {
        for (; steps > 0; steps--) even.template end<0>(st, even.begin(st, t), sum);
    } else if (steps > 0) {
        SetSums<kSet> odd;
        for (int last = even.begin(st, t), next;;) {
            if (--steps == 0) {
                even.template end<0>(st, last, sum);
                break;
            }
            next = odd.begin(st, t);
            even.template end<1>(st, last, sum);
            if (--steps == 0) {
                odd.template end<0>(st, next, sum);
                break;
            }
            last = even.begin(st, t);
            odd.template end<1>(st, next, sum);
        }
    }
}

/* A thread's sums of its block's tiles. */
template <typename E> using BlockSums = float[Flow<E>::kWide][kSums];

/* How those who multiply go from step to step: sums := the products of some steps, for this warpgroup's
 * columns of b. Of floats, until the step behind is of another set, or of another tile. */
__device__ __forceinline__ void begin_steps(const Stages &st, Taken *t)
{
    t->a = wgmma_matrix(shared_address(st.a), kCoreBytes, kEightRows);
    keep(t->a);
    t->set = take_step(st, t->slot, t->b[0]);
}

__device__ __forceinline__ void consume_steps(const MultiplyArgs<float> &, const Work &work, const Stages &st,
                                              Taken *t, BlockSums<float> &sums)
{
    float(&sum)[kSums] = sums[0];
#pragma unroll
    for (int i = 0; i < kSums; i++) sum[i] = 0.0f;
    for (int steps = work.end - work.begin; steps > 0;) switch (t->set) {
#define LACUNA_SET(set)                                                                                      \
    case set:                                                                                                \
        consume_run<set>(st, t, &steps, sum);                                                                \
        break;
            LACUNA_SETS(LACUNA_SET)
#undef LACUNA_SET
        }
}

/* Whether threads copy some rows of b, so that wgmma wants a fence to see them. */
template <typename E> __device__ inline bool copied_by_threads(const MultiplyArgs<E> &g, const Work &work)
{
    return !g.b.boxes || __ldg(g.packed.set_steps + work.m * kSets + kAll);
}

/* Of two f16 numbers, as many as the tile has of each set. */
__device__ __forceinline__ void consume_steps(const MultiplyArgs<ScaledF16> &g, const Work &work,
                                              const Stages &st, Scanning *t, BlockSums<ScaledF16> &sums)
{
    float(&sum)[kSums] = sums[0];
    const int *of_set = g.packed.set_steps + work.m * kSets;
    int first = 0;
    t->copied = copied_by_threads(g, work);
#pragma unroll
    for (int i = 0; i < kSums; i++) sum[i] = 0.0f;
#define LACUNA_SET(set)                                                                                      \
    {                                                                                                        \
        const int end = first + __ldg(of_set++);                                                             \
        consume_run<set>(st, t, min(end, work.end) - max(first, work.begin), sum);                           \
        first = end;                                                                                         \
    }
    LACUNA_SETS(LACUNA_SET)
#undef LACUNA_SET
}

/* The same of elements of two bytes, for this warpgroup's rows and all columns of the block: one way for all
 * sets, for the sums stay in the tensor cores' registers, which no two ways would keep in the same place. A
 * step is multiplied while the one before still is; only then its stage is free. */
template <typename E> struct Reading {
    uint64_t a, b; /* wgmma's operands in the first stage  */
    unsigned own;  /* sets with one of these row groups    */
    Slot<Flow<E>::kStages> slot;
};

template <typename E> __device__ __forceinline__ void begin_steps(const Stages &st, Reading<E> *t)
{
    constexpr int kOwn = kRowGroups / kConsumers;
    const int mine = threadIdx.x / kGroup * kOwn;
    t->a = wgmma_matrix(shared_address(st.a) + (unsigned)(mine * ShapeOf<E>::kStepBytes), kCoreBytes,
                        ShapeOf<E>::kEightRows);
    t->b = wgmma_strips(shared_address(st.b), Flow<E>::kStripBytes, Flow<E>::kEightBytes);
    t->own = (unsigned)((1 << kOwn) - 1) << mine;
    keep(t->a), keep(t->b); /* nobody finds them anew at each step */
}

/* sums += the products of the step in a stage, some time before wgmma_wait. */
template <typename E>
__device__ __forceinline__ void multiply_all(BlockSums<E> &sums, const Reading<E> &t, int stage)
{
    constexpr int kTileStrips = kTileCols / kStripCols * Flow<E>::kStripBytes;
    const uint64_t a = wgmma_further(t.a, stage * Flow<E>::kStageA),
                   b = wgmma_further(t.b, stage * Flow<E>::kStageB);
    wgmma_fence();
#pragma unroll
    for (int d = 0; d < kDepths; d++)
#pragma unroll
        for (int i = 0; i < Flow<E>::kWide; i++)
            wgmma(E(), sums[i], wgmma_further(a, d * (kDepth / kCore) * kCoreBytes),
                  wgmma_further(b, i * kTileStrips + d * (kDepth / kCore) * Flow<E>::kEightBytes));
    wgmma_commit();
}

template <typename E> __device__ __forceinline__ void keep_all(BlockSums<E> &sums)
{
#pragma unroll
    for (int i = 0; i < Flow<E>::kWide; i++) keep(sums[i]);
}

template <typename E>
__device__ __forceinline__ void consume_steps(const MultiplyArgs<E> &g, const Work &work, const Stages &st,
                                              Reading<E> *t, BlockSums<E> &sums)
{
    const bool copied = copied_by_threads(g, work);
    int before = -1; /* the stage of a step that may still be multiplied */
    const auto release = [&]() LACUNA_INLINE {
        if (before >= 0) barrier_arrive(st.empty + before);
    };
#pragma unroll
    for (int i = 0; i < Flow<E>::kWide * kSums; i++) sums[i / kSums][i % kSums] = 0.0f;
    keep_all<E>(sums);
    for (int steps = work.end - work.begin; steps > 0; steps--) {
        const int stage = t->slot.at();
        barrier_wait(st.full + stage, t->slot.filled());
        t->slot.go_on(1);
        if ((unsigned)st.sets[stage] & t->own) {
            if (copied) bulk_copy_fence();
            multiply_all<E>(sums, *t, stage);
            wgmma_wait<1>();
        } else {
            wgmma_wait<0>();
        }
        release();
        before = stage;
    }
    wgmma_wait<0>();
    keep_all<E>(sums);
    release();
}

template <typename E> struct ReaderOf {
    using type = Reading<E>;
};
template <> struct ReaderOf<float> {
    using type = Taken;
};
template <> struct ReaderOf<ScaledF16> {
    using type = Scanning;
};

/* What a thread's sums of a tile still want. */
__device__ inline void finish_sums(const MultiplyArgs<float> &, const Work &, int, float (&sum)[kSums])
{
    unscale(sum);
}
__device__ inline void finish_sums(const MultiplyArgs<ScaledF16> &g, const Work &work, int n,
                                   float (&sum)[kSums])
{
    unscale_lines(g, work.m, n, sum);
    if (work.split == 0) add_rests(g, work.m, n, sum);
}

/* How tiles of floats end; TileEnds is how those of two bytes do. */
template <typename E, bool kBits> struct FloatEnds {
    const MultiplyArgs<E> &g;
    __device__ void end(const Work &work, int n, float (&sum)[kSums]) const
    {
        const int number = work.m * g.s.tiles_n + n;
        finish_sums(g, work, n, sum);
        if (g.s.splits > 1)
            store_part(g.s, number, work.split, sum);
        else if (!any_of<kHolders>(1, !all_finite(sum)))
            write_tile<float, kBits>(g.out, g.s, work.m, n, sum);
        else if (threadIdx.x == 0)
            note_failed(g.s, number);
    }
    __device__ void end_all() const {}
};
template <typename E, bool kBits> __device__ inline auto ends_of(const MultiplyArgs<E> &g, const Stages &st)
{
    if constexpr (ShapeOf<E>::kSplits == 1)
        return TileEnds<E>(g.out, g.boxed, g.s, st.boxes);
    else
        return FloatEnds<E, kBits>{g};
}

template <typename E, bool kBits>
__device__ __forceinline__ void consume(const MultiplyArgs<E> &g, const Stages &st)
{
    typename ReaderOf<E>::type t = {};
    const auto ends = ends_of<E, kBits>(g, st);
    begin_steps(st, &t);
    for (int item = (int)blockIdx.x; item < g.s.works * g.s.splits; item += (int)gridDim.x) {
        const Work work = find_work(g.packed, g.s, item);
        BlockSums<E> sums;
        consume_steps(g, work, st, &t, sums);
#pragma unroll
        for (int at = 0; at < Flow<E>::kWide; at++) {
            const int n = work.n * Flow<E>::kWide + at;
            if (n >= g.s.tiles_n) break;
            ends.end(work, n, sums[at]);
        }
    }
    ends.end_all();
}

/* c := beta c + alpha a b; a[m, k] as the packed splits of its steps, b[k, n] by rows.
 *
 * Mapping   a block per multiprocessor does tile after tile of 128 x 128 (of two bytes an element two
 *           neighbours) or, where k is shared out, parts of their steps. Teams of warps, in two
 *           warpgroups, fill stages in turns: rows of b that a step names, eight at a time in boxes
 *           where they are neighbours, and a's splits by bulk copies. Two warpgroups multiply. Of floats
 *           each has 64 columns of b, wgmma's first operand, as bf16 splits from registers, as two f16
 *           numbers from where they came, and the row groups of a that want the step; they begin the
 *           next step while the tensor cores do one.
 *           Of two bytes each has two row groups, wgmma's first operand, and all columns, its second,
 *           both where they came; a step is begun before the last one is done.
 * Bytes     per step of 32 k: 16 KiB of b, and 6 KiB of a (4 as two f16 numbers, 2 of two-byte elements)
 *           for each row group whose step it is; mostly from cache.
 * Order     steps as listed: 32 k at a time in the tensor cores, the sums of these by fp32 additions; of
 *           two-byte elements all k in the tensor cores; parts in ascending order.
 */
template <typename E, bool kWhole, bool kBits>
__global__ __launch_bounds__(kThreads, 1) void multiply_tiles(const __grid_constant__ MultiplyArgs<E> g)
{
    using Way = Flow<E>;
    LACUNA_DYNAMIC_SHARED(unsigned char, dynamic);
    __shared__ barrier_t full[Way::kStages], empty[Way::kStages];
    __shared__ int sets[Way::kStages];
    unsigned char *const stages =
        dynamic + (Way::kAlignment - shared_address(dynamic) % Way::kAlignment) % Way::kAlignment;
    unsigned char *const boxes = stages + Way::kStages * (Way::kStageB + Way::kStageA), *const raw =
                                                                                            boxes +
                                                                                            Way::kBoxesBytes;
    const Stages st = {stages,
                       stages + Way::kStages * Way::kStageB,
                       boxes,
                       raw,
                       raw + Way::kTeams * Way::kRawBytes,
                       sets,
                       full,
                       empty};
    if (threadIdx.x == 0) {
        for (int i = 0; i < Way::kStages; i++) {
            barrier_init(full + i, Way::kTeamWarps * kWarp + 1);
            barrier_init(empty + i, kConsumers * kGroup);
        }
        bulk_copy_fence();
    }
    __syncthreads();
    dependency_wait();
    if (!in_form<E>(g.form)) return;
    if (ShapeOf<E>::kSplits == 1 && takes_unpacked(g.packed)) return;
    if (threadIdx.x >= kConsumers * kGroup) {
        registers_fewer<Way::kProducerRegisters>();
        produce<kWhole>(g, st, (int)(threadIdx.x - kConsumers * kGroup) / kWarp / Way::kTeamWarps);
    } else {
        registers_more<Way::kConsumerRegisters>();
        consume<E, kBits>(g, st);
    }
}

/* The kernel of a product; only floats have columns that are no whole pieces, and bits of what is written. */
inline auto kernel_of(float, bool whole, bool bits)
{
    return bits    ? whole ? multiply_tiles<float, true, true> : multiply_tiles<float, false, true>
              : whole ? multiply_tiles<float, true, false>
                   : multiply_tiles<float, false, false>;
}
template <lac_dt_t kType> auto kernel_of(Half<kType>, bool, bool)
{
    return multiply_tiles<Half<kType>, true, false>;
}
inline auto kernel_of(ScaledF16, bool, bool bits)
{
    return bits ? multiply_tiles<ScaledF16, true, true> : multiply_tiles<ScaledF16, true, false>;
}

template <typename E>
lac_status_t launch_multiply(const lac_cuda_tiles_t *p, const MultiplyArgs<E> &g, lac_cuda_stream_t stream)
{
    const int64_t blocks = min<int64_t>(current_device().sms, (int64_t)g.s.works * g.s.splits);
    return launch(kernel_of(E(), p->n % kTileCols == 0, p->bits != nullptr),
                  {dim3((unsigned)blocks), dim3(kThreads), Flow<E>::kShared, 1, true, (cudaStream_t)stream},
                  g);
}

} // namespace

lac_status_t multiply_by_wgmma(const lac_cuda_tiles_t *p, const FormArgs &form, void *workspace,
                               lac_cuda_stream_t stream)
{
    return with_number_type(p->dt, [&](auto element) {
        using E = decltype(element);
        MultiplyArgs<E> g = {brought<E>(p->b, (int64_t)sizeof(E) * p->ldb, p->k, p->n),
                             tiles_out<E>(p),
                             {},
                             tiles_packed(p->dt, p->m, p->k, p->room, (void *)p->packed),
                             tiles_space(p->dt, p->m, p->n, p->k, workspace),
                             form.choice,
                             (const float *)p->a,
                             p->ars,
                             p->acs};
        if constexpr (sizeof(E) == 2) g.boxed = boxed_output<E>(p);
        if constexpr (sizeof(E) == 4)
            if (form.splits) {
                const Planes &planes = g.s.planes;
                const MultiplyArgs<ScaledF16> scaled = {
                    brought<ScaledF16>(planes.at, planes.pitch(), p->k, planes.columns, 2),
                    g.out,
                    {},
                    g.packed,
                    g.s,
                    form.choice,
                    g.a,
                    p->ars,
                    p->acs};
                const lac_status_t status = launch_multiply(p, scaled, stream);
                if (status != LAC_OK) return status;
                g.packed.splits = form.splits;
            }
        return launch_multiply(p, g, stream);
    });
}

} // namespace lacuna
