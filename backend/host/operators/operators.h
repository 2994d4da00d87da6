/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The host backend's hooks beyond the product: batches, bias and activation, sampled products, row slices. */
#ifndef LACUNA_HOST_OPERATORS_OPERATORS_H
#define LACUNA_HOST_OPERATORS_OPERATORS_H

#include "host/runtime/exec.h"
#include "route/backend.h"

#include <stdatomic.h>

lac_status_t lac_host_batched(lac_exec_t *exec, const lac_problem_t *p, const lac_batch_t *batch,
                              lac_batch_outcome_t *out);

/* Bias and activation on the host: the backend's hook. */

lac_status_t lac_host_apply_epilogue(lac_exec_t *exec, const lac_problem_t *p);

/* The neurons of a step on the host: the backend's hook. */

lac_status_t lac_host_lif(lac_exec_t *exec, const lac_lif_t *lif, int threads);

/* Sampled products on the host: the backend's hook. */

lac_status_t lac_host_sddmm(lac_exec_t *exec, const lac_problem_t *p, const lac_format_data_t *pattern,
                            void *values);

/* Row slices on the host: the backend's hooks, and what their three files share. */

extern const lac_slicer_t lac_host_slicer;

lac_status_t lac_host_slice_grad(lac_exec_t *exec, const lac_slicing_t *s, const void *grad_out, lac_inc_t rs,
                                 lac_inc_t cs, void *grad_val);
lac_status_t lac_host_slice_count(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, void *ptr);
lac_status_t lac_host_slice_entries(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr,
                                    int64_t *entries);
lac_status_t lac_host_slice_csr(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr,
                                void *idx, void *val);

/* Operators on compressed rows that a call brings along: the backend's hooks. */

extern const lac_csr_operators_t lac_host_csr;

/* The list of rows; and its check: VALUE, with a message that names the first index of a row outside [0, m).
 */
lac_row_indices_t lac_slice_row_indices(const lac_slicing_t *s);
lac_status_t lac_slice_check_rows(const lac_slicing_t *s);

/* Entries that the slice is expected to have. */
double lac_slice_expected(const lac_slicing_t *s);

/* [0, extent) in pieces that threads take as they become free: rows of a sparse operand differ in length. */
typedef struct lac_pieces {
    int64_t extent, grain;
    atomic_llong next;
} lac_pieces_t;

/* The next piece, [*begin, *end); false where none is left. */
bool lac_pieces_take(lac_pieces_t *pieces, int64_t *begin, int64_t *end);

#endif
