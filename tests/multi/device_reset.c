/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * An unmodified program that resets its device and goes on: products by cuBLAS, a reset, products again, on
 * each device there is. Run it with the drop-in cuBLAS preloaded. It prints what it found, and exits with 77
 * where there is no device. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 2000, N = 8, K = 3000, EVERY = 97, SKIP = 77 };

static float w[(size_t)M * K], s[(size_t)K * N], c[(size_t)M * N];

/* C = W S, column by column, S with few events; the largest error against doubles. Negative: a call failed.
 */
static double product(int calls)
{

    const float one = 1.0f, zero = 0.0f;
    cublasHandle_t handle;
    float *dw, *ds, *dc;
    double worst = 0.0;
    if (cublasCreate(&handle)) return -1.0;
    if (cudaMalloc((void **)&dw, sizeof w) || cudaMalloc((void **)&ds, sizeof s) ||
        cudaMalloc((void **)&dc, sizeof c))
        return -2.0;
    if (cudaMemcpy(dw, w, sizeof w, cudaMemcpyHostToDevice) ||
        cudaMemcpy(ds, s, sizeof s, cudaMemcpyHostToDevice))
        return -3.0;
    for (int i = 0; i < calls; i++)
        if (cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, dw, M, ds, K, &zero, dc, M))
            return -4.0;
    if (cudaDeviceSynchronize() || cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost)) return -5.0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i += 7) {
            double sum = 0.0, scale = 1e-30;
            for (int k = 0; k < K; k++) {
                double term = (double)w[k * M + i] * (double)s[j * K + k];
                sum += term, scale += fabs(term);
            }
            worst = fmax(worst, fabs((double)c[j * M + i] - sum) / scale);
        }
    return worst;
}

int main(void)
{
    int devices = 0, failed = 0;
    if (cudaGetDeviceCount(&devices) || !devices) {
        puts("skipped: there is no device");
        return SKIP;
    }
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = (float)((int)(i * 7919 % 1000) - 500) / 500.0f;
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) s[i] = i * 31 % EVERY == 0 ? 1.0f : 0.0f;
    for (int round = 0; round < 3; round++)
        for (int d = 0; d < devices; d++) {
            cudaError_t set = cudaSetDevice(d);
            memset(c, 0xff, sizeof c); /* NaN, unless it is written */
            double error = set ? -6.0 : product(12);
            printf("device %d, after %d resets: error %.3g (%s)\n", d, round, error,
                   cudaGetErrorString(cudaGetLastError()));
            failed |= !(error >= 0.0 && error < 1e-5);
            if (cudaDeviceReset()) puts("cudaDeviceReset failed"), failed = 1;
        }
    return failed;
}
