/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Makes steps of a CSR matrix: rows dealt out to groups of equal work, their entries put into order of k. */
#include "schedule.cuh"

#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>

#include <limits.h>

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kWindow = 4096;             /* k whose entries are put into order together     */
constexpr int kMine = kWindow / kThreads; /* of them, of a thread                            */
constexpr int kChunkThreads = kStepChunk / kMine;
constexpr int kScatterThreads = 1024;
constexpr int kWarpRows = kStepRows / kWarps;
static_assert(kStepChunk % kMine == 0 && kWarp % kChunkThreads == 0, "a chunk is some lanes of one warp");
constexpr int kPerWord = 32 / kStepRows; /* k whose sets of rows share a word */
constexpr uint32_t kSet = (1u << kStepRows) - 1;
static_assert(32 % kStepRows == 0 && kMine % kPerWord == 0, "sets fill words, and threads have whole words");

struct ScheduleArgs {
    int m, k, groups, chunks;
    lac_cuda_csr_t s;
    int *length, *source, *sorted; /* of each row; 0, 1, ..; the rows, longest first */
    StepArrays to;
};

__global__ __launch_bounds__(kThreads) void measure_rows(const ScheduleArgs a)
{
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i >= a.m) return;
    a.length[i] = (int)(a.s.ptr[i + 1] - a.s.ptr[i]);
    a.source[i] = i;
}

/* How many of the first tiles, which have the longest rows, have much more steps than an average one. One
 * thread, which sees what its block has written. */
__device__ inline int early_tiles(const ScheduleArgs &a, int batches)
{
    const int tiles = a.groups / kStepWarps;
    int early = 0;
    for (; early < kEarlyMost && early + 1 < tiles; early++) {
        const int64_t mine = a.to.first[(early + 1) * kStepWarps] - a.to.first[early * kStepWarps];
        if (2 * mine * tiles <= 3 * (int64_t)batches) break;
    }
    return early;
}

/* Deals the rows out to the groups, forth and back, and lays the groups' batches one behind the other. */
__global__ __launch_bounds__(kScatterThreads) void scatter_groups(const ScheduleArgs a)
{
    typedef cub::BlockScan<int, kScatterThreads> Scan;
    __shared__ typename Scan::TempStorage scratch;
    int base = 0;
    for (int g0 = 0; g0 < a.groups; g0 += kScatterThreads) {
        const int g = g0 + threadIdx.x;
        int64_t steps = 0;
        for (int r = 0; r < kStepRows && g < a.groups; r++) {
            const int64_t q = (int64_t)r * a.groups + (r % 2 ? a.groups - 1 - g : g);
            const int i = q < a.m ? a.sorted[q] : -1;
            a.to.row[(int64_t)g * kStepRows + r] = i;
            if (i >= 0) steps += a.s.ptr[i + 1] - a.s.ptr[i];
        }
        const int batches = g < a.groups ? (int)ceil_div(steps + a.chunks + 1, kBatch - 1) : 0;
        int before, all;
        Scan(scratch).ExclusiveSum(batches, before, all);
        if (g < a.groups) a.to.first[g] = base + before;
        base += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) *a.to.early = early_tiles(a, base);
}

/* Step number `at` of a group: its value beside it, what it does in the step before. */
__device__ inline void put_step(Step *step, int64_t at, uint32_t what, float value)
{
    const int64_t slot = at / (kBatch - 1) * kBatch + at % (kBatch - 1);
    step[slot].value = value;
    if (at > 0) step[slot - 1].next = what;
}

/* Remembers a chunk's first step where parts of k begin with that chunk. */
__device__ inline void note_parts(const ScheduleArgs &a, int64_t group, int chunk, int64_t at)
{
    for (int part = 0; part < kStepParts; part++)
        if (part_chunk(part, a.chunks) == chunk) a.to.entry[group * kStepParts + part] = (int)at;
}

