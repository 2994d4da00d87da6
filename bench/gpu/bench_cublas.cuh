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

/* A bench's main: out.json [first problem] [last problem]; each problem with W by rows, then along k. */
template <typename Problem, size_t kCount>
int run_problems(int argc, char **argv, const Problem (&problems)[kCount],
                 void (*run)(FILE *json, bool &first, cublasHandle_t handle, const Problem &, bool along_k))
{
    if (argc < 2) return 2;
    const size_t begin = argc > 2 ? (size_t)atoi(argv[2]) : 0, end = argc > 3 ? (size_t)atoi(argv[3]) : 99;
    int version = 0;
    cublasHandle_t handle = open_cublas(&version);
    FILE *json = fopen(argv[1], "w");
    if (!json) return 2;
    write_provenance(json, version, kOperators);
    bool first = true;
    for (size_t i = begin; i < kCount && i <= end; i++)
        for (bool along_k : {false, true}) run(json, first, handle, problems[i], along_k);
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}

} // namespace
#endif
