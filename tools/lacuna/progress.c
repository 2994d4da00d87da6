/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One line of progress on standard error. */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static bool drawing;

void progress_begin(bool quiet)
{
    drawing = !quiet && isatty(STDERR_FILENO);
}

void progress(const char *format, ...)
{
    if (!drawing) return;
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
}

void progress_clear(void)
{
    if (!drawing) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
