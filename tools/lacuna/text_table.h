/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A table on the standard output whose columns line up: cells are collected, then printed at once. */
#ifndef TOOL_TEXT_TABLE_H
#define TOOL_TEXT_TABLE_H

#include <stdio.h>

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

#endif
