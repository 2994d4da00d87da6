/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Makes the operand by plain loops, and attaches it on both sides. */
#include "csr_pair.h"

#include <stdlib.h>
#include <string.h>

void *csr_pair_poison(size_t bytes)
{
    void *p = malloc(bytes + 1);
    if (!p) exit(1);
    memset(p, 0x7f, bytes);
    return p;
}

float csr_pair_value(uint64_t *random)
{
    return (float)(1 + gpu_random(random) % 1024) / 256.0f * (gpu_random(random) & 1 ? 1.0f : -1.0f);
}

void csr_pair_fetch(lac_ctx_t *device, void *there, void *here, size_t bytes)
{
    gpu_expect(lac_device_download(device, here, there, bytes), LAC_OK, "download");
    lac_device_free(device, there);
}

static void put(const csr_pair_t *x, void *array, int64_t at, int64_t value)
{
    if (x->it == LAC_I64)
        ((int64_t *)array)[at] = value;
    else
        ((int32_t *)array)[at] = (int32_t)value;
}

static void fill(csr_pair_t *x, double density, uint64_t *random)
{
    int64_t full = x->m ? (int64_t)(gpu_random(random) % (uint64_t)x->m) : 0;
    put(x, x->ptr, 0, 0);
    for (int64_t i = 0; i < x->m; i++) {
        bool empty = i != full && gpu_random(random) % 6 == 0;
        for (int64_t j = 0; j < x->n; j++) {
            bool there = i == full || (!empty && (double)(gpu_random(random) % 1000000) < density * 1e6);
            if (!there) continue;
            put(x, x->idx, x->nnz, j);
            x->val[x->nnz++] = csr_pair_value(random);
        }
        put(x, x->ptr, i + 1, x->nnz);
    }
}

void csr_pair_make(csr_pair_t *x, lac_ctx_t *device, lac_ctx_t *host, int64_t m, int64_t n, double density,
                   bool values, uint64_t *random)
{
    *x = (csr_pair_t){.device = device, .host = host, .m = m, .n = n};
    x->it = gpu_random(random) & 1 ? LAC_I64 : LAC_I32;
    size_t wide = x->it == LAC_I64 ? 8 : 4, all = (size_t)m * (size_t)n;
    x->ptr = csr_pair_poison((size_t)(m + 1) * 8);
    x->idx = csr_pair_poison(all * 8);
    x->val = csr_pair_poison((all + 1) * 4); /* never nothing: one value may be asked for */
    fill(x, density, random);
    x->there[0] = gpu_upload(device, x->ptr, (size_t)(m + 1) * wide);
    x->there[1] = gpu_upload(device, x->idx, (size_t)x->nnz * wide);
    x->there[2] = gpu_upload(device, x->val, (size_t)(x->nnz + 1) * 4);
    x->on_host = x->on_device = lac_obj_rowmajor(LAC_F32, m, n, NULL, n);
    x->on_device.space = LAC_DEVICE;
    gpu_expect(lac_meta_create(&x->on_host.meta, m, n), LAC_OK, "meta");
    gpu_expect(lac_meta_create_for(device, &x->on_device.meta, m, n), LAC_OK, "meta");
    gpu_expect(lac_meta_attach_csr(x->on_host.meta, x->it, x->ptr, x->idx, values ? x->val : NULL), LAC_OK,
               "attach");
    gpu_expect(
        lac_meta_attach_csr(x->on_device.meta, x->it, x->there[0], x->there[1], values ? x->there[2] : NULL),
        LAC_OK, "attach");
}

void csr_pair_free(csr_pair_t *x)
{
    lac_meta_free(x->on_host.meta);
    lac_meta_free(x->on_device.meta);
    for (int i = 0; i < 3; i++) lac_device_free(x->device, x->there[i]);
    free(x->ptr), free(x->idx), free(x->val);
}
