/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Files that hold settings: where they may lie, and how they are opened. */
#ifndef LACUNA_BASE_SETTINGS_FILE_H
#define LACUNA_BASE_SETTINGS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* "<$xdg>/lacuna/<name>", or "<$HOME>/<below_home>/lacuna/<name>" where that variable is not set. Folders
 * that are not absolute paths are passed over, as the XDG specification has it: nothing is read from wherever
 * the program happens to stand. False where there is no folder, or the path does not fit. */
bool lac_settings_path(const char *xdg, const char *below_home, const char *name, char *path, size_t size);

/* Opens a file for reading, or NULL; never waits, whatever lies there: a pipe or a folder is no file. */
FILE *lac_settings_open(const char *path);

#endif
