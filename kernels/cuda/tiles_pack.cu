/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Preparation of a for the product by tiles: the bf16 pieces of each quarter's steps. */
#include "tiles_pack.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
static_assert(kStep == kWarp && kRowGroupRows % kWarps == 0,
              "a lane for each k of a step; whole warps in a quarter");

__device__ inline int slot_of(int4 places, int row_group)
{
    return row_group < 2 ? row_group == 0 ? places.x : places.y : row_group == 2 ? places.z : places.w;
}

/* The pieces of one step of a tile. Grid (steps, tiles).
 * Mapping   loads: lanes along the step's k, or along the rows where a lies by columns; stores: 16 bytes a
 * thread, which are eight k of a row. Bytes     the sectors of a that hold active k, 6 per element of a step
 * written. */
template <bool kAlongRows>
__global__ __launch_bounds__(kThreads, 5) void pack_active(const __grid_constant__ PackArgs g)
{
    constexpr int kLoads = kTileRows * kStep / kThreads, kUnits = kTileRows * kSplitCores / kThreads;
    __shared__ float part[kTileRows][kStep + 1];
    const int step = blockIdx.x, tile = blockIdx.y, lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int64_t line = (int64_t)tile * g.s.lines + step;
    dependency_wait();
    dependents_launch();
    const int mine = g.s.rows[line * kStep + lane];
    const int4 at = g.s.places[line];
    if ((at.x & at.y & at.z & at.w) < 0) return; /* a step too many */
    float x[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; u++) {
        const int e = u * kThreads + (int)threadIdx.x, row = kAlongRows ? e % kTileRows : u * kWarps + warp;
        const int k = kAlongRows ? __shfl_sync(kFull, mine, e / kTileRows) : mine,
                  row_group = row / kRowGroupRows;
        const bool there = slot_of(at, row_group) >= 0;
        const int64_t i = (int64_t)tile * kTileRows + row;
        x[u] = there && k >= 0 && i < g.m ? __ldg(g.a + i * g.ars + k * g.acs) : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < kLoads; u++) {
        const int e = u * kThreads + (int)threadIdx.x;
        part[kAlongRows ? e % kTileRows : e / kStep][kAlongRows ? e / kTileRows : lane] = x[u];
    }
    __syncthreads();
    const int low = lane % kCore, core = lane / kCore;
#pragma unroll
    for (int u = 0; u < kUnits; u++) {
        const int eight = u * kWarps + warp, row_group = eight / (kRowGroupRows / kCore),
                  to = slot_of(at, row_group);
        if (to < 0) continue;
        const float *row = part[eight * kCore + low] + core * kCore;
        uint32_t word[kCore / 2][kBf16Splits];
#pragma unroll
        for (int w = 0; w < kCore / 2; w++) split_pair(row[2 * w], row[2 * w + 1], word[w]);
        unsigned char *pieces = g.s.pieces +
                                (((int64_t)tile * kRowGroups + row_group) * g.s.room + to) * kStepBytes +
                                eight % (kRowGroupRows / kCore) * kEightRows + core * kCoreBytes + low * 16;
#pragma unroll
        for (int p = 0; p < kBf16Splits; p++)
            *(uint4 *)(pieces + p * kSplitBytes) = make_uint4(word[0][p], word[1][p], word[2][p], word[3][p]);
    }
}

struct MaxRoomArgs {
    TilesPacked s;
    int *most;
};

/* *most := steps of the quarter that has most; at least one. One block. */
__global__ __launch_bounds__(kThreads) void max_steps(const __grid_constant__ MaxRoomArgs g)
{
    __shared__ int found;
    if (threadIdx.x == 0) found = 1;
    dependency_wait();
    __syncthreads();
    for (int row_group = (int)threadIdx.x; row_group < kRowGroups * g.s.tiles_m; row_group += kThreads)
        atomicMax(&found, g.s.row_group_steps[row_group]);
    __syncthreads();
    if (threadIdx.x == 0) *g.most = found;
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_tiles_room(int64_t k)
{
    return lacuna::ceil_div(k, lacuna::kStep);
}

extern "C" int64_t lac_cuda_tiles_packed_bytes(int64_t m, int64_t k, int64_t room)
{
    return lacuna::tiles_packed(m, k, room, nullptr).bytes;
}

extern "C" lac_status_t lac_cuda_tiles_max_room(int64_t m, int64_t k, int64_t room, const void *memory,
                                                int *most, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const MaxRoomArgs g = {tiles_packed(m, k, room, (void *)memory), most};
    return launch(max_steps, {dim3(1), dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
}

extern "C" lac_status_t lac_cuda_tiles_pack(const lac_cuda_tiles_t *p, int64_t room, void *memory,
                                            lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const PackArgs g = {p->a, p->ars, p->acs, (int)p->m, p->k, tiles_packed(p->m, p->k, room, memory)};
    const bool across = p->ars == 1 && p->acs != 1;
    const Launch pack = {
        dim3((unsigned)g.s.lines, (unsigned)g.s.tiles_m), dim3(kThreads), 0, 1, true, (cudaStream_t)stream};
    const lac_status_t status = list_tiles(g, (cudaStream_t)stream);
    return status ? status : launch(across ? pack_active<true> : pack_active<false>, pack, g);
}
