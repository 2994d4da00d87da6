/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W: the rows of W that the events name are scattered into sums in shared memory. */
#include "gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kRound = kWarps * 128; /* elements or events of S taken at once     */
constexpr int kAhead = 4;            /* rows of W in flight                    */
constexpr int kSums = 32768;         /* columns of out that a block holds at most */
constexpr int kRunEvents = 256;      /* that are added up straight                */
constexpr int kMaxParts = 16;        /* blocks that share a row of S              */
constexpr int kMinSlice = 256;       /* k per block, below which sharing is waste */

/* A row of W that an event names, and the event's value. */
struct alignas(16) Row {
    int64_t begin;
    int count;
    float v;
};

constexpr size_t kFixed =
    (sizeof(Row) + sizeof(Event)) * kRound + sizeof(int) * kWarps; /* shared memory beside the sums */
static_assert(kFixed + sizeof(float) * kSums <= 163 * 1024, "shared memory of an Ampere");

struct PairArgs {
    int m, n, k, parts, slice, sums; /* sums: columns of a block */
    bool runs;                       /* there is room for the totals of runs behind the sums */
    lac_cuda_scalar_t alpha, beta;
    const void *s; /* dense S, or NULL: rows */
    int64_t srs, scs;
    bool quads;
    lac_cuda_csr_t rows, w;
    float *partial; /* [part][row][column]; NULL: the only part writes out */
    float *out;
    int64_t rs, cs;
    lac_cuda_epilogue_t epilogue;
};

__device__ inline void store(const PairArgs &a, int i, int j, float sum, float alpha, float beta)
{
    store_with_epilogue(a.out + i * a.rs + j * a.cs, sum, alpha, beta, a.epilogue, i, j);
}

/* The nonzeros of kRound elements of a row of S from `base` on into the queue, ascending; how many they are.
 */
template <typename T>
__device__ inline int queue_dense(Event *queue, int *counts, const ScanRow<T> &row, int base, int end)
{
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, from = base + 128 * warp;
    T x[4];
    scan_load(x, row, from, end, lane);
    const int mine = (x[0] != T(0)) + (x[1] != T(0)) + (x[2] != T(0)) + (x[3] != T(0));
    const int count = __reduce_add_sync(kFull, mine);
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    int at = 0, all = 0;
    for (int w = 0; w < kWarps; w++) {
        if (w < warp) at += counts[w];
        all += counts[w];
    }
    scan_pack(x, row.quads, from, queue + at, lane);
    return all;
}

/* Finds the entries that the queued events name, all at once. */
__device__ inline void open_rows(Row *rows, const Event *queue, int count, const lac_cuda_csr_t &w)
{
    for (int e = threadIdx.x; e < count; e += kThreads) {
        const int64_t begin = w.ptr[queue[e].k];
        rows[e] = {begin, int(w.ptr[queue[e].k + 1] - begin), queue[e].v};
    }
    __syncthreads();
}

/* sums[column - j0] += v W[k, column] for the opened rows of W, one after the other: the columns of one row
 * are distinct, so that its entries may be added side by side. Each thread has its first entry of the next
 * kAhead rows in flight. */
__device__ inline void scatter(float *sums, const Row *rows, int count, const lac_cuda_csr_t &w, int j0,
                               int j1)
{
    int column[kAhead];
    float value[kAhead];
    const auto load = [&](int e, int &j, float &x) {
        j = -1;
        if (e >= count || (int)threadIdx.x >= rows[e].count) return;
        j = w.idx[rows[e].begin + threadIdx.x];
        x = w.val ? w.val[rows[e].begin + threadIdx.x] : 1.0f;
    };
    const auto add = [&](int j, float v, float x) {
        if (j >= j0 && j < j1) sums[j - j0] = fmaf(v, x, sums[j - j0]);
    };
#pragma unroll
    for (int u = 0; u < kAhead; u++) load(u, column[u], value[u]);
    for (int base = 0; base < count; base += kAhead)
#pragma unroll
        for (int u = 0; u < kAhead; u++) {
            const int e = base + u;
            if (e >= count) break;
            const Row row = rows[e];
            add(column[u], row.v, value[u]);
            load(e + kAhead, column[u], value[u]);
            for (int q = kThreads + threadIdx.x; q < row.count; q += kThreads)
                add(w.idx[row.begin + q], row.v, w.val ? w.val[row.begin + q] : 1.0f);
            __syncthreads();
        }
}

