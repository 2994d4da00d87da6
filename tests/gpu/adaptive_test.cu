/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The adaptive product on a device: one recording, whose S turns from sparse to full and back, against fp64
 * and, bit by bit, against the way that it should have taken. */
#include <algorithm>
#include <cstring>
#include <vector>

#include "gpu_harness.cuh"

namespace
{

constexpr float kTolerance = 12.0f; /* units of 2^-24, as the emulated test has it */
constexpr double kFew = 0.02, kMany = 0.6, kBreakEven = 0.2;

cudaStream_t stream;
int checks, failures;

struct Case {
    int64_t m, n, k;
    bool u8, s_kmajor, cols, padded, out_transposed;
    float alpha, beta;
    uint64_t seed;
};

void fail(const char *what, const Case &c, double density, float error)
{
    printf("FAIL %s: %lldx%lldx%lld %s s=%s w=%s%s out=%s alpha=%g beta=%g seed=%llu density=%g error=%g\n",
           what, (long long)c.m, (long long)c.k, (long long)c.n, c.u8 ? "u8" : "f32",
           c.s_kmajor ? "kmajor" : "rows", c.cols ? "cols" : "rows", c.padded ? " padded" : "",
           c.out_transposed ? "cols" : "rows", c.alpha, c.beta, (unsigned long long)c.seed, density, error);
    failures++;
}

template <typename T> struct Operands {
    T *s;
    float *w, *before, *out;
    void *workspace;
    int64_t bytes, rs, cs, s_count, out_count;
    lac_cuda_product_t p;
    lac_cuda_dense_t dense;

    explicit Operands(const Case &c)
    {
        const int64_t pad = c.padded ? 3 : 0, across = c.cols ? c.k : c.n, lines = c.cols ? c.n : c.k;
        const int64_t ldw = (across + 3) / 4 * 4 + (!c.padded ? 0 : c.cols ? 4 : 1 + (int64_t)c.seed % 4);
        const int64_t ors = c.out_transposed ? 1 : c.n + pad, ocs = c.out_transposed ? c.m + pad : 1;
        rs = c.s_kmajor ? 1 : c.k + pad, cs = c.s_kmajor ? c.m + pad : 1;
        s_count = (c.m + pad) * (c.k + pad), out_count = (c.m + pad) * (c.n + pad);
        s = random_device<T>(s_count, 1.0, c.seed + 1);
        w = random_device<float>(lines * ldw, 1.0, c.seed + 2);
        before = random_device<float>(out_count, 1.0, c.seed + 3);
        out = random_device<float>(out_count, 1.0, c.seed + 4);
        p = {c.m,
             c.n,
             c.k,
             {nullptr, c.alpha},
             w,
             ldw,
             c.cols ? LAC_CUDA_COLS : LAC_CUDA_ROWS,
             {nullptr, c.beta},
             out,
             ors,
             ocs,
             {},
             LAC_F32,
             LAC_F32};
        bytes = lac_cuda_adaptive_bytes(&p);
        CUDA_CHECK(cudaMalloc(&workspace, (size_t)bytes));
        CUDA_CHECK(cudaMemset(workspace, 0x5a, (size_t)bytes));
        dense = {sizeof(T) == 1 ? LAC_U8 : LAC_F32, s, rs, cs, 0.0};
    }
    Operands(const Operands &) = delete;
    ~Operands() { cudaFree(s), cudaFree(w), cudaFree(before), cudaFree(out), cudaFree(workspace); }
};

/* Twice in a row, so that a product's launches meet those of the one before, in the same memory. */
template <typename T> cudaGraphExec_t record(const Operands<T> &o, double break_even)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec = nullptr;
    lac_status_t status = LAC_OK;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int twice = 0; twice < 2; twice++) {
        CUDA_CHECK(cudaMemcpyAsync(o.out, o.before, sizeof(float) * (size_t)o.out_count,
                                   cudaMemcpyDeviceToDevice, stream));
        for (int calls = 0; calls < (o.p.beta.value == 0.0f ? 2 : 1) && status == LAC_OK; calls++)
            status = lac_cuda_adaptive(&o.p, &o.dense, break_even, o.workspace, stream);
    }
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    if (status == LAC_OK) CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaGraphDestroy(graph);
    return exec;
}

template <typename T> std::vector<float> replay(const Operands<T> &o, cudaGraphExec_t exec)
{
    std::vector<float> out((size_t)o.out_count);
    CUDA_CHECK(cudaGraphLaunch(exec, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(out.data(), o.out, sizeof(float) * out.size(), cudaMemcpyDeviceToHost));
    return out;
}

template <typename T> void run_case(const Case &c)
{
    const Operands<T> o(c);
    cudaGraphExec_t streams = record(o, 0.0), decides = record(o, kBreakEven), gathers = record(o, 1.0);
    if (!streams || !decides || !gathers) return fail("refused", c, 0.0, 0.0f);
    for (double density : {kFew, kMany, kFew}) {
        fill_random<<<64, 256>>>(o.s, o.s_count, density, c.seed + 1);
        CUDA_CHECK(cudaDeviceSynchronize());
        const std::vector<float> gathered = replay(o, gathers), streamed = replay(o, streams),
                                 decided = replay(o, decides);
        const std::vector<float> &right = density == kFew ? gathered : streamed;
        const float error = worst_error(o.p, o.s, o.rs, o.cs, o.before, c.alpha, c.beta);
        if (!(error <= kTolerance)) fail("values", c, density, error);
        if (memcmp(decided.data(), right.data(), sizeof(float) * right.size()) != 0)
            fail("the wrong way", c, density, error);
        checks++;
    }
    cudaGraphExecDestroy(streams), cudaGraphExecDestroy(decides), cudaGraphExecDestroy(gathers);
}

/* So many elements in S that no chance brings their count over break-even, or under it. */
Case random_case(uint64_t seed, int64_t largest)
{
    const uint64_t r = mix(seed), q = mix(r);
    const float alphas[] = {1.0f, -0.75f}, betas[] = {0.0f, 1.0f};
    Case c = {};
    c.cols = q & 1;
    c.m = 1 + (int64_t)(r % (c.cols ? 11 : 80));
    c.n = 1 + (int64_t)((r >> 8) % (uint64_t)largest);
    c.k = 400 + (int64_t)((r >> 24) % (uint64_t)largest);
    c.u8 = (q >> 8 & 3) == 0, c.s_kmajor = q >> 10 & 1, c.padded = q >> 11 & 1,
    c.out_transposed = q >> 12 & 1;
    c.alpha = alphas[q >> 13 & 1], c.beta = betas[q >> 14 & 1];
    c.seed = seed;
    return c;
}

} // namespace

/* adaptive_test [cases] [largest n, k] [first seed] */
int main(int argc, char **argv)
{
    if (no_device()) return 77;
    cudaDeviceProp prop;
    CUDA_CHECK(cudaGetDeviceProperties(&prop, 0));
    if (prop.major != 9) {
        printf("skipped: W streams on compute capability 9.0 alone\n");
        return 77;
    }
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const int cases = argc > 1 ? atoi(argv[1]) : 200;
    const int64_t largest = argc > 2 ? atoll(argv[2]) : 2000;
    const uint64_t first = argc > 3 ? strtoull(argv[3], nullptr, 10) : 1;
    for (int t = 0; t < cases; t++) {
        const Case c = random_case(first + (uint64_t)t, largest);
        if (c.u8)
            run_case<uint8_t>(c);
        else
            run_case<float>(c);
    }
    printf("adaptive_test: %d checks, %d failures\n", checks, failures);
    return failures != 0;
}
