/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Metadata builders against plain loops on the host, the bitmask product against fp64, the transposing copy.
 */
#include <algorithm>
#include <cstring>
#include <vector>

#include "../../kernels/cuda/cuda_support.h"
#include "gpu_harness.cuh"

namespace
{

int failures, checks;
uint64_t seed;

void expect(bool ok, const char *what)
{
    checks++;
    if (ok) return;
    failures++;
    printf("FAIL %s seed=%llu\n", what, (unsigned long long)seed);
}

template <typename T> T *device_array(size_t count)
{
    T *x;
    CUDA_CHECK(cudaMalloc(&x, sizeof(T) * (count + 1)));
    CUDA_CHECK(cudaMemset(x, 0x77, sizeof(T) * (count + 1)));
    return x;
}

template <typename T> std::vector<T> fetch(const T *x, size_t count)
{
    std::vector<T> y(count);
    CUDA_CHECK(cudaMemcpy(y.data(), x, sizeof(T) * count, cudaMemcpyDeviceToHost));
    return y;
}

template <typename T> void check_builders(bool u8)
{
    const uint64_t r = mix(seed);
    const int64_t m = 1 + (int64_t)(r % 90), pad = (r >> 60) % 3;
    int64_t k = 1 + (int64_t)((r >> 8) % 6000);
    if (r >> 40 & 1) k = (k + 3) / 4 * 4;
    const double densities[] = {0.0, 0.001, 0.05, 0.5, 1.0};
    const double density = densities[(r >> 30) % 5];
    const bool kmajor = r >> 41 & 1;
    const int64_t rs = kmajor ? 1 : k + pad, cs = kmajor ? m + pad : 1, size = m * k + pad * std::max(m, k);
    T *s = random_device<T>(size, density, seed);
    CUDA_CHECK(cudaDeviceSynchronize());
    const std::vector<T> host = fetch(s, (size_t)size);
    const lac_cuda_dense_t dense = {u8 ? LAC_U8 : LAC_F32, s, rs, cs, 0.0};

    std::vector<int64_t> count((size_t)m), ptr(1, 0);
    std::vector<int32_t> idx, active;
    std::vector<float> val;
    const int64_t words = (k + 63) / 64;
    std::vector<uint64_t> bits((size_t)(m * words), 0);
    std::vector<char> any((size_t)k, 0);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t c = 0; c < k; c++) {
            const T x = host[(size_t)(i * rs + c * cs)];
            if (x == T(0)) continue;
            idx.push_back((int32_t)c), val.push_back(u8 ? 1.0f : (float)x), any[(size_t)c] = 1;
            bits[(size_t)(i * words + c / 64)] |= 1ull << c % 64;
        }
        ptr.push_back((int64_t)idx.size());
        count[(size_t)i] = ptr[(size_t)i + 1] - ptr[(size_t)i];
    }
    for (int64_t c = 0; c < k; c++)
        if (any[(size_t)c]) active.push_back((int32_t)c);
    const size_t nnz = idx.size();

    int64_t *d_count = device_array<int64_t>((size_t)m), *d_ptr = device_array<int64_t>((size_t)m + 1),
            *d_total = device_array<int64_t>(1);
    int32_t *d_idx = device_array<int32_t>(nnz), *d_active = device_array<int32_t>((size_t)k);
    float *d_val = device_array<float>(nnz);
    uint64_t *d_bits = device_array<uint64_t>((size_t)(m * words));
    char *workspace = device_array<char>((size_t)std::max(lac_cuda_csr_bytes(m), lac_cuda_active_bytes(k)));

    expect(lac_cuda_count_rows(m, k, &dense, d_count, nullptr) == LAC_OK &&
               fetch(d_count, (size_t)m) == count,
           "count_rows");
    expect(lac_cuda_csr_ptr(m, k, &dense, d_ptr, workspace, nullptr) == LAC_OK &&
               fetch(d_ptr, (size_t)m + 1) == ptr,
           "csr_ptr");
    expect(lac_cuda_csr_fill(m, k, &dense, d_ptr, d_idx, LAC_F32, d_val, nullptr) == LAC_OK &&
               fetch(d_idx, nnz) == idx && fetch(d_val, nnz) == val,
           "csr_fill");
    expect(lac_cuda_fill_bits(m, k, &dense, d_bits, nullptr) == LAC_OK && fetch(d_bits, bits.size()) == bits,
           "fill_bits");
    expect(lac_cuda_active_list(m, k, &dense, d_active, d_total, workspace, nullptr) == LAC_OK &&
               fetch(d_total, 1)[0] == (int64_t)active.size() && fetch(d_active, active.size()) == active,
           "active_list");
    const int64_t samples = 4096;
    expect(lac_cuda_probe(m, k, &dense, samples, seed, d_total, nullptr) == LAC_OK, "probe");
    const double seen = (double)fetch(d_total, 1)[0] / (double)samples, truth = (double)nnz / (double)(m * k);
    const double doubt =
        5 * sqrt(truth * (1 - truth) * (1.0 / (double)samples + 1.0 / (double)(m * k))) + 1e-9;
    expect(fabs(seen - truth) <= doubt + 0.02, "probe density");

    for (const int64_t n : {(int64_t)1, (int64_t)3, (int64_t)13}) {
        const bool cols = r >> 42 & 1;
        const int64_t ldw = cols ? k : n;
        float *w = random_device<float>(n * k, 1.0, seed + 3), *out = device_array<float>((size_t)(m * n));
        float *before = random_device<float>(m * n, 1.0, seed + 4);
        CUDA_CHECK(cudaMemcpy(out, before, sizeof(float) * (size_t)(m * n), cudaMemcpyDeviceToDevice));
        const lac_cuda_product_t p = {
            m,   n, k, {nullptr, -0.5f}, w, ldw, cols ? LAC_CUDA_COLS : LAC_CUDA_ROWS, {nullptr, 0.25f},
            out, n, 1};
        const lac_cuda_bits_t b = {words, d_bits, d_ptr, d_val};
        expect(lac_cuda_bitmask(&p, &b, nullptr) == LAC_OK &&
                   worst_error(p, s, rs, cs, before, -0.5f, 0.25f) <= 12.0f,
               "bitmask product");
        cudaFree(w), cudaFree(out), cudaFree(before);
    }
    for (void *x : {(void *)s, (void *)d_count, (void *)d_ptr, (void *)d_total, (void *)d_idx,
                    (void *)d_active, (void *)d_val, (void *)d_bits, (void *)workspace})
        cudaFree(x);
}

