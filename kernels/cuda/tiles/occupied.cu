/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Occupancy bits of a product by tiles, put in order: from those that wrote the tiles to rows or columns of
 * c.
 */
#include "epilogue_store.cuh"

namespace lacuna
{
namespace
{

constexpr int kPieceBits = 16; /* columns that a warp has */

struct OccupiedArgs {
    int m, n;
    uint64_t *bits;
    int64_t words; /* from one row of them to the next */
    TilesSpace s;
};

__device__ inline void store_word(const OccupiedArgs &g, int line, int lines, int word, int bits,
                                  unsigned low, unsigned high)
{
    if (line < lines && 64 * word < bits) g.bits[line * g.words + word] = (uint64_t)high << 32 | low;
}

/* Bit kAt (a power of two) of an index in the word changes roles with bit kLane of the lane's number. */
template <int kAt, int kLane> __device__ inline uint32_t exchange_roles(uint32_t x, int lane)
{
    constexpr uint32_t kLow = 0xffffffffu / ((1u << kAt) + 1u); /* indices without kAt */
    const uint32_t other = __shfl_xor_sync(kFull, x, kLane);
    return lane & kLane ? (x & ~kLow) | (other & ~kLow) >> kAt : (x & kLow) | (other & kLow) << kAt;
}

/* Bits by rows of c.
 *
 * Mapping   a block per tile, a thread as in the product: it has two columns of 32 rows. The eight lanes with
 *           the same rows share these out, so that each has 16 columns of four.
 * Bytes     an eighth of one for each element of c, read and written, from cache. Limit: the launch. */
__global__ __launch_bounds__(kHolders) void order_rows(const __grid_constant__ OccupiedArgs g)
{
    __shared__ uint16_t piece[kTileRows][kTileCols / kPieceBits];
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, tile = blockIdx.x;
    const int row = (lane & 24) + lane % 4 * 2 + (lane >> 2 & 1);
    dependency_wait();
    const uint2 own = g.s.occupied[tile * (int64_t)kHolders + threadIdx.x];
#pragma unroll
    for (int t = 0; t < 2; t++) {
        uint32_t x = exchange_roles<8, 16>(t ? own.y : own.x, lane);
        x = exchange_roles<4, 8>(x, lane);
        x = exchange_roles<2, 4>(x, lane);
        piece[64 * t + row][warp] = (uint16_t)x;
        piece[64 * t + 32 + row][warp] = (uint16_t)(x >> 16);
    }
    __syncthreads();
    const int line = threadIdx.x / 2, half = threadIdx.x % 2;
    const uint16_t *const four = &piece[line][4 * half];
    store_word(g, tile / g.s.tiles_n * kTileRows + line, g.m, tile % g.s.tiles_n * 2 + half, g.n,
               four[0] | (unsigned)four[1] << 16, four[2] | (unsigned)four[3] << 16);
}

/* Every fourth bit of x, at every eighth of the result. */
__device__ inline uint32_t spread_bits(uint32_t x)
{
    x &= 0x1111u;
    x = (x | x << 8) & 0x00ff00ffu;
    return (x | x << 4) & 0x0f0f0f0fu;
}

/* Bits by columns of c. The mapping is the same: of a column's 64 rows each of four lanes has two of eight.
 */
__global__ __launch_bounds__(kHolders) void order_columns(const __grid_constant__ OccupiedArgs g)
{
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, tile = blockIdx.x, quad = lane % 4;
    dependency_wait();
    const uint2 own = g.s.occupied[tile * (int64_t)kHolders + threadIdx.x];
    uint32_t mine[2] = {};
#pragma unroll
    for (int i = 0; i < 4; i++) { /* column i % 2, rows 64 (i / 2) and further */
        const uint32_t x = (i / 2 ? own.y : own.x) >> i % 2;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const uint32_t y = x >> 16 * half;
            uint32_t word = (spread_bits(y) | spread_bits(y >> 2) << 1) << 2 * quad;
            word |= __shfl_xor_sync(kFull, word, 1);
            word |= __shfl_xor_sync(kFull, word, 2);
            if (quad == i) mine[half] = word;
        }
    }
    store_word(g, tile % g.s.tiles_n * kTileCols + warp * kPieceBits + lane / 4 * 2 + quad % 2, g.n,
               tile / g.s.tiles_n * 2 + quad / 2, g.m, mine[0], mine[1]);
}

static_assert(kHolders == 2 * kTileRows && kTileCols == 128, "a thread per word");

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_tiles_occupied(const lac_cuda_tiles_t *p, void *workspace,
                                                lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!p->bits) return LAC_OK;
    const OccupiedArgs g = {(int)p->m, (int)p->n, p->bits, p->bits_words,
                            tiles_space(p->dt, p->m, p->n, p->k, workspace)};
    return launch(p->bits_transposed ? order_columns : order_rows,
                  {dim3((unsigned)g.s.tiles), dim3(kHolders), 0, 1, true, (cudaStream_t)stream}, g);
}
