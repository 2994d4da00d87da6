/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Interleaved timing. */
#include "lane_timing.h"

#include <stdlib.h>

#include "sample_stats.h"
#include "stopwatch.h"

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
static double settle_after(const timed_lane_t *lane, double call_us)
{
    if (lane->measure) return 0.0;
    return lane->lingers && call_us >= LINGERS_FROM ? LINGER_US : SETTLE_US;
}

static bool warm_up(timed_lane_t *lane, const timing_plan_t *plan)
{
    double spent = 0.0;
    int calls = lane->warmup > plan->warmup ? lane->warmup : plan->warmup;
    if (lane->reset) lane->reset(lane->arg);
    for (int i = 0; i < calls && (i < 3 || spent < WARMUP_US); i++) {
        double begin = stopwatch_us();
        if (!lane->run(lane->arg)) return false;
        double took = stopwatch_us() - begin;
        if (lane->first <= 0.0) lane->first = took;
        spent += took;
    }
    return true;
}

/* Microseconds per call over `calls` calls; negative when one failed. */
static double sample_once(timed_lane_t *lane, int calls)
{
    if (lane->measure) return lane->measure(lane->measured, calls);
    double begin = stopwatch_us();
    for (int i = 0; i < calls; i++)
        if (!lane->run(lane->arg)) return -1.0;
    return (stopwatch_us() - begin) / calls;
}

static void drop(timed_lane_t *lane, bool failed)
{
    lane->dropped = true;
    lane->failed = failed;
    free(lane->sample);
    lane->sample = NULL;
    lane->count = 0;
}

static int calls_to_fill(const timing_plan_t *plan, double us)
{
    int most = plan->max_inner > 0 ? plan->max_inner : INNER_MAX;
    double calls = plan->cache || us >= SAMPLE_US ? 1.0 : SAMPLE_US / (us > 0.0 ? us : 0.01);
    return calls > most ? most : calls < 1.0 ? 1 : (int)calls;
}

/* Microseconds of one call, roughly; negative when one failed. */
static double try_out(timed_lane_t *lane, const timing_plan_t *plan)
{
    if (!warm_up(lane, plan)) return -1.0;
    double us = sample_once(lane, lane->measure ? FIRST_INNER : 1);
    bool again = !lane->measure && !plan->cache && us >= 0.0 && us < SAMPLE_US;
    return again ? sample_once(lane, us < 1.0 ? 64 : 8) : us;
}

/* Fills inner; the time of one round in *round_us. */
static void calibrate(timed_lane_t *lanes, int count, const timing_plan_t *plan, double *round_us)
{
    *round_us = 0.0;
    for (int i = 0; i < count; i++) {
        timed_lane_t *lane = &lanes[i];
        if (lane->dropped) continue;
        double us = try_out(lane, plan);
        if (us < 0.0) {
            drop(lane, true);
            continue;
        }
        lane->inner = calls_to_fill(plan, us);
        int untimed = lane->measure ? lane->inner : 1;
        *round_us += us * (lane->inner + untimed) + settle_after(lane, us);
    }
}

static int choose_rounds(const timing_plan_t *plan, int lanes, double round_us)
{
    if (plan->repeat > 0) return plan->repeat;
    if (plan->cache) return COLD_ROUNDS;
    double rounds = plan->min_time_s * 1e6 * lanes / (round_us > 1.0 ? round_us : 1.0);
    return rounds < ROUNDS_MIN ? ROUNDS_MIN : rounds > ROUNDS_MAX ? ROUNDS_MAX : (int)rounds;
}

static bool settle(timed_lane_t *lane, double us)
{
    double begin = stopwatch_us();
    do
        if (!lane->run(lane->arg)) return false;
    while (stopwatch_us() - begin < us);
    return true;
}

/* settle_us comes from the lane before and goes to the lane behind. */
static void take_sample(timed_lane_t *lane, const timing_plan_t *plan, double *settle_us)
{
    if (lane->reset) lane->reset(lane->arg);
    if (plan->cache) cold_cache_flush(plan->cache);
    bool ready = plan->cache || lane->measure || settle(lane, *settle_us);
    double us = ready ? sample_once(lane, lane->inner) : -1.0;
    if (us < 0.0) {
        drop(lane, true);
        return;
    }
    lane->sample[lane->count++] = us;
    *settle_us = settle_after(lane, us);
}

static void drop_slow(timed_lane_t *lanes, int count, double factor)
{
    double best = 0.0;
    for (int i = 0; i < count; i++)
        if (lanes[i].count > 0 && (best <= 0.0 || lanes[i].sample[0] < best)) best = lanes[i].sample[0];
    for (int i = 0; i < count; i++)
        if (lanes[i].count > 0 && !lanes[i].keep && lanes[i].sample[0] > factor * best)
            drop(&lanes[i], false);
}

bool time_lanes(timed_lane_t *lanes, int count, const timing_plan_t *plan)
{
    double round_us, settle_us = SETTLE_US;
    calibrate(lanes, count, plan, &round_us);
    int rounds = choose_rounds(plan, count, round_us);
    for (int i = 0; i < count; i++) {
        lanes[i].count = 0;
        free(lanes[i].sample);
        lanes[i].sample = lanes[i].dropped ? NULL : malloc((size_t)rounds * sizeof(double));
        if (!lanes[i].sample && !lanes[i].dropped) return false;
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++)
            if (!lanes[i].dropped) take_sample(&lanes[i], plan, &settle_us);
        if (round == 0 && plan->drop_factor > 0.0) drop_slow(lanes, count, plan->drop_factor);
    }
    return true;
}

double paired_speedup(const timed_lane_t *base, const timed_lane_t *lane)
{
    size_t count = base->count < lane->count ? base->count : lane->count;
    double *ratio = count > 0 ? malloc(count * sizeof *ratio) : NULL;
    if (!ratio) return 0.0;
    for (size_t i = 0; i < count; i++) ratio[i] = base->sample[i] / lane->sample[i];
    double median = sample_stats(ratio, count).median;
    free(ratio);
    return median;
}
