/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The neurons of a step on a device: what they received, integration, threshold and reset. */
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

/* One step of n neurons in each of m copies, as lacuna/lif.h says.
 * Mapping   a thread a neuron, copies in turns. A warp's spikes are one half of a word of bits.
 * Bytes     12 per input and neuron, 17 per neuron, once. Limit: the launch; DRAM from some 10^6 neurons on.
 * Order     each operation rounds once, with fmaf written out: the bits are the host's. */
__global__ __launch_bounds__(kThreads) void lif_neurons(const __grid_constant__ lac_cuda_lif_t g)
{
    const int64_t j = blockIdx.x * (int64_t)kThreads + threadIdx.x;
    dependency_wait();
    dependents_launch(); /* the next step's product waits in turn */
    for (int64_t i = blockIdx.y; i < g.m; i += gridDim.y) {
        const int64_t at = i * g.n + j;
        bool fires = false;
        if (j < g.n) {
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
            fires = wait <= 0 && moved > g.v_threshold;
            g.v[at] = fires ? g.v_reset : wait > 0 ? v : moved;
            if (g.refractory) g.wait[at] = fires ? g.refractory : wait - (wait > 0);
            g.spikes[at] = fires;
        }
        if (!g.bits) continue;
        const unsigned half = __ballot_sync(0xffffffffu, fires);
        const int64_t words = (g.n + 63) / 64, halves = 2 * words;
        if (threadIdx.x % 32 == 0 && j / 32 < halves) ((unsigned *)g.bits)[i * halves + j / 32] = half;
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_lif_step(const lac_cuda_lif_t *lif, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (lif->m == 0 || lif->n == 0) return LAC_OK;
    const int64_t blocks = ceil_div(ceil_div(lif->n, 64) * 64, kThreads);
    if (blocks >= INT32_MAX) return LAC_ERR_EXTENT;
    const dim3 grid((unsigned)blocks, (unsigned)min<int64_t>(lif->m, kRowsAtOnce));
    return launch(lif_neurons, {grid, dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, *lif);
}
