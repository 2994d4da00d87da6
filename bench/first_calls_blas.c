/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * sgemm_ of a BLAS on the host, for first_calls.c. */
#include "first_calls.h"
#include "blas/shapes.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sgemm_fn *sgemm[2];

bool blas_open(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    void *through = handle ? dlsym(RTLD_DEFAULT, "sgemm_") : NULL;
    void *direct = handle ? dlsym(handle, "sgemm_") : NULL;
    if (!through || !direct) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    memcpy(&sgemm[THROUGH], &through, sizeof through);
    memcpy(&sgemm[DIRECT], &direct, sizeof direct);
    return true;
}

float *blas_array(const float *from, size_t count)
{
    size_t bytes = (count * sizeof *from + 63) / 64 * 64;
    float *array = aligned_alloc(64, bytes);
    if (array && from)
        memcpy(array, from, count * sizeof *from);
    else if (array)
        memset(array, 0, bytes);
    return array;
}

void blas_call(const product_t *p, int way)
{
    static const float one = 1.0f, zero = 0.0f;
    const int *lda = p->ta ? &p->k : &p->m, *ldb = p->tb ? &p->n : &p->k;
    sgemm[way](p->ta ? "T" : "N", p->tb ? "T" : "N", &p->m, &p->n, &p->k, &one, p->a, lda, p->b, ldb, &zero,
               p->c, &p->m, 1, 1);
}
