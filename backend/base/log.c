/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Where lines go: opened on the first line, never before. */
#include "log.h"
#include "environment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
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

/* Fills `line` and returns its length, newline included; 0 where the format fails. */
static size_t format_line(char *line, size_t size, const char *prefix, const char *format, va_list args)
{
    size_t used = (size_t)snprintf(line, size, "%s", prefix);
    locale_t before = lac_enter_c_locale();
    int body = vsnprintf(line + used, size - used - 1, format, args);
    lac_leave_c_locale(before);
    if (body < 0) return 0;
    used += (size_t)body;
    if (used > size - 2) used = size - 2;
    line[used++] = '\n';
    return used;
}

/* One write, so that lines of several threads do not mix; on from where a signal broke it off. */
static void write_line(const char *line, size_t length)
{
    pthread_once(&opened, open_sink);
    while (length) {
        ssize_t written = write(sink, line, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return; /* no reader is left */
        line += written;
        length -= (size_t)written;
    }
}

void lac_log(const char *format, ...)
{
    char line[2048];
    va_list args;
    va_start(args, format);
    write_line(line, format_line(line, sizeof line, "", format, args));
    va_end(args);
}

/* Remembers a line; true where it was said before. Once the memory is full, lines count as new. */
static bool said_before(const char *line, size_t length)
{
    static _Atomic uint64_t said[64];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)line[i]) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        uint64_t empty = 0;
        if (atomic_compare_exchange_strong(&said[i], &empty, hash | 1)) return false;
        if (empty == (hash | 1)) return true;
    }
    return false;
}

void lac_warn(const char *format, ...)
{
    char line[2048];
    va_list args;
    va_start(args, format);
    size_t length = format_line(line, sizeof line, "lacuna: ", format, args);
    va_end(args);
    if (!said_before(line, length)) write_line(line, length);
}
