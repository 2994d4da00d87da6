/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation of an output, line by line along its shorter stride. */
#include "host_finish.h"
#include "../base/threads.h"

#include <math.h>

#define ELEMENTS_EACH 65536 /* that are worth a thread */

static inline float kept(float x, bool magnitude, float limit)
{
    return (magnitude ? fabsf(x) : x) <= limit ? 0.0f : x;
}

/* One line of `count` elements; add[0], or add[j] where each has its own. */
static void finish_line(const lac_finish_t *f, float *out, int64_t count, lac_inc_t stride, const float *add,
                        bool each)
{
    for (int64_t j = 0; j < count; j++) {
        float x = out[j * stride] + (add ? add[each ? j : 0] : 0.0f);
        out[j * stride] = kept(x, f->magnitude, f->limit);
    }
}

static void finish_part(void *arg, int part, int parts)
{
    const lac_finish_t *f = arg;
    bool by_rows = (f->cs < 0 ? -f->cs : f->cs) <= (f->rs < 0 ? -f->rs : f->rs);
    int64_t lines = by_rows ? f->m : f->n, count = by_rows ? f->n : f->m;
    for (int64_t i = lines * part / parts; i < lines * (part + 1) / parts; i++) {
        bool each = f->bias_of_rows != by_rows;
        const float *add = !f->bias ? NULL : each ? f->bias : f->bias + i;
        finish_line(f, f->out + i * (by_rows ? f->rs : f->cs), count, by_rows ? f->cs : f->rs, add, each);
    }
}

lac_status_t lac_host_finish(lac_exec_t *exec, const lac_finish_t *finish, int threads)
{
    (void)exec;
    double worth = (double)finish->m * (double)finish->n / ELEMENTS_EACH;
    lac_finish_t f = *finish;
    lac_parallel(worth < 2.0 ? 1 : worth < threads ? (int)worth : threads, finish_part, &f);
    return LAC_OK;
}
