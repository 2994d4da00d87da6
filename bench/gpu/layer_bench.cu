/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times a layer by tiles, by steps and by events: the product alone, with bias and ReLU done where it is
 * written, and with a pass behind it; and by tiles what becomes of its output, of the bits that it reports
 * and of a scan of all of it; JSON to a file. */
#include "../../kernels/cuda/cuda_support.h"
#include "cuda_kernels.h"
#include "graph_timing.cuh"

namespace
{

/* a[m, k] with zeros, b[k, n], c[m, n], all by rows. */
struct Layer {
    int64_t m, n, k;
    float *a, *b, *c, *bias;
    lac_cuda_csr_t rows; /* of a */
    void *steps, *workspace;
};

void *device_bytes(int64_t bytes)
{
    void *p;
    CUDA_CHECK(cudaMalloc(&p, (size_t)bytes + 256));
    return p;
}

__global__ void clear_columns(float *x, int64_t rows, int64_t cols, double density)
{
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < rows * cols;
         t += (int64_t)gridDim.x * blockDim.x)
        if ((double)(uint32_t)mix((uint64_t)(t % cols)) * 0x1p-32 >= density) x[t] = 0.0f;
}

/* Zeros anywhere, or in whole columns. */
Layer make(int64_t m, int64_t k, int64_t n, double density, bool columns)
{
    Layer x = {m,
               n,
               k,
               random_device<float>(m * k, columns ? 1.0 : density, 1),
               random_device<float>(k * n, 1.0, 2),
               random_device<float>(m * n, 1.0, 3),
               random_device<float>(n, 1.0, 4),
               {},
               nullptr,
               nullptr};
    if (columns) clear_columns<<<1024, 256>>>(x.a, m, k, density);
    int64_t bytes = 1 << 20;
    for (int64_t each :
         {lac_cuda_tiles_bytes(LAC_F32, m, n, k, false), lac_cuda_csr_bytes(m), lac_cuda_schedule_scratch(m),
          lac_cuda_csr_long_bytes(m, n, k), lac_cuda_event_slots_bytes(m, k, LAC_F32)})
        bytes = std::max(bytes, each);
    x.workspace = device_bytes(bytes);
    CUDA_CHECK(cudaDeviceSynchronize());
    return x;
}

/* The formats that the product by steps reads. */
bool make_schedule(Layer &x)
{
    const lac_cuda_dense_t a = {LAC_F32, x.a, x.k, 1, 0.0};
    int64_t *ptr = (int64_t *)device_bytes(8 * (x.m + 1));
    if (lac_cuda_csr_ptr(x.m, x.k, &a, ptr, x.workspace, stream)) return false;
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(&x.rows.nnz, ptr + x.m, 8, cudaMemcpyDeviceToHost));
    int32_t *idx = (int32_t *)device_bytes(4 * x.rows.nnz);
    float *val = (float *)device_bytes(4 * x.rows.nnz);
    x.rows.ptr = ptr, x.rows.idx = idx, x.rows.val = val;
    x.steps = device_bytes(lac_cuda_schedule_bytes(x.m, x.k, x.rows.nnz));
    return !lac_cuda_csr_fill(x.m, x.k, &a, ptr, idx, LAC_F32, val, stream) &&
           !lac_cuda_schedule(x.m, x.k, &x.rows, x.steps, x.workspace, stream);
}

void release(Layer &x)
{
    for (const void *p : {(const void *)x.a, (const void *)x.b, (const void *)x.c, (const void *)x.bias,
                          (const void *)x.rows.ptr, (const void *)x.rows.idx, (const void *)x.rows.val,
                          (const void *)x.steps, (const void *)x.workspace})
        CUDA_CHECK(cudaFree((void *)p));
}

using Product = lac_status_t (*)(const Layer &x, const lac_cuda_epilogue_t &epilogue);

lac_status_t by_tiles(const Layer &x, const lac_cuda_epilogue_t &epilogue)
{
    const lac_cuda_tiles_t p = {x.m, x.n, x.k, {nullptr, 1.0f}, x.a, x.k, 1, nullptr,
                                0,   x.b, x.n, {nullptr, 0.0f}, x.c, x.n, 1, epilogue};
    return lac_cuda_tiles_run(&p, x.workspace, stream);
}

