/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The product by tiles against fp64: shapes, layouts, scalars, patterns of zeros, special values, and its
 * error beside that of plain fp32 multiply-adds. Poisoned outputs; each product twice, the second time from a
 * recording. */
#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda_kernels.h"
#include "gpu_harness.cuh"

namespace
{

int failures, checks;
/* Which kernel: that of warpgroup products; that of other devices, on one that has them; of two f16 numbers.
 */
enum Kernel { kWarpgroups, kPortable, kTwoF16, kKernels } kernel;
constexpr const char *kNames[] = {"", "portable ", "two f16 "};
cudaStream_t stream;

void fail(const char *what, const char *text)
{
    printf("FAIL %s %s\n", what, text);
    failures++;
}

/* Zeros in pieces of rows x cols elements, each kept with probability `density`. */
struct Pattern {
    int rows, cols;
    double density;
};

struct Case {
    int64_t m, n, k;
    bool a_by_columns, padded, c_by_columns;
    float alpha, beta;
    Pattern zeros;
    int kind;
    uint64_t seed;
};

/* The four kinds of data that the contract of accuracy names: uniform, exponents spread over 2^+-8, positive,
 * exponents spread over 2^+-30; and uniform with one of 8192 far larger or smaller, of which two f16 numbers
 * leave rests. */
constexpr int kRare = 4, kKinds = 5;
__device__ float of_kind(uint64_t bits, int kind)
{
    const float x = signed_unit(bits);
    if (kind == kRare) {
        const uint64_t way = mix(bits + 1);
        const int far = way >> 20 & 3 ? -(int)((way >> 24) % 120) : 9 + (int)((way >> 24) % 30);
        return way % 8192 ? x : ldexpf(x, far);
    }
    const int spread = kind == 1   ? 8
                       : kind == 3 ? 30
                                   : 0,
              e = (int)(mix(bits) % (unsigned)(2 * spread + 1)) - spread;
    return kind == 2 ? fabsf(x) : ldexpf(x, e);
}

struct Fill {
    float *x;
    int64_t rows, cols, rs, cs;
    Pattern zeros;
    int kind;
    uint64_t seed;
};

__global__ void fill_matrix(Fill f)
{
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < f.rows * f.cols;
         t += (int64_t)gridDim.x * blockDim.x) {
        const int64_t i = t / f.cols, j = t % f.cols;
        const uint64_t piece =
            mix(f.seed ^ mix((uint64_t)(i / f.zeros.rows) << 32 ^ (uint64_t)(j / f.zeros.cols)));
        const bool kept = (double)(uint32_t)piece * 0x1p-32 < f.zeros.density;
        f.x[i * f.rs + j * f.cs] = kept ? of_kind(mix(f.seed + 1 + (uint64_t)t), f.kind) : 0.0f;
    }
}

/* An array of NaN, so that what lies between rows is poison. */
float *poisoned(int64_t count)
{
    float *x;
    CUDA_CHECK(cudaMalloc(&x, sizeof(float) * (size_t)(count + 4)));
    CUDA_CHECK(cudaMemset(x, 0xff, sizeof(float) * (size_t)(count + 4)));
    return x;
}

struct Operands {
    lac_cuda_tiles_t p;
    float *a, *b, *c, *before;
    int64_t c_count;
    void *workspace;
};

