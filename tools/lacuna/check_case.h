/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One problem of the check: every route, and every entry point, against the oracle.
 *
 * Each run is compared element by element; padding and guards around C must keep their poison, A and B their
 * contents; further runs, and one with one thread (on a device: in another context), must give the same
 * bits. */
#ifndef TOOL_CHECK_CASE_H
#define TOOL_CHECK_CASE_H

#include "command.h"
#include "operand_set.h"
#include "ref_compare.h"
#include "ref_gemm.h"
#include "route_set.h"

typedef struct check_options {
    common_options_t common;
    route_set_t routes;
    bool corrupt;    /* self-test: spoil one element before it is compared              */
    bool strict_nan; /* the library keeps 0 * Inf and 0 * NaN                            */
    bool products;   /* nothing but products: the other public calls are not tried       */
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

/* Checks one problem and reports each route. Returns EXIT_OK, or EXIT_UNAVAILABLE when the operands cannot
 * be made (the reason is printed); failures of routes are the callback's to count. */
int check_case_run(const ref_problem_t *problem, const check_options_t *options, check_line_fn report,
                   void *arg, const char *command);

#endif
