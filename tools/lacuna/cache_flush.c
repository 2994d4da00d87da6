/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Empties the processor's caches. */
#include "cache_flush.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE_LINE    64
#define BYTES_MIN     ((size_t)64 << 20)
#define BYTES_MAX     ((size_t)1 << 30)
#define FLUSH_THREADS 64

typedef struct sweep {
    const unsigned char *from;
    size_t bytes;
    unsigned sum; /* kept, so that the reads cannot be left out */
} sweep_t;

struct cache_flush {
    unsigned char *buffer;
    size_t bytes;
    int threads;
    sweep_t sweep[FLUSH_THREADS];
};

/* The largest cache that this processor reports, in bytes; 0 when it does not say. */
static size_t largest_cache(void)
{
    size_t largest = 0;
    for (int index = 0; index < 8; index++) {
        char path[96], unit = 'K';
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(path, "r");
        if (!file) break;
        unsigned long size = 0;
        int read = fscanf(file, "%lu%c", &size, &unit);
        fclose(file);
        size_t bytes = (size_t)size << (unit == 'M' ? 20 : 10);
        if (read == 2 && bytes > largest) largest = bytes;
    }
    return largest;
}

cache_flush_t *cache_flush_new(void)
{
    cache_flush_t *cache = calloc(1, sizeof *cache);
    if (!cache) return NULL;
    cache->bytes = 2 * largest_cache();
    if (cache->bytes < BYTES_MIN) cache->bytes = BYTES_MIN;
    if (cache->bytes > BYTES_MAX) cache->bytes = BYTES_MAX;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    cache->threads = processors < 1 ? 1 : processors > FLUSH_THREADS ? FLUSH_THREADS : (int)processors;
    cache->buffer = malloc(cache->bytes);
    if (!cache->buffer) {
        free(cache);
        return NULL;
    }
    memset(cache->buffer, 1, cache->bytes); /* pages never written share one frame and displace nothing */
    return cache;
}

void cache_flush_free(cache_flush_t *cache)
{
    if (!cache) return;
    free(cache->buffer);
    free(cache);
}

static void *run_sweep(void *arg)
{
    sweep_t *sweep = arg;
    unsigned sum = 0;
    for (size_t at = 0; at < sweep->bytes; at += CACHE_LINE) sum += sweep->from[at];
    sweep->sum = sum;
    return NULL;
}

void cache_flush_run(cache_flush_t *cache)
{
    pthread_t thread[FLUSH_THREADS];
    bool running[FLUSH_THREADS] = {false};
    size_t part = cache->bytes / (size_t)cache->threads;
    for (int t = 0; t < cache->threads; t++)
        cache->sweep[t] = (sweep_t){.from = cache->buffer + (size_t)t * part, .bytes = part};
    for (int t = 1; t < cache->threads; t++)
        running[t] = pthread_create(&thread[t], NULL, run_sweep, &cache->sweep[t]) == 0;
    run_sweep(&cache->sweep[0]);
    for (int t = 1; t < cache->threads; t++)
        if (running[t])
            pthread_join(thread[t], NULL);
        else
            run_sweep(&cache->sweep[t]);
}
