/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Empties a device's last-level cache within a stream of calls: a dense product that reads past its size.
 *
 * That displaces derived formats and workspaces too, whose addresses nobody tells us, and works inside a
 * recording. */
#ifndef TOOL_L2_FLUSH_H
#define TOOL_L2_FLUSH_H

#include "lacuna/lacuna.h"

/* Empty: no memory is held. ctx must outlive it. */
typedef struct l2_flush {
    lac_ctx_t *ctx;
    void *memory;
    lac_obj_t row, matrix, product; /* product := row matrix */
} l2_flush_t;

/* Memory of twice the device's last-level cache. Errors: those of lac_device_alloc and lac_device_upload. */
lac_status_t l2_flush_make(l2_flush_t *sweep, lac_ctx_t *ctx);

/* Queues one sweep on a context of the same device. Errors: those of lac_gemm_ex. */
lac_status_t l2_flush_queue(const l2_flush_t *sweep, lac_ctx_t *ctx);

/* Accepts an empty one; leaves an empty one. */
void l2_flush_free(l2_flush_t *sweep);

#endif
