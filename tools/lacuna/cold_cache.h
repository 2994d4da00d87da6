/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Empties the processor's caches, so that a call can be timed that finds nothing of its operands there. */
#ifndef TOOL_COLD_CACHE_H
#define TOOL_COLD_CACHE_H

typedef struct cold_cache cold_cache_t;

/* NULL: out of memory. */
cold_cache_t *cold_cache_new(void);
void cold_cache_free(cold_cache_t *cache);

/* Reads through twice the size of the last-level cache, one thread for each processor of this process: that
 * displaces derived formats and workspaces too, whose addresses nobody tells us. */
void cold_cache_flush(cold_cache_t *cache);

#endif
