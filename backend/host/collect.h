/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The nonzeros of a dense buffer, found in one reading. */
#ifndef LACUNA_HOST_COLLECT_H
#define LACUNA_HOST_COLLECT_H

#include "formats.h"

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

#endif
