/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem of the bench: its contenders (the baseline and the routes), each with a context of its own,
 * verified and timed. */
#ifndef LACUNA_TOOLS_LACUNA_BENCH_CASE_H
#define LACUNA_TOOLS_LACUNA_BENCH_CASE_H

#include "timing.h"
#include "operands.h"
#include "route_set.h"
#include "vendor_call.h"
#include "cache_flush.h"
#include "command.h"
#include "result_check.h"
#include "work_model.h"

#include <stdbool.h>

typedef enum bench_status { BENCH_OK, BENCH_REFUSED, BENCH_WRONG, BENCH_FAILED, BENCH_SLOW } bench_status_t;

typedef struct bench_contender {
    char route[ROUTE_NAME];
    bool baseline;
    const operand_set_t *set;
    const lac_obj_t *a, *b; /* the baseline gets plain operands: what a caller without Lacuna has */
    lac_ctx_t *ctx;         /* its own, so that no contender learns from another; NULL for the vendor  */
    lac_call_opts_t call;
    vendor_call_t vendor;
    bench_status_t status;
    char why[256]; /* where status is not BENCH_OK; for the baseline, why it is not the one asked for */
    lac_decision_t decision; /* in steady state; complete where ctx is there and status is BENCH_OK */
    double first_us; /* the very first call: what is derived from a frozen operand is made in it          */

    device_contender_t device;
    bool replays; /* a recording of it computes the same, by the same route unless that is auto's choice */
    lac_decision_t recorded; /* what was recorded; complete where it replays */
    double host_us; /* of the host for one call; negative: not measured                               */
} bench_contender_t;

const char *bench_status_name(bench_status_t status);

/* One problem of the bench: its contenders (the baseline and the routes), verified and timed. */

#define BENCH_CONTENDERS (LAC_CANDIDATES_MAX + 4)

/* Calls before timing: more than the library's sites need to settle. */
#define BENCH_STEADY_CALLS 32

/* The vendor's BLAS on a device, reached through the route that calls it. */
#define ROUTE_CUBLAS "cublas"

/* BENCH_QUEUED is for devices, where the other two are replays of recorded calls: warm, and each call queued
 * by the host. */
typedef enum bench_cache { BENCH_WARM = 0, BENCH_COLD, BENCH_QUEUED, BENCH_CACHES } bench_cache_t;

typedef struct bench_options {
    common_options_t common;
    route_set_t routes;
    const char *baseline; /* "vendor" falls back to "dense" where BLAS cannot make the call; on a device it is
                             the route of the vendor's BLAS                                         */
    bool cache[BENCH_CACHES];
    int repeat;
    double min_time_s;
    double wait_idle_s; /* to wait for a quiet machine, over all problems */
    double
        drop_factor; /* contenders slower than this many times the fastest are not timed further; 0: none */
} bench_options_t;

/* Reads options->routes from a comma list, and sees that options->baseline is a route other than auto. "all"
 * leaves out the route reference, which takes seconds and shows nothing. Returns an exit code; on failure the
 * reason is printed. */
int bench_options_routes(bench_options_t *options, const char *routes, const char *command);

typedef struct bench_case {
    lac_ctx_t *ctx; /* where the operands lie */
    operand_set_t set;
    l2_flush_t sweep;
    work_model_t work;
    result_check_t check;
    bench_contender_t contender[BENCH_CONTENDERS];
    timed_contender_t timed[BENCH_CACHES][BENCH_CONTENDERS];
    double scan_a_us; /* to measure the metadata that the problem gives of A; negative where it gives none */
    double scan_b_us; /* the same of B                                                                     */
    double floor_us;  /* the bytes that have to move, at the rate of the device's memory; 0: no device     */
    double others;    /* share of the processors that other programs used meanwhile; negative: not known   */
    int contenders;   /* contender[0] is the baseline   */
} bench_case_t;

const char *bench_cache_name(bench_cache_t cache);

/* What the clock saw: "host" calls one after the other, a "replay" of recorded calls, or "queued" ones. */
const char *bench_timing_name(const bench_case_t *bench, bench_cache_t cache);

/* The decision behind a contender's figures for this state of the cache. */
const lac_decision_t *bench_decision(const bench_case_t *bench, int contender, bench_cache_t cache);

/* Generates, verifies and times one problem. cache may be NULL when no cold timing is asked for. Returns an
 * exit code; on failure the reason is printed and *bench is empty. */
int bench_case_run(bench_case_t *bench, const ref_problem_t *problem, const bench_options_t *options,
                   cache_flush_t *cache, const char *command);
void bench_case_free(bench_case_t *bench);

/* Prints the contenders that failed or gave a wrong result, and returns how many. */
int bench_case_complain(const bench_case_t *bench, const char *command);

/* A contender with samples for this state of the cache. */
bool bench_timed(const bench_case_t *bench, int contender, bench_cache_t cache);

/* Contenders of the bench against the baseline and the product in double: no time is reported for a wrong
 * result. */

#endif
