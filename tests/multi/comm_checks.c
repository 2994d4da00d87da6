/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Failures that are counted and said, and matrices on a device: any, and shards of one W. */
#include "comm_checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *running = "";
_Atomic int failures;
int devices;

void failed(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printf("FAILED %s: %s\n", running, text);
    fflush(stdout);
    failures++;
}

bool expect(lac_status_t got, lac_status_t want, const char *what)
{
    if (got == want) return true;
    failed("%s: status %d (%s), not %d", what, (int)got, lac_last_error(), (int)want);
    return false;
}

lac_obj_t on_device(lac_ctx_t *ctx, lac_dt_t dt, lac_dim_t m, lac_dim_t n, const void *from)
{
    lac_obj_t x = lac_obj_rowmajor(dt, m, n, NULL, n > 0 ? n : 1);
    size_t bytes = (size_t)(m * n) * (dt == LAC_F32 ? 4 : 1);
    x.space = LAC_DEVICE;
    expect(lac_device_alloc(ctx, bytes, &x.buf), LAC_OK, "alloc");
    if (from && bytes) expect(lac_device_upload(ctx, x.buf, from, bytes), LAC_OK, "upload");
    return x;
}

static float weight(lac_dim_t k, lac_dim_t j)
{
    unsigned x = hash((unsigned)(k * 40503 + j));
    return x % 4 ? (float)((int)(x >> 8 & 1023) - 512) / 512.0f : 0.0f;
}

lac_obj_t shard_of_w(lac_ctx_t *ctx, lac_dim_t all, bool sparse, lac_dim_t first, lac_dim_t count,
                     void *owned[3])
{
    float *w = malloc((size_t)(all * count) * sizeof *w + 1),
          *val = malloc((size_t)(all * count) * sizeof *val + 1);
    int32_t *idx = malloc((size_t)(all * count) * sizeof *idx + 1),
            *ptr = malloc((size_t)(all + 1) * sizeof *ptr), nnz = 0;
    for (lac_dim_t k = 0; k < all; k++) {
        ptr[k] = nnz;
        for (lac_dim_t j = 0; j < count; j++) {
            float x = w[k * count + j] = weight(k, first + j);
            if (x != 0.0f && hash((unsigned)(k * 31 + first + j)) % 8 == 0)
                idx[nnz] = (int32_t)j, val[nnz++] = x;
        }
    }
    ptr[all] = nnz;
    lac_obj_t b;
    if (!sparse) {
        b = on_device(ctx, LAC_F32, all, count, w);
        owned[0] = b.buf;
    } else {
        lac_obj_t arrays[3] = {on_device(ctx, LAC_F32, 1, all + 1, ptr), on_device(ctx, LAC_F32, 1, nnz, idx),
                               on_device(ctx, LAC_F32, 1, nnz, val)};
        for (int i = 0; i < 3; i++) owned[i] = arrays[i].buf;
        b = lac_obj_rowmajor(LAC_F32, all, count, NULL, count > 0 ? count : 1);
        b.space = LAC_DEVICE;
        expect(lac_meta_create_for(ctx, &b.meta, all, count), LAC_OK, "meta");
        expect(lac_meta_attach_csr(b.meta, LAC_I32, owned[0], owned[1], owned[2]), LAC_OK, "attach");
        expect(lac_meta_freeze(b.meta), LAC_OK, "freeze");
    }
    free(w), free(val), free(idx), free(ptr);
    return b;
}
