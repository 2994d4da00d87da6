/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The neurons of a step on a device: what they received, integration, threshold and reset, and who fired. */
#include "cuda_support.h"
#include "common/device.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int64_t kRowsAtOnce = 1 << 15; /* grid.y; further copies are taken in turn */

/* As lif_exp of kernels/host/lif_step.h: the same operations, to the bit. */
__device__ inline float lif_exp(float x)
{
    x = x > -87.0f ? x : -87.0f;
    x = x < 87.0f ? x : 87.0f;
    const float n = rintf(x * 1.44269504088896341f);
    float r = fmaf(n, -0.693359375f, x);
    r = fmaf(n, 2.12194440e-4f, r);
    float p = fmaf(1.9875691500e-4f, r, 1.3981999507e-3f);
    p = fmaf(p, r, 8.3334519073e-3f);
    p = fmaf(p, r, 4.1665795894e-2f);
    p = fmaf(p, r, 1.6666665459e-1f);
    p = fmaf(p, r, 5.0000001201e-1f);
    p = fmaf(p, r * r, r) + 1.0f;
    return p * __int_as_float(((int)n + 127) * (1 << 23));
}

/* Neuron j of copy i, as lacuna/lif.h says; whether it fires. */
__device__ inline bool step_neuron(const lac_cuda_lif_t &g, int64_t i, int64_t j)
{
    const int64_t at = i * g.n + j;
    float total = 1.0f, drive = g.current ? g.v_rest + g.current[j] : g.v_rest;
    for (int q = 0; q < g.inputs; q++) {
        const lac_cuda_lif_input_t &x = g.input[q];
        float now = fmaf(x.weight, x.received[at], x.decay * x.g[at]);
        now = fabsf(now) < 1e-30f ? 0.0f : now;
        x.g[at] = now;
        if (x.conductance) {
            total += now;
            drive = fmaf(now, x.reversal, drive);
        } else {
            drive += now;
        }
    }
    const float v = g.v[at], u = drive / total;
    const float moved = fmaf(lif_exp(-g.rate * total), v - u, u);
    const int wait = g.refractory ? g.wait[at] : 0;
    const bool fires = wait <= 0 && moved > g.v_threshold;
    g.v[at] = fires ? g.v_reset : wait > 0 ? v : moved;
    if (g.refractory) g.wait[at] = fires ? g.refractory : wait - (wait > 0);
    g.spikes[at] = fires;
    if (g.spikes_twin) g.spikes_twin[at] = fires;
    return fires;
}

/* The bits of a warp's spikes, in all of its lanes, which are written where they are wanted. */
__device__ inline unsigned write_half(const lac_cuda_lif_t &g, int64_t i, int64_t j, bool fires)
{
    const unsigned half = __ballot_sync(kFull, fires);
    const int64_t halves = 2 * ((g.n + 63) / 64);
    if (g.bits && threadIdx.x % kWarp == 0 && j / 32 < halves) {
        ((unsigned *)g.bits)[i * halves + j / 32] = half;
        if (g.bits_twin) ((unsigned *)g.bits_twin)[i * halves + j / 32] = half;
    }
    return half;
}

/* One step of n neurons in each of m copies.
 * Mapping   a thread a neuron, copies in turns. A warp's spikes are one half of a word of bits.
 * Bytes     12 per input and neuron, 17 per neuron, once. Limit: the launch; DRAM from some 10^6 neurons on.
 * Order     each operation rounds once, with fmaf written out: the bits are the host's. */
__global__ __launch_bounds__(kThreads) void lif_neurons(const __grid_constant__ lac_cuda_lif_t g)
{
    const int64_t j = blockIdx.x * (int64_t)kThreads + threadIdx.x;
    dependency_wait();
    dependents_launch(); /* the next step's product waits in turn */
    for (int64_t i = blockIdx.y; i < g.m; i += gridDim.y) {
        const bool fires = j < g.n && step_neuron(g, i, j);
        if (g.bits) write_half(g, i, j, fires);
    }
}

/* The same with lists of who fired. -------------------------------------------------------------------- */

constexpr int kWarps = kThreads / kWarp;
constexpr int kBlocks = 1024; /* of all copies, where a copy has several */
constexpr int kKept = 4;      /* tiles whose spikes a thread remembers   */

/* Words of the state: steps so far, blocks of this one that have used its number, and of each block its
 * spikes beside that. */
enum { kStep, kTicket, kCounts };
static_assert(LAC_CUDA_LIF_STATE >= (kCounts + kBlocks) * sizeof(uint64_t), "a word a block");

struct ListArgs {
    lac_cuda_lif_t g;
    int tiles; /* of kThreads neurons, of a block */
};

/* The sum of x over the block; every thread receives it. */
__device__ inline int block_sum(int x, int *totals)
{
    const int lane = threadIdx.x % kWarp, up_to = inclusive_sum(x, lane);
    __syncthreads(); /* totals were read */
    if (lane == kWarp - 1) totals[threadIdx.x / kWarp] = up_to;
    __syncthreads();
    int sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; w++) sum += totals[w];
    return sum;
}