void check_transpose()
{
    const uint64_t r = mix(seed + 99);
    const int64_t m = 1 + (int64_t)(r % 300), n = 1 + (int64_t)((r >> 16) % 300), rs = n + 2, ldd = m + 1;
    float *src = random_device<float>(m * rs, 1.0, seed), *dst = device_array<float>((size_t)(n * ldd));
    expect(lac_cuda_transpose(m, n, src, rs, 1, dst, ldd, nullptr) == LAC_OK, "transpose");
    const std::vector<float> a = fetch(src, (size_t)(m * rs)), b = fetch(dst, (size_t)(n * ldd));
    bool same = true;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) same &= a[(size_t)(i * rs + j)] == b[(size_t)(j * ldd + i)];
    expect(same, "transpose values");
    cudaFree(src), cudaFree(dst);
}

/* A sample covers all of x, its last elements too: where the nonzeros are a piece at the end, the shares
 * that lie in it are reported exactly, but for the one that it begins in. */
void check_sample()
{
    const uint64_t r = mix(seed + 7);
    const int64_t rows = 1 + (int64_t)(r % 700), cols = 1 + (int64_t)((r >> 16) % 700), count = rows * cols;
    const int64_t zeros = (int64_t)((r >> 32) % (uint64_t)count);
    const double looked_at = (double)std::min<int64_t>(count, LAC_CUDA_PROBE_SAMPLES);
    float *x = random_device<float>(count, 1.0, seed);
    uint64_t *words, total = 0, lines = 0;
    CUDA_CHECK(cudaMemset(x, 0, sizeof(float) * (size_t)zeros));
    CUDA_CHECK(cudaHostAlloc(&words, sizeof(uint64_t) * LAC_CUDA_PROBE_WORDS, cudaHostAllocDefault));
    const lac_cuda_matrix_t matrix = {LAC_F32, x, rows, cols, cols, 1};
    expect(lac_cuda_probe_marked(&matrix, seed & 1, seed, 17, words, nullptr) == LAC_OK, "sample");
    CUDA_CHECK(cudaDeviceSynchronize());
    bool marked = true;
    for (int i = 0; i < LAC_CUDA_PROBE_WORDS; i++) {
        marked &= words[i] >> 32 == 17;
        total += words[i] & 0xffffu;
        lines += words[i] >> 16 & 0xffu;
    }
    expect(marked, "sample marks");
    expect(fabs((double)total - looked_at * (double)(count - zeros) / (double)count) <= 1.0,
           "sample of the end");
    expect(lines <= LAC_CUDA_PROBE_LINES && (zeros > 0 || lines == LAC_CUDA_PROBE_LINES),
           "lines of a sample");
    cudaFree(x), cudaFreeHost(words);
}

/* Of a matrix whose lines of k are full or empty, so many lines are found as there are, within five errors;
 * and across them all or none. */
