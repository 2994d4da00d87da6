/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Preparation of a for the product by tiles: which k are active in each half tile of rows, and their bf16
 * pieces. */
#include "tiles.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kSpan = 128;  /* k whose activity a block finds                 */
constexpr int kPlaces = 64; /* places of a list whose pieces a block makes    */
static_assert(kSpan / kWarp <= kWarps && kPlaces % kStep == 0, "whole words; whole steps");

struct PackArgs {
    const float *a;
    int64_t ars, acs;
    int m;
    int64_t k;
    TilesPacked s;
};

/* How a lies: along k, so that a thread reads one element or four; or along the rows. */
enum Layout { kByOne, kByFour, kAcross };

/* any[k] := 1 where an element of this thread's part of the half is not zero. All loads are under way
 * together. */
__device__ inline void mark_by_four(const PackArgs &g, int row0, int64_t k0, int *any)
{
    constexpr int kLoads = kHalfRows / kWarps;
    const int at = threadIdx.x % kWarp * 4, warp = threadIdx.x / kWarp;
    float4 x[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; u++) {
        const int row = row0 + warp + u * kWarps;
        const bool inside = row < g.m && k0 + at < g.k; /* k is a multiple of four */
        x[u] = inside ? __ldg((const float4 *)(g.a + row * g.ars + k0 + at)) : make_float4(0, 0, 0, 0);
    }
    bool active[4] = {};
#pragma unroll
    for (int u = 0; u < kLoads; u++)
        active[0] |= x[u].x != 0.0f, active[1] |= x[u].y != 0.0f, active[2] |= x[u].z != 0.0f,
            active[3] |= x[u].w != 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (active[i]) any[at + i] = 1;
}

template <bool kAlongRows>
__device__ inline void mark_by_one(const PackArgs &g, int row0, int64_t k0, int *any)
{
    constexpr int kInner = kAlongRows ? kHalfRows : kSpan, kAtOnce = 16,
                  kTurns = kHalfRows * kSpan / kThreads;
#pragma unroll
    for (int turn = 0; turn < kTurns; turn += kAtOnce) {
        float x[kAtOnce];
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            const int e = (turn + u) * kThreads + threadIdx.x, inner = e % kInner, outer = e / kInner;
            const int row = row0 + (kAlongRows ? inner : outer);
            const int64_t k = k0 + (kAlongRows ? outer : inner);
            x[u] = row < g.m && k < g.k ? __ldg(g.a + row * g.ars + k * g.acs) : 0.0f;
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; u++) {
            const int e = (turn + u) * kThreads + threadIdx.x;
            if (x[u] != 0.0f) any[kAlongRows ? e / kInner : e % kInner] = 1;
        }
    }
}

/* active[half][k] := any a[row, k] != 0 among the half's rows. Grid (spans of k, halves). Bytes: a once. */
template <Layout kLayout>
__global__ __launch_bounds__(kThreads) void mark_active(const __grid_constant__ PackArgs g)
{
    __shared__ int any[kSpan];
    const int64_t k0 = (int64_t)blockIdx.x * kSpan;
    const int half = blockIdx.y, row0 = half * kHalfRows, warp = threadIdx.x / kWarp,
              lane = threadIdx.x % kWarp;
    if (threadIdx.x < kSpan) any[threadIdx.x] = 0;
    dependency_wait();
    dependents_launch();
    __syncthreads();
    if (kLayout == kByFour)
        mark_by_four(g, row0, k0, any);
    else
        mark_by_one<kLayout == kAcross>(g, row0, k0, any);
    __syncthreads();
    const int64_t word = k0 / 32 + warp;
    if (warp >= kSpan / kWarp) return;
    const unsigned bits = __ballot_sync(kFull, any[warp * kWarp + lane]);
    if (lane == 0 && word < g.s.words) g.s.active[(int64_t)half * g.s.words + word] = bits;
}

/* Sums of the threads before this one, and of all: of two counts, one in each half of a word. */
__device__ inline uint64_t sums_before(uint64_t mine, uint64_t *all)
{
    __shared__ uint64_t warps[kWarps];
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    uint64_t sum = mine;
    for (int d = 1; d < kWarp; d *= 2) {
        const uint64_t other = __shfl_up_sync(kFull, sum, d);
        if (lane >= d) sum += other;
    }
    if (lane == kWarp - 1) warps[warp] = sum;
    __syncthreads();
    uint64_t before = 0, total = 0;
    for (int w = 0; w < kWarps; w++) {
        if (w < warp) before += warps[w];
        total += warps[w];
    }
    *all = total;
    return before + sum - mine;
}

