/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What GPU tests and benches share: random operands, the fp64 reference, NaN-safe comparison. */
#ifndef LACUNA_GPU_HARNESS_CUH
#define LACUNA_GPU_HARNESS_CUH

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cuda_kernels.h"

inline void cuda_check(cudaError_t e, const char *what, int line)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "%s: %s (line %d)\n", what, cudaGetErrorString(e), line);
    exit(2);
}
#define CUDA_CHECK(x) cuda_check((x), #x, __LINE__)

/* True, and said so, where there is none: the test is skipped. */
inline bool no_device()
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return false;
    printf("skipped: no CUDA device\n");
    return true;
}

__host__ __device__ inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Uniform in [-1, 1), never zero. */
__host__ __device__ inline float signed_unit(uint64_t bits)
{
    float x = (float)(int32_t)(bits >> 40 & 0xffffff) * 0x1p-23f - 1.0f;
    return x == 0.0f ? 0x1p-24f : x;
}

/* Every element drawn, kept with probability `density`, else zero; T u8: 1 .. 255. */
template <typename T> __global__ void fill_random(T *x, int64_t count, double density, uint64_t seed)
{
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < count;
         t += (int64_t)gridDim.x * blockDim.x) {
        uint64_t r = mix(seed ^ mix((uint64_t)t));
        bool keep = (double)(uint32_t)r * 0x1p-32 < density;
        float v = signed_unit(mix(r));
        x[t] = !keep ? T(0) : sizeof(T) == 1 ? T(1 + (r >> 33) % 255) : T(v);
    }
}

template <typename T> T *random_device(int64_t count, double density, uint64_t seed)
{
    T *x;
    CUDA_CHECK(cudaMalloc(&x, sizeof(T) * (size_t)(count + 64)));
    fill_random<<<1024, 256>>>(x, count + 64, density, seed);
    CUDA_CHECK(cudaGetLastError());
    return x;
}

/* err[0]: the largest |out - ref| / (2^-24 (|beta c| + |alpha| sum |s||w|)), as float bits; NaN counts as
 * infinite. */
template <typename T>
__global__ void compare_fp64(lac_cuda_product_t p, const T *s, int64_t rs, int64_t cs, const float *before,
                             float alpha, float beta, unsigned *err)
{
    int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (t >= p.m * p.n) return;
    int64_t i = t / p.n, j = t % p.n;
    double sum = 0, size = 0;
    for (int64_t k = 0; k < p.k; k++) {
        T x = s[i * rs + k * cs];
        if (x == T(0)) continue;
        double v = sizeof(T) == 1 ? 1.0 : (double)x;
        double w = ((const float *)p.w)[p.order == LAC_CUDA_ROWS ? k * p.ldw + j : j * p.ldw + k];
        sum += v * w, size += fabs(v * w);
    }
    int64_t at = i * p.rs + j * p.cs;
    double was = beta == 0.0f ? 0.0 : (double)before[at];
    double ref = (double)beta * was + (double)alpha * sum;
    double scale = fabs(beta * was) + fabs(alpha * size);
    double e = fabs((double)((const float *)p.out)[at] - ref) / (0x1p-24 * scale + 1e-37);
    if (!(e <= 1e30)) e = 1e30;
    atomicMax(err, __float_as_uint((float)e));
}

template <typename T>
float worst_error(const lac_cuda_product_t &p, const T *s, int64_t rs, int64_t cs, const float *before,
                  float alpha, float beta)
{
    static unsigned *err = nullptr;
    if (!err) CUDA_CHECK(cudaMalloc(&err, 4));
    CUDA_CHECK(cudaMemset(err, 0, 4));
    compare_fp64<<<(unsigned)((p.m * p.n + 127) / 128), 128>>>(p, s, rs, cs, before, alpha, beta, err);
    CUDA_CHECK(cudaGetLastError());
    float e;
    CUDA_CHECK(cudaMemcpy(&e, err, 4, cudaMemcpyDeviceToHost));
    return e;
}

#endif
