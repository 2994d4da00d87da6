/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event product for W by columns: whole columns stream through shared memory, the lanes of a warp are the
 * events of one row. */
#include "common/async_copy.cuh"
#include "gather.cuh"
#include "pack.cuh"

namespace lacuna
{
namespace
{

constexpr int kMostConsumers = 31; /* warps that multiply; one more copies                          */
constexpr int kStages = 2;
constexpr int kStageFloats = 20 * 1024; /* of W; half as many, in more stages: 8 % slower             */
constexpr int kTurns = 4;               /* events of a row that each lane holds in registers             */
constexpr int kGroup = 8;               /* segments that are added up before they are added to others */
constexpr int kMostRows = 2;            /* rows of a warp whose events are held; more rows are read anew */
static_assert(kStageFloats % kChunk == 0, "segments are whole slots");
static_assert(sizeof(float) * kStages * kStageFloats <= 160 * 1024, "shared memory of an A100");

enum Copy { kBulk, kQuads, kSingles }; /* what the device and the alignment of W allow */

struct StreamArgs {
    GemmArgs p;
    Slots from;
    int blocks, consumers;
    int segment, segments; /* k per stage, stages per column                      */
    float *carry;          /* [block][row]: sums over the segments of a column so far: in groups, of groups */
};

struct Barriers {
    barrier_t full[kStages], empty[kStages];
};

/* Starts the copy of W[k0 .., `columns` columns from j on]; one warp. */
template <Copy kCopy, int kCols>
__device__ void fetch(float *stage, const StreamArgs &a, int j, int columns, int k0, barrier_t *full,
                      int lane)
{
    constexpr int kPitch = kStageFloats / kCols;
    const int length = min(a.segment, a.p.k - k0);
    const float *from = a.p.w + (int64_t)j * a.p.wjs + k0;
    if constexpr (kCopy == kBulk) {
        if (lane == 0) barrier_arrive_promise(full, unsigned(columns * length) * 4);
        __syncwarp();
        if (lane < columns)
            copy_bulk(stage + lane * kPitch, from + (int64_t)lane * a.p.wjs, unsigned(length) * 4, full);
    } else {
        for (int c = 0; c < columns; c++, stage += kPitch, from += a.p.wjs) {
            if (kCopy == kQuads)
                for (int k = 4 * lane; k < length; k += 4 * kWarp) copy_async16(stage + k, from + k);
            else
                for (int k = lane; k < length; k += kWarp) copy_async4(stage + k, from + k);
        }
        barrier_arrive_copied(full);
    }
}

/* This lane's of the first events of row i, 0 at k = 0 where it has none; returns how many the row has. One
 * slot per lane: each turn looks for the slot that its event lies in. */
__device__ int hold_events(const Slots &s, int i, Event (&mine)[kTurns], int lane)
{
    const int count = lane < s.slots ? s.count[i * s.slots + lane] : 0;
    const int end = inclusive_sum(count, lane);
    const int total = __shfl_sync(kFull, end, kWarp - 1);
#pragma unroll
    for (int t = 0; t < kTurns; t++) {
        const int e = lane + t * kWarp;
        mine[t] = {0, 0.0f};
        if (t * kWarp >= total) continue;
        int slot = 0;
#pragma unroll
        for (int o = kWarp / 2; o > 0; o /= 2)
            if (__shfl_sync(kFull, end, slot + o - 1) <= e) slot += o;
        const int begin = __shfl_sync(kFull, end - count, slot);
        if (e < total) mine[t] = s.event[(int64_t)i * s.pitch + (int64_t)slot * s.slice + e - begin];
    }
    return total;
}

/* acc[c] += v * W[k, column c] for the held events, two turns at a time: all their reads of W are in flight
 * together. W is not read where the lane has no event: 0 times an Inf would not be 0. */
template <int kCols>
__device__ inline void add_held(float (&acc)[kCols], const Event (&mine)[kTurns], int count, const float *w,
                                int lane)
{
    constexpr int kPitch = kStageFloats / kCols;
#pragma unroll
    for (int t0 = 0; t0 < kTurns; t0 += 2) {
        if (t0 * kWarp >= count) break;
        float x[2][kCols];
#pragma unroll
        for (int t = 0; t < 2; t++)
#pragma unroll
            for (int c = 0; c < kCols; c++) {
                x[t][c] = 0.0f;
                if (lane + (t0 + t) * kWarp < count) x[t][c] = w[mine[t0 + t].k + c * kPitch];
            }
#pragma unroll
        for (int t = 0; t < 2; t++)
#pragma unroll
            for (int c = 0; c < kCols; c++) acc[c] = fmaf(mine[t0 + t].v, x[t][c], acc[c]);
    }
}

/* The same for the events of row i in slots [slot, end), without the first `skip` of them. */
template <int kCols>
__device__ void add_slots(float (&acc)[kCols], const Slots &s, int i, int slot, int end, int skip,
                          const float *w, int lane)
{
    constexpr int kPitch = kStageFloats / kCols;
    for (; slot < end; slot++) {
        const int count = s.count[i * s.slots + slot];
        const Event *from = s.event + (int64_t)i * s.pitch + (int64_t)slot * s.slice;
        for (int e = skip + lane; e < count; e += kWarp) {
            const Event event = from[e];
#pragma unroll
            for (int c = 0; c < kCols; c++) acc[c] = fmaf(event.v, w[event.k + c * kPitch], acc[c]);
        }
        skip = max(0, skip - count);
    }
}

/* The stages of a block: columns [first, first + kCols), then those `step` further; of each all its segments.
 */
struct Stages {
    float *memory;
    Barriers *barriers;
    int first, step, count;
};

/* Copies W into the stages, each once it is empty. One warp. */
template <Copy kCopy, int kCols>
__device__ inline void copy_columns(const StreamArgs &a, const Stages &s, int lane)
{
    for (int x = 0, j = s.first, segment = 0; x < s.count; x++) {
        const int stage = x % kStages, round = x / kStages;
        if (round > 0) barrier_wait(&s.barriers->empty[stage], (round - 1) & 1);
        fetch<kCopy, kCols>(s.memory + stage * kStageFloats, a, j, min(kCols, a.p.n - j), segment * a.segment,
                            &s.barriers->full[stage], lane);
        if (++segment == a.segments) segment = 0, j += s.step;
    }
}

/* The rows whose events a warp holds in registers: row + r * apart. */
template <int kRows> struct HeldRows {
    Event mine[kRows][kTurns];
    int count[kRows];  /* 0 where there is no such row */
    float *out[kRows]; /* of the column that this lane stores, in the stage that comes */
    int row, apart;
};

/* Multiplies the held rows with the columns of a stage and moves on to the next; this lane stores `column`.
 */
template <int kCols, int kRows>
__device__ inline void multiply_held(const StreamArgs &a, HeldRows<kRows> &held, const float *w, int column,
                                     bool stores, int64_t step, float alpha, float beta, int lane)
{
    float sum[kRows];
#pragma unroll
    for (int r = 0; r < kRows; r++) {
        float acc[kCols] = {};
        add_held(acc, held.mine[r], held.count[r], w, lane);
        if (held.count[r] > kTurns * kWarp)
            add_slots(acc, a.from, held.row + r * held.apart, 0, a.from.slots, kTurns * kWarp, w, lane);
        sum[r] = reduce_columns(acc, lane);
    }
#pragma unroll
    for (int r = 0; r < kRows; r++) {
        const int i = held.row + r * held.apart;
        if (stores && i < a.p.m)
            store_with_epilogue(held.out[r], sum[r], alpha, beta, a.p.epilogue, i, column);
        held.out[r] += step;
    }
}

/* Of each row the sums over the segments of a column so far: of the group in turn, and of those before it. */
struct SegmentSums {
    float *group, *groups;
};

/* Adds this segment's sum of row i to those before it, in groups; returns whether that was the last segment,
 * and the sum is whole. */
__device__ inline bool add_segment(const StreamArgs &a, const SegmentSums &so_far, int i, int segment,
                                   float &sum)
{
    if (segment % kGroup) sum += so_far.group[i];
    const bool last = segment + 1 == a.segments;
    if ((segment + 1) % kGroup && !last) {
        so_far.group[i] = sum;
        return false;
    }
    if (segment >= kGroup) sum += so_far.groups[i];
    if (!last) so_far.groups[i] = sum;
    return last;
}

/* out := beta out + alpha S W,  W[k, n] contiguous along k, S[m, k] packed in slots.
 *
 * Mapping   one block per multiprocessor; a stage holds kCols columns of W, or one segment of a longer one;
 *           stages go round the blocks. One warp copies. Each of the others owns kRows rows, then more in
 *           turn: lane = event, in registers where possible, the lanes summed at the end of each column.
 * Layout    any; 16-byte aligned columns are copied by the bulk engine (compute 9.0), others by lanes.
 * Bytes     W once; the events once per block, those that no register holds once per stage.
 * Order     events of a lane in ascending k, lanes as a tree, segments ascending in groups of 8: no atomics.
 * Limit     DRAM: 31.7 us, packing included, for 50 x 5000 x 5000, 1 %; 27.9 us with next to no events: 100
 *           MB at 4.1 TB/s behind 3.5 us of start. From 100 rows on the sums over the lanes: 33 us for 128 x
 *           4096 x 4096, 0.1 %, which streams in 20 (H200, 2026-11-21). */
template <Copy kCopy, int kCols, int kRows>
__global__ __launch_bounds__((kMostConsumers + 1) * kWarp,
                             1) void event_stream(const __grid_constant__ StreamArgs a)
{
    LACUNA_DYNAMIC_SHARED(float4, memory);
    __shared__ Barriers barriers;
    const GemmArgs &p = a.p;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int first = blockIdx.x * kCols, step = a.blocks * kCols;
    const Stages stages = {(float *)memory, &barriers, first, step,
                           (int)ceil_div(p.n - first, step) * a.segments};
    if (threadIdx.x < kStages) {
        barrier_init(&barriers.full[threadIdx.x], kCopy == kBulk ? 1 : kWarp);
        barrier_init(&barriers.empty[threadIdx.x], a.consumers);
        bulk_copy_fence();
    }
    __syncthreads();
    dependency_wait();
    if (warp == a.consumers) {
        copy_columns<kCopy, kCols>(a, stages, lane);
        return;
    }

    const float alpha = load_scalar(p.alpha), beta = load_scalar(p.beta);
    const bool whole = a.segments == 1, owner = lane % (kWarp / kCols) == 0;
    int column = first + lane / (kWarp / kCols);
    HeldRows<kRows> held;
    held.row = warp, held.apart = a.consumers;
#pragma unroll
    for (int r = 0; r < kRows; r++) {
        const int i = warp + r * a.consumers;
        held.count[r] = whole && i < p.m ? hold_events(a.from, i, held.mine[r], lane) : 0;
        held.out[r] = p.out + i * p.rs + column * p.cs;
    }
    float *const carry = a.carry + (int64_t)blockIdx.x * 2 * p.m;
    const SegmentSums so_far = {carry, carry + p.m};
    for (int x = 0, segment = 0; x < stages.count; x++) {
        const int stage = x % kStages;
        barrier_wait(&barriers.full[stage], x / kStages & 1);
        const float *w = stages.memory + stage * kStageFloats;
        const bool stores = owner && column < p.n;
        if (whole) multiply_held<kCols>(a, held, w, column, stores, step * p.cs, alpha, beta, lane);
        for (int i = warp + (whole ? kRows * a.consumers : 0); i < p.m; i += a.consumers) {
            float acc[kCols] = {};
            const int end = whole ? a.from.slots : segment + 1; /* else a slot is a segment */
            add_slots(acc, a.from, i, segment, end, 0, w - segment * a.segment, lane);
            float sum = reduce_columns(acc, lane);
            if (stores && add_segment(a, so_far, i, segment, sum)) store_sum(p, i, column, sum, alpha, beta);
        }
        __syncwarp();
        if (lane == 0) barrier_arrive(&barriers.empty[stage]);
        if (++segment == a.segments) segment = 0, column += step;
    }
}

template <Copy kCopy, int kCols> lac_status_t launch_rows(StreamArgs a, cudaStream_t stream)
{
    a.blocks = (int)min<int64_t>(current_device().sms, ceil_div(a.p.n, kCols));
    const Launch l = {dim3(unsigned(a.blocks)),
                      dim3(unsigned((a.consumers + 1) * kWarp)),
                      sizeof(float) * kStages * kStageFloats,
                      1,
                      true,
                      stream};
    return a.p.m > a.consumers ? launch(event_stream<kCopy, kCols, kMostRows>, l, a)
                               : launch(event_stream<kCopy, kCols, 1>, l, a);
}

template <Copy kCopy> lac_status_t launch_columns(const StreamArgs &a, cudaStream_t stream)
{
    if (a.p.k <= kStageFloats / 4) return launch_rows<kCopy, 4>(a, stream);
    if (a.p.k <= kStageFloats / 2) return launch_rows<kCopy, 2>(a, stream);
    return launch_rows<kCopy, 1>(a, stream);
}

/* Whether a block can have its stages; where not, the slots are gathered, whose workspace is a part of this.
 */
bool has_room()
{
    return current_device().shared >= (int)(sizeof(float) * kStages * kStageFloats + sizeof(Barriers));
}

/* k per slot. Short slots, packed by many blocks at once, where registers will hold most events of a row;
 * else one slot per stage, which is quicker to read again. */
int64_t slice_of(int64_t m, int64_t k, double density)
{
    const bool held = m <= kMostRows * kMostConsumers && (double)k * density <= 0.8 * kTurns * kWarp;
    if (k > kStageFloats) return kStageFloats;
    return round_up(held ? ceil_div(k, kWarp) : k, kChunk);
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_event_stream_bytes(int64_t m, int64_t k)
{
    using namespace lacuna;
    return round_up(slots_bytes(m, k), 256) + 2 * (int64_t)sizeof(float) * m * current_device().sms;
}

extern "C" lac_status_t lac_cuda_event_stream(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                              void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!extents_fit(p)) return LAC_ERR_EXTENT;
    if (p->order != LAC_CUDA_COLS) return LAC_ERR_VALUE;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    if (p->k == 0) return LAC_ERR_EXTENT;
    if (!has_room()) return lac_cuda_event_slots(p, s, nullptr, workspace, stream);
    const int slice = (int)slice_of(p->m, p->k, s->density);
    StreamArgs a = {};
    a.p = make_gemm_args(p);
    a.from = make_slots(workspace, p->m, p->k, slice);
    a.consumers = (int)ceil_div(p->m, ceil_div(p->m, kMostConsumers));
    a.segment = min((int)p->k, kStageFloats), a.segments = (int)ceil_div(p->k, kStageFloats);
    a.carry = (float *)((char *)workspace + round_up(slots_bytes(p->m, p->k), 256));
    if (s->data) {
        const lac_status_t status = slice < p->k && p->k <= kStageFloats
                                        ? pack_chunks(s, p->m, p->k, a.from, (cudaStream_t)stream)
                                        : pack_slots(s, p->m, p->k, a.from, true, (cudaStream_t)stream);
        if (status != LAC_OK) return status;
    }
    const bool quads = p->k % 4 == 0 && p->ldw % 4 == 0 && aligned(p->w, 16);
    if (quads && current_device().hopper) return launch_columns<kBulk>(a, (cudaStream_t)stream);
    return quads ? launch_columns<kQuads>(a, (cudaStream_t)stream)
                 : launch_columns<kSingles>(a, (cudaStream_t)stream);
}