Operands make(const Case &c)
{
    Operands o = {};
    const int64_t pad = c.padded ? 3 : 0, ars = c.a_by_columns ? 1 : c.k + pad,
                  acs = c.a_by_columns ? c.m + pad : 1;
    const int64_t ldb = (c.n + 3) / 4 * 4 + (c.padded ? 4 : 0);
    const int64_t crs = c.c_by_columns ? 1 : c.n + pad, ccs = c.c_by_columns ? c.m + pad : 1;
    o.c_count = (c.m + pad) * (c.n + pad);
    o.a = poisoned((c.m + pad) * (c.k + pad));
    o.b = poisoned(c.k * ldb);
    o.c = poisoned(o.c_count);
    o.before = poisoned(o.c_count);
    const Pattern all = {1, 1, 2.0};
    fill_matrix<<<1024, 256>>>({o.a, c.m, c.k, ars, acs, c.zeros, c.kind, c.seed});
    const Pattern of_b = {c.zeros.cols, c.zeros.rows, c.zeros.density}; /* what a's would be, transposed */
    fill_matrix<<<1024, 256>>>({o.b, c.k, c.n, ldb, 1, c.seed % 2 ? of_b : all, c.kind, c.seed + 7});
    if (c.beta != 0.0f) fill_matrix<<<1024, 256>>>({o.before, c.m, c.n, crs, ccs, all, c.kind, c.seed + 9});
    const size_t bytes = (size_t)lac_cuda_tiles_bytes(LAC_F32, c.m, c.n, c.k, false);
    CUDA_CHECK(cudaMalloc(&o.workspace, bytes));
    CUDA_CHECK(cudaMemset(o.workspace, 0x5a, bytes));
    o.p = {c.m, c.n, c.k, {nullptr, c.alpha}, o.a, ars, acs, nullptr,
           0,   o.b, ldb, {nullptr, c.beta},  o.c, crs, ccs};
    o.p.portable = kernel == kPortable;
    o.p.form = kernel == kTwoF16 ? LAC_CUDA_FORM_F16 : LAC_CUDA_FORM_BF16;
    CUDA_CHECK(cudaDeviceSynchronize());
    return o;
}

void release(Operands &o)
{
    for (void *x : {(void *)o.a, (void *)o.b, (void *)o.c, (void *)o.before, o.workspace}) cudaFree(x);
}

const char *text(const Case &c)
{
    static char line[256];
    snprintf(line, sizeof line,
             "%s%lldx%lldx%lld a=%s c=%s%s alpha=%g beta=%g zeros=%dx%d-%g kind=%d seed=%llu", kNames[kernel],
             (long long)c.m, (long long)c.k, (long long)c.n, c.a_by_columns ? "cols" : "rows",
             c.c_by_columns ? "cols" : "rows", c.padded ? " padded" : "", c.alpha, c.beta, c.zeros.rows,
             c.zeros.cols, c.zeros.density, c.kind, (unsigned long long)c.seed);
    return line;
}

struct Error {
    double worst, mean;
};

/* The error of out, laid out as p.c, in units of 2^-24 |A||B|; only every step-th row. */
struct Judge {
    lac_cuda_tiles_t p;
    const float *out, *before;
    int step;
    double *each; /* [rows compared][n] */
};

__global__ void judge(Judge g)
{
    const int64_t j = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, i = blockIdx.y * (int64_t)g.step;
    if (j >= g.p.n) return;
    double sum = 0, size = 0;
    for (int64_t k = 0; k < g.p.k; k++) {
        const double x = (double)((const float *)g.p.a)[i * g.p.ars + k * g.p.acs] *
                         (double)((const float *)g.p.b)[k * g.p.ldb + j];
        sum += x, size += fabs(x);
    }
    const int64_t at = i * g.p.crs + j * g.p.ccs;
    const double was = g.p.beta.value == 0.0f ? 0.0 : (double)g.p.beta.value * (double)g.before[at];
    const double e = fabs((double)g.out[at] - (g.p.alpha.value * sum + was)) /
                     (0x1p-24 * (fabs((double)g.p.alpha.value) * size + fabs(was)) + 1e-300);
    g.each[blockIdx.y * g.p.n + j] = e <= 1e30 ? e : 1e30;
}

