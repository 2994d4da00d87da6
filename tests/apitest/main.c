/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Tests of the whole public API on random problems, and regret runs: picks the sub-command. */
#include <stdio.h>
#include <string.h>

#include "apitest.h"
#include "command.h"

static int usage(FILE *file, int code)
{
    fprintf(file, "Usage: apitest check [OPTION...] [PROBLEM...]\n"
                  "       apitest regret [OPTION...]\n\n"
                  "  check   lacuna check, and every other public call on the operands of each problem\n"
                  "  regret  times the dispatcher against the best route, over random problems\n\n"
                  "apitest COMMAND --help lists the options of a command.\n" EXIT_CODES_TEXT "\n");
    return code;
}

int main(int argc, char **argv)
{
    static char check[] = "apitest check", regret[] = "apitest regret";
    const char *word = argc > 1 ? argv[1] : "";
    argp_err_exit_status = EXIT_USAGE;
    if (strcmp(word, "check") == 0) {
        argv[1] = check; /* argp takes the name for its messages from here */
        return apitest_check(argc - 1, argv + 1);
    }
    if (strcmp(word, "regret") == 0) {
        argv[1] = regret;
        return apitest_regret(argc - 1, argv + 1);
    }
    return strcmp(word, "--help") == 0 ? usage(stdout, EXIT_OK) : usage(stderr, EXIT_USAGE);
}
