/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Entries of compressed rows as a caller brings them: read, checked, and reported where they are out of
 * range.
 */
#ifndef LACUNA_CUDA_CSR_LOOSE_CUH
#define LACUNA_CUDA_CSR_LOOSE_CUH

#include "common/device.cuh"
#include "cuda_support.h"

namespace lacuna
{

__device__ inline int64_t index_at(const void *list, bool wide, int64_t i)
{
    return wide ? ((const int64_t *)list)[i] : ((const int32_t *)list)[i];
}

__device__ inline void report(const lac_cuda_loose_t &a, int64_t place, lac_cuda_loose_array_t which)
{
    atomicMin((unsigned long long *)a.bad, (unsigned long long)(4 * place + which));
}

struct Span {
    int64_t begin, end;
};

__device__ inline Span span_of(const lac_cuda_loose_t &a, int64_t row)
{
    if (!a.ptr) return {row * a.fan_out, (row + 1) * a.fan_out};
    const Span s = {index_at(a.ptr, a.wide, row), index_at(a.ptr, a.wide, row + 1)};
    if (s.begin >= 0 && s.begin <= s.end && s.end <= a.nnz) return s;
    report(a, row, LAC_CUDA_LOOSE_PTR);
    return {0, 0};
}

/* The row of an entry; -1 where it is in none. */
__device__ inline int64_t row_of(const lac_cuda_loose_t &a, int64_t e)
{
    if (!a.ptr) return e / a.fan_out;
    int64_t first = 0, last = a.m + 1; /* the first pointer beyond e is in [first, last] */
    while (first < last) {
        const int64_t middle = (first + last) / 2;
        if (index_at(a.ptr, a.wide, middle) > e)
            last = middle;
        else
            first = middle + 1;
    }
    return first <= a.m ? first - 1 : -1;
}

/* The column of an entry; -1 where that is out of range. */
__device__ inline int64_t column_of(const lac_cuda_loose_t &a, int64_t e)
{
    const int64_t column = index_at(a.idx, a.wide, e);
    if (column >= 0 && column < a.n) return column;
    report(a, e, LAC_CUDA_LOOSE_IDX);
    return -1;
}

__device__ inline float value_of(const lac_cuda_loose_t &a, int64_t e)
{
    if (!a.val) return 1.0f;
    if (a.homogeneous) return *a.val;
    if (!a.perm) return a.val[e];
    const int64_t place = index_at(a.perm, a.wide, e);
    if (place >= 0 && place < a.nnz) return a.val[place];
    report(a, e, LAC_CUDA_LOOSE_PERM);
    return 0.0f;
}

/* What an element of X counts as: 0 where it is zero. */
__device__ inline float factor_at(const lac_cuda_loose_dense_t &x, int64_t i, int64_t j)
{
    const int64_t at = i * x.rs + j * x.cs;
    if (x.bytes) return ((const uint8_t *)x.data)[at] ? 1.0f : 0.0f;
    const float v = ((const float *)x.data)[at];
    return x.binary && v != 0.0f ? 1.0f : v;
}

inline bool all_fit(const lac_cuda_loose_t *a)
{
    return fits(a->m) && fits(a->n) && fits(a->nnz);
}

} // namespace lacuna

#endif
