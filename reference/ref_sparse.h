/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sparse formats of a dense matrix, built the plainest way: to attach to operands, and to check builders by.
 *
 * A format describes the matrix or view that it is given; pass ref_matrix_op(&x, LAC_TRANS) for the
 * transposed. NaN is an entry, -0 is none. Values are floats, of LAC_F64
 * doubles; those of LAC_U8 are 1. Indices are 32 bits: a matrix with an
 * extent above 2^31 - 1 is refused. Every builder returns false when it is out of memory or refuses, and *out
 * is then empty; every free accepts an empty format and NULL. */
#ifndef REF_SPARSE_H
#define REF_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "ref_matrix.h"

/* CSR: lines are rows, idx columns. CSC: lines are columns, idx rows. */
typedef struct ref_compressed {
    int64_t lines; /* rows of CSR, columns of CSC                      */
    int64_t width; /* the other extent                                 */
    int64_t nnz;
    int64_t *ptr; /* [lines + 1], ptr[0] == 0, ptr[lines] == nnz       */
    int32_t *idx; /* [nnz], strictly ascending within a line           */
    void *val;    /* [nnz]                                             */
} ref_compressed_t;

bool ref_csr_make(ref_compressed_t *out, const ref_matrix_t *x);
bool ref_csc_make(ref_compressed_t *out, const ref_matrix_t *x);
void ref_compressed_free(ref_compressed_t *format);

#define REF_BITS_PAD 16 /* zero values behind the last, that vector loads may touch */

/* Occupancy bits by rows and packed values. Column j of row i is bit (j % 64) of bits[i * words + j / 64]. */
typedef struct ref_bits {
    int64_t rows, cols, nnz;
    int64_t words;  /* per row: ceil(cols / 64)                                       */
    uint64_t *bits; /* [rows * words], unused high bits 0                             */
    int64_t *first; /* [rows + 1] index in val of the row's first nonzero             */
    void *val;      /* [nnz + REF_BITS_PAD], row by row, columns ascending            */
} ref_bits_t;

bool ref_bits_make(ref_bits_t *out, const ref_matrix_t *x);
void ref_bits_free(ref_bits_t *format);

/* The active columns of x, where any of its rows is nonzero: with x = op(A) the active k of a product, with
 * x = the transposed op(B) the same for a sparse right side. Given both ways: slots holds whole columns,
 * zeros included; first, row, val only the events. */
typedef struct ref_active {
    int64_t rows, cols;
    int64_t active; /* columns with a nonzero                                         */
    int64_t nnz;    /* events                                                         */
    int32_t *k;     /* [active] strictly ascending                                    */
    void *slots;    /* [active * rows] element (i, k[a]) at slots[a * rows + i]       */
    int64_t *first; /* [active + 1] first event of each active column                 */
    int32_t *row;   /* [nnz] ascending within a column                                */
    void *val;      /* [nnz]                                                          */
} ref_active_t;

bool ref_active_make(ref_active_t *out, const ref_matrix_t *x);
void ref_active_free(ref_active_t *format);

#endif
