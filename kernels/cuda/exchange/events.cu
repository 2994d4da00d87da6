/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The exchange of events between ranks: columns to bits, bits of all ranks to bytes, and both in one launch
 * by stores into the other devices' memory.
 *
 *   pack      words[i][w] bit b = x[i][32 w + b] != 0            a warp makes a word by a ballot
 *   unpack    out[i][first_r + 32 w + b] = that bit              a warp writes 32 bytes
 *   exchange  a warp makes a word, its lanes store it to a rank each; then it waits for words of the others
 *
 * Bytes: rows x columns of f32 (or u8) read, an eighth of a byte each sent to each rank, one byte each
 * written. 20000 columns are 2.5 KB of bits: it is latency that counts, that of a store to another device's
 * memory and of a load from one's own. The word and the exchange's number are 8 bytes stored at once, so that
 * no fence stands between data and flag (NCCL's protocol LL; Z. Hu et al., Demystifying NCCL, 2025). The
 * result does not depend on any order.
 *
 * Blocks of the exchange wait for other devices' blocks, which send all that they have to send before they
 * wait: no device needs more blocks at once than it holds, so the grid is at most one block to a
 * multiprocessor. */
#include "cuda_support.h"
#include "common/device.cuh"

namespace lacuna
{
namespace
{

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kPatience = 64; /* looks between two at the clock */

/* The words of an exchange's state. */
enum { kNumber, kTicket, kBroken };

struct PackArgs {
    lac_cuda_matrix_t x;
    int64_t across; /* words of a row */
    uint32_t *words;
};

/* Word w of x, in all lanes. */
template <typename T>
__device__ inline uint32_t word_of(const lac_cuda_matrix_t &x, int64_t across, int64_t w, int lane)
{
    const int64_t i = w / across, j = w % across * kWarp + lane;
    const bool event = j < x.cols && ((const T *)x.data)[i * x.rs + j * x.cs] != T(0);
    return __ballot_sync(kFull, event);
}

/* The bytes of word w of a rank's share. */
__device__ inline void write_word(const lac_cuda_shard_t &s, int64_t w, uint32_t word, uint8_t *out,
                                  int64_t ld, int lane)
{
    const int64_t across = ceil_div(s.count, kWarp), i = w / across, j = w % across * kWarp + lane;
    if (j < s.count) out[i * ld + s.first + j] = (uint8_t)(word >> lane & 1u);
}

template <typename T> __global__ __launch_bounds__(kThreads) void events_pack(const PackArgs a)
{
    const int lane = (int)threadIdx.x % kWarp;
    const int64_t words = a.x.rows * a.across, warps = (int64_t)gridDim.x * kWarps;
    for (int64_t w = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp; w < words; w += warps) {
        const uint32_t word = word_of<T>(a.x, a.across, w, lane);
        if (lane == 0) a.words[w] = word;
    }
}

__global__ __launch_bounds__(kThreads) void events_unpack(const lac_cuda_unpack_t u)
{
    const int lane = (int)threadIdx.x % kWarp;
    const int64_t all = u.most * u.ranks, warps = (int64_t)gridDim.x * kWarps;
    for (int64_t t = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp; t < all; t += warps) {
        const int64_t r = t / u.most, w = t % u.most;
        const lac_cuda_shard_t s = u.shard[r];
        if (w < u.rows * ceil_div(s.count, kWarp))
            write_word(s, w, u.words[r * u.stride + w], u.out, u.ld, lane);
    }
}

/* The rank whose words hold word t of all. */
__device__ inline int rank_of(const lac_cuda_exchange_t &x, int64_t t)
{
    int low = 0,
        high = x.ranks; /* shard[low].word <= t < shard[high].word; ranks without columns share theirs */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (x.shard[middle].word <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Waits for a word; false where the launch, or an earlier one, has waited long enough. */
__device__ inline bool wait_for(const lac_cuda_exchange_t &x, const uint64_t *place, uint32_t number,
                                unsigned long long begin, uint32_t *word)
{
    volatile uint32_t *broken = x.state + kBroken;
    for (;;) {
        for (int look = 0; look < kPatience; look++) {
            const uint64_t seen = load_system(place);
            *word = (uint32_t)seen;
            if ((uint32_t)(seen >> 32) == number) return true;
        }
        if (*broken) return false;
        const unsigned long long waited = now_ns() - begin;
        if (waited > x.limit || (waited > 20000 && *(const volatile uint32_t *)x.stop)) return false;
    }
}

template <typename T> __global__ __launch_bounds__(kThreads) void events_exchange(const lac_cuda_exchange_t x)
{
    const int lane = (int)threadIdx.x % kWarp;
    const int64_t first = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp,
                  warps = (int64_t)gridDim.x * kWarps;
    const uint32_t number = ((volatile uint32_t *)x.state)[kNumber] + 1;
    const lac_cuda_shard_t own = x.shard[x.rank];
    const int64_t across = ceil_div(own.count, kWarp), mine = x.mine.rows * across,
                  set = number % 2 * x.words;
    for (int64_t w = first; w < mine; w += warps) {
        const uint32_t word = word_of<T>(x.mine, across, w, lane);
        for (int r = lane; r < x.ranks; r += kWarp)
            if (r != x.rank) store_system(x.place[r] + set + own.word + w, (uint64_t)number << 32 | word);
        write_word(own, w, word, x.out, x.ld, lane);
    }
    const unsigned long long begin = now_ns();
    const uint64_t *here = x.place[x.rank] + set;
    for (int64_t t = first; t < x.words - mine; t += warps) {
        const int64_t at = t < own.word ? t : t + mine; /* its own words are not waited for */
        const int r = rank_of(x, at);
        uint32_t word;
        if (!wait_for(x, here + at, number, begin, &word)) {
            word = 0;
            if (lane == 0 && atomicOr(x.state + kBroken, 1u) == 0u) {
                *(volatile uint32_t *)x.failed = 1u + (uint32_t)r;
                __threadfence_system();
            }
        }
        word = __shfl_sync(kFull, word, 0); /* lanes may have given up at different looks */
        write_word(x.shard[r], at - x.shard[r].word, word, x.out, x.ld, lane);
    }
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd((int *)x.state + kTicket, 1) == (int)gridDim.x - 1) {
        x.state[kTicket] = 0;
        x.state[kNumber] = number;
    }
}

inline bool is_matrix(const lac_cuda_matrix_t &x)
{
    return (x.dt == LAC_F32 || x.dt == LAC_U8) && x.rows >= 0 && x.cols >= 0;
}

} // namespace
} // namespace lacuna

extern "C" lac_status_t lac_cuda_events_pack(const lac_cuda_matrix_t *x, uint32_t *words,
                                             lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!is_matrix(*x)) return LAC_ERR_VALUE;
    const PackArgs a = {*x, ceil_div(x->cols, kWarp), words};
    if (!x->rows || !x->cols) return LAC_OK;
    const Launch l = grid_stride(ceil_div(x->rows * a.across, kWarps), kThreads, stream);
    return x->dt == LAC_F32 ? launch(events_pack<float>, l, a) : launch(events_pack<uint8_t>, l, a);
}

extern "C" lac_status_t lac_cuda_events_unpack(const lac_cuda_unpack_t *u, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (u->ranks < 1 || u->rows < 0 || u->most < 0) return LAC_ERR_VALUE;
    if (!u->rows || !u->most) return LAC_OK;
    return launch(events_unpack, grid_stride(ceil_div(u->most * u->ranks, kWarps), kThreads, stream), *u);
}

extern "C" lac_status_t lac_cuda_events_exchange(const lac_cuda_exchange_t *x, lac_cuda_stream_t stream)
{
    using namespace lacuna;
    if (!is_matrix(x->mine) || x->ranks < 1 || x->rank < 0 || x->rank >= x->ranks) return LAC_ERR_VALUE;
    if (!x->words) return LAC_OK;
    const int64_t wanted = ceil_div(x->words, kWarps);
    const Launch l = grid_stride(min<int64_t>(wanted, current_device().sms), kThreads, stream);
    return x->mine.dt == LAC_F32 ? launch(events_exchange<float>, l, *x)
                                 : launch(events_exchange<uint8_t>, l, *x);
}