/* Notes those k of the lanes' words that fall into this block's places; word by word, a lane for each k. */
__device__ inline void note_words(uint32_t bits, int k0, int place, int first, int *index)
{
    const int lane = threadIdx.x % kWarp;
    unsigned wanted = __ballot_sync(kFull, place < first + kPlaces && place + __popc(bits) > first);
    for (; wanted; wanted &= wanted - 1) {
        const int from = __ffs((int)wanted) - 1;
        const uint32_t word = __shfl_sync(kFull, bits, from);
        const int k = __shfl_sync(kFull, k0, from) + lane,
                  at = __shfl_sync(kFull, place, from) + __popc(word & lanes_below(lane)) - first;
        if ((word >> lane & 1u) && at >= 0 && at < kPlaces) index[at] = k;
    }
}

/* Which k have this block's places of the half's order: index[], -1 where there is none. Returns the half's
 * places. */
__device__ inline int find_places(const TilesPacked &s, int half, int first, int *index, int *both_places)
{
    const uint32_t *mine = s.active + (int64_t)half * s.words,
                   *other = s.active + (int64_t)(half ^ 1) * s.words;
    const int each = (int)ceil_div(s.words, kThreads), begin = (int)threadIdx.x * each;
    uint64_t count = 0, all;
    if (threadIdx.x < kPlaces) index[threadIdx.x] = -1;
    for (int w = begin; w < least(begin + each, s.words); w++)
        count += (uint64_t)__popc(mine[w] & other[w]) << 32 | (unsigned)__popc(mine[w] & ~other[w]);
    const uint64_t before = sums_before(count, &all); /* its barrier also orders index[] */
    *both_places = (int)round_up((int64_t)(all >> 32), kStep);
    int both = (int)(before >> 32), only = *both_places + (int)(uint32_t)before;
    for (int w = begin; w < begin + each; w++) { /* all lanes together */
        const uint32_t bits = w < s.words ? mine[w] : 0, shared = w < s.words ? bits & other[w] : 0;
        note_words(shared, w * 32, both, first, index);
        note_words(bits & ~shared, w * 32, only, first, index);
        both += __popc(shared), only += __popc(bits & ~shared);
    }
    __syncthreads();
    return *both_places + (int)round_up((int64_t)(uint32_t)all, kStep);
}

/* This block's part of the lists, and how many steps they have. */
__device__ inline void write_lists(const TilesPacked &s, int half, int first, int places, int both_places,
                                   const int *index)
{
    const int at = first + threadIdx.x, room = s.room * kStep;
    if (first == 0 && threadIdx.x == 0) {
        s.only_steps[half] = (places - both_places) / kStep;
        if (half % 2 == 0) s.both_steps[half / 2] = both_places / kStep;
    }
    if (threadIdx.x >= kPlaces || at >= places) return;
    const int k = index[threadIdx.x],
              row = k >= 0 ? k : index[threadIdx.x / kStep * kStep]; /* of b: any that is active */
    if (at >= both_places)
        s.only[(int64_t)half * room + at - both_places] = row;
    else if (half % 2 == 0)
        s.both[(int64_t)(half / 2) * room + at] = row;
}

/* The pieces of a half's active k, and the lists. Grid (kPlaces places each, halves).
 * Mapping   loads: lanes along the places, or along the rows where a lies by columns; stores: 16 bytes a
 * thread, which are one lane's registers of one fragment. Bytes     the sectors of a that hold active k, 6
 * per active element written. */
