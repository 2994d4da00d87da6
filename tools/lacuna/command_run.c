/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna run: a program with the drop-in libraries in front of its BLAS and cuBLAS. */
#include "child_program.h"
#include "command.h"
#include "program_options.h"

typedef struct run_options {
    program_options_t program;
    bool stats;
} run_options_t;

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    run_options_t *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->program;
        return 0;
    case 's':
        options->stats = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int command_run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&program_argp, 0, NULL, 0}, {0}};
    static const struct argp_option table[] = {
        {"stats", 's', NULL, 0, "print the table of calls at the end (LACUNA_STATS=1)", 0}, {0}};
    static const struct argp argp = {
        .options = table,
        .parser = parse_run,
        .args_doc = "[--] PROGRAM [ARGUMENT...]",
        .doc =
            "Runs a program with liblacuna_blas.so and liblacuna_cublas.so preloaded.\vThe exit code is the "
            "program's; 3 where it cannot be started, 2 for usage.\n" EXIT_CODES_TEXT,
        .children = children,
    };
    run_options_t options = {0};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options);
    int code = program_prepare(&options.program, argv[0], false);
    if (code != EXIT_OK) return code;
    if (options.stats && !child_set("stats", "1")) return EXIT_UNAVAILABLE;
    child_become(argv[0], options.program.program);
    return EXIT_UNAVAILABLE;
}
