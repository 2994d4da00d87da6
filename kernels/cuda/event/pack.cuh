/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Packed S: where the events of a dense S lie in a workspace, one slot per row and slice of k. */
#ifndef LACUNA_CUDA_EVENT_PACK_CUH
#define LACUNA_CUDA_EVENT_PACK_CUH

#include "gather.cuh"

namespace lacuna
{

constexpr int kChunk = 256;   /* k that pack_chunks takes at a time                            */
constexpr int kMaxSlots = 64; /* slots per row of which the workspace has room, whatever k is  */

/* Slot s of row i begins at event i * pitch + s * slice and holds count[i * slots + s] events, ascending in
 * k, with k in [s * slice, (s + 1) * slice). */
template <typename V> struct SlotsOf {
    int *count;
    EventOf<V> *event;
    int pitch, slots, slice;
};
using Slots = SlotsOf<float>;

inline int64_t slots_upper(int64_t k)
{
    return max<int64_t>(kMaxSlots, ceil_div(k, kChunk));
}
inline int64_t slots_pitch(int64_t k)
{
    return round_up(k, kChunk) + kChunk;
}

/* event: the size of one. */
inline int64_t slots_bytes(int64_t m, int64_t k, size_t event = sizeof(Event))
{
    return round_up(4 * m * slots_upper(k), 256) + (int64_t)event * m * slots_pitch(k);
}

template <typename V = float> SlotsOf<V> make_slots(void *workspace, int64_t m, int64_t k, int slice)
{
    char *at = (char *)workspace;
    SlotsOf<V> s;
    s.count = (int *)at, at += round_up(4 * m * slots_upper(k), 256);
    s.event = (EventOf<V> *)at;
    s.pitch = (int)slots_pitch(k), s.slice = slice, s.slots = (int)ceil_div(k, slice);
    return s;
}

/* Packs S into slots of any slice; one block per slot. early: the kernel behind may place its blocks at once,
 * which hides its start but spreads them unevenly: right while latency is what counts, wrong where bandwidth
 * does. list: the k of each column of S, where the columns are packed. Of doubles an S is of doubles or
 * bytes. */
lac_status_t pack_slots(const lac_cuda_dense_t *s, int64_t m, int64_t k, const Slots &slots, bool early,
                        cudaStream_t stream, const int32_t *list = nullptr);
lac_status_t pack_slots(const lac_cuda_dense_t *s, int64_t m, int64_t k, const SlotsOf<double> &slots,
                        bool early, cudaStream_t stream, const int32_t *list = nullptr);

/* The same, where no more than a share of break_even of S will be gathered: where a block's samples of S say
 * that there is more, it packs nothing and counts INT_MAX. */
lac_status_t pack_few(const lac_cuda_dense_t *s, int64_t m, int64_t k, const Slots &slots, double break_even,
                      bool early, cudaStream_t stream);

/* Packs S into slots of a multiple of kChunk, one block per slot and group of rows: few events, any order of
 * S. */
lac_status_t pack_chunks(const lac_cuda_dense_t *s, int64_t m, int64_t k, const Slots &slots,
                         cudaStream_t stream);

} // namespace lacuna
#endif
