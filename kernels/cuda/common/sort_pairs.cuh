/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Pairs sorted by their integer key, stably and ascending, over the bits that the keys have. */
#ifndef LACUNA_CUDA_COMMON_SORT_PAIRS_CUH
#define LACUNA_CUDA_COMMON_SORT_PAIRS_CUH

#include <cub/device/device_radix_sort.cuh>

#include "device.cuh"

namespace lacuna
{

/* Bits of the keys 0 .. keys - 1. */
inline int key_bits(int64_t keys)
{
    int bits = 1;
    while (bits < 31 && keys > (int64_t)1 << bits) bits++;
    return bits;
}

/* `count` pairs whose keys are below `keys`. */
template <typename Value> struct PairSort {
    int64_t count, keys;

    /* Of the workspace of run(). */
    size_t bytes() const
    {
        size_t wanted = 0;
        sort(nullptr, &wanted, nullptr, nullptr, nullptr, nullptr, nullptr);
        return wanted;
    }

    lac_status_t run(void *workspace, const int32_t *key, int32_t *sorted_key, const Value *value,
                     Value *sorted_value, cudaStream_t stream) const
    {
        size_t room = bytes();
        return sort(workspace, &room, key, sorted_key, value, sorted_value, stream) == cudaSuccess
                   ? LAC_OK
                   : LAC_ERR_VENDOR;
    }

  private:
    cudaError_t sort(void *workspace, size_t *room, const int32_t *key, int32_t *sorted_key,
                     const Value *value, Value *sorted_value, cudaStream_t stream) const
    {
        return cub::DeviceRadixSort::SortPairs(workspace, *room, key, sorted_key, value, sorted_value, count,
                                               0, key_bits(keys), stream);
    }
};

} // namespace lacuna
#endif
