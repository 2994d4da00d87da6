/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What a problem asks for at least: useful flops and bytes, the measures of a rate. */
#ifndef TOOL_WORK_MODEL_H
#define TOOL_WORK_MODEL_H

#include "operands.h"

typedef struct work_model {
    double density_a, density_b;
    double active_k;     /* fraction of k at which both operands have a nonzero                         */
    double dense_flops;  /* 2 m n k                                                                     */
    double useful_flops; /* 2 for each pair of nonzeros that meet                                       */
    double dense_bytes;  /* A, B read once, C written once (and read where beta is not 0)               */
    double sparse_bytes; /* the operand with the lower density read as it is stored, of the other only
                            the active slices, and C                                                    */
    double floor_bytes; /* the same in what memory moves: where slices lie across the lines of an operand that
                           nobody may copy, whole sectors of them                                      */
} work_model_t;

/* False: out of memory. */
bool work_model(work_model_t *work, const operand_set_t *set);

#endif
