/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What lacuna doctor says of one process. */
#ifndef TOOL_DOCTOR_REPORT_H
#define TOOL_DOCTOR_REPORT_H

#include "doctor_log.h"

/* The calls that the drop-in libraries stand in front of: what they export. */
typedef struct taken_calls {
    char **name;
    int count;
} taken_calls_t;

/* Reads them from the libraries beside liblacuna.so; none where they cannot be read. Free with taken_free. */
void taken_read(taken_calls_t *taken);
void taken_free(taken_calls_t *taken);

/* True where the process is worth a word: it multiplied, or could have. */
bool doctor_has_news(const doctor_log_t *log, const taken_calls_t *taken);

/* Which calls were intercepted, which went past and why, and the table of what became of them. */
void doctor_print(const doctor_log_t *log, const taken_calls_t *taken, FILE *file);

#endif
