/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One lane of the bench: a way to compute a problem, with a context of its own, and what became of it. */
#ifndef TOOL_BENCH_CONTENDER_H
#define TOOL_BENCH_CONTENDER_H

#include <stdbool.h>

#include "device_contender.h"
#include "operand_set.h"
#include "route_set.h"
#include "vendor_call.h"

typedef enum bench_status { BENCH_OK, BENCH_REFUSED, BENCH_WRONG, BENCH_FAILED, BENCH_SLOW } bench_status_t;

typedef struct bench_contender {
    char route[ROUTE_NAME];
    bool baseline;
    const operand_set_t *set;
    const lac_obj_t *a, *b; /* the baseline gets plain operands: what a caller without Lacuna has */
    lac_ctx_t *ctx;         /* its own, so that no lane learns from another; NULL for the vendor  */
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

/* The arg of these three is a bench_contender_t. One call; on a device it is only queued. Errors: those of
 * lac_gemm_ex. */
lac_status_t bench_contender_queue(void *arg);

/* One call, done when this returns; false: it failed. */
bool bench_contender_run(void *arg);

/* Repeated calls with beta other than 0 walk away from the first C; that is put right before each sample. */
void bench_contender_reset(void *arg);

void bench_contender_give_up(bench_contender_t *contender, bench_status_t status, const char *why);

#endif
