/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna run: a program with the drop-in libraries in front of its BLAS and cuBLAS. The one file of the
 * command line that touches the environment: to hand it on. */
#define _GNU_SOURCE
#include "run.h"
#include "command.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <strings.h>

/* The folder of liblacuna.so. */
static bool library_folder(char folder[PATH_MAX])
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)lac_version, &info) || !realpath(info.dli_fname, folder)) return false;
    char *slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
    return slash != NULL;
}

bool child_library(const char *name, char *path, size_t size)
{
    char folder[PATH_MAX];
    if (!library_folder(folder)) return false;
    int length = snprintf(path, size, "%s/%s", folder, name);
    return length > 0 && (size_t)length < size && access(path, R_OK) == 0;
}

/* How to get a library that does not lie beside liblacuna.so: the command that builds it, or where it would
 * have to be. "liblacuna_audit.so" is the target lacuna_audit of a build folder, whose libraries lie in lib/.
 */
static void child_library_advice(const char *name, char *text, size_t size)
{
    char folder[PATH_MAX], cache[PATH_MAX + 32];
    if (!library_folder(folder)) snprintf(folder, sizeof folder, "the folder of liblacuna.so");
    snprintf(cache, sizeof cache, "%s/../CMakeCache.txt", folder);
    char *slash = strrchr(folder, '/');
    if (slash && access(cache, R_OK) == 0) {
        *slash = '\0';
        snprintf(text, size, "to build it: cmake --build %s --target %.*s", folder,
                 (int)strcspn(name, ".") - 3, name + 3);
        return;
    }
    snprintf(text, size, "it belongs into %s", folder);
}

/* "more:before" into a variable, with the colon, or another separator, only where it parts two. */
static bool put_in_front(const char *variable, const char *more, const char *separator)
{
    const char *before = getenv(variable);
    bool both = before && *before;
    size_t size = strlen(more) + (both ? strlen(before) : 0) + 2;
    char *value = malloc(size);
    if (!value) return false;
    snprintf(value, size, "%s%s%s", more, both ? separator : "", both ? before : "");
    bool done = setenv(variable, value, 1) == 0;
    free(value);
    return done;
}

/* Puts the drop-in libraries that are there in front of LD_PRELOAD, for every program that is started from
 * now on. False, with a complaint, where there is none or where the loader could not read their names. */
static bool child_preload(const char *command)
{
    static const char *const names[] = {"liblacuna_cublas.so", "liblacuna_blas.so"};
    int found = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        if (!child_library(names[i], path, sizeof path)) continue;
        if (strpbrk(path, " :")) {
            complain(command, "%s: the loader takes no library whose path has a blank or a colon", path);
            return false;
        }
        if (put_in_front("LD_PRELOAD", path, ":")) found++;
    }
    if (!found) complain(command, "no drop-in library lies beside liblacuna.so");
    return found > 0;
}

/* Has the dynamic linker load an auditor beside every program that is started from now on. */
static bool child_audit(const char *library)
{
    return put_in_front("LD_AUDIT", library, ":");
}

/* XLA computes short products by kernels of its own, which nobody can intercept, unless a flag forbids it.
 * What the user has said of them stands. */
static bool child_without_xla_kernels(void)
{
    const char *flags = getenv("XLA_FLAGS");
    if (flags && strstr(flags, "--xla_gpu_enable_triton_gemm")) return true;
    return put_in_front("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=false", " ");
}

bool child_set(const char *option, const char *value)
{
    char name[80];
    int length = snprintf(name, sizeof name, "LACUNA_%s", option);
    if (length < 0 || (size_t)length >= sizeof name) return false;
    for (char *at = name; *at; at++) *at = (char)toupper((unsigned char)*at);
    return setenv(name, value, 1) == 0;
}

/* The same from "option=value". */
static bool child_option(const char *setting)
{
    char option[64];
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting || (size_t)(equals - setting) >= sizeof option) return false;
    snprintf(option, sizeof option, "%.*s", (int)(equals - setting), setting);
    return child_set(option, equals + 1);
}

/* Becomes the program; returns only where that cannot be, with a complaint. */
static void child_become(const char *command, char **arguments)
{
    execvp(arguments[0], arguments);
    complain(command, "%s: %s", arguments[0], strerror(errno));
}

int child_run(const char *command, char **arguments)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) complain(command, "no process: %s", strerror(errno));
    if (child < 0) return -1;
    if (child == 0) {
        child_become(command, arguments);
        _exit(EXIT_UNAVAILABLE);
    }
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN), (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    return status;
}

/* The options end where the program's name stands. */

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
    case 'J':
        options->dlsym = options->jax = true;
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
    {"jax", 'J', NULL, 0, "for JAX on a device: --dlsym, and XLA leaves short products to cuBLAS", 0},
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

/* Variables of the whole process, which are no options of a context. */
static bool is_variable(const char *setting)
{
    static const char *const names[] = {
#define LAC_VARIABLE(name, variable) #name,
#include "planner/options.def"
    };
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
    if (options->jax && !child_without_xla_kernels()) return EXIT_UNAVAILABLE;
    return audit(options, command, listens);
}

/* lacuna run: a program with the drop-in libraries in front of its BLAS and cuBLAS. */

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
