/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Stands in for CUB's header of this name: the one selection that the kernels use. */
#ifndef LACUNA_EMULATED_DEVICE_SELECT_H
#define LACUNA_EMULATED_DEVICE_SELECT_H

#include <cuda_runtime.h>

namespace cub
{

struct DeviceSelect {
    template <typename From, typename T>
    static cudaError_t Flagged(void *temporary, size_t &bytes, From from, const uint8_t *flags, T *to,
                               int64_t *count, int64_t all, cudaStream_t = nullptr)
    {
        bytes = 256;
        if (!temporary) return cudaSuccess;
        *count = 0;
        for (int64_t i = 0; i < all; i++)
            if (flags[i]) to[(*count)++] = from[i];
        return cudaSuccess;
    }
};

} // namespace cub

#endif
