/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times batches of small event products in one launch, of floats beside a loop of single products and of any
 * type beside cuBLAS's strided batch; JSON to a file. */
#include "cuda_kernels.h"
#include "bench_cublas.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace
{

struct Shape {
    int64_t count, m, k, n;
    bool shared; /* one S for all */
};

const Shape kShapes[] = {{64, 10, 1000, 1000, false}, {256, 8, 256, 256, false},  {1000, 1, 512, 512, false},
                         {32, 10, 2000, 2000, false}, {512, 32, 128, 128, false}, {64, 10, 1000, 1000, true}};

template <typename T> struct Type;
template <> struct Type<float> {
    static constexpr lac_dt_t kType = LAC_F32;
    static constexpr cudaDataType kVendor = CUDA_R_32F;
    static constexpr const char *kName = "";
    static constexpr double kUnit = 0x1p-18;
};
template <> struct Type<__nv_bfloat16> {
    static constexpr lac_dt_t kType = LAC_BF16;
    static constexpr cudaDataType kVendor = CUDA_R_16BF;
    static constexpr const char *kName = " bf16";
    static constexpr double kUnit = 0x1p-7;
};
template <> struct Type<__half> {
    static constexpr lac_dt_t kType = LAC_F16;
    static constexpr cudaDataType kVendor = CUDA_R_16F;
    static constexpr const char *kName = " f16";
    static constexpr double kUnit = 0x1p-10;
};

/* Whether two outputs of so many elements agree: to `unit` of the largest of them, where that is some ulps.
 */
template <typename T> bool agree(const T *device, const std::vector<T> &kept)
{
    std::vector<T> now(kept.size());
    CUDA_CHECK(cudaMemcpy(now.data(), device, sizeof(T) * now.size(), cudaMemcpyDeviceToHost));
    double most = 0, apart = 0;
    for (size_t i = 0; i < now.size(); i++) {
        const double difference = fabs((double)(float)now[i] - (double)(float)kept[i]);
        most = std::max(most, fabs((double)(float)now[i]));
        apart = difference >= 0 ? std::max(apart, difference) : INFINITY;
    }
    return apart <= Type<T>::kUnit * most;
}

/* One product after the other. */
double time_loop(const lac_cuda_batch_t &b, double density)
{
    return time_graph(
        [&](int) {
            lac_status_t status = LAC_OK;
            for (int64_t q = 0; q < b.count && status == LAC_OK; q++) {
                const lac_cuda_product_t p = {b.m,
                                              b.n,
                                              b.k,
                                              {nullptr, 1.0f},
                                              (const float *)b.w + q * b.w_step,
                                              b.wks,
                                              LAC_CUDA_ROWS,
                                              {nullptr, 0.0f},
                                              (float *)b.out + q * b.out_step,
                                              b.rs,
                                              b.cs};
                const lac_cuda_dense_t d = {LAC_F32, (const float *)b.s + q * b.s_step, b.srs, 1, density};
                status = lac_cuda_event_fused(&p, &d, nullptr, stream);
            }
            return status;
        },
        1, 1);
}

template <typename T>
void bench_shape(cublasHandle_t handle, FILE *json, const Shape &s, double density, bool &first)
{
    const int64_t sets = s.shared ? 1 : s.count;
    const size_t bytes = sizeof(T) * (size_t)(s.count * s.m * s.n);
    T *events = random_device<T>(sets * s.m * s.k, density, 1),
      *w = random_device<T>(s.count * s.k * s.n, 1, 2), *out;
    CUDA_CHECK(cudaMalloc(&out, bytes));
    CUDA_CHECK(cudaDeviceSynchronize());
    lac_cuda_batch_t b = {};
    b.count = s.count, b.m = s.m, b.n = s.n, b.k = s.k, b.alpha = 1;
    b.dt = b.w_dt = b.out_dt = Type<T>::kType;
    b.srs = s.k, b.scs = 1, b.wks = s.n, b.wjs = 1, b.rs = s.n, b.cs = 1;
    b.s = events, b.w = w, b.out = out;
    b.s_step = s.shared ? 0 : s.m * s.k, b.w_step = s.k * s.n, b.out_step = s.m * s.n;
    const float alpha = 1, beta = 0;
    const auto vendor = [&](int) {
        return cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)s.n, (int)s.m, (int)s.k,
                                          &alpha, w, Type<T>::kVendor, (int)s.n, b.w_step, events,
                                          Type<T>::kVendor, (int)s.k, b.s_step, &beta, out, Type<T>::kVendor,
                                          (int)s.n, b.out_step, (int)s.count, CUBLAS_COMPUTE_32F,
                                          CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS
                   ? LAC_OK
                   : LAC_ERR_VENDOR;
    };
    vendor(0);
    std::vector<T> kept(bytes / sizeof(T));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(kept.data(), out, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemset(out, 0xff, bytes));
    CUDA_CHECK(cudaDeviceSynchronize());
    lac_cuda_batch_events(&b, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    const bool right = agree(out, kept), loops = Type<T>::kType == LAC_F32;
    const double one = time_graph([&](int) { return lac_cuda_batch_events(&b, stream); }, 10, 1),
                 loop = loops ? time_loop(b, density) : 0.0, dense = time_graph(vendor, 5, 1);
    char name[96];
    snprintf(name, sizeof name, "%lld x %lld x %lld x %lld%s%s, %g %%", (long long)s.count, (long long)s.m,
             (long long)s.k, (long long)s.n, s.shared ? ", one S" : "", Type<T>::kName, 100 * density);
    printf("%s: one launch %.2f, loop %.2f, cublas %.2f us%s\n", name, one, loop, dense,
           right ? "" : " WRONG");
    write_time(json, first, name, "one launch", one);
    if (loops) write_time(json, first, name, "a loop of them", loop);
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
        for (const double density : {0.001, 0.01, 0.05, 0.1, 0.3}) {
            bench_shape<float>(handle, json, s, density, first);
            bench_shape<__nv_bfloat16>(handle, json, s, density, first);
            bench_shape<__half>(handle, json, s, density, first);
        }
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}
