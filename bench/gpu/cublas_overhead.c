/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Host time of a dense cublasSgemm call, as the program sees it: run plain and with the drop-in library
 * preloaded. usage: cublas_overhead [extent] [rounds]; prints the least and the median of the rounds, in ns
 * per call */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 200, ROUNDS_MAX = 2000 }; /* the queue holds about a thousand launches */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 256, rounds = argc > 2 ? atoi(argv[2]) : 300;
    static double ns[ROUNDS_MAX];
    float *a, *c, *host, one = 1.0f, zero = 0.0f;
    cublasHandle_t handle;
    if (rounds > ROUNDS_MAX) rounds = ROUNDS_MAX;
    size_t bytes = (size_t)n * (size_t)n * sizeof *a;
    if (cublasCreate(&handle) || cudaMalloc((void **)&a, bytes) || cudaMalloc((void **)&c, bytes)) return 77;
    if (!(host = malloc(bytes))) return 1;
    for (int i = 0; i < n * n; i++) host[i] = (float)rand() / (float)RAND_MAX + 0.5f;
    cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice);
    for (int r = 0; r < rounds; r++) {
        cudaDeviceSynchronize();
        double begin = now_ns();
        for (int i = 0; i < CALLS; i++)
            if (cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, a, n, &zero, c, n))
                return 1;
        ns[r] = (now_ns() - begin) / CALLS;
    }
    qsort(ns, (size_t)rounds, sizeof *ns, by_size);
    printf("%dx%dx%d: least %.0f ns, median %.0f ns a call\n", n, n, n, ns[0], ns[rounds / 2]);
    free(host);
    return 0;
}
