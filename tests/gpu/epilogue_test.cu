/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation done where a product is written, against the pass behind it: the same bits, for shapes,
 * layouts, scalars, shared and repaired tiles, and panels; and what the product reports of its zeros. */
#include <algorithm>
#include <cstring>
#include <vector>

#include "../../kernels/cuda/cuda_support.h"
#include "cuda_kernels.h"
#include "gpu_harness.cuh"

namespace
{

int failures, checks;
cudaStream_t stream;

enum Layout { kRows, kRowsPadded, kColumns, kApart, kLayouts };
enum Special { kNone, kNanInA, kNanInB, kInfInA, kSpecials };

struct Shape {
    int64_t m, n, k;
};

struct Case {
    Shape shape;
    Layout layout;
    Special special;
    bool portable; /* the kernel of devices without warpgroup products */
    float alpha, beta;
    uint64_t seed;
};

struct Operands {
    float *a, *b, *c, *before, *bias;
    void *workspace;
    uint64_t *bits;
    size_t bytes; /* of c */
    lac_cuda_tiles_t p;
};

void put(float *x, int64_t at, float value)
{
    CUDA_CHECK(cudaMemcpy(x + at, &value, sizeof value, cudaMemcpyHostToDevice));
}

/* Rows of a have zeros in pieces of 64, so that some outputs are sums of nothing. */
__global__ void clear_rows(float *a, int64_t m, int64_t k)
{
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < m * k;
         t += (int64_t)gridDim.x * blockDim.x)
        if (mix((uint64_t)(t / k)) % 3 == 0 || mix((uint64_t)(t / k / 64) << 20 ^ (uint64_t)(t % k)) % 2)
            a[t] = 0.0f;
}

Operands make(const Case &x)
{
    const auto [m, n, k] = x.shape;
    const int64_t ldb = (n + 3) / 4 * 4;
    const int64_t strides[kLayouts][2] = {{n, 1}, {n + 5, 1}, {1, m + 3}, {3 * n + 1, 3}};
    const int64_t crs = strides[x.layout][0], ccs = strides[x.layout][1],
                  count = (m - 1) * crs + (n - 1) * ccs + 1;
    Operands o = {random_device<float>(m * k, 1.0, x.seed),
                  random_device<float>(k * ldb, 1.0, x.seed + 1),
                  nullptr,
                  random_device<float>(count, 0.9, x.seed + 2),
                  random_device<float>(m + n, 0.9, x.seed + 3),
                  nullptr,
                  nullptr,
                  sizeof(float) * (size_t)count,
                  {}};
    clear_rows<<<1024, 256>>>(o.a, m, k);
    if (x.special == kNanInA) put(o.a, (m - 1) * k + k / 2, NAN);
    if (x.special == kInfInA) put(o.a, m / 2 * k, INFINITY);
    if (x.special == kNanInB) put(o.b, k / 2 * ldb + n / 2, NAN);
    CUDA_CHECK(cudaMalloc(&o.c, o.bytes));
    const bool transposed = (x.seed / 5 + x.portable) % 2; /* bits by columns */
    const int64_t words = ((transposed ? m : n) + 63) / 64;
    CUDA_CHECK(cudaMalloc(&o.bits, (size_t)((transposed ? n : m) * words * 8)));
    CUDA_CHECK(cudaMalloc(&o.workspace, (size_t)lac_cuda_tiles_bytes(LAC_F32, m, n, k, false)));
    o.p = {m,          n,       k,     {nullptr, x.alpha}, o.a, k,   1,   nullptr,
           0,          o.b,     ldb,   {nullptr, x.beta},  o.c, crs, ccs, {},
           x.portable, nullptr, words, transposed};
    CUDA_CHECK(cudaDeviceSynchronize());
    return o;
}

void release(Operands &o)
{
    for (void *x : {(void *)o.a, (void *)o.b, (void *)o.c, (void *)o.before, (void *)o.bias, (void *)o.bits,
                    o.workspace})
        cudaFree(x);
}

enum Way { kBehind, kFused, kWithBits };

/* c as it comes out: with the epilogue done by a pass behind the product, or by itself, or with bits. */
std::vector<uint32_t> result(const Operands &o, const lac_cuda_epilogue_t &epilogue, Way way)
{
    const bool behind = way == kBehind;
    std::vector<uint32_t> got(o.bytes / sizeof(uint32_t));
    lac_cuda_tiles_t p = o.p;
    CUDA_CHECK(cudaMemcpyAsync(o.c, o.before, o.bytes, cudaMemcpyDeviceToDevice, stream));
    if (!behind) p.epilogue = epilogue;
    if (way == kWithBits) p.bits = o.bits;
    lac_status_t status = lac_cuda_tiles_run(&p, o.workspace, stream);
    const lac_cuda_epilogue_pass_t pass = {p.m, p.n, (float *)p.c, p.crs, p.ccs, epilogue};
    if (status == LAC_OK && behind) status = lac_cuda_epilogue_pass(&pass, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(got.data(), o.c, o.bytes, cudaMemcpyDeviceToHost));
    if (status != LAC_OK) printf("FAIL status %d\n", (int)status), failures++;
    return got;
}

