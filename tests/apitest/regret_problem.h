/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The random problems of the regret runs, the same for the same seed. */
#ifndef APITEST_REGRET_PROBLEM_H
#define APITEST_REGRET_PROBLEM_H

#include <stdint.h>

#include "ref_problem.h"

/* Problem number `index`: extents log-uniform in 1 .. max_extent with at most max_flops in the dense product,
 * densities log-uniform in 1e-4 .. 1, one or both sides sparse. */
ref_problem_t regret_problem(uint64_t seed, uint64_t index, int64_t max_extent, double max_flops);

#endif
