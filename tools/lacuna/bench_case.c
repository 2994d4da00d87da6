/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem of the bench: its contenders, verified, then timed. */
#include "bench_case.h"
#include "timing.h"

#include <stdio.h>
#include <string.h>
#include <stdlib.h>

const char *bench_status_name(bench_status_t status)
{
    static const char *const names[] = {"ok", "refused", "wrong", "failed", "slow"};
    return names[status];
}

/* The arg of these three is a bench_contender_t. One call; on a device it is only queued. Errors: those of
 * lac_gemm_ex. */
static lac_status_t bench_contender_queue(void *arg)
{
    bench_contender_t *contender = arg;
    const operand_set_t *set = contender->set;
    const void *alpha = operand_set_alpha(set), *beta = operand_set_beta(set);
    if (!contender->call.route && !contender->call.decision)
        return lac_gemm(contender->ctx, alpha, contender->a, contender->b, beta, &set->c);
    return lac_gemm_ex(contender->ctx, alpha, contender->a, contender->b, beta, &set->c, &contender->call);
}

/* One call, done when this returns; false: it failed. */
static bool bench_contender_run(void *arg)
{
    bench_contender_t *contender = arg;
    if (!contender->ctx) {
        vendor_call_run(&contender->vendor);
        return true;
    }
    if (bench_contender_queue(contender) != LAC_OK) return false;
    return !computes_on_device(contender->ctx) || lac_device_wait(contender->ctx) == LAC_OK;
}

/* Repeated calls with beta other than 0 walk away from the first C; that is put right before each sample. */
static void bench_contender_reset(void *arg)
{
    const bench_contender_t *contender = arg;
    if (contender->set->problem.beta != 0.0f) operand_set_reset((operand_set_t *)contender->set);
}

static void bench_contender_give_up(bench_contender_t *contender, bench_status_t status, const char *why)
{
    contender->status = status;
    snprintf(contender->why, sizeof contender->why, "%s", why);
}

/* Contenders of the bench against the baseline and the product in double. */

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
    if (contender->baseline) return result_check_baseline(&bench->check, why, size);
    bool right = result_check_agrees(&bench->check, why, size);
    if (bench->check.corrected > 0 && bench->contender[0].status == BENCH_OK)
        bench_contender_give_up(&bench->contender[0], BENCH_WRONG, bench->check.baseline_why);
    return right;
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
 * for the number of nonzeros, leaves the contender without figures from replays, not without others. */
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

/* Runs every contender once with its decision; on a device, captures it in steady state too and checks what a
 * replay computes. A contender that refuses, fails or is wrong gets its status and the reason. */
static void bench_verify_all(bench_case_t *bench)
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

/* Runs every contender that was timed once more. */
static void bench_verify_again(bench_case_t *bench)
{
    for (int i = 1; i < bench->contenders; i++)
        if (bench->contender[i].status == BENCH_OK) verify(bench, &bench->contender[i]);
}

/* One problem of the bench: verified, then timed. */

#define SCANS 5

/* Of the dispatcher on the host, as a program makes them at a site that it calls thousands of times. Trials
 * take 1 % of the time at most: with 1024 calls and 0.2 s, 28 of 300 random problems were still more than 10
 * % from their best route, with these 11 (their measured times played on a clock without noise, two-core
 * Xeon, 2026-11-22). */
#define HOST_LEARNING_CALLS 4096
#define HOST_LEARNING_US    1e6

/* Cold, on a device: a call comes with a sweep of some tens of microseconds, so fewer of them. */
#define DEVICE_COLD_CALLS  8
#define DEVICE_COLD_ROUNDS 31
#define DEVICE_CALLS       256 /* in one recording */

const char *bench_cache_name(bench_cache_t cache)
{
    static const char *const names[] = {"warm", "cold", "queued"};
    return names[cache];
}

static bool on_device(const bench_case_t *bench)
{
    return computes_on_device(bench->ctx);
}

const char *bench_timing_name(const bench_case_t *bench, bench_cache_t cache)
{
    return cache == BENCH_QUEUED ? "queued" : on_device(bench) ? "replay" : "host";
}

const lac_decision_t *bench_decision(const bench_case_t *bench, int contender, bench_cache_t cache)
{
    const bench_contender_t *at = &bench->contender[contender];
    return at->replays && cache != BENCH_QUEUED ? &at->recorded : &at->decision;
}

