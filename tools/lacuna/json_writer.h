/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A JSON writer for flat reports: objects and arrays, texts, numbers, truth values; commas are its affair.
 *
 * A key of NULL writes an element of an array. Numbers that JSON cannot say (NaN, Inf) become null. */
#ifndef TOOL_JSON_WRITER_H
#define TOOL_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

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

#endif
