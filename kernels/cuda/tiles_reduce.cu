/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The sum of the parts of tiles whose k was split among blocks. */
#include "tiles_epilogue_store.cuh"

namespace lacuna
{
namespace
{

struct ReduceArgs {
    TilesOut out;
    TilesSpace s;
};

/* c := beta c + alpha (the sum of a tile's parts), and what follows. One block per tile, a thread as in the
 * product; parts in ascending order. Bytes: 4 per element of c and split read, from cache. */
template <bool kBits>
__global__ __launch_bounds__(kHolders) void reduce_tiles(const __grid_constant__ ReduceArgs g)
{
    const int tile = blockIdx.x;
    float sum[kSums];
    dependency_wait();
#pragma unroll
    for (int i = 0; i < kSums; i++) sum[i] = 0.0f;
    for (int split = 0; split < g.s.splits; split++) {
        const float4 *at = part_of(g.s, tile, split);
#pragma unroll
        for (int j = 0; j < kSums / 4; j++) {
            const float4 x = at[j * kHolders];
            sum[4 * j] += x.x, sum[4 * j + 1] += x.y, sum[4 * j + 2] += x.z, sum[4 * j + 3] += x.w;
        }
    }
    if (__syncthreads_and(all_finite(sum)))
        write_tile<kBits>(g.out, g.s, tile / g.s.tiles_n, tile % g.s.tiles_n, sum);
    else if (threadIdx.x == 0)
        note_failed(g.s, tile);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_tiles_reduce(const lac_cuda_tiles_t *p, void *workspace,
                                              lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const ReduceArgs g = {tiles_out(p), tiles_space(p->m, p->n, p->k, workspace)};
    if (g.s.splits == 1) return LAC_OK;
    const dim3 grid((unsigned)g.s.tiles);
    return launch(p->bits ? reduce_tiles<true> : reduce_tiles<false>,
                  {grid, dim3(kHolders), 0, 1, true, (cudaStream_t)stream}, g);
}
