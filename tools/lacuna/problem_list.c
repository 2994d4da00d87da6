/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The problems that a command works on. */
#include "problem_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool problem_list_push(problem_list_t *list, const ref_problem_t *problem)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? 2 * list->capacity : 32;
        ref_problem_t *grown = realloc(list->problem, capacity * sizeof *grown);
        if (!grown) return false;
        list->problem = grown;
        list->capacity = capacity;
    }
    list->problem[list->count++] = *problem;
    return true;
}

bool problem_list_add(problem_list_t *list, const char *text, char *error, size_t error_size)
{
    ref_problem_t problem;
    char why[REF_ERROR_TEXT];
    if (!ref_problem_parse(text, &problem, why, sizeof why)) {
        snprintf(error, error_size, "problem '%s': %s", text, why);
        return false;
    }
    if (problem_list_push(list, &problem)) return true;
    snprintf(error, error_size, "problem '%s': out of memory", text);
    return false;
}

/* The problem string of a line, without comment and blanks; "" where there is none. */
static char *bare_line(char *line)
{
    line[strcspn(line, "#\r\n")] = '\0';
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) line[--length] = '\0';
    return line;
}

static bool read_lines(problem_list_t *list, FILE *file, const char *path, char *error, size_t error_size)
{
    char *line = NULL;
    size_t size = 0, number = 0;
    bool ok = true;
    while (ok && getline(&line, &size, file) >= 0) {
        number++;
        char *text = bare_line(line), why[REF_ERROR_TEXT + REF_PROBLEM_TEXT];
        if (*text == '\0' || problem_list_add(list, text, why, sizeof why)) continue;
        snprintf(error, error_size, "%s:%zu: %s", path, number, why);
        ok = false;
    }
    free(line);
    return ok;
}

bool problem_list_read(problem_list_t *list, const char *path, char *error, size_t error_size)
{
    if (strcmp(path, "-") == 0) return read_lines(list, stdin, "standard input", error, error_size);
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(error, error_size, "--file: cannot read '%s': %s", path, strerror(errno));
        return false;
    }
    bool ok = read_lines(list, file, path, error, error_size);
    fclose(file);
    return ok;
}

void problem_list_argument(problem_list_t *list, const char *text, const struct argp_state *state)
{
    char error[3 * REF_PROBLEM_TEXT];
    if (!problem_list_add(list, text, error, sizeof error)) argp_error(state, "%s", error);
}

void problem_list_file(problem_list_t *list, const char *path, const struct argp_state *state)
{
    char error[3 * REF_PROBLEM_TEXT];
    if (!problem_list_read(list, path, error, sizeof error)) argp_error(state, "%s", error);
}

void problem_list_free(problem_list_t *list)
{
    free(list->problem);
    *list = (problem_list_t){0};
}
