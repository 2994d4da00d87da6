/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The problems that a command works on: from its arguments, from list files, or the built-in few. */
#ifndef TOOL_PROBLEM_LIST_H
#define TOOL_PROBLEM_LIST_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "ref_problem.h"

typedef struct problem_list {
    ref_problem_t *problem;
    size_t count, capacity;
} problem_list_t;

/* Adds one problem string. False, with one line in error: it is not understood, or memory is out. */
bool problem_list_add(problem_list_t *list, const char *text, char *error, size_t error_size);

/* Adds a problem that exists already. False: out of memory. */
bool problem_list_push(problem_list_t *list, const ref_problem_t *problem);

/* Adds every line of a file; blank lines and what follows a '#' are skipped. "-" is the standard input.
 * The error names file and line. */
bool problem_list_read(problem_list_t *list, const char *path, char *error, size_t error_size);

/* The same for a command line, whose parser says what is not understood and ends the program. */
void problem_list_argument(problem_list_t *list, const char *text, const struct argp_state *state);
void problem_list_file(problem_list_t *list, const char *path, const struct argp_state *state);

void problem_list_free(problem_list_t *list);

#endif
