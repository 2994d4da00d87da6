/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna info: the facts of a context. */
#include <stdio.h>

#include "command.h"

typedef struct info_options {
    common_options_t common;
} info_options_t;

static error_t parse_info(int key, char *arg, struct argp_state *state)
{
    info_options_t *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "expected no argument, found '%s'", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_fact(void *arg, const char *key, const char *value)
{
    (void)arg;
    printf("%-22s %s\n", key, value);
}

int command_info(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .parser = parse_info,
        .doc =
            "Prints the library's version, the processor, the BLAS and the backends that were found (or why "
            "not), the options in force and where they come from, and the machine "
            "constants.\v" EXIT_CODES_TEXT,
        .children = children,
    };
    info_options_t options = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    lac_ctx_t *ctx;
    int code = common_context(&options.common, argv[0], &ctx);
    if (code != EXIT_OK) return code;
    lac_status_t status = lac_ctx_info(ctx, print_fact, NULL);
    if (status != LAC_OK) complain(argv[0], "%s", lac_last_error());
    lac_ctx_free(ctx);
    return status == LAC_OK ? EXIT_OK : EXIT_UNAVAILABLE;
}
