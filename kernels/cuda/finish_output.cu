/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of an output, in a pass of their own. */
#include "cuda_support.h"
#include "finish.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int64_t kLinesAtOnce = 1 << 15; /* grid.y; further lines are taken in turn */

struct FinishArgs {
    float *out;
    int64_t lines, count, line_stride, stride;
    lac_cuda_after_t after; /* its rows are lines */
};

/* out := what follows.
 * Mapping   a thread per element of a line, which lies along the shorter stride; lines in turns.
 * Bytes     out read and written once. Limit: DRAM, or the launch. */
__global__ __launch_bounds__(kThreads) void finish_output(const __grid_constant__ FinishArgs g)
{
    const int64_t j = blockIdx.x * (int64_t)kThreads + threadIdx.x;
    dependency_wait();
    if (j >= g.count) return;
    const bool of_lines = g.after.of_rows;
    const float of_place = of_lines ? 0.0f : bias_at(g.after, 0, j);
    for (int64_t i = blockIdx.y; i < g.lines; i += gridDim.y) {
        float *at = g.out + i * g.line_stride + j * g.stride;
        *at = finished(g.after, *at, of_lines ? bias_at(g.after, i, j) : of_place);
    }
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_finish_output(const lac_cuda_finish_t *f, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (f->m == 0 || f->n == 0) return LAC_OK;
    const bool by_rows = (f->cs < 0 ? -f->cs : f->cs) <= (f->rs < 0 ? -f->rs : f->rs);
    FinishArgs g = {f->out,
                    by_rows ? f->m : f->n,
                    by_rows ? f->n : f->m,
                    by_rows ? f->rs : f->cs,
                    by_rows ? f->cs : f->rs,
                    f->after};
    g.after.of_rows = f->after.of_rows == by_rows;
    const int64_t blocks = ceil_div(g.count, kThreads);
    if (blocks >= INT32_MAX) return LAC_ERR_EXTENT;
    const dim3 grid((unsigned)blocks, (unsigned)least(g.lines, kLinesAtOnce));
    return launch(finish_output, {grid, dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, g);
}