lac_cuda_product_t product(const Layer &x, const lac_cuda_epilogue_t &epilogue)
{
    return {x.m, x.n, x.k, {nullptr, 1.0f}, x.b, x.n, LAC_CUDA_ROWS, {nullptr, 0.0f}, x.c, x.n, 1, epilogue};
}

lac_status_t by_schedule(const Layer &x, const lac_cuda_epilogue_t &epilogue)
{
    const lac_cuda_product_t p = product(x, epilogue);
    return lac_cuda_csr_long(&p, x.steps, x.workspace, stream);
}

lac_status_t by_events(const Layer &x, const lac_cuda_epilogue_t &epilogue)
{
    const lac_cuda_product_t p = product(x, epilogue);
    const lac_cuda_dense_t a = {LAC_F32, x.a, x.k, 1, 0.0};
    return lac_cuda_event_slots(&p, &a, nullptr, x.workspace, stream);
}

enum Way { kProduct, kFused, kBehind, kWays };

lac_status_t run(const Layer &x, Product by, int way)
{
    const lac_cuda_epilogue_t relu = {x.bias, true, false, false, 0.0f}, none = {};
    const lac_status_t status = by(x, way == kFused ? relu : none);
    const lac_cuda_epilogue_pass_t pass = {x.m, x.n, x.c, x.n, 1, relu};
    return status == LAC_OK && way == kBehind ? lac_cuda_epilogue_pass(&pass, stream) : status;
}

struct Report {
    FILE *json;
    bool first;
};

/* So many rounds of all ways in turns, so that the device is as warm for one as for another: medians. */
void time_in_turns(Report &out, const char *problem, const Layer &x, int ways, const char *const *names,
                   const std::function<lac_status_t(int way)> &run)
{
    constexpr int kRounds = 3;
    const int calls = x.m * x.k * x.n > 2000000000 ? 5 : 20;
    std::vector<std::vector<double>> us((size_t)ways);
    for (int round = 0; round < kRounds; round++)
        for (int way = 0; way < ways; way++)
            us[way].push_back(time_graph([&](int) { return run(way); }, calls, 1));
    printf("  %-50s", problem);
    for (int way = 0; way < ways; way++) {
        std::sort(us[way].begin(), us[way].end());
        printf("  %s %.1f (%.1f to %.1f)", names[way], us[way][kRounds / 2], us[way][0],
               us[way][kRounds - 1]);
        write_time(out.json, out.first, problem, names[way], us[way][kRounds / 2]);
    }
    printf(" us\n");
    fflush(stdout);
}

void time_ways(Report &out, const char *what, const Layer &x, Product by)
{
    static const char *const names[kWays] = {"product", "fused", "pass behind"};
    char problem[128];
    snprintf(problem, sizeof problem, "%lldx%lldx%lld %s bias relu", (long long)x.m, (long long)x.k,
             (long long)x.n, what);
    time_in_turns(out, problem, x, kWays, names, [&](int way) { return run(x, by, way); });
}

/* What the next layer needs of c, beside c. */
struct Formats {
    uint64_t *bits;
    int64_t *ptr;
    int32_t *idx;
    float *val;
    void *workspace;
};

enum FormatsWay {
    kNoFormats,
    kBitsBehind,
    kBitsReported,
    kCountBehind,
    kCountOfBits,
    kAllBehind,
    kAllOfBits,
    kFormatsWays
};

/* The layer by tiles, and its bits; or the number of its nonzeros; or bits and CSR. */
lac_status_t run_formats(const Layer &x, const Formats &f, const lac_cuda_epilogue_t &epilogue, int way)
{
    const bool reported = way == kBitsReported || way == kCountOfBits || way == kAllOfBits;
    const lac_cuda_tiles_t p = {x.m,
                                x.n,
                                x.k,
                                {nullptr, 1.0f},
                                x.a,
                                x.k,
                                1,
                                nullptr,
                                0,
                                x.b,
                                x.n,
                                {nullptr, 0.0f},
                                x.c,
                                x.n,
                                1,
                                epilogue,
                                false,
                                reported ? f.bits : nullptr,
                                (x.n + 63) / 64,
                                false};
    const lac_cuda_dense_t c = {LAC_F32, x.c, x.n, 1, 0.0};
    lac_status_t status = lac_cuda_tiles_run(&p, x.workspace, stream);
    if (status == LAC_OK && (way == kCountBehind || way == kAllBehind))
        status = lac_cuda_csr_ptr(x.m, x.n, &c, f.ptr, f.workspace, stream);
    if (status == LAC_OK && (way == kCountOfBits || way == kAllOfBits))
        status = lac_cuda_csr_ptr_of_bits(x.m, x.n, f.bits, f.ptr, f.workspace, stream);
    if (status == LAC_OK && way == kAllBehind)
        status = lac_cuda_csr_fill(x.m, x.n, &c, f.ptr, f.idx, LAC_F32, f.val, stream);
    if (status == LAC_OK && way == kAllOfBits)
        status = lac_cuda_csr_fill_of_bits(x.m, x.n, f.bits, x.c, x.n, 1, f.ptr, f.idx, f.val, stream);
    if (status == LAC_OK && (way == kBitsBehind || way == kAllBehind))
        status = lac_cuda_fill_bits(x.m, x.n, &c, f.bits, stream);
    return status;
}