/* Spikes of the blocks of this copy before this one, each of which leaves its own, beside the number of the
 * step. A block waits for those before it alone, which began before. The last block that knows the number
 * counts the step: a block takes its ticket when it has used the number. */
__device__ inline int spikes_before(uint64_t *state, int64_t copy, uint32_t number, int own, int *totals)
{
    uint64_t *counts = state + kCounts + copy * gridDim.x;
    if (threadIdx.x == 0) store_system(counts + blockIdx.x, (uint64_t)number << 32 | (uint32_t)own);
    if (threadIdx.x == kThreads - 1 &&
        atomicAdd((unsigned *)(state + kTicket), 1u) == gridDim.x * gridDim.y - 1) {
        store_system(state + kTicket, 0);
        store_system(state + kStep, number);
    }
    int before = 0;
    for (unsigned b = threadIdx.x; b < blockIdx.x; b += kThreads) {
        uint64_t word;
        do word = load_system(counts + b);
        while ((uint32_t)(word >> 32) != number);
        before += (int)(uint32_t)word;
    }
    return block_sum(before, totals);
}

/* One step of n neurons in each of m copies, and the lists of who fired.
 * Mapping   a block to some tiles of neighbouring neurons of a copy; a thread a neuron of each tile. Blocks
 *           leave their numbers of spikes to those behind them, so that each knows where its own begin.
 * Bytes     those of lif_neurons, 4 for each spike, 8 for each pair of a copy's blocks.
 * Order     lists ascend; nothing hangs on the order in which blocks come. */
__global__ __launch_bounds__(kThreads) void lif_lists(const __grid_constant__ ListArgs a)
{
    __shared__ int totals[kWarps];
    __shared__ uint32_t number;
    const lac_cuda_lif_t &g = a.g;
    const int64_t begin = (int64_t)blockIdx.x * a.tiles * kThreads + threadIdx.x;
    const int lane = threadIdx.x % kWarp;
    dependency_wait();
    dependents_launch();
    const bool counts = gridDim.x > 1;
    const uint64_t steps = counts && threadIdx.x == 0 ? load_system(g.state + kStep) : 0; /* on its way */
    for (int64_t i = blockIdx.y; i < g.m; i += gridDim.y) {
        uint32_t fired = 0;
        int mine = 0;
        for (int t = 0; t < a.tiles; t++) {
            const int64_t j = begin + (int64_t)t * kThreads;
            const bool fires = j < g.n && step_neuron(g, i, j);
            if (g.bits) write_half(g, i, j, fires);
            if (t < kKept) fired |= (uint32_t)fires << t;
            mine += fires;
        }
        if (threadIdx.x == 0) number = (uint32_t)steps + 1;
        const int own = block_sum(mine, totals); /* and everybody sees the number */
        int at = counts ? spikes_before(g.state, i, number, own, totals) : 0;
        if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) g.count[i] = at + own;
        if (own == 0) continue;
        for (int t = 0; t < a.tiles; t++) {
            const int64_t j = begin + (int64_t)t * kThreads;
            const bool fires = t < kKept ? fired >> t & 1u : j < g.n && g.spikes[i * g.n + j];
            const unsigned half = __ballot_sync(kFull, fires);
            __syncthreads(); /* totals were read */
            if (lane == 0) totals[threadIdx.x / kWarp] = __popc(half);
            __syncthreads();
            int lower = 0, all = 0;
#pragma unroll
            for (int w = 0; w < kWarps; w++) {
                lower += w < (int)threadIdx.x / kWarp ? totals[w] : 0;
                all += totals[w];
            }
            if (fires) g.list[i * g.n + at + lower + __popc(half & lanes_below(lane))] = (int32_t)j;
            at += all;
        }
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_lif_step(const lac_cuda_lif_t *lif, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (lif->m == 0 || lif->n == 0) return LAC_OK;
    const int64_t tiles = ceil_div(ceil_div(lif->n, 64) * 64, kThreads);
    if (tiles >= INT32_MAX) return LAC_ERR_EXTENT;
    const unsigned copies = (unsigned)min<int64_t>(lif->m, kRowsAtOnce);
    const dim3 threads(kThreads);
    if (!lif->list) {
        const dim3 grid((unsigned)tiles, copies);
        return launch(lif_neurons, {grid, threads, 0, 1, true, (cudaStream_t)stream}, *lif);
    }
    const int64_t each = ceil_div(tiles, max<int64_t>(1, kBlocks / lif->m));
    const dim3 grid((unsigned)ceil_div(tiles, each), copies);
    return launch(lif_lists, {grid, threads, 0, 1, true, (cudaStream_t)stream}, ListArgs{*lif, (int)each});
}
