/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times the streamed product beside cuBLAS and the tiles in one run: CUDA graph replays, medians, W from
 * memory, JSON to a file. */
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "bench_cublas.cuh"

namespace
{

struct Problem {
    int64_t m, k, n;
    double target;   /* us; 0: none */
    int64_t between; /* rows of the output: elements that it leaves alone */
};

const Problem kProblems[] = {
    {1, 5000, 5000, 25},
    {2, 5000, 5000, 27},
    {4, 5000, 5000, 27},
    {8, 5000, 5000, 27},
    {10, 5000, 5000, 28},
    {16, 5000, 5000, 29},
    {32, 5000, 5000, 31},
    {64, 5000, 5000, 36},
    {128, 5000, 5000, 66},
    {256, 5000, 5000, 130},
    {512, 5000, 5000, 250},
    {50, 10000, 10000, 115},
    {128, 4096, 4096, 45},
    {10, 1024, 1024, 0},
    {128, 1024, 1024, 0},
    {64, 784, 4096, 0},
    {1, 16384, 4096, 0},
    {700, 5000, 700, 60},
    {1000, 1000, 1000, 28},
    {64, 4096, 11008, 0},
    {33, 1000, 2000, 0},
    {16, 200, 20000, 0},
    {100, 5000, 1000, 0},
    /* k short: the gradient of a weight */
    {4096, 64, 4096, 22},
    {1024, 128, 1024, 5},
    {700, 64, 900, 5},
    {4096, 16, 4096, 0},
    {4096, 256, 4096, 0},
    {784, 64, 4096, 0},
    {1024, 128, 784, 0},
    {2000, 500, 2000, 0},
    {100, 200, 20000, 0},
    /* whose rows are no pieces of 16 bytes */
    {4096, 64, 4096, 0, 1},
    {4096, 64, 4096, 0, 2},
    {2000, 500, 2000, 0, 3},
    /* small, or of a W whose rows or columns begin off 16 bytes */
    {128, 256, 256, 0},
    {256, 256, 256, 0},
    {256, 512, 512, 0},
    {512, 512, 512, 0},
    {32, 1024, 1024, 0},
    {64, 1024, 1024, 0},
    {100, 200, 2000, 0},
    {4, 4096, 4096, 0},
    {4, 4096, 16384, 0},
    {8, 4096, 11008, 0},
    {9, 4999, 5001, 0},
    {16, 4999, 5001, 0},
    {32, 4999, 5001, 0},
    {64, 4999, 5001, 0},
    {130, 4100, 4099, 0},
    {130, 4099, 4100, 0},
    {512, 4999, 5001, 0},
    {4096, 66, 4094, 0},
};

/* Exponents from -30 to 30. */
__global__ void spread_exponents(float *x, int64_t count)
{
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < count;
         t += (int64_t)gridDim.x * blockDim.x)
        x[t] = ldexpf(x[t], (int)(mix((uint64_t)t) % 61) - 30);
}

/* What a perfect kernel takes: a launch, and moving or multiplying. */
double roof_us(const Problem &q)
{
    const double bytes = 4.0 * ((double)q.m * q.k + (double)q.k * q.n + (double)q.m * q.n);
    const double flops = 12.0 * (double)q.m * q.k * q.n;
    return 2.0 + std::max(bytes / 4566e3, flops / 790e6);
}

