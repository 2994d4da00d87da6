/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Metadata: what is known of an operand's zeros, measured by the library or attached by the caller.
 *
 * Metadata describes the stored matrix of one operand (before its trans). It carries a generation: every
 * format remembers the generation it was made in, and lac_meta_touch starts a new one, so that nothing old
 * is used. A scanned format stands for the operand's contents only while the operand is frozen; on an operand
 * that may change it is a hint about cost, never an answer. An attached format is the caller's word and is
 * used until the next touch. */
#ifndef LACUNA_META_H
#define LACUNA_META_H

#include "lacuna/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which formats to measure; or-ed together. */
#define LAC_META_DENSITY 0x01u /* number of nonzeros                                         */
#define LAC_META_BITMASK 0x02u /* one bit per element, with packed values                    */
#define LAC_META_CSR     0x04u /* compressed rows                                            */
#define LAC_META_CSC     0x08u /* compressed columns                                         */
#define LAC_META_ACTIVE  0x10u /* the indices along n where any row is nonzero, with values  */
#define LAC_META_ELL     0x20u /* a fixed fan-out: compressed rows of one length, not measured */

typedef enum lac_index {
    LAC_I32 = 0,
    LAC_I64 = 1
} lac_index_t; /* type of the indices attached by a caller */

/* Empty metadata for a stored m x n matrix. Errors: NULL, EXTENT, MEMORY. Free with lac_meta_free. */
LAC_API lac_status_t lac_meta_create(lac_meta_t **meta, lac_dim_t m, lac_dim_t n);

/* The same for an operand of the context's space: on a device, the arrays attached to it are device arrays.
 * (Metadata made by lac_meta_create may also be scanned and frozen on a device, but what is attached to it
 * lies on the host.) Attaching to it waits for the device and reads the indices back once, to check them. */
LAC_API lac_status_t lac_meta_create_for(lac_ctx_t *ctx, lac_meta_t **meta, lac_dim_t m, lac_dim_t n);

/* The type of the values in all of its formats, attached or measured: LAC_F32 or LAC_F64. It is settled once,
 * by this call or by the first use: what is attached first is LAC_F32, what is measured is of the operand's
 * type; binary events take that of their first product, or LAC_F32. On a device binary events that are
 * measured hold LAC_F32 unless this call says otherwise. Errors: NULL; TYPE (neither, or settled otherwise).
 */
LAC_API lac_status_t lac_meta_set_type(lac_meta_t *meta, lac_dt_t dt);

/* NULL is accepted. Frees what the library built; never what the caller attached. */
LAC_API void lac_meta_free(lac_meta_t *meta);

/* Measures the formats named by `what` from the operand's buffer (obj->meta must be the metadata to fill).
 * Errors: NULL, EXTENT, STRIDE, TYPE, EMPTY (no buffer), VALUE (unknown bits), MEMORY. */
LAC_API lac_status_t lac_meta_scan(lac_ctx_t *ctx, const lac_obj_t *obj, unsigned what);

/* Attach a format that the caller has. The arrays stay the caller's and must live, unchanged, until the next
 * touch, attach of the same format, or free. They are checked once, here, in time linear in their size:
 *   CSR  ptr[m + 1] from 0, never decreasing; idx[ptr[m]] strictly ascending within a row, in [0, n)
 *   CSC  the same with columns: ptr[n + 1], idx in [0, m)
 *   ELL  idx[m * width] as CSR has it, of rows with `width` entries each (a fixed fan-out): row i begins at
 *        i * width. It stands for CSR as well, in whose place it is attached; the row pointers that CSR wants
 *        are made here, once: 8 bytes a row beside 4 or 8 an entry
 *   active  idx[count] strictly ascending in [0, n); val[j * m + i] is element (i, idx[j])
 *   bitmask  words of 64 bits, ceil(n / 64) per row; bit (j % 64) of word [i][j / 64]; val packed by rows
 * `it` is the type of ptr (and of idx, in which every index must fit 31 bits). val may be NULL for CSR, CSC
 * and ELL: every entry is 1. One other value for all is such a matrix and the alpha of a product, or the
 * weight of a slice: no array is wanted. Values are floats, or, by lac_meta_set_type, doubles. Errors: NULL;
 * TYPE; EXTENT (an index type that overflows); SPARSE, with a message that names the array and the first
 * place that breaks the rule. Nothing is attached on error. */
LAC_API lac_status_t lac_meta_attach_csr(lac_meta_t *meta, lac_index_t it, const void *ptr, const void *idx,
                                         const void *val);
LAC_API lac_status_t lac_meta_attach_csc(lac_meta_t *meta, lac_index_t it, const void *ptr, const void *idx,
                                         const void *val);
LAC_API lac_status_t lac_meta_attach_ell(lac_meta_t *meta, lac_index_t it, lac_dim_t width, const void *idx,
                                         const void *val);
LAC_API lac_status_t lac_meta_attach_active(lac_meta_t *meta, lac_dim_t count, const int32_t *idx,
                                            const void *val);
LAC_API lac_status_t lac_meta_attach_bitmask(lac_meta_t *meta, const uint64_t *bits, const void *val);

/* The events of an operand that changes from call to call as lists beside its buffer, such as the spikes that
 * lac_lif_step lists: idx[i * ld + e] - first, e < count[i], ascending, are the columns of row i's events.
 * What lies outside [0, n) is no event of this operand: one list may serve several, which are parts of one
 * matrix. Arrays of the operand's space, read when a product runs, on a device by the product, so that they
 * may change between calls and replays of a graph without a touch. The buffer stays, of LAC_U8, and holds the
 * same events: routes read what is sooner read. The arrays stay the caller's and live until the next touch,
 * attach of lists, or free; what they hold is not checked, and nothing beyond idx[m * ld] is read whatever
 * count says. Errors: NULL; EXTENT (ld is negative, or an extent does not fit 32-bit indices); VALUE (first
 * is negative); SPACE. */
LAC_API lac_status_t lac_meta_attach_event_lists(lac_meta_t *meta, lac_dim_t ld, const int32_t *idx,
                                                 const int32_t *count, lac_dim_t first);

/* The same as bits, such as lac_lif_step writes: bit (first + j) % 64 of word bits[i * ld + (first + j) / 64]
 * is column j of row i. On a device bits are the better ones of the two: they cost nothing to make. Where
 * both are attached, bits are read. Errors: as above; EXTENT also where first + n is more than 64 ld. */
LAC_API lac_status_t lac_meta_attach_event_bits(lac_meta_t *meta, lac_dim_t ld, const uint64_t *bits,
                                                lac_dim_t first);

/* The owner promises that the contents stay as they are until lac_meta_touch, and that they still are what
 * any format measured earlier says: after a change, touch first and scan again. Derived formats (a k-major
 * copy, packed values) may then be built once and kept; lac_meta_bytes counts them. */
LAC_API lac_status_t lac_meta_freeze(lac_meta_t *meta);

/* The contents changed or are about to: a new generation begins and the operand is no longer frozen. */
LAC_API lac_status_t lac_meta_touch(lac_meta_t *meta);

/* Fraction of nonzeros in [0, 1] as last measured or attached; negative when unknown. */
LAC_API double lac_meta_density(const lac_meta_t *meta);

/* The generation, from 1 on. */
LAC_API uint64_t lac_meta_generation(const lac_meta_t *meta);

/* Bytes of memory that the library holds for this metadata, derived formats included. */
LAC_API size_t lac_meta_bytes(const lac_meta_t *meta);

#ifdef __cplusplus
}
#endif
#endif
