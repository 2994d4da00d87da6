/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Empties caches, so that a call can be timed that finds nothing of its operands there: the processor's, and
 * a device's within a stream of calls. */
#ifndef LACUNA_TOOLS_LACUNA_CACHE_FLUSH_H
#define LACUNA_TOOLS_LACUNA_CACHE_FLUSH_H

#include "lacuna/lacuna.h"

typedef struct cache_flush cache_flush_t;

/* NULL: out of memory. */
cache_flush_t *cache_flush_new(void);
void cache_flush_free(cache_flush_t *cache);

/* Reads through twice the size of the last-level cache, one thread for each processor of this process: that
 * displaces derived formats and workspaces too, whose addresses are not known. */
void cache_flush_run(cache_flush_t *cache);

/* Empties a device's last-level cache within a stream of calls: a dense product that reads past its size.
 *
 * That displaces derived formats and workspaces too, whose addresses are not known, and works inside a
 * recording. */

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
