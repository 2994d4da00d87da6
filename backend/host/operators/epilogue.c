/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of an output, line by line along its shorter stride. */
#include "operators.h"
#include "base/threads.h"

#define ELEMENTS_EACH 65536 /* that are worth a thread */

typedef struct pass {
    const lac_host_kernels_t *kernels;
    const lac_problem_t *p;
} pass_t;

static void epilogue_part(void *arg, int part, int parts)
{
    const pass_t *pass = arg;
    const lac_problem_t *p = pass->p;
    const lac_epilogue_args_t *f = &p->epilogue;
    bool by_rows = (p->ccs < 0 ? -p->ccs : p->ccs) <= (p->crs < 0 ? -p->crs : p->crs);
    int64_t lines = by_rows ? p->m : p->n, count = by_rows ? p->n : p->m;
    for (int64_t i = lines * part / parts; i < lines * (part + 1) / parts; i++) {
        bool each = f->bias_per_row != by_rows;
        const void *add = !f->bias || each ? f->bias : lac_value_at(lac_dt_size(p->dt), f->bias, i);
        pass->kernels->epilogue_line(by_rows ? lac_c_at(p, i, 0) : lac_c_at(p, 0, i), count,
                                     by_rows ? p->ccs : p->crs, add, each, f->magnitude, f->limit);
    }
}

lac_status_t lac_host_apply_epilogue(lac_exec_t *exec, const lac_problem_t *p)
{
    pass_t pass = {lac_kernels(exec, p->dt), p};
    double worth = (double)p->m * (double)p->n / ELEMENTS_EACH;
    lac_parallel(worth < 2.0                   ? 1
                 : worth < p->settings.threads ? (int)worth
                                               : p->settings.threads,
                 epilogue_part, &pass);
    return LAC_OK;
}
