/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times the product by tiles beside cuBLAS, preparation included, and compares the errors of both with fp64;
 * JSON to a file. */
#include "cuda_kernels.h"
#include "bench_cublas.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

namespace
{

/* Zeros of a in pieces of rows x cols, each kept with probability `density`. kBand: kept is a band around the
 * diagonal, a fraction `density` of a row; kTriangle: what is below the diagonal; kDiagonal: square blocks on
 * it, of which there are 1 / density. */
enum { kBand = 0, kTriangle = -1, kDiagonal = -2 };
struct Pattern {
    const char *name;
    int rows, cols;
    double density;
};

__global__ void fill_pattern(float *x, int64_t rows, int64_t cols, Pattern p, int kind, uint64_t seed)
{
    const int spread = kind == 1 ? 8 : kind == 3 ? 30 : 0;
    const int shape = p.rows;
    if (shape <= kBand) p.rows = 1;
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < rows * cols;
         t += (int64_t)gridDim.x * blockDim.x) {
        const uint64_t piece = mix(seed ^
                                   mix((uint64_t)(t / cols / p.rows) << 32 ^ (uint64_t)(t % cols / p.cols))),
                       bits = mix(seed + 1 + (uint64_t)t);
        const float v = signed_unit(bits);
        const double down = (double)(t / cols) / (double)rows, across = (double)(t % cols) / (double)cols;
        const bool kept = shape == kBand       ? 2 * fabs(down - across) < p.density
                          : shape == kTriangle ? across <= down
                          : shape == kDiagonal ? floor(down / p.density) == floor(across / p.density)
                                               : (double)(uint32_t)piece * 0x1p-32 < p.density;
        const int e = (int)(mix(bits) % (unsigned)(2 * spread + 1)) - spread;
        x[t] = !kept ? 0.0f : kind == 2 ? fabsf(v) : ldexpf(v, e);
    }
}

struct Bench {
    cublasHandle_t handle;
    FILE *json;
    bool first;
    float *a, *b, *c;
    void *workspace, *packed;
    int64_t m, n, k;
};

void allocate(Bench &x, int64_t m, int64_t k, int64_t n)
{
    x.m = m, x.n = n, x.k = k;
    CUDA_CHECK(cudaMalloc(&x.a, (size_t)(4 * m * k)));
    CUDA_CHECK(cudaMalloc(&x.b, (size_t)(4 * k * n)));
    CUDA_CHECK(cudaMalloc(&x.c, (size_t)(4 * m * n)));
    CUDA_CHECK(cudaMalloc(&x.workspace, (size_t)lac_cuda_tiles_bytes(LAC_F32, m, n, k, false)));
    CUDA_CHECK(
        cudaMalloc(&x.packed, (size_t)lac_cuda_tiles_packed_bytes(LAC_F32, m, k, lac_cuda_tiles_room(k))));
}

void release(Bench &x)
{
    for (void *p : {(void *)x.a, (void *)x.b, (void *)x.c, x.workspace, x.packed}) CUDA_CHECK(cudaFree(p));
}

lac_cuda_tiles_t product(const Bench &x)
{
    return {x.m, x.n, x.k, {nullptr, 1.0f}, x.a, x.k, 1, nullptr, 0, x.b, x.n, {nullptr, 0.0f}, x.c, x.n, 1};
}

lac_status_t sgemm(const Bench &x)
{
    const float one = 1, zero = 0;
    return cublasSgemm(x.handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)x.n, (int)x.m, (int)x.k, &one, x.b, (int)x.n,
                       x.a, (int)x.k, &zero, x.c, (int)x.n) == CUBLAS_STATUS_SUCCESS
               ? LAC_OK
               : LAC_ERR_VENDOR;
}

/* Calls in a graph, so that it takes some milliseconds. */
int calls_for(const Bench &x)
{
    const double us = 2e-6 * (double)x.m * (double)x.n * (double)x.k / 50 + 10;
    return us > 2000 ? 2 : us > 300 ? 5 : 20;
}

double time_tiles(const Bench &x, const lac_cuda_tiles_t &t)
{
    return time_graph([&](int) { return lac_cuda_tiles_run(&t, x.workspace, stream); }, calls_for(x), 1);
}