/* A row's entries below `limit`, from `p` on: calls each(p, k) and returns the first one that is not. */
template <typename Each>
__device__ inline int64_t walk_row(const ScheduleArgs &a, int64_t p, int64_t end, int64_t limit, int lane,
                                   Each each)
{
    while (p < end) {
        const int k = p + lane < end ? a.s.idx[p + lane] : INT_MAX;
        const bool inside = k < limit;
        if (inside) each(p + lane, k);
        const int count = __popc(__ballot_sync(kFull, inside));
        p += count;
        if (count < kWarp) break;
    }
    return p;
}

/* One block per group. For each k of a window a set of the rows that have an entry there; from their sizes
 * the place of each entry. Deterministic: the sets do not depend on who came first. */
__global__ __launch_bounds__(kThreads) void make_schedule(const ScheduleArgs a)
{
    typedef cub::BlockScan<int, kThreads> Scan;
    __shared__ typename Scan::TempStorage scratch;
    __shared__ uint32_t rows_of[kWindow / kPerWord];
    __shared__ uint32_t place[kWindow]; /* of the first entry of a k; the top bit: the other registers */
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int64_t group = blockIdx.x;
    Step *step = a.to.step + (int64_t)a.to.first[group] * kBatch;
    int64_t cursor[kWarpRows], end[kWarpRows], base = 0;
#pragma unroll
    for (int r = 0; r < kWarpRows; r++) {
        const int i = a.to.row[group * kStepRows + warp * kWarpRows + r];
        cursor[r] = i < 0 ? 0 : a.s.ptr[i], end[r] = i < 0 ? 0 : a.s.ptr[i + 1];
    }
    for (int64_t k0 = 0; k0 < (int64_t)a.chunks * kStepChunk; k0 += kWindow) {
        for (int w = threadIdx.x; w < kWindow / kPerWord; w += kThreads) rows_of[w] = 0;
        __syncthreads();
        int64_t begin[kWarpRows];
#pragma unroll
        for (int r = 0; r < kWarpRows; r++) {
            begin[r] = cursor[r];
            cursor[r] = walk_row(a, cursor[r], end[r], k0 + kWindow, lane, [&](int64_t, int k) {
                const int at = (int)(k - k0);
                atomicOr(&rows_of[at / kPerWord], 1u << (warp * kWarpRows + r + kStepRows * (at % kPerWord)));
            });
        }
        __syncthreads();

        const int mine = threadIdx.x * kMine;
        const int64_t chunk = (k0 + mine) / kStepChunk;
        const bool opens = threadIdx.x % kChunkThreads == 0 && chunk < a.chunks;
        int count = opens, active = 0;
#pragma unroll
        for (int w = 0; w < kMine / kPerWord; w++) {
            const uint32_t sets = rows_of[mine / kPerWord + w];
            count += __popc(sets);
#pragma unroll
            for (int j = 0; j < kPerWord; j++) active += (sets >> j * kStepRows & kSet) != 0;
        }
        active = inclusive_sum<kChunkThreads>(active, lane);
        int other = __shfl_up_sync(kFull, active, 1, kChunkThreads);
        if (threadIdx.x % kChunkThreads == 0) other = 0;
        int at, all;
        Scan(scratch).ExclusiveSum(count, at, all);
        if (opens) {
            note_parts(a, group, (int)chunk, base + at);
            put_step(step, base + at++, kStepChunkOn, 0.0f);
        }
#pragma unroll
        for (int j = 0; j < kMine; j++) {
            const uint32_t set = rows_of[(mine + j) / kPerWord] >> kStepRows * (j % kPerWord) & kSet;
            place[mine + j] = (uint32_t)at | (uint32_t)(other & 1) << 31;
            at += __popc(set), other += set != 0;
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < kWarpRows; r++)
            walk_row(a, begin[r], cursor[r], k0 + kWindow, lane, [&](int64_t p, int k) {
                const int in = (int)(k - k0), row = warp * kWarpRows + r;
                const uint32_t set = rows_of[in / kPerWord] >> kStepRows * (in % kPerWord) & kSet;
                const uint32_t before = set & ((1u << row) - 1), where = place[in];
                const uint32_t what = ((uint32_t)row + (where >> 31 ? kStepOther : 0)) |
                                      (uint32_t)(k % kStepChunk) * kStepColumns * 4 |
                                      (before ? 0 : kStepFresh);
                put_step(step, base + (where & ~(1u << 31)) + __popc(before), what,
                         a.s.val ? a.s.val[p] : 1.0f);
            });
        base += all;
        __syncthreads();
    }
    /* The end, what fetches the next batch in each, and zeros behind: what a warp fetches is written. */
    if (threadIdx.x == 0) put_step(step, base, kStepEnd, 0.0f);
    const int64_t batches = base / (kBatch - 1) + 1;
    for (int64_t b = threadIdx.x; b + 1 < batches; b += kThreads) {
        step[b * kBatch + kBatch - 2].next = kStepFetch;
        step[b * kBatch + kBatch - 1].value = 0.0f;
    }
    const int64_t last = (batches - 1) * kBatch + base % (kBatch - 1);
    if (threadIdx.x == 0) step[last].next = 0;
    const int64_t spare = group + 1 == a.groups ? 2 * kBatch : 0;
    for (int64_t q = last + 1 + threadIdx.x; q < batches * kBatch + spare; q += kThreads) step[q] = {0, 0.0f};
}

