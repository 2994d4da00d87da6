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
constexpr int kResident = 5; /* blocks of a multiprocessor that make steps: 48 registers a thread */
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
    const RowEntries row = entries_of(a.s, i);
    a.length[i] = (int)(row.end - row.begin);
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
            const RowEntries row = i >= 0 ? entries_of(a.s, i) : RowEntries{0, 0};
            steps += row.end - row.begin;
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

/* What a block knows of the k of its window. */
struct Window {
    uint32_t
        rows_of[kWindow / kPerWord]; /* for each k the set of rows with an entry there, in kStepRows bits */
    uint32_t slot[kWindow];          /* of the first step of a k; the top bit: it uses the other registers */
};
constexpr uint32_t kOther = 1u << 31; /* of a slot */

__device__ inline uint32_t set_of(const Window &window, int in)
{
    return window.rows_of[in / kPerWord] >> kStepRows * (in % kPerWord) & kSet;
}

/* The entries of this warp's rows that no window has had yet. */
struct Cursors {
    int64_t next[kWarpRows], end[kWarpRows];
};

__device__ inline Cursors open_rows(const ScheduleArgs &a, int64_t group, int warp)
{
    Cursors c;
#pragma unroll
    for (int r = 0; r < kWarpRows; r++) {
        const int i = a.to.row[group * kStepRows + warp * kWarpRows + r];
        const RowEntries row = i < 0 ? RowEntries{0, 0} : entries_of(a.s, i);
        c.next[r] = row.begin, c.end[r] = row.end;
    }
    return c;
}

/* Collects the sets of the window from k0 on, and moves the cursors behind it. All threads. */
__device__ inline void mark_window(const ScheduleArgs &a, int64_t k0, Cursors &cursors, Window &window)
{
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    for (int w = threadIdx.x; w < kWindow / kPerWord; w += kThreads) window.rows_of[w] = 0;
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kWarpRows; r++)
        cursors.next[r] =
            walk_row(a, cursors.next[r], cursors.end[r], k0 + kWindow, lane, [&](int64_t, int k) {
                const int in = (int)(k - k0);
                atomicOr(&window.rows_of[in / kPerWord],
                         1u << (warp * kWarpRows + r + kStepRows * (in % kPerWord)));
            });
    __syncthreads();
}

/* Gives the steps of the window their slots, from `base` on: a thread kMine k, of which the first of a chunk
 * has the chunk's own step before it. Returns how many steps there are. All threads. */
__device__ inline int number_window(const ScheduleArgs &a, int64_t group, Step *step, int64_t k0,
                                    int64_t base, Window &window)
{
    typedef cub::BlockScan<int, kThreads> Scan;
    __shared__ typename Scan::TempStorage scratch;
    const int lane = threadIdx.x % kWarp, mine = threadIdx.x * kMine;
    const int64_t chunk = (k0 + mine) / kStepChunk;
    const bool first = threadIdx.x % kChunkThreads == 0, opens = first && chunk < a.chunks;
    int steps = opens, active = 0;
#pragma unroll
    for (int w = 0; w < kMine / kPerWord; w++) {
        const uint32_t sets = window.rows_of[mine / kPerWord + w];
        steps += __popc(sets);
#pragma unroll
        for (int j = 0; j < kPerWord; j++) active += (sets >> j * kStepRows & kSet) != 0;
    }
    active = inclusive_sum<kChunkThreads>(active, lane);
    int other = __shfl_up_sync(kFull, active, 1, kChunkThreads); /* active k of the chunk before these */
    if (first) other = 0;
    int at, all;
    Scan(scratch).ExclusiveSum(steps, at, all);
    if (opens) {
        note_parts(a, group, (int)chunk, base + at);
        put_step(step, base + at++, kStepChunkOn, 0.0f);
    }
#pragma unroll
    for (int j = 0; j < kMine; j++) {
        const uint32_t set = set_of(window, mine + j);
        window.slot[mine + j] = (uint32_t)at | (other & 1 ? kOther : 0);
        at += __popc(set);
        other += set != 0;
    }
    __syncthreads();
    return all;
}

/* Writes the steps of the window's entries, which lie from `begin` on up to the cursors. All threads. */
__device__ inline void write_window(const ScheduleArgs &a, Step *step, int64_t k0, int64_t base,
                                    const Cursors &begin, const Cursors &cursors, const Window &window)
{
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
    for (int r = 0; r < kWarpRows; r++)
        walk_row(a, begin.next[r], cursors.next[r], k0 + kWindow, lane, [&](int64_t p, int k) {
            const int in = (int)(k - k0), row = warp * kWarpRows + r;
            const uint32_t before = set_of(window, in) & ((1u << row) - 1), slot = window.slot[in];
            const uint32_t what = ((uint32_t)row + (slot & kOther ? kStepOther : 0)) |
                                  (uint32_t)(k % kStepChunk) * kStepColumns * 4 | (before ? 0 : kStepFresh);
            put_step(step, base + (slot & ~kOther) + __popc(before), what, a.s.val ? a.s.val[p] : 1.0f);
        });
}

/* Ends a group of `steps` steps: the end, what fetches the next batch in each, and zeros behind, since what a
 * warp fetches is to be written. All threads. */
__device__ inline void close_group(Step *step, int64_t steps, bool last_group)
{
    if (threadIdx.x == 0) put_step(step, steps, kStepEnd, 0.0f);
    const int64_t batches = steps / (kBatch - 1) + 1;
    for (int64_t b = threadIdx.x; b + 1 < batches; b += kThreads) {
        step[b * kBatch + kBatch - 2].next = kStepFetch;
        step[b * kBatch + kBatch - 1].value = 0.0f;
    }
    const int64_t last = (batches - 1) * kBatch + steps % (kBatch - 1);
    if (threadIdx.x == 0) step[last].next = 0;
    const int64_t spare = last_group ? 2 * kBatch : 0;
    for (int64_t q = last + 1 + threadIdx.x; q < batches * kBatch + spare; q += kThreads) step[q] = {0, 0.0f};
}

/* One block per group, window by window of k: the sets of rows that have an entry at each k, from their sizes
 * the slot of each entry, and the steps. Deterministic: the sets do not depend on who came first. */
__global__ __launch_bounds__(kThreads, kResident) void make_schedule(const ScheduleArgs a)
{
    __shared__ Window window;
    const int64_t group = blockIdx.x;
    Step *step = a.to.step + (int64_t)a.to.first[group] * kBatch;
    Cursors cursors = open_rows(a, group, threadIdx.x / kWarp);
    int64_t base = 0;
    for (int64_t k0 = 0; k0 < (int64_t)a.chunks * kStepChunk; k0 += kWindow) {
        const Cursors begin = cursors;
        mark_window(a, k0, cursors, window);
        const int steps = number_window(a, group, step, k0, base, window);
        write_window(a, step, k0, base, begin, cursors, window);
        base += steps;
        __syncthreads();
    }
    close_group(step, base, group + 1 == a.groups);
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
