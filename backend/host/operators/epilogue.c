/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of an output, line by line along its shorter stride. */
#include "operators.h"
#include "base/threads.h"

#include <math.h>

#define ELEMENTS_EACH 65536 /* that are worth a thread */

static inline float kept(float x, bool magnitude, float limit)
{
    return (magnitude ? fabsf(x) : x) <= limit ? 0.0f : x;
}

/* One line of `count` elements; add[0], or add[j] where each has its own. */
static void epilogue_line(const lac_epilogue_args_t *f, float *out, int64_t count, lac_inc_t stride,
                          const float *add, bool each)
{
    for (int64_t j = 0; j < count; j++) {
        float x = out[j * stride] + (add ? add[each ? j : 0] : 0.0f);
        out[j * stride] = kept(x, f->magnitude, f->limit);
    }
}

static void epilogue_part(void *arg, int part, int parts)
{
    const lac_problem_t *p = arg;
    const lac_epilogue_args_t *f = &p->epilogue;
    bool by_rows = (p->ccs < 0 ? -p->ccs : p->ccs) <= (p->crs < 0 ? -p->crs : p->crs);
    int64_t lines = by_rows ? p->m : p->n, count = by_rows ? p->n : p->m;
    for (int64_t i = lines * part / parts; i < lines * (part + 1) / parts; i++) {
        bool each = f->bias_per_row != by_rows;
        const float *add = !f->bias ? NULL : each ? f->bias : f->bias + i;
        epilogue_line(f, p->c + i * (by_rows ? p->crs : p->ccs), count, by_rows ? p->ccs : p->crs, add, each);
    }
}

lac_status_t lac_host_apply_epilogue(lac_exec_t *exec, const lac_problem_t *p)
{
    (void)exec;
    double worth = (double)p->m * (double)p->n / ELEMENTS_EACH;
    lac_problem_t product = *p;
    lac_parallel(worth < 2.0                   ? 1
                 : worth < p->settings.threads ? (int)worth
                                               : p->settings.threads,
                 epilogue_part, &product);
    return LAC_OK;
}