/* A limit that so much of the output is above. */
float limit_for(const Layer &x, double density)
{
    const lac_cuda_epilogue_t bias = {x.bias, true, false, false, NAN};
    std::vector<float> row((size_t)x.n);
    if (by_tiles(x, bias) != LAC_OK) exit(2);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(row.data(), x.c + x.m / 2 * x.n, 4 * row.size(), cudaMemcpyDeviceToHost));
    std::sort(row.begin(), row.end());
    return row[(size_t)((1.0 - density) * (double)(x.n - 1))];
}

void time_formats(Report &out, const char *what, const Layer &x)
{
    static const char *const names[kFormatsWays] = {"fused",          "bits behind",   "with bits",
                                                    "count behind",   "count of bits", "formats behind",
                                                    "formats of bits"};
    const Formats f = {(uint64_t *)device_bytes(x.m * ((x.n + 63) / 64) * 8),
                       (int64_t *)device_bytes(8 * (x.m + 1)), (int32_t *)device_bytes(4 * x.m * x.n),
                       (float *)device_bytes(4 * x.m * x.n), device_bytes(lac_cuda_csr_bytes(x.m))};
    for (double density : {0.5, 0.05}) {
        char problem[128];
        snprintf(problem, sizeof problem, "%lldx%lldx%lld %s, output %g%%", (long long)x.m, (long long)x.k,
                 (long long)x.n, what, 100 * density);
        const lac_cuda_epilogue_t epilogue = {x.bias, true, false, false, limit_for(x, density)};
        time_in_turns(out, problem, x, kFormatsWays, names,
                      [&](int way) { return run_formats(x, f, epilogue, way); });
    }
    for (void *p : {(void *)f.bits, (void *)f.ptr, (void *)f.idx, (void *)f.val, f.workspace})
        CUDA_CHECK(cudaFree(p));
}

void bench_tiles(Report &out)
{
    for (int64_t n : {4096, 2048, 1024})
        for (double density : {1.0, 0.25, 0.1}) {
            char what[64];
            snprintf(what, sizeof what, "tiles whole columns %g%%", 100 * density);
            Layer x = make(n, n, n, density, true);
            time_ways(out, what, x, by_tiles);
            time_formats(out, what, x);
            release(x);
        }
}

void bench_schedule(Report &out)
{
    for (int64_t n : {4096, 1024})
        for (double density : {0.01, 0.05}) {
            char what[64];
            snprintf(what, sizeof what, "steps %g%%", 100 * density);
            Layer x = make(n, n, n, density, false);
            if (!make_schedule(x)) exit(2);
            time_ways(out, what, x, by_schedule);
            release(x);
        }
}

void bench_events(Report &out)
{
    static const int64_t extents[][3] = {{1, 1000, 1000}, {32, 1024, 1024}, {64, 4096, 4096}};
    for (const auto &e : extents) {
        Layer x = make(e[0], e[1], e[2], 0.01, false);
        time_ways(out, "events 1%", x, by_events);
        release(x);
    }
}

} // namespace

/* layer_bench out.json */
int main(int argc, char **argv)
{
    Report out = {argc > 1 ? fopen(argv[1], "w") : NULL, true};
    if (!out.json) return 2;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    write_provenance(out.json, 0, kOperators);
    bench_tiles(out);
    bench_schedule(out);
    bench_events(out);
    fprintf(out.json, "\n]}\n");
    fclose(out.json);
    return 0;
}
