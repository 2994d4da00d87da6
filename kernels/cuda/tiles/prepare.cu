/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The lists of steps of a for the product by tiles. */
#include "tiles.cuh"

namespace lacuna
{

namespace
{

/* Which k are active in each row group of a tile, and the tile's steps by sets of row groups. */

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kSpan = 128;                         /* k whose activity a block finds   */
constexpr int kTogether = 2;                       /* row groups                         */
constexpr int kMarked = kTogether * kRowGroupRows; /* rows                             */
static_assert(kSpan / kWarp * kTogether <= kWarps, "whole words, a warp each");

/* How a lies, along k or along the rows, and whether a thread reads one element at a time or four. */
enum Layout { kByOne, kByFour, kAcross, kAcrossByFour };

/* any[row group][k] := 1 where an element of this thread's part of the rows is not zero. All loads are under
 * way together. */
template <typename E>
__device__ inline void mark_by_four(const PackArgs<E> &g, int row0, int64_t k0, int (*any)[kSpan])
{
    constexpr int kLoads = kMarked / kWarps;
    const int at = threadIdx.x % kWarp * 4, warp = threadIdx.x / kWarp;
    Loaded<true, E> x[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; u++) {
        const int row = row0 + warp + u * kWarps;
        const bool inside = row < g.m && k0 + at < g.k; /* k is a multiple of four */
        x[u].load(g.a + row * g.ars + k0 + at, 0, inside ? 4 : 0);
    }
#pragma unroll
    for (int q = 0; q < kTogether; q++) {
        bool active[4] = {};
#pragma unroll
        for (int u = q * kLoads / kTogether; u < (q + 1) * kLoads / kTogether; u++)
#pragma unroll
            for (int i = 0; i < 4; i++) active[i] |= x[u].at(i) != 0.0f;
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (active[i]) any[q][at + i] = 1;
    }
}

/* The same where a lies along its rows; m is a multiple of four. */
template <typename E>
__device__ inline void mark_across_by_four(const PackArgs<E> &g, int row0, int64_t k0, int (*any)[kSpan])
{
    constexpr int kFours = kMarked / 4, kAtOnce = kThreads / kFours, kLoads = kSpan / kAtOnce;
    const int at = (int)threadIdx.x % kFours * 4, row = row0 + at;
    Loaded<true, E> x[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; u++) {
        const int64_t k = k0 + threadIdx.x / kFours + u * kAtOnce;
        x[u].load(g.a + row + k * g.acs, 0, row < g.m && k < g.k ? 4 : 0);
    }
#pragma unroll
    for (int u = 0; u < kLoads; u++) {
        bool active = false;
#pragma unroll
        for (int i = 0; i < 4; i++) active |= x[u].at(i) != 0.0f;
        if (active) any[at / kRowGroupRows][(int)threadIdx.x / kFours + u * kAtOnce] = 1;
    }
}

template <bool kAlongRows, typename E>
__device__ inline void mark_by_one(const PackArgs<E> &g, int row0, int64_t k0, int (*any)[kSpan])
{
    constexpr int kInner = kAlongRows ? kMarked : kSpan, kAtOnce = 16, kTurns = kMarked * kSpan / kThreads;
#pragma unroll
    for (int turn = 0; turn < kTurns; turn += kAtOnce) {
        E x[kAtOnce];
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            const int e = (turn + u) * kThreads + threadIdx.x, inner = e % kInner, outer = e / kInner;
            const int row = row0 + (kAlongRows ? inner : outer);
            const int64_t k = k0 + (kAlongRows ? outer : inner);
            x[u] = row < g.m && k < g.k ? load_read_only(g.a + row * g.ars + k * g.acs) : E(0);
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            const int e = (turn + u) * kThreads + threadIdx.x, inner = e % kInner, outer = e / kInner;
            if (x[u] != E(0))
                any[(kAlongRows ? inner : outer) / kRowGroupRows][kAlongRows ? outer : inner] = 1;
        }
    }
}

/* Counts what both row groups of a pair have, of elements of two bytes; a warp. */
__device__ inline void count_marked(const TilesPacked &s, int pair, const int (&any)[kTogether][kSpan])
{
    static_assert(kTogether == 2 && kWholeStep == 2 * kWarp, "a pair of row groups; two words are a step");
    const int lane = threadIdx.x % kWarp;
    unsigned listed = 0, whole = 0;
#pragma unroll
    for (int k = 0; k < kSpan; k += kWholeStep) {
        const unsigned low = __ballot_sync(kFull, any[0][k + lane] | any[1][k + lane]),
                       high = __ballot_sync(kFull, any[0][k + kWarp + lane] | any[1][k + kWarp + lane]);
        listed += (unsigned)(__popc(low) + __popc(high));
        if (low | high) whole += kWholeStep;
    }
    if (lane > 0 || !listed) return;
    atomicAdd(s.k_counts, (unsigned long long)whole << 32 | listed);
    atomicAdd(s.whole_of_tile + pair / (kRowGroups / kTogether), (int)whole);
}

/* active[row group][k] := any a[row, k] != 0 among its rows. Grid (spans of k, pairs of row groups).
 * Bytes: a once. */
template <typename E, Layout kLayout>
__global__ __launch_bounds__(kThreads) void mark_active(const __grid_constant__ PackArgs<E> g)
{
    __shared__ int any[kTogether][kSpan];
    const int64_t k0 = (int64_t)blockIdx.x * kSpan;
    const int row0 = (int)blockIdx.y * kMarked, warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    if (threadIdx.x < kTogether * kSpan) any[threadIdx.x / kSpan][threadIdx.x % kSpan] = 0;
    if (!g.beside) dependency_wait();
    dependents_launch();
    __syncthreads();
    if (kLayout == kByFour)
        mark_by_four(g, row0, k0, any);
    else if (kLayout == kAcrossByFour)
        mark_across_by_four(g, row0, k0, any);
    else
        mark_by_one<kLayout == kAcross>(g, row0, k0, any);
    __syncthreads();
    if (g.beside) dependency_wait(); /* what waits for this one waits for those before it, too */
    if (g.s.k_counts && warp == 0) count_marked(g.s, (int)blockIdx.y, any);
    if (warp >= kSpan / kWarp * kTogether) return;
    const int q = warp / (kSpan / kWarp), part = warp % (kSpan / kWarp);
    const int64_t word = k0 / 32 + part;
    const unsigned bits = __ballot_sync(kFull, any[q][part * kWarp + lane]);
    if (lane == 0 && word < g.s.words)
        g.s.active[((int64_t)blockIdx.y * kTogether + q) * g.s.words + word] = bits;
}

/* Sets of row groups as bits. What is left of a set's k goes to a set with one row group more, of neighbours
 * where that can be; those that go somewhere come before those that they go to. */
#define LACUNA_SET(set) set,
__device__ constexpr int kInOrder[kAll] = {LACUNA_SETS(LACUNA_SET)};
#undef LACUNA_SET
__device__ constexpr int kNext[kSets] = {0, 3, 3, 7, 12, 13, 14, 15, 12, 11, 11, 15, 14, 15, 15, 15};

constexpr int kListThreads = 1024, kListWarps = kListThreads / kWarp;
static_assert(kSets <= kListWarps && kListWarps == kWarp, "a warp for each set; a lane for each warp");

/* Of each set, in the shared memory of one block. */
struct Sets {
    int next[kSets];               /* where what is left goes                                    */
    int left_from[kSets];          /* index in that list of the first that is left               */
    int steps[kSets];              /* of its list                                                */
    int first[kSets];              /* of its steps among the tile's                              */
    int before[kSets][kRowGroups]; /* steps of a row group in front of them                        */
    int last;                      /* columns with a k in the last step of all row groups; 0: whole */
    int all_steps, row_group_steps[kRowGroups];
};

/* The lists' lengths and where they lie, all row groups' last. One thread. */
__device__ inline void arrange_sets(Sets &s, const int (&count)[kSets])
{
    int total[kSets], steps = 0, of_row_group[kRowGroups] = {};
#pragma unroll
    for (int set = 0; set < kSets; set++) total[set] = count[set];
#pragma unroll
    for (int i = 0; i < kAll; i++) {
        const int set = kInOrder[i], next = kNext[set],
                  mine = set == kAll ? (int)ceil_div(total[set], kStep) : total[set] / kStep;
        s.next[set] = next, s.left_from[set] = total[next], s.steps[set] = mine, s.first[set] = steps;
        if (set != kAll) total[next] += total[set] % kStep;
        steps += mine;
#pragma unroll
        for (int q = 0; q < kRowGroups; q++) {
            s.before[set][q] = of_row_group[q];
            if (set >> q & 1) of_row_group[q] += mine;
        }
    }
    s.last = total[kAll] % kStep, s.all_steps = steps;
#pragma unroll
    for (int q = 0; q < kRowGroups; q++) s.row_group_steps[q] = of_row_group[q];
}

/* Place among the tile's of the k that is `rank`th of its set. */
__device__ inline int slot_in(const Sets &s, int set, int rank)
{
    while (set != kAll && rank >= s.steps[set] * kStep)
        rank += s.left_from[set] - s.steps[set] * kStep, set = s.next[set];
    return s.first[set] * kStep + rank;
}

/* A word of each row group: a bit for each of 32 k. */
struct Words {
    uint32_t of[kRowGroups];
    __device__ Words(const TilesPacked &g, int tile, int word)
    {
#pragma unroll
        for (int q = 0; q < kRowGroups; q++)
            of[q] = g.active[((int64_t)tile * kRowGroups + q) * g.words + word];
#pragma unroll
        for (int q = 0; q < kRowGroups && g.pairs; q += 2) of[q] = of[q + 1] = of[q] | of[q + 1];
    }
    /* The k whose set this is. */
    __device__ uint32_t in(int set) const
    {
        uint32_t all = kFull;
#pragma unroll
        for (int q = 0; q < kRowGroups; q++) all &= set >> q & 1 ? of[q] : ~of[q];
        return all;
    }
    __device__ int set_of(int k) const
    {
        int set = 0;
#pragma unroll
        for (int q = 0; q < kRowGroups; q++) set |= (int)(of[q] >> k & 1u) << q;
        return set;
    }
};

/* The tile's rows of b, step after step: a warp takes the words from begin to end, a lane a k, and lane l
 * knows how many k with set l came before. */
__device__ inline void write_rows(const TilesPacked &g, int tile, const Sets &s, int begin, int end,
                                  int before)
{
    const int lane = threadIdx.x % kWarp;
    int *rows = g.rows + (int64_t)tile * g.lines * kStep;
#pragma unroll 4
    for (int w = begin; w < end; w++) {
        const Words words(g, tile, w);
        const int set = words.set_of(lane),
                  rank = __shfl_sync(kFull, before, set) + __popc(words.in(set)&lanes_below(lane));
        if (set) rows[slot_in(s, set, rank)] = w * 32 + lane;
        before += __popc(words.in(lane % kSets));
    }
}

/* Where each row group's splits of a step lie; a thread for each step. */
__device__ inline void write_slots(const TilesPacked &g, int tile, const Sets &s)
{
    for (int step = (int)threadIdx.x; step < g.lines; step += kListThreads) {
        int set = 0;
#pragma unroll
        for (int i = 1; i < kSets; i++)
            if (step >= s.first[i] && step < s.first[i] + s.steps[i]) set = i;
        int slot[kRowGroups];
#pragma unroll
        for (int q = 0; q < kRowGroups; q++)
            slot[q] = set >> q & 1 ? s.before[set][q] + step - s.first[set] : -1;
        g.slots[(int64_t)tile * g.lines + step] = make_int4(slot[0], slot[1], slot[2], slot[3]);
    }
    if (threadIdx.x < kRowGroups)
        g.row_group_steps[tile * kRowGroups + (int)threadIdx.x] = s.row_group_steps[threadIdx.x];
    if (threadIdx.x < kAll) g.set_steps[tile * kSets + (int)threadIdx.x] = s.steps[kInOrder[threadIdx.x]];
    if (threadIdx.x == 0) g.tile_steps[tile] = s.all_steps;
}

/* Whether eight rows of b, as they are listed, follow each other. */
__device__ inline bool neighbours(const int *rows)
{
    const int4 low = *(const int4 *)rows, high = *(const int4 *)(rows + 4);
    const int row[kCore] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    bool all = true;
#pragma unroll
    for (int i = 1; i < kCore; i++) all &= listed_row(row[i]) == listed_row(row[0]) + i;
    return all;
}

struct ListArgs {
    TilesPacked s;
    int64_t k;
};

/* Steps of one tile: their rows of b, and where each row group's splits of them lie. Grid: tiles. Within a
 * set, k stay in ascending order. */
__global__ __launch_bounds__(kListThreads) void list_sets(const __grid_constant__ ListArgs g)
{
    __shared__ int of_warp[kListWarps][kSets + 1], count[kSets]; /* a column more: banks */
    __shared__ Sets sets;
    const int tile = blockIdx.x, warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, words = g.s.words;
    const int each = (int)ceil_div(words, kListWarps), begin = min(warp * each, words),
              end = min(begin + each, words);
    int mine = 0;
    dependency_wait();
    dependents_launch();
    if (takes_unpacked(g.s)) return;
#pragma unroll 4
    for (int w = begin; w < end; w++) mine += __popc(Words(g.s, tile, w).in(lane % kSets));
    if (lane < kSets) of_warp[warp][lane] = lane ? mine : 0;
    __syncthreads();
    if (warp < kSets) { /* counts become those of the warps before */
        mine = of_warp[lane][warp];
        const int sum = inclusive_sum(mine, lane);
        of_warp[lane][warp] = sum - mine;
        if (lane == kWarp - 1) count[warp] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) arrange_sets(sets, count);
    __syncthreads();
    write_slots(g.s, tile, sets);
    write_rows(g.s, tile, sets, begin, end, of_warp[warp][lane % kSets]);
    for (int step = sets.all_steps + warp; step < g.s.lines; step += kListWarps) /* there are no such steps */
        g.s.rows[((int64_t)tile * g.s.lines + step) * kStep + lane] = -1;
    __syncthreads();
    int *const rows = g.s.rows + (int64_t)tile * g.s.lines * kStep;
    if (warp == 0 && sets.last > 0 && lane >= sets.last) { /* the rest of the last step of all row groups */
        int *const step = rows + (sets.all_steps - 1) * kStep;
        const int eight = lane / kCore * kCore, first = step[eight < sets.last ? eight : 0];
        step[lane] = ~min(first + lane % kCore, (int)g.k - 1);
    }
    __syncthreads();
    bool loose = false;
    for (int eight = (int)threadIdx.x; eight < sets.all_steps * (kStep / kCore); eight += kListThreads)
        loose |= !neighbours(rows + eight * kCore);
    loose = __syncthreads_or(loose);
    if (threadIdx.x == 0) g.s.set_steps[tile * kSets + kAll] = loose;
}

template <typename E> lac_status_t mark_tiles(const PackArgs<E> &g, cudaStream_t stream)
{
    const bool across = g.ars == 1 && g.acs != 1,
               four = (across || g.acs == 1) && (across ? g.m : g.k) % 4 == 0 &&
                      (across ? g.acs : g.ars) % 4 == 0 && aligned(g.a, 4 * sizeof(E));
    const Launch mark = {
        dim3(unsigned(ceil_div(g.k, kSpan)), (unsigned)(g.s.tiles_m * kRowGroups / kTogether)),
        dim3(kThreads),
        0,
        1,
        true,
        stream};
    return launch(across ? four ? mark_active<E, kAcrossByFour> : mark_active<E, kAcross>
                  : four ? mark_active<E, kByFour>
                         : mark_active<E, kByOne>,
                  mark, g);
}

struct MaxRoomArgs {
    TilesPacked s;
    int *most;
};

/* *most := steps of the row group that has most, at least one; none where none are packed. One block. */
__global__ __launch_bounds__(kThreads) void max_steps(const __grid_constant__ MaxRoomArgs g)
{
    __shared__ int found;
    if (threadIdx.x == 0) found = 1;
    dependency_wait();
    __syncthreads();
    for (int row_group = (int)threadIdx.x; row_group < kRowGroups * g.s.tiles_m; row_group += kThreads)
        atomicMax(&found, g.s.row_group_steps[row_group]);
    __syncthreads();
    if (threadIdx.x == 0) *g.most = takes_unpacked(g.s) ? 0 : found;
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_tiles_room(int64_t k)
{
    return lacuna::ceil_div(k, lacuna::kStep);
}

extern "C" int64_t lac_cuda_tiles_packed_bytes(lac_dt_t dt, int64_t m, int64_t k, int64_t room)
{
    return lacuna::tiles_packed(dt, m, k, room, nullptr).bytes;
}

extern "C" lac_status_t lac_cuda_tiles_max_room(lac_dt_t dt, int64_t m, int64_t k, int64_t room,
                                                const void *memory, int *most, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const MaxRoomArgs g = {tiles_packed(dt, m, k, room, (void *)memory), most};
    return launch(max_steps, {dim3(1), dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
}

lac_status_t lacuna::mark_steps(const lac_cuda_tiles_t *p, bool beside, int64_t room, void *memory,
                                lac_cuda_stream_t stream)
{
    return with_number_type(p->dt, [&](auto element) {
        PackArgs<decltype(element)> g = pack_args<decltype(element)>(p, room, memory);
        g.beside = beside;
        return mark_tiles(g, (cudaStream_t)stream);
    });
}

/* The steps of each tile: all of TilesPacked but marks and splits. */
lac_status_t lacuna::list_steps(const lac_cuda_tiles_t *p, int64_t room, void *memory,
                                lac_cuda_stream_t stream)
{
    const TilesPacked s = tiles_packed(p->dt, p->m, p->k, room, memory);
    return launch(list_sets,
                  {dim3((unsigned)s.tiles_m), dim3(kListThreads), 0, 1, true, (cudaStream_t)stream},
                  ListArgs{s, p->k});
}
