/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The tuning store: machine constants as text, one file per machine, in the user's cache folder. */
#ifndef LACUNA_DISPATCH_TUNE_STORE_H
#define LACUNA_DISPATCH_TUNE_STORE_H

#include "../model/machine.h"
#include "lacuna/types.h"

#include <stddef.h>

/* The constants for this processor and thread count: the stored ones where a valid file is there, the
 * defaults otherwise. `source` tells which, for people. A file that is damaged is warned of and not used. */
void lac_tune_load(lac_machine_t *machine, int threads, char *source, size_t size);

/* Whether lac_tune_save would find a place to write to: to be asked before seconds are spent on measuring.
 * Errors: IO. */
lac_status_t lac_tune_try(int threads, const char *path);

/* Writes them to `path`, or to the place where lac_tune_load looks when path is NULL; the file appears whole
 * or not at all. `written` receives the path. Errors: IO. */
lac_status_t lac_tune_save(const lac_machine_t *machine, int threads, const char *path, char *written,
                           size_t size);

/* A path as people write it: "~" for the user's home, whose name is nobody's business in a report. */
void lac_tune_place(const char *path, char *text, size_t size);

/* The processor's name as the system tells it. */
void lac_processor_name(char *name, size_t size);

#endif
