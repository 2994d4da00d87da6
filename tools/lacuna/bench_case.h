/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem of the bench: its lanes (the baseline and the routes), verified and timed. */
#ifndef TOOL_BENCH_CASE_H
#define TOOL_BENCH_CASE_H

#include <stdbool.h>

#include "cold_cache.h"
#include "command.h"
#include "lane_timing.h"
#include "operand_set.h"
#include "result_check.h"
#include "route_set.h"
#include "vendor_call.h"
#include "work_count.h"

#define BENCH_LANES (LAC_CANDIDATES_MAX + 3)

typedef enum bench_cache { BENCH_WARM = 0, BENCH_COLD = 1, BENCH_CACHES = 2 } bench_cache_t;
typedef enum bench_status { BENCH_OK, BENCH_REFUSED, BENCH_WRONG, BENCH_FAILED, BENCH_SLOW } bench_status_t;

typedef struct bench_options {
    common_options_t common;
    route_set_t routes;
    const char *baseline; /* "vendor" falls back to "dense" where BLAS cannot make the call */
    bool cache[BENCH_CACHES];
    int repeat;
    double min_time_s;
    double patience_s;  /* to wait for a quiet machine, over all problems */
    double drop_factor; /* lanes slower than this many times the fastest are not timed further; 0: none */
} bench_options_t;

typedef struct bench_lane {
    char route[ROUTE_NAME];
    bool baseline;
    const operand_set_t *set;
    const lac_obj_t *a, *b; /* the baseline gets plain operands: what a caller without Lacuna has */
    lac_ctx_t *ctx;         /* its own, so that no lane learns from another; NULL for the vendor  */
    lac_call_t call;
    vendor_call_t vendor;
    bench_status_t status;
    char why[256]; /* where status is not BENCH_OK; for the baseline, why it is not the one asked for */
    lac_decision_t decision; /* in steady state; complete where ctx is there and status is BENCH_OK */
    double first_us; /* the very first call: what is derived from a frozen operand is made in it          */
} bench_lane_t;

typedef struct bench_case {
    operand_set_t set;
    work_count_t work;
    result_check_t check;
    bench_lane_t lane[BENCH_LANES];
    timed_lane_t timed[BENCH_CACHES][BENCH_LANES];
    double scan_a_us; /* to measure the metadata that the problem gives of A; negative where it gives none */
    double scan_b_us; /* the same of B                                                                     */
    double others;    /* share of the processors that other programs used meanwhile; negative: not known   */
    int lanes;        /* lane[0] is the baseline                                                           */
} bench_case_t;

const char *bench_status_name(bench_status_t status);
const char *bench_cache_name(bench_cache_t cache);

/* Generates, verifies and times one problem. cache may be NULL when no cold timing is asked for. Returns an
 * exit code; on failure the reason is printed and *bench is empty. */
int bench_case_run(bench_case_t *bench, const ref_problem_t *problem, const bench_options_t *options,
                   cold_cache_t *cache, const char *command);
void bench_case_free(bench_case_t *bench);

/* Prints the lanes that failed or gave a wrong result, and returns how many. */
int bench_case_complain(const bench_case_t *bench, const char *command);

/* A lane with samples for this state of the cache. */
bool bench_timed(const bench_case_t *bench, int lane, bench_cache_t cache);

#endif
