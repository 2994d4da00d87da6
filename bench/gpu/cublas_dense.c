/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Dense data through the drop-in cuBLAS and past it, in turns, in one process, in steady state: what the
 * device takes for a call, over shapes from skinny to square. Run it with the library preloaded. usage:
 * cublas_dense [rounds]; prints a line per shape: microseconds past and through, and through over what is
 * allowed, the larger of 1.02 times the time past it and that time + 1.5 us; then the worst */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM = 400, ROUNDS_MAX = 101, LARGEST = 8192 };

typedef cublasStatus_t sgemm_fn(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                const float *, const float *, int, const float *, int, const float *, float *,
                                int);

typedef struct shape {
    int m, n, k;
    cublasOperation_t ta, tb;
} shape_t;

static const shape_t shapes[] = {
    {5000, 1, 5000, CUBLAS_OP_N, CUBLAS_OP_N},    {5000, 10, 5000, CUBLAS_OP_N, CUBLAS_OP_N},
    {5000, 10, 5000, CUBLAS_OP_T, CUBLAS_OP_N},   {10, 5000, 5000, CUBLAS_OP_N, CUBLAS_OP_N},
    {8192, 8, 8192, CUBLAS_OP_T, CUBLAS_OP_N},    {4096, 16, 4096, CUBLAS_OP_T, CUBLAS_OP_N},
    {4096, 128, 4096, CUBLAS_OP_N, CUBLAS_OP_N},  {4096, 128, 4096, CUBLAS_OP_T, CUBLAS_OP_N},
    {1024, 64, 1024, CUBLAS_OP_N, CUBLAS_OP_N},   {512, 512, 64, CUBLAS_OP_N, CUBLAS_OP_T},
    {256, 256, 256, CUBLAS_OP_N, CUBLAS_OP_N},    {1024, 1024, 1024, CUBLAS_OP_N, CUBLAS_OP_N},
    {2048, 256, 2048, CUBLAS_OP_T, CUBLAS_OP_N},  {2048, 2048, 256, CUBLAS_OP_N, CUBLAS_OP_T},
    {2048, 2048, 2048, CUBLAS_OP_N, CUBLAS_OP_N}, {8192, 1024, 512, CUBLAS_OP_N, CUBLAS_OP_N},
};

static cublasHandle_t handle;
static cudaEvent_t begin, end;
static float *a, *b, *c;

static int by_size(const void *x, const void *y)
{
    float p = *(const float *)x, q = *(const float *)y;
    return (p > q) - (p < q);
}

/* By the address of the library that has it, whatever stands in front. */
static sgemm_fn *vendors(void)
{
    void *cublas = dlopen("libcublas.so.13", RTLD_NOW | RTLD_NOLOAD);
    if (!cublas) cublas = dlopen("libcublas.so.12", RTLD_NOW | RTLD_NOLOAD);
    return cublas ? (sgemm_fn *)dlsym(cublas, "cublasSgemm_v2") : NULL;
}

static float call_us(sgemm_fn *sgemm, const shape_t *s, int calls)
{
    const float one = 1.0f, zero = 0.0f;
    float ms = 0.0f;
    int lda = s->ta == CUBLAS_OP_N ? s->m : s->k, ldb = s->tb == CUBLAS_OP_N ? s->k : s->n;
    cudaEventRecord(begin, NULL);
    for (int i = 0; i < calls; i++)
        if (sgemm(handle, s->ta, s->tb, s->m, s->n, s->k, &one, a, lda, b, ldb, &zero, c, s->m)) exit(1);
    cudaEventRecord(end, NULL);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, begin, end);
    return 1e3f * ms / (float)calls;
}

static float median(float *x, int count)
{
    qsort(x, (size_t)count, sizeof *x, by_size);
    return x[count / 2];
}

/* Through over allowed. */
static float compare(sgemm_fn *vendor, const shape_t *s, int rounds)
{
    float past[ROUNDS_MAX], through[ROUNDS_MAX];
    call_us(cublasSgemm, s, WARM);
    int calls = (int)(1500.0f / call_us(vendor, s, 50)) + 8;
    for (int r = 0; r < rounds; r++) {
        past[r] = call_us(vendor, s, calls);
        through[r] = call_us(cublasSgemm, s, calls);
    }
    float p = median(past, rounds), t = median(through, rounds);
    float allowed = 1.02f * p > p + 1.5f ? 1.02f * p : p + 1.5f;
    printf("%5dx%5dx%5d %c%c  past %8.2f us  through %8.2f us  %+6.2f us  %.3fx  of allowed %.3f\n", s->m,
           s->k, s->n, s->ta == CUBLAS_OP_N ? 'N' : 'T', s->tb == CUBLAS_OP_N ? 'N' : 'T', p, t, t - p, t / p,
           t / allowed);
    return t / allowed;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 15;
    sgemm_fn *vendor = vendors();
    size_t count = (size_t)LARGEST * LARGEST;
    float worst = 0.0f, *host = malloc(count * sizeof *host);
    if (rounds < 1 || rounds > ROUNDS_MAX || !host) return 1;
    if (!vendor || cublasCreate(&handle) || cudaMalloc((void **)&a, count * sizeof *a) ||
        cudaMalloc((void **)&b, count * sizeof *b) || cudaMalloc((void **)&c, count * sizeof *c))
        return 77;
    for (size_t i = 0; i < count; i++) host[i] = (float)rand() / (float)RAND_MAX + 0.5f;
    cudaMemcpy(a, host, count * sizeof *a, cudaMemcpyHostToDevice);
    cudaMemcpy(b, host, count * sizeof *b, cudaMemcpyHostToDevice);
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        float of_allowed = compare(vendor, &shapes[i], rounds);
        if (of_allowed > worst) worst = of_allowed;
    }
    printf("worst: %.3f of what is allowed\n", worst);
    free(host);
    return 0;
}
