/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Which tiles of a matrix hold a nonzero. */
#include "cuda_support.h"
#include "common/device.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256;
constexpr int kAtOnce = 8; /* elements of a thread in flight */
constexpr int kTilesPerWord = 64;
constexpr int64_t kMostBlocks = 1 << 20;

struct TileBitsArgs {
    const void *x;
    int64_t rows, cols, rs, cs;
    lac_cuda_tiling_t t;
    int64_t words; /* in all */
};

/* The elements under one word: tiles of a row of tiles that follow each other. */
struct Patch {
    int64_t row, col, rows, cols;
};

__device__ inline Patch find_patch(const TileBitsArgs &a, int64_t word)
{
    const int64_t wide = a.t.cols * kTilesPerWord;
    const int64_t row = word / a.t.words * a.t.rows, col = word % a.t.words * wide;
    return {row, col, min(a.t.rows, a.rows - row), min(wide, a.cols - col)};
}

/* The tiles of a patch that a thread finds a nonzero in. Threads stand side by side along what is contiguous,
 * `wide` of them, and in groups along the other extent. */
template <typename T, bool kByRows> __device__ unsigned long long look(const TileBitsArgs &a, const Patch &p)
{
    const T *x = (const T *)a.x + p.row * a.rs + p.col * a.cs;
    const int64_t inner = kByRows ? p.cols : p.rows, outer = kByRows ? p.rows : p.cols;
    const int wide = (int)min<int64_t>(kThreads, round_up(inner, kWarp)), groups = kThreads / wide;
    const int group = threadIdx.x / wide;
    const int64_t fast = kByRows ? a.cs : a.rs, slow = kByRows ? a.rs : a.cs;
    unsigned long long mine = 0;
    if (group >= groups) return mine;
    for (int64_t i = threadIdx.x % wide; i < inner; i += wide) {
        bool any = false;
        for (int64_t o = group; o < outer; o += kAtOnce * groups)
#pragma unroll
            for (int u = 0; u < kAtOnce; u++) {
                const int64_t at = o + u * groups;
                const bool found = at < outer && x[at * slow + i * fast] != T(0);
                if constexpr (kByRows)
                    any |= found;
                else if (found)
                    mine |= 1ull << at / a.t.cols;
            }
        if (any) mine |= 1ull << i / a.t.cols;
    }
    return mine;
}

/* Bit t of word w := whether tile t of the word's holds a nonzero.
 *
 * Mapping   a block per word, and further ones in turn; what its threads find is or-ed in shared memory.
 * Layout    any; read in the order in which it lies, in pieces of a tile's rows where it lies by columns.
 * Bytes     each element once.
 * Order     or, and sums of whole numbers: any order gives the same.
 * Limit     memory: not measured yet. */
template <typename T, bool kByRows>
__global__ __launch_bounds__(kThreads) void tile_bits(const __grid_constant__ TileBitsArgs a)
{
    __shared__ unsigned long long found;
    for (int64_t word = blockIdx.x; word < a.words; word += gridDim.x) {
        if (threadIdx.x == 0) found = 0;
        __syncthreads();
        const unsigned long long mine = look<T, kByRows>(a, find_patch(a, word));
        if (mine) atomicOr(&found, mine);
        __syncthreads();
        if (threadIdx.x) continue;
        a.t.bits[word] = found;
        if (a.t.count) atomicAdd((unsigned long long *)a.t.count, (unsigned long long)__popcll(found));
    }
}

template <typename T> lac_status_t launch_bits(const TileBitsArgs &a, cudaStream_t stream)
{
    const Launch l = {dim3(unsigned(min(a.words, kMostBlocks))), dim3(kThreads), 0, 1, false, stream};
    return llabs(a.cs) <= llabs(a.rs) ? launch(tile_bits<T, true>, l, a) : launch(tile_bits<T, false>, l, a);
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_tile_bits(const lac_cuda_matrix_t *x, const lac_cuda_tiling_t *t,
                                           lac_cuda_stream_t stream)
{
    using namespace lacuna;
    const cudaStream_t q = (cudaStream_t)stream;
    if (t->count && cudaMemsetAsync(t->count, 0, sizeof *t->count, q) != cudaSuccess) return LAC_ERR_VENDOR;
    if (x->rows == 0 || x->cols == 0) return LAC_OK;
    TileBitsArgs a = {x->data, x->rows, x->cols, x->rs, x->cs, *t, 0};
    a.t.rows = min(t->rows, x->rows); /* so that nothing overflows */
    a.t.cols = min(t->cols, x->cols);
    a.words = ceil_div(x->rows, a.t.rows) * t->words;
    return x->dt == LAC_U8 ? launch_bits<uint8_t>(a, q) : launch_bits<float>(a, q);
}
