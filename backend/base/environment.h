/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a user sets from outside: the environment, which only this file reads, files of settings, and the C
 * locale in which their numbers are read and written. */
#ifndef LACUNA_BASE_ENVIRONMENT_H
#define LACUNA_BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <locale.h>

/* The value of an environment variable; NULL where it is unset or empty, and always in a set-uid program. */
const char *lac_env(const char *name);

/* Files that hold settings: where they may lie, and how they are opened. */

/* "<$xdg>/lacuna/<name>", or "<$HOME>/<below_home>/lacuna/<name>" where that variable is not set. Folders
 * that are not absolute paths are passed over, as the XDG specification has it: nothing is read from wherever
 * the program happens to stand. False where there is no folder, or the path does not fit. */
bool lac_settings_path(const char *xdg, const char *below_home, const char *name, char *path, size_t size);

/* Opens a file for reading, or NULL; never waits, whatever lies there: a pipe or a folder is no file. */
FILE *lac_settings_open(const char *path);

/* The C locale for a few lines of code: files and log lines hold 0.5, whatever locale the program has set. */

/* Puts this thread into the C locale; hand what it returns to lac_leave_c_locale. */
locale_t lac_enter_c_locale(void);
void lac_leave_c_locale(locale_t before);

#endif
