/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of an output on the device: queued behind the product. */
#include "cuda_finish.h"

lac_status_t lac_cuda_finish(lac_exec_t *exec, const lac_finish_t *finish, int threads)
{
    (void)threads;
    lac_cuda_finish_t f = {finish->m,    finish->n,    finish->out,          finish->rs,
                           finish->cs,   finish->bias, finish->bias_of_rows, finish->magnitude,
                           finish->limit};
    return lac_cuda_launched(lac_cuda_finish_output(&f, exec->stream), "epilogue");
}
