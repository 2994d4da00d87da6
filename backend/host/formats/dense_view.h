/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The plain contents of any operand, as floats or doubles: what dense routes multiply, what conversions write
 * and count, and which tiles of it hold a nonzero. */
#ifndef LACUNA_HOST_FORMATS_DENSE_VIEW_H
#define LACUNA_HOST_FORMATS_DENSE_VIEW_H

#include "host/runtime/exec.h"
#include "route/backend.h"

/* Element (r, c) lies at buf[r * rs + c * cs]. */
typedef struct lac_dense_view {
    const void *buf;
    lac_inc_t rs, cs;
} lac_dense_view_t;

/* The operand's own buffer where it is of type dt (and has a unit stride, when `unit` asks for one);
 * otherwise a copy by rows in the workspace, converted from u8, repacked, or expanded from a sparse format or
 * from one triangle.
 * Errors: MEMORY.
 */
lac_status_t lac_dense_view(lac_exec_t *exec, const lac_operand_t *x, lac_dt_t dt, lac_dim_t rows,
                            lac_dim_t cols, bool unit, lac_work_t purpose, lac_dense_view_t *contents);

/* The problem with its symmetric operand, of which it has one at most, expanded in LAC_WORK_A: *p stays where
 * it has none, and becomes the address of `expanded` otherwise. By rows of the view of that side, as
 * lac_sided says. Errors: MEMORY. */
lac_status_t lac_expand_symmetric(lac_exec_t *exec, lac_side_t side, const lac_problem_t **p,
                                  lac_problem_t *expanded);
/* Bytes of that copy, and microseconds of one thread for it. */
size_t lac_symmetric_bytes(const lac_problem_t *p);
double lac_symmetric_us(const lac_problem_t *p, const lac_machine_t *machine);

/* Bytes of the copy that lac_dense_view would make; 0 where it makes none. */
size_t lac_dense_view_bytes(const lac_operand_t *x, lac_dt_t dt, lac_dim_t rows, lac_dim_t cols, bool unit);

/* Conversions on the host: the backend's hooks. What they write is of the type x->values. */

lac_status_t lac_host_densify(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                              void *out, lac_inc_t rs, lac_inc_t cs, int threads);
lac_status_t lac_host_count(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                            int64_t *count, int threads);

/* Which tiles of an operand hold a nonzero. */

lac_status_t lac_host_occupancy(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                                const lac_tiling_t *tiling);

#endif
