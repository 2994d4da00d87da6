/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Formats of metadata: built from a buffer in one reading or two, made of another format, and found for a
 * route. */
#ifndef LACUNA_HOST_FORMATS_FORMATS_H
#define LACUNA_HOST_FORMATS_FORMATS_H

#include "host/runtime/exec.h"

/* A stored matrix with a buffer, as metadata describes it. */
typedef struct lac_stored {
    lac_dt_t dt;
    lac_dt_t values; /* of its formats: LAC_F32 or LAC_F64 */
    lac_dim_t m, n;
    lac_inc_t rs, cs;
    const void *buf;
} lac_stored_t;

/* Builds one format into memory of its own (data->owned), origin scanned. Errors: MEMORY, EXTENT. */
lac_status_t lac_format_build(lac_exec_t *exec, const lac_stored_t *x, int threads, lac_format_t format,
                              lac_format_data_t *data);

/* The number of nonzeros. */
int64_t lac_host_nonzeros(lac_exec_t *exec, const lac_stored_t *x, int threads);

/* The format of an operand that may stand for its contents: the one that is there, or, for a frozen operand
 * with a buffer, one built now and kept. *format is NULL where there is neither. Errors: MEMORY, EXTENT. */
lac_status_t lac_format_ensure(lac_exec_t *exec, const lac_operand_t *x, int threads, lac_format_t which,
                               const lac_format_data_t **format);

/* True where lac_format_ensure would find or build it. Pure. */
bool lac_format_at_hand(const lac_operand_t *x, lac_format_t which);

/* CSR from CSC and the reverse. */

/* The compressed format `which` (CSR or CSC) of the other, which stands for the operand. */
bool lac_csr_to_csc_applies(const lac_operand_t *x, lac_format_t which);

/* Where it applies: makes it and keeps it with the operand's metadata. Errors: MEMORY. */
lac_status_t lac_csr_to_csc_keep(lac_exec_t *exec, const lac_operand_t *x, int threads, lac_format_t which,
                                 const lac_format_data_t **format);

/* `from` has `majors` lines of indices below `minors`, and values of `size` bytes; *to gets memory of its own
 * and origin derived. Entries of value 0 stay entries. Errors: MEMORY. */
lac_status_t lac_csr_to_csc(lac_exec_t *exec, size_t size, const lac_format_data_t *from, int64_t majors,
                            int64_t minors, int threads, lac_format_data_t *to);

/* Bytes that lac_format_ensure would add to the operand's metadata, by its density; 0 where it stands. */
size_t lac_format_bytes(const lac_operand_t *x, lac_format_t which);

/* The nonzeros of a dense buffer, found in one reading. */

/* True where reading once is worth the copy of what is found: contiguous rows, more than caches hold. */
bool lac_collects(const lac_stored_t *x);

/* The rows of x as CSR, or as bitmask and values, in memory of the format's own. On an error *data holds what
 * is to be freed. Errors: MEMORY. */
lac_status_t lac_collect_rows(lac_exec_t *exec, const lac_stored_t *x, int threads, bool with_bits,
                              lac_format_data_t *data);

/* The active columns of x with the values of every row, as above. */
lac_status_t lac_collect_active(lac_exec_t *exec, const lac_stored_t *x, int threads,
                                lac_format_data_t *data);

/* One more allocation that the format will own; NULL with a message when there is no memory. */
void *lac_format_own(lac_format_data_t *data, int slot, size_t bytes);
/* The same for `count` values of `size` bytes, with 16 zeros behind them that vectors may read. */
void *lac_format_own_values(lac_format_data_t *data, int slot, int64_t count, size_t size);

#endif
