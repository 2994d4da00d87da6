/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A product of which one triangle of C is asked for, cut into blocks that hold little else.
 *
 * The other triangle is the caller's: it is neither read nor written. */
#ifndef LACUNA_HOST_ROUTES_TRIANGLE_H
#define LACUNA_HOST_ROUTES_TRIANGLE_H

#include "host/runtime/exec.h"

/* Computes rows [i0, i1) and columns [j0, j1) of C; element (i, j) goes to out->data[i * out->rs + j *
 * out->cs]. `part` is the thread's number, for scratch of its own. */
typedef void (*lac_block_fn)(void *arg, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                             const lac_host_output_t *out, int part);

/* Computes the triangle of an n x n C that p->triangle says, on so many threads. Each panel of a few columns
 * (`by_rows`: rows) is a rectangle of it, which `block` writes to C, and a square on the diagonal, which it
 * writes to the workspace LAC_WORK_C. No element's sum depends on the cut. Errors: MEMORY. */
lac_status_t lac_triangle_run(lac_exec_t *exec, const lac_problem_t *p, int parts, bool by_rows,
                              lac_block_fn block, void *arg);

/* Of the elements of C, the fraction that is computed so; 1 where C is asked for whole. */
double lac_triangle_share(const lac_problem_t *p);

/* Bytes of workspace for so many threads; 0 where C is asked for whole. */
size_t lac_triangle_bytes(const lac_problem_t *p, int parts);

#endif
