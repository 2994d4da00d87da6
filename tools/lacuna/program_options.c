/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The options end where the program's name stands. */
#include "program_options.h"

#include <limits.h>
#include <string.h>

#include "child_program.h"
#include "command.h"

static error_t parse_program(int key, char *arg, struct argp_state *state)
{
    program_options_t *options = state->input;
    switch (key) {
    case 'S':
        if (!strchr(arg, '=')) argp_error(state, "--set: expected OPTION=VALUE, found '%s'", arg);
        if (options->settings == PROGRAM_SETTINGS) argp_error(state, "--set: at most %d", PROGRAM_SETTINGS);
        options->setting[options->settings++] = arg;
        return 0;
    case 'D':
        options->dlsym = true;
        return 0;
    case ARGP_KEY_ARG:
        options->program = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "expected a program to run");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option program_table[] = {
    {"dlsym", 'D', NULL, 0, "stand in front of calls that the program fetches with dlsym, too", 0},
    {"set", 'S', "OPTION=VALUE", 0, "run the program with LACUNA_OPTION=VALUE (backend=event, nan=strict)",
     0},
    {0},
};

const struct argp program_argp = {.options = program_table, .parser = parse_program};

static int audit(const program_options_t *options, const char *command, bool listens)
{
    char library[PATH_MAX];
    if (!listens && !options->dlsym) return EXIT_OK;
    if (!child_library("liblacuna_audit.so", library, sizeof library)) {
        char advice[PATH_MAX + 64];
        child_library_advice("liblacuna_audit.so", advice, sizeof advice);
        complain(command, "liblacuna_audit.so is not there: %s (%s)",
                 options->dlsym ? "--dlsym needs it" : "which calls go past Lacuna is not known", advice);
        return options->dlsym ? EXIT_UNAVAILABLE : EXIT_OK;
    }
    bool done = child_audit(library) && (!listens || child_set("audit", "1")) &&
                (!options->dlsym || child_set("dlsym", "1"));
    return done ? EXIT_OK : EXIT_UNAVAILABLE;
}

int program_prepare(const program_options_t *options, const char *command, bool listens)
{
    if (!child_preload(command)) return EXIT_UNAVAILABLE;
    for (int i = 0; i < options->settings; i++)
        if (!child_option(options->setting[i])) {
            complain(command, "--set %s: expected OPTION=VALUE", options->setting[i]);
            return EXIT_USAGE;
        }
    return audit(options, command, listens);
}
