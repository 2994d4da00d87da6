/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * cublasSgemm_v2 on the first device, for ../first_calls.c: a call is over when the device has its result. */
#include "../first_calls.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef cublasStatus_t create_fn(cublasHandle_t *);
typedef cublasStatus_t sgemm_fn(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                const float *, const float *, int, const float *, int, const float *, float *,
                                int);

static cublasHandle_t handle;
static sgemm_fn *sgemm[2];

bool blas_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL), *found[3] = {NULL};
    create_fn *create;
    if (library) {
        found[THROUGH] = dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
        found[DIRECT] = dlsym(library, "cublasSgemm_v2");
        found[2] = dlsym(RTLD_DEFAULT, "cublasCreate_v2");
    }
    if (!found[THROUGH] || !found[DIRECT] || !found[2]) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    memcpy(sgemm, found, sizeof sgemm);
    memcpy(&create, &found[2], sizeof create);
    if (create(&handle)) {
        fprintf(stderr, "no device, or no handle of cuBLAS\n");
        return false;
    }
    return true;
}

float *blas_array(const float *from, size_t count)
{
    void *array = NULL;
    if (cudaMalloc(&array, count * sizeof *from)) return NULL;
    if (from ? cudaMemcpy(array, from, count * sizeof *from, cudaMemcpyHostToDevice)
             : cudaMemset(array, 0, count * sizeof *from))
        return NULL;
    return array;
}

void blas_call(const product_t *p, int way)
{
    static const float one = 1.0f, zero = 0.0f;
    int lda = p->ta ? p->k : p->m, ldb = p->tb ? p->n : p->k;
    if (sgemm[way](handle, p->ta ? CUBLAS_OP_T : CUBLAS_OP_N, p->tb ? CUBLAS_OP_T : CUBLAS_OP_N, p->m, p->n,
                   p->k, &one, p->a, lda, p->b, ldb, &zero, p->c, p->m) ||
        cudaDeviceSynchronize()) {
        fprintf(stderr, "cublasSgemm_v2 failed\n");
        exit(EXIT_FAILURE);
    }
}
