/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What one process left in its log: objects that were loaded, products that were bound, and the statistics.
 */
#ifndef TOOL_DOCTOR_LOG_H
#define TOOL_DOCTOR_LOG_H

#include <stdbool.h>
#include <stdio.h>

/* Who called what, and where that leads. The texts belong to the log. */
typedef struct binding {
    const char *symbol, *from, *to; /* paths */
    bool by_dlsym;
} binding_t;

typedef struct doctor_log {
    char *text;
    char **object; /* paths; the program is the first */
    int objects;
    char **opened; /* paths of those that Lacuna itself opened */
    int opens;
    binding_t *binding; /* each once */
    int bindings;
    char **said; /* every other line */
    int lines;
} doctor_log_t;

/* Reads a log; false where it cannot be read or there is no memory. Free with doctor_log_free. */
bool doctor_log_read(doctor_log_t *log, const char *path);
void doctor_log_free(doctor_log_t *log);

#endif
