/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Host time of a dense call through the drop-in library and past it, in turns, in one process: run with the
 * library preloaded, or without to see what the comparison itself is worth. usage: cublas_overhead [extent
 * [rounds [lt]]]; cublasSgemm, or cublasLtMatmul with a bias. Prints the least and the median of the rounds
 * of each way, in ns per call, and the median of the differences of neighbouring rounds */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 200, ROUNDS_MAX = 2000 }; /* the queue holds about a thousand launches */

static const float one = 1.0f, zero = 0.0f;
static cublasHandle_t handle;
static cublasLtMatmulDesc_t desc;
static cublasLtMatrixLayout_t layout;
static cublasLtMatmulHeuristicResult_t best;
static int n = 256;
static float *a, *c;

typedef cublasStatus_t sgemm_fn(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                const float *, const float *, int, const float *, int, const float *, float *,
                                int);
typedef cublasStatus_t matmul_fn(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *,
                                 cublasLtMatrixLayout_t, const void *, cublasLtMatrixLayout_t, const void *,
                                 const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,
                                 const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t);

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int by_size(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return (p > q) - (p < q);
}

/* By the address in the library that has it, whatever stands in front. */
static void *vendors(const char *thirteen, const char *twelve, const char *name)
{
    void *library = dlopen(thirteen, RTLD_NOW | RTLD_NOLOAD);
    if (!library) library = dlopen(twelve, RTLD_NOW | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

static int sgemm_call(void *fn)
{
    return (int)((sgemm_fn *)fn)(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, a, n, &zero, c, n);
}

static int matmul_call(void *fn)
{
    return (int)((matmul_fn *)fn)((cublasLtHandle_t)handle, desc, &one, a, layout, a, layout, &zero, c,
                                  layout, c, layout, &best.algo, NULL, 0, NULL);
}

static int prepare_matmul(void)
{
    cublasLtEpilogue_t bias = CUBLASLT_EPILOGUE_BIAS;
    cublasLtMatmulPreference_t any;
    int found = 0;
    return cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) ||
           cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &bias, sizeof bias) ||
           cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &a, sizeof a) ||
           cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, (uint64_t)n, (uint64_t)n, n) ||
           cublasLtMatmulPreferenceCreate(&any) ||
           cublasLtMatmulAlgoGetHeuristic((cublasLtHandle_t)handle, desc, layout, layout, layout, layout, any,
                                          1, &best, &found) ||
           found == 0;
}

static double round_ns(int (*call)(void *), void *fn)
{
    cudaDeviceSynchronize();
    double begin = now_ns();
    for (int i = 0; i < CALLS; i++)
        if (call(fn)) exit(1);
    return (now_ns() - begin) / CALLS;
}

static void measure(int (*call)(void *), void *mine, void *vendor, int rounds)
{
    static double through[ROUNDS_MAX], past[ROUNDS_MAX], more[ROUNDS_MAX];
    for (int r = 0; r < rounds; r++) {
        through[r] = round_ns(call, mine);
        past[r] = round_ns(call, vendor);
        more[r] = through[r] - past[r];
    }
    qsort(through, (size_t)rounds, sizeof *through, by_size);
    qsort(past, (size_t)rounds, sizeof *past, by_size);
    qsort(more, (size_t)rounds, sizeof *more, by_size);
    printf("%dx%dx%d: through %.0f least, %.0f median; past %.0f, %.0f; median difference %.0f ns a call\n",
           n, n, n, through[0], through[rounds / 2], past[0], past[rounds / 2], more[rounds / 2]);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 300;
    if (argc > 1) n = atoi(argv[1]);
    if (rounds > ROUNDS_MAX) rounds = ROUNDS_MAX;
    size_t bytes = (size_t)n * (size_t)n * sizeof *a;
    float *host = malloc(bytes);
    if (!host) return 1;
    if (cublasCreate(&handle) || cudaMalloc((void **)&a, bytes) || cudaMalloc((void **)&c, bytes)) return 77;
    for (int i = 0; i < n * n; i++) host[i] = (float)rand() / (float)RAND_MAX + 0.5f;
    cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice);
    if (argc > 3) {
        void *vendor = vendors("libcublasLt.so.13", "libcublasLt.so.12", "cublasLtMatmul");
        if (!vendor || prepare_matmul()) return 77;
        measure(matmul_call, (void *)cublasLtMatmul, vendor, rounds);
    } else {
        void *vendor = vendors("libcublas.so.13", "libcublas.so.12", "cublasSgemm_v2");
        if (!vendor) return 77;
        measure(sgemm_call, (void *)cublasSgemm, vendor, rounds);
    }
    free(host);
    return 0;
}
