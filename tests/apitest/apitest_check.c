/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * apitest check: the check of GEMM, and every other public call on the same operands. */
#include <string.h>

#include "apitest.h"
#include "check_apitests.h"
#include "command_check.h"

#define KEY_CORRUPT 256

typedef struct apitest_arguments {
    check_arguments_t check; /* the first, for check_one is given its address */
    const char *corrupt;     /* a call whose results are corrupted, "all" or NULL */
} apitest_arguments_t;

static const struct argp_option apitest_table[] = {
    {"corrupt", KEY_CORRUPT, "CALL", 0,
     "corrupt what this call wrote before it is compared ('all': what every call but GEMM wrote): the check "
     "must fail",
     2},
    {0},
};

static error_t parse_apitest(int key, char *arg, struct argp_state *state)
{
    apitest_arguments_t *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->check;
        return 0;
    case KEY_CORRUPT:
        if (!check_trials_has(arg)) argp_error(state, "--corrupt: unknown call '%s'", arg);
        a->corrupt = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The calls come between the products and what is checked after all of them. */
static int check_one(const void *arguments, const ref_problem_t *problem, const check_options_t *options,
                     check_line_fn report, void *arg)
{
    const apitest_arguments_t *a = arguments;
    check_run_t run;
    int code = check_case_make(&run, problem, options, report, arg, a->check.command);
    if (code != EXIT_OK) return code;
    check_case_products(&run);
    if (route_set_has(&options->routes, ROUTE_AUTO))
        check_apitests(&run.set, options, a->corrupt, report, arg);
    check_case_contents(&run);
    check_case_free(&run);
    return EXIT_OK;
}

static const char doc[] =
    "Checks problems as lacuna check does, and with the route auto tries every other public call on the same "
    "operands: conversions, slices, sampled products, gradients, layers, batches, registered operands, "
    "attached formats that are wrong, and invalid arguments.\v" EXIT_CODES_TEXT;

int apitest_check(int argc, char **argv)
{
    static const struct argp_child children[] = {{&check_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {apitest_table, parse_apitest, NULL, doc, children, NULL, NULL};
    apitest_arguments_t a = {.check = {CHECK_DEFAULTS, .command = argv[0], .check_one = check_one}};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    return check_arguments_run(&a.check);
}
