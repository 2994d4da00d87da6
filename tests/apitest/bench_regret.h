/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * apitest regret: how far the dispatcher's choice is from the best route, over random problems. */
#ifndef TOOL_BENCH_REGRET_H
#define TOOL_BENCH_REGRET_H

#include "bench_case.h"

typedef struct regret_options {
    int count;
    uint64_t seed;
    int64_t max_extent;
    double max_flops; /* of one dense product */
    const char *json; /* or NULL */
} regret_options_t;

/* Times every route that applies to each problem and prints the geometric mean, the 95th percentile and the
 * worst of time(auto) / time(best), and the same against the baseline. Returns an exit code; EXIT_WRONG when
 * a route gave a wrong result. */
int bench_regret_run(const bench_options_t *bench, const regret_options_t *options, const char *command);

#endif
