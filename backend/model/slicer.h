/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Rows picked out of a compressed operand: one call as plain data, and what a backend offers for it. */
#ifndef LACUNA_MODEL_SLICER_H
#define LACUNA_MODEL_SLICER_H

#include "route.h"

/* A checked call, every transpose folded in. Its arrays lie in the backend's space. */
typedef struct lac_slicing {
    lac_operand_t a;                 /* op(A), m x n                                                    */
    lac_format_t which;              /* CSR, or CSC where op(A) is the transpose of what metadata says  */
    const lac_format_data_t *format; /* the compressed rows of op(A)                                    */
    lac_dim_t m, n, count;
    lac_index_t it;
    const void *rows; /* [count] of type it                                                */
    const float *val; /* [format->count], or [1]; NULL: every entry is 1                       */
    bool homogeneous; /* val is [1]                                                        */
    bool zero_rows;   /* a row outside [0, m) picks zeros; otherwise it is an error, to be found here */
    int threads;
} lac_slicing_t;

#define LAC_ENTRIES_UNKNOWN (-1) /* the row pointers are where the host would have to wait for them */

/* What lacuna/slice.h offers, in a backend's space. Each but csr checks the rows before it writes anything,
 * where the host can read them.
 */
typedef struct lac_slicer {
    /* The format `s->which` of the operand: the one that stands, or one built now and kept where it is
     * frozen; *format is NULL where there is neither. s->format and s->val are not set yet. */
    lac_status_t (*format)(lac_exec_t *exec, const lac_slicing_t *s, const lac_format_data_t **format);
    lac_status_t (*rows)(lac_exec_t *exec, const lac_slicing_t *s, float *out, lac_inc_t rs, lac_inc_t cs);
    lac_status_t (*grad)(lac_exec_t *exec, const lac_slicing_t *s, const float *grad_out, lac_inc_t rs,
                         lac_inc_t cs, float *grad_val);
    lac_status_t (*count)(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, void *ptr);
    /* Checks the row pointers that came back from the caller; *entries is how many idx and val must hold, or
     * LAC_ENTRIES_UNKNOWN. */
    lac_status_t (*entries)(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr,
                            int64_t *entries);
    lac_status_t (*csr)(lac_exec_t *exec, const lac_slicing_t *s, lac_index_t it, const void *ptr, void *idx,
                        float *val);
} lac_slicer_t;

#endif
