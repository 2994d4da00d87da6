/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The problems that a command works on, listed or random. */
#include "problems.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a problem that exists already. False: out of memory. */
static bool problem_list_push(problem_list_t *list, const ref_problem_t *problem)
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

/* Adds every line of a file; blank lines and comments after a '#' are skipped. "-" is the standard input.
 * The error names file and line. */
static bool problem_list_read(problem_list_t *list, const char *path, char *error, size_t error_size)
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

/* Random problems, the same for the same seed. */

/* Kernels change their minds at the widths of vectors, words and tiles, and beside them. */
static int64_t check_extent(rng_t *rng)
{
    static const int64_t awkward[] = {0,  1,  2,  3,  7,  8,   15,  16,  17, 31,
                                      32, 33, 63, 64, 65, 127, 128, 129, 200};
    if (rng_below(rng, 3) == 0) return awkward[rng_below(rng, sizeof awkward / sizeof *awkward)];
    return rng_log_uniform(rng, 150);
}

ref_layout_t problem_random_layout(rng_t *rng)
{
    ref_layout_t layout = {.by_columns = rng_below(rng, 2) == 0, .step = 1};
    if (rng_below(rng, 4) == 0) layout.step = 1 + (int64_t)rng_below(rng, 3);
    if (rng_below(rng, 3) == 0) layout.pad = (int64_t)rng_below(rng, 20);
    return layout;
}

ref_pattern_t problem_random_pattern(rng_t *rng, ref_structure_t structure, double density)
{
    ref_pattern_t p = {.structure = structure, .density = density};
    if (structure == REF_DENSE) p.density = 1.0;
    if (structure == REF_ZERO) p.density = 0.0;
    if (structure == REF_BLOCK) {
        p.block_rows = (int64_t)1 << rng_below(rng, 6);
        p.block_cols = (int64_t)1 << rng_below(rng, 6);
    }
    return p;
}

static ref_operand_t check_operand(rng_t *rng, lac_dt_t dt)
{
    static const double density[] = {0.0, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 1.0};
    ref_operand_t x = {.dt = dt, .layout = problem_random_layout(rng)};
    x.pattern = problem_random_pattern(rng, (ref_structure_t)rng_below(rng, REF_FAN + 1),
                                       density[rng_below(rng, sizeof density / sizeof *density)]);
    x.pattern.values = (ref_values_t)rng_below(rng, REF_SPECIAL + 1);
    if (dt == LAC_U8 && x.pattern.values != REF_ONES) x.pattern.values = REF_UNIFORM;
    if (rng_below(rng, 2) == 0) return x;
    x.meta = (ref_meta_t)rng_below(rng, (dt == LAC_U8 ? REF_META_EVENT_LISTS : REF_META_ELL) + 1);
    if (x.meta == REF_META_ELL && x.pattern.structure != REF_DENSE && x.pattern.structure != REF_ZERO)
        x.pattern.structure = REF_FAN;
    x.frozen = rng_below(rng, 3) == 0;
    x.only = x.meta >= REF_META_CSR && x.meta <= REF_META_ELL && rng_below(rng, 4) == 0;
    return x;
}

/* The same problem with doubles for floats. */
static void of_doubles(ref_problem_t *p)
{
    p->op = ref_is_vector(p) ? REF_DGEMV : REF_DGEMM;
    p->c.dt = LAC_F64;
    if (p->a.dt == LAC_F32) p->a.dt = LAC_F64;
    if (p->b.dt == LAC_F32) p->b.dt = LAC_F64;
}

/* The same problem with numbers of two bytes, in both operands or one, for sums that are rounded to them or
 * not. */
static void of_halves(ref_problem_t *p, uint64_t draw, uint64_t widened)
{
    lac_dt_t dt = draw & 1 ? LAC_F16 : LAC_BF16;
    if (ref_is_vector(p) || (p->a.dt == LAC_U8 && p->b.dt == LAC_U8)) return;
    p->op = draw & 1 ? REF_HGEMM : REF_BGEMM;
    p->c.dt = draw & 2 ? dt : LAC_F32;
    bool widens = widened < 2 && p->a.dt != LAC_U8 && p->b.dt != LAC_U8; /* one stays f32, and so does C */
    if (widens) p->c.dt = LAC_F32;
    if (p->a.dt == LAC_F32 && !(widens && widened == 0)) p->a.dt = dt;
    if (p->b.dt == LAC_F32 && !(widens && widened == 1)) p->b.dt = dt;
}

ref_problem_t problem_random_check(uint64_t seed, uint64_t index, bool halves)
{
    static const float factor[] = {1.0f, 1.0f, 0.0f, -1.0f, 0.5f, 2.0f};
    rng_t rng = {.stream = ref_stream(seed, index)};
    ref_problem_t p = {.op = rng_below(&rng, 6) == 0 ? REF_SGEMV : REF_SGEMM};
    p.trans_a = rng_below(&rng, 2) == 0 ? LAC_NO_TRANS : LAC_TRANS;
    p.trans_b = ref_is_vector(&p) || rng_below(&rng, 2) == 0 ? LAC_NO_TRANS : LAC_TRANS;
    p.m = check_extent(&rng);
    p.k = check_extent(&rng);
    p.n = ref_is_vector(&p) ? 1 : check_extent(&rng);
    p.alpha = factor[rng_below(&rng, sizeof factor / sizeof *factor)];
    p.beta = rng_below(&rng, 2) == 0 ? 0.0f : factor[rng_below(&rng, sizeof factor / sizeof *factor)];
    uint64_t binary = rng_below(&rng, 6);
    p.a = check_operand(&rng, binary == 0 ? LAC_U8 : LAC_F32);
    p.b = check_operand(&rng, binary == 1 ? LAC_U8 : LAC_F32);
    if (p.a.only) p.b.only = false;
    p.c = (ref_operand_t){.layout = problem_random_layout(&rng), .pattern = {.density = 1.0}};
    uint64_t other = rng_below(&rng, 12);
    if (other % 3 == (halves ? 1 : 0)) of_doubles(&p);
    if (halves && other % 3 == 0) of_halves(&p, other / 3, rng_below(&rng, 6));
    p.seed = 1 + index;
    return p;
}
