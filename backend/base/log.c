/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Where lines go: opened on the first line, never before. */
#include "log.h"
#include "env.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static int sink = STDERR_FILENO;

/* LACUNA_LOG may hold %p for the process id; no other directive is honoured. */
static void open_sink(void)
{
    const char *pattern = lac_env("LACUNA_LOG");
    if (!pattern) return;
    char path[4096];
    const char *pid_at = strstr(pattern, "%p");
    int length = pid_at ? snprintf(path, sizeof path, "%.*s%ld%s", (int)(pid_at - pattern), pattern,
                                   (long)getpid(), pid_at + 2)
                        : snprintf(path, sizeof path, "%s", pattern);
    if (length < 0 || (size_t)length >= sizeof path) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0)
        sink = fd;
    else
        dprintf(STDERR_FILENO, "lacuna: LACUNA_LOG: cannot open %s; writing to standard error\n", path);
}

static void write_line(const char *prefix, const char *format, va_list args)
{
    char line[2048];
    pthread_once(&opened, open_sink);
    size_t used = (size_t)snprintf(line, sizeof line, "%s", prefix);
    int body = vsnprintf(line + used, sizeof line - used - 1, format, args);
    if (body < 0) return;
    used += (size_t)body;
    if (used > sizeof line - 2) used = sizeof line - 2;
    line[used++] = '\n';
    ssize_t written = write(sink, line, used);
    (void)written; /* nobody is left to tell */
}

void lac_log(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line("", format, args);
    va_end(args);
}

void lac_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line("lacuna: ", format, args);
    va_end(args);
}
