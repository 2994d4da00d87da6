/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The options end where the program's name stands. */
#include "program_options.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

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

/* Variables of the whole process, which are no options of a context: any value may be right. */
static bool is_variable(const char *setting)
{
    static const char *const names[] = {"blas", "config", "disable", "log", "tune_cache"};
    size_t length = strcspn(setting, "=");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && !strncasecmp(names[i], setting, length)) return true;
    return false;
}

/* Whether the library takes it. The program would only warn, where nobody may see it. */
static bool accepts(lac_ctx_t *ctx, const char *setting)
{
    char option[64];
    size_t length = strcspn(setting, "=");
    if (is_variable(setting)) return true;
    if (length >= sizeof option)
        length = sizeof option - 1; /* none is as long: the message names it as far */
    for (size_t i = 0; i <= length; i++)
        option[i] = i < length ? (char)tolower((unsigned char)setting[i]) : '\0';
    return lac_ctx_set(ctx, option, strchr(setting, '=') + 1) == LAC_OK;
}

static int check_settings(const program_options_t *options, const char *command)
{
    lac_ctx_t *ctx = NULL;
    int code = EXIT_OK;
    if (options->settings && lac_ctx_create(&ctx) != LAC_OK) {
        complain(command, "--set: %s", lac_last_error());
        return EXIT_UNAVAILABLE;
    }
    for (int i = 0; code == EXIT_OK && i < options->settings; i++)
        if (!accepts(ctx, options->setting[i])) {
            complain(command, "--set %s: %s", options->setting[i], lac_last_error());
            code = EXIT_USAGE;
        }
    lac_ctx_free(ctx);
    return code;
}

int program_prepare(const program_options_t *options, const char *command, bool listens)
{
    int code = check_settings(options, command);
    if (code != EXIT_OK) return code;
    if (!child_preload(command)) return EXIT_UNAVAILABLE;
    for (int i = 0; i < options->settings; i++)
        if (!child_option(options->setting[i])) {
            complain(command, "--set %s: expected OPTION=VALUE", options->setting[i]);
            return EXIT_USAGE;
        }
    return audit(options, command, listens);
}
