/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The problems that a command works on: listed, or random and the same for the same seed. */
#ifndef LACUNA_TOOLS_LACUNA_PROBLEMS_H
#define LACUNA_TOOLS_LACUNA_PROBLEMS_H

#include "ref_random.h"
#include "ref_problem.h"

#include <math.h>
#include <stdint.h>
#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct rng {
    uint64_t stream, index; /* set stream by ref_stream, index to 0 */
} rng_t;

/* In 0 .. bound - 1; bound is at least 1. */
static inline uint64_t rng_below(rng_t *rng, uint64_t bound)
{
    return ref_random(rng->stream, rng->index++) % bound;
}

/* In [0, 1). */
static inline double rng_unit(rng_t *rng)
{
    return (double)(ref_random(rng->stream, rng->index++) >> 11) * 0x1p-53;
}

/* In 1 .. largest, each power of two as likely as the next. */
static inline int64_t rng_log_uniform(rng_t *rng, int64_t largest)
{
    int64_t v = (int64_t)exp(rng_unit(rng) * log((double)largest + 1.0));
    return v < 1 ? 1 : v > largest ? largest : v;
}

/* The problems that a command works on: from its arguments, from list files, or the built-in few. */

typedef struct problem_list {
    ref_problem_t *problem;
    size_t count, capacity;
} problem_list_t;

/* Adds one problem string. False, with one line in error: it is not understood, or memory is out. */
bool problem_list_add(problem_list_t *list, const char *text, char *error, size_t error_size);

/* The same for a command line, whose parser says what is not understood and ends the program. */
void problem_list_argument(problem_list_t *list, const char *text, const struct argp_state *state);
void problem_list_file(problem_list_t *list, const char *path, const struct argp_state *state);

void problem_list_free(problem_list_t *list);

/* Random problems, the same for the same seed: small awkward ones to check. */

/* Number `index` of the fuzz stream: any corner of the grammar, extents 0 .. about 200; one in three is
 * a product of doubles, and with `halves` another one of f16 or bf16. */
ref_problem_t problem_random_check(uint64_t seed, uint64_t index, bool halves);

/* Rows or columns, at times with a step, at times with padding. */
ref_layout_t problem_random_layout(rng_t *rng);

/* The structure with this density, and blocks of 1 to 32 rows and columns. */
ref_pattern_t problem_random_pattern(rng_t *rng, ref_structure_t structure, double density);

#endif
