/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The one place of the command line that touches the environment: to hand it on. */
#define _GNU_SOURCE
#include "child_program.h"

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

#include "command.h"

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

/* "liblacuna_audit.so" is the target lacuna_audit of a build folder, whose libraries lie in lib/. */
void child_library_advice(const char *name, char *text, size_t size)
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

/* "more:before" into a variable, with the colon only where it parts two. */
static bool put_in_front(const char *variable, const char *more)
{
    const char *before = getenv(variable);
    bool both = before && *before;
    size_t size = strlen(more) + (both ? strlen(before) : 0) + 2;
    char *value = malloc(size);
    if (!value) return false;
    snprintf(value, size, "%s%s%s", more, both ? ":" : "", both ? before : "");
    bool done = setenv(variable, value, 1) == 0;
    free(value);
    return done;
}

bool child_preload(const char *command)
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
        if (put_in_front("LD_PRELOAD", path)) found++;
    }
    if (!found) complain(command, "no drop-in library lies beside liblacuna.so");
    return found > 0;
}

bool child_audit(const char *library)
{
    return put_in_front("LD_AUDIT", library);
}

bool child_set(const char *option, const char *value)
{
    char name[80];
    int length = snprintf(name, sizeof name, "LACUNA_%s", option);
    if (length < 0 || (size_t)length >= sizeof name) return false;
    for (char *at = name; *at; at++) *at = (char)toupper((unsigned char)*at);
    return setenv(name, value, 1) == 0;
}

bool child_option(const char *setting)
{
    char option[64];
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting || (size_t)(equals - setting) >= sizeof option) return false;
    snprintf(option, sizeof option, "%.*s", (int)(equals - setting), setting);
    return child_set(option, equals + 1);
}

void child_become(const char *command, char **arguments)
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