int bench_options_routes(bench_options_t *options, const char *routes, const char *command)
{
    static const char reference[] = "reference";
    lac_ctx_t *ctx;
    route_set_t one;
    char error[512];
    int code = common_context(&options->common, command, &ctx);
    if (code != EXIT_OK) return code;
    bool ok = route_set_parse(&options->routes, routes, ctx, error, sizeof error) &&
              route_set_parse(&one, options->baseline, ctx, error, sizeof error);
    if (ok && (one.count != 1 || strcmp(one.name[0], ROUTE_AUTO) == 0)) {
        snprintf(error, sizeof error, "--baseline: expected one route that is not auto, found '%s'",
                 options->baseline);
        ok = false;
    }
    lac_ctx_free(ctx);
    if (!strstr(routes, reference)) route_set_drop(&options->routes, reference);
    if (!ok) complain(command, "%s", error);
    return ok ? EXIT_OK : EXIT_USAGE;
}

static int add_contender(bench_case_t *bench, const char *route, const bench_options_t *options,
                         const char *command)
{
    bench_contender_t *contender = &bench->contender[bench->contenders++];
    snprintf(contender->route, sizeof contender->route, "%s", route);
    contender->set = &bench->set;
    contender->baseline = bench->contenders == 1;
    contender->a = contender->baseline ? &bench->set.plain_a : &bench->set.a;
    contender->b = contender->baseline ? &bench->set.plain_b : &bench->set.b;
    contender->call.size = sizeof contender->call;
    contender->call.route = strcmp(route, ROUTE_AUTO) == 0 ? NULL : contender->route;
    contender->host_us = -1.0;
    if (strcmp(route, ROUTE_VENDOR) != 0) {
        int code = common_context(&options->common, command, &contender->ctx);
        contender->device =
            (device_contender_t){.ctx = contender->ctx, .queue = bench_contender_queue, .arg = contender};
        contender->device.sweep = &bench->sweep;
        return code;
    }
    const char *refusal = vendor_call_make(&contender->vendor, &bench->set);
    if (refusal) bench_contender_give_up(contender, BENCH_REFUSED, refusal);
    return EXIT_OK;
}

/* What a name stands for where the operands lie: on a device the vendor's BLAS is a route. */
static const char *route_here(const bench_case_t *bench, const char *route)
{
    bool vendor = strcmp(route, ROUTE_VENDOR) == 0 || strcmp(route, "dense") == 0;
    return vendor && on_device(bench) ? ROUTE_CUBLAS : route;
}

/* The vendor's BLAS as the baseline, or the library's dense route where BLAS cannot make the call. */
static int add_baseline(bench_case_t *bench, const bench_options_t *options, const char *command)
{
    int code = add_contender(bench, route_here(bench, options->baseline), options, command);
    bench_contender_t *contender = &bench->contender[0];
    if (code != EXIT_OK || contender->status != BENCH_REFUSED) return code;
    char why[sizeof contender->why];
    memcpy(why, contender->why, sizeof why);
    *contender = (bench_contender_t){0};
    bench->contenders = 0;
    code = add_contender(bench, "dense", options, command);
    snprintf(contender->why, sizeof contender->why, "not %s: %.200s", options->baseline, why);
    return code;
}

/* What a program would rather call for a product of one row or one column, beside the sgemm that was asked
 * for. */
static void add_gemv(bench_case_t *bench)
{
    bench_contender_t *contender = &bench->contender[bench->contenders];
    vendor_call_t call;
    if (on_device(bench) || strcmp(bench->contender[0].route, ROUTE_VENDOR) != 0) return;
    if (vendor_call_make_gemv(&call, &bench->set)) return;
    *contender = (bench_contender_t){.set = &bench->set,
                                     .a = &bench->set.plain_a,
                                     .b = &bench->set.plain_b,
                                     .vendor = call,
                                     .host_us = -1.0};
    snprintf(contender->route, sizeof contender->route, "%s", ROUTE_GEMV);
    bench->contenders++;
}

static int add_contenders(bench_case_t *bench, const bench_options_t *options, const char *command)
{
    int code = add_baseline(bench, options, command);
    if (code == EXIT_OK) add_gemv(bench);
    for (int i = 0; code == EXIT_OK && i < options->routes.count; i++) {
        const char *route = route_here(bench, options->routes.name[i]);
        bool plain = bench->set.a.buf == bench->set.plain_a.buf && bench->set.b.buf == bench->set.plain_b.buf;
        if (plain && strcmp(route, bench->contender[0].route) == 0) continue;
        code = add_contender(bench, route, options, command);
    }
    return code;
}

/* Whether a contender of the host runs in the BLAS; of auto, what it chose in the end, trials aside. */
#define ASKS_MOST 4

