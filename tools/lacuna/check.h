/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The arguments of a check: which problems, by which routes, by how many workers. */
#ifndef LACUNA_TOOLS_LACUNA_CHECK_H
#define LACUNA_TOOLS_LACUNA_CHECK_H

#include "check_pool.h"
#include "problems.h"

#include <regex.h>

typedef struct check_arguments {
    check_options_t check;
    problem_list_t problems;
    const char *routes;
    int64_t fuzz; /* random problems after those of the list */
    uint64_t seed;
    const char *match; /* NULL, or an expression that a random problem's string is to match */
    regex_t matching;  /* the same, compiled                                                */
    int jobs;
    bool device;   /* that the context computes on one */
    bool halves;   /* the same of f16 and bf16, on a device with cuBLAS           */
    bool accuracy; /* hold routes to the accuracy contract instead */
    const char *command;
    /* Checks one problem; arguments is this struct. See check_work_t. */
    int (*check_one)(const void *arguments, const ref_problem_t *problem, const check_options_t *options,
                     check_line_fn report, void *arg);
} check_arguments_t;

#define CHECK_DEFAULTS .check.runs = 2, .routes = "all", .seed = 1, .jobs = 1

/* The argp child that fills check_arguments_t, given as the child's input (argp_state.child_inputs[0]). */
extern const struct argp check_argp;

/* Checks all problems, the built-in ones where there are none, prints the report and frees the problems.
 * Returns an exit code: EXIT_WRONG where anything failed, or nothing passed. */
int check_arguments_run(check_arguments_t *arguments);

#endif
