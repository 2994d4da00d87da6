/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times the metadata builders, the transposing copy and the bitmask product; JSON to a file. */
#include "bench_cublas.cuh"

namespace
{

/* Metadata builders, the k-major copy and the bitmask product on frozen-weight shapes. */
void bench_metadata(cublasHandle_t handle, FILE *json)
{
    bool first = true;
    const auto line = [&](const char *what, double us, double bytes) {
        printf("  %-34s %8.2f us %7.0f GB/s\n", what, us, bytes / us * 1e-3);
        fprintf(json, "%s\n  {\"problem\": \"%s\", \"route\": \"metadata\", \"warm_us\": %.3f}",
                first ? "" : ",", what, us);
        first = false;
    };
    char name[96];
    for (const int64_t k : {5000, 10000}) {
        const int64_t m = k == 5000 ? 10 : 50;
        float *s = random_device<float>(m * k, 0.01, 5), *val;
        int64_t *ptr;
        int32_t *idx;
        void *workspace;
        CUDA_CHECK(cudaMalloc(&ptr, (size_t)(8 * (m + 1))));
        CUDA_CHECK(cudaMalloc(&idx, (size_t)(4 * m * k)));
        CUDA_CHECK(cudaMalloc(&val, (size_t)(4 * m * k)));
        CUDA_CHECK(cudaMalloc(&workspace, (size_t)(lac_cuda_csr_bytes(m) + lac_cuda_active_bytes(k))));
        const lac_cuda_dense_t d = {LAC_F32, s, k, 1, 0.01};
        const auto run = [&](const char *what, const Call &call) {
            snprintf(name, sizeof name, "%s %lldx%lld 1%%", what, (long long)m, (long long)k);
            line(name, time_graph(call, 20, 1), 4.0 * (double)(m * k));
        };
        run("probe 4096", [&](int) { return lac_cuda_probe(m, k, &d, 4096, 1, ptr, stream); });
        run("count rows", [&](int) { return lac_cuda_count_rows(m, k, &d, ptr, stream); });
        run("active list", [&](int) { return lac_cuda_active_list(m, k, &d, idx, ptr, workspace, stream); });
        run("csr", [&](int) {
            const lac_status_t st = lac_cuda_csr_ptr(m, k, &d, ptr, workspace, stream);
            return st == LAC_OK ? lac_cuda_csr_fill(m, k, &d, ptr, idx, LAC_F32, val, stream) : st;
        });
        for (void *x : {(void *)s, (void *)ptr, (void *)idx, (void *)val, workspace}) cudaFree(x);
        float *w = random_device<float>(k * k, 1.0, 6), *copy;
        CUDA_CHECK(cudaMalloc(&copy, (size_t)(4 * k * k)));
        snprintf(name, sizeof name, "transpose %lldx%lld", (long long)k, (long long)k);
        line(name, time_graph([&](int) { return lac_cuda_transpose(k, k, w, k, 1, copy, k, stream); }, 5, 1),
             8.0 * (double)(k * k));
        cudaFree(w), cudaFree(copy);
    }
    const struct {
        int64_t m, k;
        double density;
    } weights[] = {{8192, 8192, 0.7},  {8192, 8192, 0.5}, {8192, 8192, 0.3}, {8192, 8192, 0.1},
                   {8192, 8192, 0.05}, {5000, 5000, 0.5}, {1024, 4096, 0.5}, {4096, 11008, 0.5}};
    for (const auto &x : weights) {
        const int64_t m = x.m, k = x.k, words = (k + 63) / 64;
        const double density = x.density;
        float *s = random_device<float>(m * k, density, 7), *w = random_device<float>(k * 16, 1.0, 8), *out,
              *val;
        int64_t *ptr;
        int32_t *idx;
        uint64_t *bits;
        void *workspace;
        const size_t nnz = (size_t)((density + 0.01) * (double)(m * k));
        CUDA_CHECK(cudaMalloc(&out, (size_t)(4 * m * 16)));
        CUDA_CHECK(cudaMalloc(&ptr, (size_t)(8 * (m + 1))));
        CUDA_CHECK(cudaMalloc(&idx, 4 * nnz));
        CUDA_CHECK(cudaMalloc(&val, 4 * nnz));
        CUDA_CHECK(cudaMalloc(&bits, (size_t)(8 * m * words)));
        CUDA_CHECK(cudaMalloc(&workspace, (size_t)lac_cuda_csr_bytes(m)));
        const lac_cuda_dense_t d = {LAC_F32, s, k, 1, density};
        lac_cuda_csr_ptr(m, k, &d, ptr, workspace, stream);
        lac_cuda_csr_fill(m, k, &d, ptr, idx, LAC_F32, val, stream);
        lac_cuda_fill_bits(m, k, &d, bits, stream);
        const lac_cuda_bits_t b = {words, bits, ptr, val};
        for (const int64_t n : {1, 2, 4, 8, 16}) {
            const lac_cuda_product_t p = {m,   n, k, {nullptr, 1.0f}, w, k, LAC_CUDA_COLS, {nullptr, 0.0f},
                                          out, n, 1};
            const float one = 1, zero = 0;
            const double dense = time_graph(
                [&](int) {
                    return cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)m, (int)n, (int)k, &one, s,
                                       (int)k, w, (int)k, &zero, out, (int)m) == CUBLAS_STATUS_SUCCESS
                               ? LAC_OK
                               : LAC_ERR_VENDOR;
                },
                5, 1);
            snprintf(name, sizeof name, "bitmask %lldx%lldx%lld %g%% (cublas %.1f)", (long long)m,
                     (long long)k, (long long)n, 100 * density, dense);
            line(name, time_graph([&](int) { return lac_cuda_bitmask(&p, &b, stream); }, 5, 1),
                 (double)(m * k) * (0.125 + 4 * density));
        }
        for (void *x : {(void *)s, (void *)w, (void *)out, (void *)ptr, (void *)idx, (void *)val,
                        (void *)bits, workspace})
            cudaFree(x);
    }
}

} // namespace

/* metadata_bench out.json */
int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    FILE *json = fopen(argv[1], "w");
    if (!json) return 2;
    int version = 0;
    cublasHandle_t handle = open_cublas(&version);
    write_provenance(json, version);
    bench_metadata(handle, json);
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}
