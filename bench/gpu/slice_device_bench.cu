/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times row slices on a device and their gradient, beside memset and scatter, memset alone and cuSPARSE; JSON
 * to a file. Every result is compared with plain kernels first. */
#include <cusparse.h>

#include "cuda_kernels.h"
#include "graph_timing.cuh"

namespace
{

struct Shape {
    int64_t m, n, per_row, count;
    bool repeated; /* rows drawn with repetition, else each once at most */
};

const Shape kShapes[] = {{10000, 10000, 1000, 5000, false}, {10000, 10000, 1000, 5000, true},
                         {10000, 9999, 1000, 5000, false},  {10000, 10000, 100, 5000, false},
                         {10000, 10000, 10, 5000, false},   {100000, 512, 51, 50000, false},
                         {3000, 60000, 3000, 1000, false}};

/* per_row columns of each row, one in each of as many stretches. */
__global__ void fill_csr(Shape s, int64_t *ptr, int32_t *narrow, int32_t *idx)
{
    for (int64_t e = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; e <= s.m * s.per_row;
         e += (int64_t)gridDim.x * blockDim.x) {
        const int64_t q = e % s.per_row, from = q * s.n / s.per_row, to = (q + 1) * s.n / s.per_row;
        if (q == 0) ptr[e / s.per_row] = e, narrow[e / s.per_row] = (int32_t)e;
        if (e < s.m * s.per_row)
            idx[e] = (int32_t)(from + (int64_t)(mix((uint64_t)e) % (uint64_t)(to - from)));
    }
}

__global__ void fill_rows(Shape s, int64_t *rows)
{
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < s.count) rows[i] = s.repeated ? (int64_t)(mix((uint64_t)i) % (uint64_t)s.m) : i * 7919 % s.m;
}

__global__ void scatter(Shape s, const int64_t *rows, const int64_t *ptr, const int32_t *idx,
                        const float *val, float *out)
{
    const int64_t r = rows[blockIdx.x];
    for (int64_t p = ptr[r] + threadIdx.x; p < ptr[r + 1]; p += blockDim.x)
        out[blockIdx.x * s.n + idx[p]] = val[p];
}

/* Reads and writes so many 16-byte pieces, in order, both at the same time: what memory allows. */
__global__ void stream_pieces(int64_t in, int64_t out, const float4 *from, float4 *to)
{
    const int64_t block = blockIdx.x, blocks = gridDim.x;
    float sum = 0;
    for (int64_t x = in * block / blocks + threadIdx.x; x < in * (block + 1) / blocks; x += blockDim.x)
        sum += from[x].x;
    for (int64_t x = out * block / blocks + threadIdx.x; x < out * (block + 1) / blocks; x += blockDim.x)
        __stcs(to + x, make_float4(sum, 0, 0, 0));
}

/* A block per row of the matrix reads the whole list. */
__global__ void plain_gradient(Shape s, const int64_t *rows, const int64_t *ptr, const int32_t *idx,
                               const float *g, float *grad)
{
    const int64_t r = blockIdx.x;
    for (int64_t e = ptr[r] + threadIdx.x; e < ptr[r + 1]; e += blockDim.x) grad[e] = 0.0f;
    bool any = false;
    for (int64_t i = 0; i < s.count; i++) {
        if (rows[i] != r) continue;
        for (int64_t e = ptr[r] + threadIdx.x; e < ptr[r + 1]; e += blockDim.x)
            grad[e] = any ? grad[e] + g[i * s.n + idx[e]] : g[i * s.n + idx[e]];
        any = true;
    }
}

__global__ void count_differences(int64_t rows, int64_t cols, const float *x, const float *y, int64_t rs,
                                  int64_t cs, unsigned *bad)
{
    for (int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; t < rows * cols;
         t += (int64_t)gridDim.x * blockDim.x)
        if (__float_as_uint(x[t]) != __float_as_uint(y[t / cols * rs + t % cols * cs])) atomicAdd(bad, 1u);
}

struct Bench {
    Shape s;
    lac_cuda_slice_t slice;
    int64_t *ptr, *rows;
    int32_t *narrow, *idx;
    float *val, *out, *want, *g, *grad, *want_grad;
    void *workspace;
    FILE *json;
    bool first;
};

template <typename T> T *device(int64_t count)
{
    T *x;
    CUDA_CHECK(cudaMalloc(&x, sizeof(T) * (size_t)count));
    return x;
}

