/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the kernels of row slices share: the list of rows, the entries of a row, threads that share a row. */
#ifndef LACUNA_CUDA_SLICE_ROW_INDICES_CUH
#define LACUNA_CUDA_SLICE_ROW_INDICES_CUH

#include "common/device.cuh"
#include "cuda_kernels.h"

namespace lacuna
{

__device__ inline int64_t pick(const lac_cuda_slice_t &s, int64_t i)
{
    if (!s.rows) return i;
    return s.wide ? ((const int64_t *)s.rows)[i] : ((const int32_t *)s.rows)[i];
}

__device__ inline bool is_row(const lac_cuda_slice_t &s, int64_t row)
{
    return row >= 0 && row < s.m;
}

/* Place i holds what it may not; the word is in the host's memory, and nobody but this device writes to it.
 */
__device__ inline void report_bad(uint64_t *bad, int64_t i, int64_t found)
{
    const int64_t shown = max<int64_t>(min<int64_t>(found, INT32_MAX), INT32_MIN);
    atomicMin((unsigned long long *)bad, (unsigned long long)i << 32 | (uint32_t)shown);
}

/* Entries [begin, end) of one row. */
struct Entries {
    int64_t begin, end;
};

__device__ inline Entries entries_of(const lac_cuda_slice_t &s, int64_t row)
{
    return is_row(s, row) ? Entries{s.ptr[row], s.ptr[row + 1]} : Entries{0, 0};
}

/* The first entry of a row whose column is `column` or more: 32 ways at a time, by a warp. */
__device__ inline int64_t first_from(const int32_t *idx, Entries e, int64_t column, int lane)
{
    while (e.begin < e.end) {
        const int64_t step = ceil_div(e.end - e.begin, kWarp), at = e.begin + (lane + 1) * step - 1;
        const unsigned reached = __ballot_sync(kFull, at >= e.end || idx[at] >= column);
        const int part = __ffs((int)reached) - 1; /* the last part reaches the end */
        if (part < 0) return e.end;
        const int64_t begin = e.begin + part * step;
        e.end = min(e.end, begin + step - 1); /* the part's last entry is known to do */
        e.begin = begin;
    }
    return e.begin;
}

/* kUnit threads that share a row: a warp, or a block. */
template <int kUnit> __device__ inline void unit_sync()
{
    if constexpr (kUnit == kWarp)
        __syncwarp();
    else
        __syncthreads();
}

} // namespace lacuna
#endif
