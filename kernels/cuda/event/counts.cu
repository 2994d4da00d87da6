/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Events times a sparse W whose entries are all 1: how many of a row's events reach each column. Sums of
 * ones are exact, so that they may be added in any order. */
#include "gather.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kAtOnce = 4;                     /* entries of a lane in flight        */
constexpr int kPart = kAtOnce * kWarp;         /* entries of a row that a warp takes */
constexpr int kMaxParts = 64;                  /* blocks that share its rows          */
constexpr int kBlocksEach = 8;                 /* blocks a multiprocessor            */
constexpr int64_t kMaxEvents = 1 << 24;        /* ones that a float counts           */
constexpr int64_t kRowsAtOnce = (1 << 16) - 1; /* grid.y                             */

struct CountArgs {
    int64_t k, n, rs;
    float *out;
    lac_cuda_event_bits_t bits;
    const int64_t *ptr;
    const int32_t *idx;
    int64_t each; /* entries of each row; 0: as ptr says */
    int words;    /* of a warp */
    bool late;    /* lac_cuda_segments_cut_t.late */
};

/* out[i][:] := 0, 16 bytes a thread where they are aligned.
 * Whoever comes next may begin once all blocks know that what was before them has ended. */
__global__ __launch_bounds__(kThreads) void counts_begin(const __grid_constant__ CountArgs a)
{
    if (!a.late) dependency_wait();
    dependents_launch();
    float *row = a.out + blockIdx.y * a.rs;
    const int64_t step = (int64_t)gridDim.x * kThreads, first = (int64_t)blockIdx.x * kThreads + threadIdx.x;
    const int64_t head = min<int64_t>((16 - (uintptr_t)row % 16) % 16 / sizeof(float), a.n);
    const int64_t fours = (a.n - head) / 4;
    for (int64_t t = first; t < fours; t += step) ((float4 *)(row + head))[t] = make_float4(0, 0, 0, 0);
    if (first < head) row[first] = 0.0f;
    const int64_t tail = head + 4 * fours + first;
    if (tail < a.n) row[tail] = 0.0f; /* fewer than a block has threads */
    if (a.late) dependency_wait();    /* who waits for this kernel waits for the one before */
}

/* out[i, j] += the number of row i's events that have an entry in column j.
 *
 * Mapping   a warp to some words of S's bits, whose events it takes one after the other; grid.y rows of S,
 *           grid.z parts of long rows of W.
 * Bytes     an eighth for each element of S and part, 4 for each entry, and of each a sector of out, in the
 *           second cache; 16 for each event's pointers where rows are not of one length.
 * Order     none is needed: sums of ones are exact.
 * Limit     latency: bits, entries, sums. The bits and a warp's first entries are on their way before out is
 *           0. */
__global__ __launch_bounds__(kThreads) void counts_add(const __grid_constant__ CountArgs a)
{
    dependents_launch();
    const int lane = threadIdx.x % kWarp;
    const int64_t warp = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp;
    const int64_t word = warp * a.words + lane;
    uint32_t left = lane < a.words ? event_word(a.bits, blockIdx.y, word, a.k) : 0u;
    float *row = a.out + blockIdx.y * a.rs;
    for (unsigned some; (some = __ballot_sync(kFull, left != 0)) != 0;) {
        const int holder = __ffs((int)some) - 1, bit = __ffs((int)__shfl_sync(kFull, left, holder)) - 1;
        if (lane == holder) left &= left - 1;
        const int64_t k = 32 * (warp * a.words + holder) + bit;
        const int64_t begin = a.each ? k * a.each : a.ptr[k], end = a.each ? begin + a.each : a.ptr[k + 1];
        for (int64_t from = begin + (int64_t)blockIdx.z * kPart; from < end;
             from += (int64_t)gridDim.z * kPart) {
            int column[kAtOnce];
#pragma unroll
            for (int u = 0; u < kAtOnce; u++) {
                const int64_t e = from + u * kWarp + lane;
                column[u] = load_if(e < end, a.idx + e, -1);
            }
            dependency_wait(); /* out is 0 */
#pragma unroll
            for (int u = 0; u < kAtOnce; u++)
                if (column[u] >= 0) atomicAdd(row + column[u], 1.0f);
        }
    }
    dependency_wait(); /* who waits for this kernel waits for the one before */
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_event_counts(const lac_cuda_product_t *p, const lac_cuda_event_bits_t *bits,
                                              const lac_cuda_csr_t *w, int64_t each, bool late,
                                              lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(p->m) || !fits(p->n) || p->k > kMaxEvents || p->m > kRowsAtOnce) return LAC_ERR_EXTENT;
    if (p->m == 0 || p->n == 0) return LAC_OK;
    const Device device = current_device();
    CountArgs a = {p->k, p->n, p->rs, (float *)p->out, *bits, w->ptr, w->idx, each, 1, false};
    a.late = late;
    const int64_t mean = w->nnz / max<int64_t>(1, p->k), words = max<int64_t>(1, ceil_div(p->k, 32));
    const int64_t parts = max<int64_t>(1, min<int64_t>(kMaxParts, ceil_div(mean, kPart)));
    const int64_t room = max<int64_t>(1, (int64_t)kBlocksEach * device.sms / (p->m * parts));
    a.words = (int)min<int64_t>(kWarp, ceil_div(words, room * kWarps));
    const auto launch_blocks = [&](void (*kernel)(CountArgs), int64_t blocks, int64_t depth) {
        const dim3 grid((unsigned)blocks, (unsigned)p->m, (unsigned)depth);
        return launch(kernel, {grid, dim3(kThreads), 0, 1, true, (cudaStream_t)stream}, a);
    };
    const int64_t clearing = min<int64_t>(ceil_div(p->n, 4 * kThreads), 8 * device.sms);
    const lac_status_t status = launch_blocks(counts_begin, clearing, 1);
    return status != LAC_OK ? status
                            : launch_blocks(counts_add, ceil_div(words, (int64_t)a.words * kWarps), parts);
}
