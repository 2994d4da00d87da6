/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times sampled products beside cuSPARSE's and the whole product by cuBLAS; JSON to a file. Every result is
 * compared with sums in double first. */
#include <cusparse.h>

#include <cstring>

#include "cuda_kernels.h"
#include "bench_cublas.cuh"

namespace
{

struct Pattern {
    int64_t m, n, nnz;
    double density;
    int64_t *ptr;
    int32_t *narrow, *idx;
    float *values;
};

__global__ void narrow_pointers(int64_t count, const int64_t *from, int32_t *to)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x)
        to[i] = (int32_t)from[i];
}

/* The largest error in units of 2^-24 of the sum of magnitudes. */
__global__ void compare(Pattern s, int64_t k, const float *a, const float *b, unsigned *worst)
{
    for (int64_t r = blockIdx.x; r < s.m; r += gridDim.x)
        for (int64_t e = s.ptr[r] + threadIdx.x; e < s.ptr[r + 1]; e += blockDim.x) {
            double sum = 0, size = 0;
            for (int64_t l = 0; l < k; l++) {
                const double x = (double)a[r * k + l] * b[s.idx[e] * k + l];
                sum += x, size += fabs(x);
            }
            double error = fabs(s.values[e] - sum) / (size * 0x1p-24 + 1e-30);
            if (!(error < 1e9)) error = 1e9;
            atomicMax(worst, __float_as_uint((float)error));
        }
}

