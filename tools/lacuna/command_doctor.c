/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * lacuna doctor: runs a program, and reports what Lacuna did for it or why it could not. */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_program.h"
#include "command.h"
#include "doctor_report.h"
#include "program_options.h"

static error_t parse_doctor(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT) return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

/* Every process writes a log of its own into the folder. */
static bool listen_in(const char *folder)
{
    char log[PATH_MAX];
    snprintf(log, sizeof log, "%s/%%p", folder);
    return child_set("log", log) && child_set("stats", "1");
}

static int is_log(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Prints and removes the logs; how many processes had something to tell. */
static int tell(const char *folder, const taken_calls_t *taken)
{
    struct dirent **entry = NULL;
    int count = scandir(folder, &entry, is_log, versionsort), reported = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        doctor_log_t log;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (length > 0 && (size_t)length < sizeof path && doctor_log_read(&log, path)) {
            if (doctor_has_news(&log, taken)) {
                fprintf(stderr, "\nprocess %s\n", entry[i]->d_name);
                doctor_print(&log, taken, stderr);
                reported++;
            }
            doctor_log_free(&log);
        }
        remove(path);
        free(entry[i]);
    }
    free(entry);
    return reported;
}

int command_doctor(int argc, char **argv)
{
    static const struct argp_child children[] = {{&program_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .parser = parse_doctor,
        .args_doc = "[--] PROGRAM [ARGUMENT...]",
        .doc = "Runs a program as lacuna run does, and then prints on standard error, for each of its "
               "processes, which "
               "matrix products came to Lacuna, which went past it and why, and what became of those that "
               "came.\vThe exit code is the program's; 3 where it cannot be started, 2 for "
               "usage.\n" EXIT_CODES_TEXT,
        .children = children,
    };
    program_options_t options = {0};
    char audit[PATH_MAX], folder[] = "/tmp/lacuna-doctor-XXXXXX";
    taken_calls_t taken;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options);
    if (!mkdtemp(folder)) {
        complain(argv[0], "%s: no folder can be made there", folder);
        return EXIT_UNAVAILABLE;
    }
    taken_read(&taken);
    int code = program_prepare(&options, argv[0], true), status = -1;
    if (code == EXIT_OK && listen_in(folder)) status = child_run(argv[0], options.program);
    if (status >= 0 && !tell(folder, &taken))
        fprintf(
            stderr, "\nNo process multiplied matrices through a call that Lacuna could see: %s.\n",
            child_library("liblacuna_audit.so", audit, sizeof audit)
                ? "a BLAS that is linked statically leaves no trace, nor does a program with another user's "
                  "rights"
                : "whether any went past it is not known without liblacuna_audit.so");
    rmdir(folder);
    taken_free(&taken);
    if (code != EXIT_OK) return code;
    return status < 0 ? EXIT_UNAVAILABLE : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
