/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times batches of small event products in one launch, beside a loop of single products and cuBLAS's strided
 * batch; JSON to a file. */
#include "cuda_kernels.h"
#include "bench_cublas.cuh"

namespace
{

struct Shape {
    int64_t count, m, k, n;
    bool shared; /* one S for all */
};

const Shape kShapes[] = {{64, 10, 1000, 1000, false}, {256, 8, 256, 256, false},  {1000, 1, 512, 512, false},
                         {32, 10, 2000, 2000, false}, {512, 32, 128, 128, false}, {64, 10, 1000, 1000, true}};

/* The largest error of a few of the products, in units of 2^-24 of the sum of magnitudes. */
float error_of(const lac_cuda_batch_t &b)
{
    float worst = 0;
    for (const int64_t q : {int64_t(0), b.count / 2, b.count - 1}) {
        const lac_cuda_product_t p = {b.m,
                                      b.n,
                                      b.k,
                                      {nullptr, 1.0f},
                                      b.w + q * b.w_step,
                                      b.wks,
                                      LAC_CUDA_ROWS,
                                      {nullptr, 0.0f},
                                      b.out + q * b.out_step,
                                      b.rs,
                                      b.cs};
        worst = std::max(worst,
                         worst_error(p, (const float *)b.s + q * b.s_step, b.srs, b.scs, b.out, 1.0f, 0.0f));
    }
    return worst;
}

void bench_shape(cublasHandle_t handle, FILE *json, const Shape &s, double density, bool &first)
{
    const int64_t sets = s.shared ? 1 : s.count;
    float *events = random_device<float>(sets * s.m * s.k, density, 1),
          *w = random_device<float>(s.count * s.k * s.n, 1, 2), *out;
    CUDA_CHECK(cudaMalloc(&out, sizeof *out * (size_t)(s.count * s.m * s.n)));
    CUDA_CHECK(cudaDeviceSynchronize());
    lac_cuda_batch_t b = {};
    b.count = s.count, b.m = s.m, b.n = s.n, b.k = s.k, b.alpha = 1, b.dt = LAC_F32;
    b.srs = s.k, b.scs = 1, b.wks = s.n, b.wjs = 1, b.rs = s.n, b.cs = 1;
    b.s = events, b.w = w, b.out = out;
    b.s_step = s.shared ? 0 : s.m * s.k, b.w_step = s.k * s.n, b.out_step = s.m * s.n;
    CUDA_CHECK(cudaMemset(out, 0xff, sizeof *out * (size_t)(s.count * s.m * s.n)));
    CUDA_CHECK(cudaDeviceSynchronize());
    lac_cuda_batch_events(&b, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    const float error = error_of(b);
    const double one = time_graph([&](int) { return lac_cuda_batch_events(&b, stream); }, 10, 1);
    const double loop = time_graph(
        [&](int) {
            lac_status_t status = LAC_OK;
            for (int64_t q = 0; q < s.count && status == LAC_OK; q++) {
                const lac_cuda_product_t p = {s.m,
                                              s.n,
                                              s.k,
                                              {nullptr, 1.0f},
                                              w + q * b.w_step,
                                              s.n,
                                              LAC_CUDA_ROWS,
                                              {nullptr, 0.0f},
                                              out + q * b.out_step,
                                              s.n,
                                              1};
                const lac_cuda_dense_t d = {LAC_F32, events + q * b.s_step, s.k, 1, density};
                status = lac_cuda_event_fused(&p, &d, nullptr, stream);
            }
            return status;
        },
        1, 1);
    const float alpha = 1, beta = 0;
    const double dense = time_graph(
        [&](int) {
            return cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)s.n, (int)s.m, (int)s.k,
                                             &alpha, w, (int)s.n, b.w_step, events, (int)s.k, b.s_step, &beta,
                                             out, (int)s.n, b.out_step, (int)s.count) == CUBLAS_STATUS_SUCCESS
                       ? LAC_OK
                       : LAC_ERR_VENDOR;
        },
        5, 1);
    printf("%4lld x %lld x %lld x %lld %s %g%%: one launch %.2f, loop %.2f, cublas %.2f us%s\n",
           (long long)s.count, (long long)s.m, (long long)s.k, (long long)s.n, s.shared ? "one S" : "",
           100 * density, one, loop, dense, error < 40 ? "" : " WRONG");
    char name[96];
    snprintf(name, sizeof name, "%lld x %lld x %lld x %lld%s, %g %%", (long long)s.count, (long long)s.m,
             (long long)s.k, (long long)s.n, s.shared ? ", one S" : "", 100 * density);
    write_time(json, first, name, "one launch", one);
    write_time(json, first, name, "a loop of them", loop);
    write_time(json, first, name, "cuBLAS strided", dense);
    for (void *x : {(void *)events, (void *)w, (void *)out}) cudaFree(x);
}

} // namespace

/* batch_bench out.json */
int main(int argc, char **argv)
{
    FILE *json = argc > 1 ? fopen(argv[1], "w") : nullptr;
    if (!json) return 2;
    int version = 0;
    cublasHandle_t handle = open_cublas(&version);
    write_provenance(json, version, kOperators);
    bool first = true;
    for (const Shape &s : kShapes)
        for (const double density : {0.001, 0.01, 0.05, 0.1, 0.3})
            bench_shape(handle, json, s, density, first);
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}
