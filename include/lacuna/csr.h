/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Operators on compressed rows that a call brings along: nothing is attached, nothing is kept.
 *
 * Metadata (lacuna/meta.h) checks a sparse operand once and remembers it. A program that cannot promise that
 * its arrays stay where and as they are, such as a kernel that a compiler calls with buffers of its own, uses
 * these. The time follows the entries that a call touches: of rows without an event not even the indices are
 * read. The indices of a row may come in any order and more than once (repeated entries add up), and every
 * row may have the same number of entries without row pointers (fixed fan-out). Indices are checked where
 * they are read: one that is out of range ends the call with VALUE and a message that names its place; what
 * is written is unspecified then.
 *
 * On a device, calls return before they are done: there a wrong index counts as absent, and the next call of
 * this kind, or lac_device_wait, ends with VALUE.
 *
 * On the host, every sum is made by one thread, in the order of the entries, in double and rounded once; with
 * trans, of one column of at most 512 nonzeros, in float. The bits do not depend on the number of threads. On
 * a device, sums over the entries of a row are in double, in a fixed order; with trans, integers are added,
 * which have no order: events that meet one value for all entries are counted; of other values that meet
 * events, sums are exact and rounded once, unless the exponents of their terms differ by more than two bins
 * of 39 - b, where 2^b is no less than the number of terms; all other terms are rounded to multiples of a
 * unit, 2^-(61 - b) of the sum's largest term, where 2^b is no less than nnz. Repeated entries of a slice,
 * and the slices of a gradient, are added in float, ascending. Extents and nnz are below 2^31 there (EXTENT).
 * Calls on a device may be captured; lac_csr_gemm with trans, with lac_csr_workspace. */
#ifndef LACUNA_CSR_H
#define LACUNA_CSR_H

#include "lacuna/meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An m x n matrix of nnz entries, row by row. */
typedef struct lac_csr {
    size_t size; /* sizeof(lac_csr_t) */
    lac_dim_t m, n, nnz;
    lac_index_t it; /* type of ptr, idx and perm                                                            */
    lac_trans_t trans; /* LAC_TRANS: the call reads the transpose */
    const void *ptr;   /* [m + 1]: row i has the entries ptr[i] .. ptr[i + 1] - 1; NULL: nnz / m each   */
    const void *idx;   /* [nnz] column   */
    const float *val;  /* [nnz] value; NULL: every entry is 1  */
    const void *perm;  /* [nnz]: entry e has the value val[perm[e]]; NULL: val[e]  */
    int homogeneous;   /* not 0: val is [1], the value of every entry   */
} lac_csr_t;

/* C := op(A) B, with B dense, f32 or u8 events, and C f32, at any strides. Only the nonzeros of B are
 * multiplied (NaN is one): an entry of A that meets a zero never reaches C, whatever it is. binary: not 0:
 * every nonzero of B counts as 1. Without trans a row of A is read whole for each row of C; with trans, the
 * rows of A whose row of B has a nonzero. Errors: NULL; EXTENT; STRIDE; TYPE; VALUE (size, an index or
 * pointer out of range); SPACE; ALIAS; MEMORY; UNAVAILABLE. */
LAC_API lac_status_t lac_csr_gemm(lac_ctx_t *ctx, const lac_csr_t *a, const lac_obj_t *b, int binary,
                                  const lac_obj_t *c);

/* counts[i * columns + j] := how many entries of row i of op(A) meet a nonzero of B[:, j], with B of
 * `columns` columns: what lac_csr_gemm sums where every entry is 1, before it is rounded. Trans only; the
 * values of A are not read. On a device it is sooner done than the product by what brings a value in. Errors:
 * as above, and VALUE without trans. */
LAC_API lac_status_t lac_csr_count(lac_ctx_t *ctx, const lac_csr_t *a, const lac_obj_t *b, int32_t *counts);

/* On a device, lac_csr_gemm with trans needs a workspace of 16 bytes for each element of C, and 2048, unless
 * all entries have one value and B is binary or u8; the other calls need none. The context has one and makes
 * it larger, which it cannot while its stream is captured; and calls that are recorded from one context share
 * it, so that they may not run at the same time. From here on the context's calls use `memory` instead,
 * `bytes` of the device's, aligned to 8, until the next call of this; NULL: the context's own again.
 * lac_csr_gemm that needs more: MEMORY. On the host nothing changes. Errors: NULL; VALUE (alignment); SPACE;
 * UNAVAILABLE. */
LAC_API lac_status_t lac_csr_workspace(lac_ctx_t *ctx, void *memory, size_t bytes);

/* out[i, :] := row rows[i] of A, dense, i < count; a row outside [0, m) is zeros. No trans. Errors: as above.
 */
LAC_API lac_status_t lac_csr_slice_rows(lac_ctx_t *ctx, const lac_csr_t *a, lac_index_t it, lac_dim_t count,
                                        const void *rows, const lac_obj_t *out);

/* Its gradient: grad_val[e] := sum over the i with rows[i] == r, ascending, of grad_out[i, j], for each entry
 * e = (r, j) of A, whose values, perm and homogeneous are not read. Errors: as above. */
LAC_API lac_status_t lac_csr_slice_rows_grad(lac_ctx_t *ctx, const lac_csr_t *a, lac_index_t it,
                                             lac_dim_t count, const void *rows, const lac_obj_t *grad_out,
                                             float *grad_val);

/* values[e] := sum over k of X[i, k] Y[k, j] for each entry e = (i, j) of the pattern, whose values, perm and
 * homogeneous are not read. X, Y: f32 at any strides. No trans. Errors: as above. */
LAC_API lac_status_t lac_csr_sddmm(lac_ctx_t *ctx, const lac_obj_t *x, const lac_obj_t *y,
                                   const lac_csr_t *pattern, float *values);

/* Parts connections by their delays, so that one product delivers the spikes of several steps before: entry e
 * of row i, which takes delay[e] steps, 1 .. delays, becomes an entry of row (delay[e] - 1) * pitch + i of a
 * matrix of (delays - 1) * pitch + m rows, which meets a row of spikes that lie by their age, `pitch` apart.
 * ptr[(delays - 1) * pitch + m + 1]; idx, val and order of nnz elements, each NULL where it is not wanted.
 * ptr, idx and order have the type a->it. order[e]: the entry of A that entry e of the result was, to bring
 * values that change. Entries of a row stay in their order. No trans. A preparation, not a step: on a device
 * the arrays pass through the host, and the call waits. Errors: as above, and VALUE with the first delay that
 * is out of range; nothing is written then; EXTENT (delays < 1, pitch < m, rows or nnz that overflow). */
LAC_API lac_status_t lac_csr_by_delay(lac_ctx_t *ctx, const lac_csr_t *a, const int32_t *delay,
                                      lac_dim_t delays, lac_dim_t pitch, void *ptr, void *idx, float *val,
                                      void *order);

#ifdef __cplusplus
}
#endif
#endif