Error error_of(const lac_cuda_tiles_t &p, const float *out, const float *before, int step)
{
    const int64_t rows = (p.m + step - 1) / step;
    double *each;
    CUDA_CHECK(cudaMalloc(&each, 8 * (size_t)(rows * p.n)));
    judge<<<dim3((unsigned)((p.n + 127) / 128), (unsigned)rows), 128>>>({p, out, before, step, each});
    CUDA_CHECK(cudaGetLastError());
    std::vector<double> all((size_t)(rows * p.n));
    CUDA_CHECK(cudaMemcpy(all.data(), each, 8 * all.size(), cudaMemcpyDeviceToHost));
    cudaFree(each);
    Error e = {0, 0};
    for (double x : all) e.worst = std::max(e.worst, x), e.mean += x / (double)all.size();
    return e;
}

/* The same call in a recording, twice in a row where beta == 0. */
lac_status_t run_captured(const Operands &o)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    lac_status_t status = lac_cuda_tiles_run(&o.p, o.workspace, stream);
    if (status == LAC_OK && o.p.beta.value == 0.0f) status = lac_cuda_tiles_run(&o.p, o.workspace, stream);
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_CHECK(cudaGraphLaunch(exec, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaGraphExecDestroy(exec));
    CUDA_CHECK(cudaGraphDestroy(graph));
    return status;
}

/* In the stream's order: a copy on the default stream is under way when the call returns, and a stream that
 * does not wait for that one would overtake it. */
void copy_before(const Operands &o)
{
    CUDA_CHECK(
        cudaMemcpyAsync(o.c, o.before, sizeof(float) * (size_t)o.c_count, cudaMemcpyDeviceToDevice, stream));
}

void fail_repeat(const Case &c, const std::vector<float> &first, const std::vector<float> &second)
{
    size_t differ = 0, at = 0;
    for (size_t t = 0; t < first.size(); t++)
        if (memcmp(&first[t], &second[t], sizeof first[t]) && !differ++) at = t;
    char what[128];
    snprintf(what, sizeof what, "repeat: %zu of %zu differ, the first at %zu, %.9g and %.9g:", differ,
             first.size(), at, first[at], second[at]);
    fail(what, text(c));
}

/* Runs the product twice, from the same c; the first result is left in `first`. */
bool run_twice(const Case &c, const Operands &o, std::vector<float> &first)
{
    const size_t bytes = sizeof(float) * (size_t)o.c_count;
    std::vector<float> second((size_t)o.c_count);
    first.resize((size_t)o.c_count);
    copy_before(o);
    lac_status_t status = lac_cuda_tiles_run(&o.p, o.workspace, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(first.data(), o.c, bytes, cudaMemcpyDeviceToHost));
    copy_before(o);
    if (status == LAC_OK) status = run_captured(o);
    CUDA_CHECK(cudaMemcpy(second.data(), o.c, bytes, cudaMemcpyDeviceToHost));
    checks++;
    if (status != LAC_OK) fail("status", text(c));
    if (memcmp(first.data(), second.data(), bytes)) fail_repeat(c, first, second);
    return status == LAC_OK;
}

