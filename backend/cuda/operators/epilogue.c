/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of an output on the device: queued behind the product, or handed to its kernels. */
#include "cuda/routes/routes.h"

lac_cuda_epilogue_t lac_cuda_epilogue(const lac_problem_t *p, lac_side_t side)
{
    const lac_epilogue_args_t *f = &p->epilogue;
    bool of_rows = f->bias && f->bias_per_row != (side == LAC_SIDE_RIGHT); /* of the transposed product */
    return (lac_cuda_epilogue_t){f->bias, f->any, of_rows, f->magnitude, (float)f->limit};
}

bool lac_cuda_fuses_epilogue(const lac_route_t *route, const lac_problem_t *p)
{
    (void)route, (void)p;
    return true;
}

lac_status_t lac_cuda_apply_epilogue(lac_exec_t *exec, const lac_problem_t *p)
{
    lac_cuda_epilogue_pass_t f = {p->m, p->n, p->c, p->crs, p->ccs, lac_cuda_epilogue(p, LAC_SIDE_LEFT)};
    return lac_cuda_launched(lac_cuda_epilogue_pass(&f, exec->stream), "epilogue");
}
