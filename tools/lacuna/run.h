/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A program started with Lacuna's drop-in libraries in front of its BLAS: its environment, and its start. */
#ifndef LACUNA_TOOLS_LACUNA_RUN_H
#define LACUNA_TOOLS_LACUNA_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <argp.h>

/* The path of a library that lies beside liblacuna.so; false where there is none. */
bool child_library(const char *name, char *path, size_t size);

/* Sets LACUNA_OPTION=VALUE for every program that is started from now on. */
bool child_set(const char *option, const char *value);

/* Runs the program and waits; its status as waitpid has it, -1 with a complaint where it cannot be started.
 * What the terminal sends to stop it is left to it. */
int child_run(const char *command, char **arguments);

/* What `lacuna run` and `lacuna doctor` take: options of the library, then a program and its arguments. */

#define PROGRAM_SETTINGS 32

typedef struct program_options {
    const char *setting[PROGRAM_SETTINGS]; /* "option=value" */
    int settings;
    bool dlsym;     /* what the program fetches with dlsym is replaced as well */
    bool jax;       /* and XLA's own kernels of products are switched off */
    char **program; /* its name and arguments, NULL at the end */
} program_options_t;

/* The argp child that fills program_options_t, given as the child's input. */
extern const struct argp program_argp;

/* Puts the drop-in libraries and the settings into the environment, and the auditor of the dynamic linker
 * where it is wanted or listens; an exit code. */
int program_prepare(const program_options_t *options, const char *command, bool listens);

#endif
