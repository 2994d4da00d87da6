/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem of the check: every route, and every entry point, against the oracle.
 *
 * Each run is compared element by element; padding and guards around C must keep their poison, A and B their
 * contents; further runs, and one with one thread (on a device: in another context), must give the same
 * bits. */
#ifndef LACUNA_TOOLS_LACUNA_CHECK_CASE_H
#define LACUNA_TOOLS_LACUNA_CHECK_CASE_H

#include "command.h"
#include "operands.h"
#include "ref_gemm.h"
#include "route_set.h"

typedef struct check_options {
    common_options_t common;
    route_set_t routes;
    bool strict_nan; /* the library keeps 0 * Inf and 0 * NaN                            */
    char skip;       /* whose zeros it never multiplies: 'a', 'b', 'g' as the problem says, 'f' nobody's */
    int runs;        /* of each route, that must give the same bits; 2 at least          */
    lac_ctx_t *ctx;  /* as the settings say                                              */
    lac_ctx_t *one;  /* the same with one thread; on a device, another stream            */
} check_options_t;

typedef enum check_status { CHECK_PASSED, CHECK_REFUSED, CHECK_FAILED } check_status_t;

/* One line of the report; what it points at is valid during the callback only. */
typedef struct check_line {
    const char *problem;
    const char *oracle; /* what the result is compared with                       */
    const char *route;  /* as asked for; an entry point is named like the function */
    const char *ran;    /* the route and side that ran, "" when refused             */
    check_status_t status;
    double max_error, mean_error; /* in units of 2^-24 |A||B| */
    const char *why;              /* "" when passed           */
} check_line_t;

typedef void (*check_line_fn)(void *arg, const check_line_t *line);

/* One problem while it is checked. */
typedef struct check_run {
    const check_options_t *options;
    operand_set_t set;
    ref_result_t oracle[4]; /* by ref_nan_t flags; empty until it is needed                   */
    bool device_oracle;     /* the device's own product in double replaces the host's          */
    uint64_t sum_a, sum_b;  /* checksums of A and B before any call                           */
    check_line_fn report;
    void *arg;
} check_run_t;

/* Makes the operands. Returns EXIT_OK, or EXIT_UNAVAILABLE when they cannot be made: the reason is printed,
 * and there is nothing to free. */
int check_case_make(check_run_t *run, const ref_problem_t *problem, const check_options_t *options,
                    check_line_fn report, void *arg, const char *command);

/* Checks and reports every route and, with the route auto, every entry point of GEMM. Failures are the
 * callback's to count. */
void check_case_products(check_run_t *run);

/* Checks last that no call changed A or B on a device; then, with the route auto, products of new contents in
 * the same buffers. */
void check_case_contents(check_run_t *run);

void check_case_free(check_run_t *run);

/* All of that: one problem of `lacuna check`. Returns what check_case_make returns. */
int check_case_run(const ref_problem_t *problem, const check_options_t *options, check_line_fn report,
                   void *arg, const char *command);

/* The entry points that the check goes through. */

/* lac_gemm_ex, and those beside it, which decide for themselves: lac_sgemm or lac_sgemv (dense f32 operands),
 * a plan, and the rows of C as a batch (no value is special: each member may be computed in another way). */
typedef enum entry { ENTRY_EX, ENTRY_BARE, ENTRY_PLAN, ENTRY_BATCHED } entry_t;

#endif
