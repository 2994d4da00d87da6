/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What ends the product by tiles: the sum of the parts of tiles whose k was split among blocks, and the tiles
 * that failed, once more in fp32. */
#include "epilogue_store.cuh"

namespace lacuna
{
namespace
{

template <typename E> struct ReduceArgs {
    TilesOut<E> out;
    TilesSpace s;
};

/* c := beta c + alpha (the sum of a tile's parts), and the epilogue. One block per tile, a thread as in the
 * product; parts in ascending order. Bytes: 4 per element of c and split read, from cache. */
template <typename E, bool kBits>
__global__ __launch_bounds__(kHolders) void reduce_tiles(const __grid_constant__ ReduceArgs<E> g)
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
        write_tile<E, kBits>(g.out, g.s, tile / g.s.tiles_n, tile % g.s.tiles_n, sum);
    else if (threadIdx.x == 0)
        note_failed(g.s, tile);
}

/* Tiles whose bf16 splits gave no finite sum, done again by fp32 multiply-adds: Inf, NaN and overflow as they
 * are. */

constexpr int kSide = 64, kDeep = 16, kThreads = 256,
              kEach = 4;                  /* a block does kSide x kSide, a thread kEach^2 */
constexpr int kPieceBits = kSide / kEach; /* of a row: columns that half a warp has */
constexpr int kPartsAcross = kTileCols / kSide, kParts = kPartsAcross * (kTileRows / kSide);
static_assert(kTileRows % kSide == 0 && kThreads * kEach * kEach == kSide * kSide,
              "a block per part of a tile");

template <typename E> struct FixupArgs {
    const E *a, *b;
    int64_t ars, acs, brs, bcs;
    int k;
    bool bits;
    TilesOut<E> out;
    TilesSpace s;
};

/* Which elements of a part are not zero, by rows. */
using Pieces = uint16_t[kSide][kSide / kPieceBits];

/* The same as the threads that hold a tile have it (epilogue_store.cuh): a warp for each piece, one of
 * their two words for each 64 rows. */
__device__ inline void write_occupied(const TilesSpace &s, int tile, int part, const Pieces &piece)
{
    static_assert(kSide == 64 && kPieceBits == 16, "rows of a word, columns of a warp");
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    if (warp >= kSide / kPieceBits) return;
    uint32_t own = 0;
#pragma unroll
    for (int r = 0; r < 16; r++)
        own |= (piece[r / 2 * 8 + lane % 4 * 2 + r % 2][warp] >> lane / 4 * 2 & 3u) << (2 * r);
    const int thread = (part % kPartsAcross * (kSide / kPieceBits) + warp) * kWarp + lane;
    uint2 *const at = s.occupied + tile * (int64_t)kHolders + thread;
    (part / kPartsAcross ? at->y : at->x) = own;
}

/* One part of a tile, kDeep k at a time in shared memory. A thread has kEach rows and kEach columns of it. */
struct Part {
    int row0, col0;
    float (&a)[kDeep][kSide + 1];
    float (&b)[kDeep][kSide];
    Pieces &piece;
};

/* Brings kDeep k of a and b from k0 on, zeros beyond their ends. */
template <typename E> __device__ inline void bring_part(const FixupArgs<E> &g, const Part &part, int k0)
{
    for (int t = threadIdx.x; t < kDeep * kSide; t += kThreads) {
        const int l = t % kDeep, row = t / kDeep, line = t / kSide, col = t % kSide;
        const bool in_a = part.row0 + row < g.out.m && k0 + l < g.k;
        const bool in_b = part.col0 + col < g.out.n && k0 + line < g.k;
        part.a[l][row] = in_a ? event_value(g.a[(part.row0 + row) * g.ars + (k0 + l) * g.acs]) : 0.0f;
        part.b[line][col] = in_b ? event_value(g.b[(k0 + line) * g.brs + (part.col0 + col) * g.bcs]) : 0.0f;
    }
}

/* Adds their products, of which zeros of a have none. */
__device__ inline void add_part(const Part &part, float (&sum)[kEach][kEach], int x, int y)
{
    for (int l = 0; l < kDeep; l++)
#pragma unroll
        for (int i = 0; i < kEach; i++) {
            const float s = part.a[l][y * kEach + i];
#pragma unroll
            for (int j = 0; j < kEach; j++)
                if (s != 0.0f) sum[i][j] = fmaf(s, part.b[l][x + j * (kSide / kEach)], sum[i][j]);
        }
}

/* Writes the sums to c; and which of what is there now is not zero, if that is wanted. */
template <typename E>
__device__ inline void store_fixed(const FixupArgs<E> &g, const Part &part, const float (&sum)[kEach][kEach],
                                   int x, int y)
{
    const float alpha = load_scalar(g.out.alpha), beta = load_scalar(g.out.beta);
#pragma unroll
    for (int i = 0; i < kEach; i++)
#pragma unroll
        for (int j = 0; j < kEach; j++) {
            const int row = part.row0 + y * kEach + i, col = part.col0 + x + j * (kSide / kEach);
            const int64_t at = row * g.out.crs + col * g.out.ccs;
            float is = 0.0f;
            if (row < g.out.m && col < g.out.n) {
                const float was = beta == 0.0f ? 0.0f : g.out.c.load(at);
                is = with_epilogue(g.out.epilogue, scaled(&was, sum[i][j], alpha, beta),
                                   bias_of(g.out, row, col));
                g.out.c.store(at, is);
            }
            if (!g.bits) continue;
            const unsigned both = __ballot_sync(kFull, is != 0.0f);
            if (x == 0) part.piece[y * kEach + i][j] = (uint16_t)(y % 2 ? both >> kPieceBits : both);
        }
}

/* c := beta c + alpha a b, and the epilogue, for one part of a tile; k in ascending order. */
template <typename E> __device__ inline void fixup_part(const FixupArgs<E> &g, const Part &part)
{
    const int x = threadIdx.x % (kSide / kEach), y = threadIdx.x / (kSide / kEach);
    float sum[kEach][kEach] = {};
    for (int k0 = 0; k0 < g.k; k0 += kDeep) {
        bring_part(g, part, k0);
        __syncthreads();
        add_part(part, sum, x, y);
        __syncthreads();
    }
    store_fixed(g, part, sum, x, y);
}

/* One block per part of a failed tile, in turns; without any, a launch. */
template <typename E>
__global__ __launch_bounds__(kThreads) void fixup_tiles(const __grid_constant__ FixupArgs<E> g)
{
    __shared__ float a[kDeep][kSide + 1], b[kDeep][kSide];
    __shared__ Pieces piece;
    dependency_wait();
    const int parts = *g.s.failed_count * kParts;
    for (int t = blockIdx.x; t < parts; t += gridDim.x) {
        const int tile = g.s.failed[t / kParts];
        const int part = t % kParts;
        fixup_part(g, {tile / g.s.tiles_n * kTileRows + part / kPartsAcross * kSide,
                       tile % g.s.tiles_n * kTileCols + part % kPartsAcross * kSide, a, b, piece});
        if (!g.bits) continue;
        __syncthreads();
        write_occupied(g.s, tile, part, piece); /* read before the next part's products are summed */
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_tiles_reduce(const lac_cuda_tiles_t *p, void *workspace,
                                              lac_cuda_stream_t stream)
{
    using namespace lacuna;
    return with_number_type(p->dt, [&](auto element) {
        using E = decltype(element);
        const ReduceArgs<E> g = {tiles_out<E>(p), tiles_space(p->dt, p->m, p->n, p->k, workspace)};
        if (g.s.splits == 1) return LAC_OK;
        const dim3 grid((unsigned)g.s.tiles);
        return launch(p->bits ? reduce_tiles<E, true> : reduce_tiles<E, false>,
                      {grid, dim3(kHolders), 0, 1, true, (cudaStream_t)stream}, g);
    });
}

extern "C" lac_status_t lac_cuda_tiles_fixup(const lac_cuda_tiles_t *p, void *workspace,
                                             lac_cuda_stream_t stream)
{
    using namespace lacuna;
    return with_number_type(p->dt, [&](auto element) {
        using E = decltype(element);
        const bool columns = p->b_columns != nullptr;
        const FixupArgs<E> g = {(const E *)p->a,
                                (const E *)(columns ? p->b_columns : p->b),
                                p->ars,
                                p->acs,
                                columns ? 1 : p->ldb,
                                columns ? p->ld_columns : 1,
                                (int)p->k,
                                p->bits != nullptr,
                                tiles_out<E>(p),
                                tiles_space(p->dt, p->m, p->n, p->k, workspace)};
        const int blocks = 4 * current_device().sms;
        return launch(fixup_tiles<E>,
                      {dim3((unsigned)blocks), dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
    });
}
