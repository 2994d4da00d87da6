/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Empties the processor's caches, so that a call can be timed that finds nothing of its operands there. */
#ifndef TOOL_CACHE_FLUSH_H
#define TOOL_CACHE_FLUSH_H

typedef struct cache_flush cache_flush_t;

/* NULL: out of memory. */
cache_flush_t *cache_flush_new(void);
void cache_flush_free(cache_flush_t *cache);

/* Reads through twice the size of the last-level cache, one thread for each processor of this process: that
 * displaces derived formats and workspaces too, whose addresses nobody tells us. */
void cache_flush_run(cache_flush_t *cache);

#endif