static bool runs_blas(void *arg)
{
    bench_contender_t *contender = arg;
    lac_decision_t decision = contender->decision;
    if (!contender->ctx) return true;
    bool is_auto = !contender->call.route, trial = is_auto;
    for (int i = 0; trial && i < ASKS_MOST; i++) {
        contender->call.decision = &decision;
        trial = !bench_contender_run(contender) || strcmp(decision.reason, "trial") == 0;
        contender->call.decision = NULL;
    }
    return decision.route && strcmp(decision.route, "dense") == 0;
}

/* How contenders are measured on a device; NULL: by the host's clock. */
static double (*measure_of(const bench_case_t *bench, bench_cache_t cache))(void *, int)
{
    if (!on_device(bench)) return NULL;
    return cache == BENCH_WARM   ? device_contender_replayed
           : cache == BENCH_COLD ? device_contender_cold
                                 : device_contender_queued;
}

static void describe_contenders(bench_case_t *bench, bench_cache_t cache)
{
    timed_contender_t *timed = bench->timed[cache];
    bool replays = on_device(bench) && cache != BENCH_QUEUED;
    for (int i = 0; i < bench->contenders; i++) {
        bench_contender_t *contender = &bench->contender[i];
        bool is_auto = strcmp(contender->route, ROUTE_AUTO) == 0;
        timed[i] = (timed_contender_t){.run = bench_contender_run,
                                       .reset = bench_contender_reset,
                                       .measure = measure_of(bench, cache),
                                       .measured = &contender->device,
                                       .arg = contender,
                                       .in_blas = on_device(bench) ? NULL : runs_blas,
                                       .warmup = is_auto && !on_device(bench) ? HOST_LEARNING_CALLS : 0,
                                       .warmup_us = is_auto ? HOST_LEARNING_US : 0.0,
                                       .keep = i == 0 || is_auto};
        timed[i].dropped = contender->status != BENCH_OK || (replays && !contender->replays);
    }
}

static timing_plan_t plan_for(const bench_case_t *bench, const bench_options_t *options, cache_flush_t *cold,
                              bench_cache_t cache)
{
    timing_plan_t plan = {.min_time_s = options->min_time_s,
                          .repeat = options->repeat,
                          .warmup = BENCH_STEADY_CALLS,
                          .drop_factor = options->drop_factor};
    if (!on_device(bench)) {
        plan.cache = cache == BENCH_COLD ? cold : NULL;
        return plan;
    }
    plan.max_inner = cache == BENCH_COLD ? DEVICE_COLD_CALLS : DEVICE_CALLS;
    if (cache == BENCH_COLD && plan.repeat == 0) plan.repeat = DEVICE_COLD_ROUNDS;
    return plan;
}

/* What the timing dropped: a contender that failed, or one that is far slower. */
static void judge_dropped(bench_case_t *bench, bench_cache_t cache)
{
    for (int i = 0; i < bench->contenders; i++) {
        bench_contender_t *contender = &bench->contender[i];
        const timed_contender_t *timed = &bench->timed[cache][i];
        device_contender_forget(&contender->device);
        if (contender->status != BENCH_OK || !timed->dropped) continue;
        if (timed->failed)
            bench_contender_give_up(contender, BENCH_FAILED, lac_last_error());
        else if (on_device(bench) ? contender->replays || cache == BENCH_QUEUED : true)
            bench_contender_give_up(contender, BENCH_SLOW, "far slower than the fastest: not timed further");
    }
}

static bool time_all(bench_case_t *bench, const bench_options_t *options, cache_flush_t *cold,
                     bench_cache_t cache)
{
    describe_contenders(bench, cache);
    timing_plan_t plan = plan_for(bench, options, cold, cache);
    bool ok = time_contenders(bench->timed[cache], bench->contenders, &plan);
    judge_dropped(bench, cache);
    return ok;
}

/* The host's time for a call, where a call is short enough for that to matter. */
static void time_host(bench_case_t *bench)
{
    for (int i = 0; i < bench->contenders; i++) {
        bench_contender_t *contender = &bench->contender[i];
        const timed_contender_t *queued = &bench->timed[BENCH_QUEUED][i];
        if (contender->status != BENCH_OK || queued->count == 0) continue;
        contender->host_us =
            device_contender_host_us(&contender->device, sample_stats(queued->sample, queued->count).median);
    }
}

