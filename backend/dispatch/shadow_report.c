/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The largest difference of two results, and the line about it. */
#include "shadow_report.h"
#include "../base/log.h"

#include <math.h>

typedef struct difference {
    double largest, scale;
    lac_dim_t row, column;
} difference_t;

/* NaN never passes: a NaN on one side only counts as an infinite difference. */
static double apart(float x, float y)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y) ? 0.0 : (double)INFINITY;
    return x == y ? 0.0 : fabs((double)x - (double)y);
}

static difference_t compare(const lac_problem_t *p, const lac_shadow_result_t *first,
                            const lac_shadow_result_t *second)
{
    difference_t d = {0};
    for (lac_dim_t i = 0; i < p->m; i++)
        for (lac_dim_t j = 0; j < p->n; j++) {
            float mine = first->buf[i * first->rs + j * first->cs],
                  other = second->buf[i * second->rs + j * second->cs];
            double gap = apart(mine, other);
            if (fabs((double)other) > d.scale) d.scale = fabs((double)other);
            if (gap > d.largest) d.largest = gap, d.row = i, d.column = j;
        }
    return d;
}

void lac_shadow_report(const lac_problem_t *p, const lac_request_t *request, const lac_route_t *first,
                       const lac_shadow_result_t *mine, const lac_route_t *second,
                       const lac_shadow_result_t *other)
{
    difference_t d = compare(p, mine, other);
    lac_log(
        "lacuna,1,compare,%s,%lldx%lldx%lld,%s,%s,max difference %.3g at (%lld,%lld) of %.3g,time ratio %.3f",
        request->symbol, (long long)p->m, (long long)p->k, (long long)p->n, first->name, second->name,
        d.largest, (long long)d.row, (long long)d.column, d.scale,
        other->us > 0 ? mine->us / other->us : 0.0);
}
