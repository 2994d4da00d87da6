/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Order statistics of timings: medians and quartiles, because the mean of a noisy clock means little. */
#ifndef TOOL_SAMPLE_STATS_H
#define TOOL_SAMPLE_STATS_H

#include <stddef.h>

typedef struct sample_stats {
    double min, p25, median, p75, p95, max; /* 0 when there is no sample */
    size_t count;
} sample_stats_t;

/* Sorts a copy; the order of the samples is kept. All fields 0 when count is 0 or memory is out. */
sample_stats_t sample_stats(const double *samples, size_t count);

/* The quantile q in [0, 1] of sorted values, linear between neighbours; 0 when there is none. */
double sample_quantile(const double *sorted, size_t count, double q);

/* Ascending, in place. */
void sort_doubles(double *values, size_t count);

#endif
