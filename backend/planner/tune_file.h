/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The tuning store: machine constants as text in the user's cache folder, a file for each machine and
 * thread count, and one for each kind of device. LACUNA_TUNE_CACHE names one file for all of them. */
#ifndef LACUNA_PLANNER_TUNE_FILE_H
#define LACUNA_PLANNER_TUNE_FILE_H

#include "route/machine.h"
#include "lacuna/types.h"

#include <stddef.h>

/* Whose constants are kept. */
typedef struct lac_tune_key {
    int threads;
    const char *device; /* NULL: the host's */
} lac_tune_key_t;

/* The constants for this processor and thread count: the stored ones where a valid file is there, the
 * defaults otherwise. `source` tells which, for people. A file that is damaged is warned of and not used. */
void lac_tune_load(lac_machine_t *machine, int threads, char *source, size_t size);

/* Puts in the constants of a device where a valid file brings some, and says so in `source`; otherwise both
 * stay as they are. */
void lac_tune_load_device(lac_machine_t *machine, const char *device, char *source, size_t size);

/* Whether lac_tune_save would find a place to write to: to be asked before seconds are spent on measuring.
 * Errors: IO. */
lac_status_t lac_tune_try(const lac_tune_key_t *key, const char *path);

/* Writes the constants of the key to `path`, or to the place where they are looked for when path is NULL; the
 * file appears whole or not at all. A file that somebody named may serve host and device: there the others go
 * too, where they are not as shipped. `written` receives the path. Errors: IO. */
lac_status_t lac_tune_save(const lac_machine_t *machine, const lac_tune_key_t *key, const char *path,
                           char *written, size_t size);

/* A path as people write it: "~" for the user's home, whose name is nobody's business in a report. */
void lac_tune_shown_path(const char *path, char *text, size_t size);

/* The processor's name as the system tells it. */
void lac_processor_name(char *name, size_t size);

#endif