unsigned differences(int64_t rows, int64_t cols, const float *x, const float *y, int64_t rs, int64_t cs)
{
    static unsigned *bad = device<unsigned>(1);
    unsigned found;
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemset(bad, 0, sizeof *bad));
    count_differences<<<1024, 256>>>(rows, cols, x, y, rs, cs, bad);
    CUDA_CHECK(cudaMemcpy(&found, bad, sizeof found, cudaMemcpyDeviceToHost));
    return found;
}

void record(Bench &b, const char *what, double us, double bytes, unsigned wrong)
{
    printf("  %-28s %8.2f us %6.0f GB/s%s\n", what, us, bytes / us * 1e-3, wrong ? " WRONG" : "");
    char name[96];
    snprintf(name, sizeof name, "%lld of %lld x %lld, %lld each%s", (long long)b.s.count, (long long)b.s.m,
             (long long)b.s.n, (long long)b.s.per_row, b.s.repeated ? ", repeated" : "");
    write_time(b.json, b.first, name, what, us);
}

void make(Bench &b)
{
    const Shape &s = b.s;
    const int64_t nnz = s.m * s.per_row;
    b.ptr = device<int64_t>(s.m + 1), b.narrow = device<int32_t>(s.m + 1), b.idx = device<int32_t>(nnz);
    b.rows = device<int64_t>(s.count), b.val = random_device<float>(nnz, 1.0, 3),
    b.g = random_device<float>(s.count * s.n, 1.0, 9);
    b.out = device<float>(s.count * s.n), b.want = device<float>(s.count * s.n);
    b.grad = device<float>(nnz), b.want_grad = device<float>(nnz);
    CUDA_CHECK(cudaMalloc(&b.workspace, (size_t)std::max(lac_cuda_slice_grad_bytes(s.m, s.count),
                                                         lac_cuda_slice_ptr_bytes(s.count) +
                                                             lac_cuda_slice_sum_bytes(s.count))));
    fill_csr<<<1024, 256>>>(s, b.ptr, b.narrow, b.idx);
    fill_rows<<<(unsigned)((s.count + 255) / 256), 256>>>(s, b.rows);
    CUDA_CHECK(cudaMemset(b.want, 0, sizeof(float) * (size_t)(s.count * s.n)));
    scatter<<<(unsigned)s.count, 256>>>(s, b.rows, b.ptr, b.idx, b.val, b.want);
    if (s.count <= 5000) plain_gradient<<<(unsigned)s.m, 128>>>(s, b.rows, b.ptr, b.idx, b.g, b.want_grad);
    CUDA_CHECK(cudaDeviceSynchronize());
    b.slice = {s.m, s.n, s.count, b.rows, true, b.ptr, b.idx, b.val, nullptr, nnz, nullptr};
}