/* By the kernel of devices without warpgroup products. */
double time_portable(const Bench &x, lac_cuda_tiles_t t)
{
    t.portable = true;
    return time_tiles(x, t);
}

/* With a packed beforehand, and what packing takes. */
void time_parts(const Bench &x, const lac_cuda_tiles_t &t)
{
    lac_cuda_tiles_t kept = t;
    kept.packed = x.packed, kept.room = lac_cuda_tiles_room(x.k);
    const double pack = time_graph([&](int) { return lac_cuda_tiles_pack(&t, kept.room, x.packed, stream); },
                                   calls_for(x), 1);
    const double frozen = time_tiles(x, kept);
    printf("  (frozen %.1f, preparation %.1f)", frozen, pack);
    fprintf(x.json, ", \"frozen_us\": %.1f, \"preparation_us\": %.1f", frozen, pack);
}

void time_problem(Bench &x, const Pattern &p, bool parts, const Pattern &of_b = {"", 1, 1, 2.0})
{
    char what[96];
    fill_pattern<<<1024, 256>>>(x.a, x.m, x.k, p, 0, 11);
    fill_pattern<<<1024, 256>>>(x.b, x.k, x.n, of_b, 0, 12);
    CUDA_CHECK(cudaDeviceSynchronize());
    int used = snprintf(what, sizeof what, "%lldx%lldx%lld %s %g%%", (long long)x.m, (long long)x.k,
                        (long long)x.n, p.name, 100 * std::min(p.density, 1.0));
    if (*of_b.name)
        snprintf(what + used, sizeof what - (size_t)used, ", B %s %g%%", of_b.name, 100 * of_b.density);
    const lac_cuda_tiles_t t = product(x);
    const double dense = time_graph([&](int) { return sgemm(x); }, calls_for(x), 1), ours = time_tiles(x, t),
                 portable = time_portable(x, t);
    printf("  %-52s cublas %9.1f  tiles %9.1f us  %.2fx  by mma.sync %9.1f us", what, dense, ours,
           dense / ours, portable);
    fprintf(x.json,
            "%s\n  {\"problem\": \"%s\", \"route\": \"tiles\", \"warm_us\": %.1f, \"cublas_us\": %.1f, "
            "\"portable_us\": %.1f",
            x.first ? "" : ",", what, ours, dense, portable);
    if (parts) time_parts(x, t);
    printf("\n");
    fprintf(x.json, "}");
    x.first = false;
    fflush(stdout);
}

__device__ double element_at(lac_dt_t dt, const void *x, int64_t at)
{
    if (dt == LAC_F32) return (double)((const float *)x)[at];
    if (dt == LAC_F16) return (double)__half2float(((const __half *)x)[at]);
    return (double)__bfloat162float(((const __nv_bfloat16 *)x)[at]);
}

/* Errors in units of 2^-24 |A||B|, of every step-th row. */
__global__ void judge(lac_cuda_tiles_t p, int step, double *each)
{
    const int64_t j = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, i = blockIdx.y * (int64_t)step;
    if (j >= p.n) return;
    double sum = 0, size = 0;
    for (int64_t k = 0; k < p.k; k++) {
        const double v = element_at(p.dt, p.a, i * p.ars + k) * element_at(p.dt, p.b, k * p.ldb + j);
        sum += v, size += fabs(v);
    }
    each[blockIdx.y * p.n + j] = fabs(element_at(p.out_dt, p.c, i * p.crs + j) - sum) / (0x1p-24 * size);
}

void errors(const Bench &x, const lac_cuda_tiles_t &p, int step, double *mean, double *worst)
{
    const int64_t rows = (x.m + step - 1) / step;
    double *each;
    CUDA_CHECK(cudaMalloc(&each, (size_t)(8 * rows * x.n)));
    judge<<<dim3((unsigned)((x.n + 127) / 128), (unsigned)rows), 128, 0, stream>>>(p, step, each);
    std::vector<double> all((size_t)(rows * x.n));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(all.data(), each, 8 * all.size(), cudaMemcpyDeviceToHost));
    cudaFree(each);
    *mean = *worst = 0;
    for (double e : all) *worst = std::max(*worst, e), *mean += e / (double)all.size();
}

