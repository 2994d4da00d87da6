/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times the products of a CSR matrix with long sides beside cuBLAS and cuSPARSE in one run: CUDA graph
 * replays, medians, JSON to a file. */
#include <cusparse.h>

#include <cstring>
#include <string>

#include "bench_cublas.cuh"

namespace
{

struct Problem {
    int64_t m, k, n;
    double density;
    bool skewed; /* rows of very different length */
};

const Problem kProblems[] = {
    {4096, 4096, 4096, 0.001, false}, {4096, 4096, 4096, 0.005, false},  {4096, 4096, 4096, 0.01, false},
    {4096, 4096, 4096, 0.02, false},  {4096, 4096, 4096, 0.05, false},   {4096, 4096, 4096, 0.1, false},
    {4096, 4096, 4096, 0.2, false},   {4096, 4096, 4096, 0.01, true},    {4096, 4096, 4096, 0.05, true},
    {8192, 8192, 8192, 0.01, false},  {2048, 2048, 2048, 0.05, false},   {1024, 1024, 1024, 0.05, false},
    {512, 4096, 4096, 0.05, false},   {4096, 4096, 512, 0.05, false},    {10000, 1000, 3000, 0.02, false},
    {128, 4096, 4096, 0.05, false},   {4096, 4096, 4096, 0.0005, false}, {4096, 4096, 4096, 0.002, false},
    {4096, 4096, 4096, 0.001, true},
};

struct Bench {
    std::string name;
    lac_cuda_product_t p;
    lac_cuda_dense_t s;
    lac_cuda_csr_t csr;
    float *before;
    bool checked;
};

FILE *json;
bool first_record = true;

/* Keeps an element with the density of its row: the rows' densities fall with the power 0.8 of a scrambled
 * number. */
__global__ void skew(float *s, int64_t m, int64_t k, double density)
{
    const int64_t i = blockIdx.x;
    const double rank = (double)(mix((uint64_t)i) % (uint64_t)m) + 1.0;
    const double mean = 5.0 * pow((double)m, -0.8), keep = density / mean * pow(rank, -0.8);
    for (int64_t c = threadIdx.x; c < k; c += blockDim.x)
        if ((double)(uint32_t)mix((uint64_t)(i * k + c)) * 0x1p-32 >= keep) s[i * k + c] = 0.0f;
}

void report(Bench &b, const char *route, const Call &call, int calls)
{
    CUDA_CHECK(cudaMemsetAsync(b.p.out, 0xff, sizeof(float) * (size_t)(b.p.m * b.p.n), stream));
    if (call(0) != LAC_OK) {
        cudaGetLastError();
        printf("  %-10s refused\n", route);
        return;
    }
    CUDA_CHECK(cudaStreamSynchronize(stream));
    const float e =
        b.checked ? worst_error(b.p, (const float *)b.s.data, b.s.rs, b.s.cs, b.before, 1.0f, 0.0f) : 0;
    const double us = time_graph(call, calls, 1);
    printf("  %-10s %9.2f us  error %.1f\n", route, us, e);
    fflush(stdout);
    fprintf(json, "%s\n  {\"problem\": \"%s\", \"route\": \"%s\", \"warm_us\": %.3f, \"worst_error\": %.3g}",
            first_record ? "" : ",", b.name.c_str(), route, us, e);
    first_record = false;
}

void time_cusparse(Bench &b, cusparseHandle_t handle)
{
    const lac_cuda_product_t &p = b.p;
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t w, c;
    const float one = 1, zero = 0;
    size_t bytes = 0;
    void *space;
    int32_t *ptr;
    CUDA_CHECK(cudaMalloc(&ptr, (size_t)(4 * (p.m + 1))));
    std::vector<int64_t> wide((size_t)p.m + 1);
    CUDA_CHECK(cudaMemcpy(wide.data(), b.csr.ptr, 8 * wide.size(), cudaMemcpyDeviceToHost));
    const std::vector<int32_t> narrow(wide.begin(), wide.end());
    CUDA_CHECK(cudaMemcpy(ptr, narrow.data(), 4 * narrow.size(), cudaMemcpyHostToDevice));
    cusparseCreateCsr(&a, p.m, p.k, b.csr.nnz, ptr, (void *)b.csr.idx, (void *)b.csr.val, CUSPARSE_INDEX_32I,
                      CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseCreateDnMat(&w, p.k, p.n, p.n, (void *)p.w, CUDA_R_32F, CUSPARSE_ORDER_ROW);
    cusparseCreateDnMat(&c, p.m, p.n, p.n, p.out, CUDA_R_32F, CUSPARSE_ORDER_ROW);
    const auto op = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const auto alg = CUSPARSE_SPMM_CSR_ALG3;
    cusparseSpMM_bufferSize(handle, op, op, &one, a, w, &zero, c, CUDA_R_32F, alg, &bytes);
    CUDA_CHECK(cudaMalloc(&space, bytes + 16));
    cusparseSpMM_preprocess(handle, op, op, &one, a, w, &zero, c, CUDA_R_32F, alg, space);
    report(
        b, "cusparse",
        [&](int) {
            const cusparseStatus_t st =
                cusparseSpMM(handle, op, op, &one, a, w, &zero, c, CUDA_R_32F, alg, space);
            return st == CUSPARSE_STATUS_SUCCESS ? LAC_OK : LAC_ERR_VENDOR;
        },
        3);
    cusparseDestroySpMat(a), cusparseDestroyDnMat(w), cusparseDestroyDnMat(c);
    cudaFree(space), cudaFree(ptr);
}

void time_schedule(Bench &b)
{
    const lac_cuda_product_t &p = b.p;
    void *steps, *space, *partial;
    CUDA_CHECK(cudaMalloc(&steps, (size_t)lac_cuda_schedule_bytes(p.m, p.k, b.csr.nnz)));
    CUDA_CHECK(cudaMalloc(&space, (size_t)lac_cuda_schedule_scratch(p.m)));
    CUDA_CHECK(cudaMalloc(&partial, (size_t)lac_cuda_csr_long_bytes(p.m, p.n, p.k) + 1));
    const Call build = [&](int) { return lac_cuda_schedule(p.m, p.k, &b.csr, steps, space, stream); };
    if (build(0) == LAC_OK) {
        report(
            b, "steps", [&](int) { return lac_cuda_csr_long(&p, steps, partial, stream); }, 3);
        b.checked = false;
        report(b, "building", build, 3);
    }
    cudaFree(steps), cudaFree(space), cudaFree(partial);
}

std::string name_of(const Problem &q)
{
    char name[96];
    snprintf(name, sizeof name, "left:%lldx%lldx%lld:%g%%%s", (long long)q.m, (long long)q.k, (long long)q.n,
             100 * q.density, q.skewed ? " skewed" : "");
    return name;
}

void run(const Problem &q, cublasHandle_t dense, cusparseHandle_t sparse, bool check)
{
    Bench b = {};
    b.name = name_of(q);
    b.checked = check && (double)q.m * (double)q.k * (double)q.n < 1e11;
    float *s = random_device<float>(q.m * q.k, q.skewed ? 1.0 : q.density, 11), *out, *val;
    const float *w = random_device<float>(q.k * q.n, 1.0, 12);
    if (q.skewed) skew<<<(unsigned)q.m, 256>>>(s, q.m, q.k, q.density);
    CUDA_CHECK(cudaMalloc(&out, sizeof(float) * (size_t)(q.m * q.n)));
    b.before = out;
    b.p = {q.m, q.n, q.k, {nullptr, 1.0f}, w, q.n, LAC_CUDA_ROWS, {nullptr, 0.0f}, out, q.n, 1};
    b.s = {LAC_F32, s, q.k, 1, q.density};
    CUDA_CHECK(cudaDeviceSynchronize()); /* the operands are filled in another stream */
    int64_t *ptr;
    int32_t *idx;
    void *space;
    CUDA_CHECK(cudaMalloc(&ptr, (size_t)(8 * (q.m + 1))));
    CUDA_CHECK(cudaMalloc(&space, (size_t)lac_cuda_csr_bytes(q.m)));
    lac_cuda_csr_ptr(q.m, q.k, &b.s, ptr, space, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    int64_t nnz = 0;
    CUDA_CHECK(cudaMemcpy(&nnz, ptr + q.m, 8, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMalloc(&idx, 4 * (size_t)nnz));
    CUDA_CHECK(cudaMalloc(&val, 4 * (size_t)nnz));
    lac_cuda_csr_fill(q.m, q.k, &b.s, ptr, idx, LAC_F32, val, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    b.csr = {ptr, idx, val, nnz};
    printf("%s: %lld nonzeros\n", b.name.c_str(), (long long)nnz);

    time_schedule(b);
    const float one = 1, zero = 0;
    const int m = (int)q.m, n = (int)q.n, k = (int)q.k;
    report(
        b, "cublas",
        [&](int) {
            const cublasStatus_t st =
                cublasSgemm(dense, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, w, n, s, k, &zero, out, n);
            return st == CUBLAS_STATUS_SUCCESS ? LAC_OK : LAC_ERR_VENDOR;
        },
        3);
    time_cusparse(b, sparse);
    report(
        b, "gather", [&](int) { return lac_cuda_event_csr(&b.p, &b.csr, nullptr, stream); }, 3);
    report(
        b, "wide", [&](int) { return lac_cuda_spmm_wide(&b.p, &b.csr, stream); }, 3);
    for (const void *x : {(const void *)s, (const void *)w, (const void *)out, (const void *)ptr,
                          (const void *)idx, (const void *)val, (const void *)space})
        cudaFree((void *)x);
}

} // namespace

/* csr_bench out.json [check|plain] [only problems whose name contains this] */
int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    int version = 0;
    cublasHandle_t dense = open_cublas(&version);
    cusparseHandle_t sparse;
    cusparseCreate(&sparse), cusparseSetStream(sparse, stream);
    json = fopen(argv[1], "w");
    if (!json) return 2;
    write_provenance(json, version);
    const bool check = argc > 2 && !strcmp(argv[2], "check");
    for (const Problem &q : kProblems)
        if (argc < 4 || name_of(q).find(argv[3]) != std::string::npos) run(q, dense, sparse, check);
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}
