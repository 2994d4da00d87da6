/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Checks a list of problems with one worker or several, and counts and prints the results. */
#ifndef LACUNA_TOOLS_LACUNA_CHECK_POOL_H
#define LACUNA_TOOLS_LACUNA_CHECK_POOL_H

#include "check_case.h"

#include <stdio.h>

typedef struct check_summary {
    FILE *out;                      /* where lines go                    */
    const common_options_t *common; /* quiet: only what failed has lines */
    const char *command;            /* that repeats a failure            */
    bool headed;                    /* the problem has been printed      */
    long passed, refused, failed;
    double worst;
    char worst_problem[REF_PROBLEM_TEXT], worst_route[ROUTE_NAME];
} check_summary_t;

/* Prints the last line of a report of so many problems. */
void check_summary_print(const check_summary_t *sum, size_t problems);

/* Checks a list of problems with one worker or several.
 *
 * Each worker has contexts of its own and takes the next problem of the list; the report is in the order of
 * the list, whoever checked what. */

#define CHECK_JOBS_MAX 256

typedef struct check_work {
    check_options_t check; /* without contexts                      */
    int jobs;              /* workers, at most CHECK_JOBS_MAX      */
    size_t problems;
    /* The problem of that index, for any worker at any time. False: there is none, and it is said why. */
    bool (*problem)(const void *list, size_t index, ref_problem_t *problem);
    /* Checks it for a worker, whose options hold its contexts, as check_case_run does. */
    int (*check_one)(const void *list, const ref_problem_t *problem, const check_options_t *options,
                     check_line_fn report, void *arg);
    const void *list;
    const char *command;
} check_work_t;

/* Two contexts as check_options_t wants them. What was made is freed with check_contexts_free also where an
 * exit code says that not all was, the reason printed. */
int check_contexts_make(check_options_t *check, const char *command);
void check_contexts_free(check_options_t *check);

/* Checks all and prints into sum->out what there is to print. Returns EXIT_OK, or the first exit code of the
 * list that is another: what lies behind it in the list is then not reported. */
int check_pool_run(const check_work_t *work, check_summary_t *sum);

#endif