/* a packed beforehand, in as much memory as it takes. */
lac_status_t pack(const Case &c, lac_cuda_tiles_t *p, void *(&packed)[2])
{
    const int64_t any = lac_cuda_tiles_room(c.k);
    int *most, room = 0;
    CUDA_CHECK(cudaMalloc(&most, sizeof *most));
    CUDA_CHECK(cudaMalloc(&packed[0], (size_t)lac_cuda_tiles_packed_bytes(LAC_F32, c.m, c.k, any)));
    lac_status_t status = lac_cuda_tiles_pack(p, any, packed[0], stream);
    if (status == LAC_OK) status = lac_cuda_tiles_max_room(LAC_F32, c.m, c.k, any, packed[0], most, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(&room, most, sizeof room, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(most));
    if (room < 1 || room > any) fail("room", text(c));
    CUDA_CHECK(cudaMalloc(&packed[1], (size_t)lac_cuda_tiles_packed_bytes(LAC_F32, c.m, c.k, room)));
    if (status == LAC_OK) status = lac_cuda_tiles_pack(p, room, packed[1], stream);
    p->packed = packed[1], p->room = room;
    return status;
}

/* With operands packed beforehand the bits are the same. */
void check_packed(const Case &c, const Operands &o, const std::vector<float> &want)
{
    const size_t bytes = sizeof(float) * (size_t)o.c_count;
    std::vector<float> got((size_t)o.c_count);
    lac_cuda_tiles_t p = o.p;
    void *packed[2];
    lac_status_t status = pack(c, &p, packed);
    copy_before(o);
    if (status == LAC_OK) status = lac_cuda_tiles_run(&p, o.workspace, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaMemcpy(got.data(), o.c, bytes, cudaMemcpyDeviceToHost));
    if (status != LAC_OK || memcmp(got.data(), want.data(), bytes)) fail("packed", text(c));
    for (void *x : packed) cudaFree(x);
}

/* What lies between the lines of c is as it was. */
void check_padding(const Case &c, const Operands &o, const std::vector<float> &got)
{
    std::vector<bool> inside(got.size());
    for (int64_t i = 0; i < c.m; i++)
        for (int64_t j = 0; j < c.n; j++) inside[(size_t)(i * o.p.crs + j * o.p.ccs)] = true;
    for (size_t t = 0; t < got.size(); t++)
        if (!inside[t] && !std::isnan(got[t])) return fail("padding", text(c));
}

void check(const Case &c)
{
    Operands o = make(c);
    std::vector<float> got;
    if (run_twice(c, o, got)) {
        const double bound =
            4.0 + std::sqrt((double)c.k); /* a sum of k roundings of either sign, some more */
        const Error e = error_of(o.p, o.c, o.before, 1);
        if (!(e.worst <= bound)) {
            printf("     error %g, mean %g\n", e.worst, e.mean);
            fail("error", text(c));
        }
        check_padding(c, o, got);
        check_packed(c, o, got);
    }
    release(o);
}

void check_shapes(int most)
{
    static const int64_t extents[] = {1, 31, 33, 127, 500, 1000};
    static const Pattern patterns[] = {{1, 1, 2.0},  {1, 1, 0.1},       {32, 8, 0.25},
                                       {32, 1, 0.5}, {1 << 30, 1, 0.1}, {1, 1, 0.0}};
    static const float scalars[][2] = {{1, 0}, {-1.5f, 0}, {1, 1}, {2.25f, -0.5f}};
    int at = 0;
    for (int64_t m : extents)
        for (int64_t n : extents)
            for (int64_t k : extents) {
                const uint64_t r = mix((uint64_t)++at);
                if (at % 7 && at > most) continue;
                const float *s = scalars[r % 4];
                check({m, n, k, (r >> 8) % 2 == 1, (r >> 9) % 2 == 1, (r >> 10) % 2 == 1, s[0], s[1],
                       patterns[(r >> 16) % 6], (int)(r >> 24) % kKinds, (uint64_t)at});
            }
}

/* Plain fp32 multiply-adds, k ascending: what a BLAS without tensor cores does. */
__global__ void plain_product(lac_cuda_tiles_t p, float *out)
{
    const int64_t j = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= p.n) return;
    float sum = 0;
    for (int64_t k = 0; k < p.k; k++)
        sum = fmaf(((const float *)p.a)[i * p.ars + k * p.acs], ((const float *)p.b)[k * p.ldb + j], sum);
    out[i * p.crs + j * p.ccs] = sum;
}

/* At most twice the error of plain multiply-adds, mean and worst, on every kind of data. */
void check_accuracy(int64_t longest)
{
    static const int64_t depths[] = {16, 128, 1024, 4096, 65536};
    for (int64_t k : depths)
        for (int kind = 0; kind < 4 && k <= longest; kind++) {
            const Case c = {128, 512, k, false, false, false, 1, 0, {1, 1, 2.0}, kind, 77};
            Operands o = make(c);
            std::vector<float> got;
            run_twice(c, o, got);
            const int step = k > 10000 ? 8 : 1;
            const Error ours = error_of(o.p, o.c, o.before, step);
            plain_product<<<dim3(4, 128), 128>>>(o.p, o.before);
            const Error plain = error_of(o.p, o.before, o.before, step);
            printf("  k=%-6lld kind %d: mean %.3f, worst %.2f; plain fp32 %.3f, %.2f\n", (long long)k, kind,
                   ours.mean, ours.worst, plain.mean, plain.worst);
            if (!(ours.mean <= 2 * plain.mean) || !(ours.worst <= 2 * plain.worst + 1))
                fail("accuracy", text(c));
            release(o);
        }
}

