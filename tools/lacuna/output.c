/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A table whose columns line up, JSON, and a line of progress. */
#include "output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

struct text_table {
    int columns;
    const char *const *heads;
    char **cells;
    int count, capacity;
};

text_table_t *text_table_new(int columns, const char *const *heads)
{
    text_table_t *table = calloc(1, sizeof *table);
    if (!table) return NULL;
    table->columns = columns;
    table->heads = heads;
    return table;
}

void text_table_free(text_table_t *table)
{
    if (!table) return;
    for (int i = 0; i < table->count; i++) free(table->cells[i]);
    free(table->cells);
    free(table);
}

static int make_room(text_table_t *table)
{
    if (table->count < table->capacity) return 1;
    int capacity = table->capacity > 0 ? 2 * table->capacity : 64;
    char **cells = realloc(table->cells, (size_t)capacity * sizeof *cells);
    if (!cells) return 0;
    table->cells = cells;
    table->capacity = capacity;
    return 1;
}

void text_table_cell(text_table_t *table, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (make_room(table)) table->cells[table->count++] = strdup(text);
}

static int to_the_right(const text_table_t *table, int column)
{
    return table->heads[column][0] == '>';
}

static const char *cell_text(const text_table_t *table, int row, int column)
{
    if (row < 0) return table->heads[column] + to_the_right(table, column);
    const char *text = table->cells[row * table->columns + column];
    return text ? text : "";
}

static int column_width(const text_table_t *table, int column)
{
    size_t width = 0;
    for (int row = -1; row < table->count / table->columns; row++) {
        size_t length = strlen(cell_text(table, row, column));
        if (length > width) width = length;
    }
    return (int)width;
}

void text_table_print(const text_table_t *table, FILE *file, int indent)
{
    int width[TEXT_TABLE_COLUMNS];
    for (int c = 0; c < table->columns; c++) width[c] = column_width(table, c);
    for (int row = -1; row < table->count / table->columns; row++) {
        fprintf(file, "%*s", indent, "");
        for (int c = 0; c < table->columns; c++) {
            const char *text = cell_text(table, row, c);
            if (c + 1 == table->columns && !to_the_right(table, c))
                fputs(text, file);
            else if (to_the_right(table, c))
                fprintf(file, "%*s", width[c], text);
            else
                fprintf(file, "%-*s", width[c], text);
            fputs(c + 1 < table->columns ? "  " : "\n", file);
        }
    }
}

/* A JSON writer for flat reports. */

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

/* One line of progress on standard error. */

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
