/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Lanes of the bench against the baseline and the product in double. */
#include "bench_verify.h"

#include <stdio.h>
#include <string.h>

#include "wall_clock.h"

/* Of a device, which is faster than the clock of a short loop: calls, or microseconds, whichever is sooner.
 */
#define DEVICE_STEADY_CALLS 2048
#define DEVICE_STEADY_US    20e3

/* The C that a call left, against the baseline's. False with the reason in why. */
static bool agrees(bench_case_t *bench, const bench_contender_t *contender, char *why, size_t size)
{
    if (operand_set_fetch(&bench->set) != LAC_OK) {
        snprintf(why, size, "%s", lac_last_error());
        return false;
    }
    return contender->baseline ? result_check_baseline(&bench->check, why, size)
                               : result_check_agrees(&bench->check, why, size);
}

/* A baseline without a BLAS is the library's own dense product, and is called so. */
static void name_baseline(bench_contender_t *contender)
{
    bool vendor =
        strcmp(contender->route, ROUTE_CUBLAS) == 0 && strcmp(contender->decision.route, "dense") == 0;
    if (contender->ctx && !vendor)
        snprintf(contender->route, sizeof contender->route, "%s", contender->decision.route);
}

/* One call from a fresh C with its decision, compared with the baseline. */
static void verify(bench_case_t *bench, bench_contender_t *contender)
{
    char why[sizeof contender->why];
    bool ran = operand_set_reset(&bench->set) == LAC_OK;
    contender->call.decision = contender->ctx ? &contender->decision : NULL;
    double begin = clock_us();
    ran = ran && bench_contender_run(contender);
    if (contender->first_us <= 0.0) contender->first_us = clock_us() - begin;
    contender->call.decision = NULL;
    if (!ran)
        bench_contender_give_up(contender, BENCH_FAILED, lac_last_error());
    else if (contender->call.route && contender->ctx && !contender->baseline &&
             !route_obeyed(&contender->decision, contender->call.route)) {
        snprintf(why, sizeof why, "%s ran instead: %s", contender->decision.route,
                 contender->decision.reason);
        bench_contender_give_up(contender, BENCH_REFUSED, why);
    } else if (!agrees(bench, contender, why, sizeof why))
        bench_contender_give_up(contender, BENCH_WRONG, why);
    else if (contender->baseline)
        name_baseline(contender);
}

/* Calls until nothing changes any more: the dispatcher has seen what the routes take. They are queued, as in
 * a program that keeps its device busy. */
static bool settle(bench_contender_t *contender)
{
    double begin = clock_us();
    int most = contender->call.route ? BENCH_STEADY_CALLS
                                     : DEVICE_STEADY_CALLS; /* a named route has nothing to learn */
    for (int calls = 0;
         calls < BENCH_STEADY_CALLS || (calls < most && clock_us() - begin < DEVICE_STEADY_US);) {
        for (int i = 0; i < BENCH_STEADY_CALLS; i++, calls++)
            if (bench_contender_queue(contender) != LAC_OK) return false;
        if (lac_device_wait(contender->ctx) != LAC_OK) return false;
    }
    return true;
}

/* One recorded call in steady state, replayed from a fresh C. What a recording may not do, such as to wait
 * for the number of nonzeros, leaves the lane without figures from replays, not without others. */
static void verify_recorded(bench_case_t *bench, bench_contender_t *contender)
{
    char why[sizeof contender->why];
    lac_graph_t *recording = NULL;
    if (!settle(contender)) return;
    contender->call.decision = &contender->recorded;
    lac_status_t status = lac_graph_capture(contender->ctx, bench_contender_queue, contender, 1, &recording);
    contender->call.decision = NULL;
    if (status != LAC_OK) {
        snprintf(contender->why, sizeof contender->why, "cannot be recorded: %.200s", lac_last_error());
        return;
    }
    double us;
    contender->replays = !contender->call.route || contender->baseline ||
                         route_obeyed(&contender->recorded, contender->call.route);
    if (!contender->replays)
        snprintf(contender->why, sizeof contender->why, "recorded, %s runs instead",
                 contender->recorded.route);
    else if (operand_set_reset(&bench->set) != LAC_OK || lac_graph_launch(recording, 1, &us) != LAC_OK)
        bench_contender_give_up(contender, BENCH_FAILED, lac_last_error());
    else if (!agrees(bench, contender, why, sizeof why))
        bench_contender_give_up(contender, BENCH_WRONG, why);
    lac_graph_free(recording);
}

void bench_verify_all(bench_case_t *bench)
{
    for (int i = 0; i < bench->contenders; i++) {
        bench_contender_t *contender = &bench->contender[i];
        if (contender->status != BENCH_OK) continue;
        route_verdict_t verdict = {.applies = true};
        if (contender->call.route && contender->ctx && !contender->baseline)
            route_ask(&verdict, contender->ctx, &bench->set, contender->call.route);
        if (verdict.status != LAC_OK)
            bench_contender_give_up(contender, BENCH_FAILED, verdict.why);
        else if (!verdict.applies)
            bench_contender_give_up(contender, BENCH_REFUSED, verdict.why);
        else
            verify(bench, contender);
        if (contender->status == BENCH_OK && computes_on_device(bench->ctx))
            verify_recorded(bench, contender);
    }
}

void bench_verify_again(bench_case_t *bench)
{
    for (int i = 1; i < bench->contenders; i++)
        if (bench->contender[i].status == BENCH_OK) verify(bench, &bench->contender[i]);
}