/* Adds the sums of a run to the totals; they begin anew. */
__device__ inline void settle(float *sums, float *totals, int columns)
{
    __syncthreads();
    for (int j = threadIdx.x; j < columns; j += kThreads) totals[j] += sums[j], sums[j] = 0.0f;
    __syncthreads();
}

/* scatter() in runs of at most kRunEvents events, where there is room for totals. run: of the one in turn. */
__device__ inline void add_events(const PairArgs &a, float *sums, float *totals, const Row *rows, int count,
                                  int j0, int j1, int &run)
{
    for (int e = 0; e < count;) {
        if (a.runs && run == kRunEvents) settle(sums, totals, j1 - j0), run = 0;
        const int taken = a.runs ? min(count - e, kRunEvents - run) : count;
        scatter(sums, rows + e, taken, a.w, j0, j1);
        run += taken, e += taken;
    }
}

/* out := beta out + alpha S W, S[m, k] dense with zeros or CSR, W[k, n] as CSR.
 *
 * Mapping   grid (parts of k or of the row's events, rows of S, tiles of columns); the threads of a block
 *           take the entries of one row of W side by side, and the events one after the other.
 * Bytes     S once, 8 per entry of an active row of W and event, out once; the partial sums of a divided
 *           row twice.
 * Order     events ascending, in runs that are added up, parts ascending: no atomics.
 * Limit     latency: one barrier and one trip to memory per event of a block. */
template <typename T>
__global__ __launch_bounds__(kThreads) void event_pair(const __grid_constant__ PairArgs a)
{
    LACUNA_DYNAMIC_SHARED(float4, shared);
    Row *rows = (Row *)shared;
    Event *queue = (Event *)(rows + kRound);
    int *counts = (int *)(queue + kRound);
    float *sums = (float *)(counts + kWarps);
    const int part = blockIdx.x, i = blockIdx.y, j0 = blockIdx.z * a.sums, j1 = min(a.n, j0 + a.sums);
    float *const totals = sums + (a.runs ? min(a.n, a.sums) : 0);
    int run = 0; /* events */
    for (int j = threadIdx.x; j < j1 - j0; j += kThreads) totals[j] = sums[j] = 0.0f;
    if (a.s) {
        const ScanRow<T> row = {(const T *)a.s + i * a.srs, a.scs, a.quads};
        const int end = min(a.k, (part + 1) * a.slice);
        for (int base = part * a.slice; base < end; base += kRound) {
            const int count = queue_dense(queue, counts, row, base, end);
            __syncthreads();
            open_rows(rows, queue, count, a.w);
            add_events(a, sums, totals, rows, count, j0, j1, run);
            __syncthreads();
        }
    } else {
        const int64_t p0 = a.rows.ptr[i], all = a.rows.ptr[i + 1] - p0, share = ceil_div(all, a.parts);
        const int64_t begin = min(all, part * share), end = min(all, begin + share);
        for (int64_t e = begin; e < end; e += kRound) {
            const int count = int(min<int64_t>(kRound, end - e));
            for (int t = threadIdx.x; t < count; t += kThreads)
                queue[t] = {a.rows.idx[p0 + e + t], a.rows.val ? a.rows.val[p0 + e + t] : 1.0f};
            __syncthreads();
            open_rows(rows, queue, count, a.w);
            add_events(a, sums, totals, rows, count, j0, j1, run);
        }
    }
    if (run > 0 && a.runs) settle(sums, totals, j1 - j0);
    __syncthreads();
    if (a.partial) {
        float *to = a.partial + ((int64_t)part * a.m + i) * a.n;
        for (int j = j0 + threadIdx.x; j < j1; j += kThreads) to[j] = totals[j - j0];
        return;
    }
    const float alpha = load_scalar(a.alpha), beta = load_scalar(a.beta);
    for (int j = j0 + threadIdx.x; j < j1; j += kThreads) store(a, i, j, totals[j - j0], alpha, beta);
}

