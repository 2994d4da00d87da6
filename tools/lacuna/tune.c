/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna tune: measures the constants of the cost model. */
#include <stdio.h>

#include "command.h"
#include "output.h"

typedef struct tune_options {
    common_options_t common;
    const char *output;
} tune_options_t;

static const struct argp_option tune_table[] = {
    {"output", 'o', "FILE", 0, "store the constants in FILE instead of the user's cache folder", 0},
    {0},
};

static error_t parse_tune(int key, char *arg, struct argp_state *state)
{
    tune_options_t *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "expected no argument, found '%s'", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void show_step(void *arg, const char *key, const char *value)
{
    (void)arg;
    progress("tune: %s (%s)", key, value);
}

static void print_fact(void *arg, const char *key, const char *value)
{
    (void)arg;
    printf("%-22s %s\n", key, value);
}

int command_tune(int argc, char **argv)
{
    static const struct argp_child children[] = {{&common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = tune_table,
        .parser = parse_tune,
        .doc = "Measures the constants of the cost model on this machine, or with --device on a device (some "
               "seconds; leave it otherwise idle), stores them, and prints them with the other facts of "
               "`lacuna info`.\v" EXIT_CODES_TEXT,
        .children = children,
    };
    tune_options_t options = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    lac_ctx_t *ctx;
    int code = common_context(&options.common, argv[0], &ctx);
    if (code != EXIT_OK) return code;
    progress_begin(options.common.quiet);
    lac_status_t status = lac_tune(ctx, options.output, show_step, NULL);
    progress_clear();
    if (status != LAC_OK)
        complain(argv[0], "%s: %s", lac_status_text(status), lac_last_error());
    else if (!options.common.quiet)
        lac_ctx_info(ctx, print_fact, NULL);
    lac_ctx_free(ctx);
    return status == LAC_OK ? EXIT_OK : EXIT_UNAVAILABLE;
}
