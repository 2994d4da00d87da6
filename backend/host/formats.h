/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Building the formats of metadata from a buffer, and finding the format that a route wants. */
#ifndef LACUNA_HOST_FORMATS_H
#define LACUNA_HOST_FORMATS_H

#include "host_exec.h"

/* A stored matrix with a buffer, as metadata describes it. */
typedef struct lac_stored {
    lac_dt_t dt;
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

#endif
