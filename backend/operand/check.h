/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Conformance of operands: what must hold before a call may read them. */
#ifndef LACUNA_OPERAND_CHECK_H
#define LACUNA_OPERAND_CHECK_H

#include "metadata.h"
#include "lacuna/types.h"

#include <stdbool.h>
#include <string.h>

/* One operand by itself; `name` ("a", "b", "c") goes into the message. Checks enumerations, extents that
 * overflow, strides that make elements overlap, a buffer in the context's `space` or a sparse
 * format that stands for it, and metadata whose extents differ. */
lac_status_t lac_check_operand(const char *name, const lac_obj_t *obj, bool output, lac_location_t location);
/* The same of a call that takes LAC_F16, LAC_BF16 and LAC_F64 where it computes on a device. */
lac_status_t lac_check_any_operand(const char *name, const lac_obj_t *obj, bool output,
                                   lac_location_t location);

/* The type of an operand of a product into a c of type dt: dt itself, or binary events, the values in whose
 * formats are then of its sums' type; or, into LAC_F32, LAC_F16 or LAC_BF16. */
lac_status_t lac_check_type(const char *name, const lac_obj_t *x, const char *c_name, lac_dt_t dt);

/* Types and extents of a product, and that c shares no element with a or b; blocks of one parent matrix may
 * lie between each other's lines. */
lac_status_t lac_check_product(const lac_obj_t *a, const lac_obj_t *b, const lac_obj_t *c);

/* True where x and c share an element, or cannot be shown apart. An array is a matrix of one row. */
bool lac_share_memory(const lac_obj_t *x, const lac_obj_t *c);

/* An array of `count` elements of `width` bytes as such a matrix: to be read, never written through. */
lac_obj_t lac_view_array(const void *memory, int64_t count, size_t width);

/* An m x n matrix as a view: to be read, never written through. */
static inline lac_obj_t lac_view(lac_dt_t dt, lac_space_t space, lac_dim_t m, lac_dim_t n, const void *buf,
                                 lac_inc_t rs, lac_inc_t cs)
{
    lac_obj_t x = {dt, space, LAC_NO_TRANS, m, n, rs, cs, NULL, NULL};
    memcpy(&x.buf, &buf, sizeof buf);
    return x;
}

/* The bytes [low, high) from the first element of a checked operand's buffer to its last. */
void lac_obj_span(const lac_obj_t *obj, uintptr_t *low, uintptr_t *high);

/* Rows and columns as the call reads them, trans applied. */
lac_dim_t lac_obj_rows(const lac_obj_t *obj);
lac_dim_t lac_obj_cols(const lac_obj_t *obj);

#endif
