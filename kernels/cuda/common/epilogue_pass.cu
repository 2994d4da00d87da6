/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of an output, in a pass of their own. */
#include "cuda_support.h"
#include "device.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int64_t kLinesAtOnce = 1 << 15; /* grid.y; further lines are taken in turn */

struct EpilogueArgs {
    float *out;
    int64_t lines, count, line_stride, stride;
    lac_cuda_epilogue_t epilogue; /* its rows are lines */
};

/* out := the epilogue of out.
 * Mapping   a thread per element of a line, or per four where they lie in 16-byte pieces (kQuads): only then
 *           enough is under way for DRAM. Lines along the shorter stride, in turns.
 * Bytes     out read and written once. Limit: DRAM, or the launch. */
template <bool kQuads>
__global__ __launch_bounds__(kThreads) void finish_output(const __grid_constant__ EpilogueArgs g)
{
    constexpr int kEach = kQuads ? 4 : 1;
    const int64_t j = (blockIdx.x * (int64_t)kThreads + threadIdx.x) * kEach;
    dependency_wait();
    if (j >= g.count) return;
    float bias[kEach];
#pragma unroll
    for (int c = 0; c < kEach; c++) bias[c] = g.epilogue.of_rows ? 0.0f : bias_at(g.epilogue, 0, j + c);
    for (int64_t i = blockIdx.y; i < g.lines; i += gridDim.y) {
        float *const at = g.out + i * g.line_stride + j * g.stride;
        const float of_line = g.epilogue.of_rows ? bias_at(g.epilogue, i, 0) : 0.0f;
        if constexpr (kQuads) {
            const float4 q = *(const float4 *)at;
            float x[kEach] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int c = 0; c < kEach; c++)
                x[c] = apply_epilogue(g.epilogue, x[c], g.epilogue.of_rows ? of_line : bias[c]);
            *(float4 *)at = make_float4(x[0], x[1], x[2], x[3]);
        } else {
            *at = apply_epilogue(g.epilogue, *at, g.epilogue.of_rows ? of_line : bias[0]);
        }
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_epilogue_pass(const lac_cuda_epilogue_pass_t *f, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (f->m == 0 || f->n == 0) return LAC_OK;
    const bool by_rows = (f->cs < 0 ? -f->cs : f->cs) <= (f->rs < 0 ? -f->rs : f->rs);
    EpilogueArgs g = {f->out,
                      by_rows ? f->m : f->n,
                      by_rows ? f->n : f->m,
                      by_rows ? f->rs : f->cs,
                      by_rows ? f->cs : f->rs,
                      f->epilogue};
    g.epilogue.of_rows = f->epilogue.of_rows == by_rows;
    const bool quads = g.stride == 1 && g.count % 4 == 0 && g.line_stride % 4 == 0 && aligned(g.out, 16);
    const int64_t blocks = ceil_div(quads ? g.count / 4 : g.count, kThreads);
    if (blocks >= INT32_MAX) return LAC_ERR_EXTENT;
    const dim3 grid((unsigned)blocks, (unsigned)min(g.lines, kLinesAtOnce));
    const Launch l = {grid, dim3(kThreads), 0, 1, true, (cudaStream_t)stream};
    return quads ? launch(finish_output<true>, l, g) : launch(finish_output<false>, l, g);
}
