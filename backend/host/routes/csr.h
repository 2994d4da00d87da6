/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * S by rows for one call: from metadata, transposed from another format, or scanned into the workspace. */
#ifndef LACUNA_HOST_ROUTES_CSR_H
#define LACUNA_HOST_ROUTES_CSR_H

#include "host/runtime/exec.h"

typedef enum lac_rows_source {
    LAC_ROWS_NOWHERE,
    LAC_ROWS_FORMAT, /* CSR of S stands or may be built and kept */
    LAC_ROWS_BY_K,   /* CSC of S is transposed                       */
    LAC_ROWS_SCAN    /* the dense buffer is scanned              */
} lac_rows_source_t;

lac_rows_source_t lac_rows_source(const lac_sided_t *s);

/* Fills *rows with S, which lives in metadata or in the workspace until the next call. A scan that counts
 * more than `limit` nonzeros (negative: no limit) stops after the count and sets *exceeded. Values are of the
 * kernels' type. */
lac_status_t lac_rows_gather(lac_exec_t *exec, const lac_host_kernels_t *kernels, const lac_sided_t *s,
                             int threads, int64_t limit, lac_rows_t *rows, bool *exceeded);

#endif