template <bool kAlongRows>
__global__ __launch_bounds__(kThreads, 4) void pack_active(const __grid_constant__ PackArgs g)
{
    constexpr int kInner = kAlongRows ? kHalfRows : kPlaces, kLoads = kHalfRows * kPlaces / kThreads;
    __shared__ float part[kHalfRows][kPlaces + 1];
    __shared__ int index[kPlaces];
    const int first = blockIdx.x * kPlaces, half = blockIdx.y, row0 = half * kHalfRows;
    dependency_wait();
    dependents_launch();
    int both_places;
    const int places = find_places(g.s, half, first, index, &both_places);
    write_lists(g.s, half, first, places, both_places, index);
    if (first >= places) return;
    float x[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; u++) {
        const int e = u * kThreads + threadIdx.x, row = row0 + (kAlongRows ? e % kInner : e / kInner),
                  k = index[kAlongRows ? e / kInner : e % kInner];
        x[u] = row < g.m && k >= 0 ? __ldg(g.a + row * g.ars + k * g.acs) : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < kLoads; u++) {
        const int e = u * kThreads + threadIdx.x;
        part[kAlongRows ? e % kInner : e / kInner][kAlongRows ? e / kInner : e % kInner] = x[u];
    }
    __syncthreads();
    unsigned char *pieces = g.s.pieces + (int64_t)half * g.s.room * kStepBytes;
    for (int t = threadIdx.x; t < kHalfRows * kPlaces / 8; t += kThreads) {
        const int lane = t % 128, depth = t / 128 * kDepth; /* of the warpgroup; of this block's places */
        const int row = lane / 32 * 16 + lane % 32 / 4, col = depth + lane % 4 * 2;
        if (first + depth >= places) break;
        uint32_t word[4][kPieces]; /* word 2 g + h: columns 8 g further, rows 8 h further */
#pragma unroll
        for (int w = 0; w < 4; w++)
            split_pair(part[row + w % 2 * 8][col + w / 2 * 8], part[row + w % 2 * 8][col + w / 2 * 8 + 1],
                       word[w]);
        const int place = first + depth, step = place / kStep, fragment = place % kStep / kDepth;
#pragma unroll
        for (int p = 0; p < kPieces; p++)
            *(uint4 *)(pieces + (int64_t)step * kStepBytes + (p * (kStep / kDepth) + fragment) * kFragment +
                       lane * 16) = make_uint4(word[0][p], word[1][p], word[2][p], word[3][p]);
    }
}

struct MostArgs {
    TilesPacked s;
    int *most;
};

/* *most := steps of the half that has most; at least one. One block. */
__global__ __launch_bounds__(kThreads) void most_steps(const __grid_constant__ MostArgs g)
{
    __shared__ int found;
    if (threadIdx.x == 0) found = 1;
    dependency_wait();
    __syncthreads();
    for (int half = (int)threadIdx.x; half < 2 * g.s.tiles_m; half += kThreads)
        atomicMax(&found, g.s.both_steps[half / 2] + g.s.only_steps[half]);
    __syncthreads();
    if (threadIdx.x == 0) *g.most = found;
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_tiles_room(int64_t k)
{
    return lacuna::ceil_div(k, lacuna::kStep) + 1;
}

extern "C" int64_t lac_cuda_tiles_packed_bytes(int64_t m, int64_t k, int64_t room)
{
    return lacuna::tiles_packed(m, k, room, nullptr).bytes;
}

extern "C" lac_status_t lac_cuda_tiles_most(int64_t m, int64_t k, int64_t room, const void *memory, int *most,
                                            lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const MostArgs g = {tiles_packed(m, k, room, (void *)memory), most};
    return launch(most_steps, {dim3(1), dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
}

extern "C" lac_status_t lac_cuda_tiles_pack(const lac_cuda_tiles_t *p, int64_t room, void *memory,
                                            lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const PackArgs g = {p->a, p->ars, p->acs, (int)p->m, p->k, tiles_packed(p->m, p->k, room, memory)};
    const bool across = p->ars == 1 && p->acs != 1,
               four = p->acs == 1 && p->k % 4 == 0 && p->ars % 4 == 0 && aligned(p->a, 16);
    const unsigned halves = 2u * (unsigned)g.s.tiles_m;
    const Launch mark = {
        dim3(unsigned(ceil_div(p->k, kSpan)), halves), dim3(kThreads), 0, 1, true, (cudaStream_t)stream};
    Launch pack = mark;
    pack.grid.x = unsigned(ceil_div((int64_t)g.s.room * kStep, kPlaces));
    const lac_status_t status = launch(across ? mark_active<kAcross>
                                       : four ? mark_active<kByFour>
                                              : mark_active<kByOne>,
                                       mark, g);
    return status ? status : launch(across ? pack_active<true> : pack_active<false>, pack, g);
}