void put(float *x, int64_t at, float value)
{
    CUDA_CHECK(cudaMemcpy(x + at, &value, sizeof value, cudaMemcpyHostToDevice));
}

/* One special element of either operand; the result is what fp64 rounds to, NaN and Inf included. */
void check_special()
{
    static const float values[] = {INFINITY, -INFINITY, NAN,      3.4028235e38f,
                                   -3.4e38f, 1e-45f,    1.1e-38f, 1e-30f};
    for (int side = 0; side < 2; side++)
        for (float value : values) {
            const Case c = {200, 300, 100, false, false, false, 1, 0, {1, 1, 2.0}, 0, 5};
            Operands o = make(c);
            if (std::fabs(value) < 1) /* alone in its row or column, so that it decides the magnitude */
                CUDA_CHECK(side ? cudaMemset(o.b, 0, sizeof(float) * (size_t)(o.p.ldb * c.k))
                                : cudaMemset(o.a, 0, sizeof(float) * (size_t)(c.m * c.k)));
            side ? put(o.b, 17 * o.p.ldb + 299, value) : put(o.a, 150 * c.k + 99, value);
            std::vector<float> got, a((size_t)(c.m * c.k)), b((size_t)(c.k * o.p.ldb));
            run_twice(c, o, got);
            CUDA_CHECK(cudaMemcpy(a.data(), o.a, 4 * a.size(), cudaMemcpyDeviceToHost));
            CUDA_CHECK(cudaMemcpy(b.data(), o.b, 4 * b.size(), cudaMemcpyDeviceToHost));
            bool good = true;
            for (int64_t i = 0; i < c.m; i++)
                for (int64_t j = 0; j < c.n; j++) {
                    double sum = 0, size = 0;
                    for (int64_t k = 0; k < c.k; k++) {
                        const double x = a[(size_t)(i * c.k + k)], y = b[(size_t)(k * o.p.ldb + j)];
                        if (x != 0.0) sum += x * y, size += std::fabs(x * y);
                    }
                    const float x = got[(size_t)(i * o.p.crs + j)];
                    const bool same = std::isfinite((float)sum)
                                          ? std::fabs((double)x - sum) <= 16 * 0x1p-24 * size + 0x1p-149
                                      : std::isnan(sum) ? std::isnan(x)
                                                        : x == (float)sum;
                    good &= same;
                }
            if (!good) printf("     %g in %s\n", value, side ? "b" : "a"), fail("special", text(c));
            release(o);
        }
}

} // namespace

/* tiles_test [shapes beyond every seventh] [longest k] [only the kernel of this number] */
int main(int argc, char **argv)
{
    if (no_device()) return 77;
    if (!lac_cuda_tiles_here()) {
        printf("skipped: the device has no bf16 tensor cores\n");
        return 77;
    }
    int major = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int each = kWarpgroups; each < kKernels; each++) { /* all that there are */
        if (each != kPortable && major != 9) continue;
        if (argc > 3 && each != atoi(argv[3])) continue;
        kernel = (Kernel)each;
        printf("by the kernel %d %s\n", each, kNames[each]);
        check_shapes(argc > 1 ? atoi(argv[1]) : 1000);
        check_special();
        check_accuracy(argc > 2 ? atoll(argv[2]) : 65536);
    }
    printf("%d products, %d failures\n", checks, failures);
    return failures != 0;
}
