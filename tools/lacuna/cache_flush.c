/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Empties the caches of the processor, and of a device. */
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

/* Empties a device's last-level cache within a stream of calls. */

#define COLUMNS      8192
#define ROWS_DEFAULT 4096  /* 128 MiB, where the device does not report its cache */
#define ROWS_MAX     65536 /* 2 GiB                                             */
#define BYTES_PER_MB 1e6
#define CACHES_SWEPT 2.0

static void find_cache(void *arg, const char *key, const char *value)
{
    double *mb = arg;
    if (strcmp(key, "device cache") == 0) *mb = strtod(value, NULL);
}

static lac_dim_t rows_for(lac_ctx_t *ctx)
{
    double cache_mb = 0.0;
    lac_ctx_info(ctx, find_cache, &cache_mb);
    double rows = CACHES_SWEPT * cache_mb * BYTES_PER_MB / (COLUMNS * sizeof(float));
    return rows < 1.0 ? ROWS_DEFAULT : rows > ROWS_MAX ? ROWS_MAX : (lac_dim_t)rows;
}

static lac_obj_t at(float *first, lac_dim_t rows, lac_dim_t columns)
{
    lac_obj_t obj = lac_obj_rowmajor(LAC_F32, rows, columns, first, columns);
    obj.space = LAC_DEVICE;
    return obj;
}

lac_status_t l2_flush_make(l2_flush_t *sweep, lac_ctx_t *ctx)
{
    lac_dim_t rows = rows_for(ctx);
    size_t count = (size_t)(rows * COLUMNS + rows + COLUMNS);
    float *ones = malloc(count * sizeof *ones);
    *sweep = (l2_flush_t){.ctx = ctx};
    if (!ones) return LAC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) ones[i] = 1.0f;
    lac_status_t status = lac_device_alloc(ctx, count * sizeof *ones, &sweep->memory);
    if (status == LAC_OK) status = lac_device_upload(ctx, sweep->memory, ones, count * sizeof *ones);
    free(ones);
    float *first = sweep->memory;
    sweep->matrix = at(first, rows, COLUMNS);
    sweep->row = at(first + rows * COLUMNS, 1, rows);
    sweep->product = at(first + rows * COLUMNS + rows, 1, COLUMNS);
    return status;
}

lac_status_t l2_flush_queue(const l2_flush_t *sweep, lac_ctx_t *ctx)
{
    lac_call_opts_t call = {.size = sizeof call, .route = "cublas"};
    return lac_gemm_ex(ctx, NULL, &sweep->row, &sweep->matrix, NULL, &sweep->product, &call);
}

void l2_flush_free(l2_flush_t *sweep)
{
    if (sweep->memory) lac_device_free(sweep->ctx, sweep->memory);
    *sweep = (l2_flush_t){0};
}
