/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The sub-commands, their exit codes, and what all of them share. */
#ifndef LACUNA_TOOLS_LACUNA_COMMAND_H
#define LACUNA_TOOLS_LACUNA_COMMAND_H

#include "lacuna/lacuna.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit codes. */
#define EXIT_OK          0
#define EXIT_WRONG       1 /* a check failed                                                         */
#define EXIT_USAGE       2 /* the command line, a problem string or a list is not understood         */
#define EXIT_UNAVAILABLE 3 /* memory, a library, a device or a file that is needed cannot be had     */

#define EXIT_CODES_TEXT                                                                                      \
    "Exit codes: 0 ok; 1 a check failed; 2 usage; 3 something that is needed cannot be had."

/* Each runs one sub-command: argv[0] is its full name ("lacuna info"). Returns an exit code. */
int command_info(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_check(int argc, char **argv);
int command_tune(int argc, char **argv);
int command_run(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* Options that every command takes: --device DEVICE, --set OPTION=VALUE, --quiet. */
#define COMMON_SETTINGS 16
typedef struct common_options {
    const char *setting[COMMON_SETTINGS]; /* "option=value" for lac_ctx_set                 */
    int settings;
    bool quiet;
    bool on_device; /* contexts compute on a device, each on a stream of its own            */
    int device;     /* its ordinal                                                          */
} common_options_t;

/* The argp child that fills common_options_t, given as the child's input (argp_state.child_inputs[0]). */
extern const struct argp common_argp;

/* A context on the device asked for, with the settings applied. On failure *ctx is NULL, the reason is
 * printed, and an exit code is returned. */
int common_context(const common_options_t *options, const char *command, lac_ctx_t **ctx);

/* Prints "command: text" on standard error. */
void complain(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Numbers on the command line: whole, in range, or an error that names the option. */

/* Both end the program with a usage error when text is not such a number. */
int64_t parse_integer(struct argp_state *state, const char *option, const char *text, int64_t least,
                      int64_t most);
double parse_real(struct argp_state *state, const char *option, const char *text, double least, double most);

#endif
