/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Event kernels against an fp64 reference: random shapes, strides, scalars, densities; poisoned outputs;
 * twice. */
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gpu_harness.cuh"

namespace
{

constexpr float kTolerance = 12.0f; /* units of 2^-24 |S||W|, elementwise worst */
int failures, checks;
cudaStream_t stream, side;

struct Case {
    int64_t m, n, k;
    double density;
    bool u8, s_kmajor, s_padded, cols, w_padded, out_transposed, device_scalars;
    float alpha, beta;
    uint64_t seed;
};

std::string text(const Case &c, const char *route)
{
    char b[256];
    snprintf(b, sizeof b, "%s:%lldx%lldx%lld:d=%g:%s:s=%s%s:w=%s%s:out=%s:alpha=%g:beta=%g%s:seed=%llu",
             route, (long long)c.m, (long long)c.k, (long long)c.n, c.density, c.u8 ? "u8" : "f32",
             c.s_kmajor ? "kmajor" : "rows", c.s_padded ? "+pad" : "", c.cols ? "cols" : "rows",
             c.w_padded ? "+pad" : "", c.out_transposed ? "trans" : "rows", c.alpha, c.beta,
             c.device_scalars ? ":dev" : "", (unsigned long long)c.seed);
    return b;
}

template <typename T> struct Operands {
    T *s;
    int64_t rs, cs;
    float *w, *before, *out, *scalars;
    int64_t out_count;
    void *workspace;
    int64_t *ptr;
    int32_t *idx;
    float *val;
    int64_t nnz;
    int64_t compared; /* rows of out that the reference is asked for */
    lac_cuda_product_t p;
};

/* W[k, :] := Inf and NaN wherever row 0 of S has no event: no zero of that row may meet them. */
template <typename T> __global__ void poison_unused(lac_cuda_product_t p, float *w, const T *s, int64_t cs)
{
    const int64_t k = blockIdx.x, ks = p.order == LAC_CUDA_ROWS ? p.ldw : 1,
                  js = p.order == LAC_CUDA_ROWS ? 1 : p.ldw;
    if (s[k * cs] != T(0)) return;
    for (int64_t j = threadIdx.x; j < p.n; j += blockDim.x) w[k * ks + j * js] = j % 2 ? INFINITY : NAN;
}

template <typename T> Operands<T> make(const Case &c)
{
    Operands<T> o = {};
    const int64_t pad = c.s_padded ? 3 : 0;
    o.rs = c.s_kmajor ? 1 : c.k + pad, o.cs = c.s_kmajor ? c.m + pad : 1;
    o.s = random_device<T>(c.m * c.k + pad * std::max(c.m, c.k), c.density, c.seed);
    const int64_t wpad = c.w_padded ? 5 : 0, ldw = (c.cols ? c.k : c.n) + wpad;
    o.w = random_device<float>((c.cols ? c.n : c.k) * ldw, 1.0, c.seed + 1);
    o.p = {c.m,
           c.n,
           c.k,
           {nullptr, c.alpha},
           o.w,
           ldw,
           c.cols ? LAC_CUDA_COLS : LAC_CUDA_ROWS,
           {nullptr, c.beta},
           nullptr,
           c.out_transposed ? 1 : c.n,
           c.out_transposed ? c.m : 1};
    o.compared = c.m;
    if (c.seed % 4 == 0) {
        o.compared = 1;
        poison_unused<<<(unsigned)c.k, 128>>>(o.p, o.w, o.s, o.cs);
    }
    o.out_count = c.m * c.n;
    o.before = random_device<float>(o.out_count, 1.0, c.seed + 2);
    if (c.beta == 0.0f) CUDA_CHECK(cudaMemset(o.before, 0xff, sizeof(float) * (size_t)o.out_count)); /* NaN */
    CUDA_CHECK(cudaMalloc(&o.out, sizeof(float) * (size_t)o.out_count));
    o.p.out = o.out;
    CUDA_CHECK(cudaMalloc(&o.scalars, 8));
    const float ab[2] = {c.alpha, c.beta};
    CUDA_CHECK(cudaMemcpy(o.scalars, ab, 8, cudaMemcpyHostToDevice));
    if (c.device_scalars) o.p.alpha = {o.scalars, 99.0f}, o.p.beta = {o.scalars + 1, 99.0f};
    const size_t bytes =
        (size_t)std::max({lac_cuda_event_stream_bytes(c.m, c.k), lac_cuda_event_active_bytes(c.m, c.k)});
    CUDA_CHECK(cudaMalloc(&o.workspace, bytes));
    CUDA_CHECK(cudaMemset(o.workspace, 0x5a, bytes));

    std::vector<T> s((size_t)(c.m * c.k + pad * std::max(c.m, c.k)));
    CUDA_CHECK(cudaMemcpy(s.data(), o.s, s.size() * sizeof(T), cudaMemcpyDeviceToHost));
    std::vector<int64_t> ptr(1, 0);
    std::vector<int32_t> idx;
    std::vector<float> val;
    for (int64_t i = 0; i < c.m; i++) {
        for (int64_t k = 0; k < c.k; k++)
            if (T x = s[(size_t)(i * o.rs + k * o.cs)]; x != T(0))
                idx.push_back((int32_t)k), val.push_back(c.u8 ? 1.0f : (float)x);
        ptr.push_back((int64_t)idx.size());
    }
    o.nnz = ptr.back();
    CUDA_CHECK(cudaMalloc(&o.ptr, 8 * ptr.size()));
    CUDA_CHECK(cudaMalloc(&o.idx, 4 * idx.size() + 4));
    CUDA_CHECK(cudaMalloc(&o.val, 4 * val.size() + 4));
    CUDA_CHECK(cudaMemcpy(o.ptr, ptr.data(), 8 * ptr.size(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(o.idx, idx.data(), 4 * idx.size(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(o.val, val.data(), 4 * val.size(), cudaMemcpyHostToDevice));
    return o;
}

template <typename T> void release(Operands<T> &o)
{
    for (void *x : {(void *)o.s, (void *)o.w, (void *)o.before, (void *)o.out, (void *)o.scalars, o.workspace,
                    (void *)o.ptr, (void *)o.idx, (void *)o.val})
        cudaFree(x);
}

/* The same call inside a graph, behind a copy and a join with another stream, twice in a row where beta == 0.
 */
template <typename T, typename Run> lac_status_t run_captured(const Case &c, Operands<T> &o, Run run)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t fork, join;
    CUDA_CHECK(cudaEventCreate(&fork));
    CUDA_CHECK(cudaEventCreate(&join));
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_CHECK(cudaEventRecord(fork, stream));
    CUDA_CHECK(cudaStreamWaitEvent(side, fork, 0));
    CUDA_CHECK(cudaMemcpyAsync(o.out, o.before, sizeof(float) * (size_t)o.out_count, cudaMemcpyDeviceToDevice,
                               side));
    CUDA_CHECK(cudaEventRecord(join, side));
    CUDA_CHECK(cudaStreamWaitEvent(stream, join, 0));
    lac_status_t status = run(stream);
    if (status == LAC_OK && c.beta == 0.0f) status = run(stream);
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_CHECK(cudaGraphLaunch(exec, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaGraphExecDestroy(exec));
    CUDA_CHECK(cudaGraphDestroy(graph));
    cudaEventDestroy(fork), cudaEventDestroy(join);
    return status;
}

template <typename T, typename Run> void check(const Case &c, Operands<T> &o, const char *route, Run run)
{
    const size_t bytes = sizeof(float) * (size_t)o.out_count;
    std::vector<float> first((size_t)o.out_count), second((size_t)o.out_count);
    CUDA_CHECK(cudaMemcpyAsync(o.out, o.before, bytes, cudaMemcpyDeviceToDevice, stream));
    lac_status_t status = run(stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(first.data(), o.out, bytes, cudaMemcpyDeviceToHost));
    if (status == LAC_OK) status = run_captured(c, o, run);
    CUDA_CHECK(cudaMemcpy(second.data(), o.out, bytes, cudaMemcpyDeviceToHost));
    if (status != LAC_OK) {
        printf("FAIL status %d %s\n", (int)status, text(c, route).c_str());
        failures++;
        return;
    }
    lac_cuda_product_t asked = o.p;
    asked.m = o.compared;
    const float e = worst_error(asked, o.s, o.rs, o.cs, o.before, c.alpha, c.beta);
    checks++;
    if (!(e <= kTolerance)) printf("FAIL error %g %s\n", e, text(c, route).c_str()), failures++;
    if (memcmp(first.data(), second.data(), bytes))
        printf("FAIL repeat %s\n", text(c, route).c_str()), failures++;
}

/* The products that want W by columns. */
template <typename T> void check_columns(const Case &c, Operands<T> &o, const lac_cuda_dense_t &s)
{
    lac_cuda_dense_t packed = s;
    packed.data = nullptr;
    for (const lac_cuda_dense_t *from : {&s, (const lac_cuda_dense_t *)&packed})
        check(c, o, from->data ? "stream" : "stream-packed",
              [&](cudaStream_t q) { return lac_cuda_event_stream(&o.p, from, o.workspace, q); });
    for (const lac_cuda_dense_t *from : {&s, (const lac_cuda_dense_t *)&packed})
        check(c, o, from->data ? "active" : "active-packed",
              [&](cudaStream_t q) { return lac_cuda_event_active(&o.p, from, o.workspace, q); });
}

/* Wide slices of W, a warp for a row or a block for a long one. */
template <typename T> void check_wide(const Case &c, Operands<T> &o, const lac_cuda_csr_t &csr)
{
    if (c.cols || c.n % 4 || o.p.ldw % 4) return;
    check(c, o, "wide", [&](cudaStream_t q) { return lac_cuda_spmm_wide(&o.p, &csr, q); });
}

/* Made into steps first. */
template <typename T> void check_long(const Case &c, Operands<T> &o, const lac_cuda_csr_t &csr)
{
    int major = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9 || c.cols || o.p.ldw % 4) return;
    void *steps, *scratch, *partial;
    const size_t bytes = (size_t)lac_cuda_schedule_bytes(c.m, c.k, o.nnz);
    CUDA_CHECK(cudaMalloc(&steps, bytes));
    CUDA_CHECK(cudaMalloc(&scratch, (size_t)lac_cuda_schedule_scratch(c.m)));
    CUDA_CHECK(cudaMalloc(&partial, (size_t)lac_cuda_csr_long_bytes(c.m, c.n, c.k) + 1));
    CUDA_CHECK(cudaMemsetAsync(steps, 0x5a, bytes, stream));
    check(c, o, "long", [&](cudaStream_t q) {
        const lac_status_t status = lac_cuda_schedule(c.m, c.k, &csr, steps, scratch, q);
        return status == LAC_OK ? lac_cuda_csr_long(&o.p, steps, partial, q) : status;
    });
    cudaFree(steps), cudaFree(scratch), cudaFree(partial);
}

/* By lists of chunks of k, made in the call. */
template <typename T> void check_staged(const Case &c, Operands<T> &o, const lac_cuda_dense_t &s)
{
    int major = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major < 9 || c.cols || o.p.ldw % 4) return;
    void *work;
    const size_t bytes = (size_t)lac_cuda_spmm_staged_bytes(c.m, c.k);
    CUDA_CHECK(cudaMalloc(&work, bytes));
    CUDA_CHECK(cudaMemsetAsync(work, 0x5a, bytes, stream));
    check(c, o, "staged", [&](cudaStream_t q) { return lac_cuda_spmm_staged(&o.p, &s, work, q); });
    cudaFree(work);
}

/* The nonzeros of k rows of n floats as CSR, on the device. */
struct SparseW {
    int64_t *ptr;
    int32_t *idx;
    float *val;
    lac_cuda_csr_t csr;
};

/* Elements of unlike sizes: all exponents of 64. */
__global__ void spread(float *w, int64_t count, uint64_t seed)
{
    const int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (t < count) w[t] = ldexpf(w[t], -(int)(mix(seed ^ mix((uint64_t)t)) % 64));
}

SparseW compress(const float *w, int64_t k, int64_t n)
{
    std::vector<float> all((size_t)(k * n)), val;
    std::vector<int64_t> ptr(1, 0);
    std::vector<int32_t> idx;
    CUDA_CHECK(cudaMemcpy(all.data(), w, sizeof(float) * all.size(), cudaMemcpyDeviceToHost));
    for (int64_t r = 0; r < k; r++) {
        for (int64_t j = 0; j < n; j++)
            if (const float x = all[(size_t)(r * n + j)]; x != 0.0f)
                idx.push_back((int32_t)j), val.push_back(x);
        ptr.push_back((int64_t)idx.size());
    }
    SparseW s = {};
    CUDA_CHECK(cudaMalloc(&s.ptr, 8 * ptr.size()));
    CUDA_CHECK(cudaMalloc(&s.idx, 4 * idx.size() + 4));
    CUDA_CHECK(cudaMalloc(&s.val, 4 * val.size() + 4));
    CUDA_CHECK(cudaMemcpy(s.ptr, ptr.data(), 8 * ptr.size(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(s.idx, idx.data(), 4 * idx.size(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(s.val, val.data(), 4 * val.size(), cudaMemcpyHostToDevice));
    s.csr = {s.ptr, s.idx, s.val, (int64_t)idx.size(), false};
    return s;
}

/* A sparse W, by entries and by segments, cut as they cut themselves and at random. */
template <typename T>
void check_sparse(const Case &c, Operands<T> &o, const lac_cuda_dense_t &s, const lac_cuda_csr_t &rows)
{
    if (c.cols || c.k * c.n > 4000000) return;
    const uint64_t r = mix(c.seed * 99);
    const lac_cuda_product_t plain = o.p;
    const double filled[] = {0.002, 0.02, 0.1, 0.6};
    float *dense = random_device<float>(c.k * c.n, filled[r % 4], c.seed + 3);
    if (r >> 40 & 1) spread<<<(unsigned)((c.k * c.n + 255) / 256), 256>>>(dense, c.k * c.n, c.seed);
    CUDA_CHECK(cudaDeviceSynchronize());
    const SparseW w = compress(dense, c.k, c.n);
    int major = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    const int64_t chosen = lac_cuda_segments_width(c.k, c.n, w.csr.nnz),
                  width = r >> 4 & 1 && chosen > 0 ? chosen : 32 * (1 + (int64_t)((r >> 8) % 64));
    const int lanes[] = {0, 4, 8, 16, 32};
    const lac_cuda_segments_cut_t cut = {8 * (1 + int(r >> 16) % 2),
                                         lanes[(r >> 17) % 5],
                                         1 + int((r >> 26) % 3),
                                         r >> 30 & 1 ? 1 << (r >> 31) % 4 : 0,
                                         major >= 9 ? 1 << (r >> 20) % 4 : 1,
                                         r >> 24 & 1 ? 1 : -1,
                                         r >> 36 & 1 ? 1 : -1,
                                         false};
    uint16_t *first;
    void *space;
    CUDA_CHECK(cudaMalloc(&first, (size_t)lac_cuda_segments_bytes(c.k, c.n, width) + 4));
    CUDA_CHECK(cudaMalloc(&space, (size_t)std::max(lac_cuda_event_pair_bytes(c.m, c.n, c.k),
                                                   lac_cuda_event_segments_bytes(c.m, c.k)) +
                                      4));
    if (lac_cuda_segment_pointers(c.k, c.n, width, &w.csr, first, stream) != LAC_OK) failures++;
    const lac_cuda_segments_t segments = {c.k, width, first};
    const lac_cuda_event_source_t buffer = {&s, nullptr, nullptr, nullptr, nullptr},
                                  given = {nullptr, nullptr, &rows, nullptr, nullptr};
    o.p.w = dense, o.p.ldw = c.n, o.p.order = LAC_CUDA_ROWS, o.compared = c.m;
    check(c, o, "pair",
          [&](cudaStream_t q) { return lac_cuda_event_pair(&o.p, &s, nullptr, &w.csr, space, q); });
    for (const lac_cuda_segments_cut_t *how : {&cut, (const lac_cuda_segments_cut_t *)nullptr}) {
        check(c, o, how ? "segments-cut" : "segments", [&](cudaStream_t q) {
            return lac_cuda_event_segments(&o.p, &buffer, &w.csr, &segments, how, space, q);
        });
        check(c, o, how ? "segments-csr-cut" : "segments-csr", [&](cudaStream_t q) {
            return lac_cuda_event_segments(&o.p, &given, &w.csr, &segments, how, space, q);
        });
    }
    o.p = plain;
    for (void *x : {(void *)dense, (void *)w.ptr, (void *)w.idx, (void *)w.val, (void *)first, space})
        cudaFree(x);
}

/* The rows as they are found in one step, each with room for all k. */
struct Apart {
    int64_t *ptr;
    int32_t *idx;
    float *val = nullptr;
    lac_cuda_csr_t csr;

    Apart(const Case &c, const lac_cuda_dense_t &s, const lac_cuda_csr_t &packed)
    {
        CUDA_CHECK(cudaMalloc(&ptr, (size_t)(16 * c.m)));
        CUDA_CHECK(cudaMalloc(&idx, (size_t)(4 * c.m * c.k)));
        if (!c.u8) CUDA_CHECK(cudaMalloc(&val, (size_t)(4 * c.m * c.k)));
        if (lac_cuda_csr_rows(c.m, c.k, &s, ptr, idx, LAC_F32, val, stream) != LAC_OK) failures++;
        csr = {ptr, idx, val, packed.nnz, true};
    }
    ~Apart()
    {
        for (void *x : {(void *)ptr, (void *)idx, (void *)val}) cudaFree(x);
    }
};

template <typename T> void run_case(const Case &c)
{
    Operands<T> o = make<T>(c);
    CUDA_CHECK(cudaDeviceSynchronize());
    const lac_cuda_dense_t s = {c.u8 ? LAC_U8 : LAC_F32, o.s, o.rs, o.cs, c.seed % 2 ? c.density : 0.0};
    const lac_cuda_csr_t csr = {o.ptr, o.idx, c.u8 ? nullptr : o.val, o.nnz, false};
    const Apart apart(c, s, csr);
    lac_cuda_dense_t packed = s;
    packed.data = nullptr;
    uint64_t r = mix(c.seed * 77);
    const int clusters[] = {1, 2, 4, 8, 16};
    lac_cuda_tile_t t = {1 + int(r % 2), 1 + int((r >> 8) % 7), 1 + int((r >> 16) % 2),
                         clusters[(r >> 24) % 5], 0};
    check(c, o, "fused", [&](cudaStream_t q) { return lac_cuda_event_fused(&o.p, &s, nullptr, q); });
    check(c, o, "fused-tile", [&](cudaStream_t q) { return lac_cuda_event_fused(&o.p, &s, &t, q); });
    check(c, o, "slots",
          [&](cudaStream_t q) { return lac_cuda_event_slots(&o.p, &s, nullptr, o.workspace, q); });
    t.slice = 128 << (r >> 44) % 3;
    check(c, o, "slots-tile",
          [&](cudaStream_t q) { return lac_cuda_event_slots(&o.p, &s, &t, o.workspace, q); });
    check(c, o, "packed",
          [&](cudaStream_t q) { return lac_cuda_event_slots(&o.p, &packed, &t, o.workspace, q); });
    check(c, o, "csr", [&](cudaStream_t q) { return lac_cuda_event_csr(&o.p, &csr, nullptr, q); });
    check(c, o, "csr-tile", [&](cudaStream_t q) { return lac_cuda_event_csr(&o.p, &csr, &t, q); });
    check(c, o, "csr-apart",
          [&](cudaStream_t q) { return lac_cuda_event_csr(&o.p, &apart.csr, nullptr, q); });
    for (const lac_cuda_csr_t *rows : {&csr, &apart.csr}) check_wide(c, o, *rows), check_long(c, o, *rows);
    check_staged(c, o, s);
    if (c.cols) check_columns(c, o, s);
    check_sparse(c, o, s, csr);
    release(o);
}

Case random_case(uint64_t seed, int64_t largest)
{
    uint64_t r = mix(seed), q = mix(r);
    const double densities[] = {0.0, 0.001, 0.01, 0.1, 0.5, 1.0};
    const float alphas[] = {1.0f, -0.75f}, betas[] = {0.0f, 1.0f, 0.5f};
    Case c = {};
    c.m = 1 + (int64_t)(r % 140), c.n = 1 + (int64_t)((r >> 8) % (uint64_t)largest),
    c.k = 1 + (int64_t)((r >> 24) % (uint64_t)largest);
    if (r >> 40 & 1) c.n = (c.n + 3) / 4 * 4, c.k = (c.k + 3) / 4 * 4;
    c.density = densities[q % 6];
    c.u8 = q >> 8 & 1, c.s_kmajor = q >> 9 & 1, c.s_padded = q >> 10 & 1, c.cols = q >> 11 & 1;
    c.w_padded = (q >> 12 & 3) == 0, c.out_transposed = q >> 14 & 1, c.device_scalars = q >> 15 & 1;
    c.alpha = alphas[q >> 16 & 1], c.beta = betas[(q >> 17) % 3];
    c.seed = seed;
    return c;
}

} // namespace

/* event_test [cases] [largest n, k] [first seed] */
int main(int argc, char **argv)
{
    if (no_device()) return 77;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    const int cases = argc > 1 ? atoi(argv[1]) : 200;
    const int64_t largest = argc > 2 ? atoll(argv[2]) : 3000;
    const uint64_t first = argc > 3 ? strtoull(argv[3], nullptr, 10) : 1;
    for (int t = 0; t < cases; t++) {
        const Case c = random_case(first + (uint64_t)t, largest);
        if (c.u8)
            run_case<uint8_t>(c);
        else
            run_case<float>(c);
    }
    /* More k than a forced slice has slots for. */
    run_case<float>({3, 37, 70001, 0.01, false, false, false, false, false, false, false, 1.0f, 0.0f, 5});
    /* More rows than a tile of the product of long sides has, and more k than are put into order at a time.
     */
    run_case<float>({700, 520, 5003, 0.02, false, false, false, false, false, true, true, -0.75f, 0.5f, 6});
    run_case<uint8_t>({300, 8001, 1200, 0.03, true, false, false, false, true, false, true, 1.0f, 0.5f, 7});
    printf("event_test: %d checks, %d failures\n", checks, failures);
    return failures != 0;
}
