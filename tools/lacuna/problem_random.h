/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Random problems, the same for the same seed: small awkward ones to check, larger ones to time. */
#ifndef TOOL_PROBLEM_RANDOM_H
#define TOOL_PROBLEM_RANDOM_H

#include <stdint.h>

#include "dice.h"
#include "ref_problem.h"

/* Number `index` of the fuzz stream: any corner of the grammar, extents 0 .. about 200. */
ref_problem_t problem_random_check(uint64_t seed, uint64_t index);

/* Rows or columns, at times with a step, at times with padding. */
ref_layout_t problem_random_layout(dice_t *dice);

/* Number `index` of the bench stream: extents log-uniform in 1 .. max_extent with at most max_flops,
 * densities log-uniform in 1e-4 .. 1, one or both sides sparse. */
ref_problem_t problem_random_bench(uint64_t seed, uint64_t index, int64_t max_extent, double max_flops);

#endif
