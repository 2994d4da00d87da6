/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One sparse format from another: compressed rows into compressed columns, a bitmask into compressed rows. */
#include "cuda_support.h"
#include "common/sort_pairs.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

/* What travels with an entry while the entries are sorted. */
struct alignas(8) Entry {
    int major;
    float val;
};

struct CscArgs {
    int64_t majors, minors, nnz, words;
    const int64_t *from_ptr;
    const float *from_val;
    const uint64_t *bits;
    Entry *entry;
    const int32_t *key; /* minors, ascending */
    int64_t *ptr;
    int32_t *idx;
    float *val;
};

/* A warp per major. */
__global__ __launch_bounds__(kThreads) void pack_entries(const CscArgs a)
{
    const int lane = threadIdx.x % kWarp;
    for (int64_t i = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp; i < a.majors;
         i += (int64_t)gridDim.x * kWarps)
        for (int64_t p = a.from_ptr[i] + lane; p < a.from_ptr[i + 1]; p += kWarp)
            a.entry[p] = {(int)i, a.from_val ? a.from_val[p] : 1.0f};
}

/* ptr[c] is the first entry whose minor is c or more. */
__global__ __launch_bounds__(kThreads) void unpack_entries(const CscArgs a)
{
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t p = (int64_t)blockIdx.x * kThreads + threadIdx.x; p <= a.nnz; p += step) {
        const int64_t before = p == 0 ? -1 : a.key[p - 1], here = p == a.nnz ? a.minors : a.key[p];
        for (int64_t c = before + 1; c <= here; c++) a.ptr[c] = p;
        if (p == a.nnz) continue;
        a.idx[p] = a.entry[p].major;
        if (a.val) a.val[p] = a.entry[p].val;
    }
}

/* A warp per row of bits. */
__global__ __launch_bounds__(kThreads) void list_bits(const CscArgs a)
{
    const int lane = threadIdx.x % kWarp;
    for (int64_t i = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp; i < a.majors;
         i += (int64_t)gridDim.x * kWarps) {
        int64_t at = a.from_ptr[i];
        if (lane == 0) a.ptr[i] = at;
        const unsigned *half = (const unsigned *)(a.bits + i * a.words);
        for (int64_t h = 0; h < 2 * a.words; h++) {
            const unsigned set = half[h];
            if (set >> lane & 1) a.idx[at + __popc(set & lanes_below(lane))] = (int)(32 * h + lane);
            at += __popc(set);
        }
        if (lane == 0 && i + 1 == a.majors) a.ptr[a.majors] = at;
    }
}

} // namespace
} // namespace lacuna

extern "C" int64_t lac_cuda_csr_to_csc_bytes(int64_t minors, int64_t nnz)
{
    using namespace lacuna;
    const int64_t entries = round_up((int64_t)sizeof(Entry) * nnz, 256), keys = round_up(4 * nnz, 256);
    return 2 * entries + keys + round_up((int64_t)PairSort<Entry>{nnz, minors}.bytes(), 256);
}

extern "C" lac_status_t lac_cuda_csr_to_csc(int64_t majors, int64_t minors, const lac_cuda_csr_t *from,
                                            int64_t *ptr, int32_t *idx, float *val, void *workspace,
                                            lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(majors) || !fits(minors)) return LAC_ERR_EXTENT;
    const int64_t nnz = from->nnz, entries = round_up((int64_t)sizeof(Entry) * nnz, 256);
    char *at = (char *)workspace;
    Entry *packed = (Entry *)at, *sorted = (Entry *)(at + entries);
    int32_t *keys = (int32_t *)(at + 2 * entries);
    void *temporary = at + 2 * entries + round_up(4 * nnz, 256);
    CscArgs a = {majors, minors, nnz, 0, from->ptr, from->val, nullptr, packed, keys, ptr, idx, val};
    lac_status_t status = launch(pack_entries, grid_stride(ceil_div(majors, kWarps), kThreads, stream), a);
    if (status == LAC_OK && nnz > 0)
        status = PairSort<Entry>{nnz, minors}.run(temporary, from->idx, keys, packed, sorted,
                                                  (cudaStream_t)stream);
    if (status != LAC_OK) return status;
    a.entry = sorted;
    return launch(unpack_entries, grid_stride(ceil_div(nnz + 1, kThreads), kThreads, stream), a);
}

extern "C" lac_status_t lac_cuda_list_bits(int64_t majors, int64_t minors, const lac_cuda_bits_t *from,
                                           int64_t *ptr, int32_t *idx, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!fits(majors) || !fits(minors)) return LAC_ERR_EXTENT;
    if (majors == 0)
        return cudaMemsetAsync(ptr, 0, sizeof *ptr, (cudaStream_t)stream) == cudaSuccess ? LAC_OK
                                                                                         : LAC_ERR_VENDOR;
    CscArgs a = {};
    a.majors = majors, a.minors = minors, a.words = from->words;
    a.from_ptr = from->first, a.bits = from->bits, a.ptr = ptr, a.idx = idx;
    return launch(list_bits, grid_stride(ceil_div(majors, kWarps), kThreads, stream), a);
}
