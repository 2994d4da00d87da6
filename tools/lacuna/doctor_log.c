/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A log read whole and cut into its lines and fields. */
#include "doctor_log.h"

#include <stdlib.h>
#include <string.h>

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0, used = 0;
    while (file) {
        if (size - used < 2) {
            size = size ? 2 * size : 65536;
            char *grown = realloc(text, size);
            if (!grown) break;
            text = grown;
        }
        size_t got = fread(text + used, 1, size - used - 1, file);
        used += got;
        if (!got) {
            fclose(file);
            text[used] = '\0';
            return text;
        }
    }
    if (file) fclose(file);
    free(text);
    return NULL;
}

static bool same_binding(const binding_t *x, const binding_t *y)
{
    return x->symbol && x->by_dlsym == y->by_dlsym && !strcmp(x->symbol, y->symbol) &&
           !strcmp(x->from, y->from) && !strcmp(x->to, y->to);
}

/* "symbol,from,to,how" */
static void take_binding(doctor_log_t *log, char *line)
{
    char *rest = line;
    const char *symbol = strsep(&rest, ","), *from = strsep(&rest, ","), *to = strsep(&rest, ",");
    if (!symbol || !from || !to || !rest || !strcmp(from, to)) return; /* to itself: its own affair */
    binding_t b = {symbol, from, to, !strcmp(rest, "dlsym")};
    int known = 0;
    while (known < log->bindings && !same_binding(&log->binding[known], &b)) known++;
    if (known == log->bindings) log->binding[log->bindings++] = b;
}

static void take_line(doctor_log_t *log, char *line)
{
    static const char object[] = "lacuna,1,object,", bind[] = "lacuna,1,bind,", opened[] = "lacuna,1,opened,";
    if (!strncmp(line, object, sizeof object - 1))
        log->object[log->objects++] = line + sizeof object - 1;
    else if (!strncmp(line, opened, sizeof opened - 1))
        log->opened[log->opens++] = line + sizeof opened - 1;
    else if (!strncmp(line, bind, sizeof bind - 1))
        take_binding(log, line + sizeof bind - 1);
    else if (*line)
        log->said[log->lines++] = line;
}

bool doctor_log_read(doctor_log_t *log, const char *path)
{
    *log = (doctor_log_t){.text = read_whole(path)};
    if (!log->text) return false;
    size_t lines = 1;
    for (const char *at = log->text; *at; at++) lines += *at == '\n';
    log->object = calloc(lines, sizeof *log->object);
    log->opened = calloc(lines, sizeof *log->opened);
    log->binding = calloc(lines, sizeof *log->binding);
    log->said = calloc(lines, sizeof *log->said);
    if (!log->object || !log->opened || !log->binding || !log->said) {
        doctor_log_free(log);
        return false;
    }
    char *rest = log->text;
    for (char *line; (line = strsep(&rest, "\n"));) take_line(log, line);
    return true;
}

void doctor_log_free(doctor_log_t *log)
{
    free(log->text);
    free(log->object);
    free(log->opened);
    free(log->binding);
    free(log->said);
    *log = (doctor_log_t){0};
}
