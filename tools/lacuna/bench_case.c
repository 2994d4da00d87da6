/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem of the bench: verified, then timed. */
#include "bench_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_load.h"
#include "sample_stats.h"
#include "stopwatch.h"

/* Calls before timing: more than the library's sites need to settle. */
#define STEADY_CALLS 32
#define SCANS        5

const char *bench_status_name(bench_status_t status)
{
    static const char *const names[] = {"ok", "refused", "wrong", "failed", "slow"};
    return names[status];
}

const char *bench_cache_name(bench_cache_t cache)
{
    return cache == BENCH_WARM ? "warm" : "cold";
}

static bool run_lane(void *arg)
{
    bench_lane_t *lane = arg;
    const operand_set_t *set = lane->set;
    if (!lane->ctx) {
        vendor_call_run(&lane->vendor);
        return true;
    }
    const float *alpha = &set->problem.alpha, *beta = &set->problem.beta;
    if (!lane->call.route) return lac_gemm(lane->ctx, alpha, lane->a, lane->b, beta, &set->c) == LAC_OK;
    return lac_gemm_ex(lane->ctx, alpha, lane->a, lane->b, beta, &set->c, &lane->call) == LAC_OK;
}

/* Repeated calls with beta other than 0 walk away from the first C; that is put right before each sample. */
static void reset_lane(void *arg)
{
    const bench_lane_t *lane = arg;
    if (lane->set->problem.beta != 0.0f) operand_set_reset((operand_set_t *)lane->set);
}

static void give_up(bench_lane_t *lane, bench_status_t status, const char *why)
{
    lane->status = status;
    snprintf(lane->why, sizeof lane->why, "%s", why);
}

static int add_lane(bench_case_t *bench, const char *route, const bench_options_t *options,
                    const char *command)
{
    bench_lane_t *lane = &bench->lane[bench->lanes++];
    snprintf(lane->route, sizeof lane->route, "%s", route);
    lane->set = &bench->set;
    lane->baseline = bench->lanes == 1;
    lane->a = lane->baseline ? &bench->set.plain_a : &bench->set.a;
    lane->b = lane->baseline ? &bench->set.plain_b : &bench->set.b;
    lane->call.size = sizeof lane->call;
    lane->call.route = strcmp(route, ROUTE_AUTO) == 0 ? NULL : lane->route;
    if (strcmp(route, ROUTE_VENDOR) != 0) return common_context(&options->common, command, &lane->ctx);
    const char *refusal = vendor_call_make(&lane->vendor, &bench->set);
    if (refusal) give_up(lane, BENCH_REFUSED, refusal);
    return EXIT_OK;
}

/* The vendor's BLAS as the baseline, or the library's dense route where BLAS cannot make the call. */
static int add_baseline(bench_case_t *bench, const bench_options_t *options, const char *command)
{
    int code = add_lane(bench, options->baseline, options, command);
    bench_lane_t *lane = &bench->lane[0];
    if (code != EXIT_OK || lane->status != BENCH_REFUSED) return code;
    char why[sizeof lane->why];
    memcpy(why, lane->why, sizeof why);
    *lane = (bench_lane_t){0};
    bench->lanes = 0;
    code = add_lane(bench, "dense", options, command);
    snprintf(lane->why, sizeof lane->why, "not %s: %.200s", options->baseline, why);
    return code;
}

static int add_lanes(bench_case_t *bench, const bench_options_t *options, const char *command)
{
    int code = add_baseline(bench, options, command);
    for (int i = 0; code == EXIT_OK && i < options->routes.count; i++) {
        const char *route = options->routes.name[i];
        bool plain = bench->set.a.buf == bench->set.plain_a.buf && bench->set.b.buf == bench->set.plain_b.buf;
        if (plain && strcmp(route, bench->lane[0].route) == 0) continue;
        code = add_lane(bench, route, options, command);
    }
    return code;
}

/* One call from a fresh C with its decision, compared with the baseline. */
static void verify(bench_case_t *bench, bench_lane_t *lane)
{
    char why[sizeof lane->why];
    operand_set_reset(&bench->set);
    lane->call.decision = lane->ctx ? &lane->decision : NULL;
    double begin = stopwatch_us();
    bool ran = lane->ctx ? lac_gemm_ex(lane->ctx, &bench->set.problem.alpha, lane->a, lane->b,
                                       &bench->set.problem.beta, &bench->set.c, &lane->call) == LAC_OK
                         : run_lane(lane);
    if (lane->first_us <= 0.0) lane->first_us = stopwatch_us() - begin;
    lane->call.decision = NULL;
    if (!ran)
        give_up(lane, BENCH_FAILED, lac_last_error());
    else if (lane->call.route && lane->ctx && !lane->baseline &&
             !route_obeyed(&lane->decision, lane->route)) {
        snprintf(why, sizeof why, "%s ran instead: %s", lane->decision.route, lane->decision.reason);
        give_up(lane, BENCH_REFUSED, why);
    } else if (lane->baseline ? !result_check_baseline(&bench->check, why, sizeof why)
                              : !result_check_agrees(&bench->check, why, sizeof why))
        give_up(lane, BENCH_WRONG, why);
    /* Without a BLAS the library's own dense product is the baseline, and is called so. */
    else if (lane->baseline && lane->ctx)
        snprintf(lane->route, sizeof lane->route, "%s", lane->decision.route);
}

static void verify_all(bench_case_t *bench)
{
    for (int i = 0; i < bench->lanes; i++) {
        bench_lane_t *lane = &bench->lane[i];
        if (lane->status != BENCH_OK) continue;
        route_verdict_t verdict = {.applies = true};
        if (lane->call.route && lane->ctx && !lane->baseline)
            route_ask(&verdict, lane->ctx, &bench->set, lane->route);
        if (verdict.status != LAC_OK)
            give_up(lane, BENCH_FAILED, verdict.why);
        else if (!verdict.applies)
            give_up(lane, BENCH_REFUSED, verdict.why);
        else
            verify(bench, lane);
    }
}

