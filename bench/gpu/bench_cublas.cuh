/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * cuBLAS as the GPU benches have it beside their figures. */
#ifndef LACUNA_BENCH_CUBLAS_CUH
#define LACUNA_BENCH_CUBLAS_CUH

#include <cublas_v2.h>

#include "graph_timing.cuh"

namespace
{

/* Makes the bench's stream, and cuBLAS on it with a workspace of 64 MB: without one of its own, a captured
 * call would be a slower one. */
cublasHandle_t open_cublas(int *version)
{
    cublasHandle_t handle;
    void *space;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaMalloc(&space, 64 << 20));
    cublasCreate(&handle);
    cublasSetStream(handle, stream);
    cublasSetWorkspace(handle, space, 64 << 20);
    cublasGetVersion(handle, version);
    return handle;
}

} // namespace
#endif