Pattern make_pattern(int64_t m, int64_t n, double density)
{
    Pattern s = {m, n, 0, density, nullptr, nullptr, nullptr, nullptr};
    float *mask = random_device<float>(m * n, density, 5);
    void *workspace;
    CUDA_CHECK(cudaMalloc(&s.ptr, sizeof *s.ptr * (size_t)(m + 1)));
    CUDA_CHECK(cudaMalloc(&s.narrow, sizeof *s.narrow * (size_t)(m + 1)));
    CUDA_CHECK(cudaMalloc(&workspace, (size_t)lac_cuda_csr_bytes(m)));
    CUDA_CHECK(cudaDeviceSynchronize());
    const lac_cuda_dense_t dense = {LAC_F32, mask, n, 1, density};
    lac_cuda_csr_ptr(m, n, &dense, s.ptr, workspace, stream);
    CUDA_CHECK(cudaMemcpyAsync(&s.nnz, s.ptr + m, sizeof s.nnz, cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMalloc(&s.idx, sizeof *s.idx * (size_t)s.nnz));
    CUDA_CHECK(cudaMalloc(&s.values, sizeof *s.values * (size_t)s.nnz));
    lac_cuda_csr_fill(m, n, &dense, s.ptr, s.idx, LAC_F32, s.values, stream);
    narrow_pointers<<<256, 256, 0, stream>>>(m + 1, s.ptr, s.narrow);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    cudaFree(mask), cudaFree(workspace);
    return s;
}

/* A by rows, B by columns, as ours has them; with its preprocessing. */
double time_cusparse(cusparseHandle_t handle, const Pattern &s, int64_t k, float *a, float *b)
{
    const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const float one = 1, zero = 0;
    cusparseDnMatDescr_t da, db;
    cusparseSpMatDescr_t dc;
    size_t bytes = 0;
    void *space;
    cusparseCreateDnMat(&da, s.m, k, k, a, CUDA_R_32F, CUSPARSE_ORDER_ROW);
    cusparseCreateDnMat(&db, k, s.n, k, b, CUDA_R_32F, CUSPARSE_ORDER_COL);
    cusparseCreateCsr(&dc, s.m, s.n, s.nnz, s.narrow, s.idx, s.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                      CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseSDDMM_bufferSize(handle, plain, plain, &one, da, db, &zero, dc, CUDA_R_32F,
                             CUSPARSE_SDDMM_ALG_DEFAULT, &bytes);
    CUDA_CHECK(cudaMalloc(&space, bytes + 16));
    cusparseSDDMM_preprocess(handle, plain, plain, &one, da, db, &zero, dc, CUDA_R_32F,
                             CUSPARSE_SDDMM_ALG_DEFAULT, space);
    const double us = time_graph(
        [&](int) {
            return cusparseSDDMM(handle, plain, plain, &one, da, db, &zero, dc, CUDA_R_32F,
                                 CUSPARSE_SDDMM_ALG_DEFAULT, space)
                       ? LAC_ERR_VENDOR
                       : LAC_OK;
        },
        5, 1);
    cusparseDestroyDnMat(da), cusparseDestroyDnMat(db), cusparseDestroySpMat(dc), cudaFree(space);
    return us;
}

void bench_length(cublasHandle_t blas, cusparseHandle_t sparse, FILE *json, const Pattern &s, int64_t k,
                  bool &first)
{
    static unsigned *worst = nullptr;
    if (!worst) CUDA_CHECK(cudaMalloc(&worst, sizeof *worst));
    float *a = random_device<float>(s.m * k, 1, 1), *b = random_device<float>(s.n * k, 1, 2), *dense, error;
    CUDA_CHECK(cudaMalloc(&dense, sizeof *dense * (size_t)(s.m * s.n)));
    CUDA_CHECK(cudaMemset(s.values, 0xff, sizeof *s.values * (size_t)s.nnz));
    CUDA_CHECK(cudaMemset(worst, 0, sizeof *worst));
    CUDA_CHECK(cudaDeviceSynchronize());
    const lac_cuda_sampled_t p = {s.m, s.n, k, 1, 0, a, k, b, k, s.values};
    const lac_cuda_csr_t pattern = {s.ptr, s.idx, nullptr, s.nnz};
    lac_cuda_sddmm(&p, &pattern, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    compare<<<1024, 128>>>(s, k, a, b, worst);
    CUDA_CHECK(cudaMemcpy(&error, worst, sizeof error, cudaMemcpyDeviceToHost));
    const double ours = time_graph([&](int) { return lac_cuda_sddmm(&p, &pattern, stream); }, 5, 1),
                 theirs = time_cusparse(sparse, s, k, a, b);
    const float one = 1, zero = 0;
    const double whole = time_graph(
        [&](int) {
            return cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, (int)s.n, (int)s.m, (int)k, &one, b, (int)k, a,
                               (int)k, &zero, dense, (int)s.n) == CUBLAS_STATUS_SUCCESS
                       ? LAC_OK
                       : LAC_ERR_VENDOR;
        },
        3, 1);
    printf("%lld^2 at %g%%, k = %lld: %.2f, cusparse %.2f, whole product %.2f us%s\n", (long long)s.m,
           100 * s.density, (long long)k, ours, theirs, whole, error < 40 ? "" : " WRONG");
    char name[96];
    snprintf(name, sizeof name, "%lld x %lld at %g %%, k = %lld", (long long)s.m, (long long)s.n,
             100 * s.density, (long long)k);
    write_time(json, first, name, "lac_sddmm", ours);
    write_time(json, first, name, "cuSPARSE", theirs);
    write_time(json, first, name, "whole, cuBLAS", whole);
    for (void *x : {(void *)a, (void *)b, (void *)dense}) cudaFree(x);
}

} // namespace

/* sddmm_bench out.json */
int main(int argc, char **argv)
{
    FILE *json = argc > 1 ? fopen(argv[1], "w") : nullptr;
    if (!json) return 2;
    int version = 0;
    cublasHandle_t blas = open_cublas(&version);
    cusparseHandle_t sparse;
    cusparseCreate(&sparse), cusparseSetStream(sparse, stream);
    write_provenance(json, version, kOperators);
    bool first = true;
    const struct {
        int64_t m;
        double density;
    } patterns[] = {{4096, 0.01}, {4096, 0.02}, {4096, 0.05}, {4096, 0.1}, {10000, 0.01}, {10000, 0.1}};
    for (const auto &q : patterns) {
        Pattern s = make_pattern(q.m, q.m, q.density);
        for (const int64_t k : {32, 64, 128, 256, 512}) bench_length(blas, sparse, json, s, k, first);
        cudaFree(s.ptr), cudaFree(s.narrow), cudaFree(s.idx), cudaFree(s.values);
    }
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}
