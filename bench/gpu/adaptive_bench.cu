/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times one recording of the adaptive product at many densities, beside the event product, the streamed one
 * and cuBLAS in one run: CUDA graph replays, medians, W from memory, JSON to a file. */
#include <cstring>
#include <vector>

#include "bench_cublas.cuh"

namespace
{

struct Problem {
    int64_t m, k, n;
};

const Problem kProblems[] = {
    {2, 5000, 5000}, {10, 5000, 5000}, {50, 10000, 10000}, {128, 4096, 4096}, {32, 5000, 5000},
    {64, 784, 4096}, {64, 4096, 4096}, {128, 1024, 1024},  {8, 4096, 16384},  {256, 5000, 5000},
};
const double kDensities[] = {0.001, 0.01, 0.05, 0.1, 0.3, 1.0};
constexpr double kCutFor = 0.01; /* density */

/* Where a line through the event product's times meets the streamed one's. */
double break_even(const std::vector<double> &event_us, double stream_us)
{
    for (size_t d = 0; d < event_us.size(); d++)
        if (event_us[d] >= stream_us) {
            if (d == 0) return 0.0;
            const double share = (stream_us - event_us[d - 1]) / (event_us[d] - event_us[d - 1]);
            return kDensities[d - 1] + share * (kDensities[d] - kDensities[d - 1]);
        }
    return 1.0;
}

void run_problem(FILE *json, bool &first, cublasHandle_t handle, const Problem &q, bool along_k)
{
    const float one = 1, zero = 0;
    const int64_t m = q.m, n = q.n, k = q.k, w_count = k * n;
    const int copies = (int)std::max<int64_t>(1, std::min<int64_t>(24, 1 + (int64_t)240e6 / (4 * w_count)));
    const int calls = std::max(10, copies);
    const lac_cuda_order_t order = along_k ? LAC_CUDA_COLS : LAC_CUDA_ROWS;
    std::vector<float *> w;
    for (int c = 0; c < copies; c++) w.push_back(random_device<float>(w_count, 1.0, 100 + (uint64_t)c));
    float *s = random_device<float>(m * k, 1.0, 7), *out;
    void *space;
    CUDA_CHECK(cudaMalloc(&out, sizeof(float) * (size_t)(m * n)));
    const auto product = [&](int c) {
        return lac_cuda_product_t{
            m, n, k, {nullptr, 1.0f}, w[(size_t)c], along_k ? k : n, order, {nullptr, 0.0f}, out, n, 1, {}};
    };
    const lac_cuda_product_t any = product(0);
    CUDA_CHECK(cudaMalloc(&space, (size_t)lac_cuda_adaptive_bytes(&any)));
    lac_cuda_dense_t dense = {LAC_F32, s, k, 1, kCutFor};
    double even = 0.0;
    const Call vendor = [&](int c) {
        const cublasStatus_t st =
            along_k ? cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)n, (int)m, (int)k, &one,
                                  w[(size_t)c], (int)k, s, (int)k, &zero, out, (int)n)
                    : cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)n, (int)m, (int)k, &one,
                                  w[(size_t)c], (int)n, s, (int)k, &zero, out, (int)n);
        return st == CUBLAS_STATUS_SUCCESS ? LAC_OK : LAC_ERR_VENDOR;
    };
    const Call event = [&](int c) {
        const lac_cuda_product_t p = product(c);
        return along_k ? lac_cuda_event_active(&p, &dense, space, stream)
                       : lac_cuda_event_slots(&p, &dense, nullptr, space, stream);
    };
    const Call streamed = [&](int c) {
        const lac_cuda_product_t p = product(c);
        return lac_cuda_stream(&p, &dense, space, stream);
    };
    const Call adaptive = [&](int c) {
        const lac_cuda_product_t p = product(c);
        return lac_cuda_adaptive(&p, &dense, even, space, stream);
    };
    const auto fill = [&](double density) {
        fill_random<<<1024, 256>>>(s, m * k, density, 7);
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    std::vector<double> event_us;
    for (double density : kDensities) {
        fill(density);
        dense.density = density;
        event_us.push_back(time_graph(event, calls, copies));
    }
    const double vendor_us = time_graph(vendor, calls, copies),
                 stream_us = time_graph(streamed, calls, copies);
    even = break_even(event_us, stream_us);
    dense.density = kCutFor;
    cudaGraphExec_t recording = record_graph(adaptive, calls, copies);
    for (size_t d = 0; d < std::size(kDensities); d++) {
        char name[96];
        snprintf(name, sizeof name, "%lldx%lldx%lld:%s %g", (long long)m, (long long)k, (long long)n,
                 along_k ? "nk" : "kn", kDensities[d]);
        fill(kDensities[d]);
        CUDA_CHECK(cudaMemset(out, 0xff, sizeof(float) * (size_t)(m * n)));
        CUDA_CHECK(cudaDeviceSynchronize());
        const double us = recording ? time_replays(recording, calls) : -1;
        const float error = worst_error(product((calls - 1) % copies), s, k, 1, out, 1.0f, 0.0f);
        const double best = std::min(event_us[d], stream_us);
        write_time(json, first, name, "cublas", vendor_us);
        write_time(json, first, name, "event", event_us[d]);
        write_time(json, first, name, "stream", stream_us);
        write_time(json, first, name, "adaptive", us);
        printf("%-28s cublas %7.2f event %7.2f stream %7.2f adaptive %7.2f (+%.2f to the better, x%.2f to "
               "cuBLAS) "
               "even %.4f err %.2f%s\n",
               name, vendor_us, event_us[d], stream_us, us, us - best, vendor_us / us, even, error,
               error > 40 || error < 0 || error != error ? " WRONG" : "");
    }
    fflush(stdout), fflush(json);
    if (recording) cudaGraphExecDestroy(recording);
    for (float *x : w) cudaFree(x);
    cudaFree(s), cudaFree(out), cudaFree(space);
}

} // namespace

/* adaptive_bench out.json [first problem] [last problem] */
int main(int argc, char **argv)
{
    return run_problems(argc, argv, kProblems, run_problem);
}
