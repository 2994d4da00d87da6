/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the samples of one problem say of the dispatcher: its time over that of the best route, of the
 * baseline, and of what the library's promise allows. */
#ifndef APITEST_REGRET_JUDGE_H
#define APITEST_REGRET_JUDGE_H

#include "bench_case.h"

/* Processes that time again what seems to break the promise: the one in the middle counts. */
enum { REGRET_AGAIN = 3 };

/* What one route took, and what the cost model says of it. */
typedef struct regret_contender {
    char route[ROUTE_NAME + 8];
    double us, predicted_us;
} regret_contender_t;

typedef struct regret {
    char problem[REF_PROBLEM_TEXT];
    char best[ROUTE_NAME], decided[ROUTE_NAME + 8];
    double auto_us, best_us, base_us;
    /* Medians of the ratios within a round; over_promise: to what the promise allows. */
    double over_best, over_base, over_promise;
    regret_contender_t contender[BENCH_CONTENDERS];
    int contenders;
    double again[REGRET_AGAIN]; /* over_promise of each process that timed it again */
    int agains;                 /* how many did                                     */
} regret_t;

/* auto_us over the larger of 1.02 base_us and base_us + 1.5: above 1 the promise is broken. */
double regret_over_allowed(double auto_us, double base_us);

/* How many of them are above 1 in that. */
size_t regret_promise_broken(const regret_t *found, size_t count);

/* Of REGRET_AGAIN findings of one problem the one whose over_promise is the median, with that of all of them.
 */
regret_t regret_middle(const regret_t *found);

/* exp(mean(log x)) of positive values; 0 when there is none. */
double geometric_mean(const double *values, size_t count);

/* False where there is nothing to compare: the dispatcher, the baseline or every other route has no samples.
 */
bool regret_judge(regret_t *r, const bench_case_t *bench);

#endif
