/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * From one format of an operand to another: dense, CSR, CSC, ELL, bitmask, active list; how many nonzeros it
 * has, and which tiles of it hold any.
 *
 * An operand's contents are those of a format that stands for it (attached, or made while it is frozen),
 * otherwise its buffer's. A dense buffer is measured into formats by lac_meta_scan; here one format is made
 * of another. */
#ifndef LACUNA_CONVERT_H
#define LACUNA_CONVERT_H

#include "lacuna/meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the formats named by `what` (LAC_META_CSR, _CSC, _BITMASK, _ACTIVE, _ELL) of the stored matrix of obj
 * from those that stand for it, and keeps them in obj->meta: they stand as long as these do, and are freed
 * with the metadata. A format that stands already is left alone. Conversions other than CSR to CSC or the
 * reverse go through a temporary dense buffer, and drops entries of value 0. Waits for a device, once for
 * each format. Errors: NULL; those of an operand; VALUE (bits of no format); EMPTY (nothing stands for the
 * operand: freeze it, or attach), STALE; SPARSE (_ELL, and rows differ in length: CSR then stands); MEMORY;
 * EXTENT (extents that overflow 32-bit indices). */
LAC_API lac_status_t lac_meta_convert(lac_ctx_t *ctx, const lac_obj_t *obj, unsigned what);

/* One format's arrays, which belong to the metadata or to who attached them, in the space of the metadata.
 * Members that a format has not are NULL. */
typedef struct lac_format_view {
    int64_t count;      /* entries (CSR, CSC, bitmask, ELL) or active columns                             */
    const int64_t *ptr; /* CSR, CSC: [majors + 1]; bitmask: [m], the place of each row's first value       */
    const int32_t *idx; /* CSR, CSC, ELL: [count], ascending in each major; active: [count]                */
    const void *val;    /* CSR, CSC, ELL: [count], or NULL: ones; bitmask: [count]; active: [count * m]    */
    const uint64_t *bits; /* bitmask: ceil(n / 64) words a row                                              */
} lac_format_view_t;

/* The format named by the one bit `format` where it stands for the contents, valid until the next touch,
 * attach of a format, or free. Errors: NULL; VALUE (no such bit); EMPTY (it is not there, or only a hint: not
 * frozen).
 */
LAC_API lac_status_t lac_meta_view(const lac_meta_t *meta, unsigned format, lac_format_view_t *view);

/* out := op(A), zeros included: f32 with any strides. A sparse-only, binary or dense A; out shares no memory
 * with it. Errors: those of operands; EXTENT; TYPE; ALIAS; MEMORY. */
LAC_API lac_status_t lac_to_dense(lac_ctx_t *ctx, const lac_obj_t *a, const lac_obj_t *out);

/* *count := the nonzeros of A (entries, where it is sparse only), written in the context's space: on a device
 * nobody waits for it. Errors: those of operands; SPACE; ALIAS; MEMORY; EXTENT. */
LAC_API lac_status_t lac_count_nonzeros(lac_ctx_t *ctx, const lac_obj_t *a, int64_t *count);

/* Which tiles of A hold a nonzero, A cut into tiles of tile_rows x tile_cols from its first element on (the
 * last ones of a row or column may be smaller). With words = ceil(ceil(columns / tile_cols) / 64): bit
 * (t % 64) of bits[i * words + t / 64] is set where tile (i, t) does; unused high bits are 0. *count := the
 * tiles that do; count may be NULL. Both are written in the context's space: on a device nobody waits for
 * them. A zero kept as an entry of a format is no nonzero. Errors: those of operands; NULL (bits); VALUE
 * (tile_rows or tile_cols below 1); SPACE; ALIAS; MEMORY; EXTENT. */
LAC_API lac_status_t lac_tile_occupancy(lac_ctx_t *ctx, const lac_obj_t *a, lac_dim_t tile_rows,
                                        lac_dim_t tile_cols, uint64_t *bits, int64_t *count);

#ifdef __cplusplus
}
#endif
#endif
