/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Random problems, the same for the same seed: small awkward ones to check. */
#ifndef TOOL_PROBLEM_RANDOM_H
#define TOOL_PROBLEM_RANDOM_H

#include <stdint.h>

#include "rng.h"
#include "ref_problem.h"

/* Number `index` of the fuzz stream: any corner of the grammar, extents 0 .. about 200. */
ref_problem_t problem_random_check(uint64_t seed, uint64_t index);

/* Rows or columns, at times with a step, at times with padding. */
ref_layout_t problem_random_layout(rng_t *rng);

/* The structure with this density, and blocks of 1 to 32 rows and columns. */
ref_pattern_t problem_random_pattern(rng_t *rng, ref_structure_t structure, double density);

#endif
