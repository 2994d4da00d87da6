/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Strided host matrices with poisoned padding: what generators fill, the oracle reads, comparisons check. */
#ifndef REF_MATRIX_H
#define REF_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lacuna/types.h"
#include "ref_half.h"
#include "ref_problem.h"

/* Padding and guards hold these. A number is a quiet NaN of its own payload: read, it spoils the result;
 * found in C after a call, it says that nobody wrote there. The byte is an event like any other. */
#define REF_POISON_F32_BITS  UINT32_C(0x7fc2dead)
#define REF_POISON_F64_BITS  UINT64_C(0x7ff82deaddeaddea)
#define REF_POISON_F16_BITS  UINT16_C(0x7ead)
#define REF_POISON_BF16_BITS UINT16_C(0x7fcd)
#define REF_POISON_U8        UINT8_C(0xa5)

/* Element (i, j) lies at data[i * rs + j * cs], in elements. Views share base; only the matrix that
 * ref_matrix_alloc made is freed. */
typedef struct ref_matrix {
    lac_dt_t dt;
    int64_t m, n;
    int64_t rs, cs;
    void *data;    /* element (0, 0)                                                       */
    void *base;    /* the allocation: guard, slots, guard                                  */
    int64_t guard; /* poisoned elements before and behind                                  */
    int64_t slots; /* elements and padding from the first element to the last              */
} ref_matrix_t;

/* An m x n matrix, all of it poison. data is aligned to 64 bytes when guard is a multiple of 64 (0 too).
 * With guard 0 nothing follows the last element, so that a sanitizer sees the first over-read; with a guard,
 * ref_matrix_padding_intact sees stray writes in any build. False: out of memory, *out is empty. */
bool ref_matrix_alloc(ref_matrix_t *out, lac_dt_t dt, int64_t m, int64_t n, const ref_layout_t *layout,
                      int64_t guard);

/* A copy with its own allocation, padding and guards included. */
bool ref_matrix_copy(ref_matrix_t *out, const ref_matrix_t *from);

/* Overwrites to with from, padding and guards included. Both have one geometry (as after a copy). */
void ref_matrix_restore(ref_matrix_t *to, const ref_matrix_t *from);

/* Accepts an empty matrix and NULL; leaves an empty matrix. */
void ref_matrix_free(ref_matrix_t *matrix);

/* The same elements seen as op(matrix). The view must not be freed. */
ref_matrix_t ref_matrix_op(const ref_matrix_t *matrix, lac_trans_t trans);

/* The view that the library's API takes; meta is NULL. */
lac_obj_t ref_matrix_obj(const ref_matrix_t *matrix, lac_trans_t trans);

/* Element (i, j): a number as it is, a nonzero byte as 1. Bounds are the caller's affair. */
static inline double ref_matrix_at(const ref_matrix_t *x, int64_t i, int64_t j)
{
    int64_t at = i * x->rs + j * x->cs;
    if (x->dt == LAC_U8) return ((const uint8_t *)x->data)[at] != 0 ? 1.0 : 0.0;
    if (ref_is_half(x->dt)) return ref_half_value(x->dt, ((const uint16_t *)x->data)[at]);
    return x->dt == LAC_F64 ? ((const double *)x->data)[at] : (double)((const float *)x->data)[at];
}

/* Element (i, j) := the number of the matrix's type that is nearest to x. Not of bytes. */
static inline void ref_matrix_put(const ref_matrix_t *to, int64_t i, int64_t j, double x)
{
    int64_t at = i * to->rs + j * to->cs;
    if (ref_is_half(to->dt))
        ((uint16_t *)to->data)[at] = ref_half_nearest(to->dt, x);
    else if (to->dt == LAC_F64)
        ((double *)to->data)[at] = x;
    else
        ((float *)to->data)[at] = (float)x;
}

/* The bits of an element that nobody wrote. */
static inline uint64_t ref_poison_bits(lac_dt_t dt)
{
    return dt == LAC_U8     ? REF_POISON_U8
           : dt == LAC_F64  ? REF_POISON_F64_BITS
           : dt == LAC_F16  ? REF_POISON_F16_BITS
           : dt == LAC_BF16 ? REF_POISON_BF16_BITS
                            : REF_POISON_F32_BITS;
}

/* Nonzero elements: NaN counts, -0 does not. */
int64_t ref_matrix_nonzeros(const ref_matrix_t *matrix);

/* True when every slot of padding and guard still holds the poison. Otherwise *where (may be NULL) is the
 * first spoiled slot, counted in elements from element (0, 0); negative in the front guard. */
bool ref_matrix_padding_intact(const ref_matrix_t *matrix, int64_t *where);

/* A number of all bits of the elements in (i, j) order, whatever the strides: equal for bitwise equal
 * results, and for an operand that a call left alone. */
uint64_t ref_matrix_checksum(const ref_matrix_t *matrix);

/* The same for the result of a product: every NaN counts as one, for which of two NaN a sum keeps is the
 * processor's choice, and the order of the two in an addition the compiler's. */
uint64_t ref_matrix_result_checksum(const ref_matrix_t *matrix);

#endif
