/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The cache blocks of the dense product; shared with lac_dense_scratch. */
#ifndef LACUNA_DENSE_BLOCK_H
#define LACUNA_DENSE_BLOCK_H

#include "sum_runs.h"

enum {
    DENSE_M = 96,      /* rows of a block: a multiple of every MICRO_ROWS */
    DENSE_N = 256,     /* columns of a block: a multiple of 2 * LANES     */
    DENSE_K = 8 * RUN, /* depth of a block: terms that are added straight */
    DENSE_SCRATCH = DENSE_M * DENSE_K + DENSE_K * DENSE_N + 2 * DENSE_M * DENSE_N
};

#endif