void judge_problem(Bench &x, int kind, const char *name)
{
    const Pattern all = {"", 1, 1, 2.0};
    enum { kOurs, kTwoF16, kPortable, kTheirs, kWays };
    static const char *const names[] = {"", "two_f16_", "portable_", "cublas_"};
    const int step = x.k > 10000 ? 16 : 4;
    fill_pattern<<<1024, 256>>>(x.a, x.m, x.k, all, kind, 21);
    fill_pattern<<<1024, 256>>>(x.b, x.k, x.n, all, kind, 22);
    CUDA_CHECK(cudaDeviceSynchronize());
    printf("  k=%-6lld %-9s", (long long)x.k, name);
    fprintf(x.json, "%s\n  {\"problem\": \"%lldx%lldx%lld %s\", \"route\": \"tiles\"", x.first ? "" : ",",
            (long long)x.m, (long long)x.k, (long long)x.n, name);
    x.first = false;
    for (int way = kOurs; way < kWays; way++) {
        if (way == kTwoF16 && !lac_cuda_tiles_warpgroups_here()) continue;
        lac_cuda_tiles_t t = product(x);
        t.form = way == kTwoF16 ? LAC_CUDA_FORM_F16 : LAC_CUDA_FORM_BF16;
        t.portable = way == kPortable;
        if ((way == kTheirs ? sgemm(x) : lac_cuda_tiles_run(&t, x.workspace, stream)) != LAC_OK) exit(2);
        double mean, worst;
        errors(x, product(x), step, &mean, &worst);
        printf("  %s mean %7.3f max %8.2f", names[way], mean, worst);
        fprintf(x.json, ", \"%smean_error\": %.4g, \"%smax_error\": %.4g", names[way], mean, names[way],
                worst);
    }
    printf("\n");
    fprintf(x.json, "}");
}

void bench_patterns(Bench &x)
{
    allocate(x, 4096, 4096, 4096);
    time_problem(x, {"dense", 1, 1, 2.0}, true);
    for (double d : {0.5, 0.25, 0.125}) time_problem(x, {"block 32x8", 32, 8, d}, true);
    for (double d : {0.5, 0.25, 0.125}) time_problem(x, {"columns of 32", 32, 1, d}, true);
    for (double d : {0.5, 0.25, 0.125}) time_problem(x, {"columns of 64", 64, 1, d}, true);
    for (double d : {0.5, 0.25, 0.1}) time_problem(x, {"whole columns", 4096, 1, d}, true);
    for (double d : {0.25, 0.1, 0.05, 0.02, 0.01}) time_problem(x, {"unstructured", 1, 1, d}, true);
    release(x);
}

/* Both operands with zeros. */
void bench_both(Bench &x)
{
    allocate(x, 4096, 4096, 4096);
    const Pattern dense = {"dense", 1, 1, 2.0}, half = {"block 8x32", 8, 32, 0.5};
    time_problem(x, dense, false, dense);
    for (double d : {0.5, 0.25, 0.125}) time_problem(x, {"block 32x8", 32, 8, d}, false, dense);
    for (double d : {0.5, 0.25, 0.125}) time_problem(x, {"block 32x8", 32, 8, d}, false, half);
    time_problem(x, {"block 32x8", 32, 8, 0.25}, false, {"block 8x32", 8, 32, 0.25});
    for (double d : {0.5, 0.25, 0.125})
        time_problem(x, {"columns of 32", 32, 1, d}, false, {"rows of 32", 1, 32, 0.5});
    time_problem(x, {"unstructured", 1, 1, 0.02}, false, {"unstructured", 1, 1, 0.02});
    time_problem(x, {"whole rows", 1, 4096, 0.25}, false, {"whole columns", 4096, 1, 0.25});
    time_problem(x, {"whole columns", 4096, 1, 0.25}, false, {"whole rows", 1, 4096, 0.25});
    time_problem(x, {"band", kBand, 1, 0.25}, false, {"band", kBand, 1, 0.25});
    time_problem(x, {"triangle", kTriangle, 1, 0.5}, false, dense);
    time_problem(x, {"triangle", kTriangle, 1, 0.5}, false, {"triangle", kTriangle, 1, 0.5});
    time_problem(x, {"blocks on the diagonal", kDiagonal, 1, 0.125}, false, dense);
    for (double d : {0.5, 0.25, 0.125}) time_problem(x, {"block 128x128", 128, 128, d}, false, dense);
    release(x);
    allocate(x, 3001, 2999, 3004);
    for (double d : {0.5, 0.25}) time_problem(x, {"block 32x8", 32, 8, d}, false, half);
    release(x);
}