/* The sliced matrix as CSR is converted to a dense one by cuSPARSE; picking the rows is not counted. */
double time_cusparse(const Bench &b, cusparseHandle_t handle)
{
    const Shape &s = b.s;
    cusparseSpMatDescr_t from;
    cusparseDnMatDescr_t to;
    size_t bytes = 0;
    void *space;
    cusparseCreateCsr(&from, s.count, s.n, s.count * s.per_row, b.narrow, b.idx, b.val, CUSPARSE_INDEX_32I,
                      CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseCreateDnMat(&to, s.count, s.n, s.n, b.out, CUDA_R_32F, CUSPARSE_ORDER_ROW);
    cusparseSparseToDense_bufferSize(handle, from, to, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &bytes);
    CUDA_CHECK(cudaMalloc(&space, bytes + 16));
    const double us = time_graph(
        [&](int) {
            return cusparseSparseToDense(handle, from, to, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, space)
                       ? LAC_ERR_VENDOR
                       : LAC_OK;
        },
        4, 1);
    cusparseDestroySpMat(from), cusparseDestroyDnMat(to), cudaFree(space);
    return us;
}

/* From g, which nobody needs any more, to `out`. */
double time_stream(const Bench &b, double in, double out)
{
    const int64_t pieces_in = (int64_t)(in / 16), pieces_out = (int64_t)(out / 16);
    const unsigned blocks = (unsigned)(std::max(pieces_in, pieces_out) / 2560 + 1);
    return time_graph(
        [&](int) {
            stream_pieces<<<blocks, 512, 0, stream>>>(
                pieces_in, pieces_out, (const float4 *)(const void *)b.g, (float4 *)(void *)b.out);
            return LAC_OK;
        },
        4, 1);
}

void bench_slice(Bench &b, cusparseHandle_t handle)
{
    const Shape &s = b.s;
    const size_t dense = sizeof(float) * (size_t)(s.count * s.n);
    const double bytes = (double)dense + 8.0 * (double)(s.count * s.per_row);
    record(b, "memset",
           time_graph([&](int) { return cudaMemsetAsync(b.out, 0, dense, stream) ? LAC_ERR_VENDOR : LAC_OK; },
                      4, 1),
           (double)dense, 0);
    record(b, "slice's bytes in order", time_stream(b, 8.0 * (double)(s.count * s.per_row), (double)dense),
           bytes, 0);
    record(b, "memset and scatter",
           time_graph(
               [&](int) {
                   cudaMemsetAsync(b.out, 0, dense, stream);
                   scatter<<<(unsigned)s.count, 256, 0, stream>>>(s, b.rows, b.ptr, b.idx, b.val, b.out);
                   return LAC_OK;
               },
               4, 1),
           bytes, 0);
    record(b, "cusparse sparse to dense", time_cusparse(b, handle), bytes, 0);
    for (const bool by_columns : {false, true}) {
        const int64_t rs = by_columns ? 1 : s.n, cs = by_columns ? s.count : 1;
        const auto call = [&](int) { return lac_cuda_slice_rows(&b.slice, b.out, rs, cs, stream); };
        CUDA_CHECK(cudaMemset(b.out, 0xff, dense));
        CUDA_CHECK(cudaDeviceSynchronize());
        call(0);
        const unsigned wrong = differences(s.count, s.n, b.want, b.out, rs, cs);
        record(b, by_columns ? "slice by columns" : "slice", time_graph(call, 4, 1), bytes, wrong);
    }
    record(b, "slice to csr",
           time_graph(
               [&](int) {
                   int64_t *ptr = (int64_t *)(void *)b.out;
                   const lac_status_t status =
                       lac_cuda_slice_ptr(&b.slice, true, ptr, nullptr, b.workspace, stream);
                   return status ? status
                                 : lac_cuda_slice_entries(&b.slice, true, ptr, b.g, b.grad, nullptr, stream);
               },
               4, 1),
           20.0 * (double)(s.count * s.per_row), 0);
}

void bench_gradient(Bench &b)
{
    const Shape &s = b.s;
    const double bytes = 4.0 * (double)(s.count * s.n + s.count * s.per_row + s.m * s.per_row);
    const auto call = [&](int) {
        return lac_cuda_slice_grad(&b.slice, b.g, s.n, 1, b.grad, b.workspace, stream);
    };
    CUDA_CHECK(cudaMemset(b.grad, 0xff, sizeof(float) * (size_t)(s.m * s.per_row)));
    CUDA_CHECK(cudaDeviceSynchronize());
    call(0);
    const unsigned wrong =
        s.count <= 5000 ? differences(s.m, s.per_row, b.want_grad, b.grad, s.per_row, 1) : 0;
    record(b, "gradient", time_graph(call, 4, 1), bytes, wrong);
    record(b, "gradient's bytes in order",
           time_stream(b, 4.0 * (double)(s.count * s.n), 4.0 * (double)(s.m * s.per_row)), bytes, 0);
    record(b, "gradient to one value",
           time_graph(
               [&](int) { return lac_cuda_slice_sum(&b.slice, b.g, s.n, 1, b.grad, b.workspace, stream); }, 4,
               1),
           4.0 * (double)(s.count * s.n + s.count * s.per_row), 0);
}

} // namespace

/* slice_device_bench out.json */
int main(int argc, char **argv)
{
    FILE *json = argc > 1 ? fopen(argv[1], "w") : nullptr;
    if (!json) return 2;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cusparseHandle_t handle;
    cusparseCreate(&handle);
    cusparseSetStream(handle, stream);
    write_provenance(json, 0, kOperators);
    bool first = true;
    for (const Shape &s : kShapes) {
        Bench b = {};
        b.s = s, b.json = json, b.first = first;
        make(b);
        printf("%lld of %lld x %lld, %lld per row%s\n", (long long)s.count, (long long)s.m, (long long)s.n,
               (long long)s.per_row, s.repeated ? ", repeated" : "");
        bench_gradient(b);
        bench_slice(b, handle);
        first = b.first;
        for (void *x :
             {(void *)b.ptr, (void *)b.narrow, (void *)b.idx, (void *)b.rows, (void *)b.val, (void *)b.g,
              (void *)b.out, (void *)b.want, (void *)b.grad, (void *)b.want_grad, b.workspace})
            cudaFree(x);
    }
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}
