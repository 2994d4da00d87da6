/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Order statistics of timings. */
#include "sample_stats.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void sort_doubles(double *values, size_t count)
{
    if (count > 1) qsort(values, count, sizeof *values, ascending);
}

double sample_quantile(const double *sorted, size_t count, double q)
{
    if (count == 0) return 0.0;
    double at = q * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

sample_stats_t sample_stats(const double *samples, size_t count)
{
    sample_stats_t stats = {0};
    double *sorted = count > 0 ? malloc(count * sizeof *sorted) : NULL;
    if (!sorted) return stats;
    memcpy(sorted, samples, count * sizeof *sorted);
    sort_doubles(sorted, count);
    stats.min = sorted[0];
    stats.p25 = sample_quantile(sorted, count, 0.25);
    stats.median = sample_quantile(sorted, count, 0.5);
    stats.p75 = sample_quantile(sorted, count, 0.75);
    stats.p95 = sample_quantile(sorted, count, 0.95);
    stats.max = sorted[count - 1];
    stats.count = count;
    free(sorted);
    return stats;
}