/* Adds the parts of each element. */
__global__ __launch_bounds__(kThreads) void add_parts(const __grid_constant__ PairArgs a)
{
    const float alpha = load_scalar(a.alpha), beta = load_scalar(a.beta);
    const int64_t count = (int64_t)a.m * a.n, step = (int64_t)gridDim.x * kThreads;
    const bool along_row = a.cs <= a.rs;
    for (int64_t t = (int64_t)blockIdx.x * kThreads + threadIdx.x; t < count; t += step) {
        const Cell<int64_t> at = cell_of<int64_t>(t, a.m, a.n, along_row);
        const int i = int(at.row), j = int(at.column);
        float sum = 0;
        for (int part = 0; part < a.parts; part++) sum += a.partial[((int64_t)part * a.m + i) * a.n + j];
        store(a, i, j, sum, alpha, beta);
    }
}

/* Columns of a block, as many as its shared memory has room for. */
int64_t sums_of(const Device &device)
{
    return min<int64_t>(kSums, (device.shared - (int64_t)kFixed) / 4 / kThreads * kThreads);
}

/* How many blocks share a row: enough to give every multiprocessor two. */
int parts_of(int64_t m, int64_t n, int64_t k)
{
    const Device device = current_device();
    const int64_t blocks = m * ceil_div(n, sums_of(device)), wanted = 2 * device.sms;
    const int64_t parts = min<int64_t>(kMaxParts, min(ceil_div(wanted, blocks), ceil_div(k, kMinSlice)));
    return int(max<int64_t>(1, parts));
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_event_pair_bytes(int64_t m, int64_t n, int64_t k)
{
    using namespace lacuna;
    if (m == 0 || n == 0) return 0;
    const int parts = parts_of(m, n, k);
    return parts > 1 ? (int64_t)sizeof(float) * parts * m * n : 0;
}

extern "C" lac_status_t lac_cuda_event_pair(const lac_cuda_product_t *p, const lac_cuda_dense_t *s,
                                            const lac_cuda_csr_t *rows, const lac_cuda_csr_t *w,
                                            void *workspace, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(p->m) || !fits(p->n) || !fits(p->k) || p->m > 65535) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const int parts = parts_of(p->m, p->n, p->k);
    const bool runs = ceil_div(p->k, parts) > kLongestRun; /* else no sum has more terms */
    const int64_t most_sums = sums_of(current_device()),
                  sums = runs && p->n > most_sums / 2 ? most_sums / 2 : most_sums;
    PairArgs a = {};
    a.runs = runs;
    a.m = (int)p->m, a.n = (int)p->n, a.k = (int)p->k, a.parts = parts, a.sums = (int)sums;
    a.slice = (int)round_up(ceil_div(p->k, parts), 4);
    a.alpha = p->alpha, a.beta = p->beta, a.w = *w;
    if (rows) a.rows = *rows;
    a.partial = parts > 1 ? (float *)workspace : nullptr;
    a.out = (float *)p->out, a.rs = p->rs, a.cs = p->cs, a.epilogue = p->epilogue;
    const bool dense = s && s->data;
    if (dense) {
        const size_t element = s->dt == LAC_U8 ? 1 : 4;
        a.s = s->data, a.srs = s->rs, a.scs = s->cs;
        a.quads = s->cs == 1 && p->k % 4 == 0 && s->rs % 4 == 0 && aligned(s->data, 4 * element);
    }
    const int64_t tiles = ceil_div(p->n, sums);
    if (tiles > 65535) return LAC_ERR_EXTENT;
    const Launch l = {dim3(unsigned(parts), unsigned(p->m), unsigned(tiles)),
                      dim3(kThreads),
                      kFixed + sizeof(float) * size_t((runs ? 2 : 1) * min(p->n, sums)),
                      1,
                      false,
                      (cudaStream_t)stream};
    const lac_status_t status =
        dense && s->dt == LAC_U8 ? launch(event_pair<uint8_t>, l, a) : launch(event_pair<float>, l, a);
    if (status != LAC_OK || parts == 1) return status;
    const int64_t blocks = min<int64_t>(ceil_div(p->m * p->n, kThreads), 1 << 16);
    return launch(add_parts, {dim3(unsigned(blocks)), dim3(kThreads), 0, 1, false, (cudaStream_t)stream}, a);
}
