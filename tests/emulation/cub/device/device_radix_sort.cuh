/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Stands in for CUB's header of this name: the one sort that the kernels use. */
#ifndef LACUNA_EMULATED_RADIX_SORT_H
#define LACUNA_EMULATED_RADIX_SORT_H

#include <cuda_runtime.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace cub
{

struct DeviceRadixSort {
    static cudaError_t SortPairsDescending(void *scratch, size_t &bytes, const int *keys, int *sorted_keys,
                                           const int *values, int *sorted_values, int count, int = 0,
                                           int = 32, cudaStream_t = nullptr)
    {
        if (!scratch) {
            bytes = 1;
            return cudaSuccess;
        }
        std::vector<int> order((size_t)count);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [keys](int a, int b) { return keys[a] > keys[b]; });
        for (int i = 0; i < count; i++)
            sorted_keys[i] = keys[order[(size_t)i]], sorted_values[i] = values[order[(size_t)i]];
        return cudaSuccess;
    }
};

} // namespace cub
#endif
