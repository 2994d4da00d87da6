/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the samples of one problem say of the dispatcher. */
#include "regret_judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

/* The library's promise against the dense call: at most 2 % or 1.5 us slower, the larger of both. */
#define ALLOWED_FACTOR 1.02
#define ALLOWED_US     1.5

static int find_auto(const bench_case_t *bench)
{
    for (int i = 1; i < bench->contenders; i++)
        if (strcmp(bench->contender[i].route, ROUTE_AUTO) == 0 && bench_timed(bench, i, BENCH_WARM)) return i;
    return -1;
}

/* The fastest route of the library; the BLAS called directly is none. */
static int find_best(const bench_case_t *bench, int except)
{
    int best = -1;
    double best_us = 0.0;
    for (int i = 0; i < bench->contenders; i++) {
        if (i == except || !bench->contender[i].ctx || !bench_timed(bench, i, BENCH_WARM)) continue;
        double us =
            sample_stats(bench->timed[BENCH_WARM][i].sample, bench->timed[BENCH_WARM][i].count).median;
        if (best >= 0 && us >= best_us) continue;
        best = i;
        best_us = us;
    }
    return best;
}

static double median_us(const timed_contender_t *contender)
{
    return sample_stats(contender->sample, contender->count).median;
}

static double over(const timed_contender_t *contender, const timed_contender_t *other)
{
    double speedup = paired_speedup(other, contender);
    return speedup > 0.0 ? 1.0 / speedup : 0.0;
}

static void route_text(const lac_decision_t *d, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", d->route, *d->side ? " " : "", d->side);
}

/* Every route that was asked for by name. */
static void list_contenders(regret_t *r, const bench_case_t *bench)
{
    r->contenders = 0;
    for (int i = 0; i < bench->contenders; i++) {
        const bench_contender_t *contender = &bench->contender[i];
        if (!contender->ctx || !contender->call.route || !bench_timed(bench, i, BENCH_WARM)) continue;
        regret_contender_t *to = &r->contender[r->contenders++];
        route_text(&contender->decision, to->route, sizeof to->route);
        to->us = median_us(&bench->timed[BENCH_WARM][i]);
        to->predicted_us = contender->decision.cost_us;
    }
}

double regret_over_allowed(double auto_us, double base_us)
{
    return auto_us / fmax(ALLOWED_FACTOR * base_us, base_us + ALLOWED_US);
}

/* The median of that over the rounds: what slows the machine down slows both of a round. */
static double over_allowed(const timed_contender_t *contender, const timed_contender_t *base)
{
    size_t count = base->count < contender->count ? base->count : contender->count;
    double *ratio = count > 0 ? malloc(count * sizeof *ratio) : NULL;
    if (!ratio) return 0.0;
    for (size_t i = 0; i < count; i++) ratio[i] = regret_over_allowed(contender->sample[i], base->sample[i]);
    double median = sample_stats(ratio, count).median;
    free(ratio);
    return median;
}

size_t regret_promise_broken(const regret_t *found, size_t count)
{
    size_t broken = 0;
    for (size_t i = 0; i < count; i++) broken += found[i].over_promise > 1.0;
    return broken;
}

regret_t regret_middle(const regret_t *found)
{
    int middle = 0;
    for (int i = 0; i < REGRET_AGAIN; i++) {
        int below = 0, above = 0;
        for (int j = 0; j < REGRET_AGAIN; j++) {
            below += found[j].over_promise < found[i].over_promise;
            above += found[j].over_promise > found[i].over_promise;
        }
        if (below <= REGRET_AGAIN / 2 && above <= REGRET_AGAIN / 2) middle = i;
    }
    regret_t one = found[middle];
    for (int i = 0; i < REGRET_AGAIN; i++) one.again[i] = found[i].over_promise;
    one.agains = REGRET_AGAIN;
    return one;
}

double geometric_mean(const double *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) sum += log(values[i]);
    return count > 0 ? exp(sum / (double)count) : 0.0;
}

bool regret_judge(regret_t *r, const bench_case_t *bench)
{
    int chosen = find_auto(bench), best = find_best(bench, chosen);
    if (chosen < 0 || best < 0 || !bench_timed(bench, 0, BENCH_WARM)) return false;
    const timed_contender_t *timed = bench->timed[BENCH_WARM];
    const lac_decision_t *d = &bench->contender[chosen].decision;
    snprintf(r->problem, sizeof r->problem, "%s", bench->set.text);
    snprintf(r->best, sizeof r->best, "%s", bench->contender[best].route);
    route_text(d, r->decided, sizeof r->decided);
    list_contenders(r, bench);
    r->auto_us = median_us(&timed[chosen]);
    r->best_us = median_us(&timed[best]);
    r->base_us = median_us(&timed[0]);
    r->over_best = over(&timed[chosen], &timed[best]);
    r->over_base = over(&timed[chosen], &timed[0]);
    r->over_promise = over_allowed(&timed[chosen], &timed[0]);
    return true;
}
