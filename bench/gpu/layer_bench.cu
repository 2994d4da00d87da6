/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times a layer by tiles: the product alone, with bias and ReLU done where it is written, and with a pass
 * behind it; JSON to a file. */
#include "../../kernels/cuda/cuda_support.h"
#include "../../kernels/cuda/tiles.h"
#include "graph_timing.cuh"

namespace
{

/* a with whole columns of zeros, and b. */
struct Layer {
    int64_t side;
    double density;
    float *a, *b, *c, *bias;
    void *workspace;
    lac_cuda_tiles_t p;
};

__global__ void clear_columns(float *x, int64_t rows, int64_t cols, double density)
{
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < rows * cols;
         t += (int64_t)gridDim.x * blockDim.x)
        if ((double)(uint32_t)mix((uint64_t)(t % cols)) * 0x1p-32 >= density) x[t] = 0.0f;
}

Layer make(int64_t n, double density)
{
    Layer x = {n,
               density,
               random_device<float>(n * n, 1.0, 1),
               random_device<float>(n * n, 1.0, 2),
               random_device<float>(n * n, 1.0, 3),
               random_device<float>(n, 1.0, 4),
               nullptr,
               {}};
    clear_columns<<<1024, 256>>>(x.a, n, n, density);
    CUDA_CHECK(cudaMalloc(&x.workspace, (size_t)lac_cuda_tiles_bytes(n, n, n, false)));
    x.p = {n, n, n, {nullptr, 1.0f}, x.a, n, 1, nullptr, 0, x.b, n, {nullptr, 0.0f}, x.c, n, 1, {}};
    CUDA_CHECK(cudaDeviceSynchronize());
    return x;
}

void release(Layer &x)
{
    for (void *p : {(void *)x.a, (void *)x.b, (void *)x.c, (void *)x.bias, x.workspace})
        CUDA_CHECK(cudaFree(p));
}

enum Way { kProduct, kFused, kBehind, kWays };

lac_status_t run(const Layer &x, Way way)
{
    const lac_cuda_after_t relu = {x.bias, true, false, false, 0.0f};
    lac_cuda_tiles_t p = x.p;
    if (way == kFused) p.after = relu;
    const lac_status_t status = lac_cuda_tiles_run(&p, x.workspace, stream);
    const lac_cuda_finish_t pass = {p.m, p.n, p.c, p.crs, p.ccs, relu};
    return status == LAC_OK && way == kBehind ? lac_cuda_finish_output(&pass, stream) : status;
}

/* The three in turns, so that the device is as warm for one as for another. */
void bench(FILE *json, bool &first, int64_t n, double density)
{
    static const char *const names[kWays] = {"product", "fused", "pass behind"};
    constexpr int kRounds = 3;
    Layer x = make(n, density);
    const int calls = n > 2000 ? 5 : 20;
    std::vector<double> us[kWays];
    for (int round = 0; round < kRounds; round++)
        for (int way = 0; way < kWays; way++)
            us[way].push_back(time_graph([&](int) { return run(x, (Way)way); }, calls, 1));
    char problem[96];
    snprintf(problem, sizeof problem, "%lldx%lldx%lld whole columns %g%% bias relu", (long long)n,
             (long long)n, (long long)n, 100 * density);
    printf("  %-46s", problem);
    for (int way = 0; way < kWays; way++) {
        std::sort(us[way].begin(), us[way].end());
        printf("  %s %.1f (%.1f to %.1f)", names[way], us[way][kRounds / 2], us[way][0],
               us[way][kRounds - 1]);
        write_time(json, first, problem, names[way], us[way][kRounds / 2]);
    }
    printf(" us\n");
    fflush(stdout);
    release(x);
}

} // namespace

/* layer_bench out.json */
int main(int argc, char **argv)
{
    FILE *json = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!json) return 2;
    bool first = true;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    write_provenance(json, 0, kOperators);
    for (int64_t n : {4096, 2048, 1024})
        for (double density : {1.0, 0.25, 0.1}) bench(json, first, n, density);
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}