size_t sort_bytes(int64_t m)
{
    size_t bytes = 0;
    cub::DeviceRadixSort::SortPairsDescending(nullptr, bytes, (const int *)nullptr, (int *)nullptr,
                                              (const int *)nullptr, (int *)nullptr, (int)m);
    return bytes;
}

int64_t array_bytes(int64_t m)
{
    return round_up(4 * m, 256);
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_schedule_bytes(int64_t m, int64_t k, int64_t nnz)
{
    using namespace lacuna;
    const int64_t groups = step_tiles(m) * kStepWarps, chunks = ceil_div(k, kStepChunk);
    const int64_t batches = (nnz + groups * (chunks + 1)) / (kBatch - 1) + groups + 2;
    return (int64_t)((char *)step_arrays(nullptr, m).step - (char *)nullptr) +
           batches * kBatch * (int64_t)sizeof(Step);
}

extern "C" int64_t lac_cuda_schedule_scratch(int64_t m)
{
    using namespace lacuna;
    return 4 * array_bytes(m) + round_up((int64_t)sort_bytes(m), 256);
}

extern "C" lac_status_t lac_cuda_schedule(int64_t m, int64_t k, const lac_cuda_csr_t *s, void *steps,
                                          void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(m) || !fits(k) || !fits(step_tiles(m) * kStepWarps)) return LAC_ERR_EXTENT;
    if (m == 0) return LAC_OK;
    char *at = (char *)workspace;
    int *sorted_length = (int *)(at + 3 * array_bytes(m));
    const ScheduleArgs a = {(int)m,
                            (int)k,
                            (int)step_tiles(m) * kStepWarps,
                            (int)ceil_div(k, kStepChunk),
                            *s,
                            (int *)at,
                            (int *)(at + array_bytes(m)),
                            (int *)(at + 2 * array_bytes(m)),
                            step_arrays(steps, m)};
    const auto wide = [&](int64_t blocks, int threads) {
        return Launch{dim3(unsigned(blocks)), dim3(unsigned(threads)), 0, 1, false, (cudaStream_t)stream};
    };
    lac_status_t status = launch(measure_rows, wide(ceil_div(m, kThreads), kThreads), a);
    size_t bytes = sort_bytes(m);
    if (status == LAC_OK && cub::DeviceRadixSort::SortPairsDescending(
                                at + 4 * array_bytes(m), bytes, a.length, sorted_length, a.source, a.sorted,
                                (int)m, 0, 31, (cudaStream_t)stream) != cudaSuccess)
        status = LAC_ERR_VENDOR;
    if (status == LAC_OK) status = launch(scatter_groups, wide(1, kScatterThreads), a);
    return status != LAC_OK ? status : launch(make_schedule, wide(a.groups, kThreads), a);
}