void bench_sizes(Bench &x)
{
    static const int64_t sizes[][3] = {
        {512, 512, 512},    {1000, 1000, 1000}, {1024, 1024, 1024}, {1536, 1536, 1536},
        {2048, 2048, 2048}, {3000, 3000, 3000}, {8192, 8192, 8192}, {8192, 1024, 1024},
        {1024, 8192, 1024}, {1024, 1024, 8192}, {256, 4096, 4096},  {4096, 4096, 256},
        {4096, 256, 4096},  {5000, 5000, 1000}, {64, 8192, 8192},   {8192, 64, 8192}};
    for (const auto &s : sizes) {
        allocate(x, s[0], s[1], s[2]);
        time_problem(x, {"dense", 1, 1, 2.0}, false);
        release(x);
    }
}

void bench_accuracy(Bench &x, int64_t longest)
{
    static const char *const kinds[] = {"uniform", "2^+-8", "positive", "2^+-30"};
    for (int64_t k : {128, 1024, 4096, 65536}) {
        if (k > longest) continue;
        allocate(x, 512, k, 512);
        for (int kind = 0; kind < 4; kind++) judge_problem(x, kind, kinds[kind]);
        release(x);
    }
}

/* Elements of two bytes. */

__global__ void narrow(const float *from, void *to, int64_t count, lac_dt_t dt)
{
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < count;
         t += (int64_t)gridDim.x * blockDim.x)
        if (dt == LAC_F16)
            ((__half *)to)[t] = __float2half_rn(from[t]);
        else
            ((__nv_bfloat16 *)to)[t] = __float2bfloat16_rn(from[t]);
}

struct Halves {
    lac_dt_t dt;
    void *a, *b, *c, *packed;
};

lac_cuda_tiles_t product(const Bench &x, const Halves &h)
{
    lac_cuda_tiles_t t = product(x);
    t.a = h.a, t.b = h.b, t.c = h.c, t.dt = t.out_dt = h.dt;
    return t;
}

