/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of an output, in a pass of their own. */
#include "cuda_support.h"
#include "device_common.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int64_t kLinesAtOnce = 1 << 15; /* grid.y; further lines are taken in turn */

struct FinishArgs {
    float *out;
    const float *bias;
    int64_t lines, count, line_stride, stride;
    bool bias_of_lines, magnitude;
    float limit;
};

/* out := out + bias where that, or its magnitude, is not <= limit, else 0.
 * Mapping   a thread per element of a line, which lies along the shorter stride; lines in turns.
 * Bytes     out read and written once. Limit: DRAM, or the launch. */
__global__ __launch_bounds__(kThreads) void finish_output(const __grid_constant__ FinishArgs g)
{
    const int64_t j = blockIdx.x * (int64_t)kThreads + threadIdx.x;
    dependency_wait();
    if (j >= g.count) return;
    const float of_place = g.bias && !g.bias_of_lines ? g.bias[j] : 0.0f;
    for (int64_t i = blockIdx.y; i < g.lines; i += gridDim.y) {
        float *at = g.out + i * g.line_stride + j * g.stride;
        const float x = *at + (g.bias && g.bias_of_lines ? g.bias[i] : of_place);
        *at = (g.magnitude ? fabsf(x) : x) <= g.limit ? 0.0f : x;
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_finish_output(const lac_cuda_finish_t *f, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (f->m == 0 || f->n == 0) return LAC_OK;
    const bool by_rows = (f->cs < 0 ? -f->cs : f->cs) <= (f->rs < 0 ? -f->rs : f->rs);
    const FinishArgs g = {f->out,
                          f->bias,
                          by_rows ? f->m : f->n,
                          by_rows ? f->n : f->m,
                          by_rows ? f->rs : f->cs,
                          by_rows ? f->cs : f->rs,
                          f->bias_of_rows == by_rows,
                          f->magnitude,
                          f->limit};
    const int64_t blocks = ceil_div(g.count, kThreads);
    if (blocks >= INT32_MAX) return LAC_ERR_EXTENT;
    const dim3 grid((unsigned)blocks, (unsigned)least(g.lines, kLinesAtOnce));
    return launch(finish_output, {grid, dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
}
