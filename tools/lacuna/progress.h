/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One line of progress on standard error, drawn over itself; silent where that is no terminal. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>

/* quiet: never draw. */
void progress_begin(bool quiet);
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Clears the line; call before anything else is printed. */
void progress_clear(void);

#endif
