/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Interleaved timing. */
#include "contender_timing.h"

#include <stdlib.h>

#include "sample_stats.h"
#include "wall_clock.h"

/* A sample is as many calls as fill this time, so that the clock's own grain does not show. */
#define SAMPLE_US 400.0
#define INNER_MAX 4096
#define WARMUP_US 2e5 /* enough for a fast lane's warm-up calls, a bound for a slow one's */
/* Untimed calls before each warm sample last this long (one call at least): the caches, the clock of the
 * processor and the branch predictor forget while others run. */
#define SETTLE_US 1000.0
/* OpenBLAS's threads look for work for 2^26 cycles before they sleep, and would take processors from the next
 * lane, which settles for so long then. A call shorter than LINGERS_FROM has not woken them. */
#define LINGER_US    30000.0
#define LINGERS_FROM 100.0
#define COLD_ROUNDS  15
#define FIRST_INNER  4 /* calls of the sample from which a lane that measures itself is calibrated */

/* How long the lane behind this one has to settle. */
static double settle_after(const timed_contender_t *contender, double call_us)
{
    if (contender->measure) return 0.0;
    return contender->lingers && call_us >= LINGERS_FROM ? LINGER_US : SETTLE_US;
}

static bool warm_up(timed_contender_t *contender, const timing_plan_t *plan)
{
    double spent = 0.0;
    int calls = contender->warmup > plan->warmup ? contender->warmup : plan->warmup;
    if (contender->reset) contender->reset(contender->arg);
    for (int i = 0; i < calls && (i < 3 || spent < WARMUP_US); i++) {
        double begin = clock_us();
        if (!contender->run(contender->arg)) return false;
        double took = clock_us() - begin;
        if (contender->first <= 0.0) contender->first = took;
        spent += took;
    }
    return true;
}

/* Microseconds per call over `calls` calls; negative when one failed. */
static double sample_once(timed_contender_t *contender, int calls)
{
    if (contender->measure) return contender->measure(contender->measured, calls);
    double begin = clock_us();
    for (int i = 0; i < calls; i++)
        if (!contender->run(contender->arg)) return -1.0;
    return (clock_us() - begin) / calls;
}

static void drop(timed_contender_t *contender, bool failed)
{
    contender->dropped = true;
    contender->failed = failed;
    free(contender->sample);
    contender->sample = NULL;
    contender->count = 0;
}

static int calls_to_fill(const timing_plan_t *plan, double us)
{
    int most = plan->max_inner > 0 ? plan->max_inner : INNER_MAX;
    double calls = plan->cache || us >= SAMPLE_US ? 1.0 : SAMPLE_US / (us > 0.0 ? us : 0.01);
    return calls > most ? most : calls < 1.0 ? 1 : (int)calls;
}

/* Microseconds of one call, roughly; negative when one failed. */
static double try_out(timed_contender_t *contender, const timing_plan_t *plan)
{
    if (!warm_up(contender, plan)) return -1.0;
    double us = sample_once(contender, contender->measure ? FIRST_INNER : 1);
    bool again = !contender->measure && !plan->cache && us >= 0.0 && us < SAMPLE_US;
    return again ? sample_once(contender, us < 1.0 ? 64 : 8) : us;
}

/* Fills inner; the time of one round in *round_us. */
static void calibrate(timed_contender_t *contenders, int count, const timing_plan_t *plan, double *round_us)
{
    *round_us = 0.0;
    for (int i = 0; i < count; i++) {
        timed_contender_t *contender = &contenders[i];
        if (contender->dropped) continue;
        double us = try_out(contender, plan);
        if (us < 0.0) {
            drop(contender, true);
            continue;
        }
        contender->inner = calls_to_fill(plan, us);
        int untimed = contender->measure ? contender->inner : 1;
        *round_us += us * (contender->inner + untimed) + settle_after(contender, us);
    }
}

static int choose_rounds(const timing_plan_t *plan, int contenders, double round_us)
{
    if (plan->repeat > 0) return plan->repeat;
    if (plan->cache) return COLD_ROUNDS;
    double rounds = plan->min_time_s * 1e6 * contenders / (round_us > 1.0 ? round_us : 1.0);
    return rounds < ROUNDS_MIN ? ROUNDS_MIN : rounds > ROUNDS_MAX ? ROUNDS_MAX : (int)rounds;
}

static bool settle(timed_contender_t *contender, double us)
{
    double begin = clock_us();
    do
        if (!contender->run(contender->arg)) return false;
    while (clock_us() - begin < us);
    return true;
}

/* settle_us comes from the lane before and goes to the lane behind. */
static void take_sample(timed_contender_t *contender, const timing_plan_t *plan, double *settle_us)
{
    if (contender->reset) contender->reset(contender->arg);
    if (plan->cache) cache_flush_run(plan->cache);
    bool ready = plan->cache || contender->measure || settle(contender, *settle_us);
    double us = ready ? sample_once(contender, contender->inner) : -1.0;
    if (us < 0.0) {
        drop(contender, true);
        return;
    }
    contender->sample[contender->count++] = us;
    *settle_us = settle_after(contender, us);
}

static void drop_slow(timed_contender_t *contenders, int count, double factor)
{
    double best = 0.0;
    for (int i = 0; i < count; i++)
        if (contenders[i].count > 0 && (best <= 0.0 || contenders[i].sample[0] < best))
            best = contenders[i].sample[0];
    for (int i = 0; i < count; i++)
        if (contenders[i].count > 0 && !contenders[i].keep && contenders[i].sample[0] > factor * best)
            drop(&contenders[i], false);
}

bool time_contenders(timed_contender_t *contenders, int count, const timing_plan_t *plan)
{
    double round_us, settle_us = SETTLE_US;
    calibrate(contenders, count, plan, &round_us);
    int rounds = choose_rounds(plan, count, round_us);
    for (int i = 0; i < count; i++) {
        contenders[i].count = 0;
        free(contenders[i].sample);
        contenders[i].sample = contenders[i].dropped ? NULL : malloc((size_t)rounds * sizeof(double));
        if (!contenders[i].sample && !contenders[i].dropped) return false;
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++)
            if (!contenders[i].dropped) take_sample(&contenders[i], plan, &settle_us);
        if (round == 0 && plan->drop_factor > 0.0) drop_slow(contenders, count, plan->drop_factor);
    }
    return true;
}

double paired_speedup(const timed_contender_t *base, const timed_contender_t *contender)
{
    size_t count = base->count < contender->count ? base->count : contender->count;
    double *ratio = count > 0 ? malloc(count * sizeof *ratio) : NULL;
    if (!ratio) return 0.0;
    for (size_t i = 0; i < count; i++) ratio[i] = base->sample[i] / contender->sample[i];
    double median = sample_stats(ratio, count).median;
    free(ratio);
    return median;
}