static bool runs_blas(const bench_lane_t *lane)
{
    return !lane->ctx || (lane->decision.route && strcmp(lane->decision.route, "dense") == 0);
}

static bool time_all(bench_case_t *bench, const bench_options_t *options, cold_cache_t *cold,
                     bench_cache_t cache)
{
    timed_lane_t *timed = bench->timed[cache];
    for (int i = 0; i < bench->lanes; i++)
        timed[i] = (timed_lane_t){.run = run_lane,
                                  .reset = reset_lane,
                                  .arg = &bench->lane[i],
                                  .lingers = runs_blas(&bench->lane[i]),
                                  .keep = i == 0 || strcmp(bench->lane[i].route, ROUTE_AUTO) == 0,
                                  .dropped = bench->lane[i].status != BENCH_OK};
    timing_plan_t plan = {.min_time_s = options->min_time_s,
                          .repeat = options->repeat,
                          .warmup = STEADY_CALLS,
                          .drop_factor = options->drop_factor,
                          .cache = cache == BENCH_COLD ? cold : NULL};
    bool ok = time_lanes(timed, bench->lanes, &plan);
    for (int i = 0; i < bench->lanes; i++) {
        bench_lane_t *lane = &bench->lane[i];
        if (lane->status != BENCH_OK || !timed[i].dropped) continue;
        if (timed[i].failed)
            give_up(lane, BENCH_FAILED, lac_last_error());
        else
            give_up(lane, BENCH_SLOW, "far slower than the fastest: not timed further");
    }
    return ok;
}

/* Median time of measuring, from the dense buffer, what the problem gives as metadata. */
static double time_scan(lac_ctx_t *ctx, const ref_matrix_t *x, ref_meta_t meta)
{
    double sample[SCANS];
    unsigned what = operand_set_scan_mask(meta);
    if (what == 0) return -1.0;
    for (int i = 0; i < SCANS; i++) {
        lac_obj_t obj = ref_matrix_obj(x, LAC_NO_TRANS);
        if (lac_meta_create(&obj.meta, x->m, x->n) != LAC_OK) return -1.0;
        double begin = stopwatch_us();
        lac_status_t status = lac_meta_scan(ctx, &obj, what);
        sample[i] = stopwatch_us() - begin;
        lac_meta_free(obj.meta);
        if (status != LAC_OK) return -1.0;
    }
    return sample_stats(sample, SCANS).median;
}

static int make_case(bench_case_t *bench, const ref_problem_t *problem, const bench_options_t *options,
                     const char *command)
{
    lac_ctx_t *ctx;
    int code = common_context(&options->common, command, &ctx);
    if (code != EXIT_OK) return code;
    char error[REF_PROBLEM_TEXT + 256];
    if (!operand_set_make(&bench->set, problem, ctx, error, sizeof error)) {
        complain(command, "%s", error);
        code = EXIT_UNAVAILABLE;
    } else if (!work_count(&bench->work, &bench->set) || !result_check_make(&bench->check, &bench->set)) {
        complain(command, "%s: out of memory", bench->set.text);
        code = EXIT_UNAVAILABLE;
    } else {
        bench->scan_a_us = time_scan(ctx, &bench->set.data.a, problem->a.meta);
        bench->scan_b_us = time_scan(ctx, &bench->set.data.b, problem->b.meta);
    }
    lac_ctx_free(ctx);
    return code;
}

int bench_case_run(bench_case_t *bench, const ref_problem_t *problem, const bench_options_t *options,
                   cold_cache_t *cache, const char *command)
{
    memset(bench, 0, sizeof *bench);
    int code = make_case(bench, problem, options, command);
    if (code == EXIT_OK) code = add_lanes(bench, options, command);
    if (code == EXIT_OK) verify_all(bench);
    machine_load_t load = machine_load_now();
    for (int c = 0; code == EXIT_OK && c < BENCH_CACHES; c++)
        if (options->cache[c] && !time_all(bench, options, cache, (bench_cache_t)c)) {
            complain(command, "%s: out of memory", bench->set.text);
            code = EXIT_UNAVAILABLE;
        }
    bench->others = machine_load_of_others(&load);
    for (int i = 1; code == EXIT_OK && i < bench->lanes; i++)
        if (bench->lane[i].status == BENCH_OK) verify(bench, &bench->lane[i]);
    if (code != EXIT_OK) bench_case_free(bench);
    return code;
}

void bench_case_free(bench_case_t *bench)
{
    for (int i = 0; i < bench->lanes; i++) {
        for (int c = 0; c < BENCH_CACHES; c++) free(bench->timed[c][i].sample);
        lac_ctx_free(bench->lane[i].ctx);
    }
    result_check_free(&bench->check);
    operand_set_free(&bench->set);
    memset(bench, 0, sizeof *bench);
}

bool bench_timed(const bench_case_t *bench, int lane, bench_cache_t cache)
{
    bench_status_t status = bench->lane[lane].status;
    return bench->timed[cache][lane].count > 0 && (status == BENCH_OK || status == BENCH_SLOW);
}

int bench_case_complain(const bench_case_t *bench, const char *command)
{
    int bad = 0;
    for (int i = 0; i < bench->lanes; i++) {
        const bench_lane_t *lane = &bench->lane[i];
        if (lane->status != BENCH_WRONG && lane->status != BENCH_FAILED) continue;
        complain(command, "%s: route %s: %s: %s", bench->set.text, lane->route,
                 bench_status_name(lane->status), lane->why);
        bad++;
    }
    return bad;
}
