/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Empties a device's last-level cache within a stream of calls. */
#include "l2_flush.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS      8192
#define ROWS_DEFAULT 4096  /* 128 MiB, where the device does not tell its cache */
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