void check_sampled_lines()
{
    const uint64_t r = mix(seed + 11);
    const int64_t rows = 40 + (int64_t)(r % 500), cols = 40 + (int64_t)((r >> 16) % 500);
    const bool by_rows = r >> 40 & 1;
    const double full = 0.1 + 0.8 * (double)((r >> 48) % 100) / 100.0;
    std::vector<float> x((size_t)(rows * cols));
    int64_t lines = by_rows ? rows : cols, filled = 0;
    for (int64_t line = 0; line < lines; line++) {
        const bool on = mix(seed * 977 + (uint64_t)line) % 1000 < (uint64_t)(1000.0 * full);
        filled += on;
        for (int64_t i = 0; on && i < (by_rows ? cols : rows); i++)
            x[(size_t)(by_rows ? line * cols + i : i * cols + line)] = 1.0f;
    }
    float *device;
    uint64_t *words;
    CUDA_CHECK(cudaMalloc(&device, x.size() * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(device, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaHostAlloc(&words, sizeof(uint64_t) * LAC_CUDA_PROBE_WORDS, cudaHostAllocDefault));
    const lac_cuda_matrix_t matrix = {LAC_F32, device, rows, cols, cols, 1};
    const double share = (double)filled / (double)lines;
    for (int along = 0; along < 2; along++) {
        uint64_t found = 0;
        expect(lac_cuda_probe_marked(&matrix, along ? by_rows : !by_rows, seed, 18, words, nullptr) == LAC_OK,
               "sample");
        CUDA_CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < LAC_CUDA_PROBE_WORDS; i++) found += words[i] >> 16 & 0xffu;
        const double any = along ? share : 1.0 - pow(1.0 - share, LAC_CUDA_PROBE_LINE);
        const double room = 5.0 * sqrt(LAC_CUDA_PROBE_LINES * any * (1.0 - any)) + 8.0;
        expect(fabs((double)found - any * LAC_CUDA_PROBE_LINES) <= room,
               along ? "lines of k" : "lines across");
    }
    cudaFree(device), cudaFreeHost(words);
}

/* Of a matrix whose pieces are full or empty, so many are found as there are, within five errors; the other
 * way round, where each piece has a part of several, more; and none in a matrix without a whole one. */
void check_sampled_pieces()
{
    const uint64_t r = mix(seed + 13);
    const int64_t down = 3 + (int64_t)(r % 12), across = 3 + (int64_t)((r >> 16) % 9);
    const int64_t rows = down * LAC_CUDA_PIECE_K + (int64_t)(r >> 32) % LAC_CUDA_PIECE_K,
                  cols = across * LAC_CUDA_PIECE_ACROSS + (int64_t)(r >> 40) % LAC_CUDA_PIECE_ACROSS;
    std::vector<float> x((size_t)(rows * cols));
    int64_t filled = 0;
    for (int64_t i = 0; i < down; i++)
        for (int64_t j = 0; j < across; j++) {
            if (mix(seed * 991 + (uint64_t)(i * across + j)) % 2) continue;
            filled++;
            for (int64_t e = 0; e < LAC_CUDA_PIECE_K * LAC_CUDA_PIECE_ACROSS; e++)
                x[(size_t)((i * LAC_CUDA_PIECE_K + e / LAC_CUDA_PIECE_ACROSS) * cols +
                           j * LAC_CUDA_PIECE_ACROSS + e % LAC_CUDA_PIECE_ACROSS)] = 1.0f;
        }
    float *device;
    uint64_t *words;
    CUDA_CHECK(cudaMalloc(&device, x.size() * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(device, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaHostAlloc(&words, sizeof(uint64_t) * LAC_CUDA_PROBE_WORDS, cudaHostAllocDefault));
    const double share = (double)filled / (double)(down * across);
    const auto found = [&](const lac_cuda_matrix_t &matrix, bool k_by_rows) {
        uint64_t sum = 0;
        expect(lac_cuda_probe_marked(&matrix, k_by_rows, seed, 19, words, nullptr) == LAC_OK, "sample");
        CUDA_CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < LAC_CUDA_PROBE_WORDS; i++) sum += words[i] >> 24 & 0xffu;
        return (double)sum / LAC_CUDA_PROBE_PIECES;
    };
    const lac_cuda_matrix_t matrix = {LAC_F32, device, rows, cols, cols, 1},
                            transposed = {LAC_F32, device, cols, rows, 1, cols},
                            thin = {LAC_F32, device, rows, LAC_CUDA_PIECE_ACROSS - 1, cols, 1};
    const double room = 5.0 * sqrt(share * (1.0 - share) / LAC_CUDA_PROBE_PIECES) + 0.01;
    expect(fabs(found(matrix, true) - share) <= room, "pieces");
    expect(fabs(found(transposed, false) - share) <= room, "pieces, transposed");
    expect(found(matrix, false) >= share - room, "pieces across");
    expect(found(thin, true) == 0.0, "no piece");
    cudaFree(device), cudaFreeHost(words);
}

} // namespace

/* metadata_test [cases] [first seed] */
int main(int argc, char **argv)
{
    if (no_device()) return 77;
    const int cases = argc > 1 ? atoi(argv[1]) : 60;
    const uint64_t first = argc > 2 ? strtoull(argv[2], nullptr, 10) : 1;
    for (seed = first; seed < first + (uint64_t)cases; seed++) {
        if (seed % 3)
            check_builders<float>(false);
        else
            check_builders<uint8_t>(true);
        check_transpose();
        check_sample();
        check_sampled_lines();
        check_sampled_pieces();
    }
    printf("metadata_test: %d checks, %d failures\n", checks, failures);
    return failures != 0;
}
