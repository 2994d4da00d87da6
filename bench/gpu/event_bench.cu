/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times the event kernels beside cuBLAS in one run: CUDA graph replays, medians, warm and cold, JSON to a
 * file. */
#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "bench_cublas.cuh"

namespace
{

struct Problem { /* in the caller's words: left: A[m,k] events x W[k,n]; right: W[m,k] x S[k,n] events */
    bool right;
    int64_t m, k, n;
    double density, dense_target, given_target;
};

const Problem kProblems[] = {
    {false, 1, 5000, 5000, 0.001, 3.5, 2.0},     {false, 10, 5000, 5000, 0.001, 4.0, 2.5},
    {false, 10, 5000, 5000, 0.01, 6.0, 4.0},     {false, 10, 5000, 5000, 0.1, 22.0, 20.0},
    {false, 10, 10000, 10000, 0.01, 12.0, 10.0}, {false, 50, 10000, 10000, 0.001, 8.0, 6.0},
    {false, 50, 10000, 10000, 0.01, 45.0, 42.0}, {false, 128, 4096, 4096, 0.05, 30.0, 28.0},
    {true, 5000, 5000, 1, 0.001, 4.0, 2.5},      {true, 5000, 5000, 10, 0.001, 5.0, 3.5},
    {true, 5000, 5000, 50, 0.01, 30.0, 16.0},    {true, 10000, 10000, 10, 0.01, 60.0, 12.0},
    {true, 10000, 10000, 10, 0.001, 20.0, 5.0},
};

FILE *json;
bool first_record = true;

__global__ void nothing() {}

struct Bench {
    Problem q;
    lac_cuda_product_t p;
    lac_cuda_dense_t s, held; /* held: packed already */
    lac_cuda_csr_t csr;
    std::vector<float *> w; /* copies, to read W cold */
    float *out, *before;
    void *workspace;
    std::string name;
    cublasHandle_t handle;
};

void record(const Bench &b, const char *route, const std::string &tile, double warm, double cold, float error)
{
    fprintf(json,
            "%s\n  {\"problem\": \"%s\", \"route\": \"%s\", \"tile\": \"%s\", \"warm_us\": %.3f, "
            "\"cold_us\": %.3f, "
            "\"worst_error\": %.3g}",
            first_record ? "" : ",", b.name.c_str(), route, tile.c_str(), warm, cold, error);
    first_record = false;
}

std::string text(const lac_cuda_tile_t &t)
{
    char s[96];
    snprintf(s, sizeof s, "v%d r%d k%d c%d s%d", t.vec, t.row_warps, t.k_warps, t.cluster, t.slice);
    return s;
}

struct Result {
    double warm = 1e9, cold = 1e9;
    std::string tile;
    lac_cuda_tile_t best = {};
};

/* Runs once on a poisoned output, compares with fp64, then times warm. Wrong results abort the bench. */
double checked_time(Bench &b, const char *route, const std::string &tile, const Call &call)
{
    CUDA_CHECK(cudaMemsetAsync(b.out, 0xff, sizeof(float) * (size_t)(b.p.m * b.p.n), stream));
    if (call(0) != LAC_OK) {
        cudaGetLastError();
        return -1;
    }
    CUDA_CHECK(cudaStreamSynchronize(stream));
    b.p.w = b.w[0];
    const float e = worst_error(b.p, (const float *)b.s.data, b.s.rs, b.s.cs, b.before, 1.0f, 0.0f);
    if (!(e < 40)) {
        printf("WRONG %s %s %s: %g\n", b.name.c_str(), route, tile.c_str(), e);
        return -1;
    }
    const double us = time_graph(call, 20, 1);
    record(b, route, tile, us, -1, e);
    return us;
}

using Prepare = std::function<void(const lac_cuda_tile_t &)>;

template <typename Launch>
Result sweep(Bench &b, const char *route, const std::vector<lac_cuda_tile_t> &tiles, int cold_calls,
             Launch launch, Prepare prepare = nullptr)
{
    Result best;
    double first = -1;
    std::vector<std::pair<double, std::string>> all;
    for (const lac_cuda_tile_t &t : tiles) {
        const Call call = [&](int copy) {
            lac_cuda_product_t p = b.p;
            p.w = b.w[(size_t)copy];
            return launch(p, t);
        };
        if (prepare) prepare(t);
        const double us = checked_time(b, route, text(t), call);
        if (first < 0) first = us;
        if (us < 0) continue;
        all.push_back({us, text(t)});
        if (us < best.warm) best.warm = us, best.best = t, best.tile = text(t);
    }
    if (best.warm > 1e8) return best;
    const lac_cuda_tile_t t = best.best;
    if (prepare) prepare(t);
    best.cold = time_graph(
        [&](int copy) {
            lac_cuda_product_t p = b.p;
            p.w = b.w[(size_t)copy];
            return launch(p, t);
        },
        cold_calls, (int)b.w.size());
    record(b, (std::string(route) + "-best").c_str(), best.tile, best.warm, best.cold, 0);
    std::sort(all.begin(), all.end());
    printf("  %-8s default %.2f", route, first);
    for (size_t i = 0; i < std::min<size_t>(4, all.size()); i++)
        printf(" | %.2f %s", all[i].first, all[i].second.c_str());
    printf(" | cold %.2f\n", best.cold);
    return best;
}

std::vector<lac_cuda_tile_t> tiles_for(int64_t m, int64_t k, const char *route, bool full)
{
    std::vector<lac_cuda_tile_t> out = {{}};
    if (!full) return out;
    const bool fused = !strncmp(route, "fused", 5), slots = !strncmp(route, "slots", 5);
    std::vector<int> rows;
    for (int g : {1, 2, 4, 5, 10, 16}) {
        const int r = (int)((m + g - 1) / g);
        if (r <= 32 && (r >= 5 || g == 1 || m <= 10)) rows.push_back(r);
    }
    for (int vec : {1, 2})
        for (int r : rows)
            for (int kw : {1, 2, 4, 8})
                for (int c : {1, 2, 4, 8, 16}) {
                    if (r * kw > 32 || (m == 1 && kw * c < 4) || kw * c > 16) continue;
                    if (!fused && (vec == 2 || c == 16)) continue;
                    if (fused && (kw * c < 4 || m > 10)) continue;
                    out.push_back({vec, r, kw, c, 0});
                    if (slots && m > 10 && kw * c == 1)
                        for (int parts : {4, 8})
                            out.push_back({vec, r, kw, c, (int)(k / parts / 128 + 1) * 128});
                }
    return out;
}

Bench make_bench(const Problem &q, cublasHandle_t handle)
{
    Bench b = {};
    char name[96];
    snprintf(name, sizeof name, "%s:%lldx%lldx%lld:%g%%", q.right ? "right" : "left", (long long)q.m,
             (long long)q.k, (long long)q.n, 100 * q.density);
    b.q = q, b.name = name, b.handle = handle;
    const int64_t rows = q.right ? q.n : q.m, cols = q.right ? q.m : q.n;
    b.p = {rows,
           cols,
           q.k,
           {nullptr, 1.0f},
           nullptr,
           q.right ? q.k : q.n,
           q.right ? LAC_CUDA_COLS : LAC_CUDA_ROWS,
           {nullptr, 0.0f},
           nullptr,
           q.right ? 1 : q.n,
           q.right ? q.n : 1};
    const int64_t count = rows * q.k;
    b.s = {LAC_F32, random_device<float>(count, q.density, 11), q.right ? 1 : q.k, q.right ? q.n : 1,
           q.density};
    b.held = b.s, b.held.data = nullptr;
    CUDA_CHECK(cudaMalloc(&b.out, sizeof(float) * (size_t)(rows * cols)));
    CUDA_CHECK(cudaMalloc(&b.before, sizeof(float) * (size_t)(rows * cols)));
    b.p.out = b.out;
    const size_t bytes =
        (size_t)std::max(lac_cuda_event_stream_bytes(rows, q.k), lac_cuda_event_active_bytes(rows, q.k));
    CUDA_CHECK(cudaMalloc(&b.workspace, bytes));
    CUDA_CHECK(cudaMemset(b.workspace, 0, bytes));
    std::vector<float> s((size_t)count);
    CUDA_CHECK(cudaMemcpy(s.data(), b.s.data, sizeof(float) * s.size(), cudaMemcpyDeviceToHost));
    std::vector<int64_t> ptr(1, 0);
    std::vector<int32_t> idx;
    std::vector<float> val;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < q.k; k++)
            if (float x = s[(size_t)(i * b.s.rs + k * b.s.cs)]; x != 0.0f)
                idx.push_back((int32_t)k), val.push_back(x);
        ptr.push_back((int64_t)idx.size());
    }
    void *dp, *di, *dv;
    CUDA_CHECK(cudaMalloc(&dp, 8 * ptr.size()));
    CUDA_CHECK(cudaMalloc(&di, 4 * idx.size()));
    CUDA_CHECK(cudaMalloc(&dv, 4 * val.size()));
    CUDA_CHECK(cudaMemcpy(dp, ptr.data(), 8 * ptr.size(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(di, idx.data(), 4 * idx.size(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dv, val.data(), 4 * val.size(), cudaMemcpyHostToDevice));
    b.csr = {(int64_t *)dp, (int32_t *)di, (float *)dv, ptr.back()};
    /* Enough copies of W that their active slices together are twice the L2. */
    const double active = (1 - pow(1 - q.density, (double)rows)) * (double)(q.k * cols) * 4;
    const int copies = (int)std::min(60.0, std::max(3.0, 1 + 120e6 / active));
    for (int c = 0; c < copies; c++) b.w.push_back(random_device<float>(q.k * cols, 1.0, 100 + (uint64_t)c));
    return b;
}

void free_bench(Bench &b)
{
    for (float *w : b.w) cudaFree(w);
    for (const void *x : {b.s.data, (const void *)b.out, (const void *)b.before, (const void *)b.workspace,
                          (const void *)b.csr.ptr, (const void *)b.csr.idx, (const void *)b.csr.val})
        cudaFree((void *)x);
}

Result time_cublas(Bench &b, int cold_calls)
{
    const float one = 1, zero = 0;
    const int m = (int)b.q.m, n = (int)b.q.n, k = (int)b.q.k;
    const Call call = [&](int copy) {
        const float *w = b.w[(size_t)copy], *s = (const float *)b.s.data;
        cublasStatus_t st =
            b.q.right
                ? cublasSgemm(b.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, s, n, w, k, &zero, b.out, n)
                : cublasSgemm(b.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, w, n, s, k, &zero, b.out, n);
        return st == CUBLAS_STATUS_SUCCESS ? LAC_OK : LAC_ERR_VENDOR;
    };
    Result r;
    r.warm = time_graph(call, 10, 1);
    r.cold = time_graph(call, std::min(cold_calls, 20), (int)b.w.size());
    record(b, "cublas", "", r.warm, r.cold, 0);
    return r;
}

} // namespace

/* event_bench out.json [full|quick] [first problem] [last problem] */
int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    const bool full = argc > 2 && !strcmp(argv[2], "full");
    const int begin = argc > 3 ? atoi(argv[3]) : 0, end = argc > 4 ? atoi(argv[4]) : 99;
    int version = 0;
    cublasHandle_t handle = open_cublas(&version);
    json = fopen(argv[1], "w");
    if (!json) return 2;
    write_provenance(json, version);
    const double empty = time_graph(
        [](int) {
            nothing<<<1, 32, 0, stream>>>();
            return LAC_OK;
        },
        20, 1);
    printf("empty kernel in a graph %.2f us\n", empty);
    std::string table;
    int index = 0;
    for (const Problem &q : kProblems) {
        if (index < begin || index > end) {
            index++;
            continue;
        }
        index++;
        Bench b = make_bench(q, handle);
        const int calls = std::max(20, (int)b.w.size());
        printf("%s (cuBLAS first)\n", b.name.c_str());
        const Result dense = time_cublas(b, calls);
        const int64_t rows = b.p.m;
        double from_dense = 1e9, given = 1e9;
        const auto run_all = [&](const char *suffix) {
            using P = const lac_cuda_product_t &;
            using T = const lac_cuda_tile_t &;
            const auto named = [&](const char *route) { return std::string(route) + suffix; };
            const auto slots = [&](P p, T t) {
                return lac_cuda_event_slots(&p, &b.s, &t, b.workspace, stream);
            };
            const auto packed = [&](P p, T t) {
                return lac_cuda_event_slots(&p, &b.held, &t, b.workspace, stream);
            };
            const auto streamed = [&](P p, T) {
                return lac_cuda_event_stream(&p, &b.s, b.workspace, stream);
            };
            const auto active = [&](P p, T) { return lac_cuda_event_active(&p, &b.s, b.workspace, stream); };
            const auto tiles = [&](const char *route) { return tiles_for(rows, q.k, route, full); };
            double dense_us = 1e9, given_us = 1e9;
            dense_us =
                std::min(dense_us, sweep(b, named("fused").c_str(), tiles("fused"), calls, [&](P p, T t) {
                                       return lac_cuda_event_fused(&p, &b.s, &t, stream);
                                   }).warm);
            dense_us =
                std::min(dense_us, sweep(b, named("slots").c_str(), tiles("slots"), calls, slots).warm);
            if (b.p.order == LAC_CUDA_COLS) {
                dense_us = std::min(dense_us, sweep(b, named("stream").c_str(), {{}}, calls, streamed).warm);
                dense_us = std::min(dense_us, sweep(b, named("active").c_str(), {{}}, calls, active).warm);
            }
            given_us = std::min(given_us, sweep(b, named("csr").c_str(), tiles("csr"), calls, [&](P p, T t) {
                                              return lac_cuda_event_csr(&p, &b.csr, &t, stream);
                                          }).warm);
            if (!q.right) {
                given_us = std::min(
                    given_us, sweep(b, named("packed").c_str(), tiles("packed"), calls, packed, [&](T t) {
                                  b.p.w = b.w[0], slots(b.p, t);
                              }).warm);
            }
            return std::make_pair(dense_us, given_us);
        };
        std::tie(from_dense, given) = run_all("");
        if (q.right) {
            b.p.order = LAC_CUDA_ROWS, b.p.ldw = q.m; /* any W is as good as a transposed one */
            given = run_all("-frozen").first;
        }
        char line[256];
        snprintf(line, sizeof line,
                 "%-28s cublas %7.2f | dense %7.2f (target %5.1f, x%.1f) | given %7.2f (target %5.1f)\n",
                 b.name.c_str(), dense.warm, from_dense, q.dense_target, dense.warm / from_dense, given,
                 q.given_target);
        table += line;
        fflush(stdout);
        free_bench(b);
    }
    fprintf(json, "\n]}\n");
    fclose(json);
    printf("\n%s", table.c_str());
    return 0;
}
