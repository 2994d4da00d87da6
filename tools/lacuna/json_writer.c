/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A JSON writer for flat reports. */
#include "json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

FILE *json_open(json_writer_t *json, const char *path)
{
    json->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    json->depth = 0;
    json->follows = false;
    return json->file;
}

bool json_close(json_writer_t *json)
{
    fputc('\n', json->file);
    bool ok = fflush(json->file) == 0 && !ferror(json->file);
    if (json->file != stdout && fclose(json->file) != 0) ok = false;
    json->file = NULL;
    return ok;
}

static void quoted(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

static void next(json_writer_t *json, const char *key)
{
    if (json->follows) fputc(',', json->file);
    if (json->depth > 0) fprintf(json->file, "\n%*s", 2 * json->depth, "");
    if (key) {
        quoted(json->file, key);
        fputs(": ", json->file);
    }
    json->follows = true;
}

void json_begin(json_writer_t *json, const char *key, char bracket)
{
    next(json, key);
    fputc(bracket, json->file);
    json->depth++;
    json->follows = false;
}

void json_end(json_writer_t *json, char bracket)
{
    json->depth--;
    if (json->follows) fprintf(json->file, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->file);
    json->follows = true;
}

void json_text(json_writer_t *json, const char *key, const char *value)
{
    next(json, key);
    quoted(json->file, value);
}

void json_number(json_writer_t *json, const char *key, double value)
{
    next(json, key);
    if (isfinite(value))
        fprintf(json->file, "%.6g", value);
    else
        fputs("null", json->file);
}

void json_integer(json_writer_t *json, const char *key, int64_t value)
{
    next(json, key);
    fprintf(json->file, "%" PRId64, value);
}

void json_truth(json_writer_t *json, const char *key, bool value)
{
    next(json, key);
    fputs(value ? "true" : "false", json->file);
}
