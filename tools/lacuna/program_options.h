/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What `lacuna run` and `lacuna doctor` take: options of the library, then a program and its arguments. */
#ifndef TOOL_PROGRAM_OPTIONS_H
#define TOOL_PROGRAM_OPTIONS_H

#include <argp.h>
#include <stdbool.h>

#define PROGRAM_SETTINGS 32

typedef struct program_options {
    const char *setting[PROGRAM_SETTINGS]; /* "option=value" */
    int settings;
    bool dlsym;     /* what the program fetches with dlsym is replaced as well */
    char **program; /* its name and arguments, NULL at the end */
} program_options_t;

/* The argp child that fills program_options_t, given as the child's input. */
extern const struct argp program_argp;

/* Puts the drop-in libraries and the settings into the environment, and the auditor of the dynamic linker
 * where it is wanted or listens; an exit code. */
int program_prepare(const program_options_t *options, const char *command, bool listens);

#endif
