/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Rows picked out of a sparse operand: as a dense matrix, as CSR, and the gradient to the operand's values.
 *
 * The operand is op(A), m x n, given by its compressed rows: attached CSR, or CSR that was scanned while the
 * operand is frozen (a frozen operand with a buffer is scanned by the first call). With a.trans = LAC_TRANS
 * it is the CSC of the stored matrix, so that columns are picked. Where only the other of the two is there it
 * is transposed by the first call and kept. Its entries are numbered 0 .. nnz - 1 in the order of that
 * format, and every gradient and every per-entry array keeps this order.
 *
 * `rows` lists `count` rows, int32_t or int64_t as `it` says, in any order, each as often as wanted. All
 * arrays lie in the context's space and stay the caller's; what is written shares no memory with what is
 * read. On any error nothing is written. The results do not depend on the number of threads, to the bit.
 *
 * On a device the calls return before the list of rows has been checked. A row outside [0, m) then picks
 * zeros (no entries, no gradient), and the first out-of-range index is reported as LAC_ERR_VALUE by the next
 * call of this header on the context, which does nothing else, and by lac_device_wait, _upload and _download:
 * VALUE. So are row pointers that lac_slice_rows_count did not write (SPARSE), whose rows are left out. The
 * gradient to one value for all is added up in another order than on the host.
 *
 * The gather is that of event-driven network simulators (csr_slice_rows of BrainEvent, with its gradient
 * rules); the operation is linear in the values, so that forward mode is the same call on the tangents, and
 * lac_slice_rows and lac_slice_rows_grad are each other's gradients to any order. */
#ifndef LACUNA_SLICE_H
#define LACUNA_SLICE_H

#include "lacuna/meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Settings of one call. Set size to sizeof(lac_slice_opts_t) and leave unknown members zero. */
typedef struct lac_slice_opts {
    size_t size;
    const void *val; /* values of this call in place of the operand's own: [nnz], or one value where
                        homogeneous is set; NULL: the operand's own                                     */
    int homogeneous; /* nonzero: every entry has the one value *val, or 1 where val is NULL             */
    int zero_rows;   /* nonzero: a row outside [0, m) picks zeros (no entries, no gradient) and is no error */
} lac_slice_opts_t;

/* out[i, j] := op(A)[rows[i], j], out being count x n f32 with any strides: each of its elements is written
 * once, zeros included. options may be NULL.
 * Errors: NULL; EXTENT (a negative count, an out of another shape); STRIDE; TYPE (of out, or no index type);
 * VALUE (a row outside [0, m): the message names the first; an options.size of no version); ALIAS; SPACE;
 * EMPTY (no compressed rows stand for the operand); STALE (it was touched); MEMORY;
 * UNAVAILABLE (a context whose device has no row slices). */
LAC_API lac_status_t lac_slice_rows(lac_ctx_t *ctx, const lac_obj_t *a, lac_index_t it, lac_dim_t count,
                                    const void *rows, const lac_obj_t *out, const lac_slice_opts_t *options);

/* The adjoint: for every entry e of row r and column j
 *     grad_val[e] := sum over the i with rows[i] == r, ascending, of grad_out[i, j]
 * and 0 for the entries of rows that were not picked; grad_val is [nnz]. With options.homogeneous it is one
 * value, the sum over all of them, taken in double. options.val is not read: the operation is linear.
 * grad_out is count x n f32 with any strides. Errors: as lac_slice_rows. */
LAC_API lac_status_t lac_slice_rows_grad(lac_ctx_t *ctx, const lac_obj_t *a, lac_index_t it, lac_dim_t count,
                                         const void *rows, const lac_obj_t *grad_out, void *grad_val,
                                         const lac_slice_opts_t *options);

/* The row pointers of the slice as CSR, the first of two calls: ptr is [count + 1] of type ptr_it, from 0,
 * and ptr[count] is the number of entries to make room for. Errors: as lac_slice_rows; EXTENT where that
 * number overflows int32_t. */
LAC_API lac_status_t lac_slice_rows_count(lac_ctx_t *ctx, const lac_obj_t *a, lac_index_t it, lac_dim_t count,
                                          const void *rows, lac_index_t ptr_it, void *ptr,
                                          const lac_slice_opts_t *options);

/* The entries, the second: ptr as the first call wrote it, idx[ptr[count]] of the same type, and
 * val[ptr[count]], or NULL where only the pattern is wanted (on a device idx may not be NULL). What comes out
 * may be attached to metadata of a count x n matrix. Errors: as lac_slice_rows; SPARSE where ptr is not what
 * lac_slice_rows_count writes. */
LAC_API lac_status_t lac_slice_rows_csr(lac_ctx_t *ctx, const lac_obj_t *a, lac_index_t it, lac_dim_t count,
                                        const void *rows, lac_index_t ptr_it, const void *ptr, void *idx,
                                        void *val, const lac_slice_opts_t *options);

#ifdef __cplusplus
}
#endif
#endif
