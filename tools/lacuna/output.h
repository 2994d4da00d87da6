/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What reports are written with: a table whose columns line up (cells are collected, then printed at once),
 * JSON, and a line of progress. */
#ifndef LACUNA_TOOLS_LACUNA_OUTPUT_H
#define LACUNA_TOOLS_LACUNA_OUTPUT_H

#include <stdio.h>
#include <stdbool.h>
#include <stdint.h>

#define TEXT_TABLE_COLUMNS 16

typedef struct text_table text_table_t;

/* heads: one text per column; a head that begins with '>' is set, with its column, to the right.
 * NULL: out of memory. */
text_table_t *text_table_new(int columns, const char *const *heads);
void text_table_free(text_table_t *table);

/* The next cell, row by row; a cell that memory cannot hold is left empty. */
void text_table_cell(text_table_t *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints every full row, with `indent` blanks in front. */
void text_table_print(const text_table_t *table, FILE *file, int indent);

/* A JSON writer for flat reports: objects and arrays, texts, numbers, truth values; commas are its affair.
 *
 * A key of NULL writes an element of an array. Numbers that JSON cannot say (NaN, Inf) become null. */

typedef struct json_writer {
    FILE *file;
    int depth;
    bool follows; /* something was written on this level: a comma is due */
} json_writer_t;

/* NULL when the file cannot be created (errno says why). "-" is the standard output. */
FILE *json_open(json_writer_t *json, const char *path);
/* Ends the text; false when anything could not be written. */
bool json_close(json_writer_t *json);

void json_begin(json_writer_t *json, const char *key, char bracket); /* '{' or '[' */
void json_end(json_writer_t *json, char bracket);                    /* '}' or ']' */
void json_text(json_writer_t *json, const char *key, const char *value);
void json_number(json_writer_t *json, const char *key, double value);
void json_integer(json_writer_t *json, const char *key, int64_t value);
void json_truth(json_writer_t *json, const char *key, bool value);

/* One line of progress on standard error, drawn over itself; silent where that is no terminal. */

/* quiet: never draw. */
void progress_begin(bool quiet);
void progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Clears the line; call before anything else is printed. */
void progress_clear(void);

#endif
