/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Lanes of the bench against the baseline and the product in double: no time is told of a wrong result. */
#ifndef TOOL_BENCH_VERIFY_H
#define TOOL_BENCH_VERIFY_H

#include "bench_case.h"

/* Runs every lane once with its decision; on a device, records it in steady state too and looks at what a
 * replay computes. A lane that refuses, fails or is wrong gets its status and the reason. */
void bench_verify_all(bench_case_t *bench);

/* Runs every lane that was timed once more. */
void bench_verify_again(bench_case_t *bench);

#endif