lac_status_t gemm_ex(const Bench &x, const Halves &h)
{
    const float one = 1, zero = 0;
    const cudaDataType_t type = h.dt == LAC_F16 ? CUDA_R_16F : CUDA_R_16BF;
    return cublasGemmEx(x.handle, CUBLAS_OP_N, CUBLAS_OP_N, (int)x.n, (int)x.m, (int)x.k, &one, h.b, type,
                        (int)x.n, h.a, type, (int)x.k, &zero, h.c, type, (int)x.n, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS
               ? LAC_OK
               : LAC_ERR_VENDOR;
}

/* The worst error beside half a unit of the last place of the output's type, which both have. */
void time_halves(Bench &x, lac_dt_t dt, const Pattern &p)
{
    Halves h = {dt, nullptr, nullptr, nullptr, nullptr};
    const int64_t room = lac_cuda_tiles_room(x.k);
    CUDA_CHECK(cudaMalloc(&h.a, (size_t)(2 * x.m * x.k)));
    CUDA_CHECK(cudaMalloc(&h.b, (size_t)(2 * x.k * x.n)));
    CUDA_CHECK(cudaMalloc(&h.c, (size_t)(2 * x.m * x.n)));
    CUDA_CHECK(cudaMalloc(&h.packed, (size_t)lac_cuda_tiles_packed_bytes(dt, x.m, x.k, room)));
    fill_pattern<<<1024, 256>>>(x.a, x.m, x.k, p, 0, 11);
    fill_pattern<<<1024, 256>>>(x.b, x.k, x.n, {"", 1, 1, 2.0}, 0, 12);
    narrow<<<1024, 256>>>(x.a, h.a, x.m * x.k, dt);
    narrow<<<1024, 256>>>(x.b, h.b, x.k * x.n, dt);
    CUDA_CHECK(cudaDeviceSynchronize());
    const lac_cuda_tiles_t t = product(x, h);
    lac_cuda_tiles_t kept = t, wide = t;
    kept.packed = h.packed, kept.room = room;
    wide.c = x.c, wide.out_dt = LAC_F32; /* its errors, unrounded */
    const int calls = 20;
    const double dense = time_graph([&](int) { return gemm_ex(x, h); }, calls, 1),
                 ours =
                     time_graph([&](int) { return lac_cuda_tiles_run(&t, x.workspace, stream); }, calls, 1),
                 pack = time_graph([&](int) { return lac_cuda_tiles_pack(&t, room, h.packed, stream); },
                                   calls, 1),
                 frozen = time_graph([&](int) { return lac_cuda_tiles_run(&kept, x.workspace, stream); },
                                     calls, 1);
    double mean, worst;
    if (lac_cuda_tiles_run(&wide, x.workspace, stream) != LAC_OK) exit(2);
    errors(x, wide, 64, &mean, &worst);
    const char *const type = dt == LAC_F16 ? "f16" : "bf16";
    char what[96];
    snprintf(what, sizeof what, "%s %lldx%lldx%lld %s %g%%", type, (long long)x.m, (long long)x.k,
             (long long)x.n, p.name, 100 * std::min(p.density, 1.0));
    printf("  %-44s cublas %8.1f  tiles %8.1f us  %.2fx  frozen %8.1f  %.2fx  preparation %6.1f  "
           "error %.2f max %.1f\n",
           what, dense, ours, dense / ours, frozen, dense / frozen, pack, mean, worst);
    fprintf(x.json,
            "%s\n  {\"problem\": \"%s\", \"route\": \"tiles\", \"warm_us\": %.1f, \"cublas_us\": %.1f, "
            "\"frozen_us\": %.1f, \"preparation_us\": %.1f, \"mean_error\": %.4g, \"max_error\": %.4g}",
            x.first ? "" : ",", what, ours, dense, frozen, pack, mean, worst);
    x.first = false;
    fflush(stdout);
    for (void *memory : {h.a, h.b, h.c, h.packed}) CUDA_CHECK(cudaFree(memory));
}

void bench_halves(Bench &x)
{
    allocate(x, 4096, 4096, 4096);
    for (lac_dt_t dt : {LAC_BF16, LAC_F16}) time_halves(x, dt, {"dense", 1, 1, 2.0});
    for (double d : {0.5, 0.25, 0.125})
        for (const Pattern &p : {Pattern{"block 32x8", 32, 8, d}, Pattern{"block 64x64", 64, 64, d},
                                 Pattern{"block 128x128", 128, 128, d}, Pattern{"whole columns", 4096, 1, d}})
            time_halves(x, LAC_BF16, p);
    time_halves(x, LAC_BF16, {"triangle", kTriangle, 1, 0.5});
    release(x);
    allocate(x, 8192, 8192, 8192);
    for (double d : {0.5, 0.25}) time_halves(x, LAC_BF16, {"block 128x128", 128, 128, d});
    release(x);
    allocate(x, 11008, 4096, 1024);
    for (double d : {0.5, 0.25}) time_halves(x, LAC_BF16, {"block 128x128", 128, 128, d});
    release(x);
}

} // namespace

/* tiles_bench out.json [both: only zeros of both operands; one: of these a single problem, to profile;
 * halves: f16 and bf16 alone] */
int main(int argc, char **argv)
{
    FILE *json = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!json) return 2;
    int version = 0;
    cublasHandle_t handle = open_cublas(&version);
    write_provenance(json, version);
    Bench x = {};
    x.handle = handle, x.json = json, x.first = true;
    const char *const what = argc > 2 ? argv[2] : "all";
    if (!strcmp(what, "one")) {
        allocate(x, 4096, 4096, 4096);
        time_problem(x, {"block 32x8", 32, 8, 0.5}, false, {"block 8x32", 8, 32, 0.5});
    } else if (!strcmp(what, "halves")) {
        bench_halves(x);
    } else {
        bench_both(x);
        bench_accuracy(x, strcmp(what, "both") ? INT64_MAX : 4096);
    }
    if (!strcmp(what, "all")) {
        bench_patterns(x);
        bench_sizes(x);
        bench_halves(x);
    }
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}