void run_problem(FILE *json, bool &first, cublasHandle_t handle, const Problem &q, bool along_k)
{
    const float one = 1, zero = 0;
    const int64_t m = q.m, n = q.n, k = q.k, w_count = k * n, ldc = n + q.between;
    const int copies = (int)std::max<int64_t>(1, std::min<int64_t>(24, 1 + (int64_t)240e6 / (4 * w_count)));
    std::vector<float *> w;
    for (int c = 0; c < copies; c++) w.push_back(random_device<float>(w_count, 1.0, 100 + (uint64_t)c));
    float *s = random_device<float>(m * k, 1.0, 7), *out, *before;
    CUDA_CHECK(cudaMalloc(&out, sizeof(float) * (size_t)(m * ldc)));
    CUDA_CHECK(cudaMalloc(&before, sizeof(float) * (size_t)(m * ldc)));
    lac_cuda_product_t p = {m,
                            n,
                            k,
                            {nullptr, 1.0f},
                            w[0],
                            along_k ? k : n,
                            along_k ? LAC_CUDA_COLS : LAC_CUDA_ROWS,
                            {nullptr, 0.0f},
                            out,
                            ldc,
                            1,
                            {}};
    const lac_cuda_dense_t dense = {LAC_F32, s, k, 1, 1.0};
    char name[96];
    const int length = snprintf(name, sizeof name, "%lldx%lldx%lld:%s", (long long)m, (long long)k,
                                (long long)n, along_k ? "nk" : "kn");
    if (q.between) snprintf(name + length, sizeof name - (size_t)length, ":ldc+%lld", (long long)q.between);
    void *space;
    const int64_t bytes = std::max(lac_cuda_stream_bytes(&p), lac_cuda_tiles_bytes(LAC_F32, m, n, k, false));
    CUDA_CHECK(cudaMalloc(&space, (size_t)bytes));
    CUDA_CHECK(cudaDeviceSynchronize());
    const Call vendor = [&](int c) {
        const cublasStatus_t st =
            along_k ? cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)n, (int)m, (int)k, &one,
                                  w[(size_t)c], (int)k, s, (int)k, &zero, out, (int)ldc)
                    : cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)n, (int)m, (int)k, &one,
                                  w[(size_t)c], (int)n, s, (int)k, &zero, out, (int)ldc);
        return st == CUBLAS_STATUS_SUCCESS ? LAC_OK : LAC_ERR_VENDOR;
    };
    const Call streamed = [&](int c) {
        lac_cuda_product_t mine = p;
        mine.w = w[(size_t)c];
        return lac_cuda_stream(&mine, &dense, space, stream);
    };
    const Call tiles = [&](int c) {
        lac_cuda_tiles_t t = {};
        t.m = m, t.n = n, t.k = k, t.alpha = {nullptr, 1.0f}, t.beta = {nullptr, 0.0f};
        t.a = s, t.ars = k, t.acs = 1, t.b = w[(size_t)c], t.ldb = n, t.c = out, t.crs = ldc, t.ccs = 1;
        return lac_cuda_tiles_run(&t, space, stream);
    };
    const auto error_of = [&](const Call &call) {
        CUDA_CHECK(cudaMemsetAsync(out, 0xff, sizeof(float) * (size_t)(m * ldc), stream));
        const lac_status_t status = call(0);
        CUDA_CHECK(cudaStreamSynchronize(stream));
        return status ? -1.0f : worst_error(p, s, k, 1, before, 1.0f, 0.0f);
    };
    const int calls = std::max(10, copies);
    const float vendor_error = error_of(vendor), error = error_of(streamed);
    const double vendor_us = time_graph(vendor, calls, copies), us = time_graph(streamed, calls, copies);
    write_time(json, first, name, "cublas", vendor_us);
    write_time(json, first, name, "stream", us);
    double tiles_us = -1;
    if (m >= 32 && !along_k && lac_cuda_tiles_aligned(LAC_F32, w[0], n, n)) {
        tiles_us = time_graph(tiles, calls, copies);
        write_time(json, first, name, "tiles", tiles_us);
    }
    printf(
        "%-22s cublas %7.2f stream %7.2f (x%.2f) tiles %7.2f | roof %6.2f over %.2f target %5.0f | err %.2f "
        "(cublas %.2f)%s\n",
        name, vendor_us, us, vendor_us / us, tiles_us, roof_us(q), us / roof_us(q), q.target, error,
        vendor_error, error > 40 || error < 0 || error != error ? " WRONG" : "");
    fflush(stdout), fflush(json);
    if (m > 64 && k > 512) { /* exponents for which bf16 are taken, of W, then of S, too */
        double wide[2];
        for (int both = 0; both < 2; both++) {
            if (both) spread_exponents<<<1024, 256>>>(s, m * k);
            if (!both)
                for (float *x : w) spread_exponents<<<1024, 256>>>(x, w_count);
            CUDA_CHECK(cudaDeviceSynchronize());
            wide[both] = time_graph(streamed, calls, copies);
            write_time(json, first, name, both ? "stream, wide S" : "stream, wide W", wide[both]);
        }
        printf("%-22s stream with W of wide exponents %7.2f, with S of such, too, %7.2f\n", "", wide[0],
               wide[1]);
    }
    for (float *x : w) cudaFree(x);
    cudaFree(s), cudaFree(out), cudaFree(before), cudaFree(space);
}

} // namespace

/* stream_bench out.json [first problem] [last problem] */
int main(int argc, char **argv)
{
    return run_problems(argc, argv, kProblems, run_problem);
}