/* Median time of measuring, from the dense buffer, what the problem gives as metadata. */
static double time_scan(lac_ctx_t *ctx, const lac_obj_t *plain, ref_meta_t meta)
{
    double sample[SCANS];
    unsigned what = attachment_scan_mask(meta);
    if (what == 0) return -1.0;
    for (int i = 0; i < SCANS; i++) {
        lac_obj_t obj = *plain;
        if (lac_meta_create_for(ctx, &obj.meta, obj.m, obj.n) != LAC_OK) return -1.0;
        double begin = clock_us();
        lac_status_t status = lac_meta_scan(ctx, &obj, what);
        if (status == LAC_OK && computes_on_device(ctx)) status = lac_device_wait(ctx);
        sample[i] = clock_us() - begin;
        lac_meta_free(obj.meta);
        if (status != LAC_OK) return -1.0;
    }
    return sample_stats(sample, SCANS).median;
}

static void find_rate(void *arg, const char *key, const char *value)
{
    double *gbps = arg;
    if (strcmp(key, "constant cuda_dram_gbps") == 0) *gbps = strtod(value, NULL);
}

/* What only a device has: the sweep, and a floor under every time. */
static lac_status_t prepare_device(bench_case_t *bench, const bench_options_t *options)
{
    double gbps = 0.0;
    if (!on_device(bench)) return LAC_OK;
    lac_ctx_info(bench->ctx, find_rate, &gbps);
    bench->floor_us = gbps > 0.0 ? bench->work.floor_bytes / gbps * 1e-3 : 0.0;
    return options->cache[BENCH_COLD] ? l2_flush_make(&bench->sweep, bench->ctx) : LAC_OK;
}

static int make_case(bench_case_t *bench, const ref_problem_t *problem, const bench_options_t *options,
                     const char *command)
{
    int code = common_context(&options->common, command, &bench->ctx);
    if (code != EXIT_OK) return code;
    char error[REF_PROBLEM_TEXT + 256];
    if (!operand_set_make(&bench->set, problem, bench->ctx, error, sizeof error)) {
        complain(command, "%s", error);
        return EXIT_UNAVAILABLE;
    }
    if (!work_model(&bench->work, &bench->set) || !result_check_make(&bench->check, &bench->set)) {
        complain(command, "%s: out of memory", bench->set.text);
        return EXIT_UNAVAILABLE;
    }
    if (prepare_device(bench, options) != LAC_OK) {
        complain(command, "%s: --cold: %s", bench->set.text, lac_last_error());
        return EXIT_UNAVAILABLE;
    }
    bench->scan_a_us = time_scan(bench->ctx, &bench->set.plain_a, problem->a.meta);
    bench->scan_b_us = time_scan(bench->ctx, &bench->set.plain_b, problem->b.meta);
    return EXIT_OK;
}

int bench_case_run(bench_case_t *bench, const ref_problem_t *problem, const bench_options_t *options,
                   cache_flush_t *cache, const char *command)
{
    memset(bench, 0, sizeof *bench);
    int code = make_case(bench, problem, options, command);
    if (code == EXIT_OK) code = add_contenders(bench, options, command);
    if (code == EXIT_OK) bench_verify_all(bench);
    machine_load_t load = machine_load_now();
    for (int c = 0; code == EXIT_OK && c < BENCH_CACHES; c++)
        if (options->cache[c] && !time_all(bench, options, cache, (bench_cache_t)c)) {
            complain(command, "%s: out of memory", bench->set.text);
            code = EXIT_UNAVAILABLE;
        }
    bench->others = machine_load_of_others(&load);
    if (code == EXIT_OK && on_device(bench)) time_host(bench);
    if (code == EXIT_OK) bench_verify_again(bench);
    if (code != EXIT_OK) bench_case_free(bench);
    return code;
}

void bench_case_free(bench_case_t *bench)
{
    for (int i = 0; i < bench->contenders; i++) {
        for (int c = 0; c < BENCH_CACHES; c++) free(bench->timed[c][i].sample);
        device_contender_forget(&bench->contender[i].device);
        lac_ctx_free(bench->contender[i].ctx);
    }
    result_check_free(&bench->check);
    l2_flush_free(&bench->sweep);
    operand_set_free(&bench->set);
    lac_ctx_free(bench->ctx);
    memset(bench, 0, sizeof *bench);
}

bool bench_timed(const bench_case_t *bench, int contender, bench_cache_t cache)
{
    bench_status_t status = bench->contender[contender].status;
    return bench->timed[cache][contender].count > 0 && (status == BENCH_OK || status == BENCH_SLOW);
}

int bench_case_complain(const bench_case_t *bench, const char *command)
{
    int bad = 0;
    for (int i = 0; i < bench->contenders; i++) {
        const bench_contender_t *contender = &bench->contender[i];
        if (contender->status != BENCH_WRONG && contender->status != BENCH_FAILED) continue;
        complain(command, "%s: route %s: %s: %s", bench->set.text, contender->route,
                 bench_status_name(contender->status), contender->why);
        bad++;
    }
    return bad;
}
