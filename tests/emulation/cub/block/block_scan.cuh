/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Stands in for CUB's header of this name: the one sum over a block that the kernels use. */
#ifndef LACUNA_EMULATED_BLOCK_SCAN_H
#define LACUNA_EMULATED_BLOCK_SCAN_H

#include <cuda_runtime.h>

namespace cub
{

template <typename T, int kThreads> struct BlockScan {
    struct TempStorage {
        T of[kThreads];
    };
    TempStorage &scratch;
    explicit BlockScan(TempStorage &s) : scratch(s) {}

    void ExclusiveSum(T mine, T &before, T &all)
    {
        scratch.of[threadIdx.x] = mine;
        __syncthreads();
        before = all = 0;
        for (unsigned t = 0; t < kThreads; t++) {
            if (t < threadIdx.x) before += scratch.of[t];
            all += scratch.of[t];
        }
    }
};

} // namespace cub
#endif
