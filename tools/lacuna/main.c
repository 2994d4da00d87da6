/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The command line: picks the sub-command. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "lacuna_commit.h"

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *job;
} command_t;

static const command_t commands[] = {
    {"info", command_info, "what was found on this machine, and the options in force"},
    {"bench", command_bench, "times routes against a baseline"},
    {"explain", command_explain, "what the dispatcher thinks of a problem"},
    {"check", command_check, "tests every route of GEMM on this machine against a product in double"},
    {"tune", command_tune, "measures the cost model's constants on this machine"},
    {"run", command_run, "runs a program with the drop-in libraries in front of its BLAS and cuBLAS"},
    {"doctor", command_doctor,
     "runs a program that way, and reports which calls were intercepted and which were not"},
};
static const int command_count = sizeof commands / sizeof commands[0];

static void print_help(FILE *file)
{
    fprintf(file, "Usage: lacuna COMMAND [OPTION...] [PROBLEM...]\n"
                  "Skips the zeros in GEMM calls; this is the command line of the library.\n\n");
    for (int i = 0; i < command_count; i++) fprintf(file, "  %-9s %s\n", commands[i].name, commands[i].job);
    fprintf(file, "  %-9s what a command takes (the same as lacuna COMMAND --help)\n\n", "help CMD");
    fprintf(file,
            "A PROBLEM is one line of text such as sgemm:NN:10x5000x5000:A=bern0.001 (m x k x n).\n"
            "%s\n",
            EXIT_CODES_TEXT);
}

static const command_t *find_command(const char *name)
{
    for (int i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    fprintf(stderr, "lacuna: unknown command '%s': expected", name);
    for (int i = 0; i < command_count; i++) fprintf(stderr, " %s%s", commands[i].name, ",");
    fprintf(stderr, " or help\n");
    return NULL;
}

static int run_command(const command_t *command, int argc, char **argv)
{
    char name[32];
    snprintf(name, sizeof name, "lacuna %s", command->name);
    argv[0] = name; /* argp takes the name for its messages from here */
    return command->run(argc, argv);
}

static int run_help(int argc, char **argv)
{
    if (argc < 1) {
        print_help(stdout);
        return EXIT_OK;
    }
    const command_t *command = find_command(argv[0]);
    char help[] = "--help", *arguments[] = {NULL, help, NULL};
    return command ? run_command(command, 2, arguments) : EXIT_USAGE;
}

int main(int argc, char **argv)
{
    argp_err_exit_status = EXIT_USAGE;
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-?") == 0 || strcmp(word, "-h") == 0)
        return run_help(0, NULL);
    if (strcmp(word, "help") == 0) return run_help(argc - 2, argv + 2);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("lacuna %s (%s)\n", lac_version(), LACUNA_COMMIT);
        return EXIT_OK;
    }
    const command_t *command = find_command(word);
    return command ? run_command(command, argc - 1, argv + 1) : EXIT_USAGE;
}
