/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a problem asks for at least: useful flops and bytes, the measures of a rate. */
#ifndef TOOL_WORK_COUNT_H
#define TOOL_WORK_COUNT_H

#include "operand_set.h"

typedef struct work_count {
    double density_a, density_b;
    double active_k;     /* fraction of k at which both operands have a nonzero                         */
    double dense_flops;  /* 2 m n k                                                                     */
    double useful_flops; /* 2 for each pair of nonzeros that meet                                       */
    double dense_bytes;  /* A, B read once, C written once (and read where beta is not 0)               */
    double sparse_bytes; /* the operand with the lower density read as it is stored, of the other only
                            the active slices, and C                                                    */
    double floor_bytes; /* the same in what memory moves: where slices lie across the lines of an operand that
                           nobody may copy, whole sectors of them                                      */
} work_count_t;

/* False: out of memory. */
bool work_count(work_count_t *work, const operand_set_t *set);

#endif
