/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the check counts and prints: of one problem, or of all. */
#ifndef TOOL_CHECK_SUMMARY_H
#define TOOL_CHECK_SUMMARY_H

#include <stdio.h>

#include "check_case.h"

typedef struct check_summary {
    FILE *out;                      /* where lines go                    */
    const common_options_t *common; /* quiet: only what failed has lines */
    const char *command;            /* that repeats a failure            */
    bool headed;                    /* the problem has been printed      */
    long passed, refused, failed;
    double worst;
    char worst_problem[REF_PROBLEM_TEXT], worst_route[ROUTE_NAME];
} check_summary_t;

/* Counts a line of one problem and prints it. A check_line_fn: tally is a check_summary_t. */
void check_summary_line(void *arg, const check_line_t *line);

/* Adds the counts of one problem to those of the problems before it. */
void check_summary_add(check_summary_t *sum, const check_summary_t *one);

/* Prints the last line of a report of so many problems. */
void check_summary_print(const check_summary_t *sum, size_t problems);

#endif