/* The same c, and a bit for each element that is no zero; none behind the last. */
bool check_bits(const Case &x, const Operands &o, const lac_cuda_epilogue_t &epilogue,
                const std::vector<uint32_t> &want)
{
    const bool transposed = o.p.bits_transposed;
    const int64_t words = o.p.bits_words, lines = transposed ? o.p.n : o.p.m,
                  across = transposed ? o.p.m : o.p.n;
    const int64_t lrs = transposed ? o.p.ccs : o.p.crs, lcs = transposed ? o.p.crs : o.p.ccs;
    std::vector<uint64_t> bits((size_t)(lines * words));
    CUDA_CHECK(cudaMemsetAsync(o.bits, 0x5a, 8 * bits.size(), stream));
    const bool same = result(o, epilogue, kWithBits) == want;
    CUDA_CHECK(cudaMemcpy(bits.data(), o.bits, 8 * bits.size(), cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < lines; i++)
        for (int64_t w = 0; w < words; w++) {
            uint64_t word = 0;
            for (int64_t j = 64 * w; j < std::min(across, 64 * w + 64); j++)
                word |= (uint64_t)((want[(size_t)(i * lrs + j * lcs)] & 0x7fffffffu) != 0) << j % 64;
            if (same && word == bits[(size_t)(i * words + w)]) continue;
            failures++;
            printf("FAIL bits %s%lldx%lldx%lld layout %d special %d alpha %g beta %g any %d limit %g: word "
                   "%lld of "
                   "row %lld is %016llx, expected %016llx\n",
                   x.portable ? "portable " : "", (long long)x.shape.m, (long long)x.shape.k,
                   (long long)x.shape.n, x.layout, x.special, x.alpha, x.beta, epilogue.any, epilogue.limit,
                   (long long)w, (long long)i, (unsigned long long)bits[(size_t)(i * words + w)],
                   (unsigned long long)word);
            return false;
        }
    return true;
}

void check_after(const Case &x, const Operands &o, const lac_cuda_epilogue_t &epilogue)
{
    const std::vector<uint32_t> want = result(o, epilogue, kBehind), got = result(o, epilogue, kFused);
    size_t at = 0;
    checks++;
    while (at < want.size() && got[at] == want[at]) at++;
    if (!check_bits(x, o, epilogue, want)) return;
    if (at == want.size()) return;
    failures++;
    printf(
        "FAIL %s%lldx%lldx%lld layout %d special %d alpha %g beta %g bias %s magnitude %d limit %g: element "
        "%zu is %08x, expected %08x\n",
        x.portable ? "portable " : "", (long long)x.shape.m, (long long)x.shape.k, (long long)x.shape.n,
        x.layout, x.special, x.alpha, x.beta,
        !epilogue.bias     ? "none"
        : epilogue.of_rows ? "rows"
                           : "columns",
        epilogue.magnitude, epilogue.limit, at, got[at], want[at]);
}

/* Each bias with each activation: all stay, ReLU, a threshold, a magnitude. */
void check(const Case &x)
{
    static const float limits[] = {NAN, 0.0f, -0.3f, 0.5f};
    Operands o = make(x);
    check_bits(x, o, {}, result(o, {}, kFused));
    for (int act = 0; act < 4; act++)
        for (int bias = act ? 0 : 1; bias < 3; bias++)
            check_after(x, o, {bias ? o.bias : nullptr, true, bias == 2, act == 3, limits[act]});
    release(o);
}

} // namespace

/* epilogue_test [most shapes] */
int main(int argc, char **argv)
{
    /* Shared out k and not, edges within a tile, more rows than a panel. */
    static const Shape shapes[] = {{200, 300, 100}, {1, 1, 16},       {64, 130, 500}, {1500, 1500, 64},
                                   {129, 999, 48},  {300, 200, 2000}, {524488, 6, 16}};
    static const float scalars[][2] = {{1, 0}, {-1.5f, 0}, {1, 1}, {2.25f, -0.5f}, {0, 1}};
    if (no_device()) return 77;
    if (!lac_cuda_tiles_here()) {
        printf("skipped: the device has no bf16 tensor cores\n");
        return 77;
    }
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    /* So many shapes, and of their cases each so manieth: sanitizers take minutes for all of one shape's. */
    int left = argc > 1 ? atoi(argv[1]) : 100, at = 0;
    const int each = argc > 2 ? atoi(argv[2]) : 1;
    for (const Shape &shape : shapes) {
        if (left-- == 0) break;
        for (int layout = 0; layout < kLayouts; layout++)
            for (int special = 0; special < kSpecials; special++, at++) {
                const float *s = scalars[at % 5];
                if ((shape.m > 100000 && (layout || special)) || at % each) continue;
                for (int portable = 0; portable < 2; portable++)
                    check({shape, (Layout)layout, (Special)special, portable == 1, s[0], s[1], (uint64_t)at});
            }
    }
    printf("%d outputs, %d failures\n", checks, failures);
    return failures != 0;
}
