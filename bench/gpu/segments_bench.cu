/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Times events times a sparse W, the step of a network simulator: by segments, by entries, by counts where W
 * holds ones, and with cuSPARSE in one run (brainevent_events.py adds brainevent's). CUDA graph replays,
 * medians, other events in each call, JSON to a file. */
#include <cusparse.h>

#include <string>

#include "bench_cublas.cuh"

namespace
{

struct Problem {
    int64_t m, neurons, per_row;
    double density;
    bool bytes;
    double target; /* us; 0: none */
};

const Problem kProblems[] = {
    {1, 40000, 1000, 0.01, false, 8},   {1, 40000, 1000, 0.001, false, 5}, {1, 40000, 1000, 0.1, false, 22},
    {10, 40000, 1000, 0.01, false, 40}, {1, 4000, 80, 0.01, false, 3.5},   {1, 400000, 80, 0.002, false, 5},
    {1, 40000, 1000, 0.01, true, 8},    {1, 400000, 80, 0.002, true, 5},   {1, 40000, 80, 0.01, false, 0},
    {4, 100000, 100, 0.005, false, 0},  {1, 40000, 1000, 0.001, true, 5},  {1, 40000, 1000, 0.1, true, 22},
    {10, 40000, 1000, 0.01, true, 40},  {1, 4000, 80, 0.01, true, 3.5},    {1, 40000, 1000, 0.05, false, 0},
    {1, 400000, 80, 0.01, false, 0},    {4, 400000, 80, 0.002, false, 0},
};

/* W: its rows' columns are drawn without order, uniformly. */
struct Weight {
    int64_t k, n, nnz;
    int64_t *ptr;
    int32_t *narrow, *idx; /* ptr as cuSPARSE wants it beside idx */
    float *val;
    lac_cuda_csr_t csr;
};

__device__ double gap(uint64_t seed, int64_t row, int64_t e)
{
    return -log((double)((mix(seed ^ mix((uint64_t)(row * 1000003 + e))) >> 11) + 1) * 0x1p-53);
}

/* A thread a row: gaps of a Poisson process, scaled to the row, and one column between any two. */
__global__ void draw_columns(Weight w, int64_t per_row, uint64_t seed)
{
    const int64_t row = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (row > w.k) return;
    w.ptr[row] = row * per_row, w.narrow[row] = (int32_t)(row * per_row);
    if (row == w.k) return;
    double all = 0, so_far = 0;
    for (int64_t e = 0; e <= per_row; e++) all += gap(seed, row, e);
    for (int64_t e = 0; e < per_row; e++) {
        so_far += gap(seed, row, e);
        const int64_t column = (int64_t)((double)(w.n - per_row) * (so_far / all));
        w.idx[row * per_row + e] = (int32_t)(min((long long)column, (long long)(w.n - per_row)) + e);
    }
}

Weight make_weight(const Problem &q)
{
    Weight w = {};
    w.k = w.n = q.neurons, w.nnz = q.neurons * q.per_row;
    CUDA_CHECK(cudaMalloc(&w.ptr, sizeof(int64_t) * (size_t)(w.k + 1)));
    CUDA_CHECK(cudaMalloc(&w.narrow, sizeof(int32_t) * (size_t)(w.k + 1)));
    CUDA_CHECK(cudaMalloc(&w.idx, sizeof(int32_t) * (size_t)w.nnz));
    w.val = random_device<float>(w.nnz, 1.0, 5);
    draw_columns<<<(unsigned)(w.k / 128 + 1), 128>>>(w, q.per_row, 17);
    CUDA_CHECK(cudaGetLastError());
    w.csr = {w.ptr, w.idx, w.val, w.nnz};
    return w;
}

/* sum and magnitude of each element, by double atomics: a block an element of S. */
template <typename T> __global__ void multiply_fp64(const T *s, Weight w, double *sum, double *magnitude)
{
    const int64_t i = blockIdx.y, k = blockIdx.x;
    const T x = s[i * w.k + k];
    if (x == T(0)) return;
    const double v = sizeof(T) == 1 ? 1.0 : (double)x;
    for (int64_t e = w.ptr[k] + threadIdx.x; e < w.ptr[k + 1]; e += blockDim.x) {
        const double y = w.val ? v * (double)w.val[e] : v;
        atomicAdd(sum + i * w.n + w.idx[e], y);
        atomicAdd(magnitude + i * w.n + w.idx[e], fabs(y));
    }
}

__global__ void compare(const float *out, const double *sum, const double *magnitude, int64_t count,
                        unsigned *err)
{
    const int64_t t = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (t >= count) return;
    double e = fabs((double)out[t] - sum[t]) / (0x1p-24 * magnitude[t] + 1e-37);
    if (!(e <= 1e30)) e = 1e30;
    atomicMax(err, __float_as_uint((float)e));
}

/* The events of a copy as lists, from the same as CSR on the host. */
lac_cuda_event_lists_t make_lists(const Problem &q, const std::vector<int64_t> &ptr,
                                  const std::vector<int32_t> &idx)
{
    std::vector<int32_t> count((size_t)q.m);
    int64_t ld = 1;
    for (size_t i = 0; i < count.size(); i++)
        count[i] = (int32_t)(ptr[i + 1] - ptr[i]), ld = std::max(ld, ptr[i + 1] - ptr[i]);
    std::vector<int32_t> lists((size_t)(q.m * ld));
    for (size_t i = 0; i < count.size(); i++)
        std::copy(idx.begin() + ptr[i], idx.begin() + ptr[i + 1], lists.begin() + (int64_t)i * ld);
    int32_t *didx, *dcount;
    CUDA_CHECK(cudaMalloc(&didx, 4 * lists.size()));
    CUDA_CHECK(cudaMalloc(&dcount, 4 * count.size()));
    CUDA_CHECK(cudaMemcpy(didx, lists.data(), 4 * lists.size(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dcount, count.data(), 4 * count.size(), cudaMemcpyHostToDevice));
    return {didx, dcount, ld, 0, q.density};
}

int64_t words_of(int64_t neurons)
{
    return (neurons + 63) / 64 * 2;
}

/* Everything of one problem. */
struct Bench {
    Problem q;
    Weight w;
    std::vector<void *> s;                     /* one vector of events for each copy */
    std::vector<lac_cuda_csr_t> given;         /* the same as CSR, and                */
    std::vector<uint32_t *> bits;              /* as bits, and                        */
    std::vector<lac_cuda_event_lists_t> lists; /* as lists                    */
    lac_cuda_product_t p;
    float *out;
    void *space;
    double *sum, *magnitude; /* of the first copy */
    unsigned *err;
    std::string name;

    lac_cuda_dense_t dense(int copy) const
    {
        return {q.bytes ? LAC_U8 : LAC_F32, s[(size_t)copy], q.neurons, 1, q.density};
    }
    lac_cuda_event_bits_t as_bits(int copy) const
    {
        return {bits[(size_t)copy], words_of(q.neurons), 0, q.density};
    }
};

/* The events of a copy as CSR, and as lists. */
template <typename T> lac_cuda_csr_t list_events(const T *s, const Problem &q, lac_cuda_event_lists_t &lists)
{
    std::vector<T> all((size_t)(q.m * q.neurons));
    std::vector<int64_t> ptr(1, 0);
    std::vector<int32_t> idx;
    std::vector<float> val;
    CUDA_CHECK(cudaMemcpy(all.data(), s, sizeof(T) * all.size(), cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < q.m; i++) {
        for (int64_t k = 0; k < q.neurons; k++)
            if (const T x = all[(size_t)(i * q.neurons + k)]; x != T(0))
                idx.push_back((int32_t)k), val.push_back(sizeof(T) == 1 ? 1.0f : (float)x);
        ptr.push_back((int64_t)idx.size());
    }
    int64_t *dptr;
    int32_t *didx;
    float *dval;
    CUDA_CHECK(cudaMalloc(&dptr, 8 * ptr.size()));
    CUDA_CHECK(cudaMalloc(&didx, 4 * idx.size() + 4));
    CUDA_CHECK(cudaMalloc(&dval, 4 * val.size() + 4));
    CUDA_CHECK(cudaMemcpy(dptr, ptr.data(), 8 * ptr.size(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(didx, idx.data(), 4 * idx.size(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dval, val.data(), 4 * val.size(), cudaMemcpyHostToDevice));
    lists = make_lists(q, ptr, idx);
    return {dptr, didx, dval, (int64_t)idx.size()};
}

/* The same as bits. */
template <typename T> uint32_t *pack_events(const T *s, const Problem &q)
{
    const int64_t words = words_of(q.neurons);
    std::vector<T> all((size_t)(q.m * q.neurons));
    std::vector<uint32_t> bits((size_t)(q.m * words));
    uint32_t *packed;
    CUDA_CHECK(cudaMemcpy(all.data(), s, sizeof(T) * all.size(), cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < q.m; i++)
        for (int64_t k = 0; k < q.neurons; k++)
            bits[(size_t)(i * words + k / 32)] |= (uint32_t)(all[(size_t)(i * q.neurons + k)] != T(0))
                                                  << (k % 32);
    CUDA_CHECK(cudaMalloc(&packed, 4 * bits.size()));
    CUDA_CHECK(cudaMemcpy(packed, bits.data(), 4 * bits.size(), cudaMemcpyHostToDevice));
    return packed;
}

/* sum and magnitude of the first copy. */
template <typename T> void sum_events(const Bench &b, const Weight &w)
{
    const size_t bytes = sizeof(double) * (size_t)(b.q.m * b.q.neurons);
    CUDA_CHECK(cudaMemset(b.sum, 0, bytes));
    CUDA_CHECK(cudaMemset(b.magnitude, 0, bytes));
    multiply_fp64<<<dim3((unsigned)b.q.neurons, (unsigned)b.q.m), 128>>>((const T *)b.s[0], w, b.sum,
                                                                         b.magnitude);
    CUDA_CHECK(cudaDeviceSynchronize());
}

/* So many vectors of events that what they touch of W passes the last-level cache. */
template <typename T> void make_events(Bench &b)
{
    const Problem &q = b.q;
    const double touched = 8.0 * q.density * (double)(q.m * q.neurons * q.per_row);
    const int copies = (int)std::max(2.0, std::min(24.0, 1 + 120e6 / touched));
    for (int c = 0; c < copies; c++) {
        T *s = random_device<T>(q.m * q.neurons, q.density, 100 + (uint64_t)c);
        b.s.push_back(s);
        b.lists.emplace_back();
        b.given.push_back(list_events(s, q, b.lists.back()));
        b.bits.push_back(pack_events(s, q));
    }
    sum_events<T>(b, b.w);
}

Bench make(const Problem &q)
{
    Bench b = {};
    b.q = q, b.w = make_weight(q);
    char name[96];
    snprintf(name, sizeof name, "%lldx%lld:%lld-a-row:%g%%%s", (long long)q.m, (long long)q.neurons,
             (long long)q.per_row, 100 * q.density, q.bytes ? ":u8" : "");
    b.name = name;
    const size_t count = (size_t)(q.m * q.neurons);
    CUDA_CHECK(cudaMalloc(&b.out, sizeof(float) * count));
    CUDA_CHECK(cudaMalloc(&b.sum, sizeof(double) * count));
    CUDA_CHECK(cudaMalloc(&b.magnitude, sizeof(double) * count));
    CUDA_CHECK(cudaMalloc(&b.err, 4));
    const int64_t bytes = std::max(lac_cuda_event_pair_bytes(q.m, q.neurons, q.neurons),
                                   lac_cuda_event_segments_bytes(q.m, q.neurons));
    CUDA_CHECK(cudaMalloc(&b.space, (size_t)bytes + 16));
    b.p = {q.m,           q.neurons,       q.neurons, {nullptr, 1.0f}, nullptr, 0,
           LAC_CUDA_ROWS, {nullptr, 0.0f}, b.out,     q.neurons,       1,       {}};
    if (q.bytes)
        make_events<uint8_t>(b);
    else
        make_events<float>(b);
    return b;
}

void release(Bench &b)
{
    for (void *x : b.s) cudaFree(x);
    for (uint32_t *x : b.bits) cudaFree(x);
    for (const lac_cuda_event_lists_t &l : b.lists) cudaFree((void *)l.idx), cudaFree((void *)l.count);
    for (const lac_cuda_csr_t &g : b.given)
        cudaFree((void *)g.ptr), cudaFree((void *)g.idx), cudaFree((void *)g.val);
    for (void *x : {(void *)b.w.ptr, (void *)b.w.narrow, (void *)b.w.idx, (void *)b.w.val, (void *)b.out,
                    b.space, (void *)b.sum, (void *)b.magnitude, (void *)b.err})
        cudaFree(x);
}

float error_of(const Bench &b, const Call &call)
{
    const int64_t count = b.q.m * b.q.neurons;
    float e;
    CUDA_CHECK(cudaMemsetAsync(b.err, 0, 4, stream));
    for (int times = 0; times < 2; times++) { /* the second knows what the first has met */
        CUDA_CHECK(cudaMemsetAsync(b.out, 0xff, sizeof(float) * (size_t)count, stream));
        if (call(0) != LAC_OK) {
            cudaGetLastError();
            return -1;
        }
        compare<<<(unsigned)((count + 127) / 128), 128, 0, stream>>>(b.out, b.sum, b.magnitude, count, b.err);
    }
    CUDA_CHECK(cudaMemcpyAsync(&e, b.err, 4, cudaMemcpyDeviceToHost, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    return e;
}

FILE *json;
bool first_record = true;

double report(const Bench &b, const char *route, const Call &call)
{
    const int copies = (int)b.s.size();
    const float e = error_of(b, call);
    const double us = e < 0 ? -1 : time_graph(call, std::max(12, copies), copies);
    write_time(json, first_record, b.name.c_str(), route, us);
    printf("  %-36s %9.2f us  error %.2f%s%s\n", route, us, e,
           b.q.target > 0 && us > 0 && us <= b.q.target ? "  reached" : "",
           !(e >= 0 && e <= 12) ? "  WRONG OR REFUSED" : "");
    fflush(stdout), fflush(json);
    return us;
}

/* W transposed times the events: a vector, or a matrix that lies as S does. */
void time_cusparse(const Bench &b, cusparseHandle_t handle)
{
    if (b.q.bytes) return;
    const float one = 1, zero = 0;
    const int64_t n = b.q.neurons, m = b.q.m;
    cusparseSpMatDescr_t w;
    cusparseCreateCsr(&w, n, n, b.w.nnz, b.w.narrow, b.w.idx, b.w.val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                      CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    const cusparseOperation_t across = CUSPARSE_OPERATION_TRANSPOSE, plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const auto ok = [](cusparseStatus_t st) {
        return st == CUSPARSE_STATUS_SUCCESS ? LAC_OK : LAC_ERR_VENDOR;
    };
    size_t bytes = 0;
    void *space;
    if (m == 1) {
        cusparseDnVecDescr_t x, y;
        cusparseCreateDnVec(&x, n, b.s[0], CUDA_R_32F), cusparseCreateDnVec(&y, n, b.out, CUDA_R_32F);
        const auto alg = CUSPARSE_SPMV_ALG_DEFAULT;
        cusparseSpMV_bufferSize(handle, across, &one, w, x, &zero, y, CUDA_R_32F, alg, &bytes);
        CUDA_CHECK(cudaMalloc(&space, bytes + 16));
        report(b, "cusparse spmv", [&](int c) {
            cusparseDnVecSetValues(x, b.s[(size_t)c]);
            return ok(cusparseSpMV(handle, across, &one, w, x, &zero, y, CUDA_R_32F, alg, space));
        });
        cusparseDestroyDnVec(x), cusparseDestroyDnVec(y);
    } else {
        cusparseDnMatDescr_t x, y;
        cusparseCreateDnMat(&x, n, m, n, b.s[0], CUDA_R_32F, CUSPARSE_ORDER_COL);
        cusparseCreateDnMat(&y, n, m, n, b.out, CUDA_R_32F, CUSPARSE_ORDER_COL);
        const auto alg = CUSPARSE_SPMM_ALG_DEFAULT;
        cusparseSpMM_bufferSize(handle, across, plain, &one, w, x, &zero, y, CUDA_R_32F, alg, &bytes);
        CUDA_CHECK(cudaMalloc(&space, bytes + 16));
        report(b, "cusparse spmm", [&](int c) {
            cusparseDnMatSetValues(x, b.s[(size_t)c]);
            return ok(cusparseSpMM(handle, across, plain, &one, w, x, &zero, y, CUDA_R_32F, alg, space));
        });
        cusparseDestroyDnMat(x), cusparseDestroyDnMat(y);
    }
    cusparseDestroySpMat(w), cudaFree(space);
}

/* By segments of one width, cut in one way. */
Call by_segments(const Bench &b, const lac_cuda_segments_t &segments, const lac_cuda_segments_cut_t *cut,
                 bool given)
{
    return [&b, &segments, cut, given](int c) {
        const lac_cuda_dense_t dense = b.dense(c);
        const lac_cuda_event_source_t source = {given ? nullptr : &dense, nullptr,
                                                given ? &b.given[(size_t)c] : nullptr, nullptr, nullptr};
        return lac_cuda_event_segments(&b.p, &source, &b.w.csr, &segments, cut, b.space, stream);
    };
}

/* Ways to cut the launch, from which the defaults are chosen: the best eight. */
void sweep(const Bench &b, const lac_cuda_segments_t &segments, bool given)
{
    struct Tried {
        double us;
        lac_cuda_segments_cut_t cut;
    };
    std::vector<Tried> tried;
    const auto time = [&](const lac_cuda_segments_cut_t &cut) {
        const int copies = (int)b.s.size();
        const Call call = by_segments(b, segments, &cut, given);
        if (call(0) != LAC_OK) {
            cudaGetLastError();
            return;
        }
        const double us = time_graph(call, std::max(6, copies / 2), copies);
        if (us > 0) tried.push_back({us, cut});
    };
    for (const int warps : {8, 16})
        for (const int lanes : {4, 8, 16, 32})
            for (const int span : {1, 2, 3, 4, 5, 6, 8})
                for (const int copies : {0, 2, 16})
                    for (int cluster = 1; cluster <= 8; cluster *= 2)
                        time({warps, lanes, span, copies, cluster, 0, -1, false});
    std::sort(tried.begin(), tried.end(), [](const Tried &x, const Tried &y) { return x.us < y.us; });
    for (size_t i = 0; i < tried.size() && i < 8; i++) {
        const lac_cuda_segments_cut_t &t = tried[i].cut;
        char route[96];
        snprintf(route, sizeof route, "%swarps %d lanes %d span %d copies %d cluster %d bits %d",
                 given ? "given, " : "", t.warps, t.lanes, t.span, t.copies, t.cluster, t.bits);
        printf("    %8.2f us  %s\n", tried[i].us, route);
        write_time(json, first_record, b.name.c_str(), route, tried[i].us);
    }
    fflush(stdout);
}

/* Weights of 1, and events of 1: bits that meet them are counted. */
void time_ones(const Bench &b, const lac_cuda_segments_t &segments)
{
    Weight ones = b.w;
    ones.val = nullptr, ones.csr.val = nullptr;
    sum_events<uint8_t>(b, ones);
    if (segments.width > 0)
        report(b, "ones: segments, bits given", [&](int c) {
            const lac_cuda_event_bits_t bits = b.as_bits(c);
            const lac_cuda_event_source_t source = {nullptr, nullptr, nullptr, nullptr, &bits};
            return lac_cuda_event_segments(&b.p, &source, &ones.csr, &segments, nullptr, b.space, stream);
        });
    report(b, "ones: counts, bits given", [&](int c) {
        const lac_cuda_event_bits_t bits = b.as_bits(c);
        return lac_cuda_event_counts(&b.p, &bits, &ones.csr, b.q.per_row, 0, stream);
    });
    report(b, "ones: counts by row pointers", [&](int c) {
        const lac_cuda_event_bits_t bits = b.as_bits(c);
        return lac_cuda_event_counts(&b.p, &bits, &ones.csr, 0, 0, stream);
    });
}

void run_problem(const Problem &q, cusparseHandle_t handle, bool swept)
{
    Bench b = make(q);
    const int64_t width = lac_cuda_segments_width(q.neurons, q.neurons, b.w.nnz);
    printf("%s: %d copies, width %lld, pointers %.1f MB beside %.1f MB", b.name.c_str(), (int)b.s.size(),
           (long long)width, (double)(width ? lac_cuda_segments_bytes(q.neurons, q.neurons, width) : 0) / 1e6,
           8e-6 * (double)b.w.nnz);
    printf(q.target > 0 ? ", target %.1f us\n" : "\n", q.target);
    uint16_t *first;
    CUDA_CHECK(cudaMalloc(&first, (size_t)1 << 28));
    const lac_cuda_segments_t segments = {q.neurons, width, first};
    report(b, "entries", [&](int c) {
        const lac_cuda_dense_t dense = b.dense(c);
        return lac_cuda_event_pair(&b.p, &dense, nullptr, &b.w.csr, b.space, stream);
    });
    if (width > 0) {
        const Call prepare = [&](int) {
            return lac_cuda_segment_pointers(q.neurons, q.neurons, width, &b.w.csr, first, stream);
        };
        if (prepare(0) != LAC_OK) exit(2);
        report(b, "segments", by_segments(b, segments, nullptr, false));
        const lac_cuda_segments_cut_t scanned = {0, 0, 0, 0, 0, -1, -1, false},
                                      bits = {0, 0, 0, 0, 0, 1, -1, false};
        report(b, "segments, S scanned", by_segments(b, segments, &scanned, false));
        report(b, "segments, S as bits", by_segments(b, segments, &bits, false));
        report(b, "segments, events given", by_segments(b, segments, nullptr, true));
        lac_cuda_segments_cut_t terms = {}, alone = {};
        terms.terms = 1, alone.terms = -1;
        report(b, "terms", by_segments(b, segments, &terms, false));
        report(b, "terms, events given", by_segments(b, segments, &terms, true));
        report(b, "segments alone", by_segments(b, segments, &alone, false));
        report(b, "segments alone, events given", by_segments(b, segments, &alone, true));
        if (q.bytes) { /* bits are ones */
            const auto by_bits = [&](const lac_cuda_segments_cut_t *how) {
                return [&b, &segments, how](int c) {
                    const lac_cuda_event_bits_t given = b.as_bits(c);
                    const lac_cuda_event_source_t source = {nullptr, nullptr, nullptr, nullptr, &given};
                    return lac_cuda_event_segments(&b.p, &source, &b.w.csr, &segments, how, b.space, stream);
                };
            };
            const auto by_lists = [&](int c) {
                const lac_cuda_event_source_t source = {nullptr, nullptr, nullptr, &b.lists[(size_t)c],
                                                        nullptr};
                return lac_cuda_event_segments(&b.p, &source, &b.w.csr, &segments, nullptr, b.space, stream);
            };
            report(b, "segments, lists given", by_lists);
            report(b, "segments, bits given", by_bits(nullptr));
            report(b, "terms, bits given", by_bits(&terms));
            report(b, "segments alone, bits given", by_bits(&alone));
        }
        const double us = time_graph(prepare, 3, 1);
        write_time(json, first_record, b.name.c_str(), "making segment pointers", us);
        printf("  %-36s %9.2f us\n", "making segment pointers", us);
        if (swept) sweep(b, segments, true), sweep(b, segments, false);
    }
    time_cusparse(b, handle);
    if (q.bytes) time_ones(b, segments);
    cudaFree(first);
    release(b);
}

} // namespace

/* segments_bench out.json [sweep|quick] [first problem] [last problem] */
int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    const bool swept = argc > 2 && std::string(argv[2]) == "sweep";
    const size_t begin = argc > 3 ? (size_t)atoi(argv[3]) : 0, end = argc > 4 ? (size_t)atoi(argv[4]) : 99;
    int version = 0;
    cusparseHandle_t handle;
    open_cublas(&version);
    cusparseCreate(&handle), cusparseSetStream(handle, stream);
    json = fopen(argv[1], "w");
    if (!json) return 2;
    write_provenance(json, version, kOperators);
    for (size_t i = begin; i < std::size(kProblems) && i <= end; i++)
        run_problem(kProblems[i], handle, swept);
    fprintf(json, "\n]}\n");
    fclose(json);
    return 0;
}
