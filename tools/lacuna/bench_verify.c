/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Lanes of the bench against the baseline and the product in double. */
#include "bench_verify.h"

#include <stdio.h>
#include <string.h>

#include "stopwatch.h"

/* Of a device, which is faster than the clock of a short loop: calls, or microseconds, whichever is sooner.
 */
#define DEVICE_STEADY_CALLS 2048
#define DEVICE_STEADY_US    20e3

/* The C that a call left, against the baseline's. False with the reason in why. */
static bool agrees(bench_case_t *bench, const bench_lane_t *lane, char *why, size_t size)
{
    if (operand_set_fetch(&bench->set) != LAC_OK) {
        snprintf(why, size, "%s", lac_last_error());
        return false;
    }
    return lane->baseline ? result_check_baseline(&bench->check, why, size)
                          : result_check_agrees(&bench->check, why, size);
}

/* A baseline without a BLAS is the library's own dense product, and is called so. */
static void name_baseline(bench_lane_t *lane)
{
    bool vendor = strcmp(lane->route, ROUTE_CUBLAS) == 0 && strcmp(lane->decision.route, "dense") == 0;
    if (lane->ctx && !vendor) snprintf(lane->route, sizeof lane->route, "%s", lane->decision.route);
}

/* One call from a fresh C with its decision, compared with the baseline. */
static void verify(bench_case_t *bench, bench_lane_t *lane)
{
    char why[sizeof lane->why];
    bool ran = operand_set_reset(&bench->set) == LAC_OK;
    lane->call.decision = lane->ctx ? &lane->decision : NULL;
    double begin = stopwatch_us();
    ran = ran && bench_lane_run(lane);
    if (lane->first_us <= 0.0) lane->first_us = stopwatch_us() - begin;
    lane->call.decision = NULL;
    if (!ran)
        bench_lane_give_up(lane, BENCH_FAILED, lac_last_error());
    else if (lane->call.route && lane->ctx && !lane->baseline &&
             !route_obeyed(&lane->decision, lane->call.route)) {
        snprintf(why, sizeof why, "%s ran instead: %s", lane->decision.route, lane->decision.reason);
        bench_lane_give_up(lane, BENCH_REFUSED, why);
    } else if (!agrees(bench, lane, why, sizeof why))
        bench_lane_give_up(lane, BENCH_WRONG, why);
    else if (lane->baseline)
        name_baseline(lane);
}

/* Calls until nothing changes any more: the dispatcher has seen what the routes take. They are queued, as in
 * a program that keeps its device busy. */
static bool settle(bench_lane_t *lane)
{
    double begin = stopwatch_us();
    int most =
        lane->call.route ? BENCH_STEADY_CALLS : DEVICE_STEADY_CALLS; /* a named route has nothing to learn */
    for (int calls = 0;
         calls < BENCH_STEADY_CALLS || (calls < most && stopwatch_us() - begin < DEVICE_STEADY_US);) {
        for (int i = 0; i < BENCH_STEADY_CALLS; i++, calls++)
            if (bench_lane_queue(lane) != LAC_OK) return false;
        if (lac_device_wait(lane->ctx) != LAC_OK) return false;
    }
    return true;
}

/* One recorded call in steady state, replayed from a fresh C. What a recording may not do, such as to wait
 * for the number of nonzeros, leaves the lane without figures from replays, not without others. */
static void verify_recorded(bench_case_t *bench, bench_lane_t *lane)
{
    char why[sizeof lane->why];
    lac_graph_t *recording = NULL;
    if (!settle(lane)) return;
    lane->call.decision = &lane->recorded;
    lac_status_t status = lac_graph_capture(lane->ctx, bench_lane_queue, lane, 1, &recording);
    lane->call.decision = NULL;
    if (status != LAC_OK) {
        snprintf(lane->why, sizeof lane->why, "cannot be recorded: %.200s", lac_last_error());
        return;
    }
    double us;
    lane->replays = !lane->call.route || lane->baseline || route_obeyed(&lane->recorded, lane->call.route);
    if (!lane->replays)
        snprintf(lane->why, sizeof lane->why, "recorded, %s runs instead", lane->recorded.route);
    else if (operand_set_reset(&bench->set) != LAC_OK || lac_graph_launch(recording, 1, &us) != LAC_OK)
        bench_lane_give_up(lane, BENCH_FAILED, lac_last_error());
    else if (!agrees(bench, lane, why, sizeof why))
        bench_lane_give_up(lane, BENCH_WRONG, why);
    lac_graph_free(recording);
}

void bench_verify_all(bench_case_t *bench)
{
    for (int i = 0; i < bench->lanes; i++) {
        bench_lane_t *lane = &bench->lane[i];
        if (lane->status != BENCH_OK) continue;
        route_verdict_t verdict = {.applies = true};
        if (lane->call.route && lane->ctx && !lane->baseline)
            route_ask(&verdict, lane->ctx, &bench->set, lane->call.route);
        if (verdict.status != LAC_OK)
            bench_lane_give_up(lane, BENCH_FAILED, verdict.why);
        else if (!verdict.applies)
            bench_lane_give_up(lane, BENCH_REFUSED, verdict.why);
        else
            verify(bench, lane);
        if (lane->status == BENCH_OK && computes_on_device(bench->ctx)) verify_recorded(bench, lane);
    }
}

void bench_verify_again(bench_case_t *bench)
{
    for (int i = 1; i < bench->lanes; i++)
        if (bench->lane[i].status == BENCH_OK) verify(bench, &bench->lane[i]);
}
